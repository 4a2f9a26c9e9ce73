//! Members of one or two roundings: sums, products, quotients, and the larger of two.

use super::member;
#[cfg(feature = "judge")]
use crate::blocks::row::ROWS_ARE_INDEPENDENT;
use crate::elementwise::definition::{ALPHA, Elementwise, INPLACE, ROUNDING, alpha};
#[cfg(feature = "judge")]
use crate::elementwise::judge::Judged;
#[cfg(feature = "judge")]
use crate::elementwise::mutants::{ALL, FINE, NARROW, RIGHT, SINGLE, Steps, mutants, slips};
#[cfg(feature = "judge")]
use crate::elementwise::{laws, oracle};
use proofmark_tensor::Fill;
use proofmark_terms::{Case, DType};

/// What members of one correctly rounded operation have alike.
///
/// The limit, f32: a correctly rounded result lies within the half unit in the last place that q
/// forgives everyone. 16 bits: the f32 result is off by at most u of itself, and where that
/// carries it over a power of two it is a 16-bit number already; rounding it costs the forgiven
/// half unit and no more. So q ≤ 1 on a scale no smaller than the result.
const EXACT: Elementwise = Elementwise {
    name: "",
    summary: "",
    edges: &[
        "as IEEE arithmetic gives them; NaN stays at its element",
        "beyond the largest number the result is infinite; subnormals count and are kept",
        "the sign of zero is part of the result",
    ],
    operands: &["a", "b"],
    output: "c",
    attributes: &[INPLACE],
    is_exact: true,
    #[cfg(feature = "judge")]
    judged: Judged {
        flops: 1,
        transcendentals: 0,
        truth: oracle::add,
        limit: |dtype| if dtype == DType::F32 { 0.0 } else { 1.0 },
        exact: |_| Some(ints(64)),
        fills: &[],
        reach: 1.0,
        signed_zero: true,
        laws: &[],
    },
};

/// Small numbers stay small where the second operand is none.
const SUBNORMAL_FIRST: (Fill, Fill) = (Fill::Subnormal, Fill::Normal);

const fn ints(magnitude: u32) -> Fill {
    Fill::Ints { magnitude, density: 1.0 }
}

member! {
    /// `c = a + b`.
    Add<2>,
    Elementwise {
        name: "add",
        summary: "c = a + b",
        edges: &[
            "NaN in, NaN out, at that element only; inf + -inf is NaN; other infinities stay",
            "beyond the largest number the result is infinite; a stochastic carry may go there too",
            "-0 + -0 is -0; x + -x is +0; the sign of zero is part of the result",
            "subnormal operands count and subnormal results are kept",
        ],
        attributes: &[INPLACE, ROUNDING],
        #[cfg(feature = "judge")]
        judged: Judged {
            // Sums to 128 are exact in bf16, whose integers are without gaps to 256.
            exact: |_| Some(ints(64)),
            laws: &[laws::COMMUTES, laws::MINUS_ZERO_IS_NEUTRAL, ROWS_ARE_INDEPENDENT],
            ..EXACT.judged
        },
        ..EXACT
    },
    |[a, b], _| a + b,
    |simd, [a, b], _| simd.add(a, b),
    mutants! { signed Add<2>;
        "subtracts", ALL, "a - b", Steps { formula: Some(|x, _| x[0] - x[1]), ..RIGHT };
        "adds_b_twice", ALL, "a + 2b", Steps { formula: Some(|x, _| x[0] + x[1] + x[1]), ..RIGHT };
        "row_zero_reused", ALL, "b always comes from its first row",
            Steps { last: |at| (0, at.col), ..RIGHT };
        "saturates", ALL, "beyond the largest number lies the largest number",
            Steps { round: slips::saturate, ..RIGHT };
        "random_without_index", &[DType::Bf16], "every element has the same random bits",
            Steps { index: |_| 0, ..RIGHT };
        "random_by_address", &[DType::Bf16], "random bits depend on the row stride",
            Steps { index: |at| at.row * at.stride + at.col, ..RIGHT };
        "random_ignored", &[DType::Bf16], "rounds to nearest where stochastic is asked for",
            Steps { is_random: false, ..RIGHT };
    },
}

