//! The report of what there is: ops with axes, element types, kernels and paths; named sizes.

use crate::document::{Cell, Column, Document};
use proofmark_schema::Work;
use serde::Serialize;
use serde_json::json;

/// An axis of an op.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedAxis {
    /// Its name in cases and sweeps.
    pub name: String,
    /// What it counts.
    pub meaning: String,
    /// The size where a sweep names none.
    pub default: u64,
}

/// A kernel of an op.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedKernel {
    /// Its name.
    pub name: String,
    /// The paths it has.
    pub isas: Vec<String>,
}

/// An operand of an op at its default sizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedOperand {
    /// Its name.
    pub name: String,
    /// What a call does with it: `input`, `weight`, `random`, `output` or `inout`.
    pub role: &'static str,
    /// Its element type.
    pub dtype: String,
    /// Its sizes; the last is contiguous.
    pub shape: Vec<usize>,
}

/// A name with what it means: an attribute, or a wrong kernel and its flaw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Meant {
    /// The name.
    pub name: String,
    /// What it means.
    pub meaning: String,
}

/// The limits of the error measure q on a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ListedLimits {
    /// Greatest q on zero-mean data.
    pub q_max: f64,
    /// Root mean square of q on zero-mean data.
    pub q_rms: f64,
    /// Greatest q on structured data, before the factor for the length of sums.
    pub structured: f64,
}

/// What the judge knows of an op, on its default case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpCard {
    /// The case that shapes, work and limits are of.
    pub case: String,
    /// Its operands.
    pub operands: Vec<ListedOperand>,
    /// What each attribute changes.
    pub attributes: Vec<Meant>,
    /// Arithmetic and least traffic of one call.
    pub work: Work,
    /// The limits of q.
    pub limits: ListedLimits,
    /// What limits the op and what to look for.
    pub analysis: String,
    /// The wrong kernels that the gate must refuse, with their flaws.
    pub wrong_kernels: Vec<Meant>,
}

/// An op.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListedOp {
    /// Its name.
    #[serde(rename = "op")]
    pub name: String,
    /// The formula.
    pub summary: String,
    /// What it makes of special values, a rule each.
    pub edges: Vec<String>,
    /// Its axes in declared order.
    pub axes: Vec<ListedAxis>,
    /// Attributes as `name=default`.
    pub attributes: Vec<String>,
    /// Its element types.
    pub dtypes: Vec<String>,
    /// Its kernels.
    pub kernels: Vec<ListedKernel>,
    /// Peers that have an equal of it.
    pub peers: Vec<String>,
    /// Operands, work, limits and wrong kernels; none if its default sizes make no case.
    pub card: Option<OpCard>,
}

/// A named size and the cases it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedSize {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub summary: String,
    /// The cases, as text.
    pub cases: Vec<String>,
}

const OP_COLUMNS: [Column; 7] = [
    Column::left("op", 0),
    Column::left("axes", 0),
    Column::left("dtypes", 1),
    Column::text("kernels", 0),
    Column::text("peers", 4),
    Column::text("attributes", 3),
    Column::text("formula", 2),
];

const EDGE_COLUMNS: [Column; 1] = [Column::text("special values", 0)];

const SIZE_COLUMNS: [Column; 3] =
    [Column::left("size", 0), Column::text("for", 1), Column::text("cases", 0)];

/// The document of ops and sizes; either may be empty.
pub fn list(ops: &[ListedOp], sizes: &[ListedSize]) -> Document {
    let lines = if ops.is_empty() { "sizes" } else { "ops" };
    let mut document = Document::new("What there is", json!({ "ops": ops, "sizes": sizes }), lines);
    document.table("ops", &OP_COLUMNS, ops.iter().map(op_row).collect());
    // The rules of one op are its card; those of all would bury the table.
    if let [op] = ops {
        let rule = |edge: &String| vec![Cell::plain(edge.clone())];
        document.table("edges", &EDGE_COLUMNS, op.edges.iter().map(rule).collect());
    }
    document.table("sizes", &SIZE_COLUMNS, sizes.iter().map(size_row).collect());
    document
}

fn op_row(op: &ListedOp) -> Vec<Cell> {
    let axes: Vec<String> =
        op.axes.iter().map(|axis| format!("{}={}", axis.name, axis.default)).collect();
    let kernels: Vec<String> = op.kernels.iter().map(kernel).collect();
    let texts = [
        op.name.clone(),
        axes.join(","),
        op.dtypes.join(" "),
        kernels.join(" "),
        op.peers.join(" "),
        op.attributes.join(" "),
        op.summary.clone(),
    ];
    texts.into_iter().map(Cell::plain).collect()
}

fn kernel(kernel: &ListedKernel) -> String {
    format!("{}@{}", kernel.name, kernel.isas.join("|"))
}

fn size_row(size: &ListedSize) -> Vec<Cell> {
    let texts = [size.name.clone(), size.summary.clone(), size.cases.join(" ")];
    texts.into_iter().map(Cell::plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};

    #[test]
    fn ops_are_listed_with_axes_types_and_paths() {
        let op = ListedOp {
            name: "matmul".to_owned(),
            summary: "c = a·b".to_owned(),
            edges: vec!["NaN stays".to_owned()],
            axes: vec![ListedAxis {
                name: "m".to_owned(),
                meaning: "rows".to_owned(),
                default: 64,
            }],
            attributes: vec!["layout=nn".to_owned()],
            dtypes: vec!["f32".to_owned(), "bf16".to_owned()],
            kernels: vec![ListedKernel {
                name: "simd".to_owned(),
                isas: vec!["avx2".to_owned(), "avx512".to_owned()],
            }],
            peers: vec!["mkl".to_owned()],
            card: None,
        };
        let document = list(&[op], &[]);
        let text = (find("term").unwrap().render)(&document, &Style::default());
        for part in
            ["matmul", "m=64", "f32 bf16", "simd@avx2|avx512", "layout=nn", "c = a·b", "NaN stays"]
        {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(!text.contains("sizes"), "{text}");
        assert_eq!(document.data["ops"][0]["axes"][0]["default"], 64);
    }
}
