//! What an op is for its callers: axes, attributes, operands.

use crate::{BadCase, Signature};
use proofmark_terms::{AttrValue, Case, DType};
use std::fmt;

/// What an axis stands for in flat tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisRole {
    /// Independent problems.
    Batch,
    /// Positions of a sequence, or rows.
    Sequence,
    /// An inner dimension.
    Dimension,
}

/// An axis of an op's cases, in declared order.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// Its name in cases and sweeps.
    pub name: &'static str,
    /// What it counts.
    pub meaning: &'static str,
    /// Its column in flat tables.
    pub role: AxisRole,
    /// The size where a sweep names none.
    pub default: u64,
}

/// The values an attribute may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AttributeKind {
    /// `true` or `false`.
    Flag,
    /// A whole number from `low` to `high`.
    Int {
        /// Least value.
        low: i64,
        /// Greatest value.
        high: i64,
    },
    /// A real number from `low` to `high`.
    Real {
        /// Least value.
        low: f64,
        /// Greatest value.
        high: f64,
    },
    /// One of these words.
    Word(&'static [&'static str]),
}

impl fmt::Display for AttributeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttributeKind::Flag => write!(f, "`true` or `false`"),
            AttributeKind::Int { low, high } => write!(f, "a whole number from {low} to {high}"),
            AttributeKind::Real { low, high } => write!(f, "a number from {low} to {high}"),
            AttributeKind::Word(words) => write!(f, "one of {}", words.join(", ")),
        }
    }
}

/// An attribute of an op's cases.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    /// Its name in cases.
    pub name: &'static str,
    /// What it changes.
    pub meaning: &'static str,
    /// What it may be.
    pub kind: AttributeKind,
    /// What it is where a case does not name it, as text.
    pub default: &'static str,
}

impl Attribute {
    /// What it is where a case does not name it.
    pub(crate) fn default_value(&self) -> AttrValue {
        let text = self.default;
        match self.kind {
            AttributeKind::Flag => AttrValue::Flag(text == "true"),
            AttributeKind::Int { .. } => AttrValue::Int(text.parse().expect("a whole number")),
            AttributeKind::Real { .. } => AttrValue::Real(text.parse().expect("a number")),
            AttributeKind::Word(_) => AttrValue::Word(text.to_owned()),
        }
    }
}

/// The definition of a computation: what a call of it is given and gives.
pub trait Definition: Send + Sync + 'static {
    /// Its name: the same string in folder, command line, TOML, JSON and report.
    fn name(&self) -> &'static str;

    /// One line: the formula.
    fn summary(&self) -> &'static str;

    /// Its rules for special values, one string each; empty where only its card states them.
    fn edges(&self) -> &'static [&'static str] {
        &[]
    }

    /// Its axes in declared order.
    fn axes(&self) -> &'static [Axis];

    /// Its attributes.
    fn attributes(&self) -> &'static [Attribute];

    /// Primary element types it is defined for.
    fn dtypes(&self) -> &'static [DType];

    /// The operands of a case.
    ///
    /// # Errors
    /// If the axes and attributes make no sense together. Names, kinds and ranges are checked
    /// before by [`crate::check_case`].
    fn signature(&self, case: &Case) -> Result<Signature, BadCase>;
}
