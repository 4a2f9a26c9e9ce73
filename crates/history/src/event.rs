//! Events: what was said about series, and never changed afterwards.

use crate::{HistoryError, Place, SeriesId, object};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// What an event says. The state of an alert is the state of its latest event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventState {
    /// A change was found.
    Detected,
    /// Racing both revisions again showed it too.
    Confirmed,
    /// It is known where it comes from, and it may stay.
    Explained,
    /// A later change took it back.
    Fixed,
    /// It is not a change, or not one that matters.
    Dismissed,
    /// A remark, which changes no state.
    Noted,
}

impl EventState {
    /// The word in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            EventState::Detected => "detected",
            EventState::Confirmed => "confirmed",
            EventState::Explained => "explained",
            EventState::Fixed => "fixed",
            EventState::Dismissed => "dismissed",
            EventState::Noted => "noted",
        }
    }
}

/// Something that was said about series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When it was said, in microseconds since 1970.
    pub time: i64,
    /// Which program or person said it.
    pub actor: String,
    /// The alert that it belongs to; several events have the same.
    pub alert: String,
    /// What it says.
    pub state: EventState,
    /// The series that it is about; an alert may be about many.
    pub series: Vec<SeriesId>,
    /// The run at which the change shows first, if it is about a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The commit of that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// A sentence for people.
    pub text: String,
    /// What else the writer wants to keep, for programs.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub detail: serde_json::Value,
}

/// Appends an event, durably, by one request. The same event again changes nothing.
///
/// # Errors
/// If it cannot be written.
pub async fn append_event(place: &Place, event: &Event) -> Result<String, HistoryError> {
    let json = serde_json::to_vec(event)
        .map_err(|error| HistoryError::Usage(format!("the event has no JSON: {error}")))?;
    let name = format!("events/{:016x}-{}.json", event.time.max(0), object::hash(&json));
    place.put_content(&name, Bytes::from(json)).await?;
    Ok(name)
}
