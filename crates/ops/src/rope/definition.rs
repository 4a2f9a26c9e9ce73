//! The definition of rotary embedding: operands, work, limits, what the gate tries, laws.

use super::oracle::{self, Angles};
use crate::blocks::row::{ROWS_ARE_INDEPENDENT, same_bits};
use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Law, Limits, Observed, Op, Operand,
    Portfolio, Role, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::{AttrValue, Case, DType, Work};
use proofmark_tensor::Fill;

/// The op.
#[derive(Debug, Default)]
pub(crate) struct Rope;

/// How frequencies are stretched for contexts longer than a model was trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scaling {
    /// Not at all.
    None,
    /// All of them by the factor.
    Linear,
    /// The slow ones by the factor, the fast ones not.
    Llama3,
}

/// A case's sizes and attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem {
    /// Sequences, positions of each, heads of each position, elements of a head.
    pub(crate) sizes: [usize; 4],
    /// Positions of a sequence.
    pub(crate) positions: usize,
    /// Heads of a position.
    pub(crate) heads: usize,
    /// Elements of a head.
    pub(crate) length: usize,
    /// Elements of a head that are turned, from the first on.
    pub(crate) part: usize,
    /// Pairs are neighbours (gptj), not half of the part apart (neox).
    pub(crate) is_interleaved: bool,
    /// Angles are made of positions, not read.
    pub(crate) is_exact: bool,
    /// One operand is both x and y.
    pub(crate) is_in_place: bool,
    /// The base of the frequencies.
    pub(crate) theta: f64,
    /// How frequencies are stretched.
    pub(crate) scaling: Scaling,
    /// By how much.
    pub(crate) factor: f64,
}

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(crate) fn of(case: &Case) -> Problem {
        let sizes = ["b", "s", "h", "d"].map(|axis| case.size(axis).unwrap_or(0) as usize);
        let part = match case.attrs.iter().find(|(name, _)| name == "part") {
            Some((_, AttrValue::Int(part))) if *part > 0 => *part as usize,
            _ => sizes[3],
        };
        Problem {
            sizes,
            positions: sizes[1],
            heads: sizes[2],
            length: sizes[3],
            part,
            is_interleaved: case.word("pairing", "neox") == "gptj",
            is_exact: case.word("angles", "table") == "exact",
            is_in_place: case.flag("inplace", false),
            theta: case.real("theta", 10000.0),
            scaling: match case.word("scaling", "none") {
                "linear" => Scaling::Linear,
                "llama3" => Scaling::Llama3,
                _ => Scaling::None,
            },
            factor: case.real("factor", 8.0),
        }
    }

    /// Heads of all positions.
    pub(crate) fn rows(&self) -> usize {
        self.sizes[..3].iter().product()
    }

    /// The pair that element `i` of a head belongs to, and its two elements.
    pub(crate) fn pair_of(&self, i: usize) -> Option<(usize, usize, usize)> {
        let half = self.part / 2;
        if i >= self.part {
            None
        } else if self.is_interleaved {
            Some((i / 2, i / 2 * 2, i / 2 * 2 + 1))
        } else {
            Some((i % half, i % half, i % half + half))
        }
    }
}

const fn axis(name: &'static str, meaning: &'static str, role: AxisRole, default: u64) -> Axis {
    Axis { name, meaning, role, default }
}

const AXES: &[Axis] = &[
    axis("b", "sequences in the batch", AxisRole::Batch, 1),
    axis("s", "positions", AxisRole::Sequence, 128),
    axis("h", "heads", AxisRole::Dimension, 32),
    axis("d", "elements of a head", AxisRole::Dimension, 128),
];

const fn word(
    name: &'static str,
    meaning: &'static str,
    words: &'static [&'static str],
) -> Attribute {
    Attribute { name, meaning, kind: AttributeKind::Word(words), default: words[0] }
}

const ATTRIBUTES: &[Attribute] = &[
    word("angles", "read as cosines and sines, or made of positions", &["table", "exact"]),
    word("pairing", "pairs half of the part apart, or neighbours", &["neox", "gptj"]),
    Attribute {
        name: "part",
        meaning: "elements of a head that are turned, an even number; 0: all",
        kind: AttributeKind::Int { low: 0, high: 65536 },
        default: "0",
    },
    Attribute {
        name: "theta",
        meaning: "base of the frequencies, for exact angles",
        kind: AttributeKind::Real { low: 1.0, high: 1e9 },
        default: "10000",
    },
    word("scaling", "how frequencies are stretched", &["none", "linear", "llama3"]),
    Attribute {
        name: "factor",
        meaning: "by how much they are stretched",
        kind: AttributeKind::Real { low: 1.0, high: 1e4 },
        default: "8",
    },
    Attribute {
        name: "inplace",
        meaning: "one operand is read and written",
        kind: AttributeKind::Flag,
        default: "false",
    },
];

