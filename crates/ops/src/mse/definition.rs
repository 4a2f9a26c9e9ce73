//! The definition of the mean squared error: operands, work, what the gate tries, laws.

use super::oracle;
use crate::blocks::row::{Shape, axes, edge_cases, same_bits};
use proofmark_contract::{
    Attribute, AttributeKind, Axis, BadCase, Filling, Law, Op, Operand, Portfolio, Role, Signature,
    Specials, Truth, Values, Want,
};
use proofmark_schema::{AttrValue, Case, DType, Work};
use proofmark_tensor::Fill;

/// The op.
#[derive(Debug)]
pub(super) struct Mse;

/// What the sum of squares is divided by.
pub(super) fn divisor(case: &Case) -> f64 {
    match case.word("reduction", "mean") {
        "sum" => 1.0,
        _ => Shape::of(case).elements() as f64,
    }
}

const AXES: &[Axis] = &axes(1024);

const ATTRIBUTES: &[Attribute] = &[Attribute {
    name: "reduction",
    meaning: "whether the sum of squares is divided by their number",
    kind: AttributeKind::Word(&["mean", "sum"]),
    default: "mean",
}];

impl Op for Mse {
    fn name(&self) -> &'static str {
        "mse"
    }

    fn summary(&self) -> &'static str {
        "loss = mean (x − target)², in f32"
    }

    fn edges(&self) -> &'static [&'static str] {
        &[
            "NaN, or infinities of one sign at one place, make NaN; others make it infinite",
            "squares are f32: from |x − target| > √(f32::MAX / n) on the loss is infinite",
            "of no elements the sum is 0 and the mean NaN",
        ]
    }

    fn axes(&self) -> &'static [Axis] {
        AXES
    }

    fn attributes(&self) -> &'static [Attribute] {
        ATTRIBUTES
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32, DType::Bf16, DType::F16]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let operand = |name| Operand::new(name, Role::Input, case.dtype, &Shape::of(case).sizes);
        let loss = Operand::new("loss", Role::Output, DType::F32, &[1]).dense();
        Ok(Signature::new(vec![operand("x"), operand("target"), loss]))
    }

    fn work(&self, case: &Case) -> Work {
        let elements = Shape::of(case).elements();
        Work {
            flops: 3 * elements,
            bytes_read: 2 * elements * case.dtype.size() as u64,
            bytes_written: 4,
            transcendentals: 0,
        }
    }

    fn reduction(&self, case: &Case) -> u64 {
        Shape::of(case).elements()
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, _want: &Want) -> Truth {
        oracle::truth(inputs.of(0), inputs.of(1), divisor(case))
    }

    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let mut portfolio = Portfolio::standard(signature);
        let all = |fill: Fill| Filling::uniform(signature, &fill);
        let is_exact = Shape::of(case).elements() <= 65536 && divisor(case).log2().fract() == 0.0;
        if is_exact {
            // Sums of 65536 squares of at most 16 are exact in f32, and so is a division by a power
            // of two.
            portfolio.exact.push(all(Fill::Ints { magnitude: 8, density: 1.0 }));
        }
        portfolio.structured.push(all(Fill::Offset { mean: 100.0 }));
        portfolio
    }

    /// `largest` is a power of two whose square, 4n times, is at most 2^126.
    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let count = Shape::of(case).elements().max(1);
        let bits = count.next_power_of_two().trailing_zeros() as i32;
        let largest = 2f64.powi((124 - bits) / 2).min(case.dtype.largest());
        Specials::standard(&[0, 1], case.dtype, largest)
    }

    fn laws(&self) -> &'static [Law] {
        LAWS
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |(b, s, d)| Case::new("mse", dtype).axis("b", b).axis("s", s).axis("d", d);
        let sum = |case: Case| case.attr("reduction", AttrValue::Word("sum".to_owned()));
        let mut cases = edge_cases(self.name(), dtype);
        // No test can judge the mean of no elements, because every result is NaN.
        cases.retain(|case| Shape::of(case).elements() > 0);
        cases.push(case((1, 1, 20_011)));
        let sums = [(1, 1, 1), (2, 3, 17), (1, 5, 64), (1, 3, 129), (2, 2, 4097), (1, 3, 0)];
        cases.extend(sums.map(case).map(sum));
        cases
    }
}

const LAWS: &[Law] = &[
    Law {
        name: "symmetric",
        statement: "exchanging x and target changes no bit",
        change: |_, inputs, _| {
            inputs.tensors.swap(0, 1);
            true
        },
        holds: |_, before, after| same_bits(before, after, |_, loss| loss),
    },
    Law {
        name: "no_distance",
        statement: "the loss of the target itself is 0",
        change: |_, inputs, _| {
            inputs.tensors[0] = inputs.of(1).to_vec();
            true
        },
        holds: |_, before, after| same_bits(before, after, |_, _| 0.0),
    },
];
