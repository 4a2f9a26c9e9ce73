//! What an exporter is given, and what it makes of it.

use proofmark_analyze::Samples;
use proofmark_schema::machine::MachineFacts;
use proofmark_schema::quantity::Interval;
use proofmark_schema::race::Verdict;
use proofmark_schema::record::{Performance, Record};
use proofmark_schema::{Cache, Pages};

/// One contender on one case.
#[derive(Clone, Debug)]
pub struct ExportRow<'a> {
    /// Its record.
    pub record: &'a Record,
    /// The slices behind its time; empty where it has none.
    pub samples: Samples,
    /// Which side of a comparison it was, as it was asked for.
    pub arm: Option<String>,
    /// What its comparison decided, where it was one that decides; SLOWER is a regression then.
    pub ruling: Option<Verdict>,
}

/// A run to be written in another format.
#[derive(Clone, Debug)]
pub struct Exported<'a> {
    /// The run's id.
    pub run: &'a str,
    /// When it was started, in seconds since 1970, where the id tells.
    pub started: Option<i64>,
    /// Seed of its inputs and orders.
    pub seed: u64,
    /// Version of the program that exports.
    pub version: &'a str,
    /// Where it ran.
    pub machine: &'a MachineFacts,
    /// What it recorded, in the order of its plan.
    pub rows: Vec<ExportRow<'a>>,
}

/// What the user may choose about a format.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// The baseline's name in criterion's folders.
    pub baseline: String,
    /// Version of the Bencher metric format: 0 or 1.
    pub bmf: u8,
}

/// One file of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportFile {
    /// Its path below the folder; empty where the format is a single file.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A format.
#[derive(Clone, Copy, Debug)]
pub struct Exporter {
    /// Its name on the command line.
    pub name: &'static str,
    /// What reads it.
    pub summary: &'static str,
    /// Whether it is a folder of files.
    pub is_folder: bool,
    /// Whether it is text, which may go to a terminal.
    pub is_text: bool,
    /// Whether refused contenders have a place in it.
    pub has_failures: bool,
    /// The files.
    pub export: fn(&Exported<'_>, &ExportOptions) -> Vec<ExportFile>,
}

/// A format that is one text file.
pub(super) const fn text(
    name: &'static str,
    summary: &'static str,
    export: fn(&Exported<'_>, &ExportOptions) -> Vec<ExportFile>,
) -> Exporter {
    Exporter { name, summary, is_folder: false, is_text: true, has_failures: false, export }
}

/// The only file of a format.
pub(super) fn single(bytes: impl Into<Vec<u8>>) -> Vec<ExportFile> {
    vec![ExportFile { path: String::new(), bytes: bytes.into() }]
}

/// JSON as people can read it too.
pub(super) fn json_bytes(value: &serde_json::Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}

impl<'a> Exported<'a> {
    /// The rows that were proven and measured; a time that is no number is none.
    pub(crate) fn measured(&self) -> impl Iterator<Item = (&ExportRow<'a>, &Performance)> {
        let is_time = |wall: &Interval| {
            [wall.estimate, wall.low, wall.high].iter().all(|ns| ns.is_finite() && *ns > 0.0)
        };
        self.rows.iter().filter_map(move |row| {
            let performance = row.record.judged.performance()?;
            is_time(&performance.wall_ns).then_some((row, performance))
        })
    }

    /// Rows without a time: refused, or not measured.
    pub fn left_out(&self) -> usize {
        self.rows.len() - self.measured().count()
    }

    /// Start of the run as a time stamp, where the id tells.
    pub(crate) fn date(&self) -> Option<String> {
        Some(jiff::Timestamp::from_second(self.started?).ok()?.to_string())
    }
}

impl ExportRow<'_> {
    /// `rms_norm:f32[b=1,s=8,d=64] native/simd@avx512 threads=1`: one name for one series, in
    /// every run alike.
    pub(crate) fn name(&self) -> String {
        let (case, states) = (&self.record.case, self.states());
        let states: Vec<String> =
            states.into_iter().map(|(key, value)| format!(" {key}={value}")).collect();
        format!("{case} {}{}", self.record.contender, states.concat())
    }

    /// What a series is besides its case and contender; states of memory only where they are not
    /// the usual ones.
    pub(crate) fn states(&self) -> Vec<(&'static str, String)> {
        let mut states = vec![("threads", self.record.threads.to_string())];
        if self.record.memory.cache != Cache::Hot {
            states.push(("cache", self.record.memory.cache.to_string()));
        }
        if self.record.memory.pages != Pages::Small {
            states.push(("pages", self.record.memory.pages.to_string()));
        }
        states.extend(self.arm.iter().map(|arm| ("arm", arm.clone())));
        states
    }
}
