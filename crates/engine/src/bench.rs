//! Runs a plan: each item is certified, proven, raced and recorded before the next one starts.

use crate::admit::Admission;
use crate::budget::Budget;
use crate::limits::{ceilings, demand};
use crate::{EngineError, Event, Listener, Shard, find_op};
use proofmark_arena::Arena;
use proofmark_contract::Entry;
use proofmark_gate::Proven;
use proofmark_machine::Ceilings;
use proofmark_measure::{
    Clock, FaultKind, MonotonicClock, RaceFault, RaceRules, compare, conditions, race, time_of_call,
};
use proofmark_schema::plan::{Item, Plan};
use proofmark_schema::proof::{Proof, Refusal};
use proofmark_schema::race::{Race, SeenFaster};
use proofmark_schema::record::{Judged, Performance, Record, SliceSpan};
use proofmark_schema::{ContenderId, FORMAT_VERSION, Family, Isa, Outcome, Receipt};
use proofmark_store::{ItemEntry, RunWriter, Store};

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
        let id = uuid::Uuid::now_v7().to_string();
        let facts = proofmark_machine::facts(self.cap);
        let writer = self.store.create(&id, plan, &facts)?;
        self.go_on(writer, plan, &[])
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
        let id = uuid::Uuid::now_v7().to_string();
        let plan = shard.part(whole);
        let facts = proofmark_machine::facts(self.cap);
        let mut writer = self.store.create(&id, &plan, &facts)?;
        writer.append_note(&shard.note(whole))?;
        self.go_on(writer, &plan, &[])
    }

    /// Resumes a run that was cut off: it runs exactly the items that have no acknowledged record.
    ///
    /// # Errors
    /// If there is no such run or the store fails.
    pub fn resume(&self, run: &str) -> Result<(String, Vec<Record>), EngineError> {
        let plan = self.store.load(run)?.plan;
        if !Budget::of(&plan).is_table() {
            return Err(EngineError::NotABench(run.to_owned()));
        }
        let (writer, done) = self.store.resume(run)?;
        if writer.cut_bytes() > 0 {
            let cut = writer.cut_bytes();
            let note = format!("{cut} bytes of an unacknowledged record were cut from the journal");
            self.listener.hear(&Event::Note(note));
        }
        self.go_on(writer, &plan, &done)
    }

    fn go_on(
        &self,
        mut writer: RunWriter,
        plan: &Plan,
        done: &[ItemEntry],
    ) -> Result<(String, Vec<Record>), EngineError> {
        let run = writer.id().to_owned();
        let items = plan.items.len();
        self.listener.hear(&Event::Started { run: &run, items, done: done.len() });
        let facts = proofmark_machine::facts(self.cap);
        let ceilings = ceilings(self.store, &facts, self.cap, self.listener);
        let clock = MonotonicClock;
        let start = clock.now_ns();
        let admission = Admission::new(self.arena, plan.seed, self.cap, self.listener);
        let mut records: Vec<Record> = Vec::new();
        let mut finished = 0;
        for (place, item) in plan.items.iter().enumerate() {
            if let Some(entry) = done.iter().find(|entry| entry.item == item.index) {
                records.extend(entry.records.iter().cloned());
                continue;
            }
            let left = (items - done.len() - finished) as f64;
            let each = if finished == 0 {
                plan.estimate_seconds / items as f64
            } else {
                (clock.now_ns() - start) as f64 / 1e9 / finished as f64
            };
            self.listener.hear(&Event::Racing {
                number: place + 1,
                of: items,
                case: item.case.to_string(),
                seconds_left: each * left,
            });
            let entry = self.run_item(&run, plan, item, &admission, &ceilings)?;
            writer.append_item(&entry)?;
            records.extend(entry.records);
            finished += 1;
        }
        writer.seal()?;
        Ok((run, records))
    }

    fn run_item(
        &self,
        run: &str,
        plan: &Plan,
        item: &Item,
        admission: &Admission<'_>,
        ceilings: &Ceilings,
    ) -> Result<ItemEntry, EngineError> {
        let entry = find_op(&item.case.op)?;
        let mut records = Vec::new();
        let mut field = Vec::new();
        let all: Vec<_> = item.field.iter().map(|who| (who, item.threads)).collect();
        let admitted = admission.admit_all(entry, &item.case, &all);
        for (who, admitted) in item.field.iter().zip(admitted) {
            match admitted {
                Ok(proven) => field.push(proven),
                Err(proof) => {
                    let receipt = Receipt::default();
                    records.push(record(
                        run,
                        entry,
                        item,
                        who,
                        receipt,
                        Judged::Refused { proof: *proof },
                    ));
                }
            }
        }
        let raced = self.race_field(plan, item, &mut field, run, entry, &mut records);
        if let Some(race) = &raced {
            for (arm, proven) in field.iter().enumerate() {
                let performance =
                    performance(race, arm, entry, item, proven, ceilings).map(Box::new);
                let judged = Judged::Proven { proof: proven.proof().clone(), performance };
                let receipt = proven.receipt().clone();
                records.push(record(run, entry, item, proven.contender(), receipt, judged));
            }
        }
        Ok(ItemEntry { item: item.index, race: raced, decided: None, records })
    }

    /// Races the proven contenders. An arm that fails while it is measured is refused, and the
    /// others go on.
    fn race_field(
        &self,
        plan: &Plan,
        item: &Item,
        field: &mut Vec<Proven<'_>>,
        run: &str,
        entry: &'static Entry,
        records: &mut Vec<Record>,
    ) -> Option<Race> {
        while !field.is_empty() {
            let seed = proofmark_tensor::mix(plan.seed, 1, item.index);
            let rules = RaceRules {
                memory: item.memory,
                quiet_ns: (self.quiet_seconds * 1e9) as u64,
                ..Budget::of(plan).rules(seed)
            };
            match race(field, &rules, &MonotonicClock) {
                Ok(race) => {
                    tell_new_inputs(&race, self.listener);
                    return Some(race);
                }
                Err(fault) => {
                    let failed = field.remove(fault.arm);
                    let proof = refused_while_measured(failed.proof().clone(), &fault);
                    let judged = Judged::Refused { proof };
                    let receipt = failed.receipt().clone();
                    let who = failed.contender();
                    self.listener.hear(&Event::Note(fault.to_string()));
                    records.push(record(run, entry, item, who, receipt, judged));
                }
            }
        }
        None
    }
}

