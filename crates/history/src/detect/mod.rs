//! Judges every series, and says once what moved.
//!
//! Detection is a function of a snapshot: it needs no state of its own, so that any scheduler may
//! start it, on any machine, for any shard. What it finds is appended as events. An alert that is
//! already there is extended and not raised again.

use crate::alerts::{Alert, Finding, Member, alerts_of};
use crate::read::Shard;
use crate::{Event, EventState, HistoryError, Metric, Point, Run, SeriesKey, Snapshot, flag};
use proofmark_stats::change::{self, Candidate, Cause, Change, Detector, Evidence, Settings};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How series are judged.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Which series.
    pub shard: Shard,
    /// The probability of an alarm of a series that does not change, over all looks.
    pub alpha: f64,
    /// The share of false alerts among the alerts of one shard.
    pub rate: f64,
    /// Changes below this share are not reported, however sure they are.
    pub least: f64,
}

impl Default for Options {
    fn default() -> Options {
        Options { shard: Shard::WHOLE, alpha: 0.01, rate: 0.05, least: 0.005 }
    }
}

/// What detection found.
#[derive(Clone, Debug, Default)]
pub struct Detected {
    /// Series that were read.
    pub series: usize,
    /// Series with enough numbers to be judged.
    pub judged: usize,
    /// Series with a change that the family of all series supports.
    pub changed: usize,
    /// Events to append, in order.
    pub events: Vec<Event>,
}

/// A change of a series, with what is stored of it.
struct Moved {
    candidate: Candidate,
    member: Member,
    /// Runs before and after the commits that may have made it.
    runs: (String, String),
    /// A later change took it back.
    reverted: bool,
}

/// A series while the family is not complete.
struct Judged {
    p_value: f64,
    moved: Vec<Moved>,
}

/// Judges the series of a shard.
///
/// # Errors
/// If the history cannot be read, or the options are no probabilities.
pub async fn detect(
    snapshot: &Snapshot,
    options: &Options,
    now: i64,
    actor: &str,
) -> Result<Detected, HistoryError> {
    let settings = Settings { alpha: options.alpha, ..Settings::default() };
    let detector = Detector::new(settings).ok_or_else(|| {
        HistoryError::Usage(format!("`{}` is no rate; give one of 0.0005 to 0.9", options.alpha))
    })?;
    let axis = Axis::new(snapshot.runs().await?);
    let mut detected = Detected::default();
    let mut judged: Vec<Judged> = Vec::new();
    let visit = |key: &SeriesKey, points: &[Point]| {
        let series = detected.series;
        detected.series += 1;
        judged.extend(judge(&detector, &axis, key, points, series));
        Ok(())
    };
    snapshot.for_each_series(options.shard, visit).await?;
    detected.judged = judged.len();
    let p_values: Vec<f64> = judged.iter().map(|series| series.p_value).collect();
    let falls = change::alerts(&p_values, options.alpha, options.rate);
    let mut moved = Vec::new();
    for (series, falls) in judged.into_iter().zip(falls) {
        detected.changed += usize::from(falls && !series.moved.is_empty());
        moved.extend(
            series
                .moved
                .into_iter()
                .filter(|moved| falls && moved.candidate.shift.abs() >= options.least.ln_1p()),
        );
    }
    let known = alerts_of(&snapshot.events().await?);
    detected.events = events(&axis, &moved, &known, now, actor);
    Ok(detected)
}

/// The commits of a history in their order, and the runs of each.
struct Axis {
    runs: HashMap<String, Run>,
    /// The place of each run's commit.
    places: HashMap<String, u64>,
}

impl Axis {
    fn new(mut runs: Vec<Run>) -> Axis {
        let name = |run: &Run| run.commit.clone().unwrap_or_else(|| run.id.clone());
        runs.sort_by_key(|run| (run.commit_time, name(run)));
        let mut places = HashMap::new();
        let (mut place, mut last) = (0, None);
        for run in &runs {
            let commit = (run.commit_time, name(run));
            if last.as_ref().is_some_and(|last| *last != commit) {
                place += 1;
            }
            last = Some(commit);
            places.insert(run.id.clone(), place);
        }
        let runs = runs.into_iter().map(|run| (run.id.clone(), run)).collect();
        Axis { runs, places }
    }

    fn place(&self, run: &str) -> Option<u64> {
        self.places.get(run).copied()
    }

    fn commit(&self, run: &str) -> Option<String> {
        self.runs.get(run)?.commit.clone()
    }

    fn time(&self, run: &str) -> i64 {
        self.runs.get(run).map_or(0, |run| run.commit_time)
    }
}

