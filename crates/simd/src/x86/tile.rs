//! Products of AMX tiles: up to 2 × 2 tiles of sums stay in registers over all steps of terms.
//!
//! The compiler knows no tile registers, so values in them must not outlive one `asm!` block:
//! each block loads or zeroes its sums, walks all its steps, and stores the sums.
//!
//! A tile is 16 rows of 64 bytes. A step multiplies a left tile, 16 rows of 64 bytes of terms, by
//! a right tile, whose row `r` holds terms `4r/size..` of 16 columns: for each column 4 bytes of
//! terms side by side, which are two bf16, two f16 or four bytes. Row `i`, column `j` of the sums
//! is 4 bytes: f32 or i32.
//!
//! `tdpbf16ps` takes subnormal operands as zeros, flushes subnormal results and rounds to nearest
//! even whatever `MXCSR` says. `tdpfp16ps` reads subnormals, and its products are never such. The
//! integer products wrap around.

use super::state;
use core::arch::asm;
use core::arch::x86_64::__cpuid_count;
use std::marker::PhantomData;
use std::sync::OnceLock;

/// Rows of a tile, and columns of sums in it.
pub const ROWS: usize = 16;
/// Bytes in a row of a tile.
pub const ROW_BYTES: usize = 64;
/// Bytes of a tile whose rows lie densely.
pub const TILE_BYTES: usize = ROWS * ROW_BYTES;

/// What is multiplied, and into what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// bf16 by bf16 into f32; subnormals are lost.
    Bf16,
    /// f16 by f16 into f32.
    F16,
    /// Signed by signed bytes into i32.
    I8,
    /// Unsigned bytes on the left by signed ones on the right into i32.
    U8I8,
}

/// Whether this processor has the product and this process may use it; asked once.
pub fn available(product: Product) -> bool {
    static FEATURES: OnceLock<[u32; 2]> = OnceLock::new();
    // The standard library does not read these bits of leaf 7 on this toolchain.
    let [first, second] = FEATURES.get_or_init(|| {
        let leaf = __cpuid_count(7, 0);
        let second = if leaf.eax > 0 { __cpuid_count(7, 1).eax } else { 0 };
        if state::request_amx() { [leaf.edx, second] } else { [0; 2] }
    });
    let (features, bit) = match product {
        Product::Bf16 => (first, 22),
        Product::F16 => (second, 21),
        Product::I8 | Product::U8I8 => (first, 25),
    };
    features & 1 << bit != 0
}

/// How the tiles of one operand lie in memory; all distances in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    /// The first row of the first tile.
    pub at: *const u8,
    /// From a row of a tile to the next.
    pub row: usize,
    /// From a tile to its neighbour of the same step, below it (left) or beside it (right).
    pub neighbour: usize,
    /// From a tile to that of the next step.
    pub step: usize,
}

/// Where sums lie: 16 or 32 rows of 64 or 128 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Sums {
    /// The first.
    pub at: *mut u8,
    /// Bytes from a row to the next.
    pub row: usize,
    /// Adds to what is there; otherwise it is overwritten.
    pub adds: bool,
}

/// The tiles of this thread, configured until this is dropped.
#[derive(Debug)]
pub struct Tiles {
    product: Product,
    /// Tiles belong to the thread that configured them.
    thread: PhantomData<*mut ()>,
}

/// What `ldtilecfg` reads.
#[repr(C, align(64))]
pub(super) struct Config([u8; 64]);

/// Palette 1: eight tiles, as large as they can be.
pub(super) static WHOLE: Config = {
    let mut config = Config([0; 64]);
    config.0[0] = 1;
    let mut tile = 0;
    while tile < 8 {
        config.0[16 + 2 * tile] = ROW_BYTES as u8;
        config.0[48 + tile] = ROWS as u8;
        tile += 1;
    }
    config
};

/// The whole product of a block: `$load` and `$zero` fill the sums, `$step` takes them on by one
/// step, `$store` writes them. Tiles 0 to 3 are sums, 4 and 5 left, 6 and 7 right.
macro_rules! block {
    ($left:ident, $right:ident, $steps:ident, $sums:ident,
     [$($load:literal)+] [$($zero:literal)+] [$($step:expr),+] [$($store:literal)+]) => {
        // SAFETY: the caller vouches for the memory, and `Tiles` for the configuration. Every
        // register of the calling convention is clobbered, tiles among them; memory is too.
        unsafe {
            asm!(
                "test r15, r15",
                "jz 2f",
                $($load,)+
                "jmp 3f",
                "2:",
                $($zero,)+
                "3:",
                $($step,)+
                "add rsi, r9",
                "add r8, r9",
                "add rdi, r11",
                "add r10, r11",
                "dec rcx",
                "jnz 3b",
                $($store,)+
                inout("rsi") $left.at => _,
                inout("r8") $left.at.wrapping_add($left.neighbour) => _,
                in("rax") $left.row,
                in("r9") $left.step,
                inout("rdi") $right.at => _,
                inout("r10") $right.at.wrapping_add($right.neighbour) => _,
                in("rdx") $right.row,
                in("r11") $right.step,
                inout("rcx") $steps => _,
                in("r12") $sums.at,
                in("r13") $sums.row,
                in("r14") $sums.at.wrapping_add(ROWS * $sums.row),
                in("r15") usize::from($sums.adds),
                clobber_abi("C"), options(nostack),
            );
        }
    };
}

