//! The definition of SiLU: operands, work, limits, what the gate tries, laws.

use super::oracle;
use crate::blocks::row::ROWS_ARE_INDEPENDENT;
use proofmark_contract::{
    Attribute, Axis, AxisRole, BadCase, Filling, Law, Limits, Observed, Op, Operand, Portfolio,
    Role, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::{Case, DType, Work};
use proofmark_tensor::Fill;

/// The op.
#[derive(Debug)]
pub(crate) struct Silu;

/// A case's sizes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem {
    /// Rows: `b · s`.
    pub(crate) rows: usize,
    /// Elements of a row.
    pub(crate) length: usize,
}

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(crate) fn of(case: &Case) -> Problem {
        let size = |axis| case.size(axis).unwrap_or(0) as usize;
        Problem { rows: size("b") * size("s"), length: size("d") }
    }
}

const AXES: &[Axis] = &[
    Axis { name: "b", meaning: "sequences in the batch", role: AxisRole::Batch, default: 1 },
    Axis { name: "s", meaning: "positions of a sequence", role: AxisRole::Sequence, default: 128 },
    Axis { name: "d", meaning: "elements of a row", role: AxisRole::Dimension, default: 1024 },
];

impl Op for Silu {
    fn name(&self) -> &'static str {
        "silu"
    }

    fn summary(&self) -> &'static str {
        "y = x / (1 + exp(−x))"
    }

    fn axes(&self) -> &'static [Axis] {
        AXES
    }

    fn attributes(&self) -> &'static [Attribute] {
        &[]
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32, DType::Bf16, DType::F16]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let shape = ["b", "s", "d"].map(|axis| case.size(axis).unwrap_or(0) as usize);
        let operand = |name, role| Operand::new(name, role, case.dtype, &shape);
        Ok(Signature::new(vec![operand("x", Role::Input), operand("y", Role::Output)]))
    }

    fn work(&self, case: &Case) -> Work {
        let problem = Problem::of(case);
        let elements = (problem.rows * problem.length) as u64;
        let bytes = elements * case.dtype.size() as u64;
        // Product, sum, quotient; one exponential each.
        Work {
            flops: 3 * elements,
            bytes_read: bytes,
            bytes_written: bytes,
            transcendentals: elements,
        }
    }

    /// No sum has an order that kernels may choose.
    fn reduction(&self, _case: &Case) -> u64 {
        1
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        oracle::truth(&Problem::of(case), inputs.of(0), want)
    }

    /// An exponential within 4 ulp is off by 8u, product, sum and quotient by u each: 11u of the
    /// result, which is 2.75 of the scale's first part. Where the exponential is subnormal, 4 ulp
    /// times x are 4 of the scale's second part. So q ≤ 4 whatever the mix, and a library's
    /// exponential passes while no other function does. Measured on every 16-bit input and on a
    /// sample of f32: our kernels, with exponentials within 1 ulp, reach 0.5.
    fn limits(&self, _case: &Case) -> Limits {
        Limits { q_max: 4.0, structured: 4.0, ..Limits::default() }
    }

    fn portfolio(&self, _case: &Case, signature: &Signature) -> Portfolio {
        let mut portfolio = Portfolio::standard(signature);
        let mut add = |fill| portfolio.structured.push(Filling::uniform(signature, &fill));
        // From -88 down exp(−x) overflows although the result is a number still.
        add(Fill::Uniform { low: -110.0, high: 0.0 });
        add(Fill::Uniform { low: -1000.0, high: 1000.0 });
        add(Fill::Subnormal);
        add(Fill::NearOverflow { fraction: 1.0 });
        portfolio
    }

    /// `largest` is the largest number itself: no step of a right kernel overflows on it.
    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let standard = Specials::standard(&[0], case.dtype, case.dtype.largest());
        Specials { signed_zero: true, ..standard }
    }

    fn laws(&self) -> &'static [Law] {
        LAWS
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |b, s, d| Case::new("silu", dtype).axis("b", b).axis("s", s).axis("d", d);
        vec![
            case(1, 1, 1),
            case(3, 1, 2),
            case(2, 1, 3),
            case(1, 3, 7),
            case(2, 2, 15),
            case(1, 4, 16),
            case(2, 2, 17),
            case(1, 3, 31),
            case(2, 2, 32),
            case(2, 1, 33),
            case(1, 5, 63),
            case(1, 3, 64),
            case(5, 1, 65),
            // Rows enough for the test of bias.
            case(1, 40, 127),
            case(1, 2, 128),
            case(3, 1, 129),
            case(2, 3, 509),
            case(1, 3, 4097),
            case(1, 3, 0),
            case(0, 4, 16),
        ]
    }
}

const LAWS: &[Law] = &[
    ROWS_ARE_INDEPENDENT,
    Law {
        name: "odd_part_is_x",
        statement: "y(x) − y(−x) is x within the error bounds of both",
        change: |_, inputs, _| {
            inputs.tensors[0].iter_mut().for_each(|x| *x = -*x);
            true
        },
        holds: odd_part_is_x,
    },
    Law {
        name: "zero_keeps_its_sign",
        statement: "y(0) is 0 and y(-0) is -0",
        change: |_, inputs, _| {
            let signs = [-0.0, 0.0].into_iter().cycle();
            inputs.tensors[0].iter_mut().zip(signs).for_each(|(x, zero)| *x = zero);
            true
        },
        holds: |_, _, after| {
            let pairs = after.inputs.of(0).iter().zip(&after.outputs[0]);
            match pairs.into_iter().position(|(x, y)| x.to_bits() != y.to_bits()) {
                Some(i) => Err(format!("element {i} is {:e}", after.outputs[0][i])),
                None => Ok(()),
            }
        },
    },
];

fn odd_part_is_x(case: &Case, before: Observed<'_>, after: Observed<'_>) -> Result<(), String> {
    let problem = Problem::of(case);
    let scales = |run: Observed<'_>| oracle::truth(&problem, run.inputs.of(0), &Want::all()).scale;
    let (scales, mirrored_scales) = (scales(before), scales(after));
    let limit = Silu.limits(case).q_max * DType::F32.unit();
    for (i, &x) in before.inputs.of(0).iter().enumerate() {
        let (y, mirrored) = (before.outputs[0][i], after.outputs[0][i]);
        let rounding = case.dtype.ulp(y) + case.dtype.ulp(mirrored);
        let room = rounding + limit * (scales[i] + mirrored_scales[i]);
        let error = (y - mirrored - x).abs();
        if error.is_nan() || error > room {
            return Err(format!("element {i}: {y:e} − {mirrored:e} is not {x:e}"));
        }
    }
    Ok(())
}