/// The numbers that a series is judged by: the ratio to the control where every point has one by
/// the same contender, because it cancels the machine, and the value otherwise.
pub fn judged_values(metric: Metric, points: &[&Point]) -> Vec<f64> {
    let first = points.first().and_then(|point| point.against.as_deref());
    let controlled = |point: &&Point| {
        point.against.as_deref() == first && point.control.is_some_and(|ratio| ratio > 0.0)
    };
    let by_control = first.is_some() && points.iter().all(controlled);
    let number = |point: &&Point| match (metric, by_control) {
        (Metric::Time, true) => f64::from(point.control.unwrap_or(1.0)),
        (Metric::Time, false) => point.value.unwrap_or(1.0),
        // Counts may be zero, and only positive numbers have a relative change.
        _ => 1.0 + point.value.unwrap_or(0.0),
    };
    points.iter().map(number).collect()
}

/// The points of a series that are judged.
pub fn judged_points(points: &[Point]) -> Vec<&Point> {
    let unfit = flag::PLANTED | flag::MEMORY_NOT_ACHIEVED;
    let fit: Vec<&Point> =
        points.iter().filter(|point| point.value.is_some() && point.flags & unfit == 0).collect();
    fit[fit.len().saturating_sub(change::WINDOW)..].to_vec()
}

fn judge(
    detector: &Detector,
    axis: &Axis,
    key: &SeriesKey,
    points: &[Point],
    series: usize,
) -> Option<Judged> {
    let points = judged_points(points);
    if points.len() < change::LENGTHS[0] {
        return None;
    }
    let values = judged_values(key.metric, &points);
    let judgement = detector.judge(&values)?;
    if judgement.changes.is_empty() {
        return Some(Judged { p_value: judgement.p_value, moved: Vec::new() });
    }
    let kept = Kept::new(axis, &points);
    let changes = &judgement.changes;
    let moved = (0..changes.len())
        .filter_map(|i| {
            let reverted = changes[i + 1..].iter().any(|later| takes_back(&changes[i], later));
            // The way back from something worse is no change of its own.
            let is_way_back = changes[..i].iter().any(|earlier| takes_back(earlier, &changes[i]));
            if is_way_back {
                return None;
            }
            let cause = change::explain(&changes[i], &kept.evidence());
            moved(axis, &points, &changes[i], cause, reverted, series)
        })
        .collect();
    Some(Judged { p_value: judgement.p_value, moved })
}

/// Whether a change for the better ends a change for the worse. All metrics are better if less.
fn takes_back(worse: &Change, later: &Change) -> bool {
    let (up, down) = (worse.shift.estimate, later.shift.estimate);
    up > 0.0 && down < 0.0 && (up + down).abs() <= 0.5 * up
}

/// What is known of the runs of a series, as [`Evidence`] borrows it.
struct Kept {
    code: Vec<Option<u64>>,
    environment: Vec<Option<u64>>,
    calibration: [Vec<Option<f64>>; 3],
    control: Vec<Option<f64>>,
}

impl Kept {
    fn new(axis: &Axis, points: &[&Point]) -> Kept {
        let digest = |text: &str| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..8]);
            u64::from_le_bytes(bytes)
        };
        let runs: Vec<Option<&Run>> =
            points.iter().map(|point| axis.runs.get(&point.run)).collect();
        // The class is part of the key. What of the environment is not must not change either.
        let environment = |run: &Run| {
            let on = &run.environment;
            digest(&format!("{:?} {} {}", on.governor, on.kernel, on.huge_pages))
        };
        let probe = |read: fn(&Run) -> Option<f64>| -> Vec<Option<f64>> {
            runs.iter().map(|run| read((*run)?)).collect()
        };
        let ratio = |point: &&Point| Some(point.value? / f64::from(point.control?));
        Kept {
            code: points.iter().map(|point| point.code.as_deref().map(digest)).collect(),
            environment: runs.iter().map(|run| run.map(environment)).collect(),
            calibration: [
                probe(|run| run.calibration.chain_ns),
                probe(|run| run.calibration.triad_ns),
                probe(|run| run.calibration.stream_ns),
            ],
            control: points.iter().map(ratio).collect(),
        }
    }

    fn evidence(&self) -> Evidence<'_> {
        Evidence {
            code: &self.code,
            environment: &self.environment,
            calibration: &self.calibration,
            control: &self.control,
        }
    }
}

