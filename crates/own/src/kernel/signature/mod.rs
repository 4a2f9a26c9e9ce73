//! The signature of a foreign function, as Rust or C writes it.

mod names;
mod read;
#[cfg(test)]
mod tests;

use crate::Expression;
use names::name_of;
use proofmark_schema::DType;
use std::fmt;

/// The signature of a function: what it takes and whether it returns a code.
#[derive(Clone, Debug, PartialEq)]
pub struct Prototype {
    /// The name of the function, if the text has it.
    pub name: Option<String>,
    /// Its parameters, in order.
    pub parameters: Vec<Parameter>,
    /// The type of the code that it returns, in which 0 is success; none if it returns nothing.
    pub returns: Option<Scalar>,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name: of an operand, an axis, an attribute, or one that is known everywhere.
    pub name: String,
    /// What it takes.
    pub takes: Takes,
    /// The value that it is given, if the text states one.
    pub value: Option<Value>,
}

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// A number.
    Value(Scalar),
    /// An address of operands, or of a number where no operand has the name.
    Pointer {
        /// What lies there.
        to: Pointee,
        /// Whether the function may write there.
        writes: bool,
    },
    /// The address of a number.
    Reference(Scalar),
}

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// 32 bits with a sign.
    I32,
    /// 32 bits without a sign.
    U32,
    /// 64 bits with a sign.
    I64,
    /// 64 bits without a sign.
    U64,
    /// A float of 32 bits.
    F32,
    /// A float of 64 bits.
    F64,
    /// `true` or `false`, in one byte.
    Bool,
}

/// What an address points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointee {
    /// Anything: `void`.
    Any,
    /// Bytes, or a word that ends in 0: `char`.
    Char,
    /// Bits of f16 or of bf16: `u16`.
    Bits16,
    /// Elements of this type.
    Element(DType),
    /// Numbers of this type, which no operand has.
    Number(Scalar),
}

/// The value that the text gives to a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A real number.
    Real(f64),
    /// A whole number by a formula.
    Whole(Expression),
}

/// Why a text is not a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPrototype(pub String);

impl fmt::Display for BadPrototype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadPrototype {}

impl Pointee {
    /// Whether elements of this type may lie there.
    pub fn fits(self, dtype: DType) -> bool {
        match self {
            Pointee::Any => true,
            Pointee::Char => dtype.size() == 1,
            Pointee::Bits16 => matches!(dtype, DType::F16 | DType::Bf16),
            Pointee::Element(DType::U8) => dtype.size() == 1 && dtype != DType::I8,
            Pointee::Element(element) => element == dtype,
            Pointee::Number(_) => false,
        }
    }

    /// The number that lies there, if it is one.
    pub fn scalar(self) -> Option<Scalar> {
        match self {
            Pointee::Number(scalar) => Some(scalar),
            Pointee::Element(DType::F32) => Some(Scalar::F32),
            Pointee::Element(DType::F64) => Some(Scalar::F64),
            Pointee::Element(DType::I32) => Some(Scalar::I32),
            Pointee::Element(DType::U32) => Some(Scalar::U32),
            Pointee::Element(DType::I64) => Some(Scalar::I64),
            _ => None,
        }
    }
}

impl Scalar {
    /// Its name in Rust.
    pub fn name(self) -> &'static str {
        name_of(self)
    }
}

impl fmt::Display for Pointee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pointee::Any => f.write_str("void"),
            Pointee::Char => f.write_str("char"),
            Pointee::Bits16 => f.write_str("u16"),
            Pointee::Element(element) => element.fmt(f),
            Pointee::Number(scalar) => f.write_str(scalar.name()),
        }
    }
}
