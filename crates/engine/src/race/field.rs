//! Races of a whole field, and the refusal of an arm that fails in one.

use crate::{Event, Listener};
use proofmark_gate::Proven;
use proofmark_measure::{FaultKind, MonotonicClock, RaceFault, RaceRules, race};
use proofmark_schema::Outcome;
use proofmark_schema::proof::{Proof, Refusal};
use proofmark_schema::race::{Race, SeenFaster};

/// Races a field. An arm that fails while it is measured is refused and leaves the field, and the
/// others race again. Gives the race, unless no arm is left, and those that failed, each with its
/// refusal.
pub(crate) fn race_field<'a>(
    field: &mut Vec<Proven<'a>>,
    rules: &RaceRules,
    listener: &dyn Listener,
) -> (Option<Race>, Vec<(Proven<'a>, Proof)>) {
    let mut refused = Vec::new();
    while !field.is_empty() {
        listener.hear(&Event::Racing { contenders: field.len() });
        match race(field, rules, &MonotonicClock) {
            Ok(race) => return (Some(race), refused),
            Err(fault) => {
                listener.hear(&Event::Note(fault.to_string()));
                let failed = field.remove(fault.arm);
                let proof = refused_while_measured(failed.proof().clone(), &fault);
                refused.push((failed, proof));
            }
        }
    }
    (None, refused)
}

/// The proof of a contender that failed while it was measured, with the refusal that follows.
pub(crate) fn refused_while_measured(mut proof: Proof, fault: &RaceFault) -> Proof {
    proof.outcome = match fault.kind {
        FaultKind::Wrong => Outcome::Wrong,
        FaultKind::Lied => Outcome::Caught,
        FaultKind::Died => Outcome::Crashed,
        FaultKind::Broken => Outcome::Broken,
        FaultKind::Undecided => Outcome::Undecided,
    };
    // The command runs a race because only a race reproduces the fault: the contender was proven
    // when it ran alone and untimed.
    let (case, who) = (&proof.case, &proof.contender);
    let repro = format!(
        "proofmark compare {who} {who} --case '{case}' --seed {} --threads {}",
        proof.seed, proof.threads
    );
    proof.refusal = Some(Refusal {
        outcome: proof.outcome,
        stage: None,
        reason: fault.to_string(),
        worst: None,
        crash: None,
        repro,
    });
    proof
}

/// Tells which arms are faster on inputs that they have seen, and what was done about it.
pub(crate) fn tell_new_inputs(race: &Race, listener: &dyn Listener) {
    for SeenFaster { arm, times } in &race.seen_faster {
        let who = &race.arms[*arm as usize];
        listener.hear(&Event::Note(format!(
            "{who} on {} is {times:.2} times slower on inputs that it has not seen; all times of this \
             race are those of calls on new inputs",
            race.case
        )));
    }
}
