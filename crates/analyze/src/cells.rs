//! The records of one case together, with their times next to each other.

use proofmark_schema::quantity::Interval;
use proofmark_schema::record::{Performance, Record};

/// The records of each run, case, thread count and state of memory, in the order in which they
/// first appear.
pub fn cells<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<Vec<&'a Record>> {
    let mut cells: Vec<Vec<&Record>> = Vec::new();
    for record in records {
        let same = |cell: &&mut Vec<&Record>| {
            let first = cell[0];
            first.threads == record.threads
                && first.memory == record.memory
                && first.case == record.case
                && first.run == record.run
        };
        // Records of a case stand together, so the search starts at the newest cell.
        match cells.iter_mut().rev().find(same) {
            Some(cell) => cell.push(record),
            None => cells.push(vec![record]),
        }
    }
    cells
}

/// The measured records of one cell with comparable intervals, the fastest first.
///
/// The intervals are ratios to the first arm, since slow drifts of the machine cancel in them. They
/// are times only if a ratio is missing.
pub fn field<'a>(cell: &[&'a Record]) -> Vec<(&'a Record, Interval)> {
    let measured: Vec<(&Record, &Performance)> =
        cell.iter().filter_map(|&record| Some((record, record.judged.performance()?))).collect();
    let ratios: Option<Vec<Interval>> = measured.iter().map(|(_, of)| ratio(of)).collect();
    let intervals =
        ratios.unwrap_or_else(|| measured.iter().map(|(_, of)| of.wall_ns).collect::<Vec<_>>());
    let mut field: Vec<(&Record, Interval)> = measured
        .iter()
        .map(|(record, _)| *record)
        .zip(intervals)
        .filter(|(_, interval)| is_sound(interval))
        .collect();
    field.sort_by(|a, b| a.1.estimate.total_cmp(&b.1.estimate));
    field
}

/// Time over the first arm's; exactly 1 for that arm.
fn ratio(performance: &Performance) -> Option<Interval> {
    match &performance.comparison {
        Some(comparison) => Some(comparison.ratio),
        None if performance.slices.arm == 0 => {
            Some(Interval { estimate: 1.0, low: 1.0, high: 1.0, confidence: 1.0 })
        }
        None => None,
    }
}

fn is_sound(interval: &Interval) -> bool {
    interval.estimate > 0.0
        && interval.low <= interval.estimate
        && interval.estimate <= interval.high
        && interval.high.is_finite()
}

/// The geometric mean; `None` of nothing.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0_usize);
    for value in values {
        sum += value.ln();
        count += 1;
    }
    (count > 0).then(|| (sum / count as f64).exp()).filter(|mean| mean.is_finite())
}
