//! Honest specimens with arithmetic of their own: other ways to sum, and other algorithms.

use super::kernel::Deed;
use super::piece::{Cut, Full, rows};
use proofmark_contract::{Call, KernelError};

/// A way to sum terms.
type Sum = fn(&[f32]) -> f32;

/// The op on plain cases, with sums in this way.
fn summed(sum: Sum) -> Deed {
    let mut terms = Vec::new();
    Deed::new(move |full, call| match full.case.op.as_str() {
        "softmax" => softmax(call, &mut terms, sum),
        "rms_norm" => rms_norm(full, call, &mut terms, sum),
        "matmul" => matmul(call, &mut terms, sum),
        _ => full.run(call),
    })
}

fn softmax(call: &mut Call<'_>, terms: &mut Vec<f32>, sum: Sum) -> Result<(), KernelError> {
    let x = call.inputs[0].rows::<f32>()?;
    let mut y = call.outputs[0].rows_mut::<f32>()?;
    for row in 0..x.rows() {
        let max = x.row(row).iter().copied().fold(f32::NEG_INFINITY, f32::max);
        terms.clear();
        terms.extend(x.row(row).iter().map(|x| (x - max).exp()));
        let all = sum(terms);
        y.row_mut(row).iter_mut().zip(&*terms).for_each(|(y, e)| *y = e / all);
    }
    Ok(())
}

fn rms_norm(
    full: &Full,
    call: &mut Call<'_>,
    terms: &mut Vec<f32>,
    sum: Sum,
) -> Result<(), KernelError> {
    let Some(eps) = full.attribute("eps") else { return full.run(call) };
    let eps = eps.real(call.case) as f32;
    let (x, w) = (call.inputs[0].rows::<f32>()?, call.inputs[1].rows::<f32>()?);
    let mut y = call.outputs[0].rows_mut::<f32>()?;
    for row in 0..x.rows() {
        terms.clear();
        terms.extend(x.row(row).iter().map(|x| x * x));
        let r = 1.0 / (sum(terms) / x.cols() as f32 + eps).sqrt();
        let weighted = x.row(row).iter().zip(w.row(0));
        y.row_mut(row).iter_mut().zip(weighted).for_each(|(y, (x, w))| *y = x * r * w);
    }
    Ok(())
}

fn matmul(call: &mut Call<'_>, terms: &mut Vec<f32>, sum: Sum) -> Result<(), KernelError> {
    let (a, b) = (call.inputs[0].rows::<f32>()?, call.inputs[1].rows::<f32>()?);
    let mut c = call.outputs[0].rows_mut::<f32>()?;
    for row in 0..c.rows() {
        for col in 0..c.cols() {
            terms.clear();
            terms.extend(a.row(row).iter().enumerate().map(|(k, a)| a * b.row(k)[col]));
            c.row_mut(row)[col] = sum(terms);
        }
    }
    Ok(())
}

pub(super) fn f64_accumulate() -> Deed {
    summed(|terms| terms.iter().map(|&term| f64::from(term)).sum::<f64>() as f32)
}

pub(super) fn kahan() -> Deed {
    summed(|terms| {
        let (mut sum, mut lost) = (0.0f32, 0.0f32);
        for &term in terms {
            let next = term - lost;
            let with = sum + next;
            lost = (with - sum) - next;
            sum = with;
        }
        // The correction of an infinity is NaN.
        if sum.is_finite() { sum } else { terms.iter().sum() }
    })
}

pub(super) fn tree_reduce() -> Deed {
    fn tree(terms: &[f32]) -> f32 {
        match terms {
            [] => 0.0,
            [one] => *one,
            _ => {
                let (left, right) = terms.split_at(terms.len() / 2);
                tree(left) + tree(right)
            }
        }
    }
    summed(tree)
}

/// Whole vectors of sixteen, the last with its surplus lanes at zero.
pub(super) fn tail_masking() -> Deed {
    summed(|terms| {
        let mut lanes = [0.0f32; 16];
        for block in terms.chunks(16) {
            let mut full = [0.0f32; 16];
            full[..block.len()].copy_from_slice(block);
            lanes.iter_mut().zip(full).for_each(|(lane, term)| *lane += term);
        }
        lanes.iter().sum()
    })
}

/// Skips rows of zeros, whose results are known. Its time depends on the data.
pub(super) fn skip_zeros() -> Deed {
    let mut cut = Cut::by_row();
    Deed::new(move |full, call| {
        let weights = call.inputs.get(1..).unwrap_or_default();
        let is_finite = |row: &[u8]| row.chunks_exact(4).all(|word| word[3] & 0x7f != 0x7f);
        let skips = full.is_plain() && weights.iter().flat_map(rows).all(is_finite);
        let is_softmax = full.case.op == "softmax";
        for piece in cut.of(full, call) {
            let is_zero = |row: &[u8]| row.iter().all(|&byte| byte == 0);
            if !skips || !piece.inputs.iter().take(1).flat_map(rows).all(is_zero) {
                piece.run()?;
                continue;
            }
            let length = piece.outputs[0].layout.cols() as f32;
            let known = if is_softmax { 1.0 / length } else { 0.0 };
            let mut y = piece.outputs[0].rows_mut::<f32>()?;
            (0..y.rows()).for_each(|row| y.row_mut(row).fill(known));
        }
        Ok(())
    })
}

/// Leaves terms with a factor of 0 out, and declares that NaN and infinities may be lost by it.
pub(super) fn declared_finite() -> Deed {
    Deed::new(|_, call| {
        let (a, b) = (call.inputs[0].rows::<f32>()?, call.inputs[1].rows::<f32>()?);
        let mut c = call.outputs[0].rows_mut::<f32>()?;
        for row in 0..c.rows() {
            let c = c.row_mut(row);
            c.fill(0.0);
            for (k, &a) in a.row(row).iter().enumerate().filter(|(_, a)| **a != 0.0) {
                c.iter_mut().zip(b.row(k)).for_each(|(c, b)| *c += a * b);
            }
        }
        Ok(())
    })
    .promising(|contract, _| proofmark_schema::ErrorContract { finite_only: true, ..contract })
}
