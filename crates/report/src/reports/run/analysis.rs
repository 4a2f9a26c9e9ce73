//! Sums up a run in sentences, as a person would who had looked at all of it.

use super::{ReportedRun, group_name};
use crate::plain::percent;
use crate::reports::answer::{against_peers, answer, winner};
use proofmark_analyze::{FlagKind, flags, status};
use proofmark_schema::record::{Bound, Record};

/// All that can be said in sentences: the answer, who wins, what limits it, and the red flags.
pub(super) fn all(run: &ReportedRun) -> String {
    let mut parts = vec![answer(&run.records)];
    parts.extend(against_peers(&run.records).map(|_| winner(&run.records)));
    parts.extend(next(&run.records));
    parts.extend(doubts(run));
    parts.join(" ")
}

/// What limits the run, and where the most can be gained.
pub(super) fn next(records: &[Record]) -> Option<String> {
    let found = status(records);
    let first = found.first()?;
    let held = match first.bound {
        Some(Bound::Compute) => ", held by arithmetic".to_owned(),
        Some(Bound::Overhead) => ", held by what a call costs".to_owned(),
        Some(level) => format!(", held by {} traffic", level.name()),
        None => String::new(),
    };
    let op = group_name(&first.group);
    let reached = percent(100.0 * first.efficiency);
    if found.len() == 1 {
        return Some(format!(
            "The best of ours reach {reached} of the machine's limit{held}; {} is farthest \
             from it.",
            first.worst.case
        ));
    }
    Some(format!(
        "Look first at {op}: {} of all time above the limits is lost there, at {reached} of the \
         limit{held}; {} is farthest from it.",
        percent(100.0 * first.share),
        first.worst.case
    ))
}

fn doubts(run: &ReportedRun) -> Option<String> {
    let flags = flags(&run.records, &|record| run.spread(record));
    let mut kinds: Vec<(FlagKind, usize)> = Vec::new();
    for flag in flags.iter().filter(|flag| flag.is_red) {
        match kinds.iter_mut().find(|(kind, _)| *kind == flag.kind) {
            Some((_, cases)) => *cases += flag.cases,
            None => kinds.push((flag.kind, flag.cases)),
        }
    }
    let told: Vec<String> =
        kinds.iter().map(|(kind, cases)| format!("{} ({cases}×)", kind.name())).collect();
    (!told.is_empty()).then(|| format!("Red flags: {}.", told.join(", ")))
}
