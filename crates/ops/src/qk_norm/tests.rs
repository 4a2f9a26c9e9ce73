//! Known answers, threads and refusals of the normalisation of queries and keys.

use super::ENTRY;
use super::definition::Problem;
use super::oracle;
use crate::blocks::row::trial;
use crate::{Context, Mat, MatMut};
use proofmark_contract::{Want, check_case};
use proofmark_tensor::f16;
use proofmark_terms::Case;

fn case(text: &str) -> Case {
    text.parse().unwrap()
}

#[test]
fn the_oracle_normalises_each_head_with_its_own_weight() {
    let problem = Problem::of(&case("qk_norm:f32[b=1,s=2,h=1,kv=2,d=2;which=k,eps=0.0]"));
    let x = [3.0, -3.0, 0.5, 0.5, -7.0, -7.0, 1.0, -1.0];
    let truth = oracle::truth(&problem, 0, &x, &[1.0, 10.0], &Want::all());
    assert_eq!(truth.value, [1.0, -10.0, 1.0, 10.0, -1.0, -10.0, 1.0, -10.0]);
}

#[test]
fn the_word_which_leaves_operands_out() {
    let names = |text: &str| -> Vec<&str> {
        let signature = check_case(ENTRY.op, &case(text)).unwrap();
        signature.operands().iter().map(|operand| operand.name).collect()
    };
    assert_eq!(names("qk_norm:f32[b=1,s=2,h=4,kv=2,d=8]"), ["q", "k", "wq", "wk", "yq", "yk"]);
    assert_eq!(names("qk_norm:f32[b=1,s=2,h=4,kv=2,d=8;which=q]"), ["q", "wq", "yq"]);
    assert_eq!(names("qk_norm:f32[b=1,s=2,h=4,kv=2,d=8;which=k]"), ["k", "wk", "yk"]);
}

#[test]
fn threads_do_not_change_a_bit() {
    trial::threads_change_nothing(&ENTRY, "qk_norm:f32[b=2,s=9,h=5,kv=3,d=128]");
    trial::threads_change_nothing(&ENTRY, "qk_norm:bf16[b=1,s=64,h=4,kv=1,d=65;which=k]");
}

#[test]
fn the_library_function_takes_16_bit_heads_and_refuses_misfits() {
    let context = Context::serial();
    let of = |values: [f32; 2]| values.map(f16::from_f32);
    let (q, k, w) = (of([4.0, -4.0]), of([0.25, 0.25]), of([0.5, 3.0]));
    let (mut yq, mut yk) = (of([0.0; 2]), of([0.0; 2]));
    let inputs = [Mat::from(&q), Mat::from(&k)];
    let outputs = [MatMut::from(&mut yq), MatMut::from(&mut yk)];
    super::qk_norm(&context, 1, inputs, [&w, &w], 0.0, outputs).unwrap();
    assert_eq!((yq, yk), (of([0.5, -3.0]), of([0.5, 3.0])));
    let outputs = [MatMut::from(&mut yq), MatMut::from(&mut yk[..1])];
    assert!(super::qk_norm(&context, 1, inputs, [&w, &w], 0.0, outputs).is_err());
}
