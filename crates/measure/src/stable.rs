//! Where the arms of a trial come from: worker processes, or a script in tests.

use crate::race::RaceFault;
use proofmark_arena::{Batch, Ran};
use proofmark_gate::{Entrant, Proven, Revealed};
use proofmark_schema::race::Trial;

/// Starts the arms of trials.
pub(crate) trait Stable {
    /// How many arms.
    fn arms(&self) -> usize;

    /// Runs `heat` with the fresh arms of a trial.
    fn trial(
        &mut self,
        trial: &Trial,
        heat: &mut dyn FnMut(&mut dyn Heat) -> Result<(), RaceFault>,
    ) -> Result<(), RaceFault>;
}

/// The arms of one trial.
pub(crate) trait Heat {
    /// Runs one batch of an arm.
    fn batch(&mut self, arm: usize, prime: u32, calls: u32) -> Result<Ran, RaceFault>;

    /// Checks what the arm's last batch left; gives the count of elements checked.
    fn verify(&mut self, arm: usize) -> Result<u64, RaceFault>;

    /// Memory the arm gained for the case.
    fn peak_bytes(&self, arm: usize) -> u64;
}

/// Fresh workers for proven contenders.
pub(crate) struct Workers<'a, 'p> {
    pub(crate) field: &'a [Proven<'p>],
}

struct Entrants<'a, 'p> {
    field: &'a [Proven<'p>],
    entrants: Vec<Entrant<'a>>,
}

impl Stable for Workers<'_, '_> {
    fn arms(&self) -> usize {
        self.field.len()
    }

    fn trial(
        &mut self,
        trial: &Trial,
        heat: &mut dyn FnMut(&mut dyn Heat) -> Result<(), RaceFault>,
    ) -> Result<(), RaceFault> {
        let revealed: Revealed = self.field[0].reveal(trial.seed);
        let mut entrants = Vec::with_capacity(self.field.len());
        for (arm, proven) in self.field.iter().enumerate() {
            let entered = proven.enter(trial, &revealed, None);
            entrants.push(entered.map_err(|fault| fault_of(self.field, arm, fault.to_string()))?);
        }
        heat(&mut Entrants { field: self.field, entrants })
    }
}

impl Heat for Entrants<'_, '_> {
    fn batch(&mut self, arm: usize, prime: u32, calls: u32) -> Result<Ran, RaceFault> {
        let batch = Batch { prime, calls, check_each_call: false, dirty_workspace: None };
        let ran = self.entrants[arm].run(&batch);
        ran.map_err(|fault| fault_of(self.field, arm, fault.to_string()))
    }

    fn verify(&mut self, arm: usize) -> Result<u64, RaceFault> {
        let field = self.field;
        self.entrants[arm].verify().map_err(|reason| fault_of(field, arm, reason))
    }

    fn peak_bytes(&self, arm: usize) -> u64 {
        self.entrants[arm].peak_bytes()
    }
}

fn fault_of(field: &[Proven<'_>], arm: usize, reason: String) -> RaceFault {
    RaceFault { arm, contender: field[arm].contender().to_string(), reason }
}
