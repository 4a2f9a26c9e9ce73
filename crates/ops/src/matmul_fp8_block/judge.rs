//! What the judge knows of block-scaled fp8 products: work, limits, what the gate tries, laws.

use super::definition::{MatmulFp8Block, Problem};
use super::oracle;
use crate::blocks::row::{ODD_IN_ROWS, same_bits};
use proofmark_contract::{Filling, Law, Op, Portfolio, Signature, Specials, Truth, Values, Want};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{AttrValue, Case, DType};

impl Op for MatmulFp8Block {
    fn work(&self, case: &Case) -> Work {
        let problem = Problem::of(case);
        let Problem { m, n, k, block, is_quantised } = problem;
        let across = problem.across();
        let left = if is_quantised { 2 * m * k } else { m * k + 4 * m * across };
        Work {
            flops: (2 * m * n * k) as u64,
            bytes_read: (left + n * k + 4 * n.div_ceil(block) * across) as u64,
            bytes_written: (m * n * case.dtype.size()) as u64,
            transcendentals: 0,
        }
    }

    fn sums_products(&self) -> bool {
        true
    }

    fn reduction(&self, case: &Case) -> u64 {
        case.size("k").unwrap_or(1)
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        oracle::truth(&Problem::of(case), inputs, want)
    }

    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let problem = Problem::of(case);
        let right = problem.right();
        let fill = |a: Fill, b: Fill, scales: Fill| {
            let filling = Filling::uniform(signature, &scales).with(0, a).with(right, b);
            let filling = filling.with(right + 1, scales.clone());
            if problem.is_quantised { filling } else { filling.with(1, scales) }
        };
        let all = || Fill::Uniform { low: -448.0, high: 448.0 };
        let scales = || Fill::Uniform { low: 0.001, high: 0.1 };
        let ints = |magnitude| Fill::Ints { magnitude, density: 1.0 };
        let mut portfolio = Portfolio {
            exact: Vec::new(),
            zero_mean: vec![
                fill(Fill::Normal, Fill::Normal, Fill::Normal),
                fill(Fill::Normal, all(), scales()),
            ],
            structured: vec![
                fill(all(), all(), scales()),
                fill(Fill::Uniform { low: 0.0, high: 1.0 }, Fill::Offset { mean: 8.0 }, scales()),
                fill(Fill::Graded { decades: 2.0 }, Fill::Graded { decades: 2.0 }, scales()),
                fill(Fill::Subnormal, Fill::Subnormal, scales()),
                fill(Fill::Alternating, Fill::Constant { value: -448.0 }, scales()),
                fill(Fill::HeavyTail, Fill::HeavyTail, Fill::Graded { decades: 4.0 }),
                fill(Fill::Cancel, Fill::Constant { value: 1.0 }, scales()),
                fill(Fill::Needle, all(), scales()),
                fill(all(), Fill::Needle, Fill::Normal),
                fill(ints(4), ints(4), scales()),
            ],
        };
        // Codes that are small integers and one scale: 16 a term. On the way activations
        // would get scales that no sum is exact with; bf16 results would not hold the sums.
        if !problem.is_quantised && case.dtype == DType::F32 && problem.k <= 1 << 18 {
            portfolio.exact.push(fill(ints(4), ints(4), Fill::Constant { value: 0.5 }));
        }
        portfolio
    }

    /// NaN and extremes in both matrices; scales are finite by definition.
    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let problem = Problem::of(case);
        let values = vec![f64::NAN, 0.0, -0.0, 448.0, -448.0, 2f64.powi(-9)];
        Specials::new(vec![0, problem.right()], values)
    }

    /// The product with activations that were not quantised, beside the one with them.
    fn fidelity(
        &self,
        case: &Case,
        inputs: &Values,
        outputs: &[Vec<f64>],
    ) -> Option<[Vec<f64>; 2]> {
        let problem = Problem::of(case);
        // As large as a proof's cases are; more would cost more than it tells.
        let is_small = problem.m * problem.n * problem.k <= 1 << 22;
        if !problem.is_quantised || outputs[0].is_empty() || !is_small {
            return None;
        }
        let wanted = oracle::product(&problem, inputs.of(0), inputs, &Want::all()).value;
        Some([wanted, outputs[0].clone()])
    }

    fn laws(&self) -> &'static [Law] {
        LAWS
    }

    /// Edges of vectors, tiles (6, 32 rows; 4, 32 columns), blocks of terms and of columns.
    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |[m, n, k]: [u64; 3]| {
            Case::new("matmul_fp8_block", dtype).axis("m", m).axis("n", n).axis("k", k)
        };
        let block = |case: Case, size: i64| case.attr("block", AttrValue::Int(size));
        let quantised =
            |case: Case| case.attr("activations", AttrValue::Word("quantised".to_owned()));
        let shapes = [
            [1, 1, 1],
            [2, 3, 7],
            [7, 17, 31],
            [5, 9, 128],
            [33, 31, 129],
            [6, 4, 256],
            [24, 40, 300],
            [14, 35, 520],
            [33, 260, 130],
            [32, 3, 1100],
            [1, 129, 256],
            [3, 259, 140],
            [2, 3, 2049],
            [5, 9, 0],
            [0, 5, 3],
            [3, 0, 4],
        ];
        let mut cases: Vec<Case> = shapes.into_iter().map(case).collect();
        cases.push(block(case([9, 300, 520]), 256));
        cases.push(block(case([3, 5, 1100]), 512));
        cases.push(quantised(case([1, 1, 1])));
        cases.push(quantised(case([5, 33, 300])));
        cases.push(quantised(case([35, 3, 128])));
        cases.push(quantised(block(case([4, 9, 777]), 256)));
        cases
    }
}

const LAWS: &[Law] = &[
    Law {
        name: "linear_in_scales",
        statement: "doubling the scales of b doubles c, to the bit",
        change: |case, inputs, _| {
            let scales = Problem::of(case).right() + 1;
            inputs.tensors[scales].iter_mut().for_each(|scale| *scale *= 2.0);
            true
        },
        holds: |_, before, after| same_bits(before, after, |_, old| 2.0 * old),
    },
    ODD_IN_ROWS,
];
