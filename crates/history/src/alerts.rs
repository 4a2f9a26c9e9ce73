//! Alerts: what events say about a change, put together.

use crate::{Event, EventState, SeriesId};
use proofmark_stats::change::Cause;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What a change was found to come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Nothing but the code explains it.
    Code,
    /// The code is the same on both sides.
    SameCode,
    /// The environment changed at the same place.
    Environment,
    /// The machine's rulers moved at the same place.
    Calibration,
    /// The contender that it is compared with moved at the same place.
    Control,
}

impl Origin {
    /// Whether it is not the code.
    pub fn is_environment(self) -> bool {
        self != Origin::Code
    }

    /// Why it is not the code.
    pub fn sentence(self) -> &'static str {
        match self {
            Origin::Code => "Nothing but the code explains it.",
            Origin::SameCode => "The code is the same on both sides, so the machine changed.",
            Origin::Environment => "The system of the machine changed at the same place.",
            Origin::Calibration => "The machine's own rulers moved at the same place.",
            Origin::Control => "The contender that it is compared with moved at the same place.",
        }
    }
}

impl From<Cause> for Origin {
    fn from(cause: Cause) -> Origin {
        match cause {
            Cause::Code => Origin::Code,
            Cause::SameCode => Origin::SameCode,
            Cause::EnvironmentClass => Origin::Environment,
            Cause::Calibration => Origin::Calibration,
            Cause::Control => Origin::Control,
        }
    }
}

/// A series that moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// The series.
    pub series: SeriesId,
    /// after / before − 1.
    pub shift: f64,
    /// Lower bound of the shift at 95 %.
    pub low: Option<f64>,
    /// Upper bound of the shift at 95 %.
    pub high: Option<f64>,
    /// The probability of so strong a change in a series that does not change.
    pub p_value: f64,
    /// What explains it.
    pub cause: Origin,
    /// The run at which it shows first.
    pub run: String,
}

/// A change of one or many series: the detail of an event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The last commit before the change and the first after it, if runs know them.
    pub commits: (Option<String>, Option<String>),
    /// The times of these commits, in microseconds since 1970.
    pub times: (i64, i64),
    /// Runs of these commits.
    pub runs: (String, String),
    /// Series whose value rose.
    pub worse: usize,
    /// Series whose value fell.
    pub better: usize,
    /// The series, the surest first.
    pub members: Vec<Member>,
}

impl Finding {
    /// A name that does not depend on when it was found.
    pub(crate) fn alert_id(&self) -> String {
        let series = self.members.iter().map(|member| member.series).min();
        let text = format!("{:?} {:?} {:?}", self.commits, self.runs, series);
        format!("alert-{}", &blake3::hash(text.as_bytes()).to_hex()[..12])
    }

    /// Whether one commit could have made both.
    pub(crate) fn is_same_time(&self, other: &Finding) -> bool {
        self.times.0 < other.times.1 && other.times.0 < self.times.1
    }

    /// A sentence for people.
    pub(crate) fn sentence(&self) -> String {
        let Some(first) = self.members.first() else { return String::new() };
        let count = self.members.len();
        let series = if count == 1 { "1 series".to_owned() } else { format!("{count} series") };
        let short = |commit: &Option<String>| {
            commit.as_deref().map_or("?", |text| text.get(..10).unwrap_or(text)).to_owned()
        };
        format!(
            "{series} moved between {} and {}; the surest by {:+.2} %.",
            short(&self.commits.0),
            short(&self.commits.1),
            100.0 * first.shift
        )
    }
}

/// What is known of one change.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    /// Its name.
    pub id: String,
    /// The state of its latest event that has one.
    pub state: EventState,
    /// Every series that an event names.
    pub series: BTreeSet<SeriesId>,
    /// What was found first, with the members that were added later.
    pub finding: Finding,
    /// All that was said, the oldest first.
    pub events: Vec<Event>,
}

impl Alert {
    /// When it was found.
    pub fn detected(&self) -> i64 {
        self.events.first().map_or(0, |event| event.time)
    }

    /// The surest member.
    pub fn surest(&self) -> Option<&Member> {
        self.finding.members.iter().min_by(|a, b| a.p_value.total_cmp(&b.p_value))
    }

    /// Whether somebody should look at it.
    pub fn is_open(&self) -> bool {
        matches!(self.state, EventState::Detected | EventState::Confirmed)
    }
}

/// The alerts that events tell of, the latest first.
pub fn alerts_of(events: &[Event]) -> Vec<Alert> {
    let mut by_name: BTreeMap<&str, Alert> = BTreeMap::new();
    for event in events {
        let alert = by_name.entry(&event.alert).or_insert_with(|| Alert {
            id: event.alert.clone(),
            state: event.state,
            series: BTreeSet::new(),
            finding: Finding::default(),
            events: Vec::new(),
        });
        // A new member of an alert that was dealt with does not open it again.
        let is_extension = event.state == EventState::Detected && !alert.events.is_empty();
        if event.state != EventState::Noted && !is_extension {
            alert.state = event.state;
        }
        alert.series.extend(&event.series);
        if event.state == EventState::Detected {
            // A detail of another program is not a finding; the event is shown all the same.
            let found: Finding = serde_json::from_value(event.detail.clone()).unwrap_or_default();
            if alert.events.is_empty() {
                alert.finding = found;
            } else {
                alert.finding.worse = alert.finding.worse.max(found.worse);
                alert.finding.better = alert.finding.better.max(found.better);
                alert.finding.members.extend(found.members);
            }
        }
        alert.events.push(event.clone());
    }
    let mut alerts: Vec<Alert> = by_name.into_values().collect();
    alerts.sort_by_key(|alert| std::cmp::Reverse((alert.finding.times.1, alert.detected())));
    alerts
}
