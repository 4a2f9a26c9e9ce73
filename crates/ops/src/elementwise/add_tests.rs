//! Sums: known answers, to the bit against the oracle, stochastic rounding, operands of variants.

use crate::blocks::row::trial::{self, Setup};
use crate::elementwise::{ADD, add};
use crate::library::{Context, Error};
use proofmark_contract::{Kernel, Observed, Signature, Values, Want, check_case};
use proofmark_tensor::{mix, round_to};
use proofmark_terms::{AttrValue, Case, DType, Isa, Reproducibility};

const DTYPES: [DType; 3] = [DType::F32, DType::Bf16, DType::F16];

fn case(dtype: DType, b: u64, s: u64, d: u64) -> Case {
    Case::new("add", dtype).axis("b", b).axis("s", s).axis("d", d)
}

fn stochastic(case: Case) -> Case {
    case.attr("rounding", AttrValue::Word("stochastic".to_owned()))
}

fn in_place(case: Case) -> Case {
    case.attr("inplace", AttrValue::Flag(true))
}

fn signature(case: &Case) -> Signature {
    check_case(ADD.op, case).unwrap()
}

fn oracle(case: &Case, inputs: &Values) -> Vec<f64> {
    ADD.op.oracle(case, inputs, 0, &Want::all()).value
}

const PLAIN: Setup = Setup { isa: Isa::Scalar, threads: 1, padding: 0 };

/// Runs a kernel on operands surrounded by rubbish; checks that the rubbish stays.
fn run(kernel: &dyn Kernel, case: &Case, inputs: &Values, setup: Setup) -> Vec<f64> {
    kernel.supports(case, setup.isa).unwrap();
    trial::call(ADD.op, kernel, case, setup, inputs).remove(0)
}

/// Every kernel on every path of this machine that does the case.
fn setups(case: &Case) -> Vec<(&'static dyn Kernel, Setup)> {
    let mut setups = Vec::new();
    for &kernel in ADD.kernels {
        for &isa in kernel.isas() {
            if proofmark_simd::available(isa) && kernel.supports(case, isa).is_ok() {
                let threads = if kernel.is_parallel() { 3 } else { 1 };
                setups.extend([0, 5].map(|padding| (kernel, Setup { isa, threads, padding })));
            }
        }
    }
    setups
}

/// The first element that is not the right one of its type: the exact sum rounded to f32, then to
/// the type, zeros with their sign; NaN for NaN.
fn first_wrong(dtype: DType, want: &[f64], got: &[f64]) -> Option<usize> {
    let right = |want: f64| round_to(dtype, f64::from(want as f32));
    assert_eq!(want.len(), got.len());
    let is_same =
        |want: f64, got: f64| want.to_bits() == got.to_bits() || (want.is_nan() && got.is_nan());
    (0..got.len()).find(|&i| !is_same(right(want[i]), got[i]))
}

/// Everything the gate fills operands with, and special values paired with each other.
fn portfolio(case: &Case) -> Vec<Values> {
    let signature = signature(case);
    let portfolio = ADD.op.portfolio(case, &signature);
    let fillings = [portfolio.exact, portfolio.zero_mean, portfolio.structured].concat();
    let mut all: Vec<Values> =
        fillings.iter().enumerate().map(|(n, f)| trial::fill(&signature, f, n as u64)).collect();
    let specials = ADD.op.specials(case, &signature);
    let mut paired = all[0].clone();
    for (k, &operand) in specials.operands.iter().enumerate() {
        for (i, value) in paired.tensors[operand].iter_mut().enumerate() {
            let step = if k == 0 { i } else { i / specials.values.len() };
            *value = specials.values[step % specials.values.len()];
        }
    }
    all.push(paired);
    all
}

#[test]
fn sums_by_hand_come_out_of_every_kernel_and_the_oracle() {
    for dtype in DTYPES {
        let (largest, least) = (dtype.largest(), dtype.smallest());
        let border = 2f64.powi(dtype.min_exponent());
        let a = [1.0, 0.5, -0.0, 0.0, 3.0, largest, -largest, least, border, f64::INFINITY];
        let b = [2.0, -0.25, -0.0, -0.0, -3.0, largest, -largest, least, -least, 1.0];
        let c = [
            3.0,
            0.25,
            -0.0,
            0.0,
            0.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            2.0 * least,
            border - least,
            f64::INFINITY,
        ];
        let case = case(dtype, 1, 1, 10);
        let inputs = Values { tensors: vec![a.to_vec(), b.to_vec(), vec![]] };
        assert_eq!(first_wrong(dtype, &oracle(&case, &inputs), &c), None, "{dtype} oracle");
        for (kernel, setup) in setups(&case) {
            let got = run(kernel, &case, &inputs, setup);
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&got), bits(&c), "{} {setup:?} {dtype}", kernel.name());
        }
    }
}

