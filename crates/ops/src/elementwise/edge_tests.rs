//! Values by hand: the oracle's, and each member's edges to the bit in every kernel.

use super::tests::{DTYPES, operands, row, with_every_kernel};
use super::*;
use proofmark_contract::{Values, Want, check_case};
use proofmark_terms::{Case, DType};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// What a member of one operand makes of special values, to the bit, at every lane and in tails.
fn edges(entry: &Entry, dtype: DType, pairs: &[(f64, f64)]) {
    let case = Case::new(entry.op.name(), dtype).axis("b", 2).axis("s", 11).axis("d", 35);
    let at = |i: usize| pairs[i % pairs.len()];
    let inputs = operands(entry, &case, (0..770).map(|i| at(i).0).collect());
    let truth = entry.op.oracle(&case, &inputs, 0, &Want::all());
    assert!(truth.scale.iter().chain(&truth.forgiven).all(|&scale| scale >= 0.0), "no NaN");
    with_every_kernel(entry, &case, &inputs, |who, y| {
        for (i, &got) in y.iter().enumerate() {
            let (x, want) = at(i);
            let is_right = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
            assert!(is_right, "{who}, {dtype}: {got:e} of {x:e} at {i}");
        }
    });
}

#[test]
fn activations_halve_the_least_and_vanish_with_their_sign() {
    for entry in [&SILU, &GELU, &GELU_TANH, &GELU_QUICK] {
        for dtype in DTYPES {
            let (tiny, largest) = (2.0 * dtype.smallest(), dtype.largest());
            let pairs = [
                (0.0, 0.0),
                (-0.0, -0.0),
                (INF, INF),
                (-INF, NAN),
                (NAN, NAN),
                (largest, largest),
                (-largest, -0.0),
                (tiny, tiny / 2.0),
                (-tiny, -tiny / 2.0),
                (-1000.0, -0.0),
                (64.0, 64.0),
            ];
            edges(entry, dtype, &pairs);
        }
    }
}

#[test]
fn functions_have_their_limits() {
    for dtype in DTYPES {
        let (least, largest) = (dtype.smallest(), dtype.largest());
        edges(
            &EXP,
            dtype,
            &[
                (0.0, 1.0),
                (-0.0, 1.0),
                (INF, INF),
                (-INF, 0.0),
                (NAN, NAN),
                (-largest, 0.0),
                (largest, INF),
                (least, 1.0),
                (-1000.0, 0.0),
            ],
        );
        edges(
            &TANH,
            dtype,
            &[
                (0.0, 0.0),
                (-0.0, -0.0),
                (INF, 1.0),
                (-INF, -1.0),
                (NAN, NAN),
                (least, least),
                (-least, -least),
                (largest, 1.0),
                (-100.0, -1.0),
            ],
        );
        edges(
            &SIGMOID,
            dtype,
            &[
                (0.0, 0.5),
                (-0.0, 0.5),
                (INF, 1.0),
                (-INF, 0.0),
                (NAN, NAN),
                (least, 0.5),
                (largest, 1.0),
                (-largest, 0.0),
                (-1000.0, 0.0),
            ],
        );
        edges(
            &RELU,
            dtype,
            &[
                (0.0, 0.0),
                (INF, INF),
                (-INF, 0.0),
                (NAN, NAN),
                (least, least),
                (-least, 0.0),
                (-largest, 0.0),
            ],
        );
    }
}

fn values(entry: &Entry, x: &[f64], second: f64) -> Vec<f64> {
    let case = row(entry.op.name(), DType::F32, x.len());
    let mut inputs = Values { tensors: vec![x.to_vec(), vec![second; x.len()], Vec::new()] };
    inputs.tensors.truncate(check_case(entry.op, &case).unwrap().operands().len());
    entry.op.oracle(&case, &inputs, 0, &Want::all()).value
}