member! {
    /// `c = a − b`.
    Sub<2>,
    Elementwise {
        name: "sub",
        summary: "c = a − b",
        #[cfg(feature = "judge")]
        judged: Judged {
            truth: oracle::sub,
            laws: &[laws::ZERO_IS_NEUTRAL, ROWS_ARE_INDEPENDENT],
            ..EXACT.judged
        },
        ..EXACT
    },
    |[a, b], _| a - b,
    |simd, [a, b], _| simd.sub(a, b),
    mutants! { signed Sub<2>;
        "reversed", ALL, "b − a", Steps { formula: Some(|x, _| x[1] - x[0]), ..RIGHT };
        "adds", ALL, "a + b", Steps { formula: Some(|x, _| x[0] + x[1]), ..RIGHT };
        "distance", ALL, "the sign is lost", Steps { round: |_, c| c.abs(), ..RIGHT };
        "saturates", ALL, "beyond the largest number lies the largest number",
            Steps { round: slips::saturate, ..RIGHT };
    },
}

member! {
    /// `c = a · b`.
    Mul<2>,
    Elementwise {
        name: "mul",
        summary: "c = a · b",
        #[cfg(feature = "judge")]
        judged: Judged {
            truth: oracle::mul,
            // Products to 225 are exact in bf16.
            exact: |_| Some(ints(15)),
            fills: &[SUBNORMAL_FIRST],
            laws: &[laws::COMMUTES, laws::ONE_IS_NEUTRAL, ROWS_ARE_INDEPENDENT],
            ..EXACT.judged
        },
        ..EXACT
    },
    |[a, b], _| a * b,
    |simd, [a, b], _| simd.mul(a, b),
    mutants! { signed Mul<2>;
        "divides", ALL, "a / b", Steps { formula: Some(|x, _| x[0] / x[1]), ..RIGHT };
        "squares", ALL, "a · a", Steps { formula: Some(|x, _| x[0] * x[0]), ..RIGHT };
        "zero_wins", ALL, "0 times infinity is 0",
            Steps {
                formula: Some(|x, _| if x[0] == 0.0 || x[1] == 0.0 { 0.0 } else { x[0] * x[1] }),
                ..RIGHT
            };
        "saturates", ALL, "beyond the largest number lies the largest number",
            Steps { round: slips::saturate, ..RIGHT };
    },
}

member! {
    /// `c = a / b`.
    Div<2>,
    Elementwise {
        name: "div",
        summary: "c = a / b, correctly rounded",
        edges: &[
            "x / 0 is infinite with the signs of both, 0 / 0 and inf / inf are NaN",
            "beyond the largest number the result is infinite; subnormals count and are kept",
            "the sign of zero is part of the result",
        ],
        #[cfg(feature = "judge")]
        judged: Judged {
            truth: oracle::div,
            exact: |_| Some(Fill::PowersOfTwo { reach: 8 }),
            fills: &[SUBNORMAL_FIRST],
            laws: &[laws::ONE_IS_NEUTRAL, ROWS_ARE_INDEPENDENT],
            ..EXACT.judged
        },
        ..EXACT
    },
    |[a, b], _| a / b,
    |simd, [a, b], _| simd.div(a, b),
    mutants! { signed Div<2>;
        "reversed", ALL, "b / a", Steps { formula: Some(|x, _| x[1] / x[0]), ..RIGHT };
        "by_reciprocal", SINGLE, "a · (1 / b) is rounded twice",
            Steps { formula: Some(|x, _| x[0] * (1.0 / x[1])), ..RIGHT };
        "reciprocal_of_12_bits", FINE, "the reciprocal is the processor's estimate, not refined",
            Steps {
                formula: Some(|x, _| x[0] * f32::from_bits((1.0 / x[1]).to_bits() & !0xfff)),
                ..RIGHT
            };
        "zero_divisor_guarded", ALL, "x / 0 is 0",
            Steps { formula: Some(|x, _| if x[1] == 0.0 { 0.0 } else { x[0] / x[1] }), ..RIGHT };
        "saturates", ALL, "beyond the largest number lies the largest number",
            Steps { round: slips::saturate, ..RIGHT };
    },
}

