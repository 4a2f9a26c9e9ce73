//! Operands as exact reals, and the truth about outputs.

use std::fmt;

/// The values of all operands before a call, decoded to `f64`, in the signature's order.
///
/// Every element type but `i64` and `f64` sums is exact in `f64`, so an oracle reads the very
/// numbers that the contender reads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    /// One dense row-major vector for each operand; an output's is empty.
    pub tensors: Vec<Vec<f64>>,
}

impl Values {
    /// The values of operand `index`.
    pub fn of(&self, index: usize) -> &[f64] {
        &self.tensors[index]
    }
}

/// Which elements of an output are wanted: some rows by some columns (a row is the last axis).
///
/// Small outputs are wanted whole. Of large ones the gate wants the edges of tiles and samples,
/// so that a proof costs a fraction of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Want {
    rows: Option<Vec<usize>>,
    cols: Option<Vec<usize>>,
}

impl Want {
    /// Every element.
    pub fn all() -> Want {
        Want { rows: None, cols: None }
    }

    /// The product of these rows and columns; `None` means all.
    pub fn some(rows: Option<Vec<usize>>, cols: Option<Vec<usize>>) -> Want {
        Want { rows, cols }
    }

    /// The rows wanted of `total`.
    pub fn rows(&self, total: usize) -> Vec<usize> {
        self.rows.clone().unwrap_or_else(|| (0..total).collect())
    }

    /// The columns wanted of `total`.
    pub fn cols(&self, total: usize) -> Vec<usize> {
        self.cols.clone().unwrap_or_else(|| (0..total).collect())
    }

    /// Flat indices of the wanted elements of a `rows × cols` output, in the order of [`Truth`].
    pub fn indices(&self, rows: usize, cols: usize) -> Vec<usize> {
        let wanted = self.cols(cols);
        let of_row = |row: usize| wanted.iter().map(move |col| row * cols + col);
        self.rows(rows).into_iter().flat_map(of_row).collect()
    }
}

/// The truth about an output: for each wanted element its value and its error scale.
///
/// The error of a contender is judged as `max(0, |got − value| − ½ulp) / (u·scale)`. The scale is
/// what makes one limit serve every op, element type and length: it is the sum of the
/// magnitudes that pass through the computation of that element.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Truth {
    /// Exact values (correct to far below the output's precision).
    pub value: Vec<f64>,
    /// Error scales; never negative.
    pub scale: Vec<f64>,
    /// What is added to the scales of contenders whose contract promises less: only the accuracy of
    /// the textbook formula, in which larger terms cancel, or of intermediate results that are
    /// rounded. Empty where no contract may promise less.
    pub forgiven: Vec<f64>,
}

impl Truth {
    /// Room for `count` elements.
    pub fn with_capacity(count: usize) -> Truth {
        let room = || Vec::with_capacity(count);
        Truth { value: room(), scale: room(), forgiven: Vec::new() }
    }

    /// Adds one element.
    pub fn push(&mut self, value: f64, scale: f64) {
        self.value.push(value);
        self.scale.push(scale);
    }
}

/// Why there is no truth about an output. The ops of this project always have it; an op whose
/// reference is a program of the user may not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoTruth {
    /// The program that runs the reference is not on this machine; the text says how to get it.
    Absent(String),
    /// The reference is valid, but its error scale cannot be derived.
    Underivable(String),
    /// The reference gives results that do not depend on its inputs, so that a right kernel cannot
    /// be told from a wrong one.
    Blind(String),
    /// The reference fails on these operands, or does not run at all.
    Failed(String),
}

impl fmt::Display for NoTruth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoTruth::Absent(hint) => write!(f, "the reference cannot run: {hint}"),
            NoTruth::Blind(why) => write!(f, "the reference cannot tell right from wrong: {why}"),
            NoTruth::Underivable(why) => write!(f, "the reference has no derived scale: {why}"),
            NoTruth::Failed(why) => write!(f, "the reference failed: {why}"),
        }
    }
}

impl std::error::Error for NoTruth {}
