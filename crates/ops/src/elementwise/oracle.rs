//! The slow truth: every element from its formula in f64, with its error scale.
#![forbid(unsafe_code)]

use proofmark_contract::Truth;
use proofmark_schema::DType;
use proofmark_tensor::philox4x32;

/// The exact value of one element and its error scale, from the operands in order.
pub(super) type Formula = fn(&[f64]) -> (f64, f64);

/// `a + b`; the scale is what passes through the sum.
pub(super) fn add(x: &[f64]) -> (f64, f64) {
    (x[0] + x[1], x[0].abs() + x[1].abs())
}

/// The truth about the elements `indices`; with a random state, rounded stochastically to bf16.
pub(super) fn truth(
    formula: Formula,
    operands: &[&[f64]],
    random: Option<&[f64]>,
    indices: &[usize],
) -> Truth {
    let state = random.map(|words| [0, 1, 2, 3].map(|k| words[k] as u32));
    let mut truth = Truth::with_capacity(indices.len());
    let mut x = vec![0.0; operands.len()];
    for &index in indices {
        x.iter_mut().zip(operands).for_each(|(x, operand)| *x = operand[index]);
        let (value, scale) = formula(&x);
        match state {
            None => truth.push(value, scale),
            Some(state) => truth.push(stochastic(value, index as u64, state), 0.0),
        }
    }
    truth
}

/// The bf16 number that `value`, taken as f32, is rounded to at `index`.
///
/// The f32 is right although `value` may be a rounded sum itself. The f64 sum of two numbers of
/// 24 bits is inexact only if their exponents lie 29 or more apart; the smaller is then below
/// 2⁻⁵ units in the last place of the larger, and the exact and the rounded sum both lie nearer
/// to the larger than any midpoint between f32 numbers does (the closest is a quarter unit below
/// a power of two). So both give the larger. Subnormal f32 sums are exact in f64.
fn stochastic(value: f64, index: u64, state: [u32; 4]) -> f64 {
    let single = f64::from(value as f32);
    if !single.is_finite() {
        return single;
    }
    let counter = [index as u32, (index >> 32) as u32, state[2], state[3]];
    let draw = philox4x32(counter, [state[0], state[1]])[0] % 65536;
    // bf16 keeps 16 bits fewer than f32, so its spacing divides into 65536 f32 steps.
    let spacing = DType::Bf16.ulp(single);
    let steps = single.abs() / spacing;
    let dropped = steps.fract() * 65536.0;
    let carry = dropped + f64::from(draw) >= 65536.0;
    let magnitude = (steps.floor() + f64::from(u8::from(carry))) * spacing;
    let magnitude = if magnitude > DType::Bf16.largest() { f64::INFINITY } else { magnitude };
    magnitude.copysign(single)
}
