//! The definition of recurrent layers: axes, attributes and operands.

use proofmark_contract::{
    Attribute, Axis, AxisRole, BadCase, Definition, Operand, Role, Signature, check_sizes,
};
use proofmark_terms::{Case, DType};

/// Which layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// Long short-term memory, with a state in addition to its output.
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

impl Definition for Recurrent {
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
}
