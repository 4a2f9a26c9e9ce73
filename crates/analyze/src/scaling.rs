//! How a contender's speed grows with threads, how well, and what ends it.

use proofmark_schema::quantity::Interval;
use proofmark_schema::record::{Bound, Performance, Record};
use proofmark_schema::{Case, ContenderId, Memory};
use proofmark_stats::{Speedup, fit_amdahl, fit_universal};
use serde::Serialize;

/// Efficiencies from which scaling is excellent, and good.
const EXCELLENT: f64 = 0.85;
const GOOD: f64 = 0.5;
/// The share of a thread that each added thread must gain; below it, returns are diminishing.
const WORTH_A_THREAD: f64 = 0.25;
/// Share of the memory's bandwidth from which memory limits the scaling.
const SATURATED: f64 = 0.7;
/// Share of a call from which the overhead of fork and join limits the scaling.
const OVERHEAD: f64 = 0.1;
const CONFIDENCE: f64 = 0.95;

/// How good a speed-up is for its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    /// At least 85 % of the ideal speed-up.
    Excellent,
    /// At least 50 %.
    Good,
    /// Less, or each of the last threads added gained less than a quarter of a thread.
    Diminishing,
    /// The interval holds 1.
    NoGain,
    /// The whole interval lies below 1.
    Worse,
}

impl Label {
    /// The words in tables.
    pub fn name(self) -> &'static str {
        match self {
            Label::Excellent => "excellent",
            Label::Good => "good",
            Label::Diminishing => "diminishing",
            Label::NoGain => "no gain",
            Label::Worse => "worse",
        }
    }
}

/// What keeps the widest point from the ideal speed-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The contender says that it uses one thread.
    OneThread,
    /// Memory, or a cache that threads share, is near its bandwidth.
    Memory,
    /// Fork and join take a large share of so short a call.
    Overhead,
    /// Every pair of threads costs: more of them are slower.
    Contention,
    /// A part of the work stays on one thread.
    Serial,
}

/// A contender on a case with one thread count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScalePoint {
    /// Threads.
    pub threads: usize,
    /// Time of a call.
    pub wall_ns: Interval,
    /// Time on one thread over this time.
    pub speedup: Interval,
    /// Speed-up over threads.
    pub efficiency: f64,
    /// How good that is; none on one thread.
    pub label: Option<Label>,
    /// What holds the case with these threads.
    pub bound: Option<Bound>,
    /// Share of the bandwidth that these threads have at the case's working set.
    pub bandwidth_share: Option<f64>,
}

/// Amdahl's law as it fits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AmdahlFit {
    /// Share of the work that does not spread over threads.
    pub serial: Interval,
    /// The speed-up that no number of threads passes.
    pub limit: f64,
}

/// Gunther's universal scalability law as it fits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UniversalFit {
    /// Contention.
    pub sigma: f64,
    /// Coherency: what every pair of threads costs.
    pub kappa: f64,
    /// Threads at which the speed-up is greatest; none where it never falls again.
    pub peak_threads: Option<f64>,
}

/// A contender on a case over threads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scaling {
    /// The case.
    pub case: Case,
    /// The contender.
    pub contender: ContenderId,
    /// Its caches and pages.
    pub memory: Memory,
    /// Whether all thread counts ran in the blocks of one race. Otherwise the ratios compare
    /// successive races, and their intervals are wider for it.
    pub is_interleaved: bool,
    /// One thread first, then more.
    pub points: Vec<ScalePoint>,
    /// The serial share that the widest point alone implies (Karp and Flatt, 1990).
    pub serial_share: Option<f64>,
    /// Amdahl's law; from three thread counts on.
    pub amdahl: Option<AmdahlFit>,
    /// The universal law; likewise.
    pub universal: Option<UniversalFit>,
    /// Nanoseconds of an empty fork and join on the widest point's threads.
    pub fork_join_ns: Option<f64>,
    /// What ends the scaling; none where the widest point is excellent.
    pub cause: Option<Cause>,
}

/// The scalings of records: one for each case, memory and contender that was measured on one
/// thread and on more. `fork_join` has nanoseconds of an empty region by threads.
pub fn scalings(records: &[Record], fork_join: &[(usize, f64)]) -> Vec<Scaling> {
    let mut groups: Vec<Vec<&Record>> = Vec::new();
    for record in records.iter().filter(|record| record.judged.performance().is_some()) {
        let is_like = |other: &Record| {
            (&other.case, &other.contender, other.memory)
                == (&record.case, &record.contender, record.memory)
        };
        match groups.iter_mut().find(|group| is_like(group[0])) {
            Some(group) if group.iter().all(|other| other.threads != record.threads) => {
                group.push(record);
            }
            Some(_) => {}
            None => groups.push(vec![record]),
        }
    }
    groups.into_iter().filter_map(|group| scaling(group, fork_join)).collect()
}

