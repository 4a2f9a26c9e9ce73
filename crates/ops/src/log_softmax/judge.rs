//! What the judge knows of the logarithm of softmax: work, limits, what the gate tries, laws.

use super::definition::LogSoftmax;
use super::oracle;
use crate::blocks::row::{
    ROWS_ARE_INDEPENDENT, Shape, columns_follow, edge_cases, room, shift_free,
};
use proofmark_contract::{
    Definition, Filling, Law, Observed, Op, Portfolio, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{Case, DType};

impl Op for LogSoftmax {
    fn work(&self, case: &Case) -> Work {
        let shape = Shape::of(case);
        let bytes = shape.elements() * case.dtype.size() as u64;
        // Maximum, difference, sum, two differences; one exponential each, a logarithm a row.
        Work {
            flops: 5 * shape.elements(),
            bytes_read: bytes,
            bytes_written: bytes,
            transcendentals: shape.elements() + shape.rows as u64,
        }
    }

    fn reduction(&self, case: &Case) -> u64 {
        Shape::of(case).length as u64
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        let Shape { rows, length, .. } = Shape::of(case);
        oracle::truth((rows, length), inputs.of(0), want)
    }

    fn portfolio(&self, _case: &Case, signature: &Signature) -> Portfolio {
        let mut portfolio = Portfolio::standard(signature);
        let mut add = |fill| portfolio.structured.push(Filling::uniform(signature, &fill));
        // Past ±89 an exponential without the shift overflows or vanishes; below -104 so does a
        // probability, whose logarithm is still a number.
        add(Fill::Offset { mean: 100.0 });
        add(Fill::Offset { mean: -200.0 });
        add(Fill::Uniform { low: -100.0, high: 0.0 });
        add(Fill::Uniform { low: -1000.0, high: 1000.0 });
        add(Fill::Ints { magnitude: 8, density: 1.0 });
        portfolio
    }

    /// Any finite value is admitted: a difference that overflows is the right result.
    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        Specials::standard(&[0], case.dtype, case.dtype.largest())
    }

    fn laws(&self) -> &'static [Law] {
        LAWS
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let mut cases = edge_cases(self.name(), dtype);
        let long = Case::new(self.name(), dtype).axis("b", 1).axis("s", 1).axis("d", 20_011);
        cases.push(long);
        cases
    }
}

const LAWS: &[Law] = &[
    ROWS_ARE_INDEPENDENT,
    columns_follow::<LogSoftmax>(),
    shift_free::<LogSoftmax>(),
    Law {
        name: "exponentials_sum_to_one",
        statement: "e to the power of each row sums to 1 within its error bound, also for -x",
        change: |_, inputs, _| {
            inputs.tensors[0].iter_mut().for_each(|x| *x = -*x);
            true
        },
        holds: |case, before, after| sums_to_one(case, before).and(sums_to_one(case, after)),
    },
];

fn sums_to_one(case: &Case, run: Observed<'_>) -> Result<(), String> {
    let length = Shape::of(case).length.max(1);
    let truth = LogSoftmax.oracle(case, run.inputs, 0, &Want::all());
    for (row, y) in run.outputs[0].chunks(length).enumerate() {
        let scales = &truth.scale[row * length..];
        let room = |(&y, &scale): (&f64, &f64)| y.exp() * room(&LogSoftmax, case, y, scale);
        let bound: f64 = y.iter().zip(scales).map(room).sum();
        let sum: f64 = y.iter().map(|y| y.exp()).sum();
        if (sum - 1.0).abs() > bound {
            return Err(format!("the exponentials of row {row} sum to {sum}"));
        }
    }
    Ok(())
}
