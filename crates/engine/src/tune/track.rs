//! The races of a crossing, one size after the other.

use super::{BUDGET, TuneRequest};
use crate::admit::Admission;
use crate::bench::{performance, record};
use crate::compare::{decided, looks_for};
use crate::{EngineError, Event, Listener};
use proofmark_analyze::{Answer, Spot, Zone, answer, coarse, next_place};
use proofmark_arena::Arena;
use proofmark_contract::Entry;
use proofmark_machine::Ceilings;
use proofmark_measure::{MonotonicClock, RaceRules, rule};
use proofmark_ops::tuning;
use proofmark_schema::decision::{RacedArm, Round};
use proofmark_schema::plan::{Item, Plan};
use proofmark_schema::race::Verdict;
use proofmark_schema::record::Judged;
use proofmark_schema::{Case, ContenderId, FORMAT_VERSION, Memory};
use proofmark_stats::Stopping;
use proofmark_store::{ItemEntry, Store};

/// Near a crossing two contenders are alike: there a race may end early.
const SAME_MARGIN: f64 = 0.03;
const REPORT_MARGIN: f64 = 0.01;
/// Operations of the largest case that an axis is followed to.
const MOST_FLOPS: u64 = 1_000_000_000;
const MOST_BYTES: u64 = 256 << 20;

/// What every race of a crossing needs, and what came of those run so far.
pub(super) struct Track<'a> {
    request: &'a TuneRequest,
    entry: &'static Entry,
    case: Case,
    pub(super) between: [ContenderId; 2],
    ceilings: Ceilings,
    listener: &'a dyn Listener,
    items: Vec<(Item, ItemEntry)>,
}

