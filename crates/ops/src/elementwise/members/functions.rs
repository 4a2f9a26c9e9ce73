//! Members that are a function of their own: exponential, hyperbolic tangent, logistic function.

use super::member;
use crate::blocks::math;
#[cfg(feature = "judge")]
use crate::blocks::row::ROWS_ARE_INDEPENDENT;
use crate::elementwise::definition::{Elementwise, INPLACE};
#[cfg(feature = "judge")]
use crate::elementwise::judge::Judged;
#[cfg(feature = "judge")]
use crate::elementwise::mutants::{
    ALL, FINE, RIGHT, Shared, Steps, WIDE, estimate, mutants, run, saturate,
};
#[cfg(feature = "judge")]
use crate::elementwise::{laws, oracle};
use proofmark_tensor::Fill;

/// What functions of one operand have in common.
///
/// The limit: a function within 4 units in the last place is off by 8u of its result, which is 4
/// of its scale. So a library's function passes while no other function does.
pub(super) const UNARY: Elementwise = Elementwise {
    name: "",
    summary: "",
    edges: &[],
    operands: &["x"],
    output: "y",
    attributes: &[INPLACE],
    is_exact: false,
    #[cfg(feature = "judge")]
    judged: Judged {
        flops: 3,
        transcendentals: 1,
        truth: oracle::exp,
        limit: |_| 4.0,
        exact: |_| None,
        fills: &[LONG_TAIL, FAR],
        reach: 1.0,
        signed_zero: true,
        laws: &[ROWS_ARE_INDEPENDENT],
    },
};

/// From -88 down exp(−x) overflows although results are numbers still.
const LONG_TAIL: (Fill, Fill) = (Fill::Uniform { low: -110.0, high: 0.0 }, Fill::Normal);
/// Where functions have reached their limits.
const FAR: (Fill, Fill) = (Fill::Uniform { low: -1000.0, high: 1000.0 }, Fill::Normal);
/// The part of the tail that every element type has.
const SHORT_TAIL: (Fill, Fill) = (Fill::Uniform { low: -15.0, high: 0.0 }, Fill::Normal);
/// Small numbers stay small where the second operand is none.
pub(super) const SUBNORMAL_FIRST: (Fill, Fill) = (Fill::Subnormal, Fill::Normal);
/// Fills of functions with a tail below 0.
pub(super) const TAILS: &[(Fill, Fill)] = &[LONG_TAIL, SHORT_TAIL, FAR, SUBNORMAL_FIRST];

/// The logistic function as the plainest code has it, without overflow.
pub(super) fn sigmoid(x: f32) -> f32 {
    times_sigmoid(1.0, x)
}

/// `x·σ(v)`: the exponential of `−|v|` cannot overflow.
pub(super) fn times_sigmoid(x: f32, v: f32) -> f32 {
    let e = (-v.abs()).exp();
    (if v < 0.0 { x * e } else { x }) / (1.0 + e)
}

/// Takes the fraction of the power of two for its logarithm: up to 6 % too large.
pub(super) fn linear_exp(x: f32) -> f32 {
    if x.is_nan() || !(-87.0..88.0).contains(&x) {
        return x.exp();
    }
    f32::from_bits(((x * std::f32::consts::LOG2_E + 127.0) * 8_388_608.0) as u32)
}

member! {
    /// `y = e^x`.
    Exp<1>,
    Elementwise {
        name: "exp",
        summary: "y = e^x",
        edges: &[
            "NaN stays NaN; infinity stays; -infinity is 0; e^0 is 1",
            "beyond the largest number the result is infinite",
            "below the least normal number results are subnormal, then 0",
        ],
        #[cfg(feature = "judge")]
        judged: Judged {
            flops: 1,
            fills: TAILS,
            signed_zero: false,
            ..UNARY.judged
        },
        ..UNARY
    },
    |[x], _| x.exp(),
    |simd, [x], _| math::exp(simd, x),
    mutants! { after Shared::<Exp, 1>::ROUNDED; run::<Exp, 1>, Steps { ..RIGHT };
        "linear", ALL, "linear between powers of two", formula: Some(|x, _| linear_exp(x[0]));
        "base_two", ALL, "2^x", formula: Some(|x, _| x[0].exp2());
        "less_one", ALL, "e^x − 1", formula: Some(|x, _| x[0].exp_m1());
        "overflows_early", WIDE, "infinite from 88 on, where e^x is a number still",
            formula: Some(|x, _| if x[0] > 88.0 { f32::INFINITY } else { x[0].exp() });
        "exp_clamped", ALL, "no exponential is less than exp(-9)",
            formula: Some(|x, _| if x[0] < -9.0 { (-9f32).exp() } else { x[0].exp() });
        "saturates", ALL, "beyond the largest number lies the largest number", round: saturate;
    },
}

