//! Known answers, rows that do not count, threads and refusals of cross entropy.

use super::{ENTRY, cross_entropy};
use crate::blocks::row::trial::{self, Setup};
use crate::{Context, Mat};
use proofmark_contract::{Values, Want};
use proofmark_simd::available;
use proofmark_tensor::bf16;

fn results(text: &str, logits: &[f64], targets: &[f64]) -> Vec<Vec<f64>> {
    let case = text.parse().unwrap();
    let tensors = vec![logits.to_vec(), targets.to_vec(), Vec::new()];
    let inputs = Values { tensors };
    let mut all = vec![ENTRY.op.oracle(&case, &inputs, 0, &Want::all()).value];
    for kernel in ENTRY.kernels {
        for &isa in kernel.isas().iter().filter(|&&isa| available(isa)) {
            let setup = Setup { isa, threads: 2, padding: 3 };
            all.extend(trial::call(ENTRY.op, *kernel, &case, setup, &inputs));
        }
    }
    all
}

#[test]
fn oracle_and_kernels_give_answers_found_by_hand() {
    // Probabilities 1/4 and 3/4.
    let (x, third) = ([0.0, 3f64.ln(), 100.0, 100.0 + 3f64.ln()], 4f64.ln());
    let close = |got: &[f64], want: &[f64]| got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-5);
    let likely = third - 3f64.ln();
    for got in results("cross_entropy:f32[n=2,v=2;reduction=none]", &x, &[0.0, 1.0]) {
        assert!(close(&got, &[third, likely]), "{got:?}");
    }
    for got in results("cross_entropy:f32[n=2,v=2]", &x, &[0.0, -100.0]) {
        assert!(close(&got, &[third]), "{got:?}");
    }
    let smoothed = 0.8 * third + 0.2 * (third - 0.5 * 3f64.ln());
    for got in results("cross_entropy:f32[n=2,v=2;smoothing=0.2]", &x, &[0.0, 0.0]) {
        assert!(close(&got, &[smoothed]), "{got:?}");
    }
}

#[test]
fn rows_that_do_not_count_make_nothing_or_nan() {
    let x = [f64::NAN, 1.0, 2.0, 3.0];
    for got in results("cross_entropy:f32[n=2,v=2]", &x, &[-100.0, -100.0]) {
        assert!(got[0].is_nan(), "the mean of no rows");
    }
    for got in results("cross_entropy:f32[n=2,v=2;reduction=none]", &x, &[-100.0, 1.0]) {
        assert!(got[0] == 0.0 && got[1] > 0.0, "{got:?}");
    }
    for got in results("cross_entropy:f32[n=0,v=2]", &[], &[]) {
        assert!(got[0].is_nan());
    }
}

#[test]
fn infinities_follow_the_card() {
    let infinite = f64::INFINITY;
    let of = |x: [f64; 2], attribute: &str| {
        results(&format!("cross_entropy:f32[n=1,v=2{attribute}]"), &x, &[0.0]).concat()
    };
    assert!(of([infinite, 1.0], "").iter().all(|loss| loss.is_nan()));
    assert!(of([-infinite, -infinite], "").iter().all(|loss| loss.is_nan()));
    assert!(of([-infinite, 1.0], "").iter().all(|&loss| loss == infinite));
    assert!(of([1.0, -infinite], "").iter().all(|&loss| loss == 0.0));
    assert!(of([1.0, -infinite], ";smoothing=0.1").iter().all(|&loss| loss == infinite));
}

#[test]
fn threads_do_not_change_a_bit() {
    trial::threads_change_nothing(&ENTRY, "cross_entropy:f32[n=51,v=1021]");
    trial::threads_change_nothing(&ENTRY, "cross_entropy:bf16[n=7,v=9001;smoothing=0.1]");
}

#[test]
fn the_library_function_refuses_targets_that_are_not_there() {
    let (context, two) = (Context::serial(), Context::with_threads(2).unwrap());
    let x = [bf16::ONE; 6];
    let loss = cross_entropy(&two, Mat::new(&x, 2, 3), &[2, 0]).unwrap();
    assert!((loss - 3f32.ln()).abs() < 1e-6);
    for target in [3, -1, i32::MIN, i32::MAX] {
        let refused = cross_entropy(&context, Mat::new(&x, 2, 3), &[0, target]);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(&format!("target {target} of row 1")), "{refused}");
    }
    let short = cross_entropy(&context, Mat::new(&x[..5], 2, 3), &[0, 0]);
    assert!(short.is_err(), "not whole rows");
    assert!(cross_entropy::<f32>(&context, Mat::new(&[], 1, 0), &[0]).is_err(), "no logits");
}