impl<'a> Track<'a> {
    pub(super) fn new(
        request: &'a TuneRequest,
        entry: &'static Entry,
        case: Case,
        between: [ContenderId; 2],
        ceilings: Ceilings,
        listener: &'a dyn Listener,
    ) -> Track<'a> {
        Track { request, entry, case, between, ceilings, listener, items: Vec::new() }
    }

    pub(super) fn at(&self, size: u64) -> Case {
        let mut case = self.case.clone();
        for (name, value) in &mut case.axes {
            if *name == self.request.axis {
                *value = size;
            }
        }
        case
    }

    /// The range without sizes whose calls take too long or do not fit the op.
    fn sizes(&self) -> Result<Vec<u64>, EngineError> {
        let (from, to) = self.request.range;
        let is_small = |size: u64| {
            let work = self.entry.op.work(&self.at(size));
            work.flops <= MOST_FLOPS && work.bytes() <= MOST_BYTES
        };
        let to = (0..64).map(|halved| to >> halved).find(|&to| to <= from || is_small(to));
        let sizes = coarse(from, to.unwrap_or(from));
        for &size in &sizes {
            let case = self.at(size);
            proofmark_contract::check_case(self.entry.op, &case)
                .map_err(|reason| EngineError::Case { case: case.to_string(), reason })?;
        }
        Ok(sizes)
    }

    /// Races at sizes far apart, then between those where the faster one changes.
    pub(super) fn bisect(&mut self, arena: &Arena) -> Result<Vec<Spot>, EngineError> {
        let request = self.request;
        let mut admission = Admission::new(arena, request.seed, request.cap, self.listener);
        let mut places = Vec::new();
        let sizes = self.sizes()?;
        let most = sizes.len() + request.races;
        for size in sizes {
            places.extend(self.race(&mut admission, size, most)?);
        }
        for _ in 0..request.races {
            let Some(size) = next_place(&places) else { break };
            match self.race(&mut admission, size, most)? {
                Some(place) => places.push(place),
                None => break,
            }
        }
        if places.is_empty() {
            let why = format!("no race along {} of {} came to an end", request.axis, self.case);
            return Err(EngineError::Nothing(why));
        }
        places.sort_by_key(|place| place.at);
        Ok(places)
    }

    /// Races the bounds of a crossing again, and those that they give way to; at the most as many
    /// as a first search may take.
    pub(super) fn again(&mut self, arena: &Arena, places: &mut [Spot]) -> Result<(), EngineError> {
        let request = self.request;
        let mut admission = Admission::new(arena, request.seed, request.cap, self.listener);
        let mut seen = Vec::new();
        while let Answer::Once { crossing } = answer(places)
            && seen.len() < request.races
        {
            let mut bounds = [crossing.low, crossing.high].into_iter();
            let Some(size) = bounds.find(|bound| !seen.contains(bound)) else { break };
            seen.push(size);
            let most = self.items.len() + 2;
            let Some(again) = self.race(&mut admission, size, most)? else { break };
            for place in places.iter_mut().filter(|place| place.at == size) {
                *place = place.and_again(again);
            }
        }
        Ok(())
    }

    /// One race at one size, kept for the run; nothing where an arm failed, which is told.
    fn race(
        &mut self,
        admission: &mut Admission<'_>,
        size: u64,
        most: usize,
    ) -> Result<Option<Spot>, EngineError> {
        let (request, entry, case) = (self.request, self.entry, self.at(size));
        let number = self.items.len();
        self.listener.hear(&Event::Racing {
            number: number + 1,
            of: most.max(number + 1),
            case: case.to_string(),
            seconds_left: request.seconds * most.saturating_sub(number) as f64,
        });
        let mut admit = |who: &ContenderId| {
            admission.admit(entry, &case, who, request.threads).map_err(|proof| {
                let why = proof.refusal.map_or_else(String::new, |refusal| refusal.reason);
                EngineError::Nothing(format!("{who} on {case}: {why}"))
            })
        };
        let field = [admit(&self.between[0])?, admit(&self.between[1])?];
        let stopping = Stopping {
            looks: looks_for(entry, &case, request.threads),
            alpha: request.alpha,
            report_margin: REPORT_MARGIN,
            same_margin: SAME_MARGIN,
        };
        let rules = RaceRules {
            budget_ns: (request.seconds * 1e9) as u64,
            quiet_ns: (request.quiet_seconds * 1e9) as u64,
            ..RaceRules::standard(proofmark_tensor::mix(request.seed, 4, number as u64))
        };
        let (race, ruling) = match rule(&field, &rules, &stopping, &MonotonicClock) {
            Ok(ruled) => ruled,
            Err(fault) => {
                self.listener.hear(&Event::Note(format!("{case}: {fault}")));
                return Ok(None);
            }
        };
        let item = Item {
            index: number as u64,
            case,
            field: self.between.to_vec(),
            threads: request.threads,
            memory: Memory::default(),
            uses: Vec::new(),
        };
        let records = field.iter().enumerate().map(|(arm, proven)| {
            let performance = performance(&race, arm, entry, &item, proven, &self.ceilings);
            let (proof, performance) = (proven.proof().clone(), performance.map(Box::new));
            let (who, receipt) = (proven.contender(), proven.receipt().clone());
            record("", entry, &item, who, receipt, Judged::Proven { proof, performance })
        });
        let records = records.collect();
        let arms = self.between.clone().map(|contender| RacedArm {
            arm: contender.to_string(),
            contender,
            program: None,
        });
        let decided = decided(Round::Screen, arms, &race, &stopping, ruling.seconds);
        let place = Spot {
            at: size,
            ratio: ruling.comparison.ratio,
            verdict: ruling.comparison.verdict,
            trials: ruling.comparison.trials,
        };
        let (race, decided) = (Some(race), Some(decided));
        let entry = ItemEntry { item: item.index, race, decided, records };
        self.items.push((item, entry));
        Ok(Some(place))
    }

    /// The constant that keeps to one thread what was not shown to be worth it: a little below the
    /// first size that was, because kernels cut by rows.
    pub(super) fn constant(&self, answer: &Answer, places: &[Spot]) -> Option<usize> {
        let size = |at: u64| tuning::size(&self.at(at));
        let (first, last) = (places.first()?, places.last()?);
        match answer {
            Answer::Once { crossing } if crossing.is_faster => {
                let first = size(crossing.worth(places))?;
                Some((first - first / 8).max(1))
            }
            // Where there is no crossing, the end of the range must have been decided.
            Answer::AlwaysFaster if first.verdict == Verdict::Faster => {
                size(first.at).map(|size| (size - size / 8).max(1))
            }
            Answer::NeverFaster if last.verdict != Verdict::Undecided => size(last.at),
            _ => None,
        }
    }

    /// A quarter of the threshold, the threshold, and four times it.
    pub(super) fn zones(
        &mut self,
        arena: &Arena,
        answer: &Answer,
        places: &[Spot],
    ) -> Result<Vec<Zone>, EngineError> {
        let Answer::Once { crossing } = answer else { return Ok(Vec::new()) };
        let (request, high) = (self.request, crossing.worth(places));
        let mut admission = Admission::new(arena, request.seed, request.cap, self.listener);
        let wanted = [("below", crossing.low / 4), ("at", high), ("above", high * 4)];
        let mut zones = Vec::new();
        for (name, size) in wanted {
            if size >= request.range.0.max(1) && size <= request.range.1.max(high) {
                let most = self.items.len() + wanted.len();
                let place = self.race(&mut admission, size, most)?;
                zones.extend(place.map(|place| Zone::of(name, &place)));
            }
        }
        Ok(zones)
    }

    /// Writes the run: its items are known only now.
    pub(super) fn keep(
        &mut self,
        store: &Store,
        facts: &proofmark_schema::machine::MachineFacts,
    ) -> Result<String, EngineError> {
        let id = uuid::Uuid::now_v7().to_string();
        let (items, mut entries): (Vec<Item>, Vec<ItemEntry>) =
            std::mem::take(&mut self.items).into_iter().unzip();
        let plan = Plan {
            format: FORMAT_VERSION,
            seed: self.request.seed,
            budget: BUDGET.to_owned(),
            items,
            absent: Vec::new(),
            estimate_seconds: 0.0,
        };
        let mut writer = store.create(&id, &plan, facts)?;
        for entry in &mut entries {
            entry.records.iter_mut().for_each(|record| record.run.clone_from(&id));
            writer.append_item(entry)?;
        }
        writer.seal()?;
        Ok(id)
    }
}
