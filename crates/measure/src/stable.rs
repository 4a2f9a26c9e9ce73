//! Where the arms of a trial come from: worker processes, or a script in tests.

use crate::race::RaceFault;
use proofmark_arena::{Batch, Fault, Ran};
use proofmark_gate::{Entrant, Proven, Revealed};
use proofmark_schema::race::Trial;
use proofmark_stats::Stream;

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
    /// The processor that workers are kept on, if on one.
    pub(crate) cpu: Option<usize>,
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
        // Arms on the same case share their inputs and what is expected of their outputs.
        let cases: Vec<usize> = (0..self.field.len()).map(|arm| self.first_on_case(arm)).collect();
        let reveal = |arm: usize| (cases[arm] == arm).then(|| self.field[arm].reveal(trial.seed));
        let revealed: Vec<Option<Revealed>> = (0..self.field.len()).map(reveal).collect();
        // Who starts first gets other memory than who starts last: the order is drawn too.
        let mut order: Vec<usize> = (0..self.field.len()).collect();
        Stream::new(trial.seed).shuffle(&mut order);
        let mut entrants: Vec<Option<Entrant<'_>>> = self.field.iter().map(|_| None).collect();
        for arm in order {
            let inputs = revealed[cases[arm]].as_ref().expect("the first on a case reveals");
            let entered = self.field[arm].enter(trial, inputs, self.cpu);
            let failed = |fault: Fault| fault_of(self.field, arm, fault.to_string());
            entrants[arm] = Some(entered.map_err(failed)?);
        }
        let entrants = entrants.into_iter().flatten().collect();
        heat(&mut Entrants { field: self.field, entrants })
    }
}

impl Workers<'_, '_> {
    /// The first arm on the same case as this one.
    fn first_on_case(&self, arm: usize) -> usize {
        let case = self.field[arm].case();
        self.field.iter().position(|proven| proven.case() == case).unwrap_or(arm)
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
