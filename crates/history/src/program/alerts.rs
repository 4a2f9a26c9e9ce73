//! The commands about changes: `detect`, `alerts`, `dismiss`, `accept`, `confirm`.

use super::{exit, now};
use clap::{Args, Subcommand};
use proofmark_history::alerts::{Alert, alerts_of};
use proofmark_history::detect::{Options, detect};
use proofmark_history::output::{plain, print, say};
use proofmark_history::read::Shard;
use proofmark_history::{Event, EventState, HistoryError, Place, Series, Snapshot, append_event};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Judge every series and raise an alert for each change
    Detect(Detect),
    /// List alerts
    Alerts(Alerts),
    /// Say that an alert is no change, or none that matters
    Dismiss(Said),
    /// Say that a change is known and may stay
    Accept(Said),
    /// Race the revisions before and after a change again
    Confirm(Confirm),
}

#[derive(Args)]
pub(crate) struct Detect {
    /// A folder or `s3://bucket/prefix`
    place: String,
    /// Judge a part of all series: `2/8` is the second of eight
    #[arg(long, value_name = "K/N", value_parser = shard)]
    shard: Option<Shard>,
    /// Greatest share of false alerts among all, in per cent
    #[arg(long, value_name = "PER CENT", default_value_t = 5.0)]
    rate: f64,
    /// Changes below this are not reported, in per cent
    #[arg(long, value_name = "PER CENT", default_value_t = 0.5)]
    least: f64,
    /// Show what would be said, and append nothing
    #[arg(long)]
    dry_run: bool,
    /// Which program or person says it
    #[arg(long, default_value = "detect")]
    actor: String,
}

