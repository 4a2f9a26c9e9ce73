//! What a slice costs beside its calls: a worker against a bare loop of its own.

use crate::race::{RaceFault, last_processor, run};
use crate::rules::RaceRules;
use crate::stable::{Heat, Stable};
use proofmark_arena::{Batch, Ran};
use proofmark_gate::{Entrant, Proven, Seat};
use proofmark_schema::race::{Race, Trial};

/// How much longer the bare loop is than a slice, so that its two readings of the clock hardly
/// count.
const TIMES_LONGER: u32 = 4;

/// Races a contender's bare loop (arm 0) with its slices (arm 1), in the same process, for as many
/// trials as the rules allow at the most.
///
/// # Errors
/// If the contender fails.
pub fn against_bare_loop(proven: &Proven<'_>, rules: &RaceRules) -> Result<Race, RaceFault> {
    let arms = vec![proven.contender().clone(); 2];
    run(&mut Same(proven), proven.case(), arms, proven.threads(), rules, &mut |_| false)
}

/// One contender as both arms.
struct Same<'a, 'p>(&'a Proven<'p>);

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
        let revealed = self.0.reveal(trial.seed);
        let cpu = (self.0.threads() == 1).then(last_processor);
        let seat = Seat { cpu, ..Seat::default() };
        let entered = self.0.enter(trial, &revealed, &seat, None);
        let entrant = entered.map_err(|fault| failed(self.0, fault.to_string()))?;
        heat(&mut Both { proven: self.0, entrant })
    }
}

impl Heat for Both<'_, '_> {
    fn batch(&mut self, arm: usize, prime: u32, calls: u32) -> Result<Ran, RaceFault> {
        let bare = arm == 0;
        let times = if bare { TIMES_LONGER } else { 1 };
        let batch = Batch { prime, calls: calls * times, bare, ..Batch::default() };
        let ran = self.entrant.run(&batch);
        let ran = ran.map_err(|fault| failed(self.proven, fault.to_string()))?;
        Ok(Ran { wall_ns: ran.wall_ns / u64::from(times), ..ran })
    }

    fn verify(&mut self, _arm: usize, calls: u32) -> Result<u64, RaceFault> {
        self.entrant.verify(calls).map_err(|reason| failed(self.proven, reason))
    }

    fn peak_bytes(&self, _arm: usize) -> u64 {
        self.entrant.peak_bytes()
    }
}

fn failed(proven: &Proven<'_>, reason: String) -> RaceFault {
    RaceFault { arm: 0, contender: proven.contender().to_string(), reason }
}
