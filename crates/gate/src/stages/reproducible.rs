//! Stage G: repeats, thread counts and instruction-set paths, against the class promised.

use crate::examination::Examination;
use crate::subject::{Outputs, Subject};
use proofmark_contract::Values;
use proofmark_schema::proof::Refusal;
use proofmark_schema::{Outcome, Reproducibility};

/// Runs compared with the first on the same inputs.
pub(crate) const REPEATS: usize = 2;

pub(crate) fn run(exam: &mut Examination<'_>) -> Result<(), Box<Refusal>> {
    let filling = exam.portfolio.zero_mean.first().expect("a portfolio has zero-mean fills");
    let inputs = exam.fill(filling, 0);
    let first = exam.run(&inputs)?;
    let (reached, broken) = class(exam, &inputs, &first)?;
    exam.reproducibility = reached;
    if reached >= exam.contract.reproducibility {
        exam.note = broken;
        return Ok(());
    }
    let (promised, reached) = (exam.contract.reproducibility.name(), reached.name());
    let reason = format!("promised {promised}, reached {reached}: {broken}");
    Err(exam.refuse(Outcome::Wrong, reason))
}

/// The class reached, and what kept it from the next.
fn class(
    exam: &mut Examination<'_>,
    inputs: &Values,
    first: &Outputs,
) -> Result<(Reproducibility, String), Box<Refusal>> {
    for _ in 0..REPEATS {
        let again = exam.run(inputs)?;
        if let Some(place) = difference(exam, first, &again) {
            return Ok((Reproducibility::None, format!("a second call differs at {place}")));
        }
    }
    let threads = exam.by.rules.threads;
    let mut broken = None;
    for other in exam.by.rules.other_threads.clone() {
        exam.subject.set_threads(other).map_err(|fault| exam.fault(fault))?;
        let outputs = exam.run(inputs)?;
        if let Some(place) = difference(exam, first, &outputs) {
            broken = Some(format!("{other} threads differ from {threads} at {place}"));
            break;
        }
    }
    exam.subject.set_threads(threads).map_err(|fault| exam.fault(fault))?;
    if let Some(broken) = broken {
        return Ok((Reproducibility::Bitwise, broken));
    }
    for sibling in &exam.by.rules.siblings {
        let (arena, of, seed) = (exam.by.arena, (exam.by.op, exam.case), exam.by.rules.seed);
        let loaded = Subject::load(arena, of, exam.signature, sibling, threads, seed);
        let mut other = match loaded {
            Ok(other) => other,
            // A path that does not do the case says nothing about the others.
            Err(proofmark_arena::Fault::Unsupported(_)) => continue,
            Err(fault) => return Err(exam.fault(fault)),
        };
        let outputs = other.run(inputs).map_err(|fault| exam.fault(fault))?;
        exam.checks += 1;
        if let Some(place) = difference(exam, first, &outputs) {
            let broken = format!("{sibling} differs at {place}");
            return Ok((Reproducibility::ThreadInvariant, broken));
        }
    }
    Ok((Reproducibility::IsaInvariant, String::new()))
}

/// Where two runs differ in their bits; two NaNs are the same.
fn difference(exam: &Examination<'_>, a: &Outputs, b: &Outputs) -> Option<String> {
    for (k, operand) in exam.signature.outputs().iter().enumerate() {
        let differs = |i: &usize| {
            a.differs(b, k, *i) && !(a.values[k][*i].is_nan() && b.values[k][*i].is_nan())
        };
        if let Some(flat) = (0..operand.len()).find(differs) {
            let index = operand.layout().index_of(flat);
            let (a, b) = (a.values[k][flat], b.values[k][flat]);
            return Some(format!("{}{index:?} ({a:e} against {b:e})", operand.name));
        }
    }
    None
}
