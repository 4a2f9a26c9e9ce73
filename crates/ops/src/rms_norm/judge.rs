//! What the judge knows of RMS normalisation: work, limits, what the gate tries, laws.

use super::definition::{Problem, RmsNorm};
use super::oracle;
use crate::blocks::row::{ODD, ROWS_ARE_INDEPENDENT, columns_follow, edge_cases, same_bits};
use proofmark_contract::{
    Definition, Filling, Law, Limits, Op, Portfolio, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{AttrValue, Case, DType};

impl Op for RmsNorm {
    fn work(&self, case: &Case) -> Work {
        let problem = Problem::of(case);
        let (rows, length) = (problem.rows as u64, problem.length as u64);
        let size = case.dtype.size() as u64;
        // Square, add, two products; the addition of gemma is once a column.
        Work {
            flops: 4 * rows * length + if problem.is_gemma { length } else { 0 },
            bytes_read: (rows * length + length) * size,
            bytes_written: rows * length * size,
            transcendentals: rows,
        }
    }

    fn reduction(&self, case: &Case) -> u64 {
        Problem::of(case).length as u64
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        oracle::truth(&Problem::of(case), inputs.of(0), inputs.of(1), want)
    }

    /// The default limits. Measured over all proof cases: kernels that sum in blocks or lanes
    /// reach q = 1.8 on zero-mean and 5 on structured data, a single chain of 4097 additions 4.2
    /// and 15 (squares of 16-bit elements lie on a coarse grid, where roundings repeat). Every
    /// mutant has q above 900 on some case.
    fn limits(&self, _case: &Case) -> Limits {
        Limits::default()
    }

    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let mut portfolio = Portfolio::standard(signature);
        let normal = Filling::uniform(signature, &Fill::Normal);
        let mut add = |fill| portfolio.structured.push(normal.clone().with(0, fill));
        // Rows whose mean square is near or below eps show what is done with it.
        add(Fill::Uniform { low: -1e-3, high: 1e-3 });
        add(Fill::Uniform { low: -1e-4, high: 1e-4 });
        add(Fill::Offset { mean: 1000.0 });
        if Problem::of(case).admits_tiny() {
            add(Fill::Subnormal);
        }
        portfolio
    }

    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        specials(&Problem::of(case), case.dtype, &[0, 1])
    }

    fn laws(&self) -> &'static [Law] {
        LAWS
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let mut cases = edge_cases(self.name(), dtype);
        cases.extend(variants(self.name(), dtype));
        cases
    }
}

/// Special values for the operands of these numbers. The largest is a power of two whose square,
/// d times, is at most 2^126.
pub(crate) fn specials(problem: &Problem, dtype: DType, operands: &[usize]) -> Specials {
    let length_bits = problem.length.max(1).next_power_of_two().trailing_zeros() as i32;
    let largest = 2f64.powi((126 - length_bits) / 2).min(dtype.largest());
    let mut specials = Specials::standard(operands, dtype, largest);
    if !problem.admits_tiny() {
        let tiny = 2f64.powi(dtype.min_exponent());
        specials.values.retain(|value| value.abs() > tiny || value.is_nan());
    }
    specials
}

/// Cases with every attribute's values.
pub(crate) fn variants(op: &str, dtype: DType) -> [Case; 4] {
    let case = |b, s, d| Case::new(op, dtype).axis("b", b).axis("s", s).axis("d", d);
    let gemma = |case: Case| case.attr("variant", AttrValue::Word("gemma".to_owned()));
    let eps = |case: Case, eps| case.attr("eps", AttrValue::Real(eps));
    [
        gemma(case(1, 4, 65)),
        gemma(eps(case(2, 2, 128), 1e-5)),
        eps(case(1, 3, 40), 0.1),
        eps(case(2, 3, 256), 0.0),
    ]
}

const LAWS: &[Law] = &[
    ROWS_ARE_INDEPENDENT,
    Law {
        name: "scale_free",
        statement: "with eps = 0, multiplying x by a power of two changes no bit",
        change: |case, inputs, seed| {
            let factor = [0.25, 4.0][(seed % 2) as usize];
            let range = 2f64.powi(case.dtype.min_exponent() / 2)..case.dtype.largest() / 8.0;
            let is_safe = |x: &f64| *x == 0.0 || range.contains(&x.abs());
            let applies = Problem::of(case).eps == 0.0 && inputs.of(0).iter().all(is_safe);
            inputs.tensors[0].iter_mut().for_each(|x| *x *= factor);
            applies
        },
        holds: |_, before, after| same_bits(before, after, |_, y| y),
    },
    ODD,
    columns_follow::<RmsNorm>(),
];
