//! The kernels of layer normalisation's gradient: mean, variance, two sums, result.
//!
//! Four passes over each row, which with dy is in L1 after the first (up to 4096 f32
//! of each); the last also adds to the sums of dgamma and dbeta. These are kept for pieces of
//! [`TALL`] rows, whatever the number of threads, and joined in order at the end: no thread count
//! changes a bit. Traffic x, dy and dx once, 12 bytes an f32 element, and a sixteenth of that for
//! the pieces; 17 flops; memory is the limit.

use super::definition::Problem;
use crate::blocks::made::{Made, typed};
use crate::blocks::row::{squared_deviations, sum, vectors};
use crate::blocks::scratch::elements_mut;
use crate::blocks::stored::Stored;
use crate::blocks::tuned;
use proofmark_contract::{Call, KernelError, PartUnit};
use proofmark_simd::{Body, Simd, dispatch};
use proofmark_tensor::{Rows, RowsMut, split};
use proofmark_terms::Case;

/// Rows of a piece.
const TALL: usize = 32;

/// Elements that keep a thread busy for about as long as the pool's hand-over takes (1.2 µs).
const GRAIN: usize = 4096;

/// Terms of the scalar kernel's shorter sums, because one long chain of additions would lose
/// digits.
const RUN: usize = 64;

/// One element at a time.
pub(super) static SCALAR: Made = Made {
    workspace: |case, _, _| workspace(case),
    ..Made::scalar("four passes over each row, one element at a time", |call| {
        typed!(call.case.dtype, run(call, None))
    })
};

/// In vectors.
pub(super) static SIMD: Made = Made {
    workspace: |case, _, _| workspace(case),
    ..Made::simd("four passes over each row in vectors", |call| {
        typed!(call.case.dtype, run(call, Some(1)))
    })
};

/// In vectors on threads.
pub(super) static PARALLEL: Made = Made {
    workspace: |case, _, _| workspace(case),
    ..Made::parallel("the simd kernel on pieces of 32 rows for each thread", |call| {
        let threads = Some(call.threads);
        typed!(call.case.dtype, run(call, threads))
    })
    .tuned(PartUnit::Elements)
};

/// dgamma and dbeta of each piece of rows, side by side.
fn workspace(case: &Case) -> usize {
    let Problem { rows, length, .. } = Problem::of(case);
    pieces(rows) * 2 * length * size_of::<f32>()
}

/// Pieces of this many rows; without rows there is one piece, whose sums are 0.
fn pieces(rows: usize) -> usize {
    rows.div_ceil(TALL).max(1)
}

/// In vectors on this many threads, or one element at a time.
fn run<T: Stored>(call: &mut Call<'_>, threads: Option<usize>) -> Result<(), KernelError> {
    let Problem { rows, length, eps } = Problem::of(call.case);
    let (x, dy) = (call.inputs[0].rows::<T>()?, call.inputs[2].rows::<T>()?);
    let gamma = call.inputs[1].slice::<T>()?;
    let pieces = pieces(rows);
    let sums = elements_mut::<f32>(call.workspace, pieces * 2 * length, "the workspace")?;
    let of_pieces = RowsMut::from_slice(sums, pieces, 2 * length);
    let [dx, dgamma, dbeta] = call.outputs else {
        return Err(KernelError::Refused("there are three gradients to write".to_owned()));
    };
    let dx = dx.rows_mut::<T>()?;
    // SAFETY: while its handle is in use neither view is; threads are done when `sums` are read.
    let (shared, dx) = unsafe { (of_pieces.share(), dx.share()) };
    let grain = tuned::grain(&call.case.op, GRAIN).div_ceil(TALL * length.max(1));
    let parts = threads.unwrap_or(1).min(pieces.div_ceil(grain)).max(1);
    let isa = call.isa;
    call.pool.run(parts, &|index| {
        for piece in split(pieces, parts, index, grain) {
            let range = piece * TALL..rows.min((piece + 1) * TALL);
            // SAFETY: pieces are of different rows, and each is met once.
            let (mut own, dx) =
                unsafe { (shared.range_mut(piece..piece + 1), dx.range_mut(range.clone())) };
            let (x, dy) = (x.range(range.clone()), dy.range(range));
            let (dgamma, dbeta) = own.row_mut(0).split_at_mut(length);
            dgamma.fill(0.0);
            dbeta.fill(0.0);
            let piece = Piece { eps: eps as f32, gamma, x, dy, dx, dgamma, dbeta };
            if threads.is_some() { dispatch(isa, piece) } else { piece.one_by_one() }
        }
    });
    // Piece after piece into the first, along the rows.
    let (first, rest) = sums.split_at_mut(2 * length);
    for piece in rest.chunks_exact(2 * length.max(1)) {
        first.iter_mut().zip(piece).for_each(|(total, sum)| *total += sum);
    }
    let (of_gamma, of_beta) = first.split_at(length);
    for (output, sums) in [(dgamma, of_gamma), (dbeta, of_beta)] {
        for (output, &sum) in output.slice_mut::<T>()?.iter_mut().zip(sums) {
            *output = T::narrow(sum);
        }
    }
    Ok(())
}

/// Some rows, and the sums of dgamma and dbeta over them.
struct Piece<'a, T> {
    eps: f32,
    gamma: &'a [T],
    x: Rows<'a, T>,
    dy: Rows<'a, T>,
    dx: RowsMut<'a, T>,
    dgamma: &'a mut [f32],
    dbeta: &'a mut [f32],
}

