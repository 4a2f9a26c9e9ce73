//! What machine code is made of, and whether it keeps what its name promises.

use proofmark_schema::{ContenderId, Isa};
use serde::Serialize;

/// The widest registers that code uses; later ones are wider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Width {
    /// General registers only.
    #[default]
    General,
    /// 128 bits.
    Xmm,
    /// 256 bits.
    Ymm,
    /// 512 bits.
    Zmm,
    /// Tiles.
    Tile,
}

impl Width {
    /// The word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Width::General => "none",
            Width::Xmm => "xmm, 128 bits",
            Width::Ymm => "ymm, 256 bits",
            Width::Zmm => "zmm, 512 bits",
            Width::Tile => "tiles",
        }
    }
}

/// The instructions of one function.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Mix {
    /// The function.
    pub function: String,
    /// Its address in the program.
    pub address: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Share of the samples that fell into it.
    pub share: f64,
    /// Instructions.
    pub instructions: u64,
    /// Those on vectors or tiles.
    pub vector: u64,
    /// Those that multiply and add.
    pub multiply_adds: u64,
    /// Calls.
    pub calls: u64,
    /// Jumps.
    pub jumps: u64,
    /// The widest registers.
    pub widest: Width,
    /// The commonest instructions with their counts.
    pub commonest: Vec<(String, u64)>,
    /// Share of its samples that fell on instructions on vectors.
    pub vector_time: f64,
}

/// What the name of a contender promises of its registers, if it promises anything.
pub fn promised(who: &ContenderId) -> Option<Width> {
    if who.name.contains("amx") {
        return Some(Width::Tile);
    }
    match who.isa {
        Some(Isa::Avx512) => Some(Width::Zmm),
        Some(Isa::Avx2) => Some(Width::Ymm),
        Some(Isa::Scalar) | None => None,
    }
}

/// The widest registers of code where the time goes.
pub fn widest(mixes: &[Mix]) -> Width {
    mixes.iter().map(|mix| mix.widest).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_promise_registers() {
        let promised = |who: &str| promised(&who.parse().unwrap());
        assert_eq!(promised("native/simd@avx512"), Some(Width::Zmm));
        assert_eq!(promised("native/simd@avx2"), Some(Width::Ymm));
        assert_eq!(promised("native/amx@avx512"), Some(Width::Tile));
        assert_eq!(promised("native/scalar@scalar"), None);
        assert_eq!(promised("peer/pytorch"), None);
        assert!(Width::Tile > Width::Zmm && Width::Xmm > Width::General);
        assert_eq!(widest(&[]), Width::General);
    }
}
