//! The definition of dropout: operands, work, what the gate tries, laws.

use super::oracle;
use crate::blocks::row::{ROWS_ARE_INDEPENDENT, Shape, axes, edge_cases, same_bits};
use proofmark_contract::{
    Attribute, AttributeKind, Axis, BadCase, Filling, Law, Limits, Op, Operand, Portfolio, Role,
    Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::{AttrValue, Case, DType, Work};
use proofmark_tensor::Fill;

/// The op.
#[derive(Debug)]
pub(super) struct Dropout;

/// What a case's attributes ask for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// The part that is dropped.
    pub(super) p: f64,
    /// Words below it are dropped; 2^32 drops all.
    pub(super) threshold: u64,
    /// What kept elements are multiplied with.
    pub(super) factor: f32,
    /// The key of the random words.
    pub(super) key: [u32; 2],
}

impl Rule {
    /// Reads a case that the op's signature accepted.
    pub(super) fn of(case: &Case) -> Rule {
        let p = case.real("p", 0.1);
        let seed = match case.get("seed") {
            Some(AttrValue::Int(seed)) => seed.cast_unsigned(),
            _ => 0,
        };
        Rule {
            p,
            threshold: (p * (1u64 << 32) as f64).floor() as u64,
            factor: (1.0 / (1.0 - p)) as f32,
            key: [seed as u32, (seed >> 32) as u32],
        }
    }
}

const AXES: &[Axis] = &axes(1024);

const ATTRIBUTES: &[Attribute] = &[
    Attribute {
        name: "p",
        meaning: "the part that is dropped",
        kind: AttributeKind::Real { low: 0.0, high: 1.0 },
        default: "0.1",
    },
    Attribute {
        name: "seed",
        meaning: "the key of the random words",
        kind: AttributeKind::Int { low: i64::MIN, high: i64::MAX },
        default: "0",
    },
];

impl Op for Dropout {
    fn name(&self) -> &'static str {
        "dropout"
    }

    fn summary(&self) -> &'static str {
        "y = x / (1 − p) where a random word is at least p · 2^32, else 0"
    }

    fn edges(&self) -> &'static [&'static str] {
        &[
            "a dropped element is +0, whatever it was; kept NaN, infinities and zeros stay",
            "p = 0 keeps everything as it is, p = 1 drops everything",
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
        let operand = |name, role| Operand::new(name, role, case.dtype, &Shape::of(case).sizes);
        Ok(Signature::new(vec![operand("x", Role::Input), operand("y", Role::Output)]))
    }

    /// The making of random words is not counted: it is the op's means, not its formula.
    fn work(&self, case: &Case) -> Work {
        let elements = Shape::of(case).elements();
        let bytes = elements * case.dtype.size() as u64;
        Work { flops: elements, bytes_read: bytes, bytes_written: bytes, transcendentals: 0 }
    }

    fn reduction(&self, _case: &Case) -> u64 {
        1
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        let Shape { rows, length, .. } = Shape::of(case);
        oracle::truth(&Rule::of(case), inputs.of(0), &want.indices(rows, length))
    }

    /// The bits are defined: the truth's scale is 0, and any q above 0 fails.
    fn limits(&self, _case: &Case) -> Limits {
        Limits { q_max: 0.0, q_rms: 0.0, structured: 0.0, ..Limits::default() }
    }

    fn portfolio(&self, _case: &Case, signature: &Signature) -> Portfolio {
        let mut portfolio = Portfolio::standard(signature);
        let all = |fill: Fill| Filling::uniform(signature, &fill);
        portfolio.exact.push(all(Fill::Ints { magnitude: 64, density: 1.0 }));
        portfolio.structured.push(all(Fill::Subnormal));
        portfolio.structured.push(all(Fill::NearOverflow { fraction: 1.0 }));
        portfolio
    }

    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let standard = Specials::standard(&[0], case.dtype, case.dtype.largest());
        Specials { signed_zero: true, ..standard }
    }

    fn laws(&self) -> &'static [Law] {
        LAWS
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |b, s, d, p: f64, seed| {
            let case = Case::new("dropout", dtype).axis("b", b).axis("s", s).axis("d", d);
            case.attr("p", AttrValue::Real(p)).attr("seed", AttrValue::Int(seed))
        };
        let mut cases = edge_cases(self.name(), dtype);
        cases.extend([
            case(1, 3, 40, 0.0, 3),
            case(2, 3, 70, 1.0, 3),
            case(2, 5, 130, 0.5, 1 << 40),
            case(1, 7, 61, 0.9, -1),
            case(1, 33, 99, 0.25, 12_345_678_901),
        ]);
        cases
    }
}

const LAWS: &[Law] = &[
    ROWS_ARE_INDEPENDENT,
    Law {
        name: "mask_is_of_the_seed",
        statement: "the same elements are dropped of other values",
        change: |_, inputs, _| {
            inputs.tensors[0].iter_mut().for_each(|x| *x = -*x);
            true
        },
        holds: |_, before, after| same_bits(before, after, |_, y| -y),
    },
];
