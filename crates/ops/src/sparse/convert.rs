//! The definition of conversions between the formats of a sparse matrix.

use super::definition::{COLUMNS, EACH, ENTRIES, PATTERN, ROWS, SHAPES, check, indices};
use super::oracle;
use super::structure::Structure;
use proofmark_contract::{
    Attribute, Axis, BadCase, Filling, Limits, Op, Operand, Portfolio, Role, Signature, Specials,
    Truth, Values, Want,
};
use proofmark_schema::{AttrValue, Case, DType, Work};
use proofmark_tensor::Fill;

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

impl Op for Convert {
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

    fn work(&self, case: &Case) -> Work {
        let matrix = Structure::of(case);
        let (entries, rows) = (matrix.entries() as u64, matrix.rows as u64 + 1);
        let (coo, csr) = (12 * entries, 8 * entries + 4 * rows);
        let (bytes_read, bytes_written) =
            if self.way == Way::ToCsr { (coo, csr) } else { (csr, coo) };
        Work { flops: 0, bytes_read, bytes_written, transcendentals: 0 }
    }

    fn reduction(&self, _case: &Case) -> u64 {
        1
    }

    fn oracle(&self, case: &Case, inputs: &Values, output: usize, want: &Want) -> Truth {
        oracle::conversion(&Conversion::of(case), inputs, output, want)
    }

    /// Every place and value is the right one or wrong.
    fn limits(&self, _case: &Case) -> Limits {
        Limits { q_max: 0.0, q_rms: 0.0, structured: 0.0, ..Limits::default() }
    }

    fn portfolio(&self, _case: &Case, signature: &Signature) -> Portfolio {
        let mut portfolio = Portfolio::standard(signature);
        portfolio.exact.push(Filling::uniform(signature, &Fill::Normal));
        portfolio
    }

    fn structure(&self, case: &Case, seed: u64, inputs: &mut Values) {
        let matrix = Structure::of(case);
        [inputs.tensors[0], inputs.tensors[1]] = match self.way {
            Way::ToCsr => matrix.scattered(seed),
            Way::ToCoo => {
                let [pointers, _, columns] = matrix.made(seed);
                [pointers, columns]
            }
        };
    }

    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let largest = case.dtype.largest();
        Specials { signed_zero: true, ..Specials::standard(&[2], case.dtype, largest) }
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |&([m, n, each], pattern): &([u64; 3], &str)| {
            let case = Case::new(self.name(), dtype).axis("m", m).axis("n", n);
            let case = case.attr("pattern", AttrValue::Word(pattern.to_owned()));
            case.attr("each", AttrValue::Int(each as i64))
        };
        SHAPES.iter().map(case).collect()
    }
}
