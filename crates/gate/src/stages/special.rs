//! Stage F: special values at every lane and in tails, under the op's own rules.

use super::Outline;
use crate::examination::Examination;
use crate::subject::Outputs;
use proofmark_contract::{Specials, Values};
use proofmark_schema::Outcome;
use proofmark_schema::proof::Refusal;
use proofmark_tensor::{mix, round_to};

/// Positions from the start of a row at which NaN is planted one by one: past the widest vector
/// and its unrolled neighbours.
const LANES: usize = 40;

/// For a large case only every n-th plant is tested, where n is this stride: every plant writes
/// operands of 16 million elements anew.
const SAMPLED_STRIDE: usize = 5;

pub(crate) fn run(exam: &mut Examination<'_>) -> Result<(), Box<Refusal>> {
    let mut specials = exam.by.op.specials(exam.case, exam.signature);
    if exam.contract.finite_only {
        specials.values.retain(|value| value.is_finite());
    }
    let filling = exam.portfolio.zero_mean.last().expect("a portfolio has zero-mean fills");
    if specials.operands.is_empty() || exam.is_empty() {
        exam.note = "no special values apply".to_owned();
        return Ok(());
    }
    let filled = filling.describe(exam.signature);
    let mut inputs = exam.fill(filling, 0).as_ref().clone();
    for (n, plant) in plants(&exam.outline(), &specials).into_iter().enumerate() {
        let Plant { operand, position, value, zeros } = plant;
        let described = &exam.signature.operands()[operand];
        let planted = round_to(described.dtype, value);
        let before = std::mem::replace(&mut inputs.tensors[operand][position], planted);
        let replaced = zeros.map(|other| {
            let zeros = vec![0.0; inputs.tensors[other].len()];
            (other, std::mem::replace(&mut inputs.tensors[other], zeros))
        });
        let index = described.layout().index_of(position);
        let beside = zeros.map_or(String::new(), |other| {
            format!(", {}=zero", exam.signature.operands()[other].name)
        });
        let filled = format!("{filled}{beside}, {}{index:?}={value:e}", described.name);
        let limit = exam.structured_limit();
        let limit =
            if specials.may_flush_subnormals { limit + flush_allowance(exam) } else { limit };
        let (outputs, _) = exam.judge(&inputs, &filled, limit)?;
        if specials.signed_zero && n % 2 == 0 {
            signs_of_zero(exam, &inputs, &outputs, &filled)?;
        }
        if let Some((other, values)) = replaced {
            inputs.tensors[other] = values;
        }
        inputs.tensors[operand][position] = before;
    }
    Ok(())
}

/// The error of flushing a subnormal result to zero, in units of the smallest subnormal.
fn flush_allowance(exam: &Examination<'_>) -> f64 {
    let dtype = exam.signature.outputs()[0].dtype;
    2f64.powi(dtype.min_exponent()) / dtype.smallest()
}

pub(crate) struct Plant {
    operand: usize,
    position: usize,
    value: f64,
    /// Another operand, which is zero everywhere.
    zeros: Option<usize>,
}

/// Every value at a few positions drawn from the seed, the last among them, and NaN at each lane of
/// a row where the case is cheap enough. A large case gets only a few of these plants.
pub(crate) fn plants(of: &Outline<'_>, specials: &Specials) -> Vec<Plant> {
    let mut plants = Vec::new();
    let is_cheap = of.op.work(of.case).flops < 200_000 && !of.is_sampled();
    for &operand in &specials.operands {
        let described = &of.signature.operands()[operand];
        let (len, cols) = (described.len(), described.layout().cols());
        if len == 0 {
            continue;
        }
        let plant = |position, value| Plant { operand, position, value, zeros: None };
        for (n, &value) in specials.values.iter().enumerate() {
            let drawn = mix(of.rules.seed, operand as u64, n as u64) as usize % len;
            let kept = if n % 3 == 0 { len - 1 } else { drawn };
            plants.push(plant(kept, value));
            if is_cheap {
                let other = mix(of.rules.seed, 91 + operand as u64, n as u64) as usize % len;
                plants.push(plant(other, value));
            }
        }
        if is_cheap && specials.values.iter().any(|value| value.is_nan()) {
            let row = mix(of.rules.seed, 17, operand as u64) as usize % (len / cols);
            let lanes = (0..cols.min(LANES)).map(|lane| row * cols + lane);
            plants.extend(lanes.map(|position| plant(position, f64::NAN)));
        }
        if specials.beside_zeros {
            let others = specials.operands.iter().filter(|&&other| other != operand);
            for (n, &zeros) in others.enumerate() {
                let drawn = mix(of.rules.seed, 23 + operand as u64, n as u64) as usize % len;
                // A product of these two with zero is NaN.
                let values =
                    specials.values.iter().filter(|it| it.is_nan() || **it == f64::INFINITY);
                let both = values.map(|&value| Plant { zeros: Some(zeros), ..plant(drawn, value) });
                plants.extend(both);
            }
        }
    }
    // The portfolio has shown what special values do; a large case adds only new positions.
    let stride = if of.is_sampled() { SAMPLED_STRIDE } else { 1 };
    plants.into_iter().step_by(stride).collect()
}

fn signs_of_zero(
    exam: &Examination<'_>,
    inputs: &Values,
    outputs: &Outputs,
    filled: &str,
) -> Result<(), Box<Refusal>> {
    for (k, operand) in exam.signature.outputs().iter().enumerate() {
        let want = exam.want(k);
        let truth = exam.truth(inputs, k, &want)?;
        let layout = operand.layout();
        for (at, flat) in want.indices(layout.rows(), layout.cols()).into_iter().enumerate() {
            let (got, want) = (outputs.values[k][flat], truth.value[at]);
            if got == 0.0 && want == 0.0 && got.is_sign_negative() != want.is_sign_negative() {
                let index = layout.index_of(flat);
                let reason =
                    format!("{}{index:?} is {got:?}, exact {want:?} ({filled})", operand.name);
                return Err(exam.refuse(Outcome::Wrong, reason));
            }
        }
    }
    Ok(())
}
