//! A case in oneDNN's terms: the formula, and how its operands lie.

use super::primitive::{Formula, View};
use proofmark_schema::{Case, DType};
use std::ffi::c_int;

/// Most operands of an op.
pub(super) const OPERANDS: usize = 3;
/// The library's numbers of roles.
pub(super) const SOURCE: c_int = 1;
pub(super) const RESULT: c_int = 17;
const SECOND_SOURCE: c_int = 2;
const WEIGHTS: c_int = 33;

/// A case's formula and sizes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem {
    pub(super) formula: Formula,
    dtype: DType,
    result: DType,
    /// Products that share nothing; 1 for everything else than products.
    batches: usize,
    rows: usize,
    columns: usize,
    /// Terms of each sum of a product.
    terms: usize,
    is_transposed: bool,
    is_in_place: bool,
}

impl Problem {
    pub(super) fn of(case: &Case) -> Problem {
        let size = |axis: &str| case.size(axis).unwrap_or(1) as usize;
        let other = Problem {
            formula: match case.op.as_str() {
                "matmul" => Formula::Matmul,
                "softmax" => Formula::Softmax,
                "silu" => Formula::Swish,
                _ => Formula::Add,
            },
            dtype: case.dtype,
            result: if case.word("out", "same") == "f32" { DType::F32 } else { case.dtype },
            batches: 1,
            rows: size("b") * size("s"),
            columns: size("d"),
            terms: 1,
            is_transposed: case.word("layout", "nn") == "nt",
            is_in_place: case.flag("inplace", false),
        };
        if other.formula != Formula::Matmul {
            return other;
        }
        // Products with one right side are one taller product, as users of linear layers call it.
        let (batches, rows) = match size("b") {
            batches if case.flag("shared", false) => (1, batches * size("m")),
            batches => (batches, size("m")),
        };
        Problem { batches, rows, columns: size("n"), terms: size("k"), ..other }
    }

    /// Whether there is nothing to sum up or to write, which the library does not define.
    pub(super) fn is_empty(&self) -> bool {
        [self.batches, self.rows, self.columns, self.terms].contains(&0)
    }

    /// The same with one of everything that there is none of.
    pub(super) fn inhabited(self) -> Problem {
        Problem {
            batches: self.batches.max(1),
            rows: self.rows.max(1),
            columns: self.columns.max(1),
            terms: self.terms.max(1),
            ..self
        }
    }

    /// The row strides of operands without padding, in the order of calls.
    pub(super) fn dense(&self) -> [usize; OPERANDS] {
        let Problem { columns, terms, .. } = *self;
        match (self.formula, self.is_in_place) {
            (Formula::Matmul, _) => {
                [terms, if self.is_transposed { terms } else { columns }, columns]
            }
            (Formula::Add, false) => [columns; 3],
            (Formula::Softmax, true) => [columns, 0, 0],
            _ => [columns, columns, 0],
        }
    }

    /// The operands with these row strides; the result is last.
    pub(super) fn views(&self, row_strides: [usize; OPERANDS]) -> Vec<View> {
        let Problem { batches, rows, columns, terms, .. } = *self;
        let view = |role, operand: usize, dtype, sizes: [usize; 2]| {
            view(role, operand, dtype, (batches, sizes), row_strides[operand])
        };
        let even = |role, operand| view(role, operand, self.dtype, [rows, columns]);
        match (self.formula, self.is_in_place) {
            (Formula::Matmul, _) => {
                let mut right = match self.is_transposed {
                    false => view(WEIGHTS, 1, self.dtype, [terms, columns]),
                    true => view(WEIGHTS, 1, self.dtype, [columns, terms]),
                };
                if self.is_transposed {
                    let last = right.dims.len() - 1;
                    right.dims.swap(last - 1, last);
                    right.strides.swap(last - 1, last);
                }
                let left = view(SOURCE, 0, self.dtype, [rows, terms]);
                vec![left, right, view(RESULT, 2, self.result, [rows, columns])]
            }
            (Formula::Add, false) => vec![even(SOURCE, 0), even(SECOND_SOURCE, 1), even(RESULT, 2)],
            // Written operands follow those that are only read.
            (Formula::Add, true) => vec![even(SOURCE, 1), even(SECOND_SOURCE, 0), even(RESULT, 1)],
            (_, true) => vec![even(SOURCE, 0), even(RESULT, 0)],
            (_, false) => vec![even(SOURCE, 0), even(RESULT, 1)],
        }
    }
}

