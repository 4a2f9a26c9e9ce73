//! Known answers, edges, threads and refusals of the product of two vectors.

use super::{ENTRY, dot};
use crate::Context;
use crate::blocks::row::trial::{self, Setup};
use proofmark_contract::{Filling, Values, Want, check_case};
use proofmark_simd::available;
use proofmark_tensor::{Fill, bf16};
use proofmark_terms::{Case, Isa};

fn case(text: &str) -> Case {
    text.parse().unwrap()
}

#[test]
fn the_oracle_gives_sums_by_hand_for_the_wanted_rows_only() {
    let case = case("dot:f32[b=2,s=2,d=2]");
    let x = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    let y = vec![1.0, -1.0, 1.0, 1.0, 0.0, 0.0, 2.0, -0.5];
    let inputs = Values { tensors: vec![x, y, Vec::new()] };
    let all = ENTRY.op.oracle(&case, &inputs, 0, &Want::all());
    assert_eq!(all.value, [-1.0, 7.0, 0.0, 10.0]);
    assert_eq!(all.scale, [3.0, 7.0, 0.0, 18.0]);
    let some = ENTRY.op.oracle(&case, &inputs, 0, &Want::some(Some(vec![1]), Some(vec![1])));
    assert_eq!(some.value, [10.0]);
}

#[test]
fn threads_do_not_change_a_bit() {
    for text in ["dot:f32[b=3,s=17,d=1021]", "dot:bf16[b=1,s=2,d=70001]"] {
        let case = case(text);
        let signature = check_case(ENTRY.op, &case).unwrap();
        let inputs = trial::fill(&signature, &Filling::uniform(&signature, &Fill::Normal), 3);
        for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
            let kernel = ENTRY.kernel("parallel").unwrap();
            let run = |threads| {
                trial::call(ENTRY.op, kernel, &case, Setup { isa, threads, padding: 3 }, &inputs)
            };
            let alone = run(1);
            assert!((2..=4).all(|threads| run(threads) == alone), "{case} on {isa}");
        }
    }
}

#[test]
fn the_library_function_refuses_misfits_and_takes_nothing() {
    let (context, two) = (Context::serial(), Context::with_threads(2).unwrap());
    let ones = vec![bf16::ONE; 100_000];
    assert_eq!(dot(&two, &ones, &ones).unwrap(), 100_000.0);
    assert_eq!(dot::<f32>(&context, &[], &[]).unwrap(), 0.0);
    assert!(dot(&context, &[1.0f32], &[1.0, 2.0]).is_err());
}
