//! Members of one or two roundings: sums, products, quotients, and the larger of two.

use super::member;
#[cfg(feature = "judge")]
use crate::blocks::row::ROWS_ARE_INDEPENDENT;
use crate::elementwise::definition::{ALPHA, Elementwise, INPLACE, ROUNDING, alpha};
#[cfg(feature = "judge")]
use crate::elementwise::judge::Judged;
#[cfg(feature = "judge")]
use crate::elementwise::mutants::{
    ALL, FINE, RIGHT, SINGLE, Shared, Steps, estimate, mutants, narrowed, run, saturate,
};
#[cfg(feature = "judge")]
use crate::elementwise::{laws, oracle};
use proofmark_tensor::Fill;
use proofmark_terms::{Case, DType};

/// What members of one correctly rounded operation have in common.
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
    mutants! { after Shared::<Add, 2>::SIGNED; run::<Add, 2>, Steps { ..RIGHT };
        "subtracts", ALL, "a - b", formula: Some(|x, _| x[0] - x[1]);
        "adds_b_twice", ALL, "a + 2b", formula: Some(|x, _| x[0] + x[1] + x[1]);
        "row_zero_reused", ALL, "b always comes from its first row", last: |at| (0, at.col);
        "saturates", ALL, "beyond the largest number lies the largest number", round: saturate;
        "random_without_index", &[DType::Bf16], "every element has the same random bits",
            index: |_| 0;
        "random_by_address", &[DType::Bf16], "random bits depend on the row stride",
            index: |at| at.row * at.stride + at.col;
        "random_ignored", &[DType::Bf16], "rounds to nearest where stochastic is asked for",
            is_random: false;
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
    mutants! { after Shared::<Sub, 2>::SIGNED; run::<Sub, 2>, Steps { ..RIGHT };
        "reversed", ALL, "b − a", formula: Some(|x, _| x[1] - x[0]);
        "adds", ALL, "a + b", formula: Some(|x, _| x[0] + x[1]);
        "distance", ALL, "the sign is lost", round: |_, c| c.abs();
        "saturates", ALL, "beyond the largest number lies the largest number", round: saturate;
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
    mutants! { after Shared::<Mul, 2>::SIGNED; run::<Mul, 2>, Steps { ..RIGHT };
        "divides", ALL, "a / b", formula: Some(|x, _| x[0] / x[1]);
        "squares", ALL, "a · a", formula: Some(|x, _| x[0] * x[0]);
        "zero_wins", ALL, "0 times infinity is 0",
            formula: Some(|x, _| if x[0] == 0.0 || x[1] == 0.0 { 0.0 } else { x[0] * x[1] });
        "saturates", ALL, "beyond the largest number lies the largest number", round: saturate;
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
    mutants! { after Shared::<Div, 2>::SIGNED; run::<Div, 2>, Steps { ..RIGHT };
        "reversed", ALL, "b / a", formula: Some(|x, _| x[1] / x[0]);
        "by_reciprocal", SINGLE, "a · (1 / b) is rounded twice",
            formula: Some(|x, _| x[0] * (1.0 / x[1]));
        "reciprocal_of_12_bits", FINE, "the reciprocal is the processor's estimate, not refined",
            formula: Some(|x, _| x[0] * estimate(1.0 / x[1]));
        "zero_divisor_guarded", ALL, "x / 0 is 0",
            formula: Some(|x, _| if x[1] == 0.0 { 0.0 } else { x[0] / x[1] });
        "saturates", ALL, "beyond the largest number lies the largest number", round: saturate;
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
    mutants! { after Shared::<Axpy, 2>::ROUNDED; run::<Axpy, 2>, Steps { ..RIGHT };
        "alpha_ignored", ALL, "x + y", formula: Some(|x, _| x[0] + x[1]);
        "alpha_of_y", ALL, "x + alpha · y", formula: Some(|x, alpha| x[0] + alpha * x[1]);
        "alpha_of_both", ALL, "alpha · (x + y)", formula: Some(|x, alpha| alpha * (x[0] + x[1]));
        "alpha_is_an_integer", ALL, "alpha loses its fraction",
            formula: Some(|x, alpha| alpha.trunc() * x[0] + x[1]);
        "alpha_rounded_to_bf16", FINE, "alpha loses bits first",
            formula: Some(|x, alpha| narrowed(alpha) * x[0] + x[1]);
        "saturates", ALL, "beyond the largest number lies the largest number", round: saturate;
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
    mutants! { after Shared::<Relu, 1>::PLAIN; run::<Relu, 1>, Steps { ..RIGHT };
        "leaky", ALL, "a hundredth of what is negative is left",
            formula: Some(|x, _| if x[0] < 0.0 { 0.01 * x[0] } else { x[0] });
        "absolute", ALL, "the sign is lost", formula: Some(|x, _| x[0].abs());
        "identity", ALL, "negative elements stay", formula: Some(|x, _| x[0]);
        "capped_at_six", ALL, "nothing is larger than 6",
            formula: Some(|x, _| x[0].clamp(0.0, 6.0));
        "saturates", ALL, "infinity becomes the largest number", round: saturate;
    },
}
