//! The races of a comparison, one after the other, each kept before the next begins.

use super::request::{CompareRequest, Sides};
use crate::jobs::run_all;
use crate::plan::proofs_at_once;
use crate::prove::Admission;
use crate::race::{Evidence, Stand, decided, looks_for, refused_while_measured, tell_new_inputs};
use crate::record::{RunLog, raced, refused};
use crate::{EngineError, Event, Listener, find_op};
use proofmark_analyze::policy::Open;
use proofmark_contract::Entry;
use proofmark_gate::Proven;
use proofmark_machine::Ceilings;
use proofmark_measure::{MonotonicClock, RaceRules, rule};
use proofmark_schema::Receipt;
use proofmark_schema::decision::{CaseDecision, Decided, RacedArm, Round};
use proofmark_schema::plan::{Item, Plan};
use proofmark_schema::proof::Proof;
use proofmark_schema::record::Record;
use proofmark_stats::{Looks, Stopping};
use proofmark_store::ItemEntry;

/// Share of the time that a race of planned length is planned to take.
const SPARED: f64 = 0.8;

/// Which race of a case is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lap {
    /// The first, of every case.
    Screen,
    /// The second, of what looked slower or was too noisy.
    Confirmation,
    /// The third, of what is still open.
    Settlement(Open),
}