fn moved(
    axis: &Axis,
    points: &[&Point],
    change: &Change,
    cause: Cause,
    reverted: bool,
    series: usize,
) -> Option<Moved> {
    let (low, high) = change.places;
    let (before, after) = (points.get(low.checked_sub(1)?)?, points.get(high)?);
    let (first, last) = (axis.place(&before.run)? + 1, axis.place(&after.run)?);
    // Runs of one commit on both sides: whatever changed, it is not the code.
    let cause = if first > last && cause == Cause::Code { Cause::SameCode } else { cause };
    let finite = |number: f64| number.is_finite().then_some(number);
    Some(Moved {
        candidate: Candidate {
            series,
            commits: (first.min(last), last),
            shift: change.shift.estimate,
            p_value: change.p_value,
        },
        member: Member {
            series: points[0].series,
            shift: change.shift.estimate.exp() - 1.0,
            low: finite(change.shift.low.exp() - 1.0),
            high: finite(change.shift.high.exp() - 1.0),
            p_value: change.p_value,
            cause: cause.into(),
            run: points[change.place].run.clone(),
        },
        runs: (before.run.clone(), after.run.clone()),
        reverted,
    })
}

/// The events for everything that no event reports yet.
fn events(axis: &Axis, moved: &[Moved], known: &[Alert], now: i64, actor: &str) -> Vec<Event> {
    let candidates: Vec<Candidate> = moved.iter().map(|moved| moved.candidate.clone()).collect();
    let mut result: Vec<Event> = Vec::new();
    let mut say = |alert: &str, state, members: &[&Moved], text: String, finding: &Finding| {
        let first = members[0];
        // Times order the events of an alert.
        let time = now + result.len() as i64;
        result.push(Event {
            time,
            actor: actor.to_owned(),
            alert: alert.to_owned(),
            state,
            series: members.iter().map(|moved| moved.member.series).collect(),
            run: Some(first.member.run.clone()),
            commit: axis.commit(&first.member.run),
            text,
            detail: serde_json::to_value(finding).unwrap_or_default(),
        });
    };
    for incident in change::incidents(&candidates) {
        let members: Vec<&Moved> = incident.members.iter().map(|&i| &moved[i]).collect();
        let finding = finding(axis, &members);
        let same = |alert: &&Alert| {
            alert.finding.is_same_time(&finding)
                && members.iter().any(|moved| alert.series.contains(&moved.member.series))
                || alert.finding.commits == finding.commits
        };
        let alert = known.iter().find(same);
        let there: BTreeSet<_> = alert.map(|alert| alert.series.clone()).unwrap_or_default();
        let new: Vec<&Moved> =
            members.iter().filter(|moved| !there.contains(&moved.member.series)).copied().collect();
        let name = alert.map_or_else(|| finding.alert_id(), |alert| alert.id.clone());
        let state = alert.map(|alert| alert.state);
        if !new.is_empty() {
            let finding = finding_of(&finding, &new);
            say(&name, EventState::Detected, &new, finding.sentence(), &finding);
        }
        let explained = members.iter().all(|moved| moved.member.cause.is_environment());
        let open = matches!(state, None | Some(EventState::Detected | EventState::Confirmed));
        if explained && !new.is_empty() && open {
            let text = finding.members[0].cause.sentence().to_owned();
            say(&name, EventState::Explained, &members, text, &finding);
        } else if open && members.iter().all(|moved| moved.reverted) {
            let text = "A later change took it back.".to_owned();
            say(&name, EventState::Fixed, &members, text, &finding);
        }
    }
    result
}

fn finding_of(finding: &Finding, members: &[&Moved]) -> Finding {
    let members = members.iter().map(|moved| moved.member.clone()).collect();
    Finding { members, ..finding.clone() }
}

/// What an incident is: the commits that are possible for all of its members.
fn finding(axis: &Axis, members: &[&Moved]) -> Finding {
    // The latest run before, and the earliest run after.
    let before = members.iter().map(|moved| &moved.runs.0).max_by_key(|run| axis.place(run));
    let after = members.iter().map(|moved| &moved.runs.1).min_by_key(|run| axis.place(run));
    let (before, after) = (before.cloned().unwrap_or_default(), after.cloned().unwrap_or_default());
    let counts =
        members.iter().fold(BTreeMap::new(), |mut counts: BTreeMap<bool, usize>, moved| {
            *counts.entry(moved.candidate.shift > 0.0).or_default() += 1;
            counts
        });
    Finding {
        commits: (axis.commit(&before), axis.commit(&after)),
        times: (axis.time(&before), axis.time(&after)),
        runs: (before, after),
        worse: counts.get(&true).copied().unwrap_or(0),
        better: counts.get(&false).copied().unwrap_or(0),
        members: members.iter().map(|moved| moved.member.clone()).collect(),
    }
}

#[cfg(test)]
pub(crate) mod tests;
