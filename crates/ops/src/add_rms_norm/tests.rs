//! Known answers, threads and refusals of the normalised sum.

use super::ENTRY;
use super::oracle;
use crate::blocks::row::trial;
use crate::rms_norm::definition::Problem;
use crate::{Context, Mat, MatMut};
use proofmark_contract::Want;
use proofmark_tensor::bf16;
use proofmark_terms::DType;

#[test]
fn the_oracle_normalises_the_rounded_sum() {
    let problem = Problem { rows: 1, length: 2, eps: 0.0, is_gemma: false };
    // 256 + 1.5 is 257.5, between the bf16 values 256 and 258.
    let inputs = [&[256.0, 0.0][..], &[1.5, 258.0], &[1.0, 2.0]];
    let sum = oracle::truth(&problem, DType::Bf16, inputs, 0, &Want::all());
    assert_eq!((sum.value, sum.scale), (vec![257.5, 258.0], vec![0.0, 0.0]));
    let y = oracle::truth(&problem, DType::Bf16, inputs, 1, &Want::all());
    assert_eq!(y.value, [1.0, 2.0]);
    let y = oracle::truth(&problem, DType::F32, inputs, 1, &Want::all());
    assert!(y.value[0] < 1.0, "in f32 nothing is lost");
    let want = Want::some(None, Some(vec![1]));
    assert_eq!(oracle::truth(&problem, DType::Bf16, inputs, 1, &want).value, [2.0]);
}

#[test]
fn threads_do_not_change_a_bit() {
    trial::threads_change_nothing(&ENTRY, "add_rms_norm:f32[b=3,s=17,d=1021]");
    trial::threads_change_nothing(&ENTRY, "add_rms_norm:f16[b=3,s=17,d=509]");
}

#[test]
fn the_library_function_writes_both_results_and_refuses_misfits() {
    let context = Context::serial();
    let exact = super::Options { eps: 0.0, ..super::Options::default() };
    let of = |values: [f32; 2]| values.map(bf16::from_f32);
    let (x, residual, w) = (of([256.0, -128.0]), of([1.5, -130.0]), of([0.5, 2.0]));
    let (mut sum, mut y) = (of([0.0; 2]), of([0.0; 2]));
    let inputs = [Mat::from(&x), Mat::from(&residual)];
    let outputs = [MatMut::from(&mut sum), MatMut::from(&mut y)];
    super::with(&context, &exact, inputs, &w, outputs).unwrap();
    assert_eq!((sum, y), (of([258.0, -258.0]), of([0.5, -2.0])));
    let outputs = [MatMut::from(&mut sum[..1]), MatMut::from(&mut y)];
    assert!(super::with(&context, &exact, inputs, &w, outputs).is_err());
}
