//! Runs a plan: each item is certified, proven, raced and recorded before the next one starts.

use crate::plan::{Forecast, race_rules};
use crate::prove::Admission;
use crate::race::{check_cache, isolated, race_field, tell_new_inputs};
use crate::record::{RunLog, ceilings, raced, refused};
use crate::{EngineError, Event, Listener, Shard, find_op};
use proofmark_arena::Arena;
use proofmark_gate::Proven;
use proofmark_machine::Ceilings;
use proofmark_measure::{Clock, MonotonicClock, RaceRules};
use proofmark_schema::plan::{Item, Plan};
use proofmark_schema::record::Record;
use proofmark_schema::{Isa, Receipt};
use proofmark_store::{ItemEntry, Store};

/// A run in progress.
pub struct Bench<'a> {
    /// Where workers come from.
    pub arena: &'a Arena,
    /// Where the run is kept.
    pub store: &'a Store,
    /// The listener that hears about it.
    pub listener: &'a dyn Listener,
    /// Highest path kernels may take.
    pub cap: Isa,
    /// The most seconds to wait for a quiet machine before each race; 0 means no wait.
    pub quiet_seconds: f64,
}

impl Bench<'_> {
    /// Starts the run of a plan; gives its id and records.
    ///
    /// # Errors
    /// If the store fails. What was acknowledged before stays.
    pub fn start(&self, plan: &Plan) -> Result<(String, Vec<Record>), EngineError> {
        let arena = self.isolated(plan)?;
        let log = RunLog::create(self.store, plan, &proofmark_machine::facts(self.cap))?;
        self.go_on(&arena, log, plan, &[])
    }

    /// Starts the run of one shard of a plan, which can be merged with the others.
    ///
    /// # Errors
    /// As for [`Bench::start`].
    pub fn start_shard(
        &self,
        whole: &Plan,
        shard: Shard,
    ) -> Result<(String, Vec<Record>), EngineError> {
        let (plan, note) = shard.kept(whole);
        let arena = self.isolated(&plan)?;
        let mut log = RunLog::create(self.store, &plan, &proofmark_machine::facts(self.cap))?;
        log.note(&note)?;
        self.go_on(&arena, log, &plan, &[])
    }

    /// Resumes a run that was cut off: it runs exactly the items that have no acknowledged record.
    ///
    /// # Errors
    /// If there is no such run or the store fails.
    pub fn resume(&self, run: &str) -> Result<(String, Vec<Record>), EngineError> {
        let plan = self.store.load(run)?.plan;
        if !plan.kind.is_table() {
            return Err(EngineError::NotABench(run.to_owned()));
        }
        let arena = self.isolated(&plan)?;
        let (log, done) = RunLog::resume(self.store, run)?;
        if log.cut_bytes() > 0 {
            let cut = log.cut_bytes();
            let note = format!("{cut} bytes of an unacknowledged record were cut from the journal");
            self.listener.hear(&Event::Note(note));
        }
        self.go_on(&arena, log, &plan, &done)
    }

    /// Workers at the level that the plan's contenders need.
    fn isolated(&self, plan: &Plan) -> Result<Arena, EngineError> {
        let arena = isolated(self.arena, plan.items.iter().flat_map(|item| &item.field))?;
        plan.items.iter().try_for_each(|item| check_cache(&arena, item.memory.cache))?;
        Ok(arena)
    }

    fn go_on(
        &self,
        arena: &Arena,
        mut log: RunLog,
        plan: &Plan,
        done: &[ItemEntry],
    ) -> Result<(String, Vec<Record>), EngineError> {
        let items = plan.items.len();
        self.listener.hear(&Event::Started { run: log.id(), items, done: done.len() });
        let facts = proofmark_machine::facts(self.cap);
        let ceilings = ceilings(self.store, &facts, self.cap, self.listener);
        let is_left = |item: &Item| done.iter().all(|entry| entry.item != item.index);
        let mut forecast = Forecast::of_plan(plan, is_left);
        let admission = Admission::new(arena, plan.seed, self.cap, self.listener);
        let mut records: Vec<Record> = Vec::new();
        for (place, item) in plan.items.iter().enumerate() {
            if let Some(entry) = done.iter().find(|entry| entry.item == item.index) {
                records.extend(entry.records.iter().cloned());
                continue;
            }
            self.listener.hear(&Event::Item {
                number: place + 1,
                of: items,
                case: item.case.to_string(),
                seconds_left: forecast.seconds_left(),
            });
            let start = MonotonicClock.now_ns();
            let (field, refusals) = prove_item(item, &admission)?;
            forecast.proved(place, seconds_since(start));
            let start = MonotonicClock.now_ns();
            let ended = log.append(self.race_item(plan, item, field, refusals, &ceilings)?)?;
            forecast.raced(place, seconds_since(start));
            self.listener.hear(&Event::Ended { records: &ended });
            records.extend(ended);
        }
        Ok((log.seal()?, records))
    }

    /// Races the proven contenders of an item; gives its records after those of the refused.
    fn race_item(
        &self,
        plan: &Plan,
        item: &Item,
        mut field: Vec<Proven<'_>>,
        mut records: Vec<Record>,
        ceilings: &Ceilings,
    ) -> Result<ItemEntry, EngineError> {
        let entry = find_op(&item.case.op)?;
        let seed = proofmark_tensor::mix(plan.seed, 1, item.index);
        let rules = RaceRules {
            memory: item.memory,
            quiet_ns: (self.quiet_seconds * 1e9) as u64,
            ..race_rules(plan.kind, seed)
        };
        let (race, failed) = race_field(&mut field, &rules, self.listener);
        for (arm, proof) in failed {
            records.push(refused(entry, item, arm.receipt().clone(), proof));
        }
        if let Some(race) = &race {
            tell_new_inputs(race, self.listener);
            for (arm, proven) in field.iter().enumerate() {
                records.push(raced(entry, item, proven, race, arm, ceilings));
            }
        }
        Ok(ItemEntry { item: item.index, race, decided: None, records })
    }
}

/// The proven contenders of an item, and the records of those that were refused.
fn prove_item<'a>(
    item: &Item,
    admission: &Admission<'a>,
) -> Result<(Vec<Proven<'a>>, Vec<Record>), EngineError> {
    let entry = find_op(&item.case.op)?;
    let (mut field, mut records) = (Vec::new(), Vec::new());
    let all: Vec<_> = item.field.iter().map(|who| (who, item.threads)).collect();
    for admitted in admission.admit_all(entry, &item.case, &all) {
        match admitted {
            Ok(proven) => field.push(proven),
            Err(proof) => records.push(refused(entry, item, Receipt::default(), *proof)),
        }
    }
    Ok((field, records))
}

fn seconds_since(start: u64) -> f64 {
    (MonotonicClock.now_ns() - start) as f64 / 1e9
}