#[test]
fn nan_and_opposite_infinities_make_nan_at_their_element_only() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    for dtype in DTYPES {
        let case = case(dtype, 1, 1, 4);
        let inputs =
            Values { tensors: vec![vec![nan, 1.0, inf, 1.0], vec![1.0, nan, -inf, 1.0], vec![]] };
        for (kernel, setup) in setups(&case) {
            let got = run(kernel, &case, &inputs, setup);
            assert!(got[..3].iter().all(|c| c.is_nan()), "{} {setup:?} {got:?}", kernel.name());
            assert_eq!(got[3], 2.0);
        }
    }
}

#[test]
fn every_kernel_is_right_to_the_bit_on_every_proof_case() {
    for dtype in DTYPES {
        for case in ADD.op.proof_cases(dtype) {
            let setups = setups(&case);
            assert!(setups.iter().any(|(kernel, _)| kernel.name() == "scalar"));
            for inputs in portfolio(&case) {
                let want = oracle(&case, &inputs);
                for (kernel, setup) in &setups {
                    let got = run(*kernel, &case, &inputs, *setup);
                    let wrong = first_wrong(dtype, &want, &got);
                    assert_eq!(wrong, None, "{} {setup:?} {case}", kernel.name());
                }
            }
        }
    }
}

#[test]
fn laws_hold_for_every_kernel_and_are_broken_by_a_lost_sign() {
    let lost = ADD.mutant("negative_zero_lost").unwrap().kernel;
    for dtype in DTYPES {
        let plain = case(dtype, 2, 3, 17);
        let mut cases = vec![plain.clone(), in_place(plain.clone())];
        if dtype == DType::Bf16 {
            cases.extend([stochastic(plain.clone()), in_place(stochastic(plain))]);
        }
        for case in cases {
            let mut kernels = setups(&case);
            kernels.push((lost, PLAIN));
            for (kernel, setup) in kernels {
                let verdicts = verdicts(kernel, &case, setup);
                let is_lost = kernel.name() == lost.name();
                assert_eq!(verdicts.len(), 3, "{case}");
                for (law, verdict) in verdicts {
                    let expected = !(is_lost && law == "minus_zero_is_neutral");
                    assert_eq!(verdict.is_ok(), expected, "{law} {case} {verdict:?}");
                }
            }
        }
    }
}

fn verdicts(
    kernel: &dyn Kernel,
    case: &Case,
    setup: Setup,
) -> Vec<(&'static str, Result<(), String>)> {
    let signature = signature(case);
    let inputs = trial::fill(&signature, &ADD.op.portfolio(case, &signature).exact[0], 1);
    let before = [run(kernel, case, &inputs, setup)];
    let mut verdicts = Vec::new();
    for law in ADD.op.laws() {
        let mut changed = inputs.clone();
        assert!((law.change)(case, &mut changed, 4), "{}", law.name);
        let after = [run(kernel, case, &changed, setup)];
        let before = Observed { inputs: &inputs, outputs: &before };
        let after = Observed { inputs: &changed, outputs: &after };
        verdicts.push((law.name, (law.holds)(case, before, after)));
    }
    verdicts
}

#[test]
fn stochastic_rounding_carries_as_the_random_bits_say() {
    // Word 0 of Philox4x32-10 for counter 0 and key 0 is 0x6627e8d5: 0xe8d5 is added below the
    // bits that bf16 keeps.
    let one = |b: f64| Values { tensors: vec![vec![1.0], vec![b], vec![0.0; 4], vec![]] };
    let case = stochastic(case(DType::Bf16, 1, 1, 1));
    let up = 1.0 + 2f64.powi(-7);
    let threshold = f64::from(0x10000 - 0xe8d5) * 2f64.powi(-23);
    assert!(threshold > 2f64.powi(-11) && threshold < 2f64.powi(-9));
    for (b, want) in [(2f64.powi(-9), up), (2f64.powi(-11), 1.0), (-0.0, 1.0)] {
        assert_eq!(oracle(&case, &one(b)), [want], "oracle of 1 + {b}");
        assert_eq!(run(ADD.kernels[2], &case, &one(b), PLAIN), [want], "1 + {b}");
    }
    let largest = DType::Bf16.largest();
    let mut edge = one(2f64.powi(118));
    edge.tensors[0][0] = largest;
    assert_eq!(oracle(&case, &edge), [f64::INFINITY], "a carry may overflow");
    edge.tensors[1][0] = 2f64.powi(110);
    assert_eq!(oracle(&case, &edge), [largest], "a small addend does not");
}

