//! The kernels of dropout: random words into a small buffer, then product and mask.
//!
//! Idea: each lane of a vector computes one Philox block, whose four words are in four vectors.
//! `LANES / 4` such sets are computed from blocks chosen so that their transposed square holds
//! words in the order of elements. The buffer is read at the offset that the row has to its first
//! block, so that rows may begin anywhere. One read and one write of an element, 10 rounds for four
//! of them: about 2 integer operations a lane and element; memory is the limit, then the
//! multiplications. The scalar kernel computes a block for each element and takes one word.

use super::definition::Rule;
use crate::blocks::made::{Made, typed};
use crate::blocks::stored::Stored;
use crate::blocks::tuned;
use proofmark_contract::{Call, KernelError, PartUnit};
use proofmark_simd::{Body, Simd, dispatch};
use proofmark_tensor::{Rows, RowsMut, philox4x32};

/// Words of the buffer: the square of the widest vector.
const WORDS: usize = 256;

/// Least elements of a thread: about as long as the pool's hand-over takes (1.2 µs).
const GRAIN: usize = 2048;

/// One element at a time.
pub(super) static SCALAR: Made =
    Made::scalar("one random block for each element", |call| typed!(call.case.dtype, scalar(call)));

/// In vectors.
pub(super) static SIMD: Made = Made::simd("random blocks in lanes, products in vectors", |call| {
    typed!(call.case.dtype, in_vectors(call, 1))
})
.exact();

/// In vectors on threads.
pub(super) static PARALLEL: Made =
    Made::parallel("the simd kernel on ranges of elements or rows for each thread", |call| {
        let threads = call.threads;
        typed!(call.case.dtype, in_vectors(call, threads))
    })
    .exact()
    .tuned(PartUnit::Elements);

fn scalar<T: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let rule = Rule::of(call.case);
    let (x, mut y) = (call.inputs[0].rows::<T>()?, call.outputs[0].rows_mut::<T>()?);
    let length = x.cols();
    for i in 0..x.rows() {
        for (j, (x, y)) in x.row(i).iter().zip(y.row_mut(i)).enumerate() {
            let index = (i * length + j) as u64;
            let words = block(index / 4, rule.key);
            let is_kept = u64::from(words[(index % 4) as usize]) >= rule.threshold;
            *y = T::narrow(if is_kept { x.widen() * rule.factor } else { 0.0 });
        }
    }
    Ok(())
}

fn block(number: u64, key: [u32; 2]) -> [u32; 4] {
    philox4x32([number as u32, (number >> 32) as u32, 0, 0], key)
}

fn in_vectors<T: Stored>(call: &mut Call<'_>, threads: usize) -> Result<(), KernelError> {
    let rule = Rule::of(call.case);
    let (x, mut y) = (call.inputs[0].rows::<T>()?, call.outputs[0].rows_mut::<T>()?);
    let (length, cols) = (x.rows() * x.cols(), x.cols());
    // Without gaps, elements are rows of one element, so threads may split them anywhere.
    let is_flat = x.as_slice().is_some() && y.as_slice().is_some();
    let (x, y) = match is_flat {
        true => {
            let x = x.as_slice().expect("x has no gaps");
            let y = y.as_mut_slice().expect("y has no gaps");
            (Rows::from_slice(x, length, 1), RowsMut::from_slice(y, length, 1))
        }
        false => (x, y.reborrow()),
    };
    let (total, isa) = (x.rows(), call.isa);
    let grain = tuned::grain(&call.case.op, GRAIN).div_ceil(x.cols().max(1));
    let parts = threads.min(total.div_ceil(grain)).max(1);
    call.pool.for_rows(parts, y, grain, |range, mut y| {
        let (x, start) = (x.range(range.clone()), range.start);
        if is_flat {
            let x = x.as_slice().expect("x has no gaps");
            let y = y.as_mut_slice().expect("y has no gaps");
            dispatch(isa, Run { rule, x, y, first: start });
            return;
        }
        for i in 0..x.rows() {
            let first = (start + i) * cols;
            dispatch(isa, Run { rule, x: x.row(i), y: y.row_mut(i), first });
        }
    });
    Ok(())
}

/// Elements side by side, the first of which has this index.
struct Run<'a, T> {
    rule: Rule,
    x: &'a [T],
    y: &'a mut [T],
    first: usize,
}

