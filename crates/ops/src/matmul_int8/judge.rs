//! What the judge knows of products of bytes: work, limits, what the gate tries, laws.

use super::definition::{MatmulInt8, Problem};
use super::oracle;
use crate::blocks::row::{ODD_IN_ROWS, same_bits};
use proofmark_contract::{
    Filling, Law, Limits, Op, Portfolio, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::Work;
use proofmark_tensor::{Fill, mix};
use proofmark_terms::{AttrValue, Case, DType};

impl Op for MatmulInt8 {
    fn work(&self, case: &Case) -> Work {
        let Problem { m, n, k, is_raw } = Problem::of(case);
        let scales = if is_raw { 0 } else { 4 * (m + n) };
        Work {
            flops: (2 * m * n * k) as u64,
            bytes_read: (m * k + n * k + scales) as u64,
            bytes_written: (4 * m * n) as u64,
            transcendentals: 0,
        }
    }

    fn sums_products(&self) -> bool {
        true
    }

    /// Sums are exact: their length costs nothing.
    fn reduction(&self, _case: &Case) -> u64 {
        1
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        oracle::truth(&Problem::of(case), inputs, want)
    }

    /// Sums: none. Scaled: at most three roundings of `u` each, of which the last lies within
    /// the half unit in the last place that q forgives.
    fn limits(&self, case: &Case) -> Limits {
        let q = if Problem::of(case).is_raw { 0.0 } else { 3.0 };
        Limits { q_max: q, q_rms: q, structured: q, ..Limits::default() }
    }

    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let Problem { k, is_raw, .. } = Problem::of(case);
        let fill = |a: Fill, b: Fill, scales: Fill| {
            let filling = Filling::uniform(signature, &scales).with(0, a).with(1, b);
            if is_raw { filling } else { filling.with(2, scales.clone()).with(3, scales) }
        };
        let all = || Fill::Uniform { low: -128.49, high: 127.49 };
        let constant = |value: f64| Fill::Constant { value };
        let scales = || Fill::Uniform { low: 0.001, high: 0.1 };
        // Sums stay below 2^24, where f32 is exact.
        let magnitude = ((1u64 << 23) as f64 / k.max(1) as f64).sqrt().min(127.0) as u32;
        let small = Fill::Ints { magnitude: magnitude.max(1), density: 1.0 };
        Portfolio {
            exact: vec![fill(small.clone(), small, Fill::PowersOfTwo { reach: 8 })],
            zero_mean: vec![fill(all(), all(), Fill::Normal), fill(all(), all(), scales())],
            structured: vec![
                // The largest sums of each sign, and pairs that saturate 16 bits.
                fill(constant(127.0), constant(127.0), scales()),
                fill(constant(127.0), constant(-127.0), scales()),
                fill(constant(-127.0), Fill::Alternating, scales()),
                fill(Fill::Needle, all(), scales()),
                fill(all(), Fill::Needle, scales()),
                fill(Fill::Sparse { density: 0.1 }, all(), Fill::Graded { decades: 4.0 }),
                fill(all(), Fill::Uniform { low: 100.0, high: 127.0 }, Fill::Normal),
            ],
        }
    }

    /// Fills stop at −127, so −128 is planted. Scales near underflow or overflow are not promised.
    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let mut specials = Specials::new(vec![0, 1], vec![-128.0, 127.0]);
        if !Problem::of(case).is_raw {
            specials.operands.extend([2, 3]);
            specials.values.extend([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1e15]);
        }
        specials
    }

    fn laws(&self) -> &'static [Law] {
        LAWS
    }

    fn audit(
        &self,
        case: &Case,
        inputs: &Values,
        outputs: &[Vec<f64>],
        seed: u64,
    ) -> Option<Result<(), String>> {
        oracle::freivalds(&Problem::of(case), inputs, &outputs[0], seed)
    }

    /// Edges of vectors (4, 32, 64 terms), tiles (2, 4, 6, 16, 32 rows and columns) and blocks
    /// (1024 terms, 512 columns); empty axes; the longest sums.
    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |[m, n, k]: [u64; 3]| {
            Case::new("matmul_int8", dtype).axis("m", m).axis("n", n).axis("k", k)
        };
        let raw = |case: Case| case.attr("out", AttrValue::Word("i32".to_owned()));
        let shapes = [
            [1, 1, 1],
            [2, 3, 7],
            [3, 15, 16],
            [7, 17, 31],
            [4, 33, 32],
            [13, 5, 63],
            [16, 16, 64],
            [33, 31, 65],
            [24, 48, 300],
            [1, 129, 256],
            [131, 2, 61],
            [17, 33, 1100],
            [2, 1021, 5],
            [5, 9, 0],
            [0, 5, 3],
            [3, 0, 4],
        ];
        let mut cases: Vec<Case> = shapes.into_iter().map(case).collect();
        let raws = [[1, 1, 1], [6, 4, 67], [37, 70, 129], [3, 517, 1090], [2, 3, 131_071]];
        cases.extend(raws.into_iter().map(|shape| raw(case(shape))));
        cases
    }
}

const LAWS: &[Law] = &[
    Law {
        name: "order_of_terms",
        statement: "the same rotation of the terms of a and b changes no bit",
        change: |case, inputs, seed| {
            let k = Problem::of(case).k;
            if k < 2 {
                return false;
            }
            let by = 1 + (mix(seed, 0, 0) % (k as u64 - 1)) as usize;
            for tensor in &mut inputs.tensors[..2] {
                tensor.chunks_exact_mut(k).for_each(|row| row.rotate_left(by));
            }
            true
        },
        holds: |_, before, after| same_bits(before, after, |_, old| old),
    },
    ODD_IN_ROWS,
];
