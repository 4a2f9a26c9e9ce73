//! A contender against itself on more threads, all thread counts in the blocks of one race.

use crate::plan::{checked, nobody};
use crate::prove::Admission;
use crate::race::{check_cache, fork_join_ns, isolated, race_field};
use crate::record::{RunLog, ceilings, raced, refused};
use crate::{EngineError, Event, Listener, Roster, find_op};
use proofmark_analyze::{Scaling, scalings};
use proofmark_arena::Arena;
use proofmark_contract::Entry;
use proofmark_machine::Ceilings;
use proofmark_measure::{RaceRules, last_processor};
use proofmark_peers::PeerShelf;
use proofmark_schema::plan::{Absence, Item, Plan, RunKind};
use proofmark_schema::record::Record;
use proofmark_schema::{Case, ContenderId, FORMAT_VERSION, Family, Isa, Memory, Receipt};
use proofmark_store::{ItemEntry, Store};

/// What to scale.
#[derive(Clone, Debug)]
pub struct ScaleRequest {
    /// The cases.
    pub cases: Vec<Case>,
    /// The contenders, by patterns; if none, our kernels that use threads.
    pub with: Option<String>,
    /// Thread counts; 1 is added where it is missing.
    pub threads: Vec<usize>,
    /// What caches and pages are measured with.
    pub memory: Memory,
    /// The most seconds to wait for a quiet machine before each race; 0 means no wait.
    pub quiet_seconds: f64,
    /// Seed of inputs, layouts and orders.
    pub seed: u64,
    /// Short races.
    pub quick: bool,
    /// Highest path.
    pub cap: Isa,
    /// Where peers are.
    pub shelf: PeerShelf,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Scaled {
    /// The run that keeps its races.
    pub run: String,
    /// Its records.
    pub records: Vec<Record>,
    /// What follows for each case and contender.
    pub scalings: Vec<Scaling>,
    /// The contenders that are not in it, and why.
    pub absent: Vec<Absence>,
    /// Which processors arms ran on, in words.
    pub affinity: String,
}

/// Races every contender on every case with itself on other thread counts, and keeps the run.
///
/// # Errors
/// If a case does not fit its op, no contender is left to race, or the store fails.
pub fn scale(
    arena: &Arena,
    store: &Store,
    listener: &dyn Listener,
    request: &ScaleRequest,
) -> Result<Scaled, EngineError> {
    let threads = counts(&request.threads);
    let (plan, absent) = plan(request, &threads)?;
    let arena = isolated(arena, plan.items.iter().flat_map(|item| &item.field))?;
    plan.items.iter().try_for_each(|item| check_cache(&arena, item.memory.cache))?;
    let facts = proofmark_machine::facts(request.cap);
    let mut log = RunLog::create(store, &plan, &facts)?;
    let items = plan.items.len();
    listener.hear(&Event::Started { run: log.id(), items, done: 0 });
    let ceilings = ceilings(store, &facts, request.cap, listener);
    let admission = Admission::new(&arena, request.seed, request.cap, listener);
    let ladder = Ladder { request, threads, admission, ceilings, listener };
    let mut records = Vec::new();
    for item in &plan.items {
        let (number, case) = (item.index as usize + 1, format!("{} {}", item.case, item.field[0]));
        let each = plan.estimate_seconds / items as f64;
        let seconds_left = each * (items + 1 - number) as f64;
        listener.hear(&Event::Item { number, of: items, case, seconds_left });
        records.extend(log.append(ladder.climb(item)?)?);
    }
    let run = log.seal()?;
    let many = ladder.threads.iter().copied().filter(|&threads| threads > 1);
    let fork_join: Vec<(usize, f64)> = many.map(|count| (count, fork_join_ns(count))).collect();
    let scalings = scalings(&records, &fork_join);
    Ok(Scaled { run, records, scalings, absent, affinity: affinity() })
}

/// The scalings of a stored run: of this command, or of a bench on several thread counts, whose
/// races came one after the other.
///
/// # Errors
/// If there is no such run, or it has no contender on one thread and on more.
pub fn scale_of_run(store: &Store, run: &str) -> Result<(String, Vec<Scaling>), EngineError> {
    let run = store.load(run)?;
    let records: Vec<Record> = run.items.into_iter().flat_map(|item| item.records).collect();
    let scalings = scalings(&records, &[]);
    if scalings.is_empty() {
        let why = "the run has no contender on one thread and on more: bench it with --threads 1,2";
        return Err(EngineError::Unfit(why.to_owned()));
    }
    Ok((run.id, scalings))
}

/// One thread first, then the others in order, each once.
fn counts(asked: &[usize]) -> Vec<usize> {
    let mut counts = vec![1];
    counts.extend(asked);
    counts.sort_unstable();
    counts.dedup();
    counts
}

fn affinity() -> String {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "one thread is kept on processor {}, more run on all {processors} processors",
        last_processor()
    )
}

