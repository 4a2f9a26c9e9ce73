//! Instruction-set levels a kernel path is built for, as names.

use std::fmt;
use std::str::FromStr;

/// An instruction-set level. Ordered: a cap admits everything up to it.
///
/// Detection and the tokens that permit vector instructions live in `simd`; this is the name
/// that ids, receipts and records carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Isa {
    /// Plain scalar code as the compiler's baseline target emits it.
    Scalar,
    /// AVX2 with FMA and F16C, 256-bit vectors.
    Avx2,
    /// AVX-512 F, BW, DQ and VL, 512-bit vectors.
    Avx512,
}

impl Isa {
    /// Every level, lowest first.
    pub const ALL: [Isa; 3] = [Isa::Scalar, Isa::Avx2, Isa::Avx512];

    /// The name used in ids and in `PROOFMARK_ISA`.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that names no instruction-set level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownIsa(pub String);

impl fmt::Display for UnknownIsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Isa::ALL.map(Isa::name).join(", ");
        write!(f, "`{}` is not an instruction set (known: {known})", self.0)
    }
}

impl std::error::Error for UnknownIsa {}

impl FromStr for Isa {
    type Err = UnknownIsa;

    fn from_str(text: &str) -> Result<Self, UnknownIsa> {
        Isa::ALL
            .into_iter()
            .find(|isa| isa.name() == text)
            .ok_or_else(|| UnknownIsa(text.to_owned()))
    }
}