impl Op for Rope {
    fn name(&self) -> &'static str {
        "rope"
    }

    fn summary(&self) -> &'static str {
        "(y₁, y₂) = (x₁·cos − x₂·sin, x₂·cos + x₁·sin) for each pair of a head, by its position"
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
        let problem = Problem::of(case);
        if problem.part % 2 == 1 || problem.part > problem.length {
            let words = format!(
                "{} of {} elements of a head cannot be turned: name an even part of them",
                problem.part, problem.length
            );
            return Err(BadCase::Contradiction(words));
        }
        let x = |name, role| Operand::new(name, role, case.dtype, &problem.sizes);
        let table = |name| {
            Operand::new(name, Role::Input, DType::F32, &[problem.positions, problem.part / 2])
        };
        let mut operands = Vec::new();
        if !problem.is_in_place {
            operands.push(x("x", Role::Input));
        }
        if problem.is_exact {
            let positions =
                Operand::new("positions", Role::Input, DType::U32, &[problem.positions]).dense();
            operands.push(positions.only(Fill::RandomBits { bits: 17 }));
        } else {
            operands.extend([table("cos"), table("sin")]);
        }
        operands.push(match problem.is_in_place {
            true => x("x", Role::InOut),
            false => x("y", Role::Output),
        });
        Ok(Signature::new(operands))
    }

    fn work(&self, case: &Case) -> Work {
        let problem = Problem::of(case);
        let (rows, size) = (problem.rows() as u64, case.dtype.size() as u64);
        let angles = (problem.positions * problem.part / 2) as u64;
        let table = if problem.is_exact { 4 * problem.positions as u64 } else { 8 * angles };
        // Two products and a sum an element that is turned.
        Work {
            flops: 3 * rows * problem.part as u64,
            bytes_read: rows * problem.length as u64 * size + table,
            bytes_written: rows * problem.length as u64 * size,
            transcendentals: if problem.is_exact { 2 * angles } else { 0 },
        }
    }

    fn reduction(&self, _case: &Case) -> u64 {
        2
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        let problem = Problem::of(case);
        let (x, first) = places(&problem);
        let angles = match problem.is_exact {
            true => Angles::Exact(inputs.of(first)),
            false => Angles::Table([inputs.of(first), inputs.of(first + 1)]),
        };
        oracle::truth(&problem, inputs.of(x), &angles, want)
    }

    /// Two products, one of them fused: 1.5 units; sines and cosines within 2 are in the scale.
    fn limits(&self, _case: &Case) -> Limits {
        Limits { q_max: 4.0, structured: 4.0, ..Limits::default() }
    }

    fn portfolio(&self, _case: &Case, signature: &Signature) -> Portfolio {
        Portfolio::standard(signature)
    }

    /// The largest leaves room for a sum of two products with numbers below 8.
    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let problem = Problem::of(case);
        let (x, first) = places(&problem);
        let mut operands = vec![x];
        if !problem.is_exact {
            operands.extend([first, first + 1]);
        }
        let largest = 2f64.powi(120).min(case.dtype.largest());
        Specials::standard(&operands, case.dtype, largest)
    }

    fn laws(&self) -> &'static [Law] {
        LAWS
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |[b, s, h, d]: [u64; 4], attrs: &[(&str, AttrValue)]| {
            let case = Case::new("rope", dtype).axis("b", b).axis("s", s).axis("h", h);
            let add =
                |case: Case, (name, value): &(&str, AttrValue)| case.attr(name, value.clone());
            attrs.iter().fold(case.axis("d", d), add)
        };
        let word = |name, word: &str| (name, AttrValue::Word(word.to_owned()));
        let (exact, gptj) = (word("angles", "exact"), word("pairing", "gptj"));
        let part = |part| ("part", AttrValue::Int(part));
        let in_place = ("inplace", AttrValue::Flag(true));
        let real = |name, value| (name, AttrValue::Real(value));
        let mut cases = Vec::new();
        for (i, d) in
            [2, 4, 6, 14, 16, 18, 30, 32, 34, 62, 64, 66, 128, 130].into_iter().enumerate()
        {
            let pairing = if i % 2 == 0 { vec![] } else { vec![gptj.clone()] };
            let angles = if i % 4 < 2 { vec![] } else { vec![exact.clone()] };
            cases.push(case([1 + i as u64 % 2, 3, 2, d], &[pairing, angles].concat()));
        }
        cases.extend([
            case([1, 9, 4, 64], &[]),
            case([1, 9, 4, 64], std::slice::from_ref(&exact)),
            case([2, 3, 3, 32], &[exact.clone(), gptj.clone()]),
            case([1, 3, 2, 40], &[part(16)]),
            case([1, 3, 2, 45], &[part(18), gptj.clone()]),
            case([2, 3, 2, 80], &[exact.clone(), part(32)]),
            case([2, 3, 2, 34], std::slice::from_ref(&in_place)),
            case([1, 3, 3, 66], &[in_place.clone(), gptj.clone()]),
            case([1, 5, 2, 64], &[in_place.clone(), exact.clone(), part(48)]),
            case(
                [1, 5, 1, 64],
                &[exact.clone(), real("theta", 500000.0), word("scaling", "llama3")],
            ),
            case([1, 5, 1, 64], &[exact.clone(), word("scaling", "linear"), real("factor", 4.0)]),
            case([1, 5, 1, 256], &[exact.clone(), real("theta", 1e6)]),
            case([1, 2, 0, 16], &[]),
            case([0, 4, 2, 16], std::slice::from_ref(&exact)),
            case([1, 3, 2, 0], &[]),
        ]);
        cases
    }
}

