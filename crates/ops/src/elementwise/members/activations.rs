//! Members that are an element times a distribution function of it.

use super::functions::{TAILS, UNARY, linear_exp, sigmoid, times_sigmoid};
use super::member;
use crate::blocks::math::{self, QUICK_SLOPE};
#[cfg(feature = "judge")]
use crate::blocks::row::ROWS_ARE_INDEPENDENT;
use crate::elementwise::definition::Elementwise;
#[cfg(feature = "judge")]
use crate::elementwise::judge::Judged;
#[cfg(feature = "judge")]
use crate::elementwise::mutants::{
    ALL, FINE, RIGHT, SINGLE, Shared, Steps, WIDE, estimate, mutants, narrowed, run,
};
#[cfg(feature = "judge")]
use crate::elementwise::{laws, oracle};
use std::f32::consts::{FRAC_1_SQRT_2, FRAC_2_PI, FRAC_2_SQRT_PI, SQRT_2};
use std::f64::consts;

/// What `x·F(x)` has in common for every F from 0 to 1 with `F(x) + F(−x) = 1`.
///
/// The limit: an exponential within 4 ulp is off by 8u, product, sum and quotient by u each: 11u
/// of the result, which is 2.75 of the scale's first part. An argument of the exponential that is
/// computed in three roundings makes it 3 of the second. Where the exponential is subnormal, 4 ulp
/// times x are 4 of the third. So q ≤ 4 whatever the mix.
const ACTIVATION: Elementwise = Elementwise {
    edges: &[
        "NaN stays NaN, at that element only; infinity stays; -infinity is NaN (-infinity · 0)",
        "the sign of zero is kept; subnormal elements count: they are halved",
        "large negative elements give what the tail rounds to, subnormal results included, then -0",
        "nothing overflows: |y| ≤ |x|",
    ],
    #[cfg(feature = "judge")]
    judged: Judged {
        fills: TAILS,
        laws: &[laws::ODD_PART_IS_X, laws::ZERO_KEEPS_ITS_SIGN, ROWS_ARE_INDEPENDENT],
        ..UNARY.judged
    },
    ..UNARY
};

fn silu(x: f32) -> f32 {
    times_sigmoid(x, x)
}

fn gelu(x: f32) -> f32 {
    let x = f64::from(x);
    (0.5 * x * libm::erfc(-x * consts::FRAC_1_SQRT_2)) as f32
}

/// The formula as an exponential, so that nothing cancels.
pub(super) fn gelu_tanh(x: f32) -> f32 {
    times_sigmoid(x, 2.0 * FRAC_2_PI.sqrt() * x * (1.0 + 0.044_715 * x * x))
}

fn gelu_quick(x: f32) -> f32 {
    times_sigmoid(x, QUICK_SLOPE * x)
}