fn scaling(mut group: Vec<&Record>, fork_join: &[(usize, f64)]) -> Option<Scaling> {
    group.sort_by_key(|record| record.threads);
    let first = group[0];
    if first.threads != 1 || group.len() < 2 {
        return None;
    }
    let is_interleaved = group.iter().all(|record| record.item == first.item);
    let mut points: Vec<ScalePoint> = Vec::new();
    for record in &group {
        let point = point(first, record, is_interleaved, points.last())?;
        points.push(point);
    }
    let speedups: Vec<Speedup> = points
        .iter()
        .map(|p| Speedup { threads: p.threads as u32, speedup: p.speedup.estimate })
        .collect();
    let amdahl = fit_amdahl(&speedups, CONFIDENCE).map(|fit| {
        let serial = fit.serial;
        let (estimate, low, high) = (serial.estimate, serial.low, serial.high);
        let serial = Interval { estimate, low, high, confidence: CONFIDENCE };
        AmdahlFit { serial, limit: fit.limit() }
    });
    let universal = fit_universal(&speedups).map(|fit| UniversalFit {
        sigma: fit.sigma,
        kappa: fit.kappa,
        peak_threads: fit.peak_threads(),
    });
    let widest = points.last()?;
    let fork_join_ns = fork_join.iter().find(|of| of.0 == widest.threads).map(|of| of.1);
    let one_thread = group.last()?.receipt.threads == Some(1);
    Some(Scaling {
        case: first.case.clone(),
        contender: first.contender.clone(),
        memory: first.memory,
        is_interleaved,
        serial_share: serial_share(widest),
        cause: cause(&points, one_thread, universal, fork_join_ns),
        amdahl,
        universal,
        fork_join_ns,
        points,
    })
}

fn point(
    first: &Record,
    record: &Record,
    is_interleaved: bool,
    before: Option<&ScalePoint>,
) -> Option<ScalePoint> {
    let (base, own) = (first.judged.performance()?, record.judged.performance()?);
    let speedup = if record.threads == first.threads {
        Interval { estimate: 1.0, low: 1.0, high: 1.0, confidence: own.wall_ns.confidence }
    } else {
        speedup(base, own, is_interleaved)?
    };
    let efficiency = speedup.estimate / record.threads as f64;
    let gain = before.map(|before| {
        let added = (record.threads - before.threads) as f64;
        (speedup.estimate - before.speedup.estimate) / added
    });
    let rate = record.work.bytes() as f64 / own.wall_ns.estimate * 1e9;
    Some(ScalePoint {
        threads: record.threads,
        wall_ns: own.wall_ns,
        label: gain.map(|gain| label(&speedup, efficiency, gain)),
        speedup,
        efficiency,
        bound: own.limits.and_then(|limits| limits.bound),
        bandwidth_share: own.limits.map(|limits| rate / limits.bytes_per_second),
    })
}

/// The speed-up from pairs of slices if there are any, else the widest that both times allow.
fn speedup(base: &Performance, own: &Performance, is_interleaved: bool) -> Option<Interval> {
    if is_interleaved {
        return Some(own.comparison.as_ref()?.ratio.inverse());
    }
    let (one, many) = (base.wall_ns, own.wall_ns);
    Some(Interval {
        estimate: one.estimate / many.estimate,
        low: one.low / many.high,
        high: one.high / many.low,
        confidence: many.confidence,
    })
}

fn label(speedup: &Interval, efficiency: f64, gain: f64) -> Label {
    if speedup.high < 1.0 {
        Label::Worse
    } else if speedup.low <= 1.0 {
        Label::NoGain
    } else if efficiency >= EXCELLENT {
        Label::Excellent
    } else if efficiency < GOOD || gain < WORTH_A_THREAD {
        Label::Diminishing
    } else {
        Label::Good
    }
}

/// e = (1/S − 1/n) / (1 − 1/n), within 0 and 1.
fn serial_share(point: &ScalePoint) -> Option<f64> {
    let n = point.threads as f64;
    let share = (1.0 / point.speedup.estimate - 1.0 / n) / (1.0 - 1.0 / n);
    share.is_finite().then(|| share.clamp(0.0, 1.0))
}

