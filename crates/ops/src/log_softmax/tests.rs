//! Known answers, threads and refusals of the logarithm of softmax.

use super::{ENTRY, oracle};
use crate::blocks::row::trial::{self, Setup};
use crate::{Context, Mat, MatMut};
use proofmark_contract::{Values, Want};
use proofmark_simd::available;
use proofmark_tensor::bf16;

#[test]
fn the_oracle_gives_values_computed_by_hand() {
    let ln3 = 3f64.ln();
    let x = [ln3, 0.0, 5.0, f64::NEG_INFINITY];
    let truth = oracle::truth((2, 2), &x, &Want::all());
    assert!((truth.value[0] - 0.75f64.ln()).abs() < 1e-15);
    assert!((truth.value[1] - 0.25f64.ln()).abs() < 1e-15);
    assert_eq!(truth.value[2..], [0.0, f64::NEG_INFINITY]);
    // Element 1: |x−m| = ln 3, the sum is 4/3, mean |x−m| = ln 3 / 4, and 4 + g(2).
    let scale = ln3 + (4.0 / 3.0f64).ln() + ln3 / 4.0 + 5.0 + 2f64.sqrt() / 4.0;
    assert!((truth.scale[1] - scale).abs() < 1e-14);
    let want = Want::some(Some(vec![1]), Some(vec![0]));
    assert_eq!(oracle::truth((2, 2), &x, &want).value, [0.0], "only the wanted elements");
}

#[test]
fn unlikely_elements_keep_their_digits_and_specials_take_the_row() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let mut x = vec![-400.0; 4 * 19];
    // Row 0: far below; 1: all masked; 2: +infinity; 3: NaN in the tail.
    x[7] = 0.0;
    x[19..38].fill(-inf);
    x[38] = inf;
    x[3 * 19 + 18] = nan;
    let case = "log_softmax:f32[b=2,s=2,d=19]".parse().unwrap();
    let inputs = Values { tensors: vec![x, Vec::new()] };
    for kernel in ENTRY.kernels {
        for &isa in kernel.isas().iter().filter(|&&isa| available(isa)) {
            let setup = Setup { isa, threads: 2, padding: 5 };
            let got = trial::call(ENTRY.op, *kernel, &case, setup, &inputs);
            let who = format!("{} on {isa}", kernel.name());
            assert!(got[0][7] == 0.0 && got[0][8] == -400.0, "{who}: {:?}", &got[0][..19]);
            assert!(got[0][19..].iter().all(|y| y.is_nan()), "{who}");
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    trial::threads_change_nothing(&ENTRY, "log_softmax:f32[b=3,s=17,d=1021]");
    trial::threads_change_nothing(&ENTRY, "log_softmax:f16[b=3,s=17,d=509]");
}

#[test]
fn the_library_function_takes_16_bit_rows_and_refuses_misfits() {
    let context = Context::serial();
    let x = [3.0, 3.0, -80.0, 0.0].map(bf16::from_f32);
    let mut y = [bf16::ZERO; 4];
    let x = Mat::new(&x, 2, 2);
    super::log_softmax(&context, x, MatMut::new(&mut y, 2, 2)).unwrap();
    let half = bf16::from_f32(0.5f32.ln());
    assert_eq!(y, [half, half, bf16::from_f32(-80.0), bf16::ZERO]);
    assert!(super::log_softmax(&context, x, MatMut::new(&mut y, 1, 4)).is_err(), "other rows");
    assert!(super::log_softmax(&context, x, MatMut::new(&mut y, 1, 2)).is_err(), "fewer rows");
}
