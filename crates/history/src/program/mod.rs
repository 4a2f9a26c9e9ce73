//! The commands of `proofmark-history`.

mod alerts;
mod commit;
mod query;
mod send;
mod serve;
mod site;

use clap::{Args, Parser, Subcommand};
use proofmark_history::compact::{self, Options};
use proofmark_history::output::{self, Format, print, rendered, say};
use proofmark_history::read::Series;
use proofmark_history::{HistoryError, Place, SeriesId, Snapshot, exit, fsck, tables_of};
use proofmark_store::Store;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Keeps the history of runs in files of your own, and answers questions about it.
#[derive(Parser)]
#[command(name = "proofmark history", bin_name = "proofmark history", version)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
A place is a folder, or `s3://bucket/prefix` with the variables AWS_ACCESS_KEY_ID, AWS_REGION and so
on. The variable PROOFMARK_HISTORY names the place where `--from` or `--to` is left out.

Exit codes: 0 pass, 2 usage, 4 the history is damaged, 6 environment.

First steps:
  proofmark history init results
  proofmark history append latest --to results --commit HEAD
  proofmark history list --from results
  proofmark history compact results";

#[derive(Subcommand)]
enum Command {
    /// Make a place a history, if it refuses to create an object twice
    Init(Init),
    /// Append a run, by one request
    Append(Append),
    /// Move runs from the inbox into segments that are sorted by series
    Compact(Compact),
    /// Check every object, the log and every row
    Fsck(Fsck),
    /// List series
    List(List),
    /// Show the points of a series
    Show(Show),
    /// Ask a question in SQL; needs the program proofmark-history-query
    #[command(disable_help_flag = true)]
    Query(query::Query),
    #[command(flatten)]
    Alerts(alerts::Command),
    /// Write pages about the history as files, for a browser
    Site(site::Site),
    #[command(flatten)]
    Serve(serve::Command),
}