fn cause(
    points: &[ScalePoint],
    one_thread: bool,
    universal: Option<UniversalFit>,
    fork_join_ns: Option<f64>,
) -> Option<Cause> {
    let widest = points.last()?;
    if one_thread {
        return Some(Cause::OneThread);
    }
    if widest.label == Some(Label::Excellent) {
        return None;
    }
    let is_shared = matches!(widest.bound, Some(Bound::Dram | Bound::L3));
    if is_shared && widest.bandwidth_share.is_some_and(|share| share >= SATURATED) {
        return Some(Cause::Memory);
    }
    if fork_join_ns.is_some_and(|ns| ns >= OVERHEAD * widest.wall_ns.estimate) {
        return Some(Cause::Overhead);
    }
    let best = points.iter().map(|point| point.speedup.estimate).fold(0.0, f64::max);
    let falls = widest.speedup.high < best;
    if falls && universal.is_some_and(|fit| fit.kappa * widest.threads as f64 > fit.sigma) {
        return Some(Cause::Contention);
    }
    Some(Cause::Serial)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{compared, performance, timed};
    use proofmark_schema::record::Limits;

    /// One race whose speed-ups follow a curve, with intervals of ±1 %.
    fn race(one_ns: f64, threads: &[usize], curve: impl Fn(f64) -> f64) -> Vec<Record> {
        let arm = |(arm, &threads): (usize, &usize)| {
            let ratio = 1.0 / curve(threads as f64);
            let mut record = match arm {
                0 => timed("native/parallel", 0, one_ns),
                _ => {
                    let around = (0.99 * ratio, ratio, 1.01 * ratio);
                    compared("native/parallel", arm as u32, one_ns * ratio, around)
                }
            };
            (record.item, record.threads) = (0, threads);
            record
        };
        threads.iter().enumerate().map(arm).collect()
    }

    fn only(records: &[Record], fork_join: &[(usize, f64)]) -> Scaling {
        let mut all = scalings(records, fork_join);
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    fn labels(scaling: &Scaling) -> Vec<&'static str> {
        scaling.points.iter().filter_map(|point| point.label).map(Label::name).collect()
    }

    #[test]
    fn a_serial_part_is_found_and_named() {
        let amdahl = |n: f64| 1.0 / (0.2 + 0.8 / n);
        let scaling = only(&race(1e7, &[1, 2, 4, 8, 16], amdahl), &[(16, 3_000.0)]);
        assert!(scaling.is_interleaved);
        assert_eq!(labels(&scaling), ["good", "good", "diminishing", "diminishing"]);
        assert_eq!(scaling.cause, Some(Cause::Serial));
        let fit = scaling.amdahl.unwrap();
        assert!((fit.serial.estimate - 0.2).abs() < 1e-9 && (fit.limit - 5.0).abs() < 1e-6);
        assert!((scaling.serial_share.unwrap() - 0.2).abs() < 1e-9);
    }

    #[test]
    fn speed_that_falls_again_is_contention() {
        let universal = |n: f64| n / (1.0 + 0.02 * (n - 1.0) + 0.02 * n * (n - 1.0));
        let scaling = only(&race(1e7, &[1, 2, 4, 8, 16], universal), &[]);
        assert_eq!(scaling.cause, Some(Cause::Contention));
        let fit = scaling.universal.unwrap();
        assert!((fit.kappa - 0.02).abs() < 1e-9 && (fit.sigma - 0.02).abs() < 1e-9, "{fit:?}");
        assert!((fit.peak_threads.unwrap() - 7.0).abs() < 1e-6);
    }

    #[test]
    fn two_points_fit_no_law_but_imply_a_serial_share() {
        let scaling = only(&race(1e7, &[1, 2], |n| if n > 1.0 { 1.6 } else { 1.0 }), &[]);
        assert_eq!((scaling.amdahl, scaling.universal), (None, None));
        assert!((scaling.serial_share.unwrap() - 0.25).abs() < 1e-9);
        assert_eq!(labels(&scaling), ["good"]);
    }

    #[test]
    fn a_saturated_memory_and_a_dear_fork_are_named_before_the_serial_part() {
        let curve = |n: f64| if n > 1.0 { 1.2 } else { 1.0 };
        let mut records = race(1e8, &[1, 2], curve);
        let rate = 1e9 / (1e8 / 1.2) * 1e9;
        for (share, expected) in [(0.95, Cause::Memory), (0.4, Cause::Serial)] {
            performance(&mut records[1]).limits = Some(Limits {
                flops_per_second: 1e12,
                bytes_per_second: rate / share,
                bound_ns: 1.0,
                bound: Some(Bound::Dram),
                unit: None,
            });
            assert_eq!(only(&records, &[(2, 2_000.0)]).cause, Some(expected), "{share}");
        }
        let short = race(10_000.0, &[1, 2], curve);
        assert_eq!(only(&short, &[(2, 2_000.0)]).cause, Some(Cause::Overhead));
    }

    #[test]
    fn perfect_scaling_needs_no_cause_and_a_single_thread_says_so() {
        let scaling = only(&race(1e7, &[1, 2, 4], |n| n), &[]);
        assert_eq!((labels(&scaling), scaling.cause), (vec!["excellent"; 2], None));
        let mut records = race(1e7, &[1, 2], |_| 1.0);
        records[1].receipt.threads = Some(1);
        let scaling = only(&records, &[]);
        assert_eq!((labels(&scaling), scaling.cause), (vec!["no gain"], Some(Cause::OneThread)));
        let worse = only(&race(1e7, &[1, 2], |n| if n > 1.0 { 0.8 } else { 1.0 }), &[]);
        assert_eq!(labels(&worse), ["worse"]);
    }

    #[test]
    fn races_one_after_the_other_are_told_and_their_intervals_are_wider() {
        let mut records = race(1e7, &[1, 2], |n| n);
        let together = only(&records, &[]).points[1].speedup;
        records[1].item = 1;
        let apart = only(&records, &[]);
        assert!(!apart.is_interleaved);
        let apart = apart.points[1].speedup;
        assert!(apart.high - apart.low > together.high - together.low);
        assert!(scalings(&records[1..], &[]).is_empty(), "one thread is the base");
    }
}