/// The operands that hold x, and the angles (the first, if there are two).
fn places(problem: &Problem) -> (usize, usize) {
    match (problem.is_in_place, problem.is_exact) {
        (false, _) => (0, 1),
        (true, true) => (1, 0),
        (true, false) => (2, 0),
    }
}

const LAWS: &[Law] = &[
    ROWS_ARE_INDEPENDENT,
    Law {
        name: "linear",
        statement: "doubling x doubles y, to the bit",
        change: |case, inputs, _| {
            let problem = Problem::of(case);
            inputs.tensors[places(&problem).0].iter_mut().for_each(|x| *x *= 2.0);
            // Results of f16 may be subnormal, where a doubled one keeps a digit more.
            case.dtype != DType::F16
        },
        holds: |_, before, after| same_bits(before, after, |_, y| 2.0 * y),
    },
    Law {
        name: "only_differences_of_positions_matter",
        statement: "moving all positions by the same number keeps lengths and products of heads",
        change: |case, inputs, _| {
            let problem = Problem::of(case);
            let at = places(&problem).1;
            let first = inputs.of(at).iter().copied().fold(f64::INFINITY, f64::min);
            if problem.is_exact {
                inputs.tensors[at].iter_mut().for_each(|position| *position -= first);
            }
            problem.is_exact
        },
        holds: products_are_kept,
    },
];

/// Whether the product of each head with the same head of the position before, and with itself,
/// is the same in both runs within the error bound of all its terms.
fn products_are_kept(case: &Case, before: Observed<'_>, after: Observed<'_>) -> Result<(), String> {
    let problem = Problem::of(case);
    let (length, heads) = (problem.length, problem.heads);
    let truth = Rope.oracle(case, before.inputs, 0, &Want::all());
    let unit = 4.0 * DType::F32.unit();
    let room = |i: usize| 0.5 * case.dtype.ulp(truth.value[i]) + unit * truth.scale[i];
    for row in 0..problem.rows() {
        let is_first = row / heads % problem.positions == 0;
        for other in if is_first { vec![row] } else { vec![row, row - heads] } {
            let product = |y: &[f64]| -> f64 {
                (0..length).map(|i| y[row * length + i] * y[other * length + i]).sum()
            };
            let bound: f64 = (0..length)
                .map(|i| (row * length + i, other * length + i))
                .map(|(a, b)| {
                    let (x, y) = (truth.value[a].abs(), truth.value[b].abs());
                    let spread = truth.scale[a] + truth.scale[b];
                    2.0 * (x * room(b) + y * room(a) + room(a) * room(b)) + unit * spread
                })
                .sum();
            let (old, new) = (product(&before.outputs[0]), product(&after.outputs[0]));
            if (old - new).abs() > 4.0 * bound {
                return Err(format!("heads {row} and {other}: product {old:e}, moved {new:e}"));
            }
        }
    }
    Ok(())
}