/// How results are written.
#[derive(Args)]
struct Shown {
    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// The place that is read.
#[derive(Args)]
struct Source {
    /// The history: a folder or `s3://bucket/prefix`
    #[arg(long, value_name = "PLACE", env = "PROOFMARK_HISTORY", hide_env = true)]
    from: String,
}

impl Source {
    /// A snapshot of it. Damaged objects are named, and passed over.
    async fn snapshot(&self) -> Result<Snapshot, HistoryError> {
        let snapshot = Snapshot::load(&Place::parse(&self.from)?).await?;
        for damage in snapshot.damaged().await? {
            say(&format!("warning: {damage}"));
        }
        Ok(snapshot)
    }
}

#[derive(Args)]
struct Init {
    /// A folder or `s3://bucket/prefix`
    place: String,
}

#[derive(Args)]
struct Append {
    /// Runs: `latest`, numbers, days and ops (`2026-11-17-softmax`), beginnings of ids, or paths
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// The history: a folder, `s3://bucket/prefix`, or the address of `history serve`
    #[arg(long, value_name = "PLACE", env = "PROOFMARK_HISTORY", hide_env = true)]
    to: String,
    /// Key or token for a server; better given as the variable PROOFMARK_KEY
    #[arg(long, env = "PROOFMARK_KEY", hide_env_values = true)]
    key: Option<String>,
    #[command(flatten)]
    commit: commit::Commit,
    /// Folder that runs are kept in
    #[arg(long, env = "PROOFMARK_STORE", default_value = ".proofmark", hide_env = true)]
    store: PathBuf,
}

#[derive(Args)]
struct Compact {
    /// A folder or `s3://bucket/prefix`
    place: String,
    /// Merge all segments, however large they are
    #[arg(long)]
    all: bool,
    /// Leave the inbox alone while it has fewer objects than this
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    least: usize,
    /// Delete objects that are not needed any more, too
    #[arg(long)]
    collect: bool,
    /// With `--collect`: days for which such objects are kept
    #[arg(long, value_name = "COUNT", default_value_t = 7)]
    days: u64,
}

#[derive(Args)]
struct Fsck {
    /// A folder or `s3://bucket/prefix`
    place: String,
    /// Write the result as one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    from: Source,
    /// Only series of this op
    #[arg(long)]
    op: Option<String>,
    /// Only series whose contender contains this text
    #[arg(long)]
    contender: Option<String>,
    /// Only series of this metric: time, error, peak_bytes, allocations
    #[arg(long)]
    metric: Option<String>,
    #[command(flatten)]
    shown: Shown,
}

#[derive(Args)]
struct Show {
    /// The id of a series, or the beginning of just one
    series: String,
    #[command(flatten)]
    from: Source,
    #[command(flatten)]
    shown: Shown,
}

impl Arguments {
    /// Does what was asked, and returns the exit code.
    pub(crate) async fn run(self) -> u8 {
        let result = match self.command {
            Command::Init(command) => command.run().await,
            Command::Append(command) => command.run().await,
            Command::Compact(command) => command.run().await,
            Command::Fsck(command) => command.run().await,
            Command::List(command) => command.run().await,
            Command::Show(command) => command.run().await,
            Command::Query(command) => command.run(),
            Command::Alerts(command) => command.run().await,
            Command::Site(command) => command.run().await,
            Command::Serve(command) => command.run().await,
        };
        result.unwrap_or_else(|error| {
            say(&format!("error: {error}"));
            error.exit_code()
        })
    }
}

/// Says why the program cannot start.
pub(crate) fn say_failure(message: &str) {
    say(&format!("error: {message}"));
}

#[expect(clippy::disallowed_methods, reason = "the one clock of this program")]
fn now() -> SystemTime {
    SystemTime::now()
}

impl Init {
    async fn run(self) -> Result<u8, HistoryError> {
        let place = Place::parse(&self.place)?;
        let probed = proofmark_history::init(&place).await?;
        say(&format!(
            "{place} is a history. {} writers raced for each of {} names, and one won each.",
            probed.writers, probed.names
        ));
        Ok(exit::PASS)
    }
}

impl Append {
    async fn run(self) -> Result<u8, HistoryError> {
        if self.to.starts_with("http://") || self.to.starts_with("https://") {
            return self.send().await;
        }
        let place = Place::parse(&self.to)?;
        // A folder with a typing error would be made; a bucket may be write-only.
        if place.as_folder().is_some() {
            place.check().await?;
        }
        let store = Store::open(&self.store)?;
        let commit = self.commit.resolve()?;
        for run in &self.runs {
            let stored = store.load(run)?;
            let object = proofmark_history::from_store(&stored, commit.clone())?;
            let appended = proofmark_history::append(&place, &object).await?;
            let (points, bytes) = (appended.points, appended.bytes);
            let word = if appended.was_there { "was there already" } else { "is appended" };
            say(&format!("run {} {word}: {points} points, {bytes} bytes", stored.id));
            print(&appended.name)?;
        }
        Ok(exit::PASS)
    }
}

impl Append {
    /// Uploads the runs to a server.
    async fn send(self) -> Result<u8, HistoryError> {
        let key = self.key.as_deref().ok_or_else(|| {
            HistoryError::Usage("a server wants a key: set the variable PROOFMARK_KEY".to_owned())
        })?;
        let store = Store::open(&self.store)?;
        let commit = self.commit.resolve()?;
        for run in &self.runs {
            let object = proofmark_history::from_store(&store.load(run)?, commit.clone())?;
            send::send(&self.to, key, &object).await?;
        }
        Ok(exit::PASS)
    }
}

impl Compact {
    async fn run(self) -> Result<u8, HistoryError> {
        let place = Place::parse(&self.place)?;
        let options = Options { all: self.all, least: self.least, ..Options::at(now()) };
        let done = compact::compact(&place, options).await?;
        for damage in &done.damaged {
            say(&format!("warning: {damage}"));
        }
        match done.version {
            None => say("Nothing is to be compacted."),
            Some(version) => say(&format!(
                "Entry {version}: {} runs and {} groups are {} rows in {} segments, {} bytes.",
                done.consumed, done.merged_groups, done.rows, done.segments, done.bytes
            )),
        }
        if self.collect {
            let age = Duration::from_secs(86_400 * self.days);
            let collected = compact::collect(&place, now(), age).await?;
            say(&format!("{} objects are deleted, {} bytes.", collected.objects, collected.bytes));
        }
        Ok(if done.damaged.is_empty() { exit::PASS } else { exit::INTEGRITY })
    }
}

impl Fsck {
    async fn run(self) -> Result<u8, HistoryError> {
        let place = Place::parse(&self.place)?;
        let checked = fsck::fsck(&place).await?;
        if self.json {
            let json = serde_json::to_string_pretty(&checked)
                .map_err(|error| HistoryError::Usage(error.to_string()))?;
            print(&json)?;
        } else {
            for found in &checked.found {
                let word = match found.grade {
                    fsck::Grade::Note => "note",
                    fsck::Grade::Damage => "damage",
                };
                print(&output::plain(&format!("{word}: {}: {}", found.object, found.what)))?;
            }
            say(&format!(
                "{} runs, {} points: {} objects in the inbox, {} segments, {} events; {} bytes \
                 hashed.",
                checked.runs,
                checked.points,
                checked.inbox,
                checked.segments,
                checked.events,
                checked.bytes
            ));
            say(if checked.is_sound() { "Nothing is damaged." } else { "The history is damaged." });
        }
        Ok(if checked.is_sound() { exit::PASS } else { exit::INTEGRITY })
    }
}

impl List {
    async fn run(self) -> Result<u8, HistoryError> {
        let snapshot = self.from.snapshot().await?;
        let mut series = snapshot.series().await?;
        let is_asked =
            |asked: &Option<String>, found: &str| asked.as_ref().is_none_or(|asked| asked == found);
        series.retain(|series: &Series| {
            let contender = self.contender.as_deref().unwrap_or_default();
            is_asked(&self.op, &series.key.op)
                && is_asked(&self.metric, series.key.metric.name())
                && series.key.contender.contains(contender)
        });
        series.sort_by(|a, b| a.key.cmp(&b.key));
        print(&rendered(self.shown.format, &[tables_of::series(&series)?])?)?;
        Ok(exit::PASS)
    }
}

impl Show {
    async fn run(self) -> Result<u8, HistoryError> {
        let snapshot = self.from.snapshot().await?;
        let series = snapshot.series().await?;
        let meant: Vec<&Series> = series
            .iter()
            .filter(|series| series.id.to_string().starts_with(&self.series))
            .collect();
        let series = only(&self.series, &meant)?;
        say(&series.key.to_string());
        let id: SeriesId = series.id;
        let points = snapshot.points(id).await?;
        let runs = snapshot.runs().await?;
        print(&rendered(self.shown.format, &[tables_of::shown(&points, &runs)?])?)?;
        Ok(exit::PASS)
    }
}

/// The one series that is meant.
fn only<'a>(text: &str, meant: &[&'a Series]) -> Result<&'a Series, HistoryError> {
    match meant {
        [series] => Ok(series),
        [] => Err(HistoryError::Usage(format!(
            "no series begins with `{text}`: `proofmark history list` shows all"
        ))),
        several => Err(HistoryError::Usage(format!(
            "{} series begin with `{text}`: give more digits",
            several.len()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }
}
