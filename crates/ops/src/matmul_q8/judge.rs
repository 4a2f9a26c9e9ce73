//! What the judge knows of products with 8-bit weights: work, limits, what the gate tries, laws.

use super::definition::{MatmulQ8, Problem};
use super::oracle;
use crate::blocks::row::{ODD_IN_ROWS, same_bits};
use proofmark_contract::{Filling, Law, Op, Portfolio, Signature, Specials, Truth, Values, Want};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{AttrValue, Case, DType};

impl Op for MatmulQ8 {
    /// A product, a sum and the scaling of the weight count as in a plain product: two a term.
    fn work(&self, case: &Case) -> Work {
        let Problem { m, n, k, group } = Problem::of(case);
        Work {
            flops: (2 * m * n * k) as u64,
            bytes_read: (4 * m * k + n * k + 4 * n * k.div_ceil(group)) as u64,
            bytes_written: (4 * m * n) as u64,
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
        let fill = |x: Fill, codes: Fill, scales: Fill| {
            Filling::uniform(signature, &x).with(1, codes).with(2, scales)
        };
        let all = || Fill::Uniform { low: -128.49, high: 127.49 };
        let scales = || Fill::Uniform { low: 0.001, high: 0.1 };
        // |x · code| ≤ m², summed over k terms and scaled by 1: below 2^24.
        let terms = Problem::of(case).k.max(1) as f64;
        let magnitude = ((1u64 << 22) as f64 / terms).sqrt().min(64.0) as u32;
        let small = || Fill::Ints { magnitude: magnitude.max(1), density: 1.0 };
        Portfolio {
            exact: vec![
                fill(small(), small(), Fill::Constant { value: 0.25 }),
                // About 4 terms are not 0. Each is below 2^(2 + 7 + 4) and a multiple of 2^-4, so
                // that f32 holds any sum of 128 of them.
                fill(
                    Fill::Ints { magnitude: 4, density: 4.0 / terms.max(4.0) },
                    all(),
                    Fill::PowersOfTwo { reach: 4 },
                ),
            ],
            zero_mean: vec![
                fill(Fill::Normal, all(), Fill::Normal),
                fill(Fill::Uniform { low: -1.0, high: 1.0 }, all(), scales()),
            ],
            structured: vec![
                fill(Fill::Uniform { low: 0.0, high: 1.0 }, all(), scales()),
                fill(
                    Fill::Offset { mean: 10.0 },
                    Fill::Uniform { low: 0.0, high: 127.0 },
                    scales(),
                ),
                fill(Fill::Graded { decades: 4.0 }, all(), Fill::Graded { decades: 4.0 }),
                fill(Fill::Alternating, Fill::Constant { value: -128.0 }, scales()),
                fill(Fill::HeavyTail, all(), scales()),
                fill(Fill::Cancel, Fill::Constant { value: 127.0 }, scales()),
                fill(Fill::Needle, all(), scales()),
                fill(Fill::Normal, Fill::Needle, scales()),
                fill(Fill::Normal, all(), Fill::Needle),
            ],
        }
    }

    /// Fills stop at −127: as a code, minus infinity is −128.
    fn specials(&self, _case: &Case, _signature: &Signature) -> Specials {
        let large = 2f64.powi(50);
        let values = vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, large, -large];
        Specials::new(vec![0, 1, 2], values)
    }

    fn laws(&self) -> &'static [Law] {
        LAWS
    }

    /// Edges of vectors and tiles (1 to 6 rows, 4 columns), of groups, of panels that are decoded
    /// for some rows or packed for many (32 and 256 columns, 1024 terms), empty axes.
    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |[m, n, k]: [u64; 3]| {
            Case::new("matmul_q8", dtype).axis("m", m).axis("n", n).axis("k", k)
        };
        let group = |case: Case, size: i64| case.attr("group", AttrValue::Int(size));
        let shapes = [
            [1, 1, 1],
            [2, 3, 7],
            [3, 15, 16],
            [7, 17, 31],
            [5, 9, 32],
            [13, 33, 33],
            [6, 4, 64],
            [24, 21, 300],
            [1, 129, 256],
            [1, 37, 1100],
            [65, 2, 61],
            [9, 37, 600],
            [34, 260, 40],
            [33, 3, 1100],
            [2, 3, 4097],
            [5, 9, 0],
            [0, 5, 3],
            [3, 0, 4],
        ];
        let mut cases: Vec<Case> = shapes.into_iter().map(case).collect();
        cases.push(group(case([3, 5, 130]), 64));
        cases.push(group(case([8, 6, 384]), 128));
        cases
    }
}

const LAWS: &[Law] = &[
    Law {
        name: "linear_in_scales",
        statement: "doubling all scales doubles y, to the bit",
        change: |_, inputs, _| {
            inputs.tensors[2].iter_mut().for_each(|scale| *scale *= 2.0);
            true
        },
        holds: |_, before, after| same_bits(before, after, |_, old| 2.0 * old),
    },
    ODD_IN_ROWS,
];