fn plan(request: &ScaleRequest, threads: &[usize]) -> Result<(Plan, Vec<Absence>), EngineError> {
    let pattern = request.with.as_deref().unwrap_or("native/*");
    let roster = Roster::new(pattern, request.cap).with_peers(&request.shelf);
    let most = threads.last().copied().unwrap_or(1);
    let (mut items, mut absent) = (Vec::new(), Vec::new());
    let cases = checked(&request.cases, request.memory.cache)?;
    let entries: Vec<&'static Entry> = cases.iter().map(|(entry, _)| *entry).collect();
    roster.check(&entries)?;
    for contender in roster.unmatched(&entries) {
        let reason = "no contender has this name: see `proofmark list`".to_owned();
        absent.push(Absence { contender, case: "any".to_owned(), reason });
    }
    for (entry, case) in &cases {
        let (field, without) = roster.field(entry, case, most);
        absent.extend(without.into_iter().map(|(who, reason)| Absence {
            contender: who.to_string(),
            case: case.to_string(),
            reason,
        }));
        let is_asked = |who: &ContenderId| {
            let kernel = entry.kernel(&who.name);
            request.with.is_some()
                || who.family != Family::Native
                || kernel.is_some_and(|kernel| kernel.is_parallel())
        };
        for who in field.into_iter().filter(is_asked) {
            let index = items.len() as u64;
            let (case, field) = (case.clone(), vec![who; threads.len()]);
            let (memory, uses) = (request.memory, Vec::new());
            items.push(Item { index, case, field, threads: most, memory, uses });
        }
    }
    if items.is_empty() {
        let why = "no kernel of these ops uses threads: name contenders with --with";
        return Err(nobody(&absent).unwrap_or_else(|| EngineError::Unfit(why.to_owned())));
    }
    let estimate_seconds = items.len() as f64 * if request.quick { 2.0 } else { 6.0 };
    let plan = Plan {
        format: FORMAT_VERSION,
        seed: request.seed,
        kind: RunKind::Scale,
        items,
        absent: absent.clone(),
        proof_seconds: 0.0,
        estimate_seconds,
        part: None,
    };
    Ok((plan, absent))
}

/// What every item needs.
struct Ladder<'a> {
    request: &'a ScaleRequest,
    threads: Vec<usize>,
    admission: Admission<'a>,
    ceilings: Ceilings,
    listener: &'a dyn Listener,
}

impl Ladder<'_> {
    /// Proves a contender on every thread count and races what was proven.
    fn climb(&self, item: &Item) -> Result<ItemEntry, EngineError> {
        let entry = find_op(&item.case.op)?;
        let who = &item.field[0];
        let with = |threads: usize| Item { threads, ..item.clone() };
        let (mut field, mut records) = (Vec::new(), Vec::new());
        let all: Vec<_> = self.threads.iter().map(|&threads| (who, threads)).collect();
        let admitted = self.admission.admit_all(entry, &item.case, &all);
        for (&threads, admitted) in self.threads.iter().zip(admitted) {
            match admitted {
                Ok(proven) => field.push(proven),
                Err(proof) => {
                    records.push(refused(entry, &with(threads), Receipt::default(), *proof));
                }
            }
        }
        let (race, failed) = race_field(&mut field, &self.rules(item), self.listener);
        for (arm, proof) in failed {
            records.push(refused(entry, &with(arm.threads()), arm.receipt().clone(), proof));
        }
        if let Some(race) = &race {
            for (arm, proven) in field.iter().enumerate() {
                let item = with(proven.threads());
                records.push(raced(entry, &item, proven, race, arm, &self.ceilings));
            }
        }
        Ok(ItemEntry { item: item.index, race, decided: None, records })
    }

    fn rules(&self, item: &Item) -> RaceRules {
        let seed = proofmark_tensor::mix(self.request.seed, 3, item.index);
        let quick = self.request.quick;
        let rules = if quick { RaceRules::quick(seed) } else { RaceRules::standard(seed) };
        let quiet_ns = (self.request.quiet_seconds * 1e9) as u64;
        RaceRules { memory: item.memory, quiet_ns, ..rules }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_comes_first_and_no_count_twice() {
        assert_eq!(counts(&[4, 2, 4]), [1, 2, 4]);
        assert_eq!(counts(&[]), [1]);
    }
}
