//! Tests of fills: names, known values of another implementation, and each fill's character.

use super::*;
use crate::{AlignedBuffer, Layout};
use proptest::prelude::*;

const NAMES: [&str; 18] = [
    "zero",
    "normal",
    "uniform(-1,1)",
    "ints(4,0.75)",
    "powers_of_two(8)",
    "alternating",
    "offset(1000)",
    "graded(3)",
    "heavy_tail",
    "sparse(0.1)",
    "constant(-2.5)",
    "subnormal",
    "near_overflow(0.5)",
    "cancel",
    "needle",
    "ramp",
    "striped(3,-1.5,8)",
    "random_bits(32)",
];

fn values(name: &str, dtype: DType, count: u64, cols: usize) -> Vec<f64> {
    let fill: Fill = name.parse().unwrap();
    (0..count).map(|index| fill.value(dtype, 42, 3, index, cols)).collect()
}

#[test]
fn names_parse_back() {
    for name in NAMES {
        assert_eq!(name.parse::<Fill>().unwrap().to_string(), name);
    }
}

#[test]
fn broken_names_are_refused() {
    for text in [
        "",
        "norm",
        "normal()",
        "normal(1)",
        "uniform",
        "uniform(1)",
        "uniform(1,2",
        "uniform(a,b)",
        "ints(1.5,1)",
        "ints(-1,1)",
        "random_bits(65)",
        "powers_of_two(1001)",
        "striped(1.5,0,1)",
        "uniform(1,2,3)",
        "uniform(1,2)x",
    ] {
        assert_eq!(text.parse::<Fill>(), Err(ParseFillError(text.to_owned())));
    }
}

proptest! {
    #[test]
    fn any_arguments_survive_print_and_parse(
        low in -1e300..1e300f64, high in -1e-300..1e300f64, magnitude in any::<u32>(),
    ) {
        for fill in [Fill::Uniform { low, high }, Fill::Ints { magnitude, density: high }] {
            prop_assert_eq!(fill.to_string().parse(), Ok(fill));
        }
    }
}

/// Computed by a separate implementation of the documentation (Python), as bits of doubles:
/// elements 0, 5 and 38 for 13 columns, seed 42, stream 3, f64.
const KNOWN: [(&str, [u64; 3]); 18] = [
    ("zero", [0x0000_0000_0000_0000, 0x0000_0000_0000_0000, 0x0000_0000_0000_0000]),
    ("normal", [0x3fae_3e00_0000_0000, 0xbfe0_49e0_0000_0000, 0x3f77_8000_0000_0000]),
    ("uniform(-1,1)", [0xbfe3_3ecb_7093_55d4, 0x3fd3_84b0_ea25_a7d0, 0xbfd8_cb34_3163_dc08]),
    ("ints(4,0.75)", [0xc008_0000_0000_0000, 0xc000_0000_0000_0000, 0x4008_0000_0000_0000]),
    ("powers_of_two(8)", [0x3fd0_0000_0000_0000, 0xc070_0000_0000_0000, 0xc030_0000_0000_0000]),
    ("alternating", [0x3ff0_6609_a47b_6551, 0xbff1_4e12_c3a8_969f, 0x3ff0_9cd3_2f3a_7090]),
    ("offset(1000)", [0x408f_4078_f800_0000, 0x408f_3bed_8800_0000, 0x408f_400b_c000_0000]),
    ("graded(3)", [0x4067_aed7_332b_9165, 0xc00a_b91d_e37b_0170, 0x3f69_dbdc_a8be_5f95]),
    ("heavy_tail", [0x3fae_3e00_0000_0000, 0xbfe0_49e0_0000_0000, 0x3f77_8000_0000_0000]),
    ("sparse(0.1)", [0x0000_0000_0000_0000, 0x0000_0000_0000_0000, 0x0000_0000_0000_0000]),
    ("constant(-2.5)", [0xc004_0000_0000_0000, 0xc004_0000_0000_0000, 0xc004_0000_0000_0000]),
    ("subnormal", [0x0004_d23d_b2a8_b834, 0x8009_61d4_4b4f_afe2, 0x8009_979d_3847_f82c]),
    ("near_overflow(0.5)", [0x7fdf_33ec_b709_355c, 0xffdd_63da_78ae_d2c1, 0xffde_c659_a18b_1edf]),
    ("cancel", [0x3fae_3e00_0000_0000, 0x3fe1_ece0_0000_0002, 0x3f77_8000_0000_0000]),
    ("needle", [0x3f0e_3e00_0000_0000, 0xbf40_49e0_0000_0000, 0x3ed7_8000_0000_0000]),
    ("ramp", [0x0000_0000_0000_0000, 0x3fd8_9d89_d89d_89d9, 0x4007_6276_2762_7627]),
    ("striped(3,-1.5,8)", [0xbff8_0000_0000_0000, 0xbff8_0000_0000_0000, 0x3fa7_8000_0000_0000]),
    ("random_bits(32)", [0x41c9_8269_1e80_0000, 0x41e4_e12c_3a80_0000, 0x41d3_9a65_e740_0000]),
];

