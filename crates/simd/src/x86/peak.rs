//! Loops that use registers only, one for each unit, so that only the unit's throughput limits
//! them.
//!
//! They are written in `asm!`, so that the compiler cannot fold a chain, split a register or spill
//! one, and so that units without stable intrinsics are covered too. Every factor is one and every
//! sum starts at zero. The sums therefore end as the number of multiply-adds, which is how they are
//! counted and how a test counts them again.

use super::tile::{self, Product, WHOLE};
use core::arch::asm;
use proofmark_schema::probe::Unit;

/// Sums of a vector loop: two units with a latency of 4 need 8, and 12 with two factors fit into
/// the 16 registers of AVX2.
const CHAINS: u64 = 12;
/// Sums of a tile loop: a product takes 52 cycles and one can start every 16.
const TILES: u64 = 6;
/// How often one step of a loop extends every chain, so that its branch costs nothing.
const UNROLL: u64 = 2;
/// Multiplications of a step of [`clock_chain`].
const LINKS: u64 = 24;
/// Cycles of one: 3 on every x86-64 processor of Intel since 2008 and of AMD since 2017.
const LINK_CYCLES: u64 = 3;
/// Cycles of one step of [`clock_chain`]; `None` where they are not known.
pub const CLOCK_CYCLES: Option<u64> = Some(LINKS * LINK_CYCLES);

/// A unit that this processor has and this process may use.
#[derive(Clone, Copy, Debug)]
pub struct Peak {
    unit: Unit,
}

/// What a loop leaves behind.
#[repr(C, align(64))]
pub struct Sums([u8; TILES as usize * 1024]);

impl Default for Sums {
    fn default() -> Sums {
        Sums([0; TILES as usize * 1024])
    }
}

/// One instruction on the register of each number.
macro_rules! each {
    ([$($number:literal)+], $head:expr, $tail:expr) => {
        concat!($($head, $number, $tail, "\n"),+)
    };
}

/// One instruction on each sum.
macro_rules! chains {
    ($head:expr, $tail:expr) => {
        each!(["0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11"], $head, $tail)
    };
}

/// One instruction on each tile of sums.
macro_rules! tiles {
    ($head:expr, $tail:expr) => {
        each!(["0" "1" "2" "3" "4" "5"], $head, $tail)
    };
}

/// A loop over vectors: `$move` moves a register, `$step` advances each sum by one product.
macro_rules! vector_loop {
    ($steps:ident, $sums:ident, $ones:ident, $move:literal, $register:literal, $end:literal,
     $($step:expr),+) => {{
        // SAFETY: the caller vouches for the instructions. Reads 64 bytes of `$ones`, reads and
        // writes 12 times at most 64 of `$sums`, which has more; every register is clobbered.
        unsafe {
            asm!(
                chains!(concat!($move, $register), ", [rdi]"),
                concat!($move, $register, "12, [rsi]"),
                concat!($move, $register, "13, [rsi]"),
                "2:",
                $($step,)+
                $($step,)+
                "dec rcx",
                "jnz 2b",
                chains!(concat!($move, "[rdi], ", $register), "\nadd rdi, 64"),
                $end,
                inout("rdi") $sums => _, in("rsi") $ones, inout("rcx") $steps => _,
                clobber_abi("C"), options(nostack),
            );
        }
    }};
    ($steps:ident, $sums:ident, $ones:ident, $instruction:literal, $register:literal) => {
        vector_loop!($steps, $sums, $ones, "vmovups ", $register, "vzeroupper",
            chains!(concat!($instruction, " ", $register),
                concat!(", ", $register, "12, ", $register, "13")))
    };
}

