//! The definition of recurrent layers: operands, work, limits, and what the gate should try.

use super::{laws, oracle};
use proofmark_contract::{
    Attribute, Axis, AxisRole, BadCase, Filling, Law, Op, Operand, Portfolio, Role, Signature,
    Specials, Truth, Values, Want, check_sizes,
};
use proofmark_schema::{Case, DType, Work};
use proofmark_tensor::Fill;

/// Which layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// Long short-term memory, with a state beside its output.
    Lstm,
    /// Gated recurrent unit.
    Gru,
}

/// The op.
#[derive(Debug)]
pub(crate) struct Recurrent(pub(crate) Cell);

/// A case's sizes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem {
    /// Which layer.
    pub(crate) cell: Cell,
    /// Steps of a sequence.
    pub(crate) steps: usize,
    /// Sequences in the batch.
    pub(crate) batch: usize,
    /// Elements of an input.
    pub(crate) inputs: usize,
    /// Units: elements of an output.
    pub(crate) units: usize,
}

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(crate) fn of(case: &Case) -> Problem {
        let size = |axis| case.size(axis).unwrap_or(0) as usize;
        Problem {
            cell: if case.op == "lstm" { Cell::Lstm } else { Cell::Gru },
            steps: size("t"),
            batch: size("b"),
            inputs: size("i"),
            units: size("h"),
        }
    }

    /// Gates of a unit.
    pub(crate) fn gates(&self) -> usize {
        match self.cell {
            Cell::Lstm => 4,
            Cell::Gru => 3,
        }
    }

    /// Positions of both weights and both biases among the operands.
    pub(crate) fn weights(&self) -> [usize; 4] {
        let first = if self.cell == Cell::Lstm { 3 } else { 2 };
        [first, first + 1, first + 2, first + 3]
    }
}

const AXES: &[Axis] = &[
    Axis { name: "t", meaning: "steps of a sequence", role: AxisRole::Sequence, default: 16 },
    Axis { name: "b", meaning: "sequences in the batch", role: AxisRole::Batch, default: 8 },
    Axis { name: "i", meaning: "elements of an input", role: AxisRole::Dimension, default: 256 },
    Axis { name: "h", meaning: "units", role: AxisRole::Dimension, default: 256 },
];