#[test]
fn the_oracle_gives_values_computed_by_hand() {
    let ln3 = 3f64.ln();
    let close = |got: &[f64], want: &[f64]| {
        for (got, want) in got.iter().zip(want) {
            assert!((got - want).abs() <= 1e-13 * want.abs(), "{got} is not {want}");
        }
    };
    // σ(ln 3) = 1 / (1 + 1/3); beyond 37 it is 1 in f64; far below 0 it is e^x.
    let silu = values(&SILU, &[ln3, -ln3, 0.0, 40.0, -800.0, -100.0], 1.0);
    close(&silu, &[0.75 * ln3, -0.25 * ln3, 0.0, 40.0, 0.0, -100.0 * (-100f64).exp()]);
    assert!(silu[4].is_sign_negative(), "what vanishes keeps its sign");
    close(&values(&SIGMOID, &[ln3, -ln3], 1.0), &[0.75, 0.25]);
    close(&values(&TANH, &[ln3], 1.0), &[0.8]);
    close(&values(&GELU_QUICK, &[ln3 / 1.702], 1.0), &[0.75 * ln3 / 1.702]);
    // Tables of the normal distribution: Φ(1), Φ(-10).
    let gelu = [0.841_344_746_068_542_9, -10.0 * 7.619_853_024_160_495e-24];
    close(&values(&GELU, &[1.0, -10.0], 1.0), &gelu);
    let z = (2.0 / std::f64::consts::PI).sqrt() * 1.044_715;
    close(&values(&GELU_TANH, &[1.0], 1.0), &[0.5 * (1.0 + z.tanh())]);
    close(&values(&SWIGLU, &[ln3], -2.0), &[-1.5 * ln3]);
    close(&values(&GEGLU, &[1.0], 3.0), &[1.5 * (1.0 + z.tanh())]);
    close(&values(&AXPY, &[1.5], 0.25), &[3.25]);
    close(&values(&DIV, &[3.0], 0.25), &[12.0]);
    close(&values(&SUB, &[3.0], 0.25), &[2.75]);
    close(&values(&MUL, &[3.0], 0.25), &[0.75]);
    close(&values(&RELU, &[3.0, -3.0], 1.0), &[3.0, 0.0]);
    close(&values(&EXP, &[ln3], 1.0), &[3.0]);
}

#[test]
fn a_subnormal_exponential_counts_in_the_scale() {
    let case = row("silu", DType::F32, 2);
    let inputs = Values { tensors: vec![vec![3f64.ln(), -100.0], Vec::new()] };
    let scale = SILU.op.oracle(&case, &inputs, 0, &Want::all()).scale;
    assert!((scale[0] - 3.0 * 3f64.ln()).abs() < 1e-14, "four roundings of 3/4 ln 3");
    // A smallest subnormal lost in the exponential, times 100, is 1 u of this.
    let lost = 100.0 * DType::F32.smallest() / DType::F32.unit();
    assert!(scale[1] > lost && scale[1] < 1.01 * lost);
}

#[test]
fn a_swiglu_as_written_is_forgiven_from_where_the_exponential_is_flushed() {
    let case = row("swiglu", DType::F32, 2);
    let inputs = Values { tensors: vec![vec![-87.0, -87.36], vec![180.0; 2], Vec::new()] };
    let truth = SWIGLU.op.oracle(&case, &inputs, 0, &Want::all());
    assert_eq!(truth.forgiven[0], 0.0);
    assert!(truth.forgiven[1] * DType::F32.unit() >= truth.value[1].abs());
}

#[test]
fn the_textbook_is_forgiven_below_zero_only() {
    let case = row("gelu", DType::F32, 3);
    let inputs = Values { tensors: vec![vec![-4.0, 4.0, -1000.0], Vec::new()] };
    let truth = GELU.op.oracle(&case, &inputs, 0, &Want::all());
    assert_eq!(truth.forgiven, [4.0, 0.0, 6.0]);
}