/// Fetches what the right operand holds eight steps from here, as if a step were two dense tiles:
/// right operands are streams from L2 or beyond. Wrong addresses cost time and nothing else.
macro_rules! ahead {
    () => {
        ahead!(
            "0" "64" "128" "192" "256" "320" "384" "448" "512" "576" "640" "704" "768" "832"
            "896" "960" "1024" "1088" "1152" "1216" "1280" "1344" "1408" "1472" "1536" "1600"
            "1664" "1728" "1792" "1856" "1920" "1984"
        )
    };
    ($($offset:literal)+) => {
        concat!($("prefetcht0 [rdi + 8 * r11 + ", $offset, "]\n"),+)
    };
}

/// The blocks of one product instruction: 1 or 2 tiles down by 1 or 2 across.
macro_rules! blocks {
    ($product:literal, $down:ident, $across:ident,
     $left:ident, $right:ident, $steps:ident, $sums:ident) => {
        match ($down, $across) {
            (1, 1) => block!($left, $right, $steps, $sums,
                ["tileloadd tmm0, [r12 + r13]"]
                ["tilezero tmm0"]
                ["tileloadd tmm4, [rsi + rax]", "tileloadd tmm6, [rdi + rdx]",
                    concat!($product, " tmm0, tmm4, tmm6"), ahead!()]
                ["tilestored [r12 + r13], tmm0"]),
            (1, 2) => block!($left, $right, $steps, $sums,
                ["tileloadd tmm0, [r12 + r13]" "tileloadd tmm1, [r12 + r13 + 64]"]
                ["tilezero tmm0" "tilezero tmm1"]
                ["tileloadd tmm4, [rsi + rax]", "tileloadd tmm6, [rdi + rdx]",
                    concat!($product, " tmm0, tmm4, tmm6"),
                    "tileloadd tmm7, [r10 + rdx]", concat!($product, " tmm1, tmm4, tmm7"), ahead!()]
                ["tilestored [r12 + r13], tmm0" "tilestored [r12 + r13 + 64], tmm1"]),
            (2, 1) => block!($left, $right, $steps, $sums,
                ["tileloadd tmm0, [r12 + r13]" "tileloadd tmm2, [r14 + r13]"]
                ["tilezero tmm0" "tilezero tmm2"]
                ["tileloadd tmm6, [rdi + rdx]", "tileloadd tmm4, [rsi + rax]",
                    concat!($product, " tmm0, tmm4, tmm6"),
                    "tileloadd tmm5, [r8 + rax]", concat!($product, " tmm2, tmm5, tmm6"), ahead!()]
                ["tilestored [r12 + r13], tmm0" "tilestored [r14 + r13], tmm2"]),
            _ => block!($left, $right, $steps, $sums,
                ["tileloadd tmm0, [r12 + r13]" "tileloadd tmm1, [r12 + r13 + 64]"
                    "tileloadd tmm2, [r14 + r13]" "tileloadd tmm3, [r14 + r13 + 64]"]
                ["tilezero tmm0" "tilezero tmm1" "tilezero tmm2" "tilezero tmm3"]
                ["tileloadd tmm4, [rsi + rax]", "tileloadd tmm6, [rdi + rdx]",
                    concat!($product, " tmm0, tmm4, tmm6"),
                    "tileloadd tmm7, [r10 + rdx]", concat!($product, " tmm1, tmm4, tmm7"),
                    "tileloadd tmm5, [r8 + rax]", concat!($product, " tmm2, tmm5, tmm6"),
                    concat!($product, " tmm3, tmm5, tmm7"), ahead!()]
                ["tilestored [r12 + r13], tmm0" "tilestored [r12 + r13 + 64], tmm1"
                    "tilestored [r14 + r13], tmm2" "tilestored [r14 + r13 + 64], tmm3"]),
        }
    };
}

/// The products of two left tiles with the two right tiles that lie so many bytes on.
macro_rules! part {
    ($product:literal, $first:literal $second:literal) => {
        concat!(
            "tileloadd tmm6, [rdi + rdx + ",
            $first,
            "]\n",
            $product,
            " tmm0, tmm4, tmm6\n",
            "tileloadd tmm7, [rdi + rdx + ",
            $second,
            "]\n",
            $product,
            " tmm1, tmm4, tmm7\n",
            $product,
            " tmm2, tmm5, tmm6\n",
            $product,
            " tmm3, tmm5, tmm7\n",
        )
    };
}

