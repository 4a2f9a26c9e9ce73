//! The cost of an examination, counted in advance from the lists that the stages walk.

use crate::rules::Rules;
use crate::sampling;
use crate::stages::{Outline, memory, reproducible, special, structured, trust};
use proofmark_contract::{Op, Operand, Role, check_case};
use proofmark_schema::Case;

/// What one examination does if nothing refuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expense {
    /// Calls of the contender: the checks that the stages report, except those that a contract or a
    /// law leaves out.
    pub calls: u64,
    /// Elements of operands that are written before those calls or read after them.
    pub moved: u64,
    /// Elements of inputs that are made.
    pub filled: u64,
    /// Elements that the oracle is asked for.
    pub judged: u64,
    /// Operations that the oracle needs for them, by the op's definition.
    pub operations: u64,
}

/// Operations that one call of exp or a similar function counts as.
const TRANSCENDENTAL: u64 = 16;

/// The cost of examining a case; zero for a case that does not fit its op.
pub fn expense(op: &dyn Op, case: &Case, rules: &Rules) -> Expense {
    let Ok(signature) = check_case(op, case) else { return Expense::default() };
    let of = Outline { op, case, signature: &signature, rules };
    let Runs { calls, truths, fills } = runs(&of);
    let (mut read, mut elements, mut judged, mut operations) = (0, 0, 0, 0);
    let work = op.work(case);
    for operand in signature.operands() {
        elements += operand.len() as u64;
        if operand.role != Role::Output {
            read += operand.len() as u64;
        }
        if operand.role.is_written() {
            let wanted = wanted(&of, operand);
            let all = work.flops.saturating_add(TRANSCENDENTAL * work.transcendentals);
            judged += wanted;
            operations += wanted.saturating_mul(all / (operand.len() as u64).max(1));
        }
    }
    Expense {
        calls,
        moved: calls.saturating_mul(elements),
        filled: fills.saturating_mul(read),
        judged: truths.saturating_mul(judged),
        operations: truths.saturating_mul(operations),
    }
}

/// Elements of an output that the oracle is asked for at a time.
fn wanted(of: &Outline<'_>, output: &Operand) -> u64 {
    let want = sampling::want(of.op, of.case, output, of.rules.seed);
    let (rows, cols) = (output.layout().rows(), output.layout().cols());
    (want.rows(rows).len() * want.cols(cols).len()) as u64
}

/// Calls, truths of all outputs, and inputs made.
struct Runs {
    calls: u64,
    truths: u64,
    fills: u64,
}

fn runs(of: &Outline<'_>) -> Runs {
    let Outline { op, case, signature, rules } = *of;
    let portfolio = op.portfolio(case, signature);
    let is_empty = signature.outputs().iter().all(Operand::is_empty);
    let exact = if of.is_sampled() { portfolio.exact.len().min(1) } else { portfolio.exact.len() };
    let zero_mean = portfolio.zero_mean.len();
    let structured = portfolio.structured.len().div_ceil(structured::step(of));
    let specials = op.specials(case, signature);
    let plants = if is_empty { 0 } else { special::plants(of, &specials).len() };
    let signs = if specials.signed_zero { plants.div_ceil(2) } else { 0 };
    let changes = if is_empty { 0 } else { trust::changes(of).len() };
    let judged = memory::setups(of).len() + exact + zero_mean + structured + plants + changes;
    // Some calls need no truth: two for shape, those for repeats, other thread counts and the first
    // other path, and those for laws. The self-proof makes one more call, with a truth, and plants
    // its errors in the result. One more truth is compared with zeros.
    let paths = rules.siblings.len().min(1);
    let repeats = 1 + reproducible::REPEATS + rules.other_threads.len() + paths;
    let laws = if is_empty || op.laws().is_empty() { 0 } else { 1 + op.laws().len() };
    let own = usize::from(!is_empty);
    // Stages of a large case share their inputs.
    let shared = if of.is_sampled() { 3 } else { 7 };
    Runs {
        calls: (2 + judged + repeats + laws + own) as u64,
        truths: (judged + signs + 2 * own) as u64,
        fills: (exact + zero_mean + structured + shared) as u64,
    }
}
