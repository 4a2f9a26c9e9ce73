//! Known answers, threads and refusals of products with 8-bit weights.

use super::ENTRY;
use super::definition::Problem;
use super::oracle;
use crate::blocks::row::trial::{self, Setup};
use crate::{Context, Mat, MatMut};
use proofmark_contract::{Filling, Values, Want, check_case};
use proofmark_simd::available;
use proofmark_tensor::Fill;
use proofmark_terms::{Case, Isa};

#[test]
fn the_oracle_gives_values_computed_by_hand() {
    let problem = Problem { m: 1, n: 1, k: 33, group: 32 };
    let mut codes = vec![1.0; 33];
    codes[32] = -128.0;
    let inputs = Values { tensors: vec![vec![2.0; 33], codes, vec![0.5, 4.0]] };
    let truth = oracle::truth(&problem, &inputs, &Want::all());
    assert_eq!((truth.value, truth.scale), (vec![32.0 - 1024.0], vec![32.0 + 1024.0]));
}

#[test]
fn threads_do_not_change_a_bit() {
    // Weights decoded as they are loaded, in panels, and in packed panels; and more rows than
    // columns, so that a thread has fewer rows than pay for packing.
    let sizes = ["m=5,n=301,k=333", "m=9,n=301,k=533", "m=40,n=301,k=333", "m=40,n=21,k=533"];
    for sizes in sizes {
        let case: Case = format!("matmul_q8:f32[{sizes}]").parse().unwrap();
        let signature = check_case(ENTRY.op, &case).unwrap();
        let inputs = trial::fill(&signature, &Filling::uniform(&signature, &Fill::Normal), 3);
        for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
            let run = |name: &str, threads| {
                let kernel = ENTRY.kernel(name).unwrap();
                trial::call(ENTRY.op, kernel, &case, Setup { isa, threads, padding: 0 }, &inputs)
            };
            let alone = run("simd", 1);
            for threads in 1..=4 {
                assert_eq!(run("parallel", threads), alone, "{threads} threads on {isa}: {case}");
            }
        }
    }
}

#[test]
fn the_library_function_refuses_misfits() {
    let (context, mut y) = (Context::serial(), [0.0; 2]);
    let codes = Mat::new(&[1, 2, 3, 4], 2, 2);
    let w = super::Weights { codes, scales: &[1.0], group: 32 };
    let few = super::matmul_q8(&context, Mat::from(&[1.0, 2.0]), w, MatMut::from(&mut y));
    assert!(few.is_err(), "a scale is missing");
    let odd: Case = "matmul_q8:f32[m=1,n=1,k=64;group=48]".parse().unwrap();
    assert!(check_case(ENTRY.op, &odd).is_err());
}
