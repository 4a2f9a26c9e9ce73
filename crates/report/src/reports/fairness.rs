//! What all rows of a table share, what sets some apart, and what disturbed them.

use crate::plain::{percent, threads};
use proofmark_analyze::{Disturbance, disturbance};
use proofmark_schema::memory::state_word;
use proofmark_schema::quantity::{Bytes, Nanos, three_digits};
use proofmark_schema::record::Record;
use proofmark_schema::{DType, Family, Lock};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// What disturbed the races of a table: how many of them, and the worst of each kind.
pub(super) fn disturbances(records: &[&Record]) -> Option<String> {
    let all: Vec<Disturbance> = records.iter().filter_map(|record| disturbance(record)).collect();
    let disturbed = all.iter().filter(|one| **one != Disturbance::default()).count();
    let most = |share: &dyn Fn(&Disturbance) -> Option<f64>| {
        let worst = all.iter().filter_map(share).reduce(f64::max)?;
        (worst > 0.0).then(|| percent(100.0 * worst))
    };
    let drift =
        |one: &Disturbance| one.drifts.iter().map(|(_, share)| share.abs()).reduce(f64::max);
    let parts = [
        (most(&|one| Some(one.noise?.busy)), "others used", "of the processors"),
        (most(&|one| Some(one.noise?.steal)), "the hypervisor took", "of the time"),
        (most(&|one| one.slower), "the processor became", "slower"),
        (most(&drift), "the speed of the machine drifted by", ""),
    ];
    let said = parts.into_iter().filter_map(|(worst, verb, what)| {
        Some(format!("{verb} up to {} {what}", worst?).trim_end().to_owned())
    });
    let said = said.collect::<Vec<_>>().join(", ");
    let races = match (disturbed, all.len()) {
        (0, _) => return None,
        (1, 1) => "the race was disturbed".to_owned(),
        (some, of) => format!("{some} of {of} races were disturbed"),
    };
    let colon = if said.is_empty() { "" } else { ": " };
    Some(format!("{races}{colon}{said}. Ratios hold, because contenders take turns; times may not"))
}

/// What all rows of a table share, so that a reader can see that they met on equal terms.
pub(super) fn fairness(records: &[&Record]) -> String {
    let distinct = |text: &dyn Fn(&Record) -> Option<String>| {
        let set: BTreeSet<String> = records.iter().filter_map(|record| text(record)).collect();
        if set.is_empty() {
            "none".to_owned()
        } else {
            set.into_iter().collect::<Vec<_>>().join(" and ")
        }
    };
    let cache = distinct(&|record| {
        let cache = record.judged.performance()?.cache;
        Some(state_word(cache.asked.name(), cache.achieved))
    });
    let loads = records.iter().filter_map(|of| of.judged.performance()?.cache.probe_ns_median);
    let load = loads.reduce(f64::min);
    let load = load.map(|ns| format!(" (a load {} or more)", Nanos(ns))).unwrap_or_default();
    let pages = distinct(&|record| {
        let pages = record.judged.performance()?.pages;
        let achieved = pages.is_none_or(|pages| pages.achieved);
        Some(state_word(record.memory.pages.name(), achieved))
    });
    let isolation = distinct(&|record| Some(isolation(record)));
    let outside: BTreeSet<String> = records
        .iter()
        .filter(|record| record.receipt.prepared_outside)
        .map(|record| record.contender.to_string())
        .collect();
    let elsewhere = named(records, |record| {
        let memory = &record.receipt.memory;
        (!memory.is_empty()).then(|| memory.clone())
    });
    let fewer = named(records, |record| {
        let used = record.receipt.threads.filter(|&used| used != record.threads)?;
        Some(threads(used))
    });
    let classes = named(records, |record| {
        let class = record.judged.proof().contract.accumulate;
        (class != DType::F32).then(|| format!("sums in {class}"))
    });
    let conceded = named(records, |record| {
        let concessions = record.judged.proof().contract.concessions();
        (!concessions.is_empty()).then(|| concessions.join(", "))
    });
    let packing = match outside.len() {
        0 => "packing inside the timed call".to_owned(),
        _ => {
            let names: Vec<String> = outside.into_iter().collect();
            format!("packing before the timed call for {}, inside for others", names.join(", "))
        }
    };
    let mut line = format!(
        "every row had {}, {}, sums in f32, caches {cache}{load}, pages {pages}, isolation \
         {isolation}; {packing}",
        threads(records[0].threads),
        records[0].case.dtype
    );
    for unlike in [fewer, classes, conceded, elsewhere].into_iter().flatten() {
        let _ = write!(line, "; unlike the others: {unlike}");
    }
    line
}