pub(crate) fn refused_while_measured(mut proof: Proof, fault: &RaceFault) -> Proof {
    proof.outcome = match fault.kind {
        FaultKind::Wrong => Outcome::Wrong,
        FaultKind::Lied => Outcome::Caught,
        FaultKind::Died => Outcome::Crashed,
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

const CONFIDENCE: f64 = 0.95;

pub(crate) fn performance(
    race: &Race,
    arm: usize,
    entry: &Entry,
    item: &Item,
    proven: &Proven<'_>,
    ceilings: &Ceilings,
) -> Option<Performance> {
    let slices: Vec<_> = race.slices.iter().filter(|s| s.arm == arm as u32).collect();
    let calls: u64 = slices.iter().map(|slice| u64::from(slice.calls)).sum();
    let allocations: u64 = slices.iter().map(|slice| u64::from(slice.allocations)).sum();
    let bytes: u64 = slices.iter().map(|slice| slice.allocated_bytes).sum();
    let per_call = |count: u64| count as f64 / calls.max(1) as f64;
    // A kernel that uses one thread is held to what one thread can do.
    let threads = proven.receipt().threads.unwrap_or(item.threads);
    let sets = u64::from(race.cache[arm].sets);
    let demand = demand(entry, &item.case, threads, item.memory.cache, sets)?;
    Some(Performance {
        wall_ns: time_of_call(race, arm as u32, CONFIDENCE)?,
        trials: race.trials.len() as u32,
        slice_count: slices.len() as u32,
        cache: race.cache[arm],
        pages: Some(race.pages[arm]),
        peak_bytes: race.peak_bytes[arm],
        allocations_per_call: per_call(allocations),
        allocated_bytes_per_call: Some(per_call(bytes)),
        limits: Some(ceilings.limits(&demand)),
        comparison: if arm == 0 { None } else { compare(race, 0, arm as u32, CONFIDENCE) },
        best_peer: best_peer(race)
            .filter(|&best| best != arm as u32)
            .and_then(|best| compare(race, best, arm as u32, CONFIDENCE)),
        conditions: Some(conditions(race)),
        inputs: race.inputs,
        seen_faster: times_of(&race.seen_faster, arm),
        grown_bytes: race.grown(arm),
        slices: SliceSpan { race: item.index, arm: arm as u32 },
    })
}

fn times_of(found: &[SeenFaster], arm: usize) -> Option<f64> {
    found.iter().find(|one| one.arm as usize == arm).map(|one| one.times)
}

/// The arm of the fastest peer.
fn best_peer(race: &Race) -> Option<u32> {
    let arms = (0..race.arms.len() as u32).zip(&race.arms);
    let peers = arms.filter(|(_, who)| who.family == Family::Peer);
    let timed =
        peers.filter_map(|(arm, _)| Some((arm, time_of_call(race, arm, CONFIDENCE)?.estimate)));
    timed.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(arm, _)| arm)
}

pub(crate) fn record(
    run: &str,
    entry: &Entry,
    item: &Item,
    who: &ContenderId,
    receipt: Receipt,
    judged: Judged,
) -> Record {
    Record {
        format: FORMAT_VERSION,
        run: run.to_owned(),
        item: item.index,
        case: item.case.clone(),
        contender: who.clone(),
        threads: item.threads,
        memory: item.memory,
        receipt,
        isolation: "T1".to_owned(),
        work: entry.op.work(&item.case),
        shape: entry.op.shape_roles(&item.case),
        uses: item.uses.clone(),
        judged,
    }
}