#[derive(Args)]
pub(crate) struct Alerts {
    /// A folder or `s3://bucket/prefix`
    place: String,
    /// Those that were dealt with, too
    #[arg(long)]
    all: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct Said {
    /// The alert, or the beginning of just one
    alert: String,
    /// The history: a folder or `s3://bucket/prefix`
    #[arg(long, value_name = "PLACE", env = "PROOFMARK_HISTORY", hide_env = true)]
    from: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    because: String,
    /// Who says it
    #[arg(long, env = "USER", default_value = "unknown", hide_env = true)]
    actor: String,
}

#[derive(Args)]
pub(crate) struct Confirm {
    /// The alert, or the beginning of just one
    alert: String,
    /// The history: a folder or `s3://bucket/prefix`
    #[arg(long, value_name = "PLACE", env = "PROOFMARK_HISTORY", hide_env = true)]
    from: String,
    /// Folder of the crate whose revisions are built
    #[arg(long, value_name = "PATH", default_value = ".")]
    repo: PathBuf,
    /// At most so many cases, the surest first
    #[arg(long, value_name = "COUNT", default_value_t = 8)]
    most: usize,
    /// The program that races
    #[arg(long, value_name = "PATH", default_value = "proofmark")]
    program: PathBuf,
    /// Show the command, and run nothing
    #[arg(long)]
    dry_run: bool,
}

fn shard(text: &str) -> Result<Shard, String> {
    let parts = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    match parts {
        Some((number, of)) if 1 <= number && number <= of => Ok(Shard { number, of }),
        _ => Err("write `2/8` for the second of eight parts".to_owned()),
    }
}

fn microseconds() -> i64 {
    let since = now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

async fn load(place: &str) -> Result<Snapshot, HistoryError> {
    Snapshot::load(&Place::parse(place)?).await
}

impl Command {
    pub(crate) async fn run(self) -> Result<u8, HistoryError> {
        match self {
            Command::Detect(command) => command.run().await,
            Command::Alerts(command) => command.run().await,
            Command::Dismiss(command) => command.run(EventState::Dismissed).await,
            Command::Accept(command) => command.run(EventState::Explained).await,
            Command::Confirm(command) => command.run().await,
        }
    }
}

impl Detect {
    async fn run(self) -> Result<u8, HistoryError> {
        let snapshot = load(&self.place).await?;
        for damage in snapshot.damaged().await? {
            say(&format!("warning: {damage}"));
        }
        let options = Options {
            shard: self.shard.unwrap_or(Shard::WHOLE),
            rate: self.rate / 100.0,
            least: self.least / 100.0,
            ..Options::default()
        };
        let detected = detect(&snapshot, &options, microseconds(), &self.actor).await?;
        for event in &detected.events {
            let text = format!("{} {}: {}\n", event.alert, event.state.name(), plain(&event.text));
            print(&text)?;
            if !self.dry_run {
                append_event(snapshot.place(), event).await?;
            }
        }
        say(&format!(
            "{} series, {} judged, {} changed, {} events {}.",
            detected.series,
            detected.judged,
            detected.changed,
            detected.events.len(),
            if self.dry_run { "found and not appended" } else { "appended" }
        ));
        Ok(exit::PASS)
    }
}

impl Alerts {
    async fn run(self) -> Result<u8, HistoryError> {
        let snapshot = load(&self.place).await?;
        let mut alerts = alerts_of(&snapshot.events().await?);
        alerts.retain(|alert| self.all || alert.is_open());
        if self.json {
            let list: Vec<serde_json::Value> = alerts.iter().map(as_json).collect();
            print(&format!("{:#}\n", serde_json::Value::from(list)))?;
            return Ok(exit::PASS);
        }
        let series = snapshot.series().await?;
        for alert in &alerts {
            print(&described(alert, &series))?;
        }
        if alerts.is_empty() {
            say("There is no open alert; `--all` shows those that were dealt with.");
        }
        Ok(exit::PASS)
    }
}

fn as_json(alert: &Alert) -> serde_json::Value {
    serde_json::json!({
        "alert": alert.id,
        "state": alert.state,
        "detected": alert.detected(),
        "finding": alert.finding,
        "events": alert.events,
    })
}

fn described(alert: &Alert, series: &[Series]) -> String {
    let said = alert.events.first().map_or("", |event| event.text.as_str());
    let mut text = format!("{} {}: {}\n", alert.id, alert.state.name(), plain(said));
    for member in alert.finding.members.iter().take(3) {
        let key = series.iter().find(|series| series.id == member.series);
        let name = key.map_or_else(|| member.series.to_string(), |series| series.key.to_string());
        let bounds = match (member.low, member.high) {
            (Some(low), Some(high)) => format!(" ({:+.2} to {:+.2} %)", 100.0 * low, 100.0 * high),
            _ => String::new(),
        };
        text += &format!("  {:+.2} %{bounds} {}\n", 100.0 * member.shift, plain(&name));
    }
    let rest = alert.finding.members.len().saturating_sub(3);
    if rest > 0 {
        text += &format!("  and {rest} more\n");
    }
    for event in alert.events.iter().skip(1) {
        text += &format!(
            "  {} by {}: {}\n",
            event.state.name(),
            plain(&event.actor),
            plain(&event.text)
        );
    }
    text
}

/// The one alert that is meant.
fn only(alerts: Vec<Alert>, text: &str) -> Result<Alert, HistoryError> {
    let mut meant: Vec<Alert> = alerts
        .into_iter()
        .filter(|alert| {
            let short = alert.id.strip_prefix("alert-").unwrap_or(&alert.id);
            alert.id.starts_with(text) || short.starts_with(text)
        })
        .collect();
    match (meant.pop(), meant.len()) {
        (Some(alert), 0) => Ok(alert),
        (None, _) => Err(HistoryError::Usage(format!(
            "no alert begins with `{text}`: `proofmark history alerts PLACE --all` shows all"
        ))),
        (_, others) => Err(HistoryError::Usage(format!(
            "{} alerts begin with `{text}`: give more digits",
            others + 1
        ))),
    }
}

fn answer(alert: &Alert, state: EventState, actor: &str, text: String) -> Event {
    let found = alert.events.first();
    Event {
        time: microseconds(),
        actor: actor.to_owned(),
        alert: alert.id.clone(),
        state,
        series: alert.series.iter().copied().collect(),
        run: found.and_then(|event| event.run.clone()),
        commit: found.and_then(|event| event.commit.clone()),
        text,
        detail: serde_json::Value::Null,
    }
}

impl Said {
    async fn run(self, state: EventState) -> Result<u8, HistoryError> {
        let snapshot = load(&self.from).await?;
        let alert = only(alerts_of(&snapshot.events().await?), &self.alert)?;
        append_event(snapshot.place(), &answer(&alert, state, &self.actor, self.because)).await?;
        say(&format!("{} is {} now.", alert.id, state.name()));
        Ok(exit::PASS)
    }
}

impl Confirm {
    async fn run(self) -> Result<u8, HistoryError> {
        let snapshot = load(&self.from).await?;
        let alert = only(alerts_of(&snapshot.events().await?), &self.alert)?;
        let series = snapshot.series().await?;
        let arguments = self.arguments(&alert, &series)?;
        let shown: Vec<String> =
            arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        say(&format!("{} {}", self.program.display(), shown.join(" ")));
        if self.dry_run {
            return Ok(exit::PASS);
        }
        let code = self.race(&arguments)?;
        let (state, text) = outcome(code).ok_or_else(|| {
            HistoryError::Usage(format!(
                "the race ended with exit code {code}, which says nothing about the change; run \
                 the command above and see why"
            ))
        })?;
        let text = format!("{text} (`compare` ended with {code})");
        append_event(snapshot.place(), &answer(&alert, state, "confirm", text.clone())).await?;
        say(&format!("{}: {text}", alert.id));
        Ok(exit::PASS)
    }

    /// The command that races both revisions on the cases that moved.
    fn arguments(&self, alert: &Alert, series: &[Series]) -> Result<Vec<OsString>, HistoryError> {
        let unknown = || {
            HistoryError::Usage(format!(
                "the runs of {} have no commits: append runs with `--commit` to confirm changes",
                alert.id
            ))
        };
        let (before, after) = &alert.finding.commits;
        let (before, after) =
            (before.clone().ok_or_else(unknown)?, after.clone().ok_or_else(unknown)?);
        let first = alert.surest().ok_or_else(unknown)?;
        let key_of = |id| series.iter().find(|series| series.id == id).map(|series| &series.key);
        let first_key = key_of(first.series).ok_or_else(unknown)?;
        // One race has one contender, so that only series of the surest one's are raced.
        let cases: BTreeSet<&str> = alert
            .finding
            .members
            .iter()
            .filter_map(|member| key_of(member.series))
            .filter(|key| key.contender == first_key.contender && key.threads == first_key.threads)
            .map(|key| key.case.as_str())
            .take(self.most)
            .collect();
        // `compare` answers whether the second arm is slower.
        let (base, other) = if first.shift > 0.0 { (before, after) } else { (after, before) };
        let arm = |revision: &str| format!("rev:{revision}/{}", first_key.contender);
        let mut words: Vec<OsString> =
            vec!["compare".into(), arm(&base).into(), arm(&other).into()];
        for case in cases {
            words.extend(["--case".into(), case.into()]);
        }
        words.extend(["--threads".into(), first_key.threads.to_string().into()]);
        words.extend(["--repo".into(), self.repo.clone().into()]);
        Ok(words)
    }

    #[expect(clippy::disallowed_methods, reason = "the race is the other program's")]
    fn race(&self, arguments: &[OsString]) -> Result<i32, HistoryError> {
        let status = std::process::Command::new(&self.program).args(arguments).status();
        let status = status.map_err(|error| {
            HistoryError::Usage(format!(
                "`{}` does not start: {error}; give its path with `--program`",
                self.program.display()
            ))
        })?;
        Ok(status.code().unwrap_or(-1))
    }
}

/// What the exit code of `compare` says about a change.
fn outcome(code: i32) -> Option<(EventState, &'static str)> {
    match code {
        1 => Some((EventState::Confirmed, "The race of both revisions shows the change.")),
        0 => Some((EventState::Dismissed, "The race of both revisions shows no change.")),
        5 => Some((EventState::Noted, "The race of both revisions decided nothing.")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_written_as_fractions() {
        assert_eq!(shard("2/8"), Ok(Shard { number: 2, of: 8 }));
        for wrong in ["", "0/4", "5/4", "1", "1/0", "a/b", "-1/4"] {
            assert!(shard(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_a_decided_race_changes_the_state() {
        assert_eq!(outcome(1).unwrap().0, EventState::Confirmed);
        assert_eq!(outcome(0).unwrap().0, EventState::Dismissed);
        assert_eq!(outcome(5).unwrap().0, EventState::Noted);
        assert!([2, 3, 4, 6, 7, 70, -1].iter().all(|&code| outcome(code).is_none()));
    }
}
