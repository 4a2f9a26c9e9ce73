//! The definition of the change of element type: operands, work, what the gate tries, laws.

use super::oracle;
use crate::blocks::row::ROWS_ARE_INDEPENDENT;
use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Filling, Law, Limits, Op, Operand,
    Portfolio, Role, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::{AttrValue, Case, DType, Work};
use proofmark_tensor::Fill;

/// The op.
#[derive(Debug)]
pub(super) struct Cast;

const AXES: &[Axis] = &[
    Axis { name: "b", meaning: "sequences in the batch", role: AxisRole::Batch, default: 1 },
    Axis { name: "s", meaning: "positions of a sequence", role: AxisRole::Sequence, default: 1 },
    Axis { name: "d", meaning: "elements of a row", role: AxisRole::Dimension, default: 1024 },
];

const DTYPES: &[DType] = &[DType::F32, DType::Bf16, DType::F16];

/// The element type that a case asks for.
pub(super) fn target(case: &Case) -> DType {
    match case.word("to", "bf16") {
        "f32" => DType::F32,
        "f16" => DType::F16,
        _ => DType::Bf16,
    }
}

fn shape(case: &Case) -> [usize; 3] {
    ["b", "s", "d"].map(|axis| case.size(axis).unwrap_or(0) as usize)
}

impl Op for Cast {
    fn name(&self) -> &'static str {
        "cast"
    }

    fn summary(&self) -> &'static str {
        "y = x, rounded to another element type"
    }

    fn edges(&self) -> &'static [&'static str] {
        &[
            "to nearest, ties to even: the result is defined to the bit",
            "NaN and infinities stay; beyond the largest number lies infinity",
            "the sign of zero is kept; subnormals count and are kept",
        ]
    }

    fn axes(&self) -> &'static [Axis] {
        AXES
    }

    fn attributes(&self) -> &'static [Attribute] {
        &[Attribute {
            name: "to",
            meaning: "the element type of y",
            kind: AttributeKind::Word(&["f32", "bf16", "f16"]),
            default: "bf16",
        }]
    }

    fn dtypes(&self) -> &'static [DType] {
        DTYPES
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let shape = shape(case);
        Ok(Signature::new(vec![
            Operand::new("x", Role::Input, case.dtype, &shape),
            Operand::new("y", Role::Output, target(case), &shape),
        ]))
    }

    /// A conversion is counted as an operation.
    fn work(&self, case: &Case) -> Work {
        let count: u64 = shape(case).iter().map(|&size| size as u64).product();
        Work {
            flops: count,
            bytes_read: count * case.dtype.size() as u64,
            bytes_written: count * target(case).size() as u64,
            transcendentals: 0,
        }
    }

    fn reduction(&self, _case: &Case) -> u64 {
        1
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        let [batch, sequence, row] = shape(case);
        oracle::truth(target(case), inputs.of(0), &want.indices(batch * sequence, row))
    }

    /// The truth is the one right number, so any q above 0 fails.
    fn limits(&self, _case: &Case) -> Limits {
        Limits { q_max: 0.0, q_rms: 0.0, structured: 0.0, ..Limits::default() }
    }

    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let all = |fill: Fill| Filling::uniform(signature, &fill);
        let mut portfolio = Portfolio::standard(signature);
        portfolio.exact.push(all(Fill::Ints { magnitude: 256, density: 1.0 }));
        // Ties of bf16 and of f16, in types that have them: odd numbers above their gaps' borders.
        for magnitude in [512, 4096] {
            portfolio.structured.push(all(Fill::Ints { magnitude, density: 1.0 }));
        }
        portfolio.structured.push(all(Fill::Subnormal));
        portfolio.structured.push(all(Fill::NearOverflow { fraction: 1.0 }));
        // Around the least and the largest f16.
        let least = 2f64.powi(-14);
        portfolio.structured.push(all(Fill::Uniform { low: -least, high: least }));
        if case.dtype != DType::F16 {
            portfolio.structured.push(all(Fill::Uniform { low: -70_000.0, high: 70_000.0 }));
        }
        portfolio
    }

    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let standard = Specials::standard(&[0], case.dtype, case.dtype.largest());
        Specials { signed_zero: true, ..standard }
    }

    fn laws(&self) -> &'static [Law] {
        &[ROWS_ARE_INDEPENDENT]
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |(to, [b, s, d]): (&DType, &[u64; 3])| {
            let to = AttrValue::Word(to.to_string());
            Case::new("cast", dtype).axis("b", *b).axis("s", *s).axis("d", *d).attr("to", to)
        };
        DTYPES.iter().flat_map(|to| SHAPES.iter().map(move |shape| case((to, shape)))).collect()
    }
}

/// Every length around a vector and its multiples, an empty axis, and enough for threads.
const SHAPES: &[[u64; 3]] = &[
    [1, 1, 1],
    [2, 1, 3],
    [1, 3, 7],
    [1, 2, 15],
    [2, 2, 16],
    [1, 3, 17],
    [3, 1, 33],
    [1, 40, 65],
    [2, 3, 0],
    [1, 2, 4097],
    [1, 1, 20_011],
];