/// A block of 2 × 2 tiles of sums over right operands in parts.
macro_rules! parts_block {
    ($product:literal, $left:ident, $right:ident, $steps:ident, $sums:ident,
     [$($first:literal $second:literal),+]) => {
        block!($left, $right, $steps, $sums,
            ["tileloadd tmm0, [r12 + r13]" "tileloadd tmm1, [r12 + r13 + 64]"
                "tileloadd tmm2, [r14 + r13]" "tileloadd tmm3, [r14 + r13 + 64]"]
            ["tilezero tmm0" "tilezero tmm1" "tilezero tmm2" "tilezero tmm3"]
            ["tileloadd tmm4, [rsi + rax]", "tileloadd tmm5, [r8 + rax]",
                $(part!($product, $first $second)),+]
            ["tilestored [r12 + r13], tmm0" "tilestored [r12 + r13 + 64], tmm1"
                "tilestored [r14 + r13], tmm2" "tilestored [r14 + r13 + 64], tmm3"])
    };
}

impl Tiles {
    /// Configures this thread's tiles; `None` where [`available`] says no.
    pub fn configure(product: Product) -> Option<Tiles> {
        if !available(product) {
            return None;
        }
        // SAFETY: AMX is there and permitted; the configuration is 64 bytes valid for palette 1.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const WHOLE, options(nostack)) };
        Some(Tiles { product, thread: PhantomData })
    }

    /// Multiplies `down` left tiles by `across` right tiles over `steps` steps, at least one, into
    /// `down × across` tiles of sums; `down` and `across` are 1 or 2.
    ///
    /// # Safety
    ///
    /// For every step, `left` must lead to `down` readable tiles and `right` to `across`; `sums`
    /// must lead to `16·down` writable rows of `64·across` bytes, initialised if it adds.
    pub unsafe fn multiply(
        &self,
        (down, across): (usize, usize),
        left: Walk,
        right: Walk,
        steps: usize,
        sums: Sums,
    ) {
        let is_sized = (1..=2).contains(&down) && (1..=2).contains(&across) && steps > 0;
        assert!(is_sized, "no block of {down} by {across} tiles over {steps} steps");
        match self.product {
            Product::Bf16 => blocks!("tdpbf16ps", down, across, left, right, steps, sums),
            Product::F16 => blocks!("tdpfp16ps", down, across, left, right, steps, sums),
            Product::I8 => blocks!("tdpbssd", down, across, left, right, steps, sums),
            Product::U8I8 => blocks!("tdpbusd", down, across, left, right, steps, sums),
        }
    }

    /// Multiplies two left tiles by two right ones over `steps` steps, at least one, into 2 × 2
    /// tiles of sums; what is multiplied is the sum of `parts` right operands, 1 or 3 of bf16, 1 or
    /// 2 of f16, whose pairs of dense tiles lie side by side in each step. They are taken to be in
    /// L1.
    ///
    /// # Safety
    ///
    /// For every step, `left` must lead to 2 readable tiles and `right` to `2·parts`, dense;
    /// `sums` must lead to 32 writable rows of 128 bytes, initialised if it adds.
    pub unsafe fn multiply_parts(
        &self,
        parts: usize,
        left: Walk,
        right: Walk,
        steps: usize,
        sums: Sums,
    ) {
        assert!(steps > 0, "no product over {steps} steps");
        match (self.product, parts) {
            (Product::Bf16, 1) => {
                parts_block!("tdpbf16ps", left, right, steps, sums, ["0" "1024"]);
            }
            (Product::Bf16, 3) => {
                parts_block!("tdpbf16ps", left, right, steps, sums,
                    ["0" "1024", "2048" "3072", "4096" "5120"]);
            }
            (Product::F16, 1) => {
                parts_block!("tdpfp16ps", left, right, steps, sums, ["0" "1024"]);
            }
            (Product::F16, 2) => {
                parts_block!("tdpfp16ps", left, right, steps, sums, ["0" "1024", "2048" "3072"]);
            }
            (product, _) => panic!("no product of {product:?} with {parts} parts"),
        }
    }
}

impl Drop for Tiles {
    fn drop(&mut self) {
        // SAFETY: tiles that were configured can be released; no value is left in them.
        unsafe { asm!("tilerelease", options(nomem, nostack, preserves_flags)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: usize = 3;
    /// Bytes of terms in a row of the left operand, with a pad, so that its stride is its own.
    const LEFT_ROW: usize = STEPS * ROW_BYTES + 24;
    const SUMS_ROW: usize = 2 * ROW_BYTES + 32;

    /// Bytes that are not the same anywhere near.
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
            sum += element(product, left, i * LEFT_ROW + byte, true)
                * element(product, right, at, false);
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
                // Subnormal operands are numbers as others are.
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
}
