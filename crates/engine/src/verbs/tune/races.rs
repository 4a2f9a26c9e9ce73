//! Races of two that decide, one after the other, kept as one run.

use crate::race::{decided, looks_for};
use crate::record::{RunLog, raced};
use crate::{EngineError, Event, Listener};
use proofmark_contract::Entry;
use proofmark_gate::Proven;
use proofmark_machine::Ceilings;
use proofmark_measure::{MonotonicClock, RaceRules, rule};
use proofmark_schema::decision::{RacedArm, Round};
use proofmark_schema::machine::MachineFacts;
use proofmark_schema::plan::{Item, Plan, RunKind};
use proofmark_schema::quantity::Interval;
use proofmark_schema::race::Verdict;
use proofmark_schema::{Case, FORMAT_VERSION, Memory};
use proofmark_stats::Stopping;
use proofmark_store::{ItemEntry, Store};

/// Near a crossing two contenders are alike, so a race there may end early.
const SAME_MARGIN: f64 = 0.03;
const REPORT_MARGIN: f64 = 0.01;

/// How every race of a tuning goes.
#[derive(Clone, Copy, Debug)]
pub struct RaceTerms {
    /// Threads both may use.
    pub threads: usize,
    /// Seconds after which no further trial of a race starts.
    pub seconds: f64,
    /// Error rate of each race.
    pub alpha: f64,
    /// The most seconds to wait for a quiet machine before each race; 0 means no wait.
    pub quiet_seconds: f64,
    /// Seed of inputs, layouts and orders.
    pub seed: u64,
}

/// What a race showed of the second of two.
pub(super) struct Shown {
    pub(super) ratio: Interval,
    pub(super) verdict: Verdict,
    pub(super) trials: u32,
}

/// What every race needs, and what came of those run so far.
pub(super) struct Races<'a> {
    terms: RaceTerms,
    ceilings: Ceilings,
    listener: &'a dyn Listener,
    items: Vec<(Item, ItemEntry)>,
}

impl<'a> Races<'a> {
    pub(super) fn new(
        terms: RaceTerms,
        ceilings: Ceilings,
        listener: &'a dyn Listener,
    ) -> Races<'a> {
        Races { terms, ceilings, listener, items: Vec::new() }
    }

    /// How many there were.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Says that a race on this case begins, of `most` that there may be.
    pub(super) fn announce(&self, case: &Case, most: usize) {
        let number = self.items.len();
        self.listener.hear(&Event::Item {
            number: number + 1,
            of: most.max(number + 1),
            case: case.to_string(),
            seconds_left: self.terms.seconds * most.saturating_sub(number) as f64,
        });
    }

    /// Runs one race and keeps it for the run under these names. Returns `None` if an arm failed,
    /// and reports that.
    pub(super) fn race(
        &mut self,
        entry: &'static Entry,
        case: Case,
        field: &[Proven<'_>; 2],
        names: [String; 2],
    ) -> Option<Shown> {
        let RaceTerms { threads, seconds, alpha, quiet_seconds, seed } = self.terms;
        let number = self.items.len() as u64;
        let stopping = Stopping {
            looks: looks_for(entry, &case, threads),
            alpha,
            report_margin: REPORT_MARGIN,
            same_margin: SAME_MARGIN,
        };
        let rules = RaceRules {
            budget_ns: (seconds * 1e9) as u64,
            quiet_ns: (quiet_seconds * 1e9) as u64,
            ..RaceRules::standard(proofmark_tensor::mix(seed, 4, number))
        };
        self.listener.hear(&Event::Racing { contenders: field.len() });
        let (race, ruling) = match rule(field, &rules, &stopping, &MonotonicClock) {
            Ok(ruled) => ruled,
            Err(fault) => {
                self.listener.hear(&Event::Note(format!("{case}: {fault}")));
                return None;
            }
        };
        let who = field.each_ref().map(|proven| proven.contender().clone());
        let item = Item {
            index: number,
            case,
            field: who.to_vec(),
            threads,
            memory: Memory::default(),
            uses: Vec::new(),
        };
        let records = field
            .iter()
            .enumerate()
            .map(|(arm, proven)| raced(entry, &item, proven, &race, arm, &self.ceilings));
        let records = records.collect();
        let [first, second] = who;
        let [one, two] = names;
        let arms = [(one, first), (two, second)].map(|(arm, contender)| RacedArm {
            arm,
            contender,
            program: None,
        });
        let decided = decided(Round::Screen, arms, &race, &stopping, ruling.seconds);
        let shown = Shown {
            ratio: ruling.comparison.ratio,
            verdict: ruling.comparison.verdict,
            trials: ruling.comparison.trials,
        };
        let (race, decided) = (Some(race), Some(decided));
        let entry = ItemEntry { item: item.index, race, decided, records };
        self.items.push((item, entry));
        Some(shown)
    }

    /// Writes the run: its items are known only now.
    pub(super) fn keep(
        &mut self,
        store: &Store,
        facts: &MachineFacts,
    ) -> Result<String, EngineError> {
        let (items, entries): (Vec<Item>, Vec<ItemEntry>) =
            std::mem::take(&mut self.items).into_iter().unzip();
        let plan = Plan {
            format: FORMAT_VERSION,
            seed: self.terms.seed,
            kind: RunKind::Tune,
            items,
            absent: Vec::new(),
            proof_seconds: 0.0,
            estimate_seconds: 0.0,
            part: None,
        };
        let mut log = RunLog::create(store, &plan, facts)?;
        for entry in entries {
            log.append(entry)?;
        }
        log.seal()
    }
}

/// The reason of a refusal, as an error.
pub(super) fn refusal(
    who: &dyn std::fmt::Display,
    case: &Case,
    proof: &proofmark_schema::proof::Proof,
) -> String {
    let why = proof.refusal.as_ref().map_or("", |refusal| refusal.reason.as_str());
    format!("{who} on {case}: {why}")
}