member! {
    /// `y = tanh x`.
    Tanh<1>,
    Elementwise {
        name: "tanh",
        summary: "y = tanh x",
        edges: &[
            "NaN stays NaN; ±infinity gives ±1",
            "the sign of zero is kept; small and subnormal elements stay as they are",
        ],
        #[cfg(feature = "judge")]
        judged: Judged {
            flops: 4,
            truth: oracle::tanh,
            fills: &[(Fill::Uniform { low: -12.0, high: 12.0 }, Fill::Normal), FAR],
            laws: &[laws::IS_ODD, laws::ZERO_KEEPS_ITS_SIGN, ROWS_ARE_INDEPENDENT],
            ..UNARY.judged
        },
        ..UNARY
    },
    |[x], _| x.tanh(),
    |simd, [x], _| math::tanh(simd, x),
    mutants! { after Shared::<Tanh, 1>::SIGNED; run::<Tanh, 1>, Steps { ..RIGHT };
        "cancels", WIDE, "1 − 2/(e^2x + 1) loses small elements",
            formula: Some(|x, _| 1.0 - 2.0 / ((2.0 * x[0]).exp() + 1.0));
        "hard", ALL, "straight between -1 and 1", formula: Some(|x, _| x[0].clamp(-1.0, 1.0));
        "half_slope", ALL, "2σ(x) − 1", formula: Some(|x, _| (0.5 * x[0]).tanh());
        "rational", ALL, "x(27 + x²)/(27 + 9x²), within [-1, 1]",
            formula: Some(|x, _| rational_tanh(x[0]));
        "saturates_early", FINE, "1 from 4 on",
            formula: Some(|x, _| if x[0].abs() > 4.0 { x[0].signum() } else { x[0].tanh() });
        "overflows", ALL, "(e^2x − 1)/(e^2x + 1) is infinity over infinity above 44",
            formula: Some(|x, _| (2.0 * x[0]).exp_m1() / ((2.0 * x[0]).exp() + 1.0));
    },
}

fn rational_tanh(x: f32) -> f32 {
    (x * (27.0 + x * x) / (27.0 + 9.0 * x * x)).clamp(-1.0, 1.0)
}

member! {
    /// `y = 1 / (1 + e^−x)`.
    Sigmoid<1>,
    Elementwise {
        name: "sigmoid",
        summary: "y = 1 / (1 + exp(−x))",
        edges: &[
            "NaN stays NaN; infinity gives 1, -infinity 0",
            "far below 0 it is what e^x rounds to, subnormal results included",
        ],
        #[cfg(feature = "judge")]
        judged: Judged {
            truth: oracle::sigmoid,
            fills: TAILS,
            signed_zero: false,
            laws: &[laws::SUMS_TO_ONE, ROWS_ARE_INDEPENDENT],
            ..UNARY.judged
        },
        ..UNARY
    },
    |[x], _| sigmoid(x),
    |simd, [x], _| math::sigmoid(simd, x),
    mutants! { after Shared::<Sigmoid, 1>::ROUNDED; run::<Sigmoid, 1>, Steps { ..RIGHT };
        "tanh", ALL, "the neighbour in the list", formula: Some(|x, _| x[0].tanh());
        "exp_overflows", WIDE, "1 / (1 + exp(−x)) vanishes below -88",
            formula: Some(|x, _| 1.0 / (1.0 + (-x[0]).exp()));
        "one_branch", ALL, "e / (1 + e) with e = exp(x) is infinity over infinity above 88",
            formula: Some(|x, _| x[0].exp() / (1.0 + x[0].exp()));
        "hard", ALL, "three straight lines",
            formula: Some(|x, _| (x[0] / 6.0 + 0.5).clamp(0.0, 1.0));
        "sign_lost", ALL, "1 / (1 + exp(x))", formula: Some(|x, _| sigmoid(-x[0]));
        "reciprocal_of_12_bits", FINE, "the reciprocal is the processor's estimate, not refined",
            formula: Some(|x, _| estimate(sigmoid(x[0])));
    },
}
