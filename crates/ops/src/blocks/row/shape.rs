//! The shape of ops on rows: axes `b`, `s`, `d`, and the shapes at which kernels go wrong.

use proofmark_contract::{Axis, AxisRole};
use proofmark_terms::{Case, DType};

/// The axes `b`, `s` and `d`, with the usual length of a row.
pub(crate) const fn axes(length: u64) -> [Axis; 3] {
    [
        Axis { name: "b", meaning: "sequences in the batch", role: AxisRole::Batch, default: 1 },
        Axis { name: "s", meaning: "positions", role: AxisRole::Sequence, default: 128 },
        Axis {
            name: "d",
            meaning: "elements of a row",
            role: AxisRole::Dimension,
            default: length,
        },
    ]
}

/// The sizes of a case with these axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Sequences, positions, elements of a row.
    pub(crate) sizes: [usize; 3],
    /// Rows: `b · s`.
    pub(crate) rows: usize,
    /// Elements of a row.
    pub(crate) length: usize,
}

impl Shape {
    /// Reads a case.
    pub(crate) fn of(case: &Case) -> Shape {
        let sizes = [size(case, "b"), size(case, "s"), size(case, "d")];
        Shape { sizes, rows: sizes[0] * sizes[1], length: sizes[2] }
    }

    /// Elements.
    pub(crate) fn elements(&self) -> u64 {
        (self.rows * self.length) as u64
    }
}

fn size(case: &Case, axis: &str) -> usize {
    case.size(axis).unwrap_or(0) as usize
}

/// Cases of an op on rows: every length around a vector's end, many rows, long rows, none.
pub(crate) fn edge_cases(op: &str, dtype: DType) -> Vec<Case> {
    #[rustfmt::skip] // Three numbers a case.
    let shapes = [
        (2, 2, 1), (1, 3, 2), (2, 3, 3), (3, 1, 7), (2, 2, 15), (1, 4, 16), (2, 2, 17), (1, 3, 31),
        (2, 1, 33), (1, 5, 63), (1, 3, 64), (5, 1, 65), (1, 2, 127), (1, 37, 129), (2, 3, 509),
        (1, 3, 4097), (1, 3, 0), (0, 4, 16),
    ];
    let case = |(b, s, d)| Case::new(op, dtype).axis("b", b).axis("s", s).axis("d", d);
    shapes.map(case).into()
}
