//! `proofmark export`: a run in the format of another tool.

use super::StorePath;
use crate::exit;
use crate::output::{Failure, STDOUT, env, print, say};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use proofmark_engine::{StoredRun, stored_run};
use proofmark_report::export::{
    self, EXPORTERS, ExportFile, ExportOptions, ExportRow, Exported, Exporter,
};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `export`.
#[derive(Args)]
#[command(after_help = after_help())]
pub(crate) struct Export {
    /// The run: `latest`, a number, a day and an op (`2026-11-17-softmax`), the beginning of an id,
    /// or a path
    run: String,
    /// The format
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    to: &'static Exporter,
    /// The file, or the folder of `criterion` and `gha`; `-` is stdout
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// The baseline's name in criterion's folders
    #[arg(long, value_name = "NAME", default_value = "new")]
    baseline: String,
    /// Version of the Bencher metric format: 0 or 1
    #[arg(long, value_name = "VERSION", default_value_t = 0,
          value_parser = clap::value_parser!(u8).range(0..=1))]
    bmf: u8,
    #[command(flatten)]
    store: StorePath,
}

/// Where GitHub takes a step's summary from.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

fn formats() -> impl TypedValueParser<Value = &'static Exporter> {
    let names = EXPORTERS.iter().map(|exporter| exporter.name);
    PossibleValuesParser::new(names).map(|name| export::find(&name).expect("one of the names"))
}

fn after_help() -> String {
    let line = |exporter: &Exporter| format!("  {:10} {}\n", exporter.name, exporter.summary);
    let lines: String = EXPORTERS.iter().map(line).collect();
    format!(
        "Formats:\n{lines}\nWhat is not proven has no time in any of them. \
         docs/exchange.md shows which tools read which format."
    )
}

impl Export {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let exporter = self.to;
        let run = stored_run(&self.store.open()?, &self.run)?;
        let exported = exported(&run);
        let options = ExportOptions { baseline: self.baseline.clone(), bmf: self.bmf };
        let files = (exporter.export)(&exported, &options);
        if exporter.name == "github" {
            self.step(&exported, &files)?;
        } else {
            self.write(exporter, &files)?;
        }
        if files.iter().all(|file| file.bytes.is_empty()) && !exported.rows.is_empty() {
            say(&format!("no result of the run has a place in {}", exporter.name));
        } else {
            self.tell(exporter, &run, &exported);
        }
        Ok(exit::PASS)
    }

    /// Where the files go: a file, a folder, or stdout.
    fn write(&self, exporter: &Exporter, files: &[ExportFile]) -> Result<(), Failure> {
        let Some(out) = &self.out else { return Err(no_place(exporter)) };
        let is_stdout = out.as_os_str() == STDOUT;
        if is_stdout && (exporter.is_folder || !exporter.is_text) {
            return Err(no_stdout(exporter));
        }
        for file in files {
            if is_stdout {
                print(&String::from_utf8_lossy(&file.bytes))?;
            } else {
                let path = if exporter.is_folder { out.join(&file.path) } else { out.clone() };
                put(&path, &file.bytes)?;
            }
        }
        Ok(())
    }

    /// A summary is added to what the step has written already; annotations are read from stdout.
    fn step(&self, run: &Exported<'_>, files: &[ExportFile]) -> Result<(), Failure> {
        let of_step = env(STEP_SUMMARY).filter(|path| !path.is_empty()).map(PathBuf::from);
        let is_stdout = |path: &PathBuf| path.as_os_str() == STDOUT;
        let path = self.out.clone().or(of_step).ok_or_else(|| Failure {
            message: format!("${STEP_SUMMARY} is not set, and --out says nothing else"),
            hint: Some("give `--out summary.md`, or `--out -` to look at it".to_owned()),
            code: exit::USAGE,
        })?;
        for file in files {
            match is_stdout(&path) {
                true => print(&String::from_utf8_lossy(&file.bytes))?,
                false => append(&path, &file.bytes)?,
            }
        }
        let lines = export::annotations(run);
        if lines.is_empty() { Ok(()) } else { print(&lines) }
    }

    fn tell(&self, exporter: &Exporter, run: &StoredRun, exported: &Exported<'_>) {
        if run.missing > 0 {
            say(&format!(
                "run {} is not finished: {} of its items are missing",
                run.id, run.missing
            ));
        }
        let (left_out, all) = (exported.left_out(), exported.rows.len());
        let shown = if exporter.has_failures { all } else { all - left_out };
        if let Some(out) = self.out.as_ref().filter(|out| out.as_os_str() != STDOUT) {
            say(&format!("{shown} results of run {} are in {}", run.id, out.display()));
        }
        if left_out > 0 && !exporter.has_failures {
            say(&format!("{left_out} of {all} results have no proven time and are left out"));
        } else if all == 0 {
            say("the run has no results");
        }
    }
}

/// The run as exporters want it.
fn exported(run: &StoredRun) -> Exported<'_> {
    let rows = run.rows.iter().map(|row| ExportRow {
        record: &row.record,
        samples: row.samples.clone(),
        arm: row.arm.clone(),
        ruling: row.ruling,
    });
    Exported {
        run: &run.id,
        started: run.started,
        seed: run.seed,
        version: env!("CARGO_PKG_VERSION"),
        machine: &run.machine,
        rows: rows.collect(),
    }
}

fn no_place(exporter: &Exporter) -> Failure {
    let hint = match (exporter.is_folder, exporter.is_text) {
        (true, _) => "give the folder with `--out FOLDER`",
        (false, true) => "give the file with `--out FILE`, or `--out -` for stdout",
        (false, false) => "give the file with `--out FILE`",
    };
    Failure {
        message: format!("there is no path to write {} to", exporter.name),
        hint: Some(hint.to_owned()),
        code: exit::USAGE,
    }
}

fn no_stdout(exporter: &Exporter) -> Failure {
    let what = if exporter.is_folder { "a folder of files" } else { "not text" };
    Failure {
        message: format!("{} is {what}, so it cannot be written to stdout", exporter.name),
        hint: Some("give a path with `--out PATH`".to_owned()),
        code: exit::USAGE,
    }
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(path, bytes)).map_err(|error| unwritten(path, &error))
}

fn append(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(path);
    opened.and_then(|mut file| file.write_all(bytes)).map_err(|error| unwritten(path, &error))
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure {
        message: format!("cannot write {}: {error}", path.display()),
        hint: Some("give another place with `--out PATH`".to_owned()),
        code: exit::ENVIRONMENT,
    }
}