/// A loop over tiles of 16 rows of 64 bytes; rows of factors are all the same row of ones.
macro_rules! tile_loop {
    ($steps:ident, $sums:ident, $ones:ident, $product:literal) => {{
        // SAFETY: the caller vouches for AMX. Reads the configuration's and `$ones`' 64 bytes,
        // writes six tiles of 1024 to `$sums`, which holds them; every register is clobbered.
        unsafe {
            asm!(
                "ldtilecfg [r8]",
                tiles!("tilezero tmm", ""),
                "tileloadd tmm6, [rsi + rax]",
                "tileloadd tmm7, [rsi + rax]",
                "2:",
                tiles!($product, ", tmm6, tmm7"),
                tiles!($product, ", tmm6, tmm7"),
                "dec rcx",
                "jnz 2b",
                tiles!("tilestored [rdi + rdx], tmm", "\nadd rdi, 1024"),
                "tilerelease",
                inout("rdi") $sums => _, in("rsi") $ones, inout("rcx") $steps => _,
                in("rax") 0_u64, in("rdx") 64_u64, in("r8") &raw const WHOLE,
                clobber_abi("C"), options(nostack),
            );
        }
    }};
}

#[repr(C, align(64))]
struct Ones([u8; 64]);

impl Peak {
    /// The unit, if it is there.
    pub fn of(unit: Unit) -> Option<Peak> {
        let wide = is_x86_feature_detected!("avx512f");
        let is_there = match unit {
            Unit::F32Baseline => true,
            Unit::F32Avx2 | Unit::F64Avx2 => {
                is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
            }
            Unit::F32Avx512 | Unit::F64Avx512 => wide,
            Unit::F16Avx512 => wide && is_x86_feature_detected!("avx512fp16"),
            Unit::Bf16Avx512 => wide && is_x86_feature_detected!("avx512bf16"),
            Unit::Int8AvxVnni => is_x86_feature_detected!("avxvnni"),
            Unit::Int8Avx512Vnni => wide && is_x86_feature_detected!("avx512vnni"),
            Unit::Bf16Amx => tile::available(Product::Bf16),
            Unit::F16Amx => tile::available(Product::F16),
            Unit::Int8Amx => tile::available(Product::U8I8),
        };
        is_there.then_some(Peak { unit })
    }

    /// Multiply-adds of one step of its loop.
    pub fn multiply_adds(self) -> u64 {
        let lanes = match self.unit {
            Unit::F32Baseline | Unit::F64Avx2 => 4,
            Unit::F32Avx2 | Unit::F64Avx512 => 8,
            Unit::F32Avx512 => 16,
            Unit::F16Avx512 | Unit::Bf16Avx512 | Unit::Int8AvxVnni => 32,
            Unit::Int8Avx512Vnni => 64,
            // A tile of 16 x 16 sums of 32 or 64 products.
            Unit::Bf16Amx | Unit::F16Amx => return UNROLL * TILES * 16 * 16 * 32,
            Unit::Int8Amx => return UNROLL * TILES * 16 * 16 * 64,
        };
        UNROLL * CHAINS * lanes
    }

    /// Runs `steps` steps of its loop, at least one.
    pub fn run(self, steps: u64, sums: &mut Sums) {
        let (steps, ones) = (steps.max(1), self.ones());
        sums.0.fill(0);
        let (sums, ones) = (sums.0.as_mut_ptr(), ones.0.as_ptr());
        match self.unit {
            Unit::F32Baseline => {
                vector_loop!(
                    steps,
                    sums,
                    ones,
                    "movups ",
                    "xmm",
                    "",
                    chains!("mulps xmm", ", xmm12"),
                    chains!("addps xmm", ", xmm13")
                );
            }
            Unit::F32Avx2 => vector_loop!(steps, sums, ones, "vfmadd231ps", "ymm"),
            Unit::F64Avx2 => vector_loop!(steps, sums, ones, "vfmadd231pd", "ymm"),
            Unit::Int8AvxVnni => vector_loop!(steps, sums, ones, "{{vex}} vpdpbusd", "ymm"),
            Unit::F32Avx512 => vector_loop!(steps, sums, ones, "vfmadd231ps", "zmm"),
            Unit::F64Avx512 => vector_loop!(steps, sums, ones, "vfmadd231pd", "zmm"),
            Unit::F16Avx512 => vector_loop!(steps, sums, ones, "vfmadd231ph", "zmm"),
            Unit::Bf16Avx512 => vector_loop!(steps, sums, ones, "vdpbf16ps", "zmm"),
            Unit::Int8Avx512Vnni => vector_loop!(steps, sums, ones, "vpdpbusd", "zmm"),
            Unit::Bf16Amx => tile_loop!(steps, sums, ones, "tdpbf16ps tmm"),
            Unit::F16Amx => tile_loop!(steps, sums, ones, "tdpfp16ps tmm"),
            Unit::Int8Amx => tile_loop!(steps, sums, ones, "tdpbusd tmm"),
        }
    }

