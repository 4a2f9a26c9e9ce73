//! The overhead of a slice: a worker's slices against a bare loop in the same worker.

use crate::fault::{FaultKind, RaceFault};
use crate::race::run;
use crate::rules::RaceRules;
use crate::stable::{Heat, Stable, Turn, last_processor};
use proofmark_arena::{Batch, Change, Inputs, Ran};
use proofmark_gate::{Entrant, Proven, Seat};
use proofmark_schema::race::{CallInputs, Race, Trial};
use proofmark_stats::median;

/// Number of empty batches, which measure the overhead of reading the clock.
const EMPTY_BATCHES: usize = 32;

/// Races a contender's bare loop (arm 0) with its slices (arm 1), in the same process, for the
/// maximum number of trials. Both are timed by the same readings of the clock, so the overhead of
/// these is returned separately: the nanoseconds of an empty batch.
///
/// # Errors
/// If the contender fails.
pub fn against_bare_loop(proven: &Proven<'_>, rules: &RaceRules) -> Result<(Race, f64), RaceFault> {
    let arms = vec![proven.contender().clone(); 2];
    let mut same = Same { proven, empty_ns: Vec::new() };
    let race = run(&mut same, proven.case(), &arms, proven.threads(), rules, &mut |_| false)?;
    Ok((race, median(&same.empty_ns).unwrap_or(0.0)))
}

/// One contender as both arms.
struct Same<'a, 'p> {
    proven: &'a Proven<'p>,
    empty_ns: Vec<f64>,
}

struct Both<'a, 'p> {
    proven: &'a Proven<'p>,
    entrant: Entrant<'a>,
    changes_weights: bool,
}

impl Stable for Same<'_, '_> {
    fn arms(&self) -> usize {
        2
    }

    fn trial(
        &mut self,
        trial: &Trial,
        heat: &mut dyn FnMut(&mut dyn Heat) -> Result<(), RaceFault>,
    ) -> Result<(), RaceFault> {
        let proven = self.proven;
        let revealed = proven.reveal(trial.seed);
        let cpu = (proven.threads() == 1).then(last_processor);
        let changes_weights = !proven.receipt().prepared_outside;
        let seat = Seat { cpu, races: true, changes_weights, ..Seat::default() };
        let entered = proven.enter(trial, &revealed, &seat, None);
        let entrant = entered.map_err(|fault| failed(proven, fault.to_string()))?;
        entrant.seal_inputs().map_err(|fault| failed(proven, fault.to_string()))?;
        let mut both = Both { proven, entrant, changes_weights };
        heat(&mut both)?;
        let turn = Turn { prime: 1, calls: 0, inputs: CallInputs::Repeated, seed: 0 };
        for _ in 0..EMPTY_BATCHES {
            self.empty_ns.push(both.batch(1, &turn)?.wall_ns as f64);
        }
        Ok(())
    }
}

impl Heat for Both<'_, '_> {
    fn batch(&mut self, arm: usize, turn: &Turn) -> Result<Ran, RaceFault> {
        let &Turn { prime, calls, seed, .. } = turn;
        let is_bare = arm == 0;
        let change = Change { seed, with_weights: self.changes_weights };
        let inputs = match turn.inputs {
            CallInputs::Perturbed if !is_bare => Inputs::Perturbed(change),
            _ => Inputs::AsTheyAre,
        };
        let ran =
            self.entrant.run(&Batch { prime, calls, bare: is_bare, inputs, ..Batch::default() });
        ran.map_err(|fault| failed(self.proven, fault.to_string()))
    }

    fn verify(&mut self, _arm: usize, calls: u32, seed: u64) -> Result<(u64, Ran), RaceFault> {
        let verified =
            self.entrant.verify(calls, Change { seed, with_weights: self.changes_weights });
        verified.map_err(|cause| failed(self.proven, cause.to_string()))
    }

    fn peak_bytes(&self, _arm: usize) -> u64 {
        self.entrant.peak_bytes()
    }
}

fn failed(proven: &Proven<'_>, reason: String) -> RaceFault {
    let contender = proven.contender().to_string();
    RaceFault { arm: 0, contender, kind: FaultKind::Died, reason }
}
