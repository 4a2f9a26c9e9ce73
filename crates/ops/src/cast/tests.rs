//! Known answers, every 16-bit number and refusals of the change of element type.

use super::{ENTRY, cast};
use crate::Context;
use crate::blocks::row::trial::{self, Setup};
use proofmark_contract::Values;
use proofmark_simd::available;
use proofmark_tensor::{bf16, f16};
use proofmark_terms::{AttrValue, Case, DType};

/// From every number of `x`, on every kernel and path, to every type.
fn is_exact(dtype: DType, x: &[f64]) {
    for to in [DType::F32, DType::Bf16, DType::F16] {
        let case = Case::new("cast", dtype).axis("b", 1).axis("s", 1).axis("d", x.len() as u64);
        let case = case.attr("to", AttrValue::Word(to.to_string()));
        let inputs = Values { tensors: vec![x.to_vec(), Vec::new()] };
        for kernel in ENTRY.kernels {
            for &isa in kernel.isas().iter().filter(|&&isa| available(isa)) {
                let got = trial::call(ENTRY.op, *kernel, &case, Setup::plain(isa), &inputs);
                let q = trial::greatest_q(ENTRY.op, &case, &inputs, &got[0]);
                assert_eq!(q, 0.0, "{} on {isa}: {case}", kernel.name());
            }
        }
    }
}

#[test]
fn every_16_bit_number_is_exact_to_the_bit() {
    let every = || 0..=u16::MAX;
    is_exact(DType::Bf16, &every().map(|i| bf16::from_bits(i).to_f64()).collect::<Vec<_>>());
    is_exact(DType::F16, &every().map(|i| f16::from_bits(i).to_f64()).collect::<Vec<_>>());
}

#[test]
fn every_midpoint_of_16_bit_numbers_and_its_neighbours_are_exact_to_the_bit() {
    let halves =
        (0..0x7c00u16).map(|i| [f16::from_bits(i), f16::from_bits(i + 1)].map(f16::to_f32));
    let brains =
        (0..0x7f80u16).map(|i| [bf16::from_bits(i), bf16::from_bits(i + 1)].map(bf16::to_f32));
    let around = |[low, high]: [f32; 2]| {
        let middle = if high.is_finite() { low + (high - low) / 2.0 } else { low };
        [middle.next_down(), middle, middle.next_up(), -middle].map(f64::from)
    };
    is_exact(DType::F32, &halves.chain(brains).flat_map(around).collect::<Vec<_>>());
}

#[test]
fn the_library_function_refuses_other_lengths() {
    let mut y = [0.0f32; 2];
    let context = Context::serial();
    cast(&context, &[f16::from_f32(0.1), f16::NEG_INFINITY], &mut y).unwrap();
    assert_eq!(y, [0.099_975_586, f32::NEG_INFINITY]);
    assert!(cast(&context, &[1.0f32], &mut y).is_err());
}
