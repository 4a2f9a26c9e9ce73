//! From a run of the store to an object of the history.

use crate::point::{Row, flag};
use crate::{Calibration, Environment, HistoryError, Metric, Point, Run, RunObject, SeriesKey};
use proofmark_schema::conditions::Ruler;
use proofmark_schema::record::{Performance, Record};
use proofmark_schema::run_id::started_seconds;
use proofmark_schema::{Outcome, Receipt};
use proofmark_store::Run as StoredRun;
use std::collections::BTreeMap;

/// The commit that a run measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitOf {
    /// Its hash, if it is known.
    pub commit: Option<String>,
    /// Its time in microseconds since 1970, if it is known.
    pub time: Option<i64>,
    /// The branch that it is on, if it is known.
    pub branch: Option<String>,
}

/// The object of a stored run.
///
/// Each record of a proven and measured contender becomes a point of each metric. One that is not
/// proven becomes a point without a number, so that the history shows when it failed.
///
/// # Errors
/// If the run has no record, or its id does not tell when it was started and no commit is given.
pub fn from_store(stored: &StoredRun, commit: CommitOf) -> Result<RunObject, HistoryError> {
    let bad =
        |reason: &str| HistoryError::BadRun { run: stored.id.clone(), reason: reason.to_owned() };
    let started = started_seconds(&stored.id).map(|seconds| 1_000_000 * seconds);
    let no_time = "its id does not tell when it was started; give `--commit-time`";
    let started = started.or(commit.time).ok_or_else(|| bad(no_time))?;
    let is_whole = stored.sealed && stored.missing().is_empty();
    let run = Run {
        id: stored.id.clone(),
        started,
        commit_time: commit.time.unwrap_or(started),
        commit: commit.commit,
        branch: commit.branch,
        kind: stored.plan.kind.name().to_owned(),
        environment: Environment::of(&stored.machine),
        calibration: calibration(stored),
        is_whole,
    };
    // A comparison of two revisions has one contender twice. The later arm is the one that is
    // judged, and it has a ratio to the first: it is the point, the first is its control.
    let mut rows = BTreeMap::new();
    for record in stored.records() {
        for row in rows_of(record, &run)? {
            rows.insert(row.point.series, row);
        }
    }
    RunObject::new(run, rows.into_values().collect())
}

/// The points of one record.
fn rows_of(record: &Record, run: &Run) -> Result<Vec<Row>, HistoryError> {
    let proof = record.judged.proof();
    let performance = record.judged.performance();
    let contender = record.contender.to_string();
    let row = |metric, value: Option<Number>| -> Result<Row, HistoryError> {
        let key = SeriesKey::new(
            &record.case,
            contender.clone(),
            metric,
            record.threads,
            record.memory,
            record.isolation,
            run,
        );
        let control = value.as_ref().and_then(|number| number.control.clone());
        let point = Point {
            series: key.id()?,
            commit_time: run.commit_time,
            run: run.id.clone(),
            outcome: proof.outcome,
            value: value.as_ref().map(|number| number.value),
            low: value.as_ref().and_then(|number| number.low),
            high: value.as_ref().and_then(|number| number.high),
            trials: performance.map_or(0, |performance| performance.trials),
            control: control.as_ref().map(|(ratio, _)| *ratio),
            against: control.map(|(_, against)| against),
            code: code(&record.receipt),
            flags: flags(record, performance, run),
        };
        Ok(Row { key, point })
    };
    let plain = |value: f64| Number { value, low: None, high: None, control: None };
    let Some(performance) = performance.filter(|_| proof.outcome == Outcome::Proven) else {
        return Ok(vec![row(Metric::Time, None)?]);
    };
    let mut rows = vec![
        row(Metric::Time, Some(time(performance)))?,
        row(Metric::PeakBytes, Some(plain(performance.peak_bytes as f64)))?,
        row(Metric::Allocations, Some(plain(performance.allocations_per_call)))?,
    ];
    if proof.errors.q_max.is_finite() {
        rows.push(row(Metric::Error, Some(plain(proof.errors.q_max)))?);
    }
    Ok(rows)
}

/// A number with what is known about it.
struct Number {
    value: f64,
    low: Option<f32>,
    high: Option<f32>,
    /// The ratio to another contender of the same race, and that contender.
    control: Option<(f32, String)>,
}

