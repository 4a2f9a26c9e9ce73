//! The definition of products with a sparse matrix: axes, attributes and operands.

use super::structure::{PATTERNS, Pattern, Structure};
use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Definition, Operand, Role, Signature,
    check_sizes,
};
use proofmark_tensor::Fill;
use proofmark_terms::{Case, DType};

/// A product with a vector, or with a matrix of a few columns.
#[derive(Debug)]
pub(super) struct Product {
    /// Its name.
    pub(super) name: &'static str,
}

/// A case's sizes and format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem {
    /// The sparse matrix.
    pub(super) matrix: Structure,
    /// Columns of x and y; none where they are vectors.
    pub(super) width: Option<usize>,
    /// Entries come with their rows and in no order.
    pub(super) is_coo: bool,
}

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(super) fn of(case: &Case) -> Problem {
        Problem {
            matrix: Structure::of(case),
            width: case.size("p").map(|width| width as usize),
            is_coo: FORMAT.word(case) == "coo",
        }
    }

    /// Elements of a row of x and y.
    pub(super) fn columns(&self) -> usize {
        self.width.unwrap_or(1)
    }
}

pub(super) const ROWS: Axis =
    Axis { name: "m", meaning: "rows", role: AxisRole::Sequence, default: 16384 };

pub(super) const COLUMNS: Axis =
    Axis { name: "n", meaning: "columns", role: AxisRole::Dimension, default: 16384 };

const WIDTH: Axis =
    Axis { name: "p", meaning: "columns of x and y", role: AxisRole::Batch, default: 32 };

pub(super) const PATTERN: Attribute = Attribute {
    name: "pattern",
    meaning: "where entries are",
    kind: AttributeKind::Word { words: PATTERNS, default: "random" },
};

pub(super) const EACH: Attribute = Attribute {
    name: "each",
    meaning: "entries of a row on average",
    kind: AttributeKind::Int { low: 0, high: 1 << 20, default: 16 },
};

pub(super) const ENTRIES: Attribute = Attribute {
    name: "entries",
    meaning: "entries in all, of a random pattern; 0: as `each` says",
    kind: AttributeKind::Int { low: 0, high: i32::MAX as i64 - 1, default: 0 },
};

const FORMAT: Attribute = Attribute {
    name: "format",
    meaning: "row pointers, or the row of each entry in no order",
    kind: AttributeKind::Word { words: &["csr", "coo"], default: "csr" },
};

/// An operand of indices; the op itself gives it values.
pub(super) fn indices(name: &'static str, role: Role, count: usize) -> Operand {
    Operand::new(name, role, DType::I32, &[count]).dense().only(Fill::Zero)
}

/// Indices are of 32 bits with a sign.
pub(super) fn check(matrix: &Structure) -> Result<(), BadCase> {
    let limit = i32::MAX as usize;
    if matrix.rows.max(matrix.cols).max(matrix.entries()) >= limit {
        let message = "rows, columns and entries must each be below 2^31 - 1".to_owned();
        return Err(BadCase::Contradiction(message));
    }
    if matrix.counted > 0 && matrix.pattern != Pattern::Random {
        let message = "only a random pattern takes its entries as counted: leave `entries` out";
        return Err(BadCase::Contradiction(message.to_owned()));
    }
    Ok(())
}

impl Definition for Product {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        match self.name {
            "spmv" => "y = A · x of a sparse matrix and a vector",
            _ => "Y = A · X of a sparse matrix and a matrix of p columns",
        }
    }

    fn edges(&self) -> &'static [&'static str] {
        &[
            "entries of one place add up; a row without entries gives 0",
            "NaN, or 0 times infinity, reaches the rows that have the entry, and no other",
            "subnormal products count; the sign of a zero is free",
        ]
    }

    fn axes(&self) -> &'static [Axis] {
        if self.name == "spmv" { &[ROWS, COLUMNS] } else { &[ROWS, COLUMNS, WIDTH] }
    }

    fn attributes(&self) -> &'static [Attribute] {
        &[PATTERN, EACH, ENTRIES, FORMAT]
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let problem = Problem::of(case);
        let Structure { rows, cols, .. } = problem.matrix;
        check(&problem.matrix)?;
        let entries = problem.matrix.entries();
        check_sizes([entries as u64, problem.columns() as u64])?;
        let places = if problem.is_coo {
            indices("rows", Role::Input, entries)
        } else {
            indices("pointers", Role::Input, rows + 1)
        };
        let dense = |name, role, count: usize| match problem.width {
            Some(width) => Operand::new(name, role, case.dtype, &[count, width]),
            None => Operand::new(name, role, case.dtype, &[count]).dense(),
        };
        Ok(Signature::new(vec![
            places,
            indices("columns", Role::Input, entries),
            Operand::new("values", Role::Input, case.dtype, &[entries]).dense(),
            dense("x", Role::Input, cols),
            dense("y", Role::Output, rows),
        ]))
    }
}

/// Rows shorter and longer than vectors, every pattern, no entries, no rows, no columns.
pub(super) const SHAPES: &[([u64; 3], &str)] = &[
    ([1, 1, 1], "banded"),
    ([5, 7, 3], "random"),
    ([16, 16, 5], "stencil"),
    ([33, 65, 17], "random"),
    ([40, 64, 16], "banded"),
    ([100, 90, 7], "powerlaw"),
    ([64, 257, 4], "dense_row"),
    ([127, 31, 40], "random"),
    ([3, 2000, 700], "random"),
    ([300, 300, 5], "stencil"),
    ([500, 200, 9], "powerlaw"),
    ([6, 8, 0], "random"),
    ([0, 8, 4], "random"),
    ([8, 0, 4], "banded"),
];
