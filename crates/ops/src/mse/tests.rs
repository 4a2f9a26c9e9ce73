//! Known answers, edges, threads and refusals of the mean squared error.

use super::{ENTRY, mse};
use crate::Context;
use crate::blocks::row::trial;
use proofmark_contract::{Values, Want};
use proofmark_tensor::f16;

#[test]
fn the_oracle_gives_values_computed_by_hand() {
    let of = |text: &str| {
        let inputs = Values { tensors: vec![vec![1.0, 5.0], vec![3.0, 4.0], Vec::new()] };
        ENTRY.op.oracle(&text.parse().unwrap(), &inputs, 0, &Want::all())
    };
    assert_eq!(of("mse:f32[b=1,s=2,d=1]").value, [2.5]);
    let sum = of("mse:f32[b=1,s=1,d=2;reduction=sum]");
    assert_eq!((sum.value, sum.scale), (vec![5.0], vec![5.0 * (4.0 + 2f64.sqrt() / 4.0)]));
}

#[test]
fn threads_do_not_change_a_bit() {
    trial::threads_change_nothing(&ENTRY, "mse:f32[b=3,s=17,d=1021]");
    trial::threads_change_nothing(&ENTRY, "mse:bf16[b=1,s=2,d=70001;reduction=sum]");
}

#[test]
fn the_library_function_takes_nothing_and_refuses_misfits() {
    let (context, two) = (Context::serial(), Context::with_threads(2).unwrap());
    let x = vec![f16::ONE; 100_000];
    assert_eq!(mse(&two, &x, &vec![f16::ZERO; 100_000]).unwrap(), 1.0);
    assert!(mse::<f32>(&context, &[], &[]).unwrap().is_nan());
    assert!(mse(&context, &[1.0f32], &[1.0, 2.0]).is_err());
}