member! {
    /// `y = x·σ(x)`.
    Silu<1>,
    Elementwise {
        name: "silu",
        summary: "y = x / (1 + exp(−x))",
        #[cfg(feature = "judge")]
        judged: Judged {
            truth: oracle::silu,
            ..ACTIVATION.judged
        },
        ..ACTIVATION
    },
    |[x], _| silu(x),
    |simd, [x], _| math::silu(simd, x),
    mutants! { after Shared::<Silu, 1>::SIGNED; run::<Silu, 1>, Steps { ..RIGHT };
        "relu", ALL, "negative elements become 0",
            formula: Some(|x, _| if x[0] < 0.0 { 0.0 } else { x[0] });
        "sigmoid_only", ALL, "the factor x is missing", formula: Some(|x, _| sigmoid(x[0]));
        "sign_of_exponent_lost", ALL, "x / (1 + exp(x))", formula: Some(|x, _| -silu(-x[0]));
        "quick_gelu", ALL, "the slope is 1.702", formula: Some(|x, _| gelu_quick(x[0]));
        "tanh_gelu", ALL, "the neighbour in the list of activations",
            formula: Some(|x, _| gelu_tanh(x[0]));
        "hard_swish", ALL, "the logistic function is three straight lines",
            formula: Some(|x, _| x[0] * (x[0] + 3.0).clamp(0.0, 6.0) / 6.0);
        "slope_off", ALL, "the slope is 1.001", formula: Some(|x, _| silu(1.001 * x[0]) / 1.001);
        "exp_approximate", ALL, "the exponential is linear between powers of two",
            formula: Some(|x, _| with_exp(x[0], linear_exp));
        "exp_overflows", WIDE, "x / (1 + exp(−x)) vanishes below -88",
            formula: Some(|x, _| x[0] / (1.0 + (-x[0]).exp()));
        "one_branch", ALL, "x·e / (1 + e) with e = exp(x) is infinity over infinity above 88",
            formula: Some(|x, _| x[0] * x[0].exp() / (1.0 + x[0].exp()));
        "exp_clamped", ALL, "no exponential is less than exp(-20)",
            formula: Some(|x, _| with_exp(x[0], clamped_exp));
        "reciprocal_of_12_bits", ALL, "the reciprocal is the processor's estimate, not refined",
            formula: Some(|x, _| estimated(x[0]));
        "sigmoid_rounded_to_bf16", ALL, "the logistic function is stored between two passes",
            formula: Some(|x, _| x[0] * narrowed(sigmoid(x[0])));
        "negative_infinity_is_zero", ALL, "-infinity gives the limit of the function, not NaN",
            formula: Some(|x, _| limit_at_infinity(x[0], silu));
    },
}

/// SiLU with another exponential.
fn with_exp(x: f32, exp: fn(f32) -> f32) -> f32 {
    let e = exp(-x.abs());
    (if x < 0.0 { x * e } else { x }) / (1.0 + e)
}

fn clamped_exp(x: f32) -> f32 {
    if x < -20.0 { (-20f32).exp() } else { x.exp() }
}

#[cfg(feature = "judge")]
fn estimated(x: f32) -> f32 {
    let e = (-x.abs()).exp();
    let reciprocal = estimate(1.0 / (1.0 + e));
    (if x < 0.0 { x * e } else { x }) * reciprocal
}

fn limit_at_infinity(x: f32, function: fn(f32) -> f32) -> f32 {
    if x == f32::NEG_INFINITY { -0.0 } else { function(x) }
}

member! {
    /// `y = x·Φ(x)`.
    Gelu<1>,
    Elementwise {
        name: "gelu",
        summary: "y = x · (1 + erf(x / √2)) / 2",
        #[cfg(feature = "judge")]
        judged: Judged {
            flops: 4,
            truth: oracle::gelu,
            ..ACTIVATION.judged
        },
        ..ACTIVATION
    },
    |[x], _| gelu(x),
    |simd, [x], _| math::gelu(simd, x),
    mutants! { after Shared::<Gelu, 1>::SIGNED; run::<Gelu, 1>, Steps { ..RIGHT };
        "tanh_formula", ALL, "the other gelu, by tanh", formula: Some(|x, _| gelu_tanh(x[0]));
        "quick_formula", ALL, "the other gelu, by a logistic function",
            formula: Some(|x, _| gelu_quick(x[0]));
        "erf_cancels", WIDE, "1 + erf loses the tail",
            formula: Some(|x, _| textbook(x[0], libm::erff));
        "erf_approximate", SINGLE, "erf is good to 7 decimals, relative to 1",
            formula: Some(|x, _| textbook(x[0], hastings_erf));
        "root_of_two_missing", ALL, "x · (1 + erf(x)) / 2",
            formula: Some(|x, _| gelu(x[0] * SQRT_2) * FRAC_1_SQRT_2);
        "half_missing", ALL, "x · (1 + erf)", formula: Some(|x, _| 2.0 * gelu(x[0]));
        "negative_infinity_is_zero", ALL, "-infinity gives the limit of the function, not NaN",
            formula: Some(|x, _| limit_at_infinity(x[0], gelu));
    },
}

fn textbook(x: f32, erf: fn(f32) -> f32) -> f32 {
    0.5 * x * (1.0 + erf(x * FRAC_1_SQRT_2))
}

