//! How operands change between the calls of a race: sequences that the worker and the supervisor
//! both derive from one seed.
//!
//! Calls in a row ([`Step`]): before each call one input element is changed and one output element
//! is spoiled, and what the call leaves at the spoiled place is kept. Fresh calls ([`Pattern`]):
//! every input element is changed before each call. A change flips bits of the significand only,
//! so that a value keeps its sign and its magnitude within a factor of two, stays valid for every
//! op that takes any reals, and is undone by the same flip.

use crate::{Operand, Role, Signature};
use proofmark_tensor::mix;
use proofmark_terms::DType;

/// The operands of a case that change between calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Perturbation {
    inputs: Vec<Part>,
    outputs: Vec<Part>,
}

/// One operand as rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    operand: usize,
    dtype: DType,
    rows: u64,
    cols: u64,
}

/// An element of an operand; a row is the last axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of the operand in the signature.
    pub operand: usize,
    /// Row, over all leading axes.
    pub row: usize,
    /// Column.
    pub col: usize,
}

/// What happens before one call in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The input element that changes, and the bits that flip; none where no input may change.
    pub change: Option<(Place, u64)>,
    /// The output element that is spoiled, and the bits that flip. It depends on the changed input
    /// in most ops. None where every output is read as well.
    pub spoil: Option<(Place, u64)>,
}

/// Columns after which a [`Pattern`] repeats.
pub const PATTERN_COLS: usize = 64;

/// The bits that flip in every input element before a fresh call, by column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern([u64; PATTERN_COLS]);

const OF_STEPS: u64 = 0x5e;
const OF_PAIRS: u64 = 0xa0;
const OF_PATTERNS: u64 = 0x1000;

impl Perturbation {
    /// The operands of a case that may change. Weights that a contender has packed must stay.
    pub fn of(signature: &Signature, changes_weights: bool) -> Perturbation {
        let part = |(operand, described): (usize, &Operand)| {
            let layout = described.layout();
            let (rows, cols) = (layout.rows() as u64, layout.cols() as u64);
            (rows * cols > 0).then_some(Part { operand, dtype: described.dtype, rows, cols })
        };
        let operands = signature.operands();
        let of = |is_meant: &dyn Fn(&Operand) -> bool| {
            let meant = operands.iter().enumerate().filter(|(_, operand)| is_meant(operand));
            meant.filter_map(part).collect()
        };
        Perturbation {
            inputs: of(&|operand| {
                let is_free = match operand.role {
                    Role::Input => true,
                    Role::Weight => changes_weights,
                    Role::Random | Role::Output | Role::InOut => false,
                };
                is_free && takes_changes(operand)
            }),
            outputs: of(&|operand| operand.role == Role::Output),
        }
    }

    /// Whether an operand of the signature changes between calls in a row.
    pub fn changes(&self, operand: usize) -> bool {
        self.inputs.iter().any(|part| part.operand == operand)
    }

    /// Whether an operand changes before fresh calls. In-place operands do: each fresh call
    /// starts from new values.
    pub fn refreshes(&self, signature: &Signature, operand: usize) -> bool {
        let described = &signature.operands()[operand];
        let is_in_place = described.role == Role::InOut && takes_changes(described);
        self.changes(operand) || is_in_place
    }

    /// What happens before call `call` of a batch.
    pub fn step(&self, seed: u64, call: u64) -> Step {
        let [which, place, near, bits] =
            [0, 1, 2, 3].map(|word| mix(seed, OF_STEPS, 4 * call + word));
        let input = pick(&self.inputs, which as u32);
        let output = pick(&self.outputs, (which >> 32) as u32);
        let (high, low) = ((place >> 32) as u32, place as u32);
        // The place is a share of the rows and columns. Where outputs and inputs share either, the
        // output at the same share depends on it.
        let change = input.map(|part| {
            let (row, col) = (below(part.rows, high), below(part.cols, low));
            (part.at(row, col), change_mask(part.dtype, bits))
        });
        let spoil = output.map(|part| {
            let (row, col) = match (change, input) {
                (Some((place, _)), Some(from)) => (
                    within(place.row as u64, from.rows, part.rows, (near >> 32) as u32),
                    within(place.col as u64, from.cols, part.cols, near as u32),
                ),
                _ => (below(part.rows, high), below(part.cols, low)),
            };
            (part.at(row, col), spoil_mask(part.dtype))
        });
        Step { change, spoil }
    }
}

impl Part {
    fn at(self, row: u64, col: u64) -> Place {
        Place { operand: self.operand, row: row as usize, col: col as usize }
    }
}

/// A number below `count`, for random bits.
fn below(count: u64, random: u32) -> u64 {
    (count * u64::from(random)) >> 32
}

