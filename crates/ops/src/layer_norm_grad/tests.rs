//! Known answers, agreement with differences, threads and refusals of the gradient.

use super::Gradients;
use super::{ENTRY, with};
use crate::blocks::row::trial::{self, Setup};
use crate::layer_norm::Options;
use crate::{Context, Mat, MatMut};
use proofmark_contract::{Values, Want};
use proofmark_tensor::bf16;
use proofmark_terms::Isa;

#[test]
fn the_oracle_gives_values_computed_by_hand() {
    // Normalised: -1, 1, 1, -1; a = 3, 0, 0, 0: means 3/4 and -3/4.
    let tensors = vec![vec![-2.0, 2.0, 2.0, -2.0], vec![3.0, 1.0, 1.0, 1.0]];
    let dy = [vec![1.0, 0.0, 0.0, 0.0]];
    let empty = vec![Vec::new(); 3];
    let inputs = Values { tensors: [tensors, dy.to_vec(), empty].concat() };
    let case = "layer_norm_grad:f32[b=1,s=1,d=4;eps=0.0]".parse().unwrap();
    let of = |k| ENTRY.op.oracle(&case, &inputs, k, &Want::all()).value;
    assert_eq!(of(0), [0.75, 0.0, 0.0, -0.75]);
    assert_eq!((of(1), of(2)), (vec![-1.0, 0.0, 0.0, 0.0], vec![1.0, 0.0, 0.0, 0.0]));
}

#[test]
fn gradients_are_what_small_changes_do_to_the_loss() {
    let (context, options) = (Context::serial(), Options { eps: 1e-3 });
    let x = [0.3f32, -1.0, 2.0, 0.5, 0.0, 1.0, 1.5, -2.0];
    let (gamma, beta) = ([1.0f32, -2.0, 0.5, 1.5], [0.0f32; 4]);
    let dy = [1.0f32, 2.0, -1.0, 0.5, 3.0, 0.0, -0.5, 1.0];
    let loss = |x: &[f32], gamma: &[f32], beta: &[f32]| -> f64 {
        let mut y = [0.0; 8];
        let (x, to) = (Mat::new(x, 2, 4), MatMut::new(&mut y, 2, 4));
        options.run(&context, x, gamma, beta, to).unwrap();
        y.iter().zip(&dy).map(|(y, dy)| f64::from(y * dy)).sum()
    };
    let (mut dx, mut dgamma, mut dbeta) = ([0.0; 8], [0.0; 4], [0.0; 4]);
    let into = Gradients { x: MatMut::new(&mut dx, 2, 4), gamma: &mut dgamma, beta: &mut dbeta };
    let (rows, by) = (Mat::new(&x, 2, 4), Mat::new(&dy, 2, 4));
    with(&context, &options, rows, &gamma, by, into).unwrap();
    let moved = |values: &[f32], i: usize, step: f32| {
        let mut values = values.to_vec();
        values[i] += step;
        values
    };
    let slope = |of: &dyn Fn(f32) -> f64| (of(1.0 / 128.0) - of(-1.0 / 128.0)) * 64.0;
    let is_near = |slope: f64, got: f32| (slope - f64::from(got)).abs() < 2e-3;
    for i in 0..8 {
        let slope = slope(&|step| loss(&moved(&x, i, step), &gamma, &beta));
        assert!(is_near(slope, dx[i]), "x {i}: {}, not {slope}", dx[i]);
    }
    for i in 0..4 {
        let by_gamma = slope(&|step| loss(&x, &moved(&gamma, i, step), &beta));
        let by_beta = slope(&|step| loss(&x, &gamma, &moved(&beta, i, step)));
        assert!(is_near(by_gamma, dgamma[i]) && is_near(by_beta, dbeta[i]), "weights {i}");
    }
}

#[test]
fn without_rows_the_sums_are_zero() {
    let case = "layer_norm_grad:f32[b=0,s=4,d=3]".parse().unwrap();
    let tensors = vec![Vec::new(), vec![1.0; 3], Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    for kernel in ENTRY.kernels {
        let setup = Setup::plain(Isa::Scalar);
        let inputs = Values { tensors: tensors.clone() };
        let got = trial::call(ENTRY.op, *kernel, &case, setup, &inputs);
        assert_eq!(got[1..], [vec![0.0; 3], vec![0.0; 3]], "{}", kernel.name());
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    trial::threads_change_nothing(&ENTRY, "layer_norm_grad:f32[b=3,s=51,d=1021]");
    trial::threads_change_nothing(&ENTRY, "layer_norm_grad:bf16[b=3,s=50,d=509]");
}

#[test]
fn the_library_function_refuses_misfits() {
    let (context, x) = (Context::serial(), [bf16::ONE; 4]);
    let (mut dx, mut dgamma, mut dbeta) = ([bf16::ZERO; 4], [bf16::ONE; 2], [bf16::ZERO; 2]);
    let mut run = |eps: f64, dy: Mat<'_, bf16>, gamma: &mut [bf16], beta: &mut [bf16]| {
        let into = Gradients { x: MatMut::new(&mut dx, 2, 2), gamma, beta };
        with(&context, &Options { eps }, Mat::new(&x, 2, 2), &x[..2], dy, into)
    };
    run(1e-5, Mat::new(&x, 2, 2), &mut dgamma, &mut dbeta).unwrap();
    assert_eq!((dgamma, dbeta), ([bf16::ZERO; 2], [bf16::from_f32(2.0); 2]));
    let short = run(1e-5, Mat::new(&x, 1, 2), &mut dgamma, &mut dbeta);
    assert!(short.is_err(), "dy");
    let beyond = run(2.0, Mat::new(&x, 2, 2), &mut dgamma, &mut dbeta);
    assert!(beyond.is_err(), "eps");
}
