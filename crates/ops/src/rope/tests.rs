//! Known answers, positions, threads and refusals of rotary embedding.

use super::ENTRY;
use super::definition::{Problem, Rope};
use super::oracle::{self, Angles};
use crate::blocks::row::trial::{self, Setup};
use crate::{Context, Mat, MatMut};
use proofmark_contract::{Op, Values, Want, check_case};
use proofmark_simd::available;
use proofmark_tensor::bf16;
use proofmark_terms::Case;

fn case(text: &str) -> Case {
    text.parse().unwrap()
}

#[test]
fn the_oracle_turns_pairs_of_both_kinds_and_copies_the_rest() {
    // A quarter of a turn: (a, b) becomes (−b, a).
    let quarter = Angles::Table([&[0.0, 0.0], &[1.0, 1.0]]);
    let x = [1.0, 2.0, 3.0, 4.0, 5.0];
    let neox = Problem::of(&case("rope:f32[b=1,s=1,h=1,d=5;part=4]"));
    let truth = oracle::truth(&neox, &x, &quarter, &Want::all());
    assert_eq!(truth.value, [-3.0, -4.0, 1.0, 2.0, 5.0]);
    assert_eq!(truth.scale, [3.0, 4.0, 1.0, 2.0, 0.0]);
    let gptj = Problem::of(&case("rope:f32[b=1,s=1,h=1,d=5;part=4,pairing=gptj]"));
    let truth = oracle::truth(&gptj, &x, &quarter, &Want::all());
    assert_eq!(truth.value, [-2.0, 1.0, -4.0, 3.0, 5.0]);
}

#[test]
fn frequencies_are_those_of_the_models() {
    let of = |text: &str, pair| oracle::frequency(&Problem::of(&case(text)), pair);
    let plain = "rope:f32[b=1,s=1,h=1,d=128;angles=exact,theta=500000.0]";
    assert_eq!(of(plain, 0), 1.0);
    assert!((of(plain, 32) - 500000f64.powf(-0.5)).abs() < 1e-18);
    let llama = "rope:f32[b=1,s=1,h=1,d=128;angles=exact,theta=500000.0,scaling=llama3]";
    assert_eq!(of(llama, 0), 1.0, "fast pairs are kept");
    assert_eq!(of(llama, 63), of(plain, 63) / 8.0, "slow ones stretched");
    // Pair 31 has a wavelength of 3620: 8192/3620 = 2.263, so 0.421 of it is kept.
    let between = of(llama, 31) / of(plain, 31);
    assert!((between - (0.421 + 0.579 / 8.0)).abs() < 1e-3, "{between}");
    let linear = "rope:f32[b=1,s=1,h=1,d=128;angles=exact,scaling=linear,factor=4.0]";
    assert_eq!(of(linear, 0), 0.25);
}

#[test]
fn every_position_up_to_the_last_is_right() {
    let case = case("rope:f32[b=1,s=9,h=2,d=64;angles=exact,theta=500000.0]");
    let positions = [0.0, 1.0, 2.0, 127.0, 4095.0, 8191.0, 131071.0, 131070.0, 3.0];
    let x = (0..9 * 2 * 64).map(|i| f64::from(i % 7) - 3.0).collect();
    let inputs = Values { tensors: vec![x, positions.to_vec(), Vec::new()] };
    for kernel in ENTRY.kernels {
        for &isa in kernel.isas().iter().filter(|&&isa| available(isa)) {
            let setup = Setup { isa, threads: 2, padding: 3 };
            let got = trial::call(ENTRY.op, *kernel, &case, setup, &inputs);
            let q = trial::greatest_q(ENTRY.op, &case, &inputs, &got[0]);
            assert!(q <= Rope.limits(&case).q_max, "{} on {isa}: {q}", kernel.name());
            assert_eq!(got[0][..64], inputs.of(0)[..64], "position 0 turns nothing");
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    trial::threads_change_nothing(&ENTRY, "rope:f32[b=2,s=37,h=3,d=128]");
    trial::threads_change_nothing(&ENTRY, "rope:bf16[b=2,s=37,h=3,d=64;angles=exact,pairing=gptj]");
}

#[test]
fn parts_that_are_odd_or_too_large_are_refused() {
    for text in ["rope:f32[b=1,s=1,h=1,d=7]", "rope:f32[b=1,s=1,h=1,d=8;part=10]"] {
        assert!(check_case(ENTRY.op, &case(text)).is_err(), "{text}");
    }
}

#[test]
fn the_library_function_turns_in_place_and_refuses_misfits() {
    let context = Context::serial();
    let mut x = [1.0, 2.0, 3.0, 4.0].map(bf16::from_f32);
    let before = x;
    super::in_place(&context, &[0], MatMut::from(&mut x)).unwrap();
    assert_eq!(x, before, "position 0 turns nothing");
    assert!(super::in_place(&context, &[0], MatMut::new(&mut x, 1, 3)).is_err());
    let quarter = [Mat::from(&[0.0f32, 0.0]), Mat::from(&[1.0f32, 1.0])];
    let mut y = [bf16::ZERO; 4];
    let (from, to) = (Mat::from(&before), MatMut::from(&mut y));
    super::Options::default().run_with_table(&context, quarter, from, to).unwrap();
    assert_eq!(y, [-3.0, -4.0, 1.0, 2.0].map(bf16::from_f32), "a quarter of a turn");
}