fn pick(parts: &[Part], random: u32) -> Option<Part> {
    parts.get(below(parts.len() as u64, random) as usize).copied()
}

/// The position among `to` at the same share as `at` among `from`, drawn where there are several.
fn within(at: u64, from: u64, to: u64, random: u32) -> u64 {
    let (first, end) = (at * to / from, ((at + 1) * to / from).min(to));
    let first = first.min(to - 1);
    first + below(end.saturating_sub(first).max(1), random)
}

/// Whether elements of this operand may be changed one by one: any reals are valid.
fn takes_changes(operand: &Operand) -> bool {
    let is_number = operand.dtype.is_float() || matches!(operand.dtype, DType::I8 | DType::U8);
    operand.only.is_none() && is_number
}

/// Bits of the significand that are stored; 6 low bits of a byte.
fn low_bits(dtype: DType) -> u32 {
    match dtype.significand_bits() {
        0 => 6,
        bits => bits - 1,
    }
}

/// The bits that flip in one changed element: the highest of the significand, so that the change
/// shows, and others.
fn change_mask(dtype: DType, random: u64) -> u64 {
    let highest = 1 << (low_bits(dtype) - 1);
    highest | random & (highest - 1)
}

/// The bits that flip in a spoiled output: the highest of the exponent, or of an integer's value.
fn spoil_mask(dtype: DType) -> u64 {
    1 << (8 * dtype.size() as u32 - 2)
}

/// The bits that tell the kind of an element, and the two kinds whose low bits must stay: of a
/// float the exponent, with zeros and subnormals, infinities and NaN; of a signed byte its two
/// highest bits, so that none becomes -128.
pub fn fixed_kinds(dtype: DType) -> (u64, [u64; 2]) {
    match dtype {
        DType::I8 => (0xc0, [0x80; 2]),
        // No element is of kind 1.
        DType::U8 => (0, [1; 2]),
        _ => {
            let sign = 8 * dtype.size() as u32 - 1;
            let exponent = (1 << sign) - (1 << low_bits(dtype));
            (exponent, [0, exponent])
        }
    }
}

/// Whether the low bits of this element may flip.
pub fn is_changeable(dtype: DType, bits: u64) -> bool {
    let (kind, fixed) = fixed_kinds(dtype);
    !fixed.contains(&(bits & kind))
}

/// A decoded element with flipped bits: what the worker makes of it in memory.
pub fn changed(dtype: DType, value: f64, mask: u64) -> f64 {
    match dtype {
        DType::I8 | DType::U8 => {
            let bits = value as i64 as u64 & 0xff;
            let bits = if is_changeable(dtype, bits) { bits ^ mask } else { bits };
            if dtype == DType::I8 { f64::from(bits as u8 as i8) } else { bits as f64 }
        }
        _ => {
            let least = 2f64.powi(dtype.min_exponent());
            // The largest exponent of this type holds its NaN.
            let is_top = dtype == DType::F8e4m3 && value.abs() >= 256.0;
            if !value.is_finite() || value.abs() < least || is_top {
                return value;
            }
            f64::from_bits(value.to_bits() ^ mask << (52 - low_bits(dtype)))
        }
    }
}

impl Pattern {
    /// The pattern of a fresh call that comes `before_last` calls before the last of its batch.
    pub fn new(seed: u64, before_last: u64) -> Pattern {
        Pattern(std::array::from_fn(|word| mix(seed, OF_PATTERNS + before_last, word as u64)))
    }

    /// The pattern of a call of an audit that comes `before_last` calls before the last. Calls come
    /// in pairs. One call of each pair, drawn at random, gets new inputs; the other gets the inputs
    /// of the call before it.
    pub fn in_audit(seed: u64, before_last: u64) -> Pattern {
        let pair = before_last / 2;
        let is_kept = before_last % 2 == 1 && Pattern::is_new_in_audit(seed, 2 * pair);
        Pattern::new(seed, if is_kept { pair + 1 } else { pair })
    }

    /// Whether such a call gets new inputs.
    pub fn is_new_in_audit(seed: u64, before_last: u64) -> bool {
        let first_is_new = mix(seed, OF_PAIRS, before_last / 2).is_multiple_of(2);
        first_is_new == (before_last % 2 == 1)
    }

    /// No change.
    pub const NONE: Pattern = Pattern([0; PATTERN_COLS]);

    /// What turns this pattern's values into the other's.
    #[must_use]
    pub fn to(&self, other: &Pattern) -> Pattern {
        Pattern(std::array::from_fn(|col| self.0[col] ^ other.0[col]))
    }

