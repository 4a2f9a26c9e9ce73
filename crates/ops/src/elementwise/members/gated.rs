//! Members in which an activation of one operand weighs the other.

use super::activations::gelu_tanh;
use super::functions::{TAILS, UNARY, sigmoid, times_sigmoid};
use super::member;
use crate::blocks::math;
#[cfg(feature = "judge")]
use crate::blocks::row::ROWS_ARE_INDEPENDENT;
use crate::elementwise::definition::Elementwise;
#[cfg(feature = "judge")]
use crate::elementwise::judge::Judged;
#[cfg(feature = "judge")]
use crate::elementwise::mutants::{ALL, FINE, NARROW, RIGHT, Steps, mutants, slips};
#[cfg(feature = "judge")]
use crate::elementwise::{laws, oracle};

/// What they have alike. The limit is the activation's: the product's rounding has a part of the
/// scale of its own.
const GATED: Elementwise = Elementwise {
    edges: &[
        "as the activation gives them, times up: NaN stays at its element; gate -infinity is NaN",
        "an activation that vanished makes NaN of an infinite up",
        "beyond the largest number the result is infinite; subnormal results are kept",
        "the sign of zero is that of the product",
    ],
    operands: &["gate", "up"],
    #[cfg(feature = "judge")]
    judged: Judged {
        flops: 4,
        fills: TAILS,
        laws: &[laws::UP_IS_A_FACTOR, ROWS_ARE_INDEPENDENT],
        ..UNARY.judged
    },
    ..UNARY
};

member! {
    /// `y = silu(gate)·up`.
    Swiglu<2>,
    Elementwise {
        name: "swiglu",
        summary: "y = silu(gate) · up",
        #[cfg(feature = "judge")]
        judged: Judged {
            truth: oracle::swiglu,
            ..GATED.judged
        },
        ..GATED
    },
    |[gate, up], _| times_sigmoid(gate, gate) * up,
    |simd, [gate, up], _| simd.mul(math::silu(simd, gate), up),
    mutants! { signed Swiglu<2>;
        "operands_exchanged", ALL, "gate · silu(up)",
            Steps { formula: Some(|x, _| x[0] * times_sigmoid(x[1], x[1])), ..RIGHT };
        "sigmoid_only", ALL, "the gate is σ, not silu",
            Steps { formula: Some(|x, _| sigmoid(x[0]) * x[1]), ..RIGHT };
        "geglu", ALL, "the neighbour in the list",
            Steps { formula: Some(|x, _| gelu_tanh(x[0]) * x[1]), ..RIGHT };
        "up_missing", ALL, "the activation alone",
            Steps { formula: Some(|x, _| times_sigmoid(x[0], x[0])), ..RIGHT };
        "activation_rounded_to_bf16", ALL, "the activation is stored between two passes",
            Steps {
                formula: Some(|x, _| slips::narrowed(times_sigmoid(x[0], x[0])) * x[1]),
                ..RIGHT
            };
        "saturates", ALL, "infinity becomes the largest number",
            Steps { round: slips::saturate, ..RIGHT };
    },
}

member! {
    /// `y = gelu_tanh(gate)·up`.
    Geglu<2>,
    Elementwise {
        name: "geglu",
        summary: "y = gelu_tanh(gate) · up",
        #[cfg(feature = "judge")]
        judged: Judged {
            flops: 9,
            truth: oracle::geglu,
            ..GATED.judged
        },
        ..GATED
    },
    |[gate, up], _| gelu_tanh(gate) * up,
    |simd, [gate, up], _| simd.mul(math::gelu_tanh(simd, gate), up),
    mutants! { signed Geglu<2>;
        "operands_exchanged", ALL, "gate · gelu_tanh(up)",
            Steps { formula: Some(|x, _| x[0] * gelu_tanh(x[1])), ..RIGHT };
        "swiglu", ALL, "the neighbour in the list",
            Steps { formula: Some(|x, _| times_sigmoid(x[0], x[0]) * x[1]), ..RIGHT };
        "quick_gate", ALL, "the gate is gelu_quick",
            Steps { formula: Some(|x, _| times_sigmoid(x[0], 1.702 * x[0]) * x[1]), ..RIGHT };
        "up_missing", ALL, "the activation alone",
            Steps { formula: Some(|x, _| gelu_tanh(x[0])), ..RIGHT };
        "activation_rounded_to_bf16", ALL, "the activation is stored between two passes",
            Steps { formula: Some(|x, _| slips::narrowed(gelu_tanh(x[0])) * x[1]), ..RIGHT };
        "saturates", ALL, "infinity becomes the largest number",
            Steps { round: slips::saturate, ..RIGHT };
    },
}
