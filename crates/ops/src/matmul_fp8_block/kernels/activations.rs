//! Activations decoded to f32 once a call, with their scales; quantised before where they are bf16.

use crate::blocks::quantise::{Step, greatest};
use crate::blocks::stored::Stored;
use crate::matmul_fp8_block::definition::Problem;
use proofmark_contract::KernelError;
use proofmark_simd::{Body, Simd, dispatch};
use proofmark_tensor::{F8E4m3, Pool, Rows, RowsMut, Tensor, bf16, split};
use proofmark_terms::Isa;

/// Decodes all rows on `threads` threads into the codes and scales given; folded: codes are
/// multiplied by their scales.
pub(super) fn activate<'a>(
    problem: &Problem,
    isa: Isa,
    inputs: &[Tensor],
    pool: &Pool,
    threads: usize,
    (folds, mut codes, mut scales): (bool, RowsMut<'a, f32>, RowsMut<'a, f32>),
) -> Result<(Rows<'a, f32>, &'a [f32]), KernelError> {
    let block = problem.block;
    if problem.is_quantised {
        let a = inputs[0].rows::<bf16>()?;
        in_parts(pool, threads, a, &mut codes, &mut scales, |a, _, codes, scales| {
            dispatch(isa, Activate { a, given: None, block, folds, codes, scales });
        })?;
    } else {
        let (a, given) = (inputs[0].rows::<F8E4m3>()?, inputs[1].slice::<f32>()?);
        let across = problem.across();
        if given.len() != a.rows() * across {
            return Err(KernelError::Refused("scale_a does not fit the case".to_owned()));
        }
        in_parts(pool, threads, a, &mut codes, &mut scales, |a, first, codes, scales| {
            let given = Some(&given[first * across..]);
            dispatch(isa, Activate { a, given, block, folds, codes, scales });
        })?;
    }
    Ok((read(&codes), read(&scales).as_slice().unwrap_or(&[])))
}

/// A view for reading, for as long as the memory was lent.
fn read<'a, T>(rows: &RowsMut<'a, T>) -> Rows<'a, T> {
    // SAFETY: the caller owns the only view for writing and gives it up with this call's result.
    unsafe { Rows::from_raw(rows.as_ptr(), rows.rows(), rows.cols(), rows.row_stride()) }
}

fn in_parts<A: Stored>(
    pool: &Pool,
    threads: usize,
    a: Rows<'_, A>,
    codes: &mut RowsMut<'_, f32>,
    scales: &mut RowsMut<'_, f32>,
    decode: impl Fn(Rows<'_, A>, usize, RowsMut<'_, f32>, RowsMut<'_, f32>) + Sync,
) -> Result<(), KernelError> {
    if (a.rows(), a.cols()) != (codes.rows(), codes.cols()) {
        return Err(KernelError::Refused("operand `a` does not fit the case".to_owned()));
    }
    // SAFETY: both views rest while their handles are used.
    let (codes, scales) = unsafe { (codes.share(), scales.share()) };
    pool.run(threads, &|index| {
        let rows = split(a.rows(), threads, index, 1);
        // SAFETY: the ranges of different indices do not meet.
        let own = unsafe { (codes.range_mut(rows.clone()), scales.range_mut(rows.clone())) };
        decode(a.range(rows.clone()), rows.start, own.0, own.1);
    });
    Ok(())
}

struct Activate<'a, A> {
    a: Rows<'a, A>,
    /// Scales that were given; without them rows are quantised.
    given: Option<&'a [f32]>,
    block: usize,
    folds: bool,
    codes: RowsMut<'a, f32>,
    scales: RowsMut<'a, f32>,
}

impl<A: Stored> Body for Activate<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let (cols, across) = (self.a.cols(), self.scales.cols());
        for row in 0..self.a.rows() {
            for block in 0..across {
                let terms = block * self.block..cols.min((block + 1) * self.block);
                let (a, codes) =
                    (&self.a.row(row)[terms.clone()], &mut self.codes.row_mut(row)[terms]);
                let step = match self.given {
                    Some(given) => Step { scale: given[row * across + block], ..Step::UNIT },
                    None => Step::symmetric(greatest(simd, a, |a| simd.abs(a)), 448.0),
                };
                self.scales.row_mut(row)[block] = step.scale;
                let factor = if self.folds { step.scale } else { 1.0 };
                if step.is_void {
                    codes.fill(0.0 * factor);
                } else {
                    decode(simd, a, self.given.is_none(), step.inverse, factor, codes);
                }
            }
        }
    }
}

/// The nearest e4m3 number of a value times `inverse`; the value itself where it is one.
#[inline(always)]
fn nearest<S: Simd>(simd: S, value: S::F, rounds: bool, inverse: S::F) -> S::F {
    if !rounds {
        return value;
    }
    let value = simd.mul(value, inverse);
    let mut codes = [F8E4m3(0); 16];
    F8E4m3::store(simd, value, &mut codes[..S::LANES]);
    F8E4m3::load(simd, &codes[..S::LANES])
}

#[inline(always)]
fn decode<S: Simd, A: Stored>(
    simd: S,
    a: &[A],
    rounds: bool,
    inverse: f32,
    factor: f32,
    codes: &mut [f32],
) {
    let (inverse, factor) = (simd.splat(inverse), simd.splat(factor));
    let mut a = a.chunks_exact(S::LANES);
    let mut codes = codes.chunks_exact_mut(S::LANES);
    for (a, codes) in (&mut a).zip(&mut codes) {
        let value = nearest(simd, A::load(simd, a), rounds, inverse);
        simd.store(simd.mul(value, factor), codes);
    }
    let tail = A::load_partial(simd, a.remainder(), 0.0);
    let tail = nearest(simd, tail, rounds, inverse);
    simd.store_partial(simd.mul(tail, factor), codes.into_remainder());
}
