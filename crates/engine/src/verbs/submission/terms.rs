//! Refuses submissions whose file declares easier terms than those of their baseline.

use super::request::SubmissionRequest;
use crate::SubmissionError;
use proofmark_contract::ExplicitCase;
use proofmark_schema::{Case, ContenderId, ErrorContract, Family, Underflow};

/// Checks what the file declares against the baseline, on every case.
pub(super) fn check(
    request: &SubmissionRequest,
    baseline: &ContenderId,
    cases: &[Case],
) -> Result<(), SubmissionError> {
    let declared = |what: &'static str| SubmissionError::Declared {
        path: request.file.clone(),
        what,
        baseline: baseline.clone(),
    };
    if request.kernel.needs().compiler {
        return Err(declared("`compiler`, which lets it start programs"));
    }
    for case in cases {
        let explicit = ExplicitCase::of(request.entry.op, case);
        let own = request.kernel.contract(&explicit);
        let Some(usual) = contract_of(request, baseline, case) else { continue };
        if let Some(what) = easier(&own, &usual) {
            return Err(declared(what));
        }
    }
    Ok(())
}

/// What a contender promises on a case.
fn contract_of(
    request: &SubmissionRequest,
    who: &ContenderId,
    case: &Case,
) -> Option<ErrorContract> {
    let entry = request.entry;
    if who.family == Family::Native {
        return Some(entry.kernel(&who.name)?.contract(case));
    }
    let peer = proofmark_peers::by_id(&request.shelf, who, entry.op.name())?;
    Some(peer.contract(&ExplicitCase::of(entry.op, case)))
}

/// The first promise that is easier to keep than those of the baseline and the usual ones.
fn easier(own: &ErrorContract, baseline: &ErrorContract) -> Option<&'static str> {
    let widest = baseline.accumulate.unit().max(ErrorContract::default().accumulate.unit());
    let checks = [
        (own.accumulate.unit() > widest, "`accumulate` of a lower precision"),
        (
            own.underflow == Underflow::Flushed && baseline.underflow == Underflow::Gradual,
            "`flushes_subnormals`",
        ),
        (own.cancels && !baseline.cancels, "`cancels`"),
        (own.rounds_inside && !baseline.rounds_inside, "`rounds_inside`"),
        (own.finite_only && !baseline.finite_only, "`finite_only`"),
    ];
    checks.iter().find(|(is_easier, _)| *is_easier).map(|(_, what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_schema::{DType, Reproducibility};

    #[test]
    fn only_what_is_easier_than_the_baseline_is_refused() {
        let usual = ErrorContract::default();
        let flushed = ErrorContract { underflow: Underflow::Flushed, ..usual };
        assert_eq!(easier(&usual, &usual), None);
        assert_eq!(easier(&usual, &flushed), None);
        assert_eq!(easier(&flushed, &flushed), None);
        assert_eq!(easier(&flushed, &usual), Some("`flushes_subnormals`"));
        let double = ErrorContract { accumulate: DType::F64, ..usual };
        assert_eq!(easier(&usual, &double), None, "sums in f32 are the usual promise");
        let short = ErrorContract { accumulate: DType::Bf16, ..usual };
        assert_eq!(easier(&short, &usual), Some("`accumulate` of a lower precision"));
        assert_eq!(easier(&short, &short), None);
        for (own, what) in [
            (ErrorContract { cancels: true, ..usual }, "`cancels`"),
            (ErrorContract { rounds_inside: true, ..usual }, "`rounds_inside`"),
            (ErrorContract { finite_only: true, ..usual }, "`finite_only`"),
        ] {
            assert_eq!((easier(&own, &usual), easier(&own, &own)), (Some(what), None));
        }
        let repeats = ErrorContract { reproducibility: Reproducibility::Bitwise, ..usual };
        assert_eq!(easier(&usual, &repeats), None);
    }
}
