//! The report of the race's own proof on this machine.

use crate::document::{Cell, Column, Document};
use proofmark_schema::quantity::three_digits;
use proofmark_schema::race::Verdict;
use proofmark_schema::timing::{LoopOverhead, TimedComparison};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The comparisons of one kernel with one planted effect, counted.
#[derive(Clone, Debug, Serialize)]
struct Row {
    class: char,
    contender: String,
    case: String,
    planted_percent: u64,
    comparisons: usize,
    slower: usize,
    faster: usize,
    same: usize,
    covered: usize,
    intervals: usize,
    seconds_median: f64,
    seconds_p90: f64,
    detectable_percent: Option<f64>,
}

const COLUMNS: [Column; 10] = [
    Column::left("class", 0),
    Column::left("contender", 2),
    Column::left("case", 1),
    Column::right("planted", 0),
    Column::right("n", 0),
    Column::right("SLOWER", 0),
    Column::right("FASTER", 0),
    Column::right("SAME", 0),
    Column::right("covered", 1),
    Column::right("s med/p90", 1),
];

/// The document of a timing self-test; its lines are the comparisons.
pub fn timing(comparisons: &[TimedComparison], overheads: &[LoopOverhead]) -> Document {
    let rows = rows(comparisons);
    let same_code = || rows.iter().filter(|row| row.planted_percent == 0);
    let tried: usize = same_code().map(|row| row.comparisons).sum();
    let alarms: usize = same_code().map(|row| row.slower + row.faster).sum();
    let intervals: usize = rows.iter().map(|row| row.intervals).sum();
    let covered: usize = rows.iter().map(|row| row.covered).sum();
    let faults: Vec<&String> = comparisons.iter().filter_map(|one| one.fault.as_ref()).collect();
    let smallest = same_code().filter_map(|row| row.detectable_percent).reduce(f64::max);
    let data = json!({
        "comparisons": tried,
        "false_alarms": alarms,
        "power": power(&rows),
        "coverage": share(covered, intervals),
        "smallest_detectable_percent": smallest,
        "overhead_percent": overheads.iter().map(|one| one.percent).reduce(f64::max),
        "overheads": overheads,
        "ruler_percent": rulers(comparisons),
        "stolen_percent": stolen(comparisons),
        "without_verdict": faults.len(),
        "rows": rows,
        "each": comparisons,
    });
    let mut document = Document::new("Self-test of the race", data, "each");
    document.table("", &COLUMNS, rows.iter().map(cells).collect());
    document.text(format!(
        "{alarms} false alarms in {tried} comparisons of the same code; {covered} of {intervals} \
         95 % intervals held the planted ratio"
    ));
    if !faults.is_empty() {
        let count = faults.len();
        document.text(format!("{count} comparisons could not be judged, the first: {}", faults[0]));
    }
    document.text(format!(
        "{:.1} % of the processors' time was stolen by the hypervisor meanwhile",
        stolen(comparisons)
    ));
    for one in overheads {
        document.text(format!(
            "a call of {} ns takes {:.2} % {} in a slice than in a bare loop (95 %: {:+.2} to \
             {:+.2})",
            three_digits(one.call_ns),
            one.percent.abs(),
            if one.percent < 0.0 { "less" } else { "more" },
            one.low_percent,
            one.high_percent
        ));
    }
    for (ruler, percent) in rulers(comparisons) {
        document.note(format!("ruler {ruler} varied by {percent:.1} % in the median race"));
    }
    document
}

/// How much of the processors' time was stolen during the comparisons, in per cent.
fn stolen(comparisons: &[TimedComparison]) -> f64 {
    let seconds: f64 = comparisons.iter().map(|one| one.seconds).sum();
    let stolen: f64 = comparisons.iter().map(|one| one.stolen_percent * one.seconds).sum();
    if seconds > 0.0 { stolen / seconds } else { 0.0 }
}

/// By ruler: how much it varied in the median race, in per cent.
fn rulers(comparisons: &[TimedComparison]) -> BTreeMap<&str, f64> {
    let names = comparisons.iter().flat_map(|one| one.ruler_percent.keys());
    let of = |name: &str| {
        let seen = comparisons.iter().filter_map(|one| one.ruler_percent.get(name));
        quantile(seen.copied(), 0.5).unwrap_or(0.0)
    };
    names.map(|name| (name.as_str(), of(name))).collect()
}

/// Comparisons of one kernel and effect, together, in the order they came.
fn rows(comparisons: &[TimedComparison]) -> Vec<Row> {
    let alike = |a: &TimedComparison, b: &TimedComparison| {
        (&a.contender, &a.case, a.planted_percent) == (&b.contender, &b.case, b.planted_percent)
    };
    comparisons.chunk_by(alike).map(row).collect()
}

