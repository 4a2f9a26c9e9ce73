//! Few queries over many keys: the keys of a head are split among threads too.
//!
//! Idea: when a model generates, one head of keys serves few rows, and there may be fewer heads
//! than threads. Chunks of keys are computed as in [`super::thin`] and merged by their maxima and
//! totals: with `w = exp(m_chunk − m)`, sums and totals are `Σ w·sums` and `Σ w·total`. How long
//! chunks are depends on the case alone, so the bits do not depend on the number of threads.
//! In addition to the traffic of the keys, each row and chunk writes and reads `d + 2` floats once.

use super::thin::{self, State};
use super::tiled::{self, LINE, Operands, each_task, seen_keys, shared_rows};
use crate::attention::definition::Problem;
use crate::blocks::made::{Made, typed};
use crate::blocks::math::exp;
use crate::blocks::scratch::elements_mut;
use crate::blocks::stored::Stored;
use proofmark_contract::{Call, KernelError, Unsupported};
use proofmark_simd::{Body, dispatch};
use proofmark_tensor::RowsMut;
use proofmark_terms::Case;
use std::ops::Range;

/// The least number of keys of a chunk: 256 KiB of f32 keys at d = 128, which take some ten times
/// as long as handing over a task.
const CHUNK: usize = 512;
/// The greatest number of chunks of a head, which bounds the workspace.
const MOST_CHUNKS: usize = 64;

/// The kernel.
pub(crate) static CHUNKED: Made = Made {
    name: "chunked",
    supports: |case, _| supports(case),
    workspace: |case, _, threads| {
        let problem = Problem::of(case);
        let tasks = problem.batches * problem.kv_heads * chunks(&problem);
        let floats = threads.max(1) * reads(&problem) + tasks * state(&problem);
        floats * size_of::<f32>()
    },
    ..Made::parallel("few queries: chunks of keys shared out to threads and merged", |call| {
        typed!(call.case.dtype, run(call))
    })
};

fn supports(case: &Case) -> Result<(), Unsupported> {
    tiled::supports(case)?;
    let problem = Problem::of(case);
    if !tiled::is_thin(&problem) {
        let (rows, most) = (shared_rows(&problem), thin::MOST_ROWS);
        return Err(Unsupported(format!("{rows} rows share a head of keys, {most} at most")));
    }
    let keys = seen_keys(&problem).len();
    if keys < 2 * CHUNK {
        return Err(Unsupported(format!("{keys} keys make no two chunks of {CHUNK}")));
    }
    Ok(())
}

/// Keys of every chunk but the last: whole tiles.
fn chunk(problem: &Problem) -> usize {
    let least = seen_keys(problem).len().div_ceil(MOST_CHUNKS);
    least.max(CHUNK).next_multiple_of(thin::TILE)
}

/// Chunks of a head.
fn chunks(problem: &Problem) -> usize {
    seen_keys(problem).len().div_ceil(chunk(problem))
}

/// The keys of a chunk.
fn keys(problem: &Problem, at: usize) -> Range<usize> {
    let all = seen_keys(problem);
    let start = all.start + at * chunk(problem);
    start..all.end.min(start + chunk(problem))
}

/// Floats of scratch memory for each thread, in whole cache lines.
fn reads(problem: &Problem) -> usize {
    thin::reads(problem).next_multiple_of(LINE)
}

/// Floats of the state of each chunk, in whole cache lines.
fn state(problem: &Problem) -> usize {
    thin::state(problem).next_multiple_of(LINE)
}

fn run<T: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let (isa, pool, threads) = (call.isa, call.pool, call.threads.max(1));
    let (operands, workspace) = Operands::<T>::of(call)?;
    let problem = &operands.problem;
    if problem.rows() * problem.width == 0 {
        return Ok(());
    }
    let (heads, chunks) = (problem.batches * problem.kv_heads, chunks(problem));
    let tasks = heads * chunks;
    let (own, each) = (threads * reads(problem), state(problem));
    let floats = elements_mut::<f32>(workspace, own + tasks * each, "workspace")?;
    let (own, states) = floats.split_at_mut(own);
    let own = RowsMut::from_slice(own, threads, reads(problem));
    // SAFETY: the view is used again only when the region of its handle has ended.
    let shared = unsafe { RowsMut::from_slice(&mut *states, tasks, each).share() };
    each_task(pool, own, tasks, |own, task| {
        // SAFETY: each task is taken once and takes the one row of its number.
        let mut state = unsafe { shared.range_mut(task..task + 1) };
        let (head, keys) = (task / chunks, keys(&operands.problem, task % chunks));
        let state = State::of(&operands.problem, state.row_mut(0));
        dispatch(isa, Part { operands: &operands, head, keys, own, state });
    });
    for (head, states) in states.chunks_exact_mut(chunks * each).enumerate() {
        dispatch(isa, Merge { operands: &operands, head, states });
    }
    Ok(())
}

/// One chunk of a head of keys.
struct Part<'a, 'b, T> {
    operands: &'a Operands<'b, T>,
    head: usize,
    keys: Range<usize>,
    own: &'a mut [f32],
    state: State<'a>,
}

impl<T: Stored> Body for Part<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: proofmark_simd::Simd>(mut self, simd: S) {
        thin::some_keys(simd, self.operands, self.head, self.keys, self.own, &mut self.state);
    }
}

/// The chunks of a head become its rows of the output.
struct Merge<'a, 'b, T> {
    operands: &'a Operands<'b, T>,
    head: usize,
    states: &'a mut [f32],
}

impl<T: Stored> Body for Merge<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: proofmark_simd::Simd>(self, simd: S) {
        let problem = &self.operands.problem;
        let (first, others) = self.states.split_at_mut(state(problem));
        let mut merged = State::of(problem, first);
        for other in others.chunks_exact_mut(state(problem)) {
            let other = State::of(problem, other);
            for row in 0..shared_rows(problem) {
                merge_row(simd, problem, row, &mut merged, &other);
            }
        }
        thin::write(simd, self.operands, self.head, &merged);
    }
}

/// Adds what a row found in one more chunk.
#[inline(always)]
fn merge_row<S: proofmark_simd::Simd>(
    simd: S,
    problem: &Problem,
    row: usize,
    merged: &mut State<'_>,
    other: &State<'_>,
) {
    let (one, two) = (merged.max[row], other.max[row]);
    let max = one.max(two);
    // Where every score is -infinity nothing is subtracted: all weights are 0.
    let shift = if max == f32::NEG_INFINITY { 0.0 } else { max };
    let weight = |max: f32| exp(simd, simd.splat(max - shift));
    let (w1, w2) = (weight(one), weight(two));
    merged.max[row] = max;
    merged.total[row] =
        thin::first_of(simd, w1) * merged.total[row] + thin::first_of(simd, w2) * other.total[row];
    let wide = thin::padded(problem);
    for at in (row * wide..(row + 1) * wide).step_by(S::LANES) {
        let sum = simd.mul(w1, simd.load(&merged.sums[at..]));
        let sum = simd.fma(w2, simd.load(&other.sums[at..]), sum);
        simd.store(sum, &mut merged.sums[at..]);
    }
}
