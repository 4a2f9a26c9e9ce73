//! One strip of queries over packed tiles of keys and values: scores, weights, weighted values.

use super::amx::{KEYS, Packed};
use super::strip::{Block, blocks, divide, reciprocal};
use super::strip_pass::{Lanes, Seen, weigh};
use super::tiled::Operands;
use crate::attention::definition::Problem;
use crate::blocks::gemm::tiles::{
    SIDE, STEP, TERMS, TILE, TileTerm, pack_left, pack_left_turned, parts_block, turn,
};
use crate::blocks::scratch::elements_mut;
use proofmark_simd::tile::{ROWS, Tiles};
use proofmark_simd::{Body, Simd};
use proofmark_tensor::{Rows, bf16, f16};
use std::f64::consts::LOG2_E;
use std::ops::Range;

/// The most parts of a weight, for which there is scratch memory.
const MOST_PARTS: usize = 3;
/// Sums of a block of tiles.
const BLOCK: usize = SIDE * SIDE;

/// Terms that a weight can be split into.
pub(super) trait Weight: TileTerm {
    /// Parts of a weight.
    const PARTS: usize;
    /// What weights, at most 1, are multiplied by, so that small ones keep their digits.
    const RAISE: f32;
    /// The bits of infinity.
    const INFINITY: u16;

    /// Splits the largest part off weights. Returns its bits, in the upper halves of words whose
    /// lower halves are 0, and the remainder.
    fn take<S: Simd>(simd: S, weights: S::F) -> (S::I, S::F);
}

impl Weight for bf16 {
    /// Three times 8 bits are the 24 of an f32.
    const PARTS: usize = 3;
    const RAISE: f32 = 1.0;
    const INFINITY: u16 = bf16::INFINITY.to_bits();

    /// An f32 without its lower 16 bits is a bf16, and what is left of it is exact.
    #[inline(always)]
    fn take<S: Simd>(simd: S, weights: S::F) -> (S::I, S::F) {
        let upper = simd.int_and(simd.bits_of(weights), simd.int_splat(!0xffff));
        (upper, simd.sub(weights, simd.from_bits(upper)))
    }
}

impl Weight for f16 {
    /// Twice 11 bits.
    const PARTS: usize = 2;
    /// Just within f16: what is rounded away of a weight, 2^-40, changes no result of f16.
    const RAISE: f32 = 32_768.0;
    const INFINITY: u16 = f16::INFINITY.to_bits();

    #[inline(always)]
    fn take<S: Simd>(simd: S, weights: S::F) -> (S::I, S::F) {
        let mut halves = [0_u16; ROWS];
        simd.store_f16(weights, &mut halves);
        let rest = simd.sub(weights, simd.load_f16(&halves));
        // A bf16 is the upper half of its f32.
        (simd.bits_of(simd.load_bf16(&halves)), rest)
    }
}

/// Packs a tile of keys as left operand of the scores, and one of values, transposed, for the sums.
pub(super) struct Pack<'a, T> {
    pub(super) keys: Rows<'a, T>,
    pub(super) values: Rows<'a, T>,
    pub(super) to: &'a mut [bf16],
}

impl<T: Weight> Body for Pack<'_, T> {
    /// Whether all values are finite.
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> bool {
        let (keys, values) = self.to.split_at_mut(self.to.len() / 2);
        let from = T::bits(self.values);
        pack_left(&T::bits(self.keys), keys);
        pack_left_turned(simd, &from, values);
        is_finite::<T>(&from)
    }
}

fn is_finite<T: Weight>(rows: &Rows<'_, bf16>) -> bool {
    let largest = |row: &[bf16]| row.iter().fold(0, |most, x| most.max(x.to_bits() & 0x7fff));
    (0..rows.rows()).all(|row| largest(rows.row(row)) < T::INFINITY)
}

/// Floats and 16-bit terms of scratch memory for a thread.
fn scratch(problem: &Problem) -> (usize, usize) {
    let steps = problem.width.div_ceil(TERMS);
    let floats = steps * BLOCK + 4 * SIDE + SIDE + KEYS * SIDE;
    (floats, steps * STEP + MOST_PARTS * KEYS * SIDE)
}

/// Bytes of scratch memory for a thread, in whole cache lines.
pub(super) fn scratch_bytes(problem: &Problem) -> usize {
    let (floats, words) = scratch(problem);
    floats * size_of::<f32>() + words * size_of::<bf16>()
}

