//! The names of types in Rust and C.

use super::{BadPrototype, Pointee, Scalar};
use proofmark_schema::DType;

/// Numbers by their names in Rust and C. C's are those of 64-bit Linux.
const SCALARS: &[(&str, Scalar)] = &[
    ("i32", Scalar::I32),
    ("u32", Scalar::U32),
    ("i64", Scalar::I64),
    ("u64", Scalar::U64),
    ("isize", Scalar::I64),
    ("usize", Scalar::U64),
    ("f32", Scalar::F32),
    ("f64", Scalar::F64),
    ("bool", Scalar::Bool),
    ("_Bool", Scalar::Bool),
    ("int", Scalar::I32),
    ("signed", Scalar::I32),
    ("signed int", Scalar::I32),
    ("unsigned", Scalar::U32),
    ("unsigned int", Scalar::U32),
    ("long", Scalar::I64),
    ("long int", Scalar::I64),
    ("long long", Scalar::I64),
    ("unsigned long", Scalar::U64),
    ("unsigned long int", Scalar::U64),
    ("unsigned long long", Scalar::U64),
    ("int32_t", Scalar::I32),
    ("uint32_t", Scalar::U32),
    ("int64_t", Scalar::I64),
    ("uint64_t", Scalar::U64),
    ("size_t", Scalar::U64),
    ("ssize_t", Scalar::I64),
    ("ptrdiff_t", Scalar::I64),
    ("float", Scalar::F32),
    ("double", Scalar::F64),
];

/// What is only pointed to.
const POINTEES: &[(&str, Pointee)] = &[
    ("void", Pointee::Any),
    ("c_void", Pointee::Any),
    ("char", Pointee::Char),
    ("c_char", Pointee::Char),
    ("u16", Pointee::Bits16),
    ("uint16_t", Pointee::Bits16),
    ("unsigned short", Pointee::Bits16),
    ("f16", Pointee::Element(DType::F16)),
    ("_Float16", Pointee::Element(DType::F16)),
    ("__fp16", Pointee::Element(DType::F16)),
    ("bf16", Pointee::Element(DType::Bf16)),
    ("__bf16", Pointee::Element(DType::Bf16)),
    ("f8e4m3", Pointee::Element(DType::F8e4m3)),
    ("f8e5m2", Pointee::Element(DType::F8e5m2)),
    ("i8", Pointee::Element(DType::I8)),
    ("int8_t", Pointee::Element(DType::I8)),
    ("signed char", Pointee::Element(DType::I8)),
    ("u8", Pointee::Element(DType::U8)),
    ("uint8_t", Pointee::Element(DType::U8)),
    ("unsigned char", Pointee::Element(DType::U8)),
];

/// The name of a number in Rust.
pub(super) fn name_of(wanted: Scalar) -> &'static str {
    SCALARS.iter().find(|(_, scalar)| *scalar == wanted).map_or("", |(name, _)| name)
}

/// The number of this name.
pub(super) fn scalar(name: &str) -> Result<Scalar, BadPrototype> {
    let found = SCALARS.iter().find(|(known, _)| *known == name).map(|(_, scalar)| *scalar);
    found.ok_or_else(|| {
        let known = "i32, u32, i64, u64, isize, usize, f32, f64, bool, and C's names of these";
        BadPrototype(format!("`{name}` is not the type of a number; there are {known}"))
    })
}

/// What a pointer of this name points to.
pub(super) fn pointee(name: &str) -> Result<Pointee, BadPrototype> {
    if let Some((_, pointee)) = POINTEES.iter().find(|(known, _)| *known == name) {
        return Ok(*pointee);
    }
    let bad = |_| {
        let known = "f64, f32, f16, bf16, u16 (bits of either), i64, i32, u32, i8, u8, char, void";
        BadPrototype(format!("`{name}` cannot be pointed to; there are {known}, and C's names"))
    };
    Ok(match scalar(name).map_err(bad)? {
        Scalar::F32 => Pointee::Element(DType::F32),
        Scalar::F64 => Pointee::Element(DType::F64),
        Scalar::I32 => Pointee::Element(DType::I32),
        Scalar::U32 => Pointee::Element(DType::U32),
        Scalar::I64 => Pointee::Element(DType::I64),
        number @ (Scalar::U64 | Scalar::Bool) => Pointee::Number(number),
    })
}
