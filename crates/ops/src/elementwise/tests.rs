//! What holds for every member: every 16-bit input, threads, edges.

use super::*;
use crate::blocks::row::trial::{self, Setup};
use proofmark_contract::{Filling, Values, check_case};
use proofmark_simd::available;
use proofmark_tensor::{Fill, bf16, f16};
use proofmark_terms::{Case, DType, Isa};

pub(super) const DTYPES: [DType; 3] = [DType::F32, DType::Bf16, DType::F16];

/// A case of one row.
pub(super) fn row(op: &str, dtype: DType, length: usize) -> Case {
    Case::new(op, dtype).axis("b", 1).axis("s", 1).axis("d", length as u64)
}

/// The same tests for each member, so that a failure names it.
macro_rules! members {
    ($($name:ident: $entry:ident;)*) => {
        $(mod $name {

            #[test]
            fn every_16_bit_number_and_a_sample_of_f32_are_within_the_limits() {
                super::numbers_are_within_the_limits(&super::$entry);
            }

            #[test]
            fn threads_do_not_change_a_bit() {
                super::threads_do_not_change_a_bit(&super::$entry);
            }
        })*
    };
}

members! {
    sums: ADD;
    axpy: AXPY;
    div: DIV;
    exp: EXP;
    geglu: GEGLU;
    gelu: GELU;
    gelu_quick: GELU_QUICK;
    gelu_tanh: GELU_TANH;
    mul: MUL;
    relu: RELU;
    sigmoid: SIGMOID;
    silu: SILU;
    sub: SUB;
    swiglu: SWIGLU;
    tanh: TANH;
}

/// Calls every kernel on every path, dense and padded, and hands over what it wrote.
pub(super) fn with_every_kernel(
    entry: &Entry,
    case: &Case,
    inputs: &Values,
    check: impl Fn(&str, &[f64]),
) {
    for kernel in entry.kernels {
        for &isa in kernel.isas().iter().filter(|&&isa| available(isa)) {
            for padding in [0, 5] {
                let setup = Setup { isa, threads: 2, padding };
                let got = trial::call(entry.op, *kernel, case, setup, inputs);
                check(&format!("{} on {isa}, padded by {padding}", kernel.name()), &got[0]);
            }
        }
    }
}

/// Operands of one row: the first as given, the second numbers near 1.
pub(super) fn operands(entry: &Entry, case: &Case, first: Vec<f64>) -> Values {
    let signature = check_case(entry.op, case).unwrap();
    let filling = Filling::uniform(&signature, &Fill::Alternating);
    let mut inputs = trial::fill(&signature, &filling, 1);
    inputs.tensors[0] = first;
    inputs
}

fn numbers_are_within_the_limits(entry: &Entry) {
    let every = || 0..=u16::MAX;
    // A prime stride visits every residue of the low bits; then where results become subnormal.
    let bits = (0..u32::MAX / 65_521).map(|i| i * 65_521);
    let low = (5f32.to_bits()..105f32.to_bits()).step_by(509).map(|bits| bits | 1 << 31);
    let single = bits.chain(low).map(|bits| f64::from(f32::from_bits(bits)));
    for (dtype, x) in [
        (DType::Bf16, every().map(|i| bf16::from_bits(i).to_f64()).collect()),
        (DType::F16, every().map(|i| f16::from_bits(i).to_f64()).collect()),
        (DType::F32, single.collect::<Vec<f64>>()),
    ] {
        let case = row(entry.op.name(), dtype, x.len());
        let limit = entry.op.limits(&case).q_max;
        let inputs = operands(entry, &case, x);
        with_every_kernel(entry, &case, &inputs, |who, y| {
            let q = trial::greatest_q(entry.op, &case, &inputs, y);
            assert!(q <= limit, "{who}, {dtype}: q {q}");
        });
    }
}

fn threads_do_not_change_a_bit(entry: &Entry) {
    // Many rows, and one that is split within.
    for (dtype, rows, length) in [(DType::F32, 51, 1021), (DType::Bf16, 1, 40_009)] {
        let case = Case::new(entry.op.name(), dtype).axis("b", 1).axis("s", rows).axis("d", length);
        let signature = check_case(entry.op, &case).unwrap();
        let inputs = trial::fill(&signature, &Filling::uniform(&signature, &Fill::Normal), 3);
        let levels = Isa::ALL.into_iter().filter(|&isa| available(isa));
        for (isa, padding) in levels.flat_map(|isa| [(isa, 0), (isa, 3)]) {
            let run = |name: &str, threads| {
                let kernel = entry.kernel(name).unwrap();
                let setup = Setup { isa, threads, padding };
                trial::call(entry.op, kernel, &case, setup, &inputs)
            };
            let alone = run("simd", 1);
            for threads in 1..=4 {
                assert_eq!(run("parallel", threads), alone, "{threads} threads on {isa}");
            }
        }
    }
}

#[test]
fn the_list_of_ops_has_every_member_with_its_edges() {
    let members = [
        &ADD,
        &AXPY,
        &DIV,
        &EXP,
        &GEGLU,
        &GELU,
        &GELU_QUICK,
        &GELU_TANH,
        &MUL,
        &RELU,
        &SIGMOID,
        &SILU,
        &SUB,
        &SWIGLU,
        &TANH,
    ];
    for member in members {
        let name = member.op.name();
        assert!(crate::find(name).is_some_and(|found| std::ptr::eq(found, member)), "{name}");
        assert!(member.op.edges().len() >= 2, "{name}");
    }
}

#[test]
fn functions_on_slices_take_every_element_type_and_refuse_misfits() {
    let (context, two) = (Context::serial(), Context::with_threads(2).unwrap());
    let x: Vec<f32> = (0..10_000).map(|i| (i - 5000) as f32 / 256.0).collect();
    let (mut alone, mut shared) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    silu(&context, &x, &mut alone).unwrap();
    silu(&two, &x, &mut shared).unwrap();
    assert_eq!(alone, shared);
    assert!((alone[5256] - 0.731_058_6).abs() < 1e-6, "σ(1) is 0.7310586");
    let mut halves = [f16::ONE; 2];
    silu(&context, &[f16::from_f32(1.0), f16::from_f32(-1.0)], &mut halves).unwrap();
    assert_eq!(
        halves.map(f16::to_f32),
        [0.731_058_6, -0.268_941_4].map(|y| f16::from_f32(y).to_f32())
    );
    assert!(silu(&context, &x, &mut alone[1..]).is_err(), "y is shorter than x");
    let (mut own, mut product) = (x.clone(), x.clone());
    in_place::silu(&context, &mut own).unwrap();
    silu(&context, &x, &mut alone).unwrap();
    assert_eq!(own, alone);
    in_place::mul(&context, &mut product, &x).unwrap();
    assert_eq!(product[0], x[0] * x[0]);
    let mut nothing = [bf16::ZERO; 0];
    tanh(&two, &[], &mut nothing).unwrap();
    assert!(axpy(&context, 1e6, &x, &x, &mut alone).is_err(), "beyond the factor's range");
}