#[test]
fn stochastic_rounding_goes_up_as_often_as_the_fraction_says() {
    let case = stochastic(case(DType::Bf16, 1, 1, 4096));
    let quarter = vec![2f64.powi(-9); 4096];
    let state = vec![1.0, 2.0, 3.0, 4.0];
    let inputs = Values { tensors: vec![vec![1.0; 4096], quarter, state, vec![]] };
    let up = oracle(&case, &inputs).iter().filter(|&&value| value > 1.0).count();
    assert!((900..1150).contains(&up), "{up} of 4096, about 1024 expected");
}

#[test]
fn a_sum_in_f64_rounds_to_the_same_f32_as_the_exact_sum() {
    for i in 0..200_000 {
        let word = |k| f32::from_bits(mix(7, k, i) as u32 & 0xffff_0000);
        let (a, b) = (word(0), word(1));
        // The processor's f32 sum is the exact one, rounded once.
        let (once, twice) = (a + b, (f64::from(a) + f64::from(b)) as f32);
        assert!(once.to_bits() == twice.to_bits() || once.is_nan(), "{a:e} + {b:e}");
    }
}

#[test]
fn the_oracle_answers_only_what_is_wanted() {
    let case = case(DType::F32, 1, 2, 3);
    let row = |first: f64| (0..6).map(|i| first + f64::from(i)).collect::<Vec<_>>();
    let inputs = Values { tensors: vec![row(0.0), row(10.0), vec![]] };
    let want = Want::some(Some(vec![1]), Some(vec![0, 2]));
    let truth = ADD.op.oracle(&case, &inputs, 0, &want);
    assert_eq!((truth.value, truth.scale), (vec![16.0, 20.0], vec![16.0, 20.0]));
}

#[test]
fn kernels_say_what_they_do_not_do_and_what_they_promise() {
    let case = stochastic(case(DType::Bf16, 1, 1, 8));
    let supports = |name: &str, isa| ADD.kernel(name).unwrap().supports(&case, isa).is_ok();
    assert!(supports("scalar", Isa::Scalar) && supports("parallel", Isa::Scalar));
    assert!(!supports("simd", Isa::Avx512) && !supports("parallel", Isa::Avx2));
    for kernel in ADD.kernels {
        let promise = kernel.contract(&case).reproducibility;
        assert_eq!(promise, Reproducibility::IsaInvariant, "{}", kernel.name());
    }
}

#[test]
fn stochastic_rounding_of_other_types_is_a_contradiction() {
    for dtype in [DType::F32, DType::F16] {
        assert!(check_case(ADD.op, &stochastic(case(dtype, 1, 1, 8))).is_err());
    }
}

#[test]
fn operands_and_work_follow_the_variant() {
    let plain = case(DType::Bf16, 2, 3, 5);
    let names = |case: &Case| {
        let signature = signature(case);
        signature.operands().iter().map(|operand| operand.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&plain), ["a", "b", "c"]);
    assert_eq!(names(&in_place(plain.clone())), ["b", "a"]);
    assert_eq!(names(&stochastic(plain.clone())), ["a", "b", "random", "c"]);
    assert_eq!(names(&in_place(stochastic(plain.clone()))), ["b", "random", "a"]);
    let work = ADD.op.work(&plain);
    assert_eq!((work.flops, work.bytes_read, work.bytes_written), (30, 120, 60));
    assert_eq!(ADD.op.work(&stochastic(plain)).bytes_read, 136);
}

#[test]
fn the_public_function_refuses_operands_of_other_lengths() {
    let context = Context::serial();
    let result = add(&context, &[1.0f32, 2.0], &[1.0], &mut [0.0, 0.0]);
    let is_named = matches!(result, Err(Error::Shape { name: "b", got: (1, 1), need: (1, 2) }));
    assert!(is_named, "{result:?}");
    assert!(add::<f32>(&context, &[], &[], &mut []).is_ok());
}
