//! Known answers, agreement with differences, threads and refusals of softmax's gradient.

use super::{ENTRY, softmax_grad};
use crate::blocks::row::trial;
use crate::softmax::softmax;
use crate::{Context, Mat, MatMut};
use proofmark_contract::{Values, Want};
use proofmark_tensor::bf16;

#[test]
fn the_oracle_gives_values_computed_by_hand() {
    let inputs = Values { tensors: vec![vec![0.5, 0.25], vec![2.0, -4.0], Vec::new()] };
    let case = "softmax_grad:f32[b=1,s=1,d=2]".parse().unwrap();
    let truth = ENTRY.op.oracle(&case, &inputs, 0, &Want::all());
    assert_eq!(truth.value, [1.0, -1.0]);
    assert_eq!(truth.scale, [4.0, 3.0]);
}

#[test]
fn the_gradient_is_what_a_small_change_of_x_does_to_the_loss() {
    let context = Context::serial();
    let x = [0.3f32, -1.0, 2.0, 0.5, 0.0];
    let dy = [1.0f32, 2.0, -1.0, 0.5, 3.0];
    let loss = |x: &[f32]| -> f64 {
        let mut y = [0.0; 5];
        softmax(&context, x, &mut y).unwrap();
        y.iter().zip(&dy).map(|(y, dy)| f64::from(y * dy)).sum()
    };
    let (mut y, mut dx) = ([0.0; 5], [0.0; 5]);
    softmax(&context, &x, &mut y).unwrap();
    softmax_grad(&context, &y, &dy, &mut dx).unwrap();
    for (i, dx) in dx.into_iter().enumerate() {
        let moved = |step: f32| {
            let mut x = x;
            x[i] += step;
            loss(&x)
        };
        let slope = (moved(1.0 / 64.0) - moved(-1.0 / 64.0)) * 32.0;
        assert!((slope - f64::from(dx)).abs() < 1e-4, "{i}: {dx}, not {slope}");
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    trial::threads_change_nothing(&ENTRY, "softmax_grad:f32[b=3,s=17,d=1021]");
    trial::threads_change_nothing(&ENTRY, "softmax_grad:bf16[b=3,s=17,d=509]");
}

#[test]
fn the_library_function_refuses_misfits() {
    let (context, y, mut dx) = (Context::serial(), [bf16::ONE; 4], [bf16::ZERO; 4]);
    let ones = Mat::new(&y, 4, 1);
    softmax_grad(&context, ones, ones, MatMut::new(&mut dx, 4, 1)).unwrap();
    assert_eq!(dx, [bf16::ZERO; 4], "of one element the sum is itself");
    assert!(softmax_grad(&context, &y, &y[..3], &mut dx).is_err(), "dy is shorter than y");
    assert!(softmax_grad(&context, &y, &y, &mut dx[..3]).is_err(), "dx is shorter than y");
}
