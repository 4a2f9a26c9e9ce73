//! What pages show, read from a snapshot once and kept until the history changes.

use super::drawing::Drawn;
use crate::alerts::{Alert, alerts_of};
use crate::detect::{judged_points, judged_values};
use crate::quarantine::{self, Waiting};
use crate::{HistoryError, Place, Point, Run, Series, SeriesId, SeriesKey, Snapshot};
use proofmark_stats::change::{Change, Detector, Settings};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What a view was made from. Another one means that something was appended since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    version: Option<u64>,
    inbox: Vec<String>,
    events: usize,
    quarantined: usize,
}

impl Stamp {
    /// The stamp of a history as it is now. It costs listings and the log, and reads no run.
    pub(crate) async fn of(place: &Place) -> Result<Stamp, HistoryError> {
        Stamp::with(&Snapshot::load(place).await?).await
    }

    async fn with(snapshot: &Snapshot) -> Result<Stamp, HistoryError> {
        let place = snapshot.place();
        Ok(Stamp {
            version: snapshot.version().0,
            inbox: snapshot.inbox.clone(),
            events: place.list("events").await?.len(),
            quarantined: place.list("quarantine").await?.len(),
        })
    }
}

/// A snapshot with what every page needs of it.
pub(crate) struct View {
    pub(crate) snapshot: Snapshot,
    pub(crate) stamp: Stamp,
    /// Those with an open alert first, then in order of their keys.
    pub(crate) series: Vec<Series>,
    /// What the search looks at, for each series.
    texts: Vec<String>,
    places: HashMap<SeriesId, usize>,
    /// Places of the same measurement on all machines.
    same: HashMap<SeriesKey, Vec<usize>>,
    pub(crate) runs: HashMap<String, Run>,
    pub(crate) alerts: Vec<Alert>,
    /// Runs that are kept apart.
    pub(crate) quarantined: Vec<Waiting>,
    /// The machines, by their class.
    pub(crate) machines: BTreeMap<String, Machine>,
    detector: Option<Detector>,
}

/// The key of a measurement on any machine.
fn anywhere(key: &SeriesKey) -> SeriesKey {
    SeriesKey { environment: String::new(), ..key.clone() }
}

/// A class of environments.
#[derive(Default)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) cpus: u32,
    pub(crate) memory_bytes: u64,
    pub(crate) runs: usize,
    pub(crate) series: usize,
    /// Start of the latest run, in microseconds since 1970.
    pub(crate) latest: i64,
}

/// A series with its points.
pub(super) struct Shown {
    pub(super) points: Vec<Drawn>,
    pub(super) kept: Vec<Point>,
    pub(super) changes: Vec<Change>,
    /// Names of the environments, in the order of their numbers.
    pub(super) environments: Vec<String>,
    /// Whether the changes are those of the ratio to the control.
    pub(super) by_control: bool,
}

impl View {
    pub(crate) async fn load(place: &Place) -> Result<View, HistoryError> {
        let snapshot = Snapshot::load(place).await?;
        let stamp = Stamp::with(&snapshot).await?;
        let quarantined = quarantine::waiting(place).await?;
        let mut series = snapshot.series().await?;
        series.sort_by(|a, b| a.key.cmp(&b.key));
        let runs: HashMap<String, Run> =
            snapshot.runs().await?.into_iter().map(|run| (run.id.clone(), run)).collect();
        let mut machines: BTreeMap<String, Machine> = BTreeMap::new();
        for run in runs.values() {
            let on = &run.environment;
            let machine = machines.entry(on.class.clone()).or_default();
            machine.cpu.clone_from(&on.cpu);
            (machine.cpus, machine.memory_bytes) = (on.cpus, on.memory_bytes);
            machine.runs += 1;
            machine.latest = machine.latest.max(run.started);
        }
        for series in &series {
            machines.entry(series.key.environment.clone()).or_default().series += 1;
        }
        let alerts = alerts_of(&snapshot.events().await?);
        let moved: BTreeSet<SeriesId> =
            alerts.iter().filter(|alert| alert.is_open()).flat_map(|a| a.series.clone()).collect();
        series.sort_by_key(|series| !moved.contains(&series.id));
        let places = series.iter().enumerate().map(|(i, series)| (series.id, i)).collect();
        let mut same: HashMap<SeriesKey, Vec<usize>> = HashMap::new();
        for (place, series) in series.iter().enumerate() {
            same.entry(anywhere(&series.key)).or_default().push(place);
        }
        let text = |series: &Series| {
            let class = &series.key.environment;
            let cpu = machines.get(class).map_or("", |machine| machine.cpu.as_str());
            format!("{} {cpu} {}", series.key, series.id).to_lowercase()
        };
        let texts = series.iter().map(text).collect();
        let detector = Detector::new(Settings::default());
        Ok(View {
            snapshot,
            stamp,
            series,
            texts,
            places,
            same,
            runs,
            alerts,
            quarantined,
            machines,
            detector,
        })
    }

