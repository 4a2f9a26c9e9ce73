//! Stage B: guard pages on both sides, padded rows, every base offset; and calls in a row, which
//! find in memory what the call before them left.

use super::Outline;
use crate::examination::Examination;
use crate::subject::Setup;
use proofmark_contract::Role;
use proofmark_schema::proof::Refusal;
use proofmark_tensor::Placement;

/// Calls of the run whose last call is judged.
const IN_A_ROW: u32 = 2;

pub(crate) fn run(exam: &mut Examination<'_>) -> Result<(), Box<Refusal>> {
    let filling = exam.portfolio.zero_mean.last().expect("a portfolio has zero-mean fills");
    let inputs = exam.fill(filling, 0);
    let filled = filling.describe(exam.signature);
    let limit = exam.limits.q_max;
    for setup in setups(&exam.outline()) {
        exam.subject.arrange(setup).map_err(|fault| exam.fault(fault))?;
        let Setup { placement, padding, calls } = setup;
        let mut filled = format!("{filled}, {placement:?}, rows padded by {padding}");
        if calls > 1 {
            filled += &format!(", the last of {calls} calls in a row");
        }
        exam.judge(&inputs, &filled, limit)?;
    }
    exam.subject.arrange(Setup::PLAIN).map_err(|fault| exam.fault(fault))
}

/// The placements to try. Placements flush with the end or the start locate over-reads and
/// over-writes to the byte. Shifted starts break kernels that assume alignment. Calls in a row
/// break kernels that work only once; races call in this way.
pub(crate) fn setups(of: &Outline<'_>) -> Vec<Setup> {
    let at = |placement, padding| Setup { placement, padding, calls: 1 };
    let mut setups = vec![
        at(Placement::EndFlush, 0),
        at(Placement::StartFlush, 0),
        at(Placement::EndFlush, 1),
        at(Placement::StartFlush, 17),
    ];
    // A second call in place would work on the results of the first.
    if !of.signature.outputs().iter().any(|operand| operand.role == Role::InOut) {
        setups.push(Setup { calls: IN_A_ROW, ..Setup::PLAIN });
    }
    if of.is_sampled() {
        return setups;
    }
    setups.push(at(Placement::PageCrossing, 3));
    let operands = of.signature.operands();
    let element = operands.iter().map(|operand| operand.dtype.size()).max().unwrap_or(1);
    // A large case tries a few offsets; the portfolio as a whole covers all of them.
    let step = if of.op.work(of.case).flops > 1_000_000 { 5 } else { 1 };
    let shifts = (1..64 / element).step_by(step).map(|n| n * element);
    setups.extend(shifts.map(|bytes| at(Placement::Shifted(bytes), bytes % 3)));
    setups
}
