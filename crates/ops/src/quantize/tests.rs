//! Known answers, laws and refusals of quantisation.

use super::definition::{Format, Plan};
use super::{Codes, CodesMut, Scheme};
use super::{DEQUANTIZE_FP8, DEQUANTIZE_INT8, QUANTIZE_FP8, QUANTIZE_INT8, oracle};
use crate::blocks::row::trial::{self, Setup};
use crate::{Context, Mat, MatMut};
use proofmark_contract::{Entry, Filling, Values, check_case};
use proofmark_simd::available;
use proofmark_tensor::Fill;
use proofmark_terms::{Case, DType, Isa};

const ENTRIES: [&Entry; 4] = [&QUANTIZE_INT8, &DEQUANTIZE_INT8, &QUANTIZE_FP8, &DEQUANTIZE_FP8];

fn case(text: &str) -> Case {
    text.parse().unwrap()
}

fn run(entry: &Entry, case: &Case, isa: Isa, x: &[f64]) -> Vec<Vec<f64>> {
    let signature = check_case(entry.op, case).unwrap();
    let tensors = signature.operands().iter().enumerate();
    let tensors = tensors.map(|(i, _)| if i == 0 { x.to_vec() } else { Vec::new() }).collect();
    let kernel = entry.kernel("simd").unwrap();
    trial::call(entry.op, kernel, case, Setup::plain(isa), &Values { tensors })
}

#[test]
fn codes_and_scales_are_those_computed_by_hand() {
    let plan = Plan::of(&case("quantize_int8:f32[b=1,s=2,d=4]"));
    let x = [254.0, -3.0, 1.0, -5.0, 0.0, 0.0, 0.0, 0.0];
    let truth = oracle::codes(&plan, &x, &[0, 1, 2, 3, 4]);
    // -1.5, 0.5 and -2.5 are ties.
    assert_eq!(truth.value, [127.0, -2.0, 0.0, -2.0, 0.0]);
    let shared = oracle::shared(&plan, &x);
    assert_eq!((shared[0].scale, shared[1].scale), (2.0, 0.0));
    let plan = Plan::of(&case("quantize_int8:f32[b=1,s=1,d=3;symmetric=false]"));
    let shared = oracle::shared(&plan, &[0.0, 255.0, 100.0]);
    assert_eq!((shared[0].scale, shared[0].zero), (1.0, -128.0));
    assert_eq!(
        oracle::codes(&plan, &[0.0, 255.0, 100.0], &[0, 1, 2]).value,
        [-128.0, 127.0, -28.0]
    );
}

#[test]
fn groups_are_where_the_attributes_say() {
    let plan = Plan::of(&case("quantize_fp8:f32[m=130,n=257;block=128x128]"));
    assert_eq!((plan.down, plan.across, plan.groups()), (2, 3, 6));
    assert_eq!((plan.group_of(127, 128), plan.group_of(128, 256)), (1, 5));
    let plan = Plan::of(&case("quantize_int8:bf16[b=2,s=3,d=100;group=64,scheme=group]"));
    assert_eq!((plan.down, plan.across, plan.group_of(4, 99)), (6, 2, 9));
    assert_eq!(plan.format, Format::Int8);
}

#[test]
fn broken_groups_say_so_and_leave_their_neighbours() {
    let mut x = vec![1.0; 96];
    x[40] = f64::NAN;
    x[70] = f64::INFINITY;
    let case = case("quantize_int8:f32[b=1,s=1,d=96;scheme=group]");
    for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
        let got = run(&QUANTIZE_INT8, &case, isa, &x);
        assert_eq!(got[0][..32], [127.0; 32], "{isa}");
        assert_eq!(got[0][32..], [0.0; 64], "{isa}");
        assert!(got[1][0] > 0.0 && got[1][1].is_nan() && got[1][2].is_nan(), "{:?}", got[1]);
    }
}

#[test]
fn overflow_follows_its_policy_at_the_tie() {
    let x = [464.0, 464.1, -1e9, f64::INFINITY];
    for (policy, want) in [("saturate", 448.0), ("nan", f64::NAN)] {
        let text = format!("quantize_fp8:f32[m=1,n=4;block=unit,overflow={policy}]");
        for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
            let got = &run(&QUANTIZE_FP8, &case(&text), isa, &x)[0];
            assert_eq!(got[0], 448.0, "the tie goes to even on {isa}");
            let same = |got: f64| got.abs() == want || got.is_nan() && want.is_nan();
            assert!(got[1..].iter().all(|&got| same(got)), "{policy} on {isa}: {got:?}");
        }
    }
}

#[test]
fn threads_and_paths_do_not_change_a_bit() {
    let case = case("quantize_int8:f32[b=3,s=170,d=129;scheme=tensor,symmetric=false]");
    let signature = check_case(QUANTIZE_INT8.op, &case).unwrap();
    let inputs = trial::fill(&signature, &Filling::uniform(&signature, &Fill::Normal), 3);
    let run = |name: &str, isa, threads| {
        let kernel = QUANTIZE_INT8.kernel(name).unwrap();
        let setup = Setup { isa, threads, padding: 2 };
        trial::call(QUANTIZE_INT8.op, kernel, &case, setup, &inputs)
    };
    let alone = run("scalar", Isa::Scalar, 1);
    for isa in Isa::ALL.into_iter().filter(|&isa| available(isa)) {
        assert_eq!(run("simd", isa, 1), alone, "{isa}");
        for threads in 1..=4 {
            assert_eq!(run("parallel", isa, threads), alone, "{threads} threads on {isa}");
        }
    }
}

#[test]
fn the_library_functions_are_each_others_reverse_within_half_a_step() {
    let x: Vec<f32> = (0..100).map(|i| (i as f32).sin()).collect();
    let (mut codes, mut scales, mut y) = (vec![0; 100], vec![0.0; 4], vec![0.0; 100]);
    let (context, scheme) = (Context::serial(), Scheme::Group(32));
    let x2 = Mat::new(&x, 2, 50);
    let forward = |scales: &mut [f32], codes: &mut [i8]| {
        let into = CodesMut { codes: MatMut::new(codes, 2, 50), scales, zeros: None };
        super::quantize_int8(&context, scheme, x2, into)
    };
    forward(&mut scales, &mut codes).unwrap();
    let coded = Codes { codes: Mat::new(&codes, 2, 50), scales: &scales, zeros: None };
    super::dequantize_int8(&context, scheme, coded, MatMut::new(&mut y, 2, 50)).unwrap();
    assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() <= 0.5001 / 127.0));
    assert!(forward(&mut scales[..3], &mut codes).is_err(), "a scale is missing");
}

#[test]
fn proof_cases_fit_their_ops_and_stay_small() {
    for entry in ENTRIES {
        for &dtype in entry.op.dtypes() {
            for case in entry.op.proof_cases(dtype) {
                let signature = check_case(entry.op, &case).unwrap();
                assert!(signature.operands()[0].len() <= 1 << 16, "{case}");
            }
        }
        assert!(check_case(entry.op, &Case::new(entry.op.name(), DType::I8)).is_err());
    }
    let odd = case("quantize_int8:f32[b=1,s=1,d=64;group=33,scheme=group]");
    assert!(check_case(QUANTIZE_INT8.op, &odd).is_err());
}
