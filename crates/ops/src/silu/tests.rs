//! Known answers, edges, views, threads and refusals of SiLU.

use super::definition::Problem;
use super::{ENTRY, oracle, silu};
use crate::blocks::row::trial::{self, Setup};
use proofmark_contract::{Filling, Values, Want, check_case};
use proofmark_schema::{Case, DType, Isa};
use proofmark_simd::available;
use proofmark_tensor::{Fill, Pool, bf16, f16};

fn case(text: &str) -> Case {
    text.parse().unwrap()
}

fn levels() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|&isa| available(isa))
}

/// Calls every kernel on every path, dense and padded, and hands over what it wrote.
fn with_every_kernel(case: &Case, inputs: &Values, check: impl Fn(&str, &[f64])) {
    for kernel in ENTRY.kernels {
        for &isa in kernel.isas().iter().filter(|&&isa| available(isa)) {
            for padding in [0, 5] {
                let setup = Setup { isa, threads: 2, padding };
                let got = trial::call(ENTRY.op, *kernel, case, setup, inputs);
                check(&format!("{} on {isa}, padded by {padding}", kernel.name()), &got[0]);
            }
        }
    }
}

fn input(x: Vec<f64>) -> Values {
    Values { tensors: vec![x, Vec::new()] }
}

#[test]
fn the_oracle_gives_values_computed_by_hand() {
    let problem = Problem { rows: 1, length: 6 };
    let ln3 = 3f64.ln();
    let x = [ln3, -ln3, 0.0, 40.0, -800.0, -100.0];
    let truth = oracle::truth(&problem, &x, &Want::all());
    // σ(ln 3) = 1 / (1 + 1/3); beyond 37 it is 1 in f64; far below 0 it is e^x.
    let want = [0.75 * ln3, -0.25 * ln3, 0.0, 40.0, 0.0, -100.0 * (-100f64).exp()];
    for (got, want) in truth.value.iter().zip(want) {
        assert!((got - want).abs() <= 1e-15 * want.abs(), "{got} is not {want}");
    }
    assert!(truth.value[4].is_sign_negative(), "what vanishes keeps its sign");
    assert!((truth.scale[0] - 3.0 * ln3).abs() < 1e-14, "four roundings of 3/4 ln 3");
    // A smallest subnormal lost in the exponential, times 100, is 1 u of this.
    let lost = 100.0 * DType::F32.smallest() / DType::F32.unit();
    assert!(truth.scale[5] > lost && truth.scale[5] < 1.01 * lost);
}

#[test]
fn the_oracle_follows_the_rules_of_the_edges() {
    let problem = Problem { rows: 1, length: 4 };
    let x = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0];
    let truth = oracle::truth(&problem, &x, &Want::all());
    assert!(truth.value[0].is_nan() && truth.value[2].is_nan());
    assert_eq!(truth.value[1], f64::INFINITY);
    assert_eq!(truth.value[3].to_bits(), (-0.0f64).to_bits());
    assert!(truth.scale.iter().all(|&scale| scale >= 0.0), "no scale is NaN");
}

#[test]
fn the_oracle_gives_only_the_wanted_elements() {
    let problem = Problem { rows: 3, length: 4 };
    let x: Vec<f64> = (0..12).map(|i| f64::from(i) - 5.0).collect();
    let all = oracle::truth(&problem, &x, &Want::all());
    let want = Want::some(Some(vec![0, 2]), Some(vec![1, 3]));
    let picked: Vec<f64> = want.indices(3, 4).into_iter().map(|i| all.value[i]).collect();
    assert_eq!(oracle::truth(&problem, &x, &want).value, picked);
}

#[test]
fn edges_come_out_to_the_bit_at_every_position() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for dtype in [DType::F32, DType::Bf16, DType::F16] {
        let (tiny, largest) = (2.0 * dtype.smallest(), dtype.largest());
        // Odd row length, so that each pair meets every lane and the tail.
        let pairs = [
            (0.0, 0.0),
            (-0.0, -0.0),
            (inf, inf),
            (-inf, nan),
            (nan, nan),
            (largest, largest),
            (-largest, -0.0),
            (tiny, tiny / 2.0),
            (-tiny, -tiny / 2.0),
            (-1000.0, -0.0),
            (64.0, 64.0),
        ];
        let case = Case::new("silu", dtype).axis("b", 2).axis("s", 11).axis("d", 35);
        let at = |i: usize| pairs[i % pairs.len()];
        let inputs = input((0..770).map(|i| at(i).0).collect());
        with_every_kernel(&case, &inputs, |who, y| {
            for (i, &got) in y.iter().enumerate() {
                let (x, want) = at(i);
                let is_right = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                assert!(is_right, "{who}, {dtype}: {got:e} of {x:e} at {i}");
            }
        });
    }
}

