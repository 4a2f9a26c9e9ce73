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
    Flag {
        /// What it is where a case does not name it.
        default: bool,
    },
    /// A whole number from `low` to `high`.
    Int {
        /// Least value.
        low: i64,
        /// Greatest value.
        high: i64,
        /// What it is where a case does not name it.
        default: i64,
    },
    /// A real number from `low` to `high`.
    Real {
        /// Least value.
        low: f64,
        /// Greatest value.
        high: f64,
        /// What it is where a case does not name it.
        default: f64,
    },
    /// One of these words.
    Word {
        /// All that it may be.
        words: &'static [&'static str],
        /// What it is where a case does not name it.
        default: &'static str,
    },
}

impl fmt::Display for AttributeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttributeKind::Flag { .. } => write!(f, "`true` or `false`"),
            AttributeKind::Int { low, high, .. } => {
                write!(f, "a whole number from {low} to {high}")
            }
            AttributeKind::Real { low, high, .. } => write!(f, "a number from {low} to {high}"),
            AttributeKind::Word { words, .. } => write!(f, "one of {}", words.join(", ")),
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
    /// What it may be, and what it is where a case does not name it.
    pub kind: AttributeKind,
}

impl Attribute {
    /// What it is where a case does not name it.
    pub fn default(&self) -> AttrValue {
        match self.kind {
            AttributeKind::Flag { default } => AttrValue::Flag(default),
            AttributeKind::Int { default, .. } => AttrValue::Int(default),
            AttributeKind::Real { default, .. } => AttrValue::Real(default),
            AttributeKind::Word { default, .. } => AttrValue::Word(default.to_owned()),
        }
    }

    /// The flag in a case.
    ///
    /// # Panics
    /// If the attribute is no flag.
    #[inline]
    pub fn flag(&self, case: &Case) -> bool {
        let AttributeKind::Flag { default } = self.kind else { self.is_no("flag") };
        match case.get(self.name) {
            Some(AttrValue::Flag(flag)) => *flag,
            _ => default,
        }
    }

    /// The whole number in a case.
    ///
    /// # Panics
    /// If the attribute is no whole number.
    #[inline]
    pub fn int(&self, case: &Case) -> i64 {
        let AttributeKind::Int { default, .. } = self.kind else { self.is_no("whole number") };
        match case.get(self.name) {
            Some(AttrValue::Int(int)) => *int,
            _ => default,
        }
    }

    /// The real number in a case, which may name it as a whole number.
    ///
    /// # Panics
    /// If the attribute is no real number.
    #[inline]
    pub fn real(&self, case: &Case) -> f64 {
        let AttributeKind::Real { default, .. } = self.kind else { self.is_no("real number") };
        match case.get(self.name) {
            Some(AttrValue::Real(real)) => *real,
            Some(AttrValue::Int(int)) => *int as f64,
            _ => default,
        }
    }

    /// The word in a case.
    ///
    /// # Panics
    /// If the attribute is no word.
    #[inline]
    pub fn word<'a>(&self, case: &'a Case) -> &'a str {
        let AttributeKind::Word { default, .. } = self.kind else { self.is_no("word") };
        match case.get(self.name) {
            Some(AttrValue::Word(word)) => word,
            _ => default,
        }
    }

    #[cold]
    fn is_no(&self, kind: &str) -> ! {
        panic!("the attribute `{}` is no {kind}", self.name)
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
