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
use crate::elementwise::mutants::{ALL, RIGHT, Shared, Steps, mutants, narrowed, run, saturate};
#[cfg(feature = "judge")]
use crate::elementwise::{laws, oracle};

/// What they have in common. The limit is the activation's: the product's rounding has a part of
/// the scale of its own.
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
    mutants! { after Shared::<Swiglu, 2>::SIGNED; run::<Swiglu, 2>, Steps { ..RIGHT };
        "operands_exchanged", ALL, "gate · silu(up)",
            formula: Some(|x, _| x[0] * times_sigmoid(x[1], x[1]));
        "sigmoid_only", ALL, "the gate is σ, not silu", formula: Some(|x, _| sigmoid(x[0]) * x[1]);
        "geglu", ALL, "the neighbour in the list", formula: Some(|x, _| gelu_tanh(x[0]) * x[1]);
        "up_missing", ALL, "the activation alone", formula: Some(|x, _| times_sigmoid(x[0], x[0]));
        "activation_rounded_to_bf16", ALL, "the activation is stored between two passes",
            formula: Some(|x, _| narrowed(times_sigmoid(x[0], x[0])) * x[1]);
        "saturates", ALL, "infinity becomes the largest number", round: saturate;
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
    mutants! { after Shared::<Geglu, 2>::SIGNED; run::<Geglu, 2>, Steps { ..RIGHT };
        "operands_exchanged", ALL, "gate · gelu_tanh(up)",
            formula: Some(|x, _| x[0] * gelu_tanh(x[1]));
        "swiglu", ALL, "the neighbour in the list",
            formula: Some(|x, _| times_sigmoid(x[0], x[0]) * x[1]);
        "quick_gate", ALL, "the gate is gelu_quick",
            formula: Some(|x, _| times_sigmoid(x[0], 1.702 * x[0]) * x[1]);
        "up_missing", ALL, "the activation alone", formula: Some(|x, _| gelu_tanh(x[0]));
        "activation_rounded_to_bf16", ALL, "the activation is stored between two passes",
            formula: Some(|x, _| narrowed(gelu_tanh(x[0])) * x[1]);
        "saturates", ALL, "infinity becomes the largest number", round: saturate;
    },
}