member! {
    /// `z = alpha · x + y`.
    Axpy<2>,
    Elementwise {
        name: "axpy",
        summary: "z = alpha · x + y",
        edges: &[
            "as IEEE arithmetic gives them for a product and a sum; NaN stays at its element",
            "where alpha · x is beyond the largest number nothing is promised: y may bring it back",
            "the sign of a zero result is free: one rounding or two may decide it",
            "subnormals count and are kept",
        ],
        operands: &["x", "y"],
        output: "z",
        attributes: &[INPLACE, ALPHA],
        // One rounding where multiplication and addition are fused, else two.
        is_exact: false,
        #[cfg(feature = "judge")]
        judged: Judged {
            flops: 2,
            truth: oracle::axpy,
            // The product off by u of itself, the sum as in `EXACT`.
            limit: |_| 2.0,
            exact: exact_axpy,
            fills: &[SUBNORMAL_FIRST],
            // The largest alpha is 1000.
            reach: 1.0 / 1024.0,
            signed_zero: false,
            laws: &[laws::ZERO_ADDS_NOTHING, ROWS_ARE_INDEPENDENT],
            ..EXACT.judged
        },
    },
    |[x, y], alpha| alpha * x + y,
    |simd, [x, y], alpha| simd.fma(alpha, x, y),
    mutants! { rounded Axpy<2>;
        "alpha_ignored", ALL, "x + y", Steps { formula: Some(|x, _| x[0] + x[1]), ..RIGHT };
        "alpha_of_y", ALL, "x + alpha · y",
            Steps { formula: Some(|x, alpha| x[0] + alpha * x[1]), ..RIGHT };
        "alpha_of_both", ALL, "alpha · (x + y)",
            Steps { formula: Some(|x, alpha| alpha * (x[0] + x[1])), ..RIGHT };
        "alpha_is_an_integer", ALL, "alpha loses its fraction",
            Steps { formula: Some(|x, alpha| alpha.trunc() * x[0] + x[1]), ..RIGHT };
        "alpha_rounded_to_bf16", FINE, "alpha loses bits first",
            Steps { formula: Some(|x, alpha| slips::narrowed(alpha) * x[0] + x[1]), ..RIGHT };
        "saturates", ALL, "beyond the largest number lies the largest number",
            Steps { round: slips::saturate, ..RIGHT };
    },
}

/// Quarters of integers to 2 · 31 + 31 are exact in bf16.
fn exact_axpy(case: &Case) -> Option<Fill> {
    let alpha = alpha(case);
    (alpha.abs() <= 1.0 && (4.0 * alpha).fract() == 0.0 || alpha == 2.0).then_some(ints(31))
}

member! {
    /// `y = max(x, 0)`.
    Relu<1>,
    Elementwise {
        name: "relu",
        summary: "y = max(x, 0)",
        edges: &[
            "NaN stays NaN; infinity stays; -infinity is 0",
            "-0 gives a zero of either sign; subnormals are kept",
        ],
        operands: &["x"],
        output: "y",
        #[cfg(feature = "judge")]
        judged: Judged {
            truth: oracle::relu,
            limit: |_| 0.0,
            signed_zero: false,
            laws: &[laws::ODD_PART_IS_X, ROWS_ARE_INDEPENDENT],
            ..EXACT.judged
        },
        ..EXACT
    },
    |[x], _| if x < 0.0 { 0.0 } else { x },
    // The second operand is returned where one is NaN.
    |simd, [x], _| simd.max(simd.zero(), x),
    mutants! { plain Relu<1>;
        "leaky", ALL, "a hundredth of what is negative is left",
            Steps { formula: Some(|x, _| if x[0] < 0.0 { 0.01 * x[0] } else { x[0] }), ..RIGHT };
        "absolute", ALL, "the sign is lost", Steps { formula: Some(|x, _| x[0].abs()), ..RIGHT };
        "identity", ALL, "negative elements stay", Steps { formula: Some(|x, _| x[0]), ..RIGHT };
        "capped_at_six", ALL, "nothing is larger than 6",
            Steps { formula: Some(|x, _| x[0].clamp(0.0, 6.0)), ..RIGHT };
        "saturates", ALL, "infinity becomes the largest number",
            Steps { round: slips::saturate, ..RIGHT };
    },
}