/// A comparison in progress.
pub(super) struct Bout<'a> {
    pub(super) request: &'a CompareRequest,
    pub(super) listener: &'a dyn Listener,
    pub(super) stands: &'a [Stand; 2],
    pub(super) admissions: [Admission<'a>; 2],
    pub(super) fields: Vec<Option<[Proven<'a>; 2]>>,
    pub(super) decisions: Vec<CaseDecision>,
    /// Both sides of every race, case by case.
    pub(super) records: Vec<Sides>,
    pub(super) plan: &'a Plan,
    pub(super) ceilings: Ceilings,
    pub(super) log: RunLog,
}

impl<'a> Bout<'a> {
    /// One race of one case, kept in the run.
    pub(super) fn race(
        &mut self,
        lap: Lap,
        case: usize,
        alpha: f64,
    ) -> Result<Option<Evidence>, EngineError> {
        let cases = self.decisions.len();
        let (round, number, again) = match lap {
            Lap::Screen => (Round::Screen, case, ""),
            Lap::Confirmation => (Round::Confirmation, cases + case, " again"),
            Lap::Settlement(_) => (Round::Confirmation, 2 * cases + case, " to settle it"),
        };
        let item = &self.plan.items[number];
        let entry = find_op(&item.case.op)?;
        self.listener.hear(&Event::Item {
            number: case + 1,
            of: cases,
            case: format!("{}{again}", item.case),
            seconds_left: self.seconds_left(lap, case),
        });
        if lap == Lap::Screen {
            self.fields[case] = self.prove(entry, case, item)?;
        }
        let Some(field) = &self.fields[case] else { return Ok(None) };
        let stopping = self.stopping(entry, item, lap, case, alpha);
        let seed = proofmark_tensor::mix(self.request.seed, 2, number as u64);
        let budget_ns = (self.request.seconds * 1e9) as u64;
        let rules = RaceRules {
            budget_ns,
            memory: item.memory,
            quiet_ns: (self.request.quiet_seconds * 1e9) as u64,
            ..RaceRules::standard(seed)
        };
        self.listener.hear(&Event::Racing { contenders: field.len() });
        let (race, ruling) = match rule(field, &rules, &stopping, &MonotonicClock) {
            Ok(ruled) => ruled,
            Err(fault) => {
                let proof = refused_while_measured(field[fault.arm].proof().clone(), &fault);
                let receipt = field[fault.arm].receipt().clone();
                self.refuse(entry, case, item, fault.arm, receipt, Box::new(proof))?;
                return Ok(None);
            }
        };
        tell_new_inputs(&race, self.listener);
        let arms = [0, 1].map(|arm| RacedArm {
            arm: self.request.arms[arm].to_string(),
            contender: item.field[arm].clone(),
            program: self.stands[arm].program.clone(),
        });
        let decided = decided(round, arms, &race, &stopping, ruling.seconds);
        let records = [0, 1].map(|arm| raced(entry, item, &field[arm], &race, arm, &self.ceilings));
        let evidence = Evidence::of(&decided, decided.ruling.seconds < self.request.seconds);
        self.decisions[case].raced(&race, &decided);
        let item = item.index;
        let records = records.into();
        let entry = ItemEntry { item, race: Some(race), decided: Some(decided), records };
        self.records[case].extend(<[Record; 2]>::try_from(self.log.append(entry)?));
        Ok(Some(evidence))
    }

    /// Proves both arms; the first arm that is refused ends the case.
    fn prove(
        &mut self,
        entry: &'static Entry,
        case: usize,
        item: &Item,
    ) -> Result<Option<[Proven<'a>; 2]>, EngineError> {
        let mut field = Vec::new();
        let arms: Vec<_> = self.admissions.iter().zip(&item.field).collect();
        let most = proofs_at_once(entry, &item.case);
        let admitted = run_all(&arms, most, |(admission, who)| {
            admission.admit(entry, &item.case, who, item.threads)
        });
        for admitted in admitted {
            match admitted {
                Ok(proven) => field.push(proven),
                Err(proof) => {
                    self.refuse(entry, case, item, field.len(), Receipt::default(), proof)?;
                    return Ok(None);
                }
            }
        }
        Ok(field.try_into().ok())
    }

    /// Estimates the remaining time from the mean of the finished cases, or one second per case
    /// before the first is finished. Confirmations cannot be predicted and are not included.
    fn seconds_left(&self, lap: Lap, case: usize) -> f64 {
        let took = |decided: &Option<Decided>| decided.as_ref().map(|it| it.ruling.seconds);
        let done: Vec<f64> = self.decisions.iter().filter_map(|it| took(&it.screen)).collect();
        let each = if done.is_empty() { 1.0 } else { done.iter().sum::<f64>() / done.len() as f64 };
        match lap {
            Lap::Screen => each * (self.decisions.len() - case) as f64,
            Lap::Confirmation | Lap::Settlement(_) => each,
        }
    }

    fn stopping(
        &self,
        entry: &'static Entry,
        item: &Item,
        lap: Lap,
        case: usize,
        alpha: f64,
    ) -> Stopping {
        let looks = looks_for(entry, &item.case, item.threads);
        let is_unclear = lap == Lap::Settlement(Open::Unclear);
        Stopping {
            looks: if is_unclear { self.one_look(&looks, case) } else { looks },
            alpha,
            report_margin: self.request.report_margin,
            same_margin: self.request.same_margin,
        }
    }

    /// One look, after as many trials as the schedule allows and as fit the time at the speed of
    /// the previous race. It depends on that race alone, so the error rate holds.
    fn one_look(&self, looks: &Looks, case: usize) -> Looks {
        let took = self.decisions[case].last().map(|decided| {
            decided.ruling.seconds / f64::from(decided.ruling.comparison.trials.max(1))
        });
        let each = took.filter(|seconds| *seconds > 0.0).unwrap_or(f64::INFINITY);
        let fitting = (SPARED * self.request.seconds / each) as u32;
        let trials = fitting.clamp(looks.at()[0], looks.cap());
        Looks::new(vec![trials], looks.spending()).unwrap_or_else(|| looks.clone())
    }

    /// Keeps a refusal in place of a race.
    fn refuse(
        &mut self,
        entry: &'static Entry,
        case: usize,
        item: &Item,
        arm: usize,
        receipt: Receipt,
        proof: Box<Proof>,
    ) -> Result<(), EngineError> {
        let decision = &mut self.decisions[case];
        decision.refuse(arm, proof.clone());
        let records = vec![refused(entry, item, receipt, *proof)];
        self.log.append(ItemEntry { item: item.index, race: None, decided: None, records })?;
        Ok(())
    }
}
