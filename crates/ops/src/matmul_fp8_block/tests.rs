//! Known answers, threads and refusals of block-scaled fp8 products.

use super::ENTRY;
use super::definition::Problem;
use super::oracle;
use crate::blocks::row::trial::{self, Setup};
use crate::{Context, Mat, MatMut};
use proofmark_contract::{Filling, Values, Want, check_case};
use proofmark_simd::available;
use proofmark_tensor::{F8E4m3, Fill, bf16};
use proofmark_terms::{Case, Isa};

fn case(text: &str) -> Case {
    text.parse().unwrap()
}

#[test]
fn the_oracle_gives_values_computed_by_hand() {
    let problem = Problem { m: 1, n: 1, k: 129, block: 128, is_quantised: false };
    let inputs =
        Values { tensors: vec![vec![2.0; 129], vec![0.5, 4.0], vec![1.5; 129], vec![1.0, 0.25]] };
    let truth = oracle::truth(&problem, &inputs, &Want::all());
    assert_eq!(truth.value, [128.0 * 1.5 + 3.0]);
    let problem = Problem { k: 3, is_quantised: true, ..problem };
    let inputs = Values { tensors: vec![vec![448.0, 17.0, 0.0], vec![1.0; 3], vec![1.0]] };
    // 17 is a tie between 16 and 18, whose code is odd.
    assert_eq!(oracle::left(&problem, &inputs), [448.0, 16.0, 0.0]);
}

#[test]
fn threads_do_not_change_a_bit() {
    for text in [
        "matmul_fp8_block:f32[m=5,n=301,k=333]",
        "matmul_fp8_block:bf16[m=41,n=99,k=256;activations=quantised]",
    ] {
        let case = case(text);
        let signature = check_case(ENTRY.op, &case).unwrap();
        let inputs = trial::fill(&signature, &Filling::uniform(&signature, &Fill::Normal), 3);
        for kernel in ENTRY.kernels.iter().filter(|kernel| kernel.is_parallel()) {
            for &isa in kernel.isas().iter().filter(|&&isa| available(isa)) {
                if kernel.supports(&case, isa).is_err() {
                    continue;
                }
                let run = |threads| {
                    let setup = Setup { isa, threads, padding: 0 };
                    trial::call(ENTRY.op, *kernel, &case, setup, &inputs)
                };
                let alone = run(1);
                for threads in 2..=4 {
                    assert_eq!(run(threads), alone, "{} on {isa}", kernel.name());
                }
            }
        }
    }
}

#[test]
fn a_block_that_is_not_finite_makes_its_row_nan_and_no_other() {
    let case = case("matmul_fp8_block:f32[m=3,n=2,k=130;activations=quantised]");
    let mut a = vec![1.0; 390];
    a[130 + 7] = f64::INFINITY;
    let inputs = Values { tensors: vec![a, vec![1.0; 260], vec![1.0; 2], Vec::new()] };
    for kernel in ENTRY.kernels {
        for &isa in kernel.isas().iter().filter(|&&isa| available(isa)) {
            if kernel.supports(&case, isa).is_ok() {
                let got = trial::call(ENTRY.op, *kernel, &case, Setup::plain(isa), &inputs);
                let nan: Vec<bool> = got[0].iter().map(|c| c.is_nan()).collect();
                assert_eq!(nan, [false, false, true, true, false, false], "{}", kernel.name());
            }
        }
    }
}

#[test]
fn the_library_function_refuses_misfits() {
    let (context, mut c) = (Context::serial(), [0.0f32]);
    let (a, b) = ([bf16::ONE; 2], [F8E4m3(0x38); 2]);
    let run = |scales: &[f32], c: &mut [f32]| {
        let w = super::Weights { codes: Mat::from(&b), scales, block: 128 };
        super::matmul_fp8_block(&context, Mat::from(&a), w, MatMut::from(c))
    };
    run(&[1.0], &mut c).unwrap();
    assert_eq!(c, [2.0]);
    assert!(run(&[], &mut c).is_err());
    let odd = case("matmul_fp8_block:f32[m=1,n=1,k=64;block=200]");
    assert!(check_case(ENTRY.op, &odd).is_err());
    assert!(available(Isa::Scalar));
}