impl<T: Stored> Piece<'_, T> {
    fn one_by_one(mut self) {
        let length = self.x.cols() as f32;
        for i in 0..self.x.rows() {
            let (x, dy, dx) = (self.x.row(i), self.dy.row(i), self.dx.row_mut(i));
            let mean_of = |of: &dyn Fn(usize) -> f32| {
                let of_run = |start: usize| (start..x.len().min(start + RUN)).map(of).sum::<f32>();
                (0..x.len()).step_by(RUN).map(of_run).sum::<f32>() / length
            };
            let mean = mean_of(&|j| x[j].widen());
            let variance = mean_of(&|j| (x[j].widen() - mean).powi(2));
            let r = 1.0 / (variance + self.eps).sqrt();
            let a = |j: usize| dy[j].widen() * self.gamma[j].widen();
            let h = |j: usize| (x[j].widen() - mean) * r;
            let straight = mean_of(&a);
            let turned = mean_of(&|j| a(j) * h(j));
            for (j, dx) in dx.iter_mut().enumerate() {
                *dx = T::narrow(r * (a(j) - straight - h(j) * turned));
                self.dgamma[j] += dy[j].widen() * h(j);
                self.dbeta[j] += dy[j].widen();
            }
        }
    }
}

impl<T: Stored> Body for Piece<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let length = self.x.cols() as f32;
        for i in 0..self.x.rows() {
            let (x, dy, dx) = (self.x.row(i), self.dy.row(i), self.dx.row_mut(i));
            let mean = sum(simd, x) / length;
            let variance = squared_deviations(simd, x, mean) / length;
            let r = 1.0 / (variance + self.eps).sqrt();
            let (mean, root) = (simd.splat(mean), simd.splat(r));
            let [straight, turned] = sums(simd, x, dy, self.gamma, mean);
            let straight = simd.splat(straight / length);
            let turned = simd.splat(turned * r / length);
            vectors!(S, simd, [x: T in x, dy: T in dy, g: T in self.gamma] => dx: T in dx, {
                let h = simd.mul(simd.sub(x, mean), root);
                let rest = simd.sub(simd.mul(dy, g), simd.fma(h, turned, straight));
                simd.mul(root, rest)
            });
            add_products(simd, x, dy, [mean, root], self.dgamma, self.dbeta);
        }
    }
}

/// `Σ a` and `Σ a·(x − mean)` with `a = dy·gamma`.
#[inline(always)]
fn sums<S: Simd, T: Stored>(simd: S, x: &[T], dy: &[T], gamma: &[T], mean: S::F) -> [f32; 2] {
    /// Pairs of accumulators in flight: additions and products of two vectors a cycle.
    const CHAINS: usize = 4;
    let mut totals = [[simd.zero(); 2]; CHAINS];
    let mut at = 0;
    while at + CHAINS * S::LANES <= x.len() {
        for (chain, total) in totals.iter_mut().enumerate() {
            let from = at + chain * S::LANES;
            let (x, dy) = (T::load(simd, &x[from..]), T::load(simd, &dy[from..]));
            *total = take(simd, *total, [x, dy, T::load(simd, &gamma[from..])], mean);
        }
        at += CHAINS * S::LANES;
    }
    for total in &mut totals {
        // Lanes past the end are 0 in dy and add nothing.
        let own = at.min(x.len())..x.len().min(at + S::LANES);
        let gamma = T::load_partial(simd, &gamma[own.clone()], 0.0);
        let dy = T::load_partial(simd, &dy[own.clone()], 0.0);
        let x = T::load_partial(simd, &x[own], 0.0);
        *total = take(simd, *total, [x, dy, gamma], mean);
        at += S::LANES;
    }
    let [a, b, c, d] = totals;
    let straight = simd.add(simd.add(a[0], b[0]), simd.add(c[0], d[0]));
    let turned = simd.add(simd.add(a[1], b[1]), simd.add(c[1], d[1]));
    [simd.reduce_sum(straight), simd.reduce_sum(turned)]
}

/// Both sums with a vector of each operand more.
#[inline(always)]
fn take<S: Simd>(
    simd: S,
    [straight, turned]: [S::F; 2],
    [x, dy, gamma]: [S::F; 3],
    mean: S::F,
) -> [S::F; 2] {
    let a = simd.mul(dy, gamma);
    [simd.add(straight, a), simd.fma(a, simd.sub(x, mean), turned)]
}

/// Adds `dy·h` to dgamma and dy to dbeta.
#[inline(always)]
fn add_products<S: Simd, T: Stored>(
    simd: S,
    x: &[T],
    dy: &[T],
    [mean, root]: [S::F; 2],
    dgamma: &mut [f32],
    dbeta: &mut [f32],
) {
    let vectors = x.len() / S::LANES * S::LANES;
    let mut at = 0;
    while at < vectors {
        let (x, dy) = (T::load(simd, &x[at..]), T::load(simd, &dy[at..]));
        let h = simd.mul(simd.sub(x, mean), root);
        let (dgamma, dbeta) = (&mut dgamma[at..], &mut dbeta[at..]);
        simd.store(simd.fma(dy, h, simd.load(dgamma)), dgamma);
        simd.store(simd.add(dy, simd.load(dbeta)), dbeta);
        at += S::LANES;
    }
    let (x, dy) = (T::load_partial(simd, &x[at..], 0.0), T::load_partial(simd, &dy[at..], 0.0));
    let h = simd.mul(simd.sub(x, mean), root);
    let (dgamma, dbeta) = (&mut dgamma[at..], &mut dbeta[at..]);
    simd.store_partial(simd.fma(dy, h, simd.load_partial(dgamma, 0.0)), dgamma);
    simd.store_partial(simd.add(dy, simd.load_partial(dbeta, 0.0)), dbeta);
}