/// The memory of a strip.
struct Memory<'a> {
    /// Weighted values in blocks of 32 columns, a row for each column.
    sums: &'a mut [f32],
    lanes: Lanes<'a>,
    /// The factors that correct the sums of each lane.
    factors: &'a mut [f32],
    /// Scores, then weights, of one tile, a row for each key.
    scores: &'a mut [f32],
    /// Queries as right operand.
    queries: &'a mut [bf16],
    /// Weights as right operand in parts.
    weights: &'a mut [bf16],
}

impl<'a> Memory<'a> {
    fn of(problem: &Problem, scratch: &'a mut [u8]) -> Memory<'a> {
        let (floats, words) = self::scratch(problem);
        let steps = problem.width.div_ceil(TERMS);
        let (own, rest) = scratch.split_at_mut(floats * size_of::<f32>());
        let own = elements_mut::<f32>(own, floats, "floats").expect("aligned");
        let words = elements_mut::<bf16>(rest, words, "tiles").expect("aligned");
        let (sums, own) = own.split_at_mut(steps * BLOCK);
        let (lanes, own) = own.split_at_mut(4 * SIDE);
        let (factors, scores) = own.split_at_mut(SIDE);
        let (queries, weights) = words.split_at_mut(steps * STEP);
        Memory { sums, lanes: Lanes::of(lanes), factors, scores, queries, weights }
    }
}

/// The rows of one task, strip by strip.
pub(super) struct Strips<'a, 'b, T> {
    pub(super) operands: &'a Operands<'b, T>,
    pub(super) packed: &'a Packed,
    /// The packed tiles.
    pub(super) tiles: Rows<'a, bf16>,
    pub(super) index: usize,
    pub(super) scratch: &'a mut [u8],
}

impl<T: Weight> Body for Strips<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Strips { operands, packed, tiles: all, index, scratch } = self;
        let problem = &operands.problem;
        let (head, part) = (index / blocks(problem), index % blocks(problem));
        let rows = Block::of(problem, head, part);
        let mut memory = Memory::of(problem, scratch);
        let mut first = 0;
        while first < rows.rows {
            begin(simd, operands, &rows, first, &mut memory);
            let tiles = Tiles::configure(T::PRODUCT).expect("the kernel asked for it");
            let seen = seen_by(&memory.lanes, problem);
            let mut start = seen.start / KEYS * KEYS;
            for at in packed.of_keys(head, seen.clone()) {
                let tile = start..problem.keys.min(start + KEYS);
                let (keys, values) = all.row(at).split_at(packed.half());
                pass::<S, T>(simd, &tiles, problem, &tile, keys, values, &mut memory);
                start += KEYS;
            }
            drop(tiles);
            finish(simd, operands, &rows, first, &mut memory);
            first += SIDE;
        }
    }
}

/// The keys that some lane sees.
fn seen_by(lanes: &Lanes<'_>, problem: &Problem) -> Range<usize> {
    Seen::of(lanes, 0..SIDE, &(0..problem.keys)).some
}

/// Packs the queries of a strip; nothing is summed yet.
#[inline(always)]
fn begin<S: Simd, T: Weight>(
    simd: S,
    operands: &Operands<'_, T>,
    rows: &Block,
    first: usize,
    memory: &mut Memory<'_>,
) {
    let (problem, queries) = (&operands.problem, T::bits(operands.q));
    memory.sums.fill(0.0);
    rows.begin(problem, first, &mut memory.lanes);
    for (at, to) in memory.queries.chunks_exact_mut(TILE).enumerate() {
        let mut own: [&[bf16]; ROWS] = [&[]; ROWS];
        for (lane, row) in own.iter_mut().enumerate() {
            *row = queries.row(rows.place(problem, first + at % 2 * ROWS + lane).1);
        }
        turn(simd, &own, at / 2 * TERMS, to);
    }
}

