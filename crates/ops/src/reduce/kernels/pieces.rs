//! Groups of outputs in vectors, on one thread or several.
//!
//! Idea: terms are cut into pieces whatever the number of threads, and the pieces of an output are
//! joined in order, so that no thread count changes a bit. Threads share the groups; where there
//! are too few of them they share the pieces, whose partial results wait in the workspace. Along a
//! row a piece is reduced in four chains of vectors; down columns eight rows at a time are added
//! to partial results in L1, so that rows are read as they lie in memory. One read of
//! x, 1 to 4 flops a term; memory is the limit.

use super::super::definition::{Over, Problem};
use super::super::members::Member;
use super::source::{BLOCK, Cut, Partial, Source};
use crate::blocks::scratch::elements_mut;
use crate::blocks::stored::Stored;
use crate::blocks::tuned;
use proofmark_contract::{Call, KernelError};
use proofmark_simd::{Body, Simd, dispatch};
use proofmark_tensor::{RowsMut, SharedRows, split};
use proofmark_terms::Case;
use std::marker::PhantomData;
use std::ops::Range;

/// Elements that keep a thread busy for longer than the pool's hand-over takes (1.2 µs), if they
/// come from L2 or beyond.
const GRAIN: usize = 16_384;

/// Groups for each thread below which pieces are shared, if there are several.
const FEW: usize = 4;

fn shares_pieces(cut: &Cut, threads: usize) -> bool {
    threads > 1 && cut.pieces > 1 && cut.groups < FEW * threads
}

/// Bytes of partial results that threads leave for one another.
pub(super) fn workspace<const K: usize>(case: &Case, threads: usize) -> usize {
    let problem = Problem::of(case);
    let of = |cut: Cut| match shares_pieces(&cut, threads) {
        true => cut.groups * cut.pieces * K * cut.width * size_of::<f32>(),
        false => 0,
    };
    of(Cut::of(&problem, false)).max(match problem.over {
        Over::All => of(Cut::of(&problem, true)),
        _ => 0,
    })
}

pub(super) fn run<M: Member<K>, const K: usize, T: Stored>(
    call: &mut Call<'_>,
    threads: usize,
) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let source = Source::of(problem, call.inputs[0].rows::<T>()?);
    let (cut, isa) = (source.cut, call.isa);
    let y = call.outputs[0].slice_mut::<M::Out<T>>()?;
    let outputs = y.len();
    let y = RowsMut::from_slice(y, outputs, 1);
    // SAFETY: `y` is not used again while the handle is.
    let y = unsafe { y.share() };
    let (terms, correction) = (problem.terms(), problem.correction as f32);
    let whole = Whole { source, y, terms, correction, of: PhantomData::<fn() -> M> };
    let grain = tuned::grain(&call.case.op, GRAIN).div_ceil(cut.load.max(1));
    if !shares_pieces(&cut, threads) {
        let grain = grain.div_ceil(cut.pieces);
        let parts = threads.min(cut.groups.div_ceil(grain)).max(1);
        call.pool.run(parts, &|index| {
            dispatch(isa, Groups { whole, groups: split(cut.groups, parts, index, 1), left: None });
        });
        return Ok(());
    }
    let (count, width) = (cut.groups * cut.pieces, K * cut.width);
    let left = elements_mut::<f32>(call.workspace, count * width, "the workspace")?;
    let left = RowsMut::from_slice(left, count, width);
    // SAFETY: `left` is not used again while the handle is.
    let left = unsafe { left.share() };
    let parts = threads.min(count.div_ceil(grain)).max(1);
    call.pool.run(parts, &|index| {
        let units = split(count, parts, index, 1);
        // SAFETY: the ranges of different indices do not meet, and each index is run once.
        let left = unsafe { left.range_mut(units.clone()) };
        dispatch(isa, Units { whole, units, left });
    });
    dispatch(isa, Groups { whole, groups: 0..cut.groups, left: Some(left) });
    Ok(())
}

/// A call as all threads see it.
struct Whole<'a, M, T: Stored, O, const K: usize> {
    source: Source<'a, T>,
    y: SharedRows<'a, O>,
    terms: usize,
    correction: f32,
    of: PhantomData<fn() -> M>,
}

impl<M, T: Stored, O, const K: usize> Clone for Whole<'_, M, T, O, K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<M, T: Stored, O, const K: usize> Copy for Whole<'_, M, T, O, K> {}

/// Some pieces, whose partial results are left in the workspace.
struct Units<'a, M, T: Stored, O, const K: usize> {
    whole: Whole<'a, M, T, O, K>,
    units: Range<usize>,
    left: RowsMut<'a, f32>,
}

impl<M: Member<K>, T: Stored, O, const K: usize> Body for Units<'_, M, T, O, K> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let Cut { pieces, width, .. } = self.whole.source.cut;
        let mut partial: Partial<K> = [[0.0; BLOCK]; K];
        for (i, unit) in self.units.enumerate() {
            let source = &self.whole.source;
            source.reduce::<S, M, K>(simd, unit / pieces, unit % pieces, &mut partial);
            for (to, from) in self.left.row_mut(i).chunks_exact_mut(width).zip(&partial) {
                to.copy_from_slice(&from[..width]);
            }
        }
    }
}

/// Some groups, made of their pieces or of what is left of these.
struct Groups<'a, M, T: Stored, O, const K: usize> {
    whole: Whole<'a, M, T, O, K>,
    groups: Range<usize>,
    left: Option<SharedRows<'a, f32>>,
}

impl<M: Member<K>, T: Stored, const K: usize> Body for Groups<'_, M, T, M::Out<T>, K> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Whole { source, y, terms, correction, .. } = self.whole;
        let Cut { pieces, width, .. } = source.cut;
        let mut total: Partial<K> = [[0.0; BLOCK]; K];
        let mut partial: Partial<K> = [[0.0; BLOCK]; K];
        for group in self.groups {
            let outputs = source.outputs(group);
            let mut done = 0;
            for piece in 0..pieces {
                let target = if piece == 0 { &mut total } else { &mut partial };
                match self.left {
                    None => source.reduce::<S, M, K>(simd, group, piece, target),
                    Some(left) => {
                        let unit = group * pieces + piece;
                        // SAFETY: the threads that wrote are done, and no other thread reads.
                        let left = unsafe { left.range_mut(unit..unit + 1) };
                        for (to, from) in target.iter_mut().zip(left.row(0).chunks_exact(width)) {
                            to[..width].copy_from_slice(from);
                        }
                    }
                }
                let count = source.terms(piece);
                if piece > 0 {
                    join::<M, K>((&mut total, done), (&partial, count), outputs.len());
                }
                done += count;
            }
            // SAFETY: each group is met once, by one thread, and groups do not share outputs.
            let mut y = unsafe { y.range_mut(outputs) };
            for i in 0..y.rows() {
                let state = std::array::from_fn(|k| total[k][i]);
                y.row_mut(i)[0] = M::finish::<T>(state, terms, correction);
            }
        }
    }
}

#[inline(always)]
fn join<M: Member<K>, const K: usize>(
    (a, of_a): (&mut Partial<K>, usize),
    (b, of_b): (&Partial<K>, usize),
    width: usize,
) {
    for i in 0..width {
        let of = |partial: &Partial<K>| std::array::from_fn(|k| partial[k][i]);
        let joined = M::join((of(a), of_a), (of(b), of_b));
        (0..K).for_each(|k| a[k][i] = joined[k]);
    }
}