/// Contenders that were faster on inputs they had seen, so that their cell was timed on new inputs.
pub(super) fn on_new_inputs(records: &[&Record]) -> Option<String> {
    let told = named(records, |record| {
        let times = record.judged.performance()?.seen_faster?;
        Some(format!("{} times", three_digits(times)))
    })?;
    Some(format!(
        "faster on inputs that it has seen: {told}. All times of its cell are those of calls on new \
         inputs, each timed alone"
    ))
}

/// The level of a record, with its layers where the proof has them.
fn isolation(record: &Record) -> String {
    let confinement = &record.judged.proof().confinement;
    match confinement.is_unstated() {
        true => record.isolation.name().to_owned(),
        false => confinement.describe(),
    }
}

/// What contenders tried that the sandbox refused.
pub(super) fn refused_attempts(records: &[&Record]) -> Option<String> {
    let tried = named(records, |record| record.judged.proof().confinement.tried())?;
    Some(format!("refused by the sandbox: {tried}"))
}

/// Process state that contenders changed and did not restore. It decides nothing.
pub(super) fn changed_state(records: &[&Record]) -> Option<String> {
    let left = named(records, |record| {
        let left = &record.judged.proof().left;
        (!left.is_empty()).then(|| left.join(", "))
    })?;
    Some(format!("process state that was changed and not restored: {left}"))
}

/// Contenders whose memory grew from call to call. It decides nothing.
pub(super) fn grown_memory(records: &[&Record]) -> Option<String> {
    let grown = named(records, |record| {
        let bytes = record.judged.performance()?.grown_bytes?;
        Some(format!("by {} or more", Bytes(bytes)))
    })?;
    Some(format!("memory that grew in every trial, as if it leaked: {grown}"))
}

/// The measured contenders for which `said` gives words, grouped by these words.
fn named(records: &[&Record], said: impl Fn(&Record) -> Option<String>) -> Option<String> {
    let measured = records.iter().filter(|record| record.judged.performance().is_some());
    let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for record in measured {
        if let Some(words) = said(record) {
            names.entry(words).or_default().insert(record.contender.to_string());
        }
    }
    let each = |(words, names): (String, BTreeSet<String>)| {
        format!("{} ({words})", names.into_iter().collect::<Vec<_>>().join(", "))
    };
    let said: Vec<String> = names.into_iter().map(each).collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// What peers and kernels of the user say of themselves, and what an empty call costs them.
pub(super) fn introductions(records: &[&Record]) -> Vec<String> {
    let is_told = |record: &&&Record| match record.contender.family {
        Family::Peer => true,
        Family::Own if record.receipt.empty_call_ns.is_some() => true,
        _ => record.receipt.on.is_some(),
    };
    let peers = records.iter().filter(is_told);
    let measured = peers.filter(|record| record.judged.performance().is_some());
    let mut lines = BTreeMap::new();
    for Record { contender, receipt, .. } in measured {
        let empty = receipt.empty_call_ns.map(|ns| format!("an empty call takes {}", Nanos(ns)));
        lines.entry(contender.to_string()).or_insert_with(|| {
            // The version of a kernel of the user is in its file.
            if let (Family::Own, None, Some(empty)) = (contender.family, &receipt.on, &empty) {
                return format!("{contender}: {empty}");
            }
            let empty = empty.map_or_else(String::new, |empty| format!("; {empty}"));
            let (version, isa) = (&receipt.version, &receipt.isa);
            // A lock is usual, so only its absence is reported.
            let lock = receipt.lock.filter(|&lock| lock == Lock::Unlocked);
            let lock = lock.map_or_else(String::new, |lock| format!(" ({})", lock.name()));
            let device = receipt.on.as_ref();
            let device = device.map_or_else(String::new, |on| {
                let (name, driver, memory) = (&on.name, &on.driver, on.memory.name());
                format!(", on {name} by {driver}, {memory} memory")
            });
            format!("{contender}: {version}{lock}, {isa}{device}{empty}")
        });
    }
    lines.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::first;

    #[test]
    fn kernels_of_the_user_say_what_an_empty_call_costs() {
        let mut record = first();
        record.contender = "own/fast".parse().unwrap();
        assert!(introductions(&[&record]).is_empty(), "nothing is known of its calls");
        record.receipt.empty_call_ns = Some(4.5);
        assert_eq!(introductions(&[&record]), ["own/fast: an empty call takes 4.50 ns"]);
    }
}
