//! Known answers, threads and refusals of the transpose.

use super::{ENTRY, transpose};
use crate::blocks::row::trial::{self, Setup};
use crate::{Context, Mat, MatMut};
use proofmark_contract::{Values, Want};
use proofmark_simd::available;
use proofmark_tensor::bf16;
use proofmark_terms::{Case, Isa};

#[test]
fn the_oracle_puts_elements_where_they_belong_and_gives_only_the_wanted() {
    let case: Case = "transpose:f32[b=2,m=2,n=3]".parse().unwrap();
    let inputs = Values { tensors: vec![(0..12).map(f64::from).collect(), Vec::new()] };
    let all = ENTRY.op.oracle(&case, &inputs, 0, &Want::all());
    assert_eq!(all.value, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0, 6.0, 9.0, 7.0, 10.0, 8.0, 11.0]);
    let want = Want::some(Some(vec![4]), Some(vec![1]));
    assert_eq!(ENTRY.op.oracle(&case, &inputs, 0, &want).value, [10.0]);
}

#[test]
fn threads_that_meet_within_a_matrix_move_every_element_once() {
    for text in ["transpose:f32[b=3,m=301,n=77]", "transpose:bf16[b=1,m=129,n=517]"] {
        let case: Case = text.parse().unwrap();
        let len = case.axes.iter().map(|(_, size)| size).product::<u64>();
        let x = (0..len).map(|i| (i % 251) as f64).collect();
        let inputs = Values { tensors: vec![x, Vec::new()] };
        let kernel = ENTRY.kernel("parallel").unwrap();
        for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
            for threads in 1..=4 {
                let setup = Setup { isa, threads, padding: 3 };
                let got = trial::call(ENTRY.op, kernel, &case, setup, &inputs);
                let q = trial::greatest_q(ENTRY.op, &case, &inputs, &got[0]);
                assert_eq!(q, 0.0, "{case}, {threads} threads on {isa}");
            }
        }
    }
}

#[test]
fn the_library_function_turns_back_and_refuses_misfits() {
    let context = Context::with_threads(2).unwrap();
    let x: Vec<bf16> = (0..100 * 37).map(bf16::from_bits).collect();
    let (mut y, mut back) = (vec![bf16::ZERO; x.len()], vec![bf16::ZERO; x.len()]);
    let over = |x: &[bf16], y: &mut [bf16], m: usize, n: usize| {
        transpose(&context, Mat::new(x, m, n), MatMut::new(y, n, m))
    };
    over(&x, &mut y, 100, 37).unwrap();
    over(&y, &mut back, 37, 100).unwrap();
    assert_eq!(x, back);
    assert!(over(&x, &mut y, 100, 38).is_err());
}