/// Row-major matrices, `row_stride` elements from row to row.
pub(super) fn view(
    role: c_int,
    operand: usize,
    dtype: DType,
    (batches, [rows, columns]): (usize, [usize; 2]),
    row_stride: usize,
) -> View {
    let mut dims = vec![rows as i64, columns as i64];
    let mut strides = vec![row_stride as i64, 1];
    if batches != 1 {
        dims.insert(0, batches as i64);
        strides.insert(0, (rows * row_stride) as i64);
    }
    View { role, operand, dtype: number(dtype).unwrap_or(0), dims, strides }
}

/// The library's number of an element type that it computes with.
pub(super) fn number(dtype: DType) -> Option<c_int> {
    match dtype {
        DType::F16 => Some(1),
        DType::Bf16 => Some(2),
        DType::F32 => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(case: &str) -> Problem {
        Problem::of(&case.parse().unwrap())
    }

    fn shapes(problem: &Problem, row_strides: [usize; 3]) -> Vec<(usize, Vec<i64>, Vec<i64>)> {
        let views = problem.views(row_strides).into_iter();
        views.map(|view| (view.operand, view.dims, view.strides)).collect()
    }

    #[test]
    fn a_transposed_right_side_is_a_matter_of_strides() {
        let of = problem("matmul:bf16[b=2,m=3,n=5,k=7;layout=nt,out=f32]");
        assert_eq!(of.dense(), [7, 7, 5]);
        let expected = [
            (0, vec![2, 3, 7], vec![24, 8, 1]),
            (1, vec![2, 7, 5], vec![45, 1, 9]),
            (2, vec![2, 3, 5], vec![18, 6, 1]),
        ];
        assert_eq!(shapes(&of, [8, 9, 6]), expected);
        let types: Vec<c_int> = of.views([8, 9, 6]).iter().map(|view| view.dtype).collect();
        assert_eq!(types, [2, 2, 3]);
    }

    #[test]
    fn products_with_one_right_side_are_one_product() {
        let of = problem("matmul:f32[b=2,m=3,n=5,k=7;shared=true]");
        let expected =
            [(0, vec![6, 7], vec![7, 1]), (1, vec![7, 5], vec![5, 1]), (2, vec![6, 5], vec![5, 1])];
        assert_eq!(shapes(&of, of.dense()), expected);
    }

    #[test]
    fn in_place_the_result_is_the_first_source() {
        let of = problem("add:f32[b=2,s=3,d=5;inplace=true]");
        let operands: Vec<usize> = of.views(of.dense()).iter().map(|view| view.operand).collect();
        assert_eq!(operands, [1, 0, 1]);
        let of = problem("softmax:f32[b=2,s=3,d=5;inplace=true]");
        assert_eq!(of.dense(), [5, 0, 0]);
        let operands: Vec<usize> = of.views(of.dense()).iter().map(|view| view.operand).collect();
        assert_eq!(operands, [0, 0]);
    }

    #[test]
    fn a_sum_of_no_terms_is_left_to_the_adapter() {
        assert!(problem("matmul:f32[b=1,m=3,n=5,k=0]").is_empty());
        assert!(problem("silu:f32[b=0,s=3,d=5]").is_empty());
        assert!(!problem("matmul:f32[b=1,m=3,n=5,k=7]").is_empty());
    }
}