#[test]
fn values_are_those_of_another_implementation() {
    for (name, want) in KNOWN {
        let fill: Fill = name.parse().unwrap();
        let got = [0, 5, 38].map(|index| fill.value(DType::F64, 42, 3, index, 13).to_bits());
        assert_eq!(got, want, "{name}");
    }
}

#[test]
fn normal_has_mean_0_and_variance_1() {
    let values = values("normal", DType::F64, 20_000, 100);
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| value * value).sum::<f64>() / count;
    // Five standard errors: 5 / sqrt(20000) and 5 * sqrt(2 / 20000), seed fixed.
    assert!(mean.abs() < 0.036, "mean {mean}");
    assert!((variance - 1.0).abs() < 0.05, "variance {variance}");
}

#[test]
fn values_are_finite_and_representable_in_every_type() {
    for dtype in DType::ALL {
        for name in NAMES {
            for value in values(name, dtype, 500, 37) {
                assert!(value.is_finite(), "{name} in {dtype}");
                assert_eq!(round_to(dtype, value), value, "{name} in {dtype}");
            }
        }
    }
}

#[test]
fn every_fill_but_the_constant_ones_varies() {
    for name in NAMES.iter().filter(|name| **name != "zero" && !name.starts_with("constant")) {
        let values = values(name, DType::F32, 500, 37);
        assert!(values.iter().any(|value| *value != values[0]), "{name}");
    }
}

#[test]
fn integers_stay_in_bounds_and_are_zero_as_often_as_asked() {
    let values = values("ints(3,0.5)", DType::I8, 4000, 10);
    for whole in -3..=3 {
        assert!(values.contains(&f64::from(whole)), "{whole} occurs");
    }
    assert!(values.iter().all(|value| value.abs() <= 3.0));
    let zeros = values.iter().filter(|value| **value == 0.0).count();
    // Expected 4000 * (1/2 + 1/14) = 2286, five standard deviations 157.
    assert!(zeros.abs_diff(2286) < 157, "{zeros}");
}

#[test]
fn subnormals_are_subnormal() {
    for dtype in [DType::F64, DType::F32, DType::F16, DType::Bf16, DType::F8e4m3, DType::F8e5m2] {
        let least_normal = 2f64.powi(dtype.min_exponent());
        let values = values("subnormal", dtype, 200, 10);
        assert!(values.iter().all(|value| *value != 0.0 && value.abs() < least_normal), "{dtype}");
    }
}

#[test]
fn cancelling_pairs_nearly_cancel() {
    for pair in values("cancel", DType::F32, 1000, 10).chunks(2) {
        assert!((pair[0] + pair[1]).abs() <= 10.0 * DType::F32.unit() * pair[0].abs());
    }
}

#[test]
fn needles_visit_ends_and_tile_edges_one_to_a_row() {
    let cols = 100;
    let values = values("needle", DType::F32, 900, cols);
    let mut visited: Vec<usize> = values
        .chunks(cols)
        .map(|row| {
            assert_eq!(row.iter().filter(|value| **value == 64.0).count(), 1);
            row.iter().position(|value| *value == 64.0).unwrap()
        })
        .collect();
    visited.sort_unstable();
    for column in [0, 15, 16, 31, 32, 63, 64, 99] {
        assert!(visited.contains(&column), "{column} in {visited:?}");
    }
}

#[test]
fn writing_a_tensor_gives_the_values_and_leaves_the_padding() {
    for name in NAMES {
        for dtype in [DType::F32, DType::Bf16, DType::U8] {
            let mut buffer = AlignedBuffer::new(256);
            buffer.as_mut_slice().fill(0xa5);
            let layout = Layout::padded([2, 2, 3], 5);
            let base = buffer.as_mut_slice().as_mut_ptr();
            // SAFETY: 18 elements of up to 4 bytes lie in the buffer, used through the tensor.
            let mut tensor = unsafe { Tensor::from_raw(base, dtype, layout, true) };
            let fill: Fill = name.parse().unwrap();
            fill.write(&mut tensor, 42, 3);
            assert_eq!(tensor.to_f64(), values(name, dtype, 12, 3), "{name} in {dtype}");
            let size = dtype.size();
            for row in 0..3 {
                let padding = &buffer.as_slice()[(5 * row + 3) * size..5 * (row + 1) * size];
                assert!(padding.iter().all(|byte| *byte == 0xa5), "{name} in {dtype}");
            }
        }
    }
}

#[test]
fn values_by_row_are_the_values_one_by_one() {
    for name in NAMES {
        let fill: Fill = name.parse().unwrap();
        for dtype in [DType::F32, DType::Bf16] {
            let got = fill.values(dtype, 42, 3, (4, 13));
            assert_eq!(got, values(name, dtype, 52, 13), "{name}");
        }
        assert!(fill.values(DType::F32, 42, 3, (4, 0)).is_empty());
    }
}
