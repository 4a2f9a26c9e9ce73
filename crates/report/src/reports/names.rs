//! Names that a person can say: of a run, of its cases and of its contenders.

use crate::plain::{counted, threads};
use proofmark_schema::record::Record;
use proofmark_schema::run_id::started_seconds;
use proofmark_schema::{ContenderId, Family};

/// Ops that a title names; more are counted.
const NAMED: usize = 3;

/// `matmul, 17 November 2026`.
pub(super) fn short_title(records: &[Record]) -> String {
    let id = records.first().map_or("", |record| record.run.as_str());
    let day = date(id).map_or_else(String::new, |date| format!(", {date}"));
    subject(records) + &day
}

/// The ops, or how many there are.
pub(super) fn subject(records: &[Record]) -> String {
    let mut ops: Vec<&str> = Vec::new();
    for record in records {
        if !ops.contains(&record.case.op.as_str()) {
            ops.push(&record.case.op);
        }
    }
    match ops.len() {
        0 => "Nothing measured".to_owned(),
        few if few <= NAMED => ops.join(", "),
        many => counted(many, "op"),
    }
}

/// The day on which a run began: its id is a UUID of version 7, which begins with milliseconds.
pub(super) fn date(id: &str) -> Option<String> {
    let day = jiff::Timestamp::from_second(started_seconds(id)?).ok()?;
    Some(day.strftime("%-d %B %Y").to_string())
}

/// Short names of cases: without the batch and the attributes that all cases of an op share.
pub(super) fn case(record: &Record, all: &[Record]) -> String {
    let same = || all.iter().filter(|of| of.case.op == record.case.op);
    let is_shared = |name: &str| same().all(|of| of.case.get(name) == record.case.get(name));
    let is_single = same().all(|of| of.case.size("b").is_none_or(|batch| batch == 1));
    let axes = record.case.axes.iter().filter(|(name, _)| !(is_single && name == "b"));
    let mut parts: Vec<String> = axes.map(|(name, size)| format!("{name}={size}")).collect();
    let attrs = record.case.attrs.iter().filter(|(name, _)| !is_shared(name));
    parts.extend(attrs.map(|(name, value)| format!("{name}={value}")));
    if all.iter().any(|of| of.case.dtype != record.case.dtype) {
        parts.push(record.case.dtype.name().to_owned());
    }
    if all.iter().any(|of| of.threads != record.threads) {
        parts.push(threads(record.threads));
    }
    if all.iter().any(|of| of.memory != record.memory) {
        parts.push(format!("{} {}", record.memory.cache, record.memory.pages));
    }
    format!("{} {}", record.case.op, parts.join(" ")).trim_end().to_owned()
}

/// A contender's name without the parts that all share: peers have no family, and the path is there
/// only if there are two.
pub(super) fn contender(id: &ContenderId, all: &[ContenderId]) -> String {
    let is_alone = all.iter().filter(|of| of.family == id.family && of.name == id.name).count() < 2;
    match (id.family, is_alone) {
        (Family::Peer, true) => id.name.clone(),
        (_, true) => ContenderId { isa: None, ..id.clone() }.to_string(),
        (_, false) => id.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_its_day_and_other_names_none() {
        let day = date("01a1e74a-006f-703f-a0fe-7d8beb0ac34c");
        assert_eq!(day.as_deref(), Some("17 November 2026"));
        assert_eq!(date("transformer-f32-all-peers"), None);
        assert_eq!(date("01a1e74a-006f-403f-a0fe-7d8beb0ac34c"), None);
    }
}