    /// The bits that flip in elements of each column of an operand.
    pub fn masks(&self, dtype: DType) -> [u64; PATTERN_COLS] {
        self.0.map(|word| word & ((1 << low_bits(dtype)) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_tensor::{decode, encode};

    fn bits_of(dtype: DType, value: f64) -> u64 {
        let mut word = [0; 8];
        encode(dtype, &[value], &mut word[..dtype.size()]);
        u64::from_le_bytes(word)
    }

    fn value_of(dtype: DType, bits: u64) -> f64 {
        decode(dtype, &bits.to_le_bytes()[..dtype.size()])[0]
    }

    fn matmul() -> Signature {
        Signature::new(vec![
            Operand::new("a", Role::Input, DType::F32, &[6, 4]),
            Operand::new("b", Role::Weight, DType::Bf16, &[4, 10]),
            Operand::new("c", Role::Output, DType::F32, &[6, 10]),
        ])
    }

    #[test]
    fn an_output_is_spoiled_in_the_row_or_column_of_the_changed_input() {
        let perturbation = Perturbation::of(&matmul(), true);
        let mut seen = [0; 2];
        for call in 0..400 {
            let step = perturbation.step(7, call);
            let ((input, _), (output, _)) = (step.change.unwrap(), step.spoil.unwrap());
            assert!(output.row < 6 && output.col < 10 && output.operand == 2);
            match input.operand {
                0 => assert_eq!(input.row, output.row),
                _ => assert_eq!(input.col, output.col),
            }
            seen[input.operand] += 1;
        }
        assert!(seen.iter().all(|&count| count > 100), "{seen:?}");
    }

    #[test]
    fn packed_weights_and_values_that_must_be_of_a_kind_stay() {
        assert!(!Perturbation::of(&matmul(), false).changes(1));
        let indices = Operand::new("i", Role::Input, DType::I32, &[4]);
        let only =
            Operand::new("t", Role::Input, DType::F32, &[4]).only(proofmark_tensor::Fill::Zero);
        let signature = Signature::new(vec![indices, only]);
        let perturbation = Perturbation::of(&signature, true);
        assert!(!perturbation.changes(0) && !perturbation.changes(1));
        assert_eq!(perturbation.step(1, 1), Step { change: None, spoil: None });
    }

    #[test]
    fn memory_and_decoded_values_change_alike_and_back_again() {
        let values =
            [0.0, -0.0, 1.0, -1.5, 0.3125, 100.0, -448.0, 384.0, 1e-30, 6e-8, f64::INFINITY];
        let types = DType::ALL.into_iter().filter(|dtype| dtype.is_float());
        for dtype in types.chain([DType::I8, DType::U8]) {
            for value in values {
                let bits = bits_of(dtype, value);
                let value = value_of(dtype, bits);
                for random in 0..200 {
                    let mask = change_mask(dtype, mix(3, 3, random));
                    let flipped = if is_changeable(dtype, bits) { bits ^ mask } else { bits };
                    let in_memory = value_of(dtype, flipped);
                    let decoded = changed(dtype, value, mask);
                    assert!(
                        in_memory == decoded || in_memory.is_nan() && decoded.is_nan(),
                        "{dtype} {value}"
                    );
                    assert!(!decoded.is_nan() || value.is_nan(), "{dtype} {value}");
                    let back = changed(dtype, decoded, mask);
                    assert!(back == value || value.is_nan(), "{dtype} {value}");
                    if value.is_finite() && value.abs() > 1.0 && value.abs() < 60.0 {
                        assert_ne!(decoded, value, "{dtype}: the change shows");
                    }
                }
            }
        }
    }

    #[test]
    fn one_call_of_each_pair_of_an_audit_finds_new_inputs() {
        let mut firsts = 0;
        for pair in 0..200 {
            let is_new = |call| Pattern::is_new_in_audit(5, call);
            assert_ne!(is_new(2 * pair), is_new(2 * pair + 1));
            firsts += u32::from(is_new(2 * pair + 1));
            for call in [2 * pair + 1, 2 * pair] {
                let same = Pattern::in_audit(5, call) == Pattern::in_audit(5, call + 1);
                assert_eq!(same, !is_new(call), "call {call}");
            }
        }
        assert!((60..140).contains(&firsts), "{firsts}");
    }

    #[test]
    fn patterns_lead_from_one_to_the_next() {
        let (first, second) = (Pattern::new(9, 1), Pattern::new(9, 0));
        let step = first.to(&second);
        for dtype in [DType::F32, DType::Bf16, DType::I8] {
            for col in 0..PATTERN_COLS {
                let there = first.masks(dtype)[col] ^ step.masks(dtype)[col];
                assert_eq!(there, second.masks(dtype)[col]);
            }
        }
        assert_eq!(Pattern::NONE.to(&first), first);
    }
}
