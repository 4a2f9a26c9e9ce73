//! Known answers, extremes and refusals of products of bytes.

use super::ENTRY;
use super::definition::Problem;
use super::oracle;
use crate::blocks::row::trial::{self, Setup};
use crate::{Context, Mat, MatMut};
use proofmark_contract::{Values, Want, check_case};
use proofmark_simd::available;
use proofmark_terms::{Case, DType, Isa};

fn case(text: &str) -> Case {
    text.parse().unwrap()
}

#[test]
fn the_oracle_gives_values_computed_by_hand() {
    let problem = Problem { m: 1, n: 2, k: 2, is_raw: false };
    let inputs = Values {
        tensors: vec![vec![-128.0, 2.0], vec![-128.0, 1.0, 3.0, 127.0], vec![0.5], vec![2.0, 4.0]],
    };
    let truth = oracle::truth(&problem, &inputs, &Want::all());
    assert_eq!(truth.value, [16386.0, -260.0]);
    let raw = oracle::truth(&Problem { is_raw: true, ..problem }, &inputs, &Want::all());
    assert_eq!((raw.value, raw.scale), (vec![16386.0, -130.0], vec![0.0, 0.0]));
}

#[test]
fn the_longest_sums_of_extremes_are_exact_on_every_path() {
    let case = case("matmul_int8:i8[m=3,n=5,k=131071;out=i32]");
    for (a, b) in [(-128.0, -128.0), (127.0, -128.0), (-128.0, 127.0)] {
        let tensors = vec![vec![a; 3 * 131_071], vec![b; 5 * 131_071], Vec::new()];
        let inputs = Values { tensors };
        for kernel in ENTRY.kernels {
            for &isa in kernel.isas().iter().filter(|&&isa| available(isa)) {
                if kernel.supports(&case, isa).is_err() {
                    continue;
                }
                let setup = Setup { isa, threads: 2, padding: 1 };
                let got = trial::call(ENTRY.op, *kernel, &case, setup, &inputs);
                assert_eq!(got[0], [a * b * 131_071.0; 15], "{} on {isa}", kernel.name());
            }
        }
    }
}

#[test]
fn freivalds_check_finds_one_wrong_sum() {
    let problem = Problem { m: 2, n: 3, k: 2, is_raw: true };
    let inputs = Values { tensors: vec![vec![1.0, 2.0, 3.0, 4.0], vec![1.0; 6]] };
    let mut c = oracle::truth(&problem, &inputs, &Want::all()).value;
    assert_eq!(oracle::freivalds(&problem, &inputs, &c, 3), Some(Ok(())));
    c[4] += 1.0;
    assert!(matches!(oracle::freivalds(&problem, &inputs, &c, 3), Some(Err(_))));
}

#[test]
fn the_library_function_refuses_misfits() {
    let context = Context::serial();
    let mut c = [0; 2];
    let b = Mat::new(&[3, 4, 5, 6], 2, 2);
    super::matmul_int8(&context, Mat::from(&[1, 2]), b, MatMut::from(&mut c)).unwrap();
    assert_eq!(c, [11, 17]);
    let long = super::matmul_int8(&context, Mat::from(&[1, 2, 3]), b, MatMut::from(&mut c));
    assert!(long.is_err());
}

#[test]
fn sums_that_would_overflow_are_refused() {
    let long = Case::new("matmul_int8", DType::I8).axis("m", 1).axis("n", 1);
    assert!(check_case(ENTRY.op, &long.clone().axis("k", 131_071)).is_ok());
    assert!(check_case(ENTRY.op, &long.axis("k", 131_072)).is_err());
    assert!(available(Isa::Scalar));
}
