//! Wrong dropouts that the gate must refuse.

use super::definition::Rule;
use crate::flawed::{self, mutants};
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::{Tensor, bf16, philox4x32};
use proofmark_terms::DType;

/// The right computation in steps; each mutant gets one of them wrong.
trait Slip {
    fn read(x: &Tensor) -> Vec<Vec<f32>> {
        flawed::read(x)
    }

    fn index(row: usize, col: usize, length: usize, _stride: usize) -> usize {
        row * length + col
    }

    /// Number of the block and of the word in it.
    fn place(index: usize) -> (usize, usize) {
        (index / 4, index % 4)
    }

    fn key(key: [u32; 2]) -> [u32; 2] {
        key
    }

    fn is_kept(word: u32, rule: &Rule) -> bool {
        u64::from(word) >= rule.threshold
    }

    fn kept(x: f32, rule: &Rule) -> f32 {
        x * rule.factor
    }

    fn dropped(_x: f32) -> f32 {
        0.0
    }

    /// Elements of a row that are written.
    fn written(length: usize) -> usize {
        length
    }
}

fn run<M: Slip>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let rule = Rule::of(call.case);
    let x = M::read(&call.inputs[0]);
    let stride = call.inputs[0].layout.row_stride;
    let row = |(i, row): (usize, &Vec<f32>)| {
        let element = |(j, &x): (usize, &f32)| {
            let (block, word) = M::place(M::index(i, j, row.len(), stride));
            let words = philox4x32([block as u32, 0, 0, 0], M::key(rule.key));
            if M::is_kept(words[word], &rule) { M::kept(x, &rule) } else { M::dropped(x) }
        };
        row.iter().enumerate().take(M::written(row.len())).map(element).collect()
    };
    let y: Vec<Vec<f32>> = x.iter().enumerate().map(row).collect();
    flawed::write(&mut call.outputs[0], &y);
    Ok(())
}

struct Inverted;
impl Slip for Inverted {
    fn is_kept(word: u32, rule: &Rule) -> bool {
        u64::from(word) < rule.threshold
    }
}

struct NotScaled;
impl Slip for NotScaled {
    fn kept(x: f32, _rule: &Rule) -> f32 {
        x
    }
}

struct ScaledByP;
impl Slip for ScaledByP {
    fn kept(x: f32, rule: &Rule) -> f32 {
        x * (1.0 - rule.p as f32)
    }
}

struct Divided;
impl Slip for Divided {
    fn kept(x: f32, rule: &Rule) -> f32 {
        x / (1.0 - rule.p as f32)
    }
}

struct Multiplied;
impl Slip for Multiplied {
    fn dropped(x: f32) -> f32 {
        x * 0.0
    }
}

struct SeedIgnored;
impl Slip for SeedIgnored {
    fn key(_key: [u32; 2]) -> [u32; 2] {
        [0, 0]
    }
}

struct SeedCut;
impl Slip for SeedCut {
    fn key(key: [u32; 2]) -> [u32; 2] {
        [key[0], 0]
    }
}

struct FirstWordOnly;
impl Slip for FirstWordOnly {
    fn place(index: usize) -> (usize, usize) {
        (index / 4, 0)
    }
}

struct BlockForEach;
impl Slip for BlockForEach {
    fn place(index: usize) -> (usize, usize) {
        (index, 0)
    }
}

struct WordsReversed;
impl Slip for WordsReversed {
    fn place(index: usize) -> (usize, usize) {
        (index / 4, 3 - index % 4)
    }
}

struct LanesNotTurned;
impl Slip for LanesNotTurned {
    fn place(index: usize) -> (usize, usize) {
        // Sixteen blocks a vector: their first words, then their second ones.
        (index / 64 * 16 + index % 16, index % 64 / 16)
    }
}

struct RowsBeginAnew;
impl Slip for RowsBeginAnew {
    fn index(_row: usize, col: usize, _length: usize, _stride: usize) -> usize {
        col
    }
}

struct IndexByAddress;
impl Slip for IndexByAddress {
    fn index(row: usize, col: usize, _length: usize, stride: usize) -> usize {
        row * stride + col
    }
}

struct SignedWords;
impl Slip for SignedWords {
    fn is_kept(word: u32, rule: &Rule) -> bool {
        i64::from(word.cast_signed()) >= rule.threshold as i64
    }
}

struct Sixteen;
impl Slip for Sixteen {
    fn is_kept(word: u32, rule: &Rule) -> bool {
        u64::from(word & 0xffff) >= rule.threshold >> 16
    }
}

struct PFixed;
impl Slip for PFixed {
    fn is_kept(word: u32, _rule: &Rule) -> bool {
        word >= 429_496_729
    }
}

struct InputRounded;
impl Slip for InputRounded {
    fn kept(x: f32, rule: &Rule) -> f32 {
        bf16::from_f32(x).to_f32() * rule.factor
    }
}

struct RowStrideIgnored;
impl Slip for RowStrideIgnored {
    fn read(x: &Tensor) -> Vec<Vec<f32>> {
        flawed::read_densely(x)
    }
}

struct LastElementUnwritten;
impl Slip for LastElementUnwritten {
    fn written(length: usize) -> usize {
        length.saturating_sub(1)
    }
}

const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];

mutants! {
    Inverted ALL, "inverted": "what should be dropped is kept";
    NotScaled ALL, "not_scaled": "kept elements are not scaled";
    ScaledByP ALL, "scaled_by_p": "scaled as if for inference";
    Divided &[DType::F32], "divided": "divided by 1 − p, which rounds otherwise";
    Multiplied ALL, "multiplied": "dropped elements are multiplied by 0: NaN and signs stay";
    SeedIgnored ALL, "seed_ignored": "every seed gives the same mask";
    SeedCut ALL, "seed_cut": "only 32 bits of the seed count";
    FirstWordOnly ALL, "first_word_only": "four neighbours share a word";
    BlockForEach ALL, "block_for_each": "a block for each element, three words unused";
    WordsReversed ALL, "words_reversed": "a block's words are taken backwards";
    LanesNotTurned ALL, "lanes_not_turned": "words in the order of vectors";
    RowsBeginAnew ALL, "rows_begin_anew": "every row has the same mask";
    IndexByAddress ALL, "index_by_address": "the mask depends on the row stride";
    SignedWords ALL, "signed_words": "words above 2^31 count as negative";
    Sixteen ALL, "sixteen_bits": "the lower half of the word decides";
    PFixed ALL, "p_fixed": "a tenth is dropped, whatever p is";
    InputRounded &[DType::F32, DType::F16], "input_rounded_to_bf16": "x loses bits first";
    RowStrideIgnored ALL, "row_stride_ignored": "rows of x are taken to lie densely";
    LastElementUnwritten ALL, "last_element_unwritten": "the last element of a row stays";
}
