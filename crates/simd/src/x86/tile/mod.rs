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
//! even whatever `MXCSR` says. `tdpfp16ps` reads subnormals, and its products are never subnormal.
//! The integer products wrap around.

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

/// The whole product of a block: `$load` and `$zero` fill the sums, `$step` adds one step to them,
/// `$store` writes them. Tiles 0 to 3 are sums, 4 and 5 left, 6 and 7 right.
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
                inout("r15") usize::from($sums.adds) => _,
                clobber_abi("C"), options(nostack),
            );
        }
    };
}

/// Prefetches the right operand eight steps ahead, as if a step were two dense tiles, because right
/// operands stream from L2 or beyond. A wrong address costs time and nothing else.
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

/// Prefetches eight steps ahead, along the rows of a left operand, whose tiles lie below each other
/// and stream from memory. The flag in `r15` has been read by then.
macro_rules! along {
    ($($row:literal)+) => {
        concat!("lea r15, [rsi + 512]\n", $("prefetcht1 [r15]\nadd r15, ", $row, "\n"),+)
    };
}
/// [`along`] of one left tile.
macro_rules! along_one {
    () => {
        along!(
            "rax" "rax" "rax" "rax" "rax" "rax" "rax" "rax"
            "rax" "rax" "rax" "rax" "rax" "rax" "rax" "rax"
        )
    };
}
/// [`along`] of two left tiles.
macro_rules! along_two {
    () => {
        along!(
            "rax" "rax" "rax" "rax" "rax" "rax" "rax" "rax"
            "rax" "rax" "rax" "rax" "rax" "rax" "rax" "rax"
            "rax" "rax" "rax" "rax" "rax" "rax" "rax" "rax"
            "rax" "rax" "rax" "rax" "rax" "rax" "rax" "rax"
        )
    };
}

/// The blocks of one product instruction: 1 or 2 tiles down by 1 or 2 across. `$one` and `$two`
/// prefetch for one and for two left tiles.
macro_rules! blocks {
    ($product:literal, $one:ident $two:ident, $down:ident, $across:ident,
     $left:ident, $right:ident, $steps:ident, $sums:ident) => {
        match ($down, $across) {
            (1, 1) => block!($left, $right, $steps, $sums,
                ["tileloadd tmm0, [r12 + r13]"]
                ["tilezero tmm0"]
                ["tileloadd tmm4, [rsi + rax]", "tileloadd tmm6, [rdi + rdx]",
                    concat!($product, " tmm0, tmm4, tmm6"), $one!()]
                ["tilestored [r12 + r13], tmm0"]),
            (1, 2) => block!($left, $right, $steps, $sums,
                ["tileloadd tmm0, [r12 + r13]" "tileloadd tmm1, [r12 + r13 + 64]"]
                ["tilezero tmm0" "tilezero tmm1"]
                ["tileloadd tmm4, [rsi + rax]", "tileloadd tmm6, [rdi + rdx]",
                    concat!($product, " tmm0, tmm4, tmm6"),
                    "tileloadd tmm7, [r10 + rdx]", concat!($product, " tmm1, tmm4, tmm7"), $one!()]
                ["tilestored [r12 + r13], tmm0" "tilestored [r12 + r13 + 64], tmm1"]),
            (2, 1) => block!($left, $right, $steps, $sums,
                ["tileloadd tmm0, [r12 + r13]" "tileloadd tmm2, [r14 + r13]"]
                ["tilezero tmm0" "tilezero tmm2"]
                ["tileloadd tmm6, [rdi + rdx]", "tileloadd tmm4, [rsi + rax]",
                    concat!($product, " tmm0, tmm4, tmm6"),
                    "tileloadd tmm5, [r8 + rax]", concat!($product, " tmm2, tmm5, tmm6"), $two!()]
                ["tilestored [r12 + r13], tmm0" "tilestored [r14 + r13], tmm2"]),
            _ => block!($left, $right, $steps, $sums,
                ["tileloadd tmm0, [r12 + r13]" "tileloadd tmm1, [r12 + r13 + 64]"
                    "tileloadd tmm2, [r14 + r13]" "tileloadd tmm3, [r14 + r13 + 64]"]
                ["tilezero tmm0" "tilezero tmm1" "tilezero tmm2" "tilezero tmm3"]
                ["tileloadd tmm4, [rsi + rax]", "tileloadd tmm6, [rdi + rdx]",
                    concat!($product, " tmm0, tmm4, tmm6"),
                    "tileloadd tmm7, [r10 + rdx]", concat!($product, " tmm1, tmm4, tmm7"),
                    "tileloadd tmm5, [r8 + rax]", concat!($product, " tmm2, tmm5, tmm6"),
                    concat!($product, " tmm3, tmm5, tmm7"), $two!()]
                ["tilestored [r12 + r13], tmm0" "tilestored [r12 + r13 + 64], tmm1"
                    "tilestored [r14 + r13], tmm2" "tilestored [r14 + r13 + 64], tmm3"]),
        }
    };
}

/// The products of two left tiles with the two right tiles at a given byte offset.
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
            Product::Bf16 => {
                blocks!("tdpbf16ps", ahead ahead, down, across, left, right, steps, sums);
            }
            Product::F16 => {
                blocks!("tdpfp16ps", ahead ahead, down, across, left, right, steps, sums);
            }
            Product::I8 => {
                blocks!("tdpbssd", ahead ahead, down, across, left, right, steps, sums);
            }
            Product::U8I8 => {
                blocks!("tdpbusd", ahead ahead, down, across, left, right, steps, sums);
            }
        }
    }

    /// As [`Tiles::multiply`], for a left operand that is read from memory as it is stored: the
    /// prefetch runs along its rows, and the tiles of a step lie below each other.
    ///
    /// # Safety
    ///
    /// As for [`Tiles::multiply`].
    pub unsafe fn multiply_stored(
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
            Product::Bf16 => {
                blocks!("tdpbf16ps", along_one along_two, down, across, left, right, steps, sums);
            }
            Product::F16 => {
                blocks!("tdpfp16ps", along_one along_two, down, across, left, right, steps, sums);
            }
            product => panic!("no product of stored {product:?}"),
        }
    }

    /// Multiplies two left tiles by two right ones over `steps` steps, at least one, into 2 × 2
    /// tiles of sums. The right operand is the sum of `parts` operands, 1 or 3 of bf16, 1 or 2 of
    /// f16, whose pairs of dense tiles lie side by side in each step. They are assumed to be in L1.
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
mod tests;