    /// The series that have every word of the text.
    pub(crate) fn search(&self, text: &str) -> Vec<&Series> {
        let text = text.to_lowercase();
        let words: Vec<&str> = text.split_whitespace().collect();
        let fits = |of: &str| words.iter().all(|word| of.contains(word));
        let all = self.series.iter().zip(&self.texts);
        all.filter(|(_, of)| fits(of)).map(|(series, _)| series).collect()
    }

    /// Measurements that two machines have both, in the order of the first.
    pub(crate) fn beside(&self, one: &str, other: &str) -> Vec<(&Series, &Series)> {
        let mut pairs = Vec::new();
        for series in self.series.iter().filter(|series| series.key.environment == one) {
            let same = self.siblings(series).into_iter();
            pairs.extend(same.filter(|of| of.key.environment == other).map(|of| (series, of)));
        }
        pairs
    }

    pub(crate) fn find(&self, id: SeriesId) -> Option<&Series> {
        Some(&self.series[*self.places.get(&id)?])
    }

    /// The same measurement on other machines.
    pub(crate) fn siblings(&self, of: &Series) -> Vec<&Series> {
        let same = self.same.get(&anywhere(&of.key)).into_iter().flatten();
        same.map(|&place| &self.series[place]).filter(|other| other.id != of.id).collect()
    }

    /// Alerts that name a series.
    pub(crate) fn alerts_on(&self, id: SeriesId) -> impl Iterator<Item = &Alert> {
        self.alerts.iter().filter(move |alert| alert.series.contains(&id))
    }

    pub(super) async fn shown(&self, series: &Series) -> Result<Shown, HistoryError> {
        let all = self.snapshot.points(series.id).await?;
        let kept: Vec<Point> = judged_points(&all).into_iter().cloned().collect();
        let borrowed: Vec<&Point> = kept.iter().collect();
        let values = judged_values(series.key.metric, &borrowed);
        let judgement = self.detector.as_ref().and_then(|detector| detector.judge(&values));
        let changes = judgement.map(|judgement| judgement.changes).unwrap_or_default();
        let by_control = kept.first().is_some_and(|point| {
            point.control.is_some_and(|ratio| values.first() == Some(&f64::from(ratio)))
        });
        let mut environments: Vec<String> = Vec::new();
        let mut code: Option<&str> = None;
        let points = kept
            .iter()
            .map(|point| {
                let run = self.runs.get(&point.run);
                let environment =
                    run.map_or_else(String::new, |run| run.environment.kernel.clone());
                let number = environments.iter().position(|name| *name == environment);
                let number = number.unwrap_or_else(|| {
                    environments.push(environment);
                    environments.len() - 1
                });
                let is_new_code = code.is_some() && code != point.code.as_deref();
                code = point.code.as_deref();
                Drawn {
                    value: point.value.unwrap_or_default(),
                    low: point.low.map(f64::from),
                    high: point.high.map(f64::from),
                    name: self.name_of(&point.run),
                    environment: number,
                    is_new_code,
                }
            })
            .collect();
        Ok(Shown { points, kept, changes, environments, by_control })
    }

    /// The commit of a run in short, or the run itself.
    pub(crate) fn name_of(&self, run: &str) -> String {
        let commit = self.runs.get(run).and_then(|run| run.commit.as_deref());
        let name = commit.unwrap_or(run);
        name.chars().take(10).collect()
    }
}
