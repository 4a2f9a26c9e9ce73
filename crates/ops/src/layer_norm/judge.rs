//! What the judge knows of layer normalisation: work, limits, what the gate tries, laws.

use super::definition::{LayerNorm, Problem};
use super::oracle;
use crate::blocks::row::{
    ROWS_ARE_INDEPENDENT, Shape, columns_follow, edge_cases, same_bits, shift_free,
};
use proofmark_contract::{
    Definition, Filling, Law, Op, Portfolio, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{AttrValue, Case, DType};

impl Op for LayerNorm {
    fn work(&self, case: &Case) -> Work {
        let (shape, size) = (Shape::of(case), case.dtype.size() as u64);
        // Sum; difference, square, sum; difference, two products, sum.
        Work {
            flops: 8 * shape.elements(),
            bytes_read: (shape.elements() + 2 * shape.length as u64) * size,
            bytes_written: shape.elements() * size,
            transcendentals: shape.rows as u64,
        }
    }

    fn reduction(&self, case: &Case) -> u64 {
        Problem::of(case).length as u64
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        oracle::truth(&Problem::of(case), [0, 1, 2].map(|i| inputs.of(i)), want)
    }

    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let mut portfolio = Portfolio::standard(signature);
        let normal = Filling::uniform(signature, &Fill::Normal);
        let mut add = |fill| portfolio.structured.push(normal.clone().with(0, fill));
        // Variances around eps and below show what is done with it; offsets, whether squares are
        // taken of differences.
        add(Fill::Uniform { low: -1e-2, high: 1e-2 });
        add(Fill::Uniform { low: -1e-3, high: 1e-3 });
        add(Fill::Uniform { low: -1e-6, high: 1e-6 });
        add(Fill::Offset { mean: 1e3 });
        add(Fill::Offset { mean: 1e4 });
        if Problem::of(case).admits_tiny() {
            add(Fill::Subnormal);
        }
        portfolio
    }

    /// `largest` is a power of two whose square, 4d times, is at most 2^126. In a row of one
    /// element x − μ is 0 or what rounding leaves, which an infinite gamma would tell apart.
    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let problem = Problem::of(case);
        let length_bits = problem.length.max(1).next_power_of_two().trailing_zeros() as i32;
        let largest = 2f64.powi((124 - length_bits) / 2).min(case.dtype.largest());
        let operands: &[usize] = if problem.length > 1 { &[0, 1, 2] } else { &[0, 2] };
        let mut specials = Specials::standard(operands, case.dtype, largest);
        if !problem.admits_tiny() {
            let tiny = 2f64.powi(case.dtype.min_exponent());
            specials.values.retain(|value| value.abs() > tiny || value.is_nan());
        }
        specials
    }

    fn laws(&self) -> &'static [Law] {
        LAWS
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |b, s, d, eps| {
            let case = Case::new("layer_norm", dtype).axis("b", b).axis("s", s).axis("d", d);
            case.attr("eps", AttrValue::Real(eps))
        };
        let mut cases = edge_cases(self.name(), dtype);
        cases.extend([case(2, 2, 128, 1e-12), case(1, 3, 40, 0.1), case(2, 3, 256, 0.0)]);
        cases
    }
}

const LAWS: &[Law] = &[
    ROWS_ARE_INDEPENDENT,
    columns_follow::<LayerNorm>(),
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
    shift_free::<LayerNorm>(),
    Law {
        name: "weights_are_linear",
        statement: "doubling gamma and beta doubles y, to the bit",
        change: |case, inputs, _| {
            inputs.tensors[1..3].iter_mut().flatten().for_each(|weight| *weight *= 2.0);
            // Results of f16 may be subnormal, where a doubled one keeps a digit more.
            case.dtype != DType::F16
        },
        holds: |_, before, after| same_bits(before, after, |_, y| 2.0 * y),
    },
];