impl<T: Stored> Body for Run<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Run { rule, x, y, first } = self;
        let mut words = [0.0; WORDS];
        let made = if S::LANES < 4 { 4 } else { S::LANES * S::LANES };
        let mut at = 0;
        while at < x.len() {
            let (number, skipped) = ((first + at) / 4, (first + at) % 4);
            fill(simd, number as u64, rule.key, &mut words);
            let end = x.len().min(at + made - skipped);
            apply(simd, &rule, &x[at..end], &words[skipped..], &mut y[at..end]);
            at = end;
        }
    }
}

/// The words of the blocks from `number` on, as the bits of floats: four, or a vector's square.
#[inline(always)]
fn fill<S: Simd>(simd: S, number: u64, key: [u32; 2], words: &mut [f32; WORDS]) {
    if S::LANES < 4 {
        let made = block(number, key).map(f32::from_bits);
        words[..4].copy_from_slice(&made);
        return;
    }
    let sets = S::LANES / 4;
    let mut square = [0.0; WORDS];
    for set in 0..sets {
        let mut lower = [0.0; 16];
        let mut upper = [0.0; 16];
        for (lane, (lower, upper)) in lower.iter_mut().zip(&mut upper).enumerate() {
            let counter = number + (lane * sets + set) as u64;
            *lower = f32::from_bits(counter as u32);
            *upper = f32::from_bits((counter >> 32) as u32);
        }
        let counters = [&lower, &upper].map(|half| simd.bits_of(simd.load(half)));
        for (word, lanes) in philox(simd, counters, key).into_iter().enumerate() {
            let row = (4 * set + word) * S::LANES;
            simd.store(simd.from_bits(lanes), &mut square[row..]);
        }
    }
    // SAFETY: both hold `LANES` rows of `LANES` elements, side by side, and are apart.
    unsafe { simd.transpose_ptr(square.as_ptr(), S::LANES, words.as_mut_ptr(), S::LANES) };
}

/// A Philox4x32-10 block in each lane, for counters of two words and two zeros.
#[inline(always)]
fn philox<S: Simd>(simd: S, [lower, upper]: [S::I; 2], key: [u32; 2]) -> [S::I; 4] {
    let splat = |word: u32| simd.int_splat(word.cast_signed());
    let (first, third) = (splat(0xd251_1f53), splat(0xcd9e_8d57));
    let mut counter = [lower, upper, splat(0), splat(0)];
    let mut key = key;
    for _ in 0..10 {
        let [high, low] = simd.mul_wide(counter[0], first);
        let [third_high, third_low] = simd.mul_wide(counter[2], third);
        counter = [
            simd.int_xor(simd.int_xor(third_high, counter[1]), splat(key[0])),
            third_low,
            simd.int_xor(simd.int_xor(high, counter[3]), splat(key[1])),
            low,
        ];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    counter
}

/// Products where words are not below the threshold, zeros elsewhere.
#[inline(always)]
fn apply<S: Simd, T: Stored>(simd: S, rule: &Rule, x: &[T], words: &[f32], y: &mut [T]) {
    let factor = simd.splat(rule.factor);
    let mut at = 0;
    while at < x.len() {
        let is_whole = at + S::LANES <= x.len();
        let (value, word) = match is_whole {
            true => (T::load(simd, &x[at..]), simd.load(&words[at..])),
            false => {
                (T::load_partial(simd, &x[at..], 0.0), simd.load_partial(&words[at..x.len()], 0.0))
            }
        };
        let mask = at_least(simd, simd.bits_of(word), rule.threshold);
        let product = simd.bits_of(simd.mul(value, factor));
        let kept = simd.from_bits(simd.int_and(product, mask));
        match is_whole {
            true => T::store(simd, kept, &mut y[at..]),
            false => T::store_partial(simd, kept, &mut y[at..]),
        }
        at += S::LANES;
    }
}

/// Sets all bits of a lane where its unsigned word is at least the threshold: where subtracting the
/// threshold from the word needs no borrow.
#[inline(always)]
fn at_least<S: Simd>(simd: S, word: S::I, threshold: u64) -> S::I {
    let ones = simd.int_splat(-1);
    let Ok(threshold) = u32::try_from(threshold) else { return simd.int_splat(0) };
    let limit = simd.int_splat(threshold.cast_signed());
    let not = simd.int_xor(word, ones);
    let difference = simd.int_add(word, simd.int_splat(threshold.wrapping_neg().cast_signed()));
    let borrows =
        simd.int_or(simd.int_and(not, limit), simd.int_and(simd.int_or(not, limit), difference));
    simd.int_add(simd.shift_right(borrows, 31), ones)
}