    /// A vector of ones of the unit's type.
    fn ones(self) -> Ones {
        let one: &[u8] = match self.unit {
            Unit::F32Baseline | Unit::F32Avx2 | Unit::F32Avx512 => &1_f32.to_le_bytes(),
            Unit::F64Avx2 | Unit::F64Avx512 => &1_f64.to_le_bytes(),
            Unit::F16Avx512 | Unit::F16Amx => &0x3c00_u16.to_le_bytes(),
            Unit::Bf16Avx512 | Unit::Bf16Amx => &0x3f80_u16.to_le_bytes(),
            Unit::Int8AvxVnni | Unit::Int8Avx512Vnni | Unit::Int8Amx => &[1],
        };
        let mut ones = Ones([0; 64]);
        ones.0.chunks_exact_mut(one.len()).for_each(|place| place.copy_from_slice(one));
        ones
    }
}

/// Runs `steps` steps, at least one, of multiplications that wait for one another.
pub fn clock_chain(steps: u64) {
    // SAFETY: changes three registers and touches no memory.
    unsafe {
        asm!(
            "2:",
            ".rept {links}",
            "imul rax, rax",
            ".endr",
            "dec rcx",
            "jnz 2b",
            links = const LINKS, inout("rax") 3_u64 => _, inout("rcx") steps.max(1) => _,
            options(nomem, nostack),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::state;
    use super::*;

    /// All sums of a loop, added up.
    fn total(unit: Unit, sums: &Sums) -> f64 {
        let words = |bytes: usize| sums.0.chunks_exact(bytes);
        match unit {
            Unit::F64Avx2 | Unit::F64Avx512 => {
                words(8).map(|word| f64::from_le_bytes(word.try_into().unwrap())).sum()
            }
            Unit::Int8AvxVnni | Unit::Int8Avx512Vnni | Unit::Int8Amx => {
                words(4).map(|word| f64::from(i32::from_le_bytes(word.try_into().unwrap()))).sum()
            }
            // Small whole numbers: ten bits of significand, no subnormals.
            Unit::F16Avx512 => words(2)
                .map(|word| u16::from_le_bytes(word.try_into().unwrap()))
                .filter(|&bits| bits != 0)
                .map(|bits| f64::from(1024 + (bits & 1023)) * 2f64.powi(i32::from(bits >> 10) - 25))
                .sum(),
            _ => words(4).map(|word| f64::from(f32::from_le_bytes(word.try_into().unwrap()))).sum(),
        }
    }

    #[test]
    fn every_loop_does_the_multiply_adds_that_it_is_counted_for() {
        let mut sums = Sums::default();
        for peak in Unit::ALL.into_iter().filter_map(Peak::of) {
            for steps in [1, 2, 37] {
                peak.run(steps, &mut sums);
                let counted = (steps * peak.multiply_adds()) as f64;
                assert_eq!(total(peak.unit, &sums), counted, "{:?}", peak.unit);
            }
        }
    }

    #[test]
    fn loops_leave_a_clean_state() {
        for peak in Unit::ALL.into_iter().filter_map(Peak::of) {
            state::reset();
            peak.run(3, &mut Sums::default());
            let left = state::upper_state() & (state::VECTOR_UPPER | state::TILES);
            assert_eq!(left, 0, "{:?}", peak.unit);
        }
    }
}
