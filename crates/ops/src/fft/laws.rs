//! The laws of the Fourier transform.

use super::definition::{Kind, Problem};
use proofmark_contract::{Law, Observed};
use proofmark_terms::{Case, DType};
use std::f64::consts::TAU;

/// Errors of two runs, in units of the norm and a stage.
const ROOM: f64 = 32.0;

/// How far numbers of a run may be off: the norm of one transform's input, times stages.
fn room(problem: &Problem, x: &[f64]) -> f64 {
    let squares: f64 = x.iter().map(|x| x * x).sum();
    let stages = 1.0 + (problem.points() as f64).log2();
    // Half a spectrum also stands for its other half.
    ROOM * DType::F32.unit() * stages * problem.scale() * (2.0 * squares).sqrt()
}

/// The laws.
pub(super) const LAWS: &[Law] = &[
    Law {
        name: "doubles",
        statement: "doubling x doubles the transform, to the bit",
        change: |_, inputs, _| {
            inputs.tensors[0].iter_mut().for_each(|x| *x *= 2.0);
            true
        },
        holds: |_, before, after| {
            let pairs = before.outputs[0].iter().zip(&after.outputs[0]).enumerate();
            for (i, (old, new)) in pairs {
                if 2.0 * old != *new {
                    return Err(format!("number {i} was {old:e} and is {new:e}"));
                }
            }
            Ok(())
        },
    },
    Law {
        name: "parseval",
        statement: "squares sum up to the same, but for the number of points",
        change: |case, _, _| Problem::of(case).kind == Kind::Complex,
        holds: |case, _, after| {
            let problem = Problem::of(case);
            let [floats, _] = problem.batch_floats();
            let squares = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
            let points = problem.points() as f64 * problem.scale().powi(2);
            let room = ROOM * DType::F32.unit() * (1.0 + (problem.points() as f64).log2());
            let both = after.inputs.of(0).chunks(floats).zip(after.outputs[0].chunks(floats));
            for (b, (x, y)) in both.enumerate() {
                let (due, got) = (points * squares(x), squares(y));
                if (due - got).abs() > room * due {
                    return Err(format!("transform {b}: squares {got:e}, due {due:e}"));
                }
            }
            Ok(())
        },
    },
    Law {
        name: "shift",
        statement: "points moved on by one along z turn each bin by its own angle",
        change: |case, inputs, _| {
            let problem = Problem::of(case);
            for line in inputs.tensors[0].chunks_mut(2 * problem.z) {
                line.rotate_right(2 % line.len());
            }
            problem.kind == Kind::Complex
        },
        holds: shifted,
    },
    Law {
        name: "nan_stays_in_its_transform",
        statement: "NaN in one transform shows there, and changes no other",
        change: |case, inputs, seed| {
            let problem = Problem::of(case);
            let [floats, _] = problem.batch_floats();
            let count = inputs.of(0).len() / floats;
            let start = seed as usize % count.max(1) * floats;
            // The first imaginary part of half a spectrum is not read.
            let at = if problem.kind == Kind::FromReal { seed as usize % floats } else { 0 };
            inputs.tensors[0].iter_mut().skip(start + at).take(1).for_each(|x| *x = f64::NAN);
            count > 0
        },
        holds: |case, before, after| {
            let [read, written] = Problem::of(case).batch_floats();
            let inputs = after.inputs.of(0).chunks(read);
            let outputs = before.outputs[0].chunks(written).zip(after.outputs[0].chunks(written));
            for (b, (x, (old, new))) in inputs.zip(outputs).enumerate() {
                let room = room(&Problem::of(case), x);
                let is_near = |(old, new): (&f64, &f64)| (old - new).abs() <= room;
                if x.iter().any(|x| x.is_nan()) {
                    if new.iter().all(|y| y.is_finite()) {
                        return Err(format!("transform {b} of NaN is finite"));
                    }
                } else if !old.iter().zip(new).all(is_near) {
                    return Err(format!("transform {b} changed with another"));
                }
            }
            Ok(())
        },
    },
];

fn shifted(case: &Case, before: Observed<'_>, after: Observed<'_>) -> Result<(), String> {
    let problem = Problem::of(case);
    let sign = if problem.is_inverse { 1.0 } else { -1.0 };
    let floats = problem.batch_floats()[0];
    let (old, new) = (before.outputs[0].as_chunks::<2>().0, after.outputs[0].as_chunks::<2>().0);
    // Computed once for each transform, which may have millions of points.
    let rooms: Vec<f64> = after.inputs.of(0).chunks(floats).map(|x| room(&problem, x)).collect();
    for (i, ([re, im], got)) in old.iter().zip(new).enumerate() {
        let room = rooms[2 * i / floats];
        let (sin, cos) = (sign * TAU * ((i % problem.z) as f64 / problem.z as f64)).sin_cos();
        let due = [re * cos - im * sin, re * sin + im * cos];
        if (due[0] - got[0]).abs() > room || (due[1] - got[1]).abs() > room {
            return Err(format!("number {i} is {got:?}, turned {due:?}"));
        }
    }
    Ok(())
}