/// Panics where a kernel is off by more than the limit; `x` is judged as one row.
fn stays_within_the_limits(dtype: DType, x: Vec<f64>) {
    let case = Case::new("silu", dtype).axis("b", 1).axis("s", 1).axis("d", x.len() as u64);
    let limit = ENTRY.op.limits(&case).q_max;
    let inputs = input(x);
    with_every_kernel(&case, &inputs, |who, y| {
        let q = trial::greatest_q(ENTRY.op, &case, &inputs, y);
        assert!(q <= limit, "{who}, {dtype}: q {q}");
    });
}

#[test]
fn every_16_bit_input_is_within_the_limits() {
    let every = || 0..=u16::MAX;
    stays_within_the_limits(DType::Bf16, every().map(|i| bf16::from_bits(i).to_f64()).collect());
    stays_within_the_limits(DType::F16, every().map(|i| f16::from_bits(i).to_f64()).collect());
}

#[test]
fn a_sample_of_f32_inputs_is_within_the_limits() {
    // A prime stride visits every residue of the low bits; then where results become subnormal.
    let bits = (0..u32::MAX / 65_521).map(|i| i * 65_521);
    let low = (85f32.to_bits()..105f32.to_bits()).step_by(61).map(|bits| bits | 1 << 31);
    let x = bits.chain(low).map(|bits| f64::from(f32::from_bits(bits)));
    stays_within_the_limits(DType::F32, x.collect());
}

#[test]
fn every_kernel_passes_on_every_path() {
    trial::every_kernel_passes(&ENTRY);
}

#[test]
fn every_mutant_is_refused() {
    trial::every_mutant_fails(&ENTRY);
}

#[test]
fn threads_do_not_change_a_bit() {
    // Many rows, and one that is split within.
    for text in ["silu:f32[b=3,s=17,d=1021]", "silu:bf16[b=1,s=1,d=40009]"] {
        let case = case(text);
        let signature = check_case(ENTRY.op, &case).unwrap();
        let inputs = trial::fill(&signature, &Filling::uniform(&signature, &Fill::Normal), 3);
        for (isa, padding) in levels().flat_map(|isa| [(isa, 0), (isa, 3)]) {
            let run = |name: &str, threads| {
                let kernel = ENTRY.kernel(name).unwrap();
                let setup = Setup { isa, threads, padding };
                trial::call(ENTRY.op, kernel, &case, setup, &inputs)
            };
            let alone = run("simd", 1);
            for threads in 1..=4 {
                assert_eq!(run("parallel", threads), alone, "{threads} threads on {isa}");
            }
        }
    }
}

#[test]
fn the_library_function_takes_every_element_type_and_refuses_misfits() {
    let pool = Pool::new(2);
    let x: Vec<f32> = (0..10_000).map(|i| (i - 5000) as f32 / 256.0).collect();
    let (mut alone, mut shared) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    silu(&x, &mut alone, &pool, 1).unwrap();
    silu(&x, &mut shared, &pool, 2).unwrap();
    assert_eq!(alone, shared);
    assert!((alone[5256] - 0.731_058_6).abs() < 1e-6, "σ(1) is 0.7310586");
    let mut halves = [f16::ONE; 2];
    silu(&[f16::from_f32(1.0), f16::from_f32(-1.0)], &mut halves, &pool, 1).unwrap();
    assert_eq!(
        halves.map(f16::to_f32),
        [0.731_058_6, -0.268_941_4].map(|y| f16::from_f32(y).to_f32())
    );
    assert!(silu(&x, &mut alone[1..], &pool, 1).is_err(), "y is shorter than x");
    silu::<bf16>(&[], &mut [], &pool, 2).unwrap();
}

#[test]
fn proof_cases_fit_the_op_and_stay_small() {
    for &dtype in ENTRY.op.dtypes() {
        for case in ENTRY.op.proof_cases(dtype) {
            let signature = check_case(ENTRY.op, &case).unwrap();
            assert!(signature.operands()[0].len() <= 1 << 16, "{case}");
        }
    }
    assert!(check_case(ENTRY.op, &Case::new("silu", DType::I8)).is_err());
}
