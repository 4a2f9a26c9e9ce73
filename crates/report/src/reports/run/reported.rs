//! A run as the parts of its report see it.

use crate::document::Samples;
use crate::plain::time;
use proofmark_analyze::{Pairing, cells, pairings, ranking};
use proofmark_schema::finding::Finding;
use proofmark_schema::machine::MachineFacts;
use proofmark_schema::plan::{Absence, RunKind};
use proofmark_schema::record::Record;
use proofmark_schema::{ContenderId, Family};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Slices of a record that a document keeps: enough for a picture, few enough for a page.
pub(super) const KEPT: usize = 48;

/// A run as it is reported, wherever it came from.
#[derive(Clone, Debug, Default)]
pub struct ReportedRun {
    /// What it is called.
    pub name: String,
    /// Its number in the store, if it is in one.
    pub number: Option<usize>,
    /// What the command line calls it: an id or a path.
    pub source: String,
    /// Which command made it, if that is known.
    pub kind: Option<RunKind>,
    /// Its records.
    pub records: Vec<Record>,
    /// What they say.
    pub findings: Vec<Finding>,
    /// The contenders that could not enter.
    pub absent: Vec<Absence>,
    /// Where it ran, if that is known.
    pub machine: Option<MachineFacts>,
    /// What else is known of how it came about.
    pub facts: Vec<(&'static str, String)>,
    /// Nanoseconds of a call for each slice, trial by trial, of each item and arm.
    pub slices: BTreeMap<(u64, u32), Vec<Vec<f64>>>,
}

impl ReportedRun {
    /// What a person types for it: its number, if it has one.
    pub(super) fn short_source(&self) -> String {
        self.number.map_or_else(|| self.source.clone(), |number| number.to_string())
    }

    fn trials(&self, record: &Record) -> Option<&Vec<Vec<f64>>> {
        let arm = record.judged.performance()?.slices.arm;
        self.slices.get(&(record.item, arm)).filter(|trials| !trials.is_empty())
    }

    /// The slices behind a record's time, thinned out.
    pub fn samples(&self, record: &Record) -> Option<Arc<Samples>> {
        let trials = self.trials(record)?;
        let wall = record.judged.performance()?.wall_ns;
        let measured = trials.iter().map(Vec::len).sum();
        let each = (KEPT / trials.len()).max(2);
        Some(Arc::new(Samples {
            name: format!("{} on {}: {}", record.contender, record.case, time(&wall)),
            measured,
            trials: trials.iter().take(KEPT / 2).map(|trial| thinned(trial, each)).collect(),
            interval: [wall.low, wall.estimate, wall.high],
        }))
    }

    /// The contenders: ours first, then peers; those that ran on most cases before those that ran
    /// on few, and the fastest first.
    pub(super) fn contenders(&self) -> Vec<ContenderId> {
        let places = ranking(&self.records).places;
        let most = places.iter().map(|place| place.cases).max().unwrap_or(0);
        let share = |id: &ContenderId| {
            let place = places.iter().find(|place| place.contender == *id);
            place.map_or(0.0, |of| of.share_of_best + f64::from(u8::from(2 * of.cases >= most)))
        };
        let mut all: Vec<ContenderId> = Vec::new();
        for record in &self.records {
            if !all.contains(&record.contender) {
                all.push(record.contender.clone());
            }
        }
        all.sort_by(|a, b| {
            let is_peer = |id: &ContenderId| id.family == Family::Peer;
            is_peer(a).cmp(&is_peer(b)).then(share(b).total_cmp(&share(a)))
        });
        all
    }

    /// The records of each case, the greatest ratio to the best of the others first; cases that
    /// have no others come last.
    pub(super) fn by_ratio(&self) -> Vec<Vec<&Record>> {
        self.sorted(|pairing| pairing.ratio.estimate)
    }

    /// The records of each case, the greatest cost first.
    pub(super) fn by_cost(&self) -> Vec<Vec<&Record>> {
        self.sorted(|pairing| pairing.cost_ns)
    }

    fn sorted(&self, key: impl Fn(&Pairing<'_>) -> f64) -> Vec<Vec<&Record>> {
        let found = pairings(&self.records);
        let pairings = found.as_ref().map_or(&[][..], |found| &found.cases[..]);
        let mut keyed: Vec<(f64, Vec<&Record>)> = Vec::new();
        for cell in cells(&self.records) {
            let is_in = |pairing: &&Pairing<'_>| {
                cell.iter().any(|record| std::ptr::eq(*record, pairing.record))
            };
            keyed.push((pairings.iter().find(is_in).map_or(f64::NEG_INFINITY, &key), cell));
        }
        keyed.sort_by(|a, b| b.0.total_cmp(&a.0));
        keyed.into_iter().map(|(_, cell)| cell).collect()
    }

    /// How far the middle half of a record's slices spreads, over their median.
    pub(super) fn spread(&self, record: &Record) -> Option<f64> {
        let mut all: Vec<f64> = self.trials(record)?.iter().flatten().copied().collect();
        all.sort_by(f64::total_cmp);
        let quartile = |share: f64| all[((all.len() - 1) as f64 * share) as usize];
        (all.len() >= 8).then(|| (quartile(0.75) - quartile(0.25)) / quartile(0.5))
    }
}

/// At most `most` of the values, in their order, the least and the greatest among them.
pub(super) fn thinned(values: &[f64], most: usize) -> Vec<f64> {
    if values.len() <= most {
        return values.to_vec();
    }
    let end = |pick: fn(f64, f64) -> bool| {
        (1..values.len()).fold(0, |at, i| if pick(values[i], values[at]) { i } else { at })
    };
    let mut kept: Vec<usize> =
        (0..most - 2).map(|i| i * values.len() / (most - 2).max(1)).collect();
    kept.extend([end(|a, b| a < b), end(|a, b| a > b)]);
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|i| values[i]).collect()
}

/// `matmul f32, 2 threads`.
pub(super) fn group_name(group: &proofmark_analyze::Group<'_>) -> String {
    format!("{} {}, {}", group.op, group.dtype, crate::plain::threads(group.threads))
}
