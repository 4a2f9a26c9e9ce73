//! Wrong dropouts that the gate must refuse.

use super::definition::Rule;
use crate::flawed::{
    ALL, FINE, Read, SINGLE, all_but_last, mutants, narrowed, read, read_densely, steps, write,
};
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_tensor::philox4x32;

steps! { Steps, RIGHT;
    read: Read = read,
    /// Number of an element, of its row and column, the length of a row and the row stride.
    index: fn(usize, usize, usize, usize) -> usize = |row, col, length, _| row * length + col,
    /// Number of the block and of the word in it.
    place: fn(usize) -> (usize, usize) = |index| (index / 4, index % 4),
    key: fn([u32; 2]) -> [u32; 2] = |key| key,
    is_kept: fn(u32, &Rule) -> bool = |word, rule| u64::from(word) >= rule.threshold,
    kept: fn(f32, &Rule) -> f32 = |x, rule| x * rule.factor,
    dropped: fn(f32) -> f32 = |_| 0.0,
    /// Elements of a row that are written.
    written: fn(usize) -> usize = |length| length,
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "inverted", ALL, "what should be dropped is kept",
        is_kept: |word, rule| u64::from(word) < rule.threshold;
    "not_scaled", ALL, "kept elements are not scaled", kept: |x, _| x;
    "scaled_by_p", ALL, "scaled as if for inference", kept: |x, rule| x * (1.0 - rule.p as f32);
    "divided", SINGLE, "divided by 1 − p, which rounds otherwise",
        kept: |x, rule| x / (1.0 - rule.p as f32);
    "multiplied", ALL, "dropped elements are multiplied by 0: NaN and signs stay",
        dropped: |x| x * 0.0;
    "seed_ignored", ALL, "every seed gives the same mask", key: |_| [0, 0];
    "seed_cut", ALL, "only 32 bits of the seed count", key: |key| [key[0], 0];
    "first_word_only", ALL, "four neighbours share a word", place: |index| (index / 4, 0);
    "block_for_each", ALL, "a block for each element, three words unused",
        place: |index| (index, 0);
    "words_reversed", ALL, "a block's words are taken backwards",
        place: |index| (index / 4, 3 - index % 4);
    // Sixteen blocks a vector: their first words, then their second ones.
    "lanes_not_turned", ALL, "words in the order of vectors",
        place: |index| (index / 64 * 16 + index % 16, index % 64 / 16);
    "rows_begin_anew", ALL, "every row has the same mask", index: |_, col, _, _| col;
    "index_by_address", ALL, "the mask depends on the row stride",
        index: |row, col, _, stride| row * stride + col;
    "signed_words", ALL, "words above 2^31 count as negative",
        is_kept: |word, rule| i64::from(word.cast_signed()) >= rule.threshold as i64;
    "sixteen_bits", ALL, "the lower half of the word decides",
        is_kept: |word, rule| u64::from(word & 0xffff) >= rule.threshold >> 16;
    "p_fixed", ALL, "a tenth is dropped, whatever p is", is_kept: |word, _| word >= 429_496_729;
    "input_rounded_to_bf16", FINE, "x loses bits first", kept: |x, rule| narrowed(x) * rule.factor;
    "row_stride_ignored", ALL, "rows of x are taken to lie densely", read: read_densely;
    "last_element_unwritten", ALL, "the last element of a row stays", written: all_but_last;
};

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let rule = Rule::of(call.case);
    let x = (steps.read)(&call.inputs[0]);
    let stride = call.inputs[0].layout.row_stride;
    let row = |(i, row): (usize, &Vec<f32>)| {
        let element = |(j, &x): (usize, &f32)| {
            let (block, word) = (steps.place)((steps.index)(i, j, row.len(), stride));
            let words = philox4x32([block as u32, 0, 0, 0], (steps.key)(rule.key));
            let is_kept = (steps.is_kept)(words[word], &rule);
            if is_kept { (steps.kept)(x, &rule) } else { (steps.dropped)(x) }
        };
        row.iter().enumerate().take((steps.written)(row.len())).map(element).collect()
    };
    let y: Vec<Vec<f32>> = x.iter().enumerate().map(row).collect();
    write(&mut call.outputs[0], &y)
}
