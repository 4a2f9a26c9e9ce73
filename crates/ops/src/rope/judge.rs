//! What the judge knows of rotary embedding: work, limits, what the gate tries, laws.

use super::definition::{Problem, Rope};
use super::oracle;
use super::oracle::Angles;
use crate::blocks::row::{ROWS_ARE_INDEPENDENT, same_bits};
use proofmark_contract::{
    Law, Limits, Observed, Op, Portfolio, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::Work;
use proofmark_terms::{AttrValue, Case, DType};

impl Op for Rope {
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
