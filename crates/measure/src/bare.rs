//! What a slice costs beside its calls: a worker against a bare loop of its own.

use crate::race::{FaultKind, RaceFault, last_processor, run};
use crate::rules::RaceRules;
use crate::stable::{Heat, Stable};
use proofmark_arena::{Batch, Ran};
use proofmark_gate::{Entrant, Proven, Seat};
use proofmark_schema::race::{Race, Trial};
use proofmark_stats::median;

/// Batches without a call, for what the readings of the clock take.
const EMPTY_BATCHES: usize = 32;

/// Races a contender's bare loop (arm 0) with its slices (arm 1), in the same process, for as many
/// trials as the rules allow at the most. Both are between the same readings of the clock, so
/// these come beside: nanoseconds that a batch without a call takes.
///
/// # Errors
/// If the contender fails.
pub fn against_bare_loop(proven: &Proven<'_>, rules: &RaceRules) -> Result<(Race, f64), RaceFault> {
    let arms = vec![proven.contender().clone(); 2];
    let mut same = Same { proven, empty_ns: Vec::new() };
    let race = run(&mut same, proven.case(), arms, proven.threads(), rules, &mut |_| false)?;
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
        let seat = Seat { cpu, ..Seat::default() };
        let entered = proven.enter(trial, &revealed, &seat, None);
        let entrant = entered.map_err(|fault| failed(proven, fault.to_string()))?;
        let mut both = Both { proven, entrant };
        heat(&mut both)?;
        for _ in 0..EMPTY_BATCHES {
            self.empty_ns.push(both.batch(1, 1, 0)?.wall_ns as f64);
        }
        Ok(())
    }
}

impl Heat for Both<'_, '_> {
    fn batch(&mut self, arm: usize, prime: u32, calls: u32) -> Result<Ran, RaceFault> {
        let batch = Batch { prime, calls, bare: arm == 0, ..Batch::default() };
        let ran = self.entrant.run(&batch);
        ran.map_err(|fault| failed(self.proven, fault.to_string()))
    }

    fn verify(&mut self, _arm: usize, calls: u32) -> Result<u64, RaceFault> {
        self.entrant.verify(calls).map_err(|cause| failed(self.proven, cause.to_string()))
    }

    fn peak_bytes(&self, _arm: usize) -> u64 {
        self.entrant.peak_bytes()
    }
}

fn failed(proven: &Proven<'_>, reason: String) -> RaceFault {
    let contender = proven.contender().to_string();
    RaceFault { arm: 0, contender, kind: FaultKind::Died, reason }
}