/// One tile of keys and values.
#[inline(always)]
fn pass<S: Simd, T: Weight>(
    simd: S,
    tiles: &Tiles,
    problem: &Problem,
    tile: &Range<usize>,
    keys: &[bf16],
    values: &[bf16],
    memory: &mut Memory<'_>,
) {
    let Memory { sums, lanes, factors, scores, queries, weights } = memory;
    let seen = Seen::of(lanes, 0..SIDE, tile);
    let some = seen.some.start - tile.start..seen.some.end - tile.start;
    if some.is_empty() {
        return;
    }
    // Only whole steps of keys are computed. Keys that no lane sees have rubbish scores and weights
    // of 0.
    let steps = some.start / TERMS..some.end.div_ceil(TERMS);
    for step in steps.clone() {
        let keys = &keys[step * queries.len()..][..queries.len()];
        parts_block(tiles, 1, keys, queries, &mut scores[step * BLOCK..][..BLOCK], false);
    }
    let scale = (problem.scale * LOG2_E) as f32;
    let used = &mut scores[some.start * SIDE..];
    weigh::<S, 2>(simd, &seen, Some(scale), lanes, used, factors);
    scores[steps.start * BLOCK..some.start * SIDE].fill(0.0);
    scores[some.end * SIDE..steps.end * BLOCK].fill(0.0);
    for step in steps.clone() {
        let to = &mut weights[step * T::PARTS * STEP..][..T::PARTS * STEP];
        split::<S, T>(simd, &scores[step * BLOCK..][..BLOCK], to);
    }
    correct(simd, sums, factors);
    let all = tile.len().div_ceil(TERMS) * STEP;
    let weights = &weights[steps.start * T::PARTS * STEP..steps.end * T::PARTS * STEP];
    for (at, sums) in sums.chunks_exact_mut(BLOCK).enumerate() {
        let values = &values[at * all..][steps.start * STEP..steps.end * STEP];
        parts_block(tiles, T::PARTS, values, weights, sums, true);
    }
}

/// Splits the weights of 32 keys into their parts, two keys side by side.
#[inline(always)]
fn split<S: Simd, T: Weight>(simd: S, from: &[f32], to: &mut [bf16]) {
    assert!(from.len() == BLOCK && to.len() == T::PARTS * STEP, "32 keys are a step");
    assert!(2 * S::LANES == SIDE, "two vectors are a row");
    let raise = simd.splat(T::RAISE);
    for pair in 0..ROWS {
        for half in 0..2 {
            let at = 2 * pair * SIDE + half * ROWS;
            let mut even = simd.mul(raise, simd.load(&from[at..]));
            let mut odd = simd.mul(raise, simd.load(&from[at + SIDE..]));
            for part in 0..T::PARTS {
                let (low, high);
                (low, even) = T::take(simd, even);
                (high, odd) = T::take(simd, odd);
                let both = simd.int_or(simd.shift_right(low, 16), high);
                let at = part * STEP + half * TILE + pair * TERMS;
                let to = &mut to[at..][..TERMS];
                // SAFETY: 16 lanes of 4 bytes are the 32 elements.
                unsafe { simd.store_ptr(simd.from_bits(both), to.as_mut_ptr().cast()) };
            }
        }
    }
}

/// Multiplies all sums by their lane's factor.
#[inline(always)]
fn correct<S: Simd>(simd: S, sums: &mut [f32], factors: &[f32]) {
    let factor = [simd.load(factors), simd.load(&factors[S::LANES..])];
    for row in sums.chunks_exact_mut(SIDE) {
        for half in 0..2 {
            let place = &mut row[half * S::LANES..];
            simd.store(simd.mul(factor[half], simd.load(place)), place);
        }
    }
}

/// Transposes the sums of a strip, divides them by their totals and writes the rows they belong to.
#[inline(always)]
fn finish<S: Simd, T: Weight>(
    simd: S,
    operands: &Operands<'_, T>,
    rows: &Block,
    first: usize,
    memory: &mut Memory<'_>,
) {
    let problem = &operands.problem;
    let turned = &mut memory.scores[..BLOCK];
    for (at, sums) in memory.sums.chunks_exact(BLOCK).enumerate() {
        for corner in 0..4 {
            let (down, across) = (corner / 2 * ROWS, corner % 2 * ROWS);
            let (from, to) = (&sums[down * SIDE + across..], &mut turned[across * SIDE + down..]);
            assert!(S::LANES == ROWS, "a quarter of a block is a square of vectors");
            // SAFETY: 16 rows of 16 floats, 32 apart, of a block of 32 rows on either side.
            unsafe { simd.transpose_ptr(from.as_ptr(), SIDE, to.as_mut_ptr(), SIDE) };
        }
        for lane in 0..SIDE.min(rows.rows - first) {
            let factor = reciprocal(memory.lanes.total[lane]) / T::RAISE;
            // SAFETY: the row is one of this task's block.
            let mut output = unsafe { operands.output(rows.place(problem, first + lane).1) };
            let end = problem.width.min((at + 1) * SIDE);
            divide(simd, &turned[lane * SIDE..], factor, &mut output.row_mut(0)[at * SIDE..end]);
        }
    }
}
