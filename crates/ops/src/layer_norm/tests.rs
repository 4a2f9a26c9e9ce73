//! Known answers, far rows, threads and refusals of layer normalisation.

use super::ENTRY;
use super::definition::Problem;
use super::oracle;
use crate::Context;
use crate::blocks::row::trial::{self, Setup};
use proofmark_contract::{Values, Want};
use proofmark_simd::available;
use proofmark_tensor::bf16;

#[test]
fn the_oracle_gives_values_computed_by_hand() {
    let problem = Problem { rows: 2, length: 2, eps: 0.0 };
    let x = [1001.0, 1003.0, 2.0, 2.0];
    let truth = oracle::truth(&problem, [&x, &[2.0, 3.0], &[0.5, -1.0]], &Want::all());
    assert_eq!(truth.value[..2], [-1.5, 2.0]);
    assert!(truth.value[2..].iter().all(|y| y.is_nan()), "a row of equals has no deviation");
    // |γ|·r·(|x−μ|·(4 + g/2) + mean|x|·g) + |β| with r = |x−μ| = 1 and mean|x| = 1002.
    let growth = 1.0 + 2f64.sqrt() / 4.0;
    let scale = 2.0 * (4.0 + growth / 2.0 + 1002.0 * growth) + 0.5;
    assert!((truth.scale[0] - scale).abs() < 1e-9);
    let problem = Problem { eps: 3.0, ..problem };
    let truth = oracle::truth(&problem, [&x, &[2.0, 3.0], &[0.5, -1.0]], &Want::all());
    assert_eq!(truth.value, [-0.5, 0.5, 0.5, -1.0]);
    let want = Want::some(Some(vec![1]), Some(vec![0]));
    let some = oracle::truth(&problem, [&x, &[2.0, 3.0], &[0.5, -1.0]], &want);
    assert_eq!(some.value, [0.5], "only the wanted elements");
}

#[test]
fn kernels_give_exact_answers_far_from_zero() {
    // ±4 around 2^20 is exact in f32, and so are mean, variance and result.
    let case = "layer_norm:f32[b=1,s=2,d=32;eps=0.0]".parse().unwrap();
    let sign = |i: usize| if i.is_multiple_of(2) { -1.0 } else { 1.0 };
    let x: Vec<f64> = (0..64).map(|i| 1048576.0 + 4.0 * sign(i)).collect();
    let gamma: Vec<f64> = (0..32).map(f64::from).collect();
    let want: Vec<f64> = (0..64).map(|i| sign(i) * gamma[i % 32] + 0.5).collect();
    let inputs = Values { tensors: vec![x, gamma, vec![0.5; 32], Vec::new()] };
    for kernel in ENTRY.kernels {
        for &isa in kernel.isas().iter().filter(|&&isa| available(isa)) {
            let setup = Setup { isa, threads: 2, padding: 5 };
            let got = trial::call(ENTRY.op, *kernel, &case, setup, &inputs);
            assert_eq!(got[0], want, "{} on {isa}", kernel.name());
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    trial::threads_change_nothing(&ENTRY, "layer_norm:f32[b=3,s=17,d=1021]");
    trial::threads_change_nothing(&ENTRY, "layer_norm:bf16[b=3,s=17,d=509]");
}

#[test]
fn the_library_function_takes_16_bit_rows_and_refuses_misfits() {
    let context = Context::serial();
    let exact = super::Options { eps: 0.0 };
    let of = |values: [f32; 2]| values.map(bf16::from_f32);
    let (x, gamma, beta) = (of([9.0, 7.0]), of([2.0, 4.0]), of([0.0, 1.0]));
    let mut y = of([0.0, 0.0]);
    exact.run(&context, &x, &gamma, &beta, &mut y).unwrap();
    assert_eq!(y, of([2.0, -3.0]));
    let misfit = exact.run(&context, &x, &gamma, &beta[..1], &mut y);
    assert!(misfit.is_err(), "beta is shorter than gamma");
    let beyond = super::Options { eps: 2.0 }.run(&context, &x, &gamma, &beta, &mut y);
    assert!(beyond.is_err(), "eps");
    let mut nothing = [0.0f32; 0];
    super::layer_norm(&context, &[], &[], &[], &mut nothing).unwrap();
}
