//! What the judge knows of the normalisation of queries and keys:
//! work, limits, what the gate tries, laws.

use super::definition::{Problem, QkNorm};
use super::oracle;
use crate::blocks::row::{ROWS_ARE_INDEPENDENT, columns_follow, same_bits};
use crate::rms_norm::judge::specials;
use proofmark_contract::{Filling, Law, Op, Portfolio, Signature, Specials, Truth, Values, Want};
use proofmark_schema::Work;
use proofmark_schema::record::ShapeRoles;
use proofmark_tensor::Fill;
use proofmark_terms::{AttrValue, Case, DType};

impl Op for QkNorm {
    fn work(&self, case: &Case) -> Work {
        let problem = Problem::of(case);
        let (rows, length) = (problem.all_rows(), problem.length as u64);
        let size = case.dtype.size() as u64;
        // Square, add, two products.
        Work {
            flops: 4 * rows * length,
            bytes_read: (rows + problem.present.len() as u64) * length * size,
            bytes_written: rows * length * size,
            transcendentals: rows,
        }
    }

    fn reduction(&self, case: &Case) -> u64 {
        Problem::of(case).length as u64
    }

    fn oracle(&self, case: &Case, inputs: &Values, output: usize, want: &Want) -> Truth {
        let problem = Problem::of(case);
        let w = inputs.of(problem.present.len() + output);
        oracle::truth(&problem, output, inputs.of(output), w, want)
    }

    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let mut portfolio = Portfolio::standard(signature);
        let normal = Filling::uniform(signature, &Fill::Normal);
        let problem = Problem::of(case);
        let mut add = |fill: Fill| {
            let with = |filling: Filling, n: usize| filling.with(n, fill.clone());
            portfolio.structured.push((0..problem.present.len()).fold(normal.clone(), with));
        };
        // Rows whose mean square is near or below eps show what is done with it.
        add(Fill::Uniform { low: -1e-3, high: 1e-3 });
        add(Fill::Uniform { low: -1e-4, high: 1e-4 });
        if problem.rows(0).admits_tiny() {
            add(Fill::Subnormal);
        }
        portfolio
    }

    fn specials(&self, case: &Case, signature: &Signature) -> Specials {
        let operands: Vec<usize> = (0..signature.inputs().len()).collect();
        specials(&Problem::of(case).rows(0), case.dtype, &operands)
    }

    fn laws(&self) -> &'static [Law] {
        LAWS
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |[b, s, h, kv, d]: [u64; 5]| {
            let case = Case::new("qk_norm", dtype).axis("b", b).axis("s", s);
            case.axis("h", h).axis("kv", kv).axis("d", d)
        };
        let which = |case: Case, word: &str| case.attr("which", AttrValue::Word(word.to_owned()));
        let eps = |case: Case, eps| case.attr("eps", AttrValue::Real(eps));
        #[rustfmt::skip] // Five numbers a case.
        let shapes = [
            [1, 1, 1, 1, 1], [2, 1, 3, 1, 2], [1, 2, 2, 1, 7], [1, 3, 1, 1, 15], [1, 2, 2, 2, 16],
            [2, 2, 2, 1, 17], [1, 1, 4, 2, 31], [1, 2, 3, 1, 33], [2, 1, 4, 2, 64],
            [1, 3, 2, 1, 65],
            [1, 9, 4, 2, 96], [1, 2, 4, 1, 128], [1, 1, 3, 2, 129], [2, 2, 4, 1, 256],
            [1, 1, 2, 1, 1031], [1, 2, 3, 1, 0], [0, 2, 4, 2, 16],
        ];
        let mut cases: Vec<Case> = shapes.map(case).into();
        cases.extend([
            which(case([1, 3, 4, 2, 65]), "q"),
            which(case([2, 2, 4, 2, 65]), "k"),
            eps(case([1, 3, 2, 1, 40]), 0.1),
            eps(case([1, 2, 3, 2, 128]), 0.0),
        ]);
        cases
    }

    fn shape_roles(&self, case: &Case) -> ShapeRoles {
        let size = |axis| case.size(axis).unwrap_or(0);
        ShapeRoles {
            batch_size: size("b"),
            sequence_length: size("s"),
            tensor_dimension: (size("h") + size("kv")) * size("d"),
        }
    }
}

const LAWS: &[Law] = &[
    ROWS_ARE_INDEPENDENT,
    columns_follow::<QkNorm>(),
    Law {
        name: "scale_free",
        statement: "with eps = 0, multiplying the heads by a power of two changes no bit",
        change: |case, inputs, _| {
            let problem = Problem::of(case);
            let range = 2f64.powi(case.dtype.min_exponent() / 2)..case.dtype.largest() / 8.0;
            let heads = &mut inputs.tensors[..problem.present.len()];
            let is_safe = |x: &f64| *x == 0.0 || range.contains(&x.abs());
            let applies = problem.eps == 0.0 && heads.iter().flatten().all(is_safe);
            heads.iter_mut().flatten().for_each(|x| *x *= 4.0);
            applies
        },
        holds: |_, before, after| same_bits(before, after, |_, y| y),
    },
    Law {
        name: "odd",
        statement: "negating the heads negates the results, to the bit",
        change: |case, inputs, _| {
            let heads = &mut inputs.tensors[..Problem::of(case).present.len()];
            heads.iter_mut().flatten().for_each(|x| *x = -*x);
            true
        },
        holds: |_, before, after| same_bits(before, after, |_, y| -y),
    },
];
