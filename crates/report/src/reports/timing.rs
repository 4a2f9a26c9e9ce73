//! The report of the race's own proof on this machine.

use crate::document::{Cell, Column, Document};
use proofmark_schema::quantity::three_digits;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The comparisons of one kernel with one planted effect.
#[derive(Clone, Debug, Serialize)]
pub struct TimingLine {
    /// `S`, `M`, `T` or `L`.
    pub class: char,
    /// The contender.
    pub contender: String,
    /// The case.
    pub case: String,
    /// Planted effect in per cent.
    pub planted_percent: u64,
    /// Comparisons made.
    pub comparisons: usize,
    /// Verdicts SLOWER.
    pub slower: usize,
    /// Verdicts FASTER.
    pub faster: usize,
    /// Verdicts SAME.
    pub same: usize,
    /// 95 % intervals that hold the planted ratio.
    pub covered: usize,
    /// Median seconds to the verdict.
    pub seconds_median: f64,
    /// Ninth decile of seconds to the verdict.
    pub seconds_p90: f64,
    /// Median of the effects that were stated as detectable, in per cent.
    pub detectable_percent: Option<f64>,
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

/// The document of a timing self-test.
pub fn timing(lines: &[TimingLine]) -> Document {
    let same_code = || lines.iter().filter(|line| line.planted_percent == 0);
    let comparisons: usize = same_code().map(|line| line.comparisons).sum();
    let alarms: usize = same_code().map(|line| line.slower + line.faster).sum();
    let all: usize = lines.iter().map(|line| line.comparisons).sum();
    let covered: usize = lines.iter().map(|line| line.covered).sum();
    let smallest = same_code().filter_map(|line| line.detectable_percent).reduce(f64::max);
    let data = json!({
        "comparisons": comparisons,
        "false_alarms": alarms,
        "power": power(lines),
        "coverage": share(covered, all),
        "smallest_detectable_percent": smallest,
        "rows": lines,
    });
    let mut document = Document::new("Self-test of the race", data, "rows");
    document.table("", &COLUMNS, lines.iter().map(cells).collect());
    document.text(format!(
        "{alarms} false alarms in {comparisons} comparisons of the same code; {covered} of {all} \
         95 % intervals held the planted ratio"
    ));
    document
}

/// By planted per cent: the share of comparisons that found it, over all kernels.
fn power(lines: &[TimingLine]) -> Value {
    let mut power = Map::new();
    let mut planted: Vec<u64> = lines.iter().map(|line| line.planted_percent).collect();
    planted.sort_unstable();
    planted.dedup();
    for percent in planted.into_iter().filter(|&percent| percent > 0) {
        let of = || lines.iter().filter(|line| line.planted_percent == percent);
        let found = of().map(|line| line.slower).sum();
        let all = of().map(|line| line.comparisons).sum();
        power.insert(percent.to_string(), share(found, all));
    }
    Value::Object(power)
}

fn share(part: usize, all: usize) -> Value {
    if all == 0 { Value::Null } else { json!(part as f64 / all as f64) }
}

fn cells(line: &TimingLine) -> Vec<Cell> {
    let seconds =
        format!("{}/{}", three_digits(line.seconds_median), three_digits(line.seconds_p90));
    vec![
        Cell::plain(line.class.to_string()),
        Cell::plain(&line.contender),
        Cell::plain(&line.case),
        Cell::plain(format!("+{} %", line.planted_percent)),
        Cell::plain(line.comparisons.to_string()),
        Cell::plain(line.slower.to_string()),
        Cell::plain(line.faster.to_string()),
        Cell::plain(line.same.to_string()),
        Cell::plain(line.covered.to_string()),
        Cell::plain(seconds),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(planted_percent: u64, slower: usize, covered: usize) -> TimingLine {
        TimingLine {
            class: 'S',
            contender: "native/simd@avx2".to_owned(),
            case: "add:f32[b=1,s=1,d=8]".to_owned(),
            planted_percent,
            comparisons: 10,
            slower,
            faster: 0,
            same: 10 - slower,
            covered,
            seconds_median: 0.3,
            seconds_p90: 0.9,
            detectable_percent: Some(0.8),
        }
    }

    #[test]
    fn alarms_power_and_coverage_are_counted_apart() {
        let data = timing(&[line(0, 1, 9), line(2, 9, 10), line(2, 10, 10)]).data;
        assert_eq!(data["comparisons"], 10);
        assert_eq!(data["false_alarms"], 1);
        assert_eq!(data["power"]["2"], 0.95);
        assert_eq!(data["coverage"], 29.0 / 30.0);
    }
}