/// Abramowitz and Stegun 7.1.26.
fn hastings_erf(x: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let p = [1.061_405_4, -1.453_152, 1.421_413_7, -0.284_496_74, 0.254_829_6];
    let sum = p.iter().fold(0.0, |sum, c| sum * t + c) * t;
    (1.0 - sum * (-x * x).exp()).copysign(x)
}

member! {
    /// `y = x/2·(1 + tanh(√(2/π)·(x + 0.044715 x³)))`.
    GeluTanh<1>,
    Elementwise {
        name: "gelu_tanh",
        summary: "y = x · (1 + tanh(√(2/π) · (x + 0.044715 x³))) / 2",
        #[cfg(feature = "judge")]
        judged: Judged {
            flops: 8,
            truth: oracle::gelu_tanh,
            ..ACTIVATION.judged
        },
        ..ACTIVATION
    },
    |[x], _| gelu_tanh(x),
    |simd, [x], _| math::gelu_tanh(simd, x),
    mutants! { after Shared::<GeluTanh, 1>::SIGNED; run::<GeluTanh, 1>, Steps { ..RIGHT };
        "erf_formula", ALL, "the other gelu, by erf", formula: Some(|x, _| gelu(x[0]));
        "quick_formula", ALL, "the other gelu, by a logistic function",
            formula: Some(|x, _| gelu_quick(x[0]));
        "tanh_cancels", WIDE, "1 + tanh loses the tail",
            formula: Some(|x, _| tanh_textbook(x[0], 0.044_715));
        "cube_missing", ALL, "x · (1 + tanh(√(2/π)·x)) / 2",
            formula: Some(|x, _| times_sigmoid(x[0], 1.595_769 * x[0]));
        "coefficient_off", ALL, "0.0447 is taken for 0.044",
            formula: Some(|x, _| tanh_textbook(x[0], 0.044));
        "root_of_two_lost", ALL, "√(1/π) is taken for √(2/π)",
            formula: Some(|x, _| {
                times_sigmoid(x[0], FRAC_2_SQRT_PI * x[0] * (1.0 + 0.044_715 * x[0] * x[0]))
            });
        "negative_infinity_is_zero", ALL, "-infinity gives the limit of the function, not NaN",
            formula: Some(|x, _| limit_at_infinity(x[0], gelu_tanh));
    },
}

fn tanh_textbook(x: f32, cubic: f32) -> f32 {
    0.5 * x * (1.0 + (FRAC_2_PI.sqrt() * (x + cubic * x * x * x)).tanh())
}

member! {
    /// `y = x·σ(1.702 x)`.
    GeluQuick<1>,
    Elementwise {
        name: "gelu_quick",
        summary: "y = x / (1 + exp(−1.702 x))",
        #[cfg(feature = "judge")]
        judged: Judged {
            flops: 4,
            truth: oracle::gelu_quick,
            ..ACTIVATION.judged
        },
        ..ACTIVATION
    },
    |[x], _| gelu_quick(x),
    |simd, [x], _| math::gelu_quick(simd, x),
    mutants! { after Shared::<GeluQuick, 1>::SIGNED; run::<GeluQuick, 1>, Steps { ..RIGHT };
        "silu", ALL, "the slope is 1", formula: Some(|x, _| silu(x[0]));
        "erf_formula", ALL, "the other gelu, by erf", formula: Some(|x, _| gelu(x[0]));
        "tanh_formula", ALL, "the other gelu, by tanh", formula: Some(|x, _| gelu_tanh(x[0]));
        "slope_short", ALL, "the slope is 1.7",
            formula: Some(|x, _| times_sigmoid(x[0], 1.7 * x[0]));
        "slope_rounded_to_bf16", FINE, "the slope is stored in 8 bits",
            formula: Some(|x, _| times_sigmoid(x[0], narrowed(QUICK_SLOPE) * x[0]));
        "exp_overflows", WIDE, "x / (1 + exp(−1.702 x)) vanishes too early",
            formula: Some(|x, _| x[0] / (1.0 + (-QUICK_SLOPE * x[0]).exp()));
        "factor_scaled", ALL, "the slope is in front as well",
            formula: Some(|x, _| silu(QUICK_SLOPE * x[0]));
    },
}