fn row(comparisons: &[TimedComparison]) -> Row {
    let first = &comparisons[0];
    let count = |verdict: Verdict| comparisons.iter().filter(|c| c.verdict == verdict).count();
    let covered: Vec<bool> = comparisons.iter().filter_map(TimedComparison::is_covered).collect();
    let seconds = |share: f64| quantile(comparisons.iter().map(|c| c.seconds), share);
    Row {
        class: first.class,
        contender: first.contender.clone(),
        case: first.case.clone(),
        planted_percent: first.planted_percent,
        comparisons: comparisons.len(),
        slower: count(Verdict::Slower),
        faster: count(Verdict::Faster),
        same: count(Verdict::Same),
        covered: covered.iter().filter(|&&held| held).count(),
        intervals: covered.len(),
        seconds_median: seconds(0.5).unwrap_or(0.0),
        seconds_p90: seconds(0.9).unwrap_or(0.0),
        detectable_percent: quantile(comparisons.iter().filter_map(|c| c.detectable_percent), 0.5),
    }
}

/// The quantile of the values at this share, to the nearest value.
fn quantile(values: impl Iterator<Item = f64>, share: f64) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get((share * values.len().saturating_sub(1) as f64).round() as usize).copied()
}

/// By planted per cent: the share of comparisons that found it, over all kernels.
fn power(rows: &[Row]) -> Value {
    let planted: BTreeSet<u64> = rows.iter().map(|row| row.planted_percent).collect();
    let mut power = Map::new();
    for percent in planted.into_iter().filter(|&percent| percent > 0) {
        let of = || rows.iter().filter(|row| row.planted_percent == percent);
        let found = of().map(|row| row.slower).sum();
        let all = of().map(|row| row.comparisons).sum();
        power.insert(percent.to_string(), share(found, all));
    }
    Value::Object(power)
}

fn share(part: usize, all: usize) -> Value {
    if all == 0 { Value::Null } else { json!(part as f64 / all as f64) }
}

fn cells(row: &Row) -> Vec<Cell> {
    let seconds = format!("{}/{}", three_digits(row.seconds_median), three_digits(row.seconds_p90));
    vec![
        Cell::plain(row.class.to_string()),
        Cell::plain(&row.contender),
        Cell::plain(&row.case),
        Cell::plain(format!("+{} %", row.planted_percent)),
        Cell::plain(row.comparisons.to_string()),
        Cell::plain(row.slower.to_string()),
        Cell::plain(row.faster.to_string()),
        Cell::plain(row.same.to_string()),
        Cell::plain(format!("{}/{}", row.covered, row.intervals)),
        Cell::plain(seconds),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(planted_percent: u64, verdict: Verdict, ratio: f64) -> TimedComparison {
        TimedComparison {
            class: 'S',
            contender: "native/simd@avx2".to_owned(),
            case: "add:f32[b=1,s=1,d=8]".to_owned(),
            planted_percent,
            number: 0,
            verdict,
            ratio,
            low: ratio - 0.005,
            high: ratio + 0.005,
            fixed_low: Some(ratio - 0.005),
            fixed_high: Some(ratio + 0.005),
            trials: 6,
            seconds: 0.3,
            detectable_percent: Some(0.8),
            ruler_percent: BTreeMap::from([("stream".to_owned(), 100.0 * ratio)]),
            stolen_percent: 3.0,
            fault: None,
        }
    }

    fn overhead(percent: f64) -> LoopOverhead {
        LoopOverhead {
            contender: "native/simd@avx2".to_owned(),
            case: "add:f32[b=1,s=1,d=8]".to_owned(),
            call_ns: 500.0,
            percent,
            low_percent: percent - 0.01,
            high_percent: percent + 0.01,
        }
    }

    #[test]
    fn alarms_power_and_coverage_are_counted_apart() {
        let document = timing(
            &[
                compared(0, Verdict::Same, 1.0),
                compared(0, Verdict::Slower, 1.01),
                compared(2, Verdict::Slower, 1.02),
                compared(2, Verdict::Undecided, 1.018),
                compared(2, Verdict::Faster, 0.98),
            ],
            &[overhead(0.03), overhead(0.4)],
        );
        assert_eq!(document.data["comparisons"], 2);
        assert_eq!(document.data["false_alarms"], 1);
        assert_eq!(document.data["power"]["2"], 1.0 / 3.0);
        assert_eq!(document.data["coverage"], 3.0 / 5.0);
        assert_eq!(document.data["overhead_percent"], 0.4);
        assert_eq!(document.data["ruler_percent"]["stream"], 101.0);
        assert_eq!(document.data["rows"].as_array().unwrap().len(), 2);
        assert_eq!(document.data[document.lines].as_array().unwrap().len(), 5);
    }

    #[test]
    fn quantiles_are_values_that_were_seen() {
        assert_eq!(quantile([3.0, 1.0, 2.0].into_iter(), 0.5), Some(2.0));
        assert_eq!(quantile([3.0, 1.0].into_iter(), 0.9), Some(3.0));
        assert_eq!(quantile([].into_iter(), 0.9), None);
    }
}
