//! Known answers, views, threads and refusals of RMS normalisation.

use super::ENTRY;
use super::definition::Problem;
use super::oracle;
use crate::Context;
use crate::blocks::row::trial::{self, Setup};
use proofmark_contract::{Values, Want, check_case};
use proofmark_simd::available;
use proofmark_tensor::bf16;
use proofmark_terms::{Case, DType};

fn case(text: &str) -> Case {
    text.parse().unwrap()
}

#[test]
fn the_oracle_gives_values_computed_by_hand() {
    let mut problem = Problem { rows: 2, length: 2, eps: 0.0, is_gemma: false };
    let x = [3.0, 4.0, -2.0, 2.0];
    let truth = oracle::truth(&problem, &x, &[1.0, 10.0], &Want::all());
    let root = 12.5f64.sqrt();
    assert_eq!(truth.value, [3.0 / root, 4.0 / root * 10.0, -1.0, 10.0]);
    // g(2) = 1 + √2/4; the second row's first element is 1 in magnitude.
    let roundings = 3.0 + (1.0 + 2f64.sqrt() / 4.0) / 2.0;
    assert!((truth.scale[2] - roundings).abs() < 1e-12);
    problem.is_gemma = true;
    let truth = oracle::truth(&problem, &x, &[-1.0, 0.5], &Want::all());
    assert_eq!(truth.value[2..], [0.0, 1.5]);
    assert!(truth.scale[2] > 2.0 * roundings - 1e-9, "1 + w cancels, its error does not");
    problem.eps = 0.5;
    problem.is_gemma = false;
    let truth = oracle::truth(&problem, &[0.5, 0.5, 0.0, 0.0], &[4.0, 0.0], &Want::all());
    assert_eq!(truth.value, [2.0 / 0.75f64.sqrt(), 0.0, 0.0, 0.0]);
}

#[test]
fn the_oracle_gives_only_the_wanted_elements() {
    let problem = Problem { rows: 3, length: 4, eps: 0.1, is_gemma: false };
    let x: Vec<f64> = (0..12).map(|i| f64::from(i) - 5.0).collect();
    let w = [1.0, 2.0, 3.0, 4.0];
    let all = oracle::truth(&problem, &x, &w, &Want::all());
    let want = Want::some(Some(vec![0, 2]), Some(vec![1, 3]));
    let some = oracle::truth(&problem, &x, &w, &want);
    let picked: Vec<f64> = want.indices(3, 4).into_iter().map(|i| all.value[i]).collect();
    assert_eq!(some.value, picked);
}

#[test]
fn kernels_give_exact_answers_on_rows_of_equal_magnitude() {
    // The root mean square of ±4 is 4, so y is ±w in any order of summation.
    let case = case("rms_norm:bf16[b=1,s=3,d=37;eps=0.0]");
    let sign = |i: usize| if i.is_multiple_of(3) { -1.0 } else { 1.0 };
    let x: Vec<f64> = (0..111).map(|i| 4.0 * sign(i)).collect();
    let w: Vec<f64> = (0..37).map(f64::from).collect();
    let want: Vec<f64> = (0..111).map(|i| sign(i) * w[i % 37]).collect();
    let inputs = Values { tensors: vec![x, w, Vec::new()] };
    for kernel in ENTRY.kernels {
        for &isa in kernel.isas().iter().filter(|&&isa| available(isa)) {
            for padding in [0, 5] {
                let setup = Setup { isa, threads: 2, padding };
                let got = trial::call(ENTRY.op, *kernel, &case, setup, &inputs);
                assert_eq!(got[0], want, "{} on {isa}", kernel.name());
            }
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    trial::threads_change_nothing(&ENTRY, "rms_norm:f32[b=3,s=17,d=1021]");
}

#[test]
fn long_rows_stay_within_the_limits() {
    let case = case("rms_norm:f32[b=1,s=2,d=65537]");
    for kernel in ENTRY.kernels {
        let isa = kernel.isas().iter().rev().copied().find(|&isa| available(isa)).unwrap();
        trial::is_within_limits(&ENTRY, *kernel, &case, Setup::plain(isa));
    }
}

#[test]
fn the_library_function_takes_16_bit_rows_and_refuses_misfits() {
    let context = Context::serial();
    let with = |eps: f64| super::Options { eps, ..super::Options::default() };
    let x: Vec<bf16> = [1.0, -1.0, 1.0].map(bf16::from_f32).to_vec();
    let w: Vec<bf16> = [0.5, 2.0, 3.0].map(bf16::from_f32).to_vec();
    let mut y = vec![bf16::ZERO; 3];
    with(0.0).run(&context, &x, &w, &mut y).unwrap();
    assert_eq!(y.iter().map(|y| y.to_f32()).collect::<Vec<_>>(), [0.5, -2.0, 3.0]);
    assert!(with(0.0).run(&context, &x, &w[..2], &mut y).is_err(), "half a row");
    assert!(with(2.0).run(&context, &x, &w, &mut y).is_err(), "eps out of range");
    let mut nothing = [0.0f32; 0];
    super::rms_norm(&context, &[], &[], &mut nothing).unwrap();
}

#[test]
fn proof_cases_fit_the_op_and_stay_small() {
    for &dtype in ENTRY.op.dtypes() {
        for case in ENTRY.op.proof_cases(dtype) {
            let signature = check_case(ENTRY.op, &case).unwrap();
            assert!(signature.operands()[0].len() <= 1 << 16, "{case}");
        }
    }
    assert!(check_case(ENTRY.op, &Case::new("rms_norm", DType::I8)).is_err());
}