fn time(performance: &Performance) -> Number {
    let time = performance.wall_ns;
    // A peer does not change with our code, so that it is the better control.
    let control = performance.best_peer.as_ref().or(performance.comparison.as_ref());
    let control = control.filter(|control| control.ratio.estimate.is_finite());
    Number {
        value: time.estimate,
        low: Some(time.low as f32).filter(|low| low.is_finite()),
        high: Some(time.high as f32).filter(|high| high.is_finite()),
        control: control
            .map(|control| (control.ratio.estimate as f32, control.against.to_string())),
    }
}

/// 16 hexadecimal digits over the files that the contender's code came from.
fn code(receipt: &Receipt) -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    for file in receipt.code() {
        if file.sha256.is_empty() {
            return None;
        }
        hasher.update(file.name.as_bytes()).update(b"\0");
        hasher.update(file.sha256.as_bytes()).update(b"\n");
    }
    receipt.program.as_ref()?;
    Some(hasher.finalize().to_hex()[..16].to_owned())
}

fn flags(record: &Record, performance: Option<&Performance>, run: &Run) -> u32 {
    use proofmark_schema::race::CallInputs;
    let conditions = performance.and_then(|performance| performance.conditions.as_ref());
    let is_throttled = conditions.is_some_and(|conditions| conditions.throttled.is_some());
    let is_noisy =
        conditions.and_then(|conditions| conditions.quiet).is_some_and(|quiet| !quiet.is_quiet);
    let is_fresh = performance.is_some_and(|performance| performance.inputs == CallInputs::Fresh);
    let is_missed = performance.is_some_and(|performance| {
        !performance.cache.achieved || performance.pages.is_some_and(|pages| !pages.achieved)
    });
    let all = [
        (is_throttled, flag::THROTTLED),
        (is_noisy, flag::NOISY),
        (!run.is_whole, flag::PARTIAL),
        (record.receipt.planted.is_some(), flag::PLANTED),
        (is_fresh, flag::FRESH_INPUTS),
        (is_missed, flag::MEMORY_NOT_ACHIEVED),
    ];
    all.into_iter().filter(|(is_so, _)| *is_so).fold(0, |flags, (_, flag)| flags | flag)
}

/// The medians of the rulers over the races of a run.
fn calibration(stored: &StoredRun) -> Calibration {
    let of = |ruler: Ruler| {
        let mut times: Vec<f64> = stored
            .records()
            .filter_map(|record| record.judged.performance()?.conditions.as_ref())
            .flat_map(|conditions| &conditions.rulers)
            .filter(|stability| stability.ruler == ruler && stability.wall_ns_median.is_finite())
            .map(|stability| stability.wall_ns_median)
            .collect();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied()
    };
    Calibration {
        chain_ns: of(Ruler::Chain),
        triad_ns: of(Ruler::Triad),
        stream_ns: of(Ruler::Stream),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_store::Store;
    use std::path::Path;

    fn golden(run: &str) -> StoredRun {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/golden");
        Store::open(&root).unwrap().load(run).unwrap()
    }

    #[test]
    fn a_proven_record_becomes_a_point_of_each_metric() {
        let stored = golden("01a1eae6-e0a1");
        let commit = CommitOf { commit: Some("abc".to_owned()), time: Some(5), branch: None };
        let object = from_store(&stored, commit).unwrap();
        assert_eq!(object.rows().len(), 8);
        assert_eq!(object.run().commit_time, 5);
        assert!(object.run().calibration.chain_ns.is_some_and(|time| time > 0.0));
        for record in stored.records() {
            let contender = record.contender.to_string();
            let row = object
                .rows()
                .iter()
                .find(|row| row.key.contender == contender && row.key.metric == Metric::Time);
            let point = &row.unwrap().point;
            let performance = record.judged.performance().unwrap();
            assert_eq!(point.value, Some(performance.wall_ns.estimate));
            let ratio = performance.comparison.as_ref().map(|of| of.ratio.estimate as f32);
            assert_eq!(point.control, ratio);
        }
    }

    #[test]
    fn a_refused_record_has_no_number() {
        let object = from_store(&golden("01a1eae7-1173"), CommitOf::default()).unwrap();
        let [row] = object.rows() else { panic!("{:?}", object.rows()) };
        assert_eq!(row.point.outcome, Outcome::Wrong);
        assert_eq!((row.point.value, row.point.low, row.point.control), (None, None, None));
        assert_eq!(row.point.commit_time, object.run().started);
    }
}
