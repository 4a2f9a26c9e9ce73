//! Every block of every product against plain loops.

use super::*;

const STEPS: usize = 3;
/// Bytes of terms in a row of the left operand, with a pad, so that its stride is its own.
const LEFT_ROW: usize = STEPS * ROW_BYTES + 24;
const SUMS_ROW: usize = 2 * ROW_BYTES + 32;

/// Bytes that do not repeat at short distances.
fn bytes(count: usize, seed: usize) -> Vec<u8> {
    (0..count).map(|index| (((index + seed) * 2_654_435_761) >> 13) as u8).collect()
}

/// bf16 of small whole numbers, so that every order of summation is exact.
fn whole_bf16(bytes: &[u8]) -> Vec<u8> {
    let value = |byte: &u8| f32::from(byte % 17) - 8.0;
    bytes
        .iter()
        .flat_map(|byte| (value(byte).to_bits() >> 16).to_le_bytes()[..2].to_vec())
        .collect()
}

/// f16 of whole numbers up to 8: 0 to 8 subnormal ones (2^-24), or as many times 1 with a sign.
fn whole_f16(bytes: &[u8], is_subnormal: bool) -> Vec<u8> {
    // 1, 2 to 8 as f16.
    const ONES: [u16; 9] = [0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800];
    let bits = |byte: &u8| {
        let number = u16::from(byte % 9);
        let sign = u16::from(byte & 0x80) << 8;
        let value = if is_subnormal { number } else { ONES[usize::from(number)] };
        (sign | value).to_le_bytes()
    };
    bytes.iter().flat_map(bits).collect()
}

