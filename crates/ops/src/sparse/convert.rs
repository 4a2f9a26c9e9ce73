//! The definition of conversions between the formats of a sparse matrix.

use super::definition::{COLUMNS, EACH, ENTRIES, PATTERN, ROWS, check, indices};
use super::structure::Structure;
use proofmark_contract::{Attribute, Axis, BadCase, Definition, Operand, Role, Signature};
use proofmark_terms::{Case, DType};

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// From entries in no order to rows.
    ToCsr,
    /// From rows to entries.
    ToCoo,
}

/// The op.
#[derive(Debug)]
pub(super) struct Convert {
    /// Its way.
    pub(super) way: Way,
}

/// A case's sizes and way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conversion {
    /// The matrix.
    pub(super) matrix: Structure,
    /// The way.
    pub(super) way: Way,
}

impl Conversion {
    /// Reads a case that the op's signature accepted.
    pub(super) fn of(case: &Case) -> Conversion {
        let way = if case.op == "coo_to_csr" { Way::ToCsr } else { Way::ToCoo };
        Conversion { matrix: Structure::of(case), way }
    }
}

impl Definition for Convert {
    fn name(&self) -> &'static str {
        if self.way == Way::ToCsr { "coo_to_csr" } else { "csr_to_coo" }
    }

    fn summary(&self) -> &'static str {
        match self.way {
            Way::ToCsr => "row pointers, and entries sorted by row and column",
            Way::ToCoo => "the row of each entry, of row pointers",
        }
    }

    fn edges(&self) -> &'static [&'static str] {
        &[
            "entries of one place are kept, in the order they came in",
            "values are copied bit by bit, NaN too; rows without entries are there",
        ]
    }

    fn axes(&self) -> &'static [Axis] {
        &[ROWS, COLUMNS]
    }

    fn attributes(&self) -> &'static [Attribute] {
        &[PATTERN, EACH, ENTRIES]
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let matrix = Structure::of(case);
        check(&matrix)?;
        let (rows, entries) = (matrix.rows, matrix.entries());
        let places = |way: Way, role| match way {
            Way::ToCsr => indices("rows", role, entries),
            Way::ToCoo => indices("pointers", role, rows + 1),
        };
        let values = |role| Operand::new("values", role, case.dtype, &[entries]).dense();
        let other = if self.way == Way::ToCsr { Way::ToCoo } else { Way::ToCsr };
        let both = [(self.way, Role::Input), (other, Role::Output)];
        let operands = both.into_iter().flat_map(|(way, role)| {
            [places(way, role), indices("columns", role, entries), values(role)]
        });
        Ok(Signature::new(operands.collect()))
    }
}
