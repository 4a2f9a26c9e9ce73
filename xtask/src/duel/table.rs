//! The tables of the duel, from the records alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::harness::HARNESSES;
use super::record::{Record, Verdict};

/// What one harness said over a group of comparisons.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tally {
    /// Differences reported where nothing is planted, and comparisons of the same code.
    pub(super) false_alarms: (u64, u64),
    /// Slowdowns found, and comparisons, by the planted per cent.
    pub(super) found: BTreeMap<u64, (u64, u64)>,
    /// Slowdowns called faster, and comparisons with something planted.
    pub(super) wrong_signs: (u64, u64),
    /// The same code proved to be the same, and comparisons of it, where a harness can say so.
    same: (u64, u64),
    /// Intervals that hold the planted change, and intervals.
    held: (u64, u64),
    pub(super) seconds: Vec<f64>,
}

impl Tally {
    pub(super) fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Tally {
        let mut tally = Tally::default();
        for record in records {
            let is_slower = record.verdict == Verdict::Slower;
            let is_faster = record.verdict == Verdict::Faster;
            let count = |(hits, all): &mut (u64, u64), is_hit: bool| {
                *hits += u64::from(is_hit);
                *all += 1;
            };
            if record.planted_percent == 0 {
                count(&mut tally.false_alarms, is_slower || is_faster);
                if record.verdict != Verdict::None {
                    count(&mut tally.same, record.verdict == Verdict::Same);
                }
            } else {
                count(tally.found.entry(record.planted_percent).or_default(), is_slower);
                count(&mut tally.wrong_signs, is_faster);
            }
            if let Some([low, high]) = record.interval_percent {
                count(&mut tally.held, (low..=high).contains(&(record.planted_percent as f64)));
            }
            tally.seconds.push(record.seconds);
        }
        tally
    }

    pub(super) fn median_seconds(&self) -> f64 {
        proofmark_stats::median(&self.seconds).unwrap_or(0.0)
    }

    /// The value that nine in ten lie below.
    fn ninth_decile_seconds(&self) -> f64 {
        let mut seconds = self.seconds.clone();
        seconds.sort_by(f64::total_cmp);
        let last = seconds.len().saturating_sub(1) as f64;
        seconds.get((0.9 * last).round() as usize).copied().unwrap_or(0.0)
    }

    fn row(&self, name: &str, can_say_same: bool) -> String {
        let share = |(hits, all): (u64, u64)| match all {
            0 => "–".to_owned(),
            _ => format!("{hits}/{all}"),
        };
        let (hits, all) = self.false_alarms;
        // The upper end alone: a two-sided interval of 90 % leaves 5 % above it.
        let alarms = match proofmark_stats::clopper_pearson(hits, all, 0.90) {
            Some(interval) => format!("{hits}/{all} (≤ {:.1} %)", 100.0 * interval.high),
            None => "–".to_owned(),
        };
        let found = |percent| share(self.found.get(&percent).copied().unwrap_or_default());
        format!(
            "| {name} | {alarms} | {} | {} | {} | {} | {} | {} | {:.1} / {:.1} |\n",
            if can_say_same { share(self.same) } else { "–".to_owned() },
            found(1),
            found(2),
            found(5),
            share(self.wrong_signs),
            share(self.held),
            self.median_seconds(),
            self.ninth_decile_seconds()
        )
    }
}

/// Names of the harnesses in the records, in the order of the list.
pub(super) fn names(records: &[Record]) -> Vec<&'static str> {
    let names = HARNESSES.iter().map(|harness| harness.name);
    names.filter(|name| records.iter().any(|record| record.harness == *name)).collect()
}

/// A table of everything, one for each class and regime, one row for each harness and budget, then
/// how each harness was used.
pub(super) fn markdown(records: &[Record]) -> String {
    if records.is_empty() {
        return "No comparison has been recorded yet.\n".to_owned();
    }
    let all: Vec<&Record> = records.iter().collect();
    let mut text = table("All kernels and regimes", &all, |_| 0, |name, _| name.to_owned());
    let group = |record: &Record| ("SMTL".find(record.class), record.regime.clone());
    let groups: BTreeSet<_> = records.iter().map(group).collect();
    for wanted in groups {
        let inside: Vec<&Record> = records.iter().filter(|r| group(r) == wanted).collect();
        // Budgets in thousandths, because they must have an order.
        let budget = |record: &Record| (1000.0 * record.budget_seconds).round() as u64;
        let title = format!("Class {}, {}", inside[0].class, wanted.1);
        text += &table(&title, &inside, budget, |name, part| {
            format!("{name}, {} s", part as f64 / 1000.0)
        });
    }
    text += &notes(records);
    text
}

/// One table, with a row for each harness and part of its records.
fn table(
    title: &str,
    records: &[&Record],
    part_of: impl Fn(&Record) -> u64,
    row_title: impl Fn(&str, u64) -> String,
) -> String {
    let mut text = format!(
        "{title}:\n\n\
         | harness, allowed | false alarms (95 % limit) | SAME | found +1 % | +2 % | +5 % | \
         wrong sign | 95 % intervals hold | s median / p90 |\n\
         |---|---|---|---|---|---|---|---|---|\n"
    );
    let parts: BTreeSet<u64> = records.iter().map(|record| part_of(record)).collect();
    for harness in HARNESSES {
        for &part in &parts {
            let of_row = |r: &&Record| r.harness == harness.name && part_of(r) == part;
            let tally = Tally::of(records.iter().copied().filter(of_row));
            if !tally.seconds.is_empty() {
                let is_ours = harness.name == HARNESSES[0].name;
                text += &tally.row(&row_title(harness.name, part), is_ours);
            }
        }
    }
    text.push('\n');
    text
}

/// Versions and rules.
fn notes(records: &[Record]) -> String {
    let mut text = String::new();
    for harness in HARNESSES.iter().filter(|harness| names(records).contains(&harness.name)) {
        let of_harness = records.iter().filter(|record| record.harness == harness.name);
        let versions: BTreeSet<&str> = of_harness.map(|record| record.version.as_str()).collect();
        let versions = versions.into_iter().collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "- `{}` ({versions}): {}.", harness.name, harness.rule);
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Records as a run would have left them.
    pub(in crate::duel) fn fixture() -> Vec<Record> {
        let text = include_str!("../../fixtures/records.jsonl");
        text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
    }

    #[test]
    fn counts_alarms_finds_and_wrong_signs_apart() {
        let records = fixture();
        let tally = Tally::of(records.iter().filter(|record| record.harness == "criterion"));
        assert_eq!(tally.false_alarms, (2, 4));
        assert_eq!(tally.found[&2], (1, 3));
        assert_eq!(tally.wrong_signs, (1, 3));
        assert_eq!(tally.median_seconds(), 2.1);
    }

    #[test]
    fn the_tables_are_those_of_the_records() {
        let text = markdown(&fixture());
        let expected = include_str!("../../fixtures/table.md");
        assert_eq!(text, expected);
        let mut reversed = fixture();
        reversed.reverse();
        assert_eq!(markdown(&reversed), expected, "the order of records must not matter");
    }

    #[test]
    fn without_records_it_says_so() {
        assert!(markdown(&[]).contains("No comparison"));
    }
}