fn f16_value(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// Bytes of an element.
fn size(product: Product) -> usize {
    if matches!(product, Product::Bf16 | Product::F16) { 2 } else { 1 }
}

/// One element of an operand, as the product reads it.
fn element(product: Product, bytes: &[u8], at: usize, is_left: bool) -> f64 {
    match product {
        Product::Bf16 => {
            let bits = u16::from_le_bytes([bytes[at], bytes[at + 1]]);
            f64::from(f32::from_bits(u32::from(bits) << 16))
        }
        Product::F16 => f16_value(u16::from_le_bytes([bytes[at], bytes[at + 1]])),
        Product::U8I8 if is_left => f64::from(bytes[at]),
        _ => f64::from(bytes[at].cast_signed()),
    }
}

/// The sum that belongs to row `i` and column `j`, from plain loops.
fn expected(product: Product, left: &[u8], right: &[u8], i: usize, j: usize) -> f64 {
    let mut sum = 0.0;
    for byte in (0..STEPS * ROW_BYTES).step_by(size(product)) {
        let (step, within) = (byte / ROW_BYTES, byte % ROW_BYTES);
        let tile = (step * 2 + j / ROWS) * TILE_BYTES;
        let at = tile + within / 4 * ROW_BYTES + j % ROWS * 4 + within % 4;
        sum +=
            element(product, left, i * LEFT_ROW + byte, true) * element(product, right, at, false);
    }
    sum
}

fn number(product: Product, sums: &[u8], i: usize, j: usize) -> f64 {
    let word = sums[i * SUMS_ROW + 4 * j..][..4].try_into().unwrap();
    if size(product) == 2 {
        f64::from(f32::from_le_bytes(word))
    } else {
        f64::from(i32::from_le_bytes(word))
    }
}

#[test]
fn every_block_of_every_product_agrees_with_plain_loops() {
    for product in [Product::Bf16, Product::F16, Product::I8, Product::U8I8] {
        let Some(tiles) = Tiles::configure(product) else { continue };
        let (mut left, mut right) = (bytes(2 * ROWS * LEFT_ROW, 1), bytes(6 * TILE_BYTES, 7));
        match product {
            Product::Bf16 => (left, right) = (whole_bf16(&left), whole_bf16(&right)),
            // Subnormal operands are multiplied like any others.
            Product::F16 => (left, right) = (whole_f16(&left, true), whole_f16(&right, false)),
            Product::I8 | Product::U8I8 => {}
        }
        for shape in [(1, 1), (1, 2), (2, 1), (2, 2)] {
            let mut memory = vec![0xa5_u8; 2 * ROWS * SUMS_ROW];
            let (at, row) = (memory.as_mut_ptr(), SUMS_ROW);
            let a = Walk {
                at: left.as_ptr(),
                row: LEFT_ROW,
                neighbour: ROWS * LEFT_ROW,
                step: ROW_BYTES,
            };
            let b = Walk {
                at: right.as_ptr(),
                row: ROW_BYTES,
                neighbour: TILE_BYTES,
                step: 2 * TILE_BYTES,
            };
            for adds in [false, true] {
                // SAFETY: both operands and the sums were made for 2 x 2 tiles.
                unsafe { tiles.multiply(shape, a, b, STEPS, Sums { at, row, adds }) };
            }
            for i in 0..2 * ROWS {
                for j in 0..2 * ROWS {
                    if i < shape.0 * ROWS && j < shape.1 * ROWS {
                        let want = 2.0 * expected(product, &left, &right, i, j);
                        let got = number(product, &memory, i, j);
                        assert_eq!(got, want, "{product:?} {shape:?} row {i} column {j}");
                    } else {
                        let word = &memory[i * SUMS_ROW + 4 * j..][..4];
                        assert_eq!(word, [0xa5; 4], "{shape:?} wrote past its sums");
                    }
                }
            }
        }
    }
}

#[test]
fn a_right_operand_in_parts_counts_as_the_sum_of_them() {
    use Product::{Bf16, F16};
    for (product, parts) in [(Bf16, 1), (Bf16, 3), (F16, 1), (F16, 2)] {
        let Some(tiles) = Tiles::configure(product) else { continue };
        let words = |bytes: &[u8]| match product {
            F16 => whole_f16(bytes, false),
            _ => whole_bf16(bytes),
        };
        let left = words(&bytes(2 * ROWS * LEFT_ROW, 3));
        let right = words(&bytes(2 * 3 * 2 * TILE_BYTES, 5));
        let (at, row) = (left.as_ptr(), LEFT_ROW);
        let a = Walk { at, row, neighbour: ROWS * LEFT_ROW, step: ROW_BYTES };
        let b = |tile: usize, step| Walk {
            at: right[tile * TILE_BYTES..].as_ptr(),
            row: ROW_BYTES,
            neighbour: TILE_BYTES,
            step,
        };
        let (mut one, mut other) = ([0_f32; 1024], [0_f32; 1024]);
        let sums = |memory: &mut [f32; 1024], adds| Sums {
            at: memory.as_mut_ptr().cast(),
            row: 2 * ROW_BYTES,
            adds,
        };
        for adds in [false, true] {
            let right = b(0, parts * 2 * TILE_BYTES);
            // SAFETY: there are 2 steps of each operand, and 32 rows of 32 sums.
            unsafe { tiles.multiply_parts(parts, a, right, 2, sums(&mut one, adds)) };
            for at in 0..2 * parts {
                let a = Walk { at: left[at / parts * ROW_BYTES..].as_ptr(), ..a };
                let to = sums(&mut other, true);
                // SAFETY: as above, one step and part at a time.
                unsafe { tiles.multiply((2, 2), a, b(2 * at, 0), 1, to) };
            }
        }
        assert_eq!(one, other, "{product:?} in {parts} parts");
        assert!(one.iter().any(|&sum| sum != 0.0));
    }
}

#[test]
fn subnormal_operands_and_results_are_flushed() {
    let Some(tiles) = Tiles::configure(Product::Bf16) else { return };
    // Row 0: a subnormal by 2^100; row 1: products that add up to a subnormal.
    let (mut left, mut right) = (vec![0_u16; 512], vec![0_u16; 512]);
    let bf16 = |value: f32| (value.to_bits() >> 16) as u16;
    (left[0], left[32]) = (1, bf16(2f32.powi(-70)));
    (right[0], right[2]) = (bf16(2f32.powi(100)), bf16(2f32.powi(-70)));
    let mut sums = vec![1_f32; 256];
    let walk = |words: &[u16]| Walk {
        at: words.as_ptr().cast(),
        row: ROW_BYTES,
        neighbour: 0,
        step: TILE_BYTES,
    };
    let to = Sums { at: sums.as_mut_ptr().cast(), row: ROW_BYTES, adds: false };
    // SAFETY: each operand is one tile, and the sums are one.
    unsafe { tiles.multiply((1, 1), walk(&left), walk(&right), 1, to) };
    assert_eq!((sums[0], sums[16 + 1]), (0.0, 0.0));
    assert_eq!(sums[16], 2f32.powi(30), "normal numbers are kept");
}

#[test]
fn dropped_tiles_are_released() {
    if !available(Product::Bf16) {
        return;
    }
    drop(Tiles::configure(Product::Bf16));
    assert_eq!(state::upper_state() & state::TILES, 0);
}
