//! The slow truth: every element from its formula in f64, with its error scale.
#![forbid(unsafe_code)]

use proofmark_contract::Truth;
use proofmark_tensor::philox4x32;
use proofmark_terms::DType;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI};

/// The exact value of one element from the operands in order and the case's factor.
pub(super) type Formula = fn(&[f64], f64) -> Exact;

/// The truth about one element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exact {
    /// Its value.
    pub(super) value: f64,
    /// Its error scale.
    pub(super) scale: f64,
    /// What cancels in the textbook's formula.
    pub(super) cancelled: f64,
}

impl Exact {
    const fn new(value: f64, scale: f64) -> Exact {
        Exact { value, scale, cancelled: 0.0 }
    }
}

/// The least f32 over its unit roundoff: an exponential that is subnormal is off by an absolute
/// amount, whatever its size.
const UNDERFLOW: f64 = 1.0 / (1u128 << 125) as f64;

/// Below this `e^x` is no normal f32, and 0 where subnormal numbers are flushed; a little further
/// down `e^−x` is infinite.
const LOST: f64 = -87.33;

/// Beyond this the exponential is 0 in f32.
const VANISHED: f64 = 128.0;

/// From here down `1 + erf` and `1 + tanh` are 0 in f32, and so is the value but for its tail.
const CANCELLED: f64 = 6.0;

/// `a + b`; the scale is what passes through the sum.
pub(super) fn add(x: &[f64], _: f64) -> Exact {
    Exact::new(x[0] + x[1], x[0].abs() + x[1].abs())
}

/// `a − b`.
pub(super) fn sub(x: &[f64], alpha: f64) -> Exact {
    add(&[x[0], -x[1]], alpha)
}

/// `a · b`.
pub(super) fn mul(x: &[f64], _: f64) -> Exact {
    rounded(x[0] * x[1])
}

/// `a / b`. The f64 quotient lies on the right side of every midpoint of f32 numbers: a quotient
/// of two numbers of 24 bits is no nearer to one than 2⁻⁴⁹ of itself, unless it is one.
pub(super) fn div(x: &[f64], _: f64) -> Exact {
    rounded(x[0] / x[1])
}

/// `alpha · x + y`; the product is exact in f64.
pub(super) fn axpy(x: &[f64], alpha: f64) -> Exact {
    add(&[alpha * x[0], x[1]], alpha)
}

/// The greater of x and 0.
pub(super) fn relu(x: &[f64], _: f64) -> Exact {
    rounded(if x[0] <= 0.0 { 0.0 } else { x[0] })
}

/// A result of one rounding.
fn rounded(value: f64) -> Exact {
    Exact::new(value, value.abs())
}

/// `e^x`. The scale of a function of its own is `2·|y|`: a unit in the last place.
pub(super) fn exp(x: &[f64], _: f64) -> Exact {
    let y = x[0].exp();
    Exact::new(y, 2.0 * y)
}

/// `tanh x`.
pub(super) fn tanh(x: &[f64], _: f64) -> Exact {
    let y = x[0].tanh();
    Exact::new(y, 2.0 * y.abs())
}

/// `1 / (1 + e^−x)`.
pub(super) fn sigmoid(x: &[f64], _: f64) -> Exact {
    let y = 1.0 / (1.0 + (-x[0]).exp());
    Exact::new(y, 2.0 * y)
}

/// `x·σ(x)` as written, which f64 holds stable: `e^−x` overflows only below -709, where σ becomes
/// 0 and the product -0, as it rounds in every element type. At -infinity the product is NaN.
///
/// The scale is `4·|y|`, for an exponential, a product, a sum and a quotient, plus what a
/// subnormal exponential loses, times the element that multiplies it. As written it is all lost
/// where the exponential overflows in f32 or is flushed.
pub(super) fn silu(x: &[f64], _: f64) -> Exact {
    let x = x[0];
    let y = x * (1.0 / (1.0 + (-x).exp()));
    let scale = 4.0 * y.abs() + UNDERFLOW * x.abs().min(VANISHED);
    let cancelled = if x < LOST { y.abs() / DType::F32.unit() } else { 0.0 };
    Exact { value: y, scale, cancelled }
}

/// As [`silu`], of an exponential whose argument was computed: its rounding, at most as large as
/// itself, is the result's too where the exponential decides, below 0.
fn by_exponential(x: f64, argument: f64, y: f64) -> Exact {
    let passed = if x < 0.0 { 4.0 + argument.abs() } else { 4.0 };
    let vanishing = UNDERFLOW * x.abs().min(VANISHED);
    // 0 times infinity, where nothing is left of y.
    let passed = if y == 0.0 { 0.0 } else { passed * y.abs() };
    Exact::new(y, passed + vanishing)
}

/// `x·Φ(x)`: `x/2·erfc(−x/√2)`, relatively exact in the tail.
pub(super) fn gelu(x: &[f64], _: f64) -> Exact {
    let x = x[0];
    let y = 0.5 * x * libm::erfc(-x * FRAC_1_SQRT_2);
    by_textbook(x, by_exponential(x, x * x, y))
}

/// `x/2·(1 + tanh z)` is `x·σ(2z)`, which does not cancel.
pub(super) fn gelu_tanh(x: &[f64], _: f64) -> Exact {
    let x = x[0];
    let argument = 2.0 * FRAC_2_PI.sqrt() * (x + 0.044_715 * x * x * x);
    by_textbook(x, by_exponential(x, argument, x / (1.0 + (-argument).exp())))
}

/// With what `1 + erf` or `1 + tanh` loses below 0.
fn by_textbook(x: f64, exact: Exact) -> Exact {
    Exact { cancelled: if x < 0.0 { (-x).min(CANCELLED) } else { 0.0 }, ..exact }
}

/// `x·σ(1.702 x)`.
pub(super) fn gelu_quick(x: &[f64], _: f64) -> Exact {
    let x = x[0];
    let argument = 1.702 * x;
    by_exponential(x, argument, x / (1.0 + (-argument).exp()))
}

/// `silu(gate)·up`.
pub(super) fn swiglu(x: &[f64], alpha: f64) -> Exact {
    gated(silu(x, alpha), x[1])
}

/// `gelu_tanh(gate)·up`.
pub(super) fn geglu(x: &[f64], alpha: f64) -> Exact {
    gated(gelu_tanh(x, alpha), x[1])
}

fn gated(gate: Exact, up: f64) -> Exact {
    let value = gate.value * up;
    Exact {
        value,
        scale: gate.scale * up.abs() + value.abs(),
        cancelled: gate.cancelled * up.abs(),
    }
}

/// The truth about the elements `indices`; with a random state, rounded stochastically to bf16.
pub(super) fn truth(
    formula: Formula,
    alpha: f32,
    operands: &[&[f64]],
    random: Option<&[f64]>,
    indices: &[usize],
) -> Truth {
    let state = random.map(|words| [0, 1, 2, 3].map(|k| words[k] as u32));
    let mut truth = Truth::with_capacity(indices.len());
    let mut x = vec![0.0; operands.len()];
    for &index in indices {
        x.iter_mut().zip(operands).for_each(|(x, operand)| *x = operand[index]);
        let Exact { value, scale, cancelled } = formula(&x, f64::from(alpha));
        match state {
            // A scale that is NaN belongs to a value that needs none; the larger is 0.
            None => truth.push(value, scale.max(0.0)),
            Some(state) => truth.push(stochastic(value, index as u64, state), 0.0),
        }
        truth.forgiven.push(cancelled.max(0.0));
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