impl Op for Recurrent {
    fn name(&self) -> &'static str {
        match self.0 {
            Cell::Lstm => "lstm",
            Cell::Gru => "gru",
        }
    }

    fn summary(&self) -> &'static str {
        match self.0 {
            Cell::Lstm => {
                "i,f,g,o = W x + b + U h + d; c = s(f) c + s(i) tanh(g); h = s(o) tanh(c)"
            }
            Cell::Gru => {
                "r,z = s(W x + b + U h + d); n = tanh(W x + b + r (U h + d)); h = n + z (h - n)"
            }
        }
    }

    fn edges(&self) -> &'static [&'static str] {
        &[
            "a NaN stays in its sequence, and reaches every unit from the step after it on",
            "infinite sums saturate: gates are 0 or 1, the tangent -1 or 1",
            "no steps: the last state is the first",
            "the sign of a zero is free",
        ]
    }

    fn axes(&self) -> &'static [Axis] {
        AXES
    }

    fn attributes(&self) -> &'static [Attribute] {
        &[]
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let of = Problem::of(case);
        // A unit sees every unit, so that their number counts twice.
        let sizes = [of.steps, of.batch, of.units, of.inputs + of.units + 1];
        check_sizes(sizes.map(|size| size as u64))?;
        let (rows, state) = (of.gates() * of.units, [of.batch, of.units]);
        let operand = |name, role, shape: &[usize]| Operand::new(name, role, case.dtype, shape);
        let mut operands = vec![operand("x", Role::Input, &[of.steps, of.batch, of.inputs])];
        operands.push(operand("h0", Role::Input, &state));
        if of.cell == Cell::Lstm {
            operands.push(operand("c0", Role::Input, &state));
        }
        operands.extend([
            operand("w_ih", Role::Weight, &[rows, of.inputs]),
            operand("w_hh", Role::Weight, &[rows, of.units]),
            operand("b_ih", Role::Weight, &[rows]),
            operand("b_hh", Role::Weight, &[rows]),
            operand("y", Role::Output, &[of.steps, of.batch, of.units]),
            operand("hn", Role::Output, &state),
        ]);
        if of.cell == Cell::Lstm {
            operands.push(operand("cn", Role::Output, &state));
        }
        Ok(Signature::new(operands))
    }

    fn work(&self, case: &Case) -> Work {
        let of = Problem::of(case);
        let cells = of.steps * of.batch * of.units;
        let signature = self.signature(case);
        let bytes = |operands: &[Operand]| operands.iter().map(Operand::bytes).sum::<u64>();
        let (read, written) = signature
            .as_ref()
            .map_or((0, 0), |signature| (bytes(signature.inputs()), bytes(signature.outputs())));
        Work {
            flops: (cells * (of.gates() * 2 * (of.inputs + of.units + 1) + 4)) as u64,
            bytes_read: read,
            bytes_written: written,
            transcendentals: (cells * if of.cell == Cell::Lstm { 5 } else { 3 }) as u64,
        }
    }

    fn sums_products(&self) -> bool {
        true
    }

    fn reduction(&self, case: &Case) -> u64 {
        let of = Problem::of(case);
        (of.inputs + of.units) as u64
    }

    fn sequences(&self, case: &Case) -> usize {
        Problem::of(case).batch
    }

    fn oracle(&self, case: &Case, inputs: &Values, output: usize, want: &Want) -> Truth {
        oracle::truth(Problem::of(case), inputs, output, want)
    }

    /// Weights as they are initialised, between ±1/√h, so that errors of a step neither vanish nor
    /// take over in the next; inputs by every fill.
    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let of = Problem::of(case);
        let bound = 1.0 / (of.units.max(1) as f64).sqrt();
        let tame = |mut filling: Filling| {
            let state = Fill::Uniform { low: -1.0, high: 1.0 };
            (1..of.weights()[0]).for_each(|operand| filling.fills[operand] = state.clone());
            for operand in of.weights() {
                filling.fills[operand] = Fill::Uniform { low: -bound, high: bound };
            }
            filling
        };
        let standard = Portfolio::standard(signature);
        let tamed = |fillings: Vec<Filling>| fillings.into_iter().map(tame).collect::<Vec<_>>();
        let mut structured = tamed(standard.structured);
        let constant = Filling::uniform(signature, &Fill::Constant { value: 0.5 });
        structured.push(tame(constant.clone()).with(of.weights()[0], constant.fills[0].clone()));
        Portfolio { exact: Vec::new(), zero_mean: tamed(standard.zero_mean), structured }
    }

    fn specials(&self, case: &Case, signature: &Signature) -> Specials {
        let operands: Vec<usize> = (0..signature.inputs().len()).collect();
        Specials::standard(&operands, case.dtype, 2f64.powi(60))
    }

    fn laws(&self) -> &'static [Law] {
        laws::LAWS
    }

    /// Steps, sequences and units around vectors and tiles, one step, more rows than a thin
    /// product has, and empty axes.
    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let sizes = [
            [1, 1, 1, 1],
            [1, 3, 5, 7],
            [3, 2, 4, 16],
            [2, 17, 9, 33],
            [4, 1, 31, 40],
            [5, 3, 17, 8],
            [1, 20, 65, 15],
            [2, 18, 20, 64],
            [1, 17, 300, 3],
            [6, 4, 3, 31],
            [1, 1, 128, 129],
            [2, 33, 5, 3],
            [2, 2, 0, 5],
            [0, 3, 4, 5],
            [2, 0, 3, 4],
        ];
        let case = |[t, b, i, h]: [u64; 4]| {
            let case = Case::new(self.name(), dtype).axis("t", t).axis("b", b);
            case.axis("i", i).axis("h", h)
        };
        sizes.into_iter().map(case).collect()
    }
}
