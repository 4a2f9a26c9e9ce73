//! What an outcome means for a cheat, a fault and an honest kernel.

use proofmark_measure::{FaultKind, RaceFault, compare};
use proofmark_schema::judge::{Kind, Mark};
use proofmark_schema::proof::Proof;
use proofmark_schema::race::Race;

/// How much faster than its twin a cheat must look to win: more than two honest builds of the same
/// kernel can differ.
const GAIN: f64 = 1.10;
const CONFIDENCE: f64 = 0.95;
/// The arms of every race here.
const TWIN: u32 = 0;
const SPECIMEN: u32 = 1;

/// What became of one.
pub(super) struct Judgement {
    pub(super) mark: Mark,
    pub(super) outcome: String,
    pub(super) ratio: Option<f64>,
    pub(super) words: String,
}

/// The mark of a contender that was named.
fn named(kind: Kind) -> Mark {
    if kind == Kind::Honest { Mark::Accused } else { Mark::Named }
}

/// The judgement of a specimen that the gate refused.
pub(super) fn of_refusal(kind: Kind, proof: &Proof) -> Judgement {
    let outcome = proof.outcome.name().to_owned();
    Judgement { mark: named(kind), outcome, ratio: None, words: reason(proof) }
}

/// The judgement of a specimen whose honest twin the gate refused, so nothing can be said of it.
pub(super) fn of_refused_twin(kind: Kind, proof: &Proof) -> Judgement {
    let mark = if kind == Kind::Honest { Mark::Accused } else { Mark::Unnamed };
    let words = format!("its twin was refused: {}", reason(proof));
    Judgement { mark, outcome: "no twin".to_owned(), ratio: None, words }
}

fn reason(proof: &Proof) -> String {
    proof.refusal.as_ref().map_or_else(String::new, |refusal| refusal.reason.clone())
}

/// The judgement of a race that a fault of one arm ended.
pub(super) fn of_fault(kind: Kind, fault: &RaceFault) -> Judgement {
    let outcome = match fault.kind {
        FaultKind::Died => "CRASHED",
        FaultKind::Broken => "BROKEN",
        FaultKind::Wrong => "WRONG",
        FaultKind::Lied => "CAUGHT",
        FaultKind::Undecided => "UNDECIDED",
    };
    let is_its_own = fault.arm == SPECIMEN as usize;
    let mark = match (kind, fault.kind) {
        // A busy machine can cause this.
        (Kind::Honest, FaultKind::Undecided) => Mark::Undecided,
        (Kind::Honest, _) => Mark::Accused,
        _ if is_its_own => Mark::Named,
        (_, FaultKind::Undecided) => Mark::NoGain,
        // The cheat caused an innocent arm to be accused.
        (Kind::Cheat { .. }, _) => Mark::Win,
        (Kind::Fault, _) => Mark::Unnamed,
    };
    let (outcome, words) = match is_its_own {
        true => (outcome.to_owned(), fault.reason.clone()),
        false => (format!("twin {outcome}"), format!("its twin is accused: {}", fault.reason)),
    };
    Judgement { mark, outcome, ratio: None, words }
}

/// The judgement of a race that ended without a fault.
pub(super) fn of_race(kind: Kind, race: &Race, left: &[String]) -> Judgement {
    let compared = compare(race, TWIN, SPECIMEN, CONFIDENCE);
    let ratio = compared.map(|comparison| 1.0 / comparison.ratio.estimate);
    let note = note_on(race, SPECIMEN as usize).or_else(|| left.first().cloned());
    let mark = match kind {
        Kind::Honest => Mark::Passed,
        _ if note.is_some() => Mark::Named,
        Kind::Fault => Mark::Unnamed,
        Kind::Cheat { .. } if ratio.is_some_and(|ratio| ratio > GAIN) => Mark::Win,
        Kind::Cheat { .. } => Mark::NoGain,
    };
    Judgement { mark, outcome: "PROVEN".to_owned(), ratio, words: note.unwrap_or_default() }
}

/// What a clean race notes about an arm: that its time was measured on new inputs, or that it
/// leaks.
fn note_on(race: &Race, arm: usize) -> Option<String> {
    if let Some(found) = race.seen_faster.iter().find(|one| one.arm as usize == arm) {
        let times = found.times;
        return Some(format!(
            "{times:.2} times faster on inputs that it has seen; timed on new ones"
        ));
    }
    let grown = race.grown(arm)?;
    Some(format!("its memory grew by {} MiB or more in every trial", grown >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(arm: usize, kind: FaultKind) -> RaceFault {
        RaceFault { arm, contender: "x".to_owned(), kind, reason: "reason".to_owned() }
    }

    #[test]
    fn a_cheat_is_named_by_its_own_fault_and_wins_by_that_of_its_twin() {
        let cheat = Kind::Cheat { attacks: false };
        assert_eq!(of_fault(cheat, &fault(1, FaultKind::Wrong)).mark, Mark::Named);
        assert_eq!(of_fault(cheat, &fault(1, FaultKind::Undecided)).mark, Mark::Named);
        let framed = of_fault(cheat, &fault(0, FaultKind::Wrong));
        assert_eq!((framed.mark, framed.outcome.as_str()), (Mark::Win, "twin WRONG"));
        assert_eq!(of_fault(cheat, &fault(0, FaultKind::Undecided)).mark, Mark::NoGain);
        assert_eq!(of_fault(Kind::Fault, &fault(1, FaultKind::Died)).mark, Mark::Named);
    }

    #[test]
    fn an_honest_kernel_is_accused_by_any_fault_that_a_busy_machine_does_not_explain() {
        for arm in [0, 1] {
            let mark = |kind| of_fault(Kind::Honest, &fault(arm, kind)).mark;
            assert_eq!(mark(FaultKind::Undecided), Mark::Undecided);
            assert_eq!(mark(FaultKind::Lied), Mark::Accused);
            assert_eq!(mark(FaultKind::Wrong), Mark::Accused);
            assert_eq!(mark(FaultKind::Died), Mark::Accused);
        }
    }
}
