//! The gate's own proof: wrong kernels must be refused, right ones must not.

use crate::certificate::certify;
use crate::other_gates::OTHER_GATES;
use crate::rules::Rules;
use crate::subject::{Subject, values};
use proofmark_arena::{Arena, Fault};
use proofmark_contract::{Entry, Op, Want, check_case};
use proofmark_schema::proof::Refusal;
use proofmark_schema::{Case, ContenderId, DType, Outcome};

/// Cases of the portfolio whose outputs are shown to the other gates, spread over it.
const SHOWN_CASES: usize = 6;

/// What became of one wrong kernel on one element type and seed.
#[derive(Clone, Debug)]
pub struct MutantResult {
    /// The mutant.
    pub mutant: &'static str,
    /// What is wrong with it.
    pub flaw: &'static str,
    /// The element type.
    pub dtype: DType,
    /// How the gate refused it; `None`: it was not refused.
    pub refusal: Option<Refusal>,
    /// Which of [`OTHER_GATES`] refused any of the outputs it was shown.
    pub caught_by: [bool; OTHER_GATES.len()],
}

/// What became of one right kernel on one element type and seed.
#[derive(Clone, Debug)]
pub struct CorrectResult {
    /// The contender.
    pub contender: ContenderId,
    /// The element type.
    pub dtype: DType,
    /// How the gate refused it, which it must not.
    pub refusal: Option<Refusal>,
    /// Which of [`OTHER_GATES`] refused any of the outputs it was shown.
    pub caught_by: [bool; OTHER_GATES.len()],
}

/// Takes a mutant through the gate; `None` if it does not do the element type at all.
pub fn try_mutant(
    arena: &Arena,
    entry: &'static Entry,
    name: &str,
    dtype: DType,
    rules: &Rules,
) -> Option<MutantResult> {
    let mutant = entry.mutant(name)?;
    let who = ContenderId::mutant(mutant.name);
    let cases = entry.op.proof_cases(dtype);
    let certificate = certify(arena, entry.op, &who, dtype, &cases, rules);
    let refusal = match certificate.outcome() {
        // What does not run was not refused for being wrong.
        Outcome::Unsupported | Outcome::Absent | Outcome::Broken => return None,
        Outcome::Proven => None,
        _ => certificate.refused().and_then(|proof| proof.refusal.clone()),
    };
    let caught_by = show_others(arena, entry.op, &who, &cases, rules);
    Some(MutantResult { mutant: mutant.name, flaw: mutant.flaw, dtype, refusal, caught_by })
}

/// Takes a right kernel through the gate on a few cases that the seed selects; `None` if it does
/// not support the element type at all.
pub fn try_correct(
    arena: &Arena,
    op: &dyn Op,
    who: &ContenderId,
    dtype: DType,
    rules: &Rules,
) -> Option<CorrectResult> {
    let all = op.proof_cases(dtype);
    let start = rules.seed as usize % all.len().max(1);
    let cases: Vec<Case> =
        all.iter().cycle().skip(start).step_by(5).take(all.len().min(4)).cloned().collect();
    let certificate = certify(arena, op, who, dtype, &cases, rules);
    let refusal = match certificate.outcome() {
        Outcome::Unsupported => return None,
        Outcome::Proven => None,
        _ => certificate.refused().and_then(|proof| proof.refusal.clone()),
    };
    let caught_by = show_others(arena, op, who, &cases, rules);
    Some(CorrectResult { contender: who.clone(), dtype, refusal, caught_by })
}

/// Shows the outputs on every filling of the portfolio to the other gates. A worker that dies
/// counts as caught by all of them, because no gate misses a crash.
fn show_others(
    arena: &Arena,
    op: &dyn Op,
    who: &ContenderId,
    cases: &[Case],
    rules: &Rules,
) -> [bool; OTHER_GATES.len()] {
    let mut caught = [false; OTHER_GATES.len()];
    let step = (cases.len() / SHOWN_CASES).max(1);
    for case in cases.iter().step_by(step) {
        match show_case(arena, op, who, case, rules, &mut caught) {
            Ok(()) | Err(Fault::Unsupported(_)) => {}
            Err(_) => return [true; OTHER_GATES.len()],
        }
        if caught.iter().all(|&caught| caught) {
            break;
        }
    }
    caught
}

fn show_case(
    arena: &Arena,
    op: &dyn Op,
    who: &ContenderId,
    case: &Case,
    rules: &Rules,
    caught: &mut [bool; OTHER_GATES.len()],
) -> Result<(), Fault> {
    let signature = check_case(op, case).map_err(|bad| Fault::Unsupported(bad.to_string()))?;
    let mut subject = Subject::load(arena, (op, case), &signature, who, rules.threads, rules.seed)?;
    let portfolio = op.portfolio(case, &signature);
    let fillings = portfolio.exact.iter().chain(&portfolio.zero_mean).chain(&portfolio.structured);
    for (n, filling) in fillings.enumerate() {
        let inputs = values(op, case, &signature, filling, rules.seed ^ n as u64);
        let outputs = subject.run(&inputs)?;
        for (k, got) in outputs.values.iter().enumerate() {
            let dtype = signature.outputs()[k].dtype;
            let truth = op
                .truth(case, &inputs, k, &Want::all())
                .map_err(|reason| Fault::Unsupported(reason.to_string()))?;
            // The others compare with a reference in the output's own precision.
            let round = |value: &f64| proofmark_tensor::round_to(dtype, *value);
            let want: Vec<f64> = truth.value.iter().map(round).collect();
            for (gate, caught) in OTHER_GATES.iter().zip(caught.iter_mut()) {
                *caught |= !(gate.accepts)(&want, got);
            }
        }
    }
    Ok(())
}
