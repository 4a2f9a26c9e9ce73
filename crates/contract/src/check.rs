//! Whether a case fits its op: names, order, kinds and ranges.

use crate::{Attribute, AttributeKind, Definition, Signature};
use proofmark_terms::{AttrValue, Case, DType, MAX_OPERANDS};
use std::fmt;

/// Greatest size of one axis.
pub const MOST_OF_AXIS: u64 = 1 << 40;

/// Greatest product of sizes: attention over 131,072 positions of a large model is a quarter of
/// it, and what ops make of it (bytes, flops) stays far within 64 bits.
pub const MOST_OF_SIZES: u64 = 1 << 52;

/// Why a case does not fit its op.
#[derive(Clone, Debug, PartialEq)]
pub enum BadCase {
    /// The case is of another op.
    OtherOp(String),
    /// An axis is not given.
    MissingAxis {
        /// The axis.
        axis: String,
        /// All axes of the op.
        known: Vec<&'static str>,
    },
    /// The op has no such axis.
    UnknownAxis {
        /// What was given.
        axis: String,
        /// All axes of the op.
        known: Vec<&'static str>,
    },
    /// The op has no such attribute.
    UnknownAttribute {
        /// What was given.
        attribute: String,
        /// All attributes of the op.
        known: Vec<&'static str>,
    },
    /// The attribute cannot have that value.
    BadAttribute {
        /// The attribute.
        attribute: String,
        /// What was given.
        value: String,
        /// What it may be.
        expected: AttributeKind,
    },
    /// The op is not defined for the element type.
    BadDType {
        /// What was given.
        dtype: DType,
        /// All element types of the op.
        known: Vec<&'static str>,
    },
    /// An axis is longer than any memory.
    LongAxis {
        /// The axis.
        axis: String,
        /// Its size.
        size: u64,
    },
    /// Axes and attributes together are more than any computer computes.
    TooLarge,
    /// Axes or attributes make no sense together.
    Contradiction(String),
}

impl fmt::Display for BadCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadCase::OtherOp(op) => write!(f, "the case is of op `{op}`"),
            BadCase::MissingAxis { axis, known } => {
                write!(f, "axis `{axis}` is missing (axes: {})", listed(known))
            }
            BadCase::UnknownAxis { axis, known } => {
                write!(f, "there is no axis `{axis}` (axes: {})", listed(known))
            }
            BadCase::UnknownAttribute { attribute, known } => {
                write!(f, "there is no attribute `{attribute}` (attributes: {})", listed(known))
            }
            BadCase::BadAttribute { attribute, value, expected } => {
                write!(f, "attribute `{attribute}` cannot be `{value}`: it is {expected}")
            }
            BadCase::BadDType { dtype, known } => {
                write!(f, "element type {dtype} is not defined here (defined: {})", listed(known))
            }
            BadCase::LongAxis { axis, size } => {
                write!(f, "axis `{axis}` is {size}: at most {MOST_OF_AXIS} (2^40)")
            }
            BadCase::TooLarge => {
                write!(f, "its sizes multiplied are over {MOST_OF_SIZES} (2^52): make axes smaller")
            }
            BadCase::Contradiction(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for BadCase {}

/// Checks a case against its op's axes, attributes and element types; gives its operands.
///
/// # Errors
/// What does not fit, with what would.
pub fn check_case(op: &dyn Definition, case: &Case) -> Result<Signature, BadCase> {
    if case.op != op.name() {
        return Err(BadCase::OtherOp(case.op.clone()));
    }
    if !op.dtypes().contains(&case.dtype) {
        let known = op.dtypes().iter().map(|dtype| dtype.name()).collect();
        return Err(BadCase::BadDType { dtype: case.dtype, known });
    }
    let known = || op.axes().iter().map(|axis| axis.name).collect();
    for (name, _) in &case.axes {
        if !op.axes().iter().any(|axis| axis.name == name) {
            return Err(BadCase::UnknownAxis { axis: name.clone(), known: known() });
        }
    }
    for axis in op.axes() {
        if case.size(axis.name).is_none() {
            return Err(BadCase::MissingAxis { axis: axis.name.to_owned(), known: known() });
        }
    }
    // This comes before any op multiplies sizes, so that no op has to check for overflow.
    if let Some((axis, size)) = case.axes.iter().find(|(_, size)| *size > MOST_OF_AXIS) {
        return Err(BadCase::LongAxis { axis: axis.clone(), size: *size });
    }
    check_sizes(case.axes.iter().map(|(_, size)| *size))?;
    for (name, value) in &case.attrs {
        let attribute = op.attributes().iter().find(|attribute| attribute.name == name);
        let attribute = attribute.ok_or_else(|| BadCase::UnknownAttribute {
            attribute: name.clone(),
            known: op.attributes().iter().map(|attribute| attribute.name).collect(),
        })?;
        check_attribute(attribute, value)?;
    }
    let signature = op.signature(case)?;
    if signature.operands().len() > MAX_OPERANDS {
        let message = format!("{} operands, at most {MAX_OPERANDS}", signature.operands().len());
        return Err(BadCase::Contradiction(message));
    }
    // Attributes, such as the taps of a convolution, make operands larger than axes alone do.
    for operand in signature.operands() {
        check_sizes(operand.shape.iter().map(|&size| size as u64))?;
    }
    Ok(signature)
}

/// Checks that sizes can be multiplied without overflow; a size of 0 counts as 1. An op whose work
/// grows with more than the product of its axes calls it in its signature.
///
/// # Errors
/// If the product is over [`MOST_OF_SIZES`].
pub fn check_sizes(sizes: impl IntoIterator<Item = u64>) -> Result<(), BadCase> {
    let product = sizes.into_iter().try_fold(1u64, |so_far, size| so_far.checked_mul(size.max(1)));
    match product {
        Some(product) if product <= MOST_OF_SIZES => Ok(()),
        _ => Err(BadCase::TooLarge),
    }
}

/// The case with its axes in the op's order and missing ones at their defaults.
pub fn complete_case(op: &dyn Definition, case: &Case) -> Case {
    let mut axes: Vec<(String, u64)> = op
        .axes()
        .iter()
        .map(|axis| (axis.name.to_owned(), case.size(axis.name).unwrap_or(axis.default)))
        .collect();
    // Unknown axes stay, so that the check can name them.
    let is_known = |name: &str| op.axes().iter().any(|axis| axis.name == name);
    axes.extend(case.axes.iter().filter(|(name, _)| !is_known(name)).cloned());
    Case { op: case.op.clone(), dtype: case.dtype, axes, attrs: case.attrs.clone() }
}

fn check_attribute(attribute: &Attribute, value: &AttrValue) -> Result<(), BadCase> {
    let fits = match attribute.kind {
        AttributeKind::Flag { .. } => matches!(value, AttrValue::Flag(_)),
        AttributeKind::Int { low, high, .. } => {
            matches!(value, AttrValue::Int(int) if (low..=high).contains(int))
        }
        AttributeKind::Real { low, high, .. } => {
            let real = match value {
                AttrValue::Real(real) => *real,
                AttrValue::Int(int) => *int as f64,
                _ => f64::NAN,
            };
            (low..=high).contains(&real)
        }
        AttributeKind::Word { words, .. } => {
            matches!(value, AttrValue::Word(word) if words.contains(&word.as_str()))
        }
    };
    if fits {
        return Ok(());
    }
    Err(BadCase::BadAttribute {
        attribute: attribute.name.to_owned(),
        value: value.to_string(),
        expected: attribute.kind,
    })
}

fn listed(words: &[&str]) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}
