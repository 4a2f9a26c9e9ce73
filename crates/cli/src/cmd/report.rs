//! `proofmark report`: a run, or several, for people.

use super::StorePath;
use crate::exit;
use crate::output::{Failure, Format, STDOUT, print, print_document, rendered, say};
use clap::Args;
use clap::builder::PossibleValuesParser;
use proofmark_engine::{
    EngineError, Run, Store, StoredComparison, findings, is_match, nearest, stored_comparison,
};
use proofmark_report::reports::{self, ComparedArms, PARTS, ReportedRun};
use proofmark_report::{Document, Section, read_bench};
use proofmark_schema::plan::RunKind;
use proofmark_schema::program::ProgramEntry;
use proofmark_schema::quantity::Bytes;
use proofmark_schema::record::Record;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Arguments of `report`.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Report {
    /// Runs: `latest`, numbers, days and ops (`2026-11-17-softmax`), beginnings of ids, paths, or
    /// JSON files that `bench --format json` wrote
    #[arg(value_name = "RUN", default_value = "latest")]
    runs: Vec<String>,
    /// Write a page to this file, which needs no network; `-` is stdout
    #[arg(long, value_name = "PATH")]
    html: Option<PathBuf>,
    /// Only these parts with all their details, as `lead,bench`
    #[arg(long, value_delimiter = ',', value_name = "PART", value_parser = parts())]
    only: Vec<String>,
    /// Only these ops
    #[arg(long, value_delimiter = ',', value_name = "OP")]
    op: Vec<String>,
    /// Only these contenders: patterns such as `native/*` or `peer/onednn`
    #[arg(long, value_name = "GLOB")]
    contender: Option<String>,
    #[command(flatten)]
    store: StorePath,
    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const AFTER_HELP: &str = "\
Examples:
  proofmark report                              the last run, all of it
  proofmark report --html report.html           the same as a page, with plots and slices
  proofmark report --only lead,status           who wins, and what to optimise first
  proofmark report 01a1df84 01a1e036            two runs beside each other
  proofmark report --op matmul --contender 'native/*' --format svg > matmul.svg";

fn parts() -> PossibleValuesParser {
    PossibleValuesParser::new(PARTS.iter().map(|part| part.name))
}

impl Report {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let store = self.store.open()?;
        if let [only] = &self.runs[..]
            && !Path::new(only).is_file()
        {
            let run = store.load(only).map_err(EngineError::from)?;
            let document = of_programs(&run)?.or_else(|| self.of_comparison(&run));
            if let Some(document) = document {
                return self.write(&document);
            }
        }
        let mut runs = Vec::new();
        for text in &self.runs {
            runs.push(self.chosen(load(&store, text)?)?);
        }
        self.write(&reports::run(&runs, &self.only))
    }

    /// The verdicts of a run of `compare`. Its parts, which rank contenders, are shown if they are
    /// asked for: two arms may be the same contender of two programs.
    fn of_comparison(&self, run: &Run) -> Option<Document> {
        if !(self.only.is_empty() && self.op.is_empty() && self.contender.is_none()) {
            return None;
        }
        let StoredComparison { base, other, alpha, decisions } = stored_comparison(run)?;
        let run = Some(run.id.clone());
        let arms = ComparedArms { base, other, alpha, run, notes: Vec::new() };
        Some(reports::compare(&arms, &decisions))
    }

    fn write(&self, document: &Document) -> Result<u8, Failure> {
        let Some(path) = &self.html else {
            print_document(self.format, document)?;
            return Ok(exit::PASS);
        };
        if path.as_os_str() == STDOUT {
            print_document(Format::Html, document)?;
            return Ok(exit::PASS);
        }
        let page = rendered(Format::Html, document);
        std::fs::write(path, &page).map_err(|error| Failure {
            message: format!("cannot write {}: {error}", path.display()),
            hint: Some("give a file in a folder that is there: `--html report.html`".to_owned()),
            code: exit::ENVIRONMENT,
        })?;
        print(&lead(document).join("\n"))?;
        say(&format!("wrote {} ({})", path.display(), Bytes(page.len() as u64)));
        Ok(exit::PASS)
    }

    /// The run with the ops and contenders asked for.
    fn chosen(&self, mut run: ReportedRun) -> Result<ReportedRun, Failure> {
        let ops: BTreeSet<&str> = run.records.iter().map(|of| of.case.op.as_str()).collect();
        if let Some(op) = self.op.iter().find(|op| !ops.contains(op.as_str())) {
            let known: Vec<&str> = ops.into_iter().collect();
            let near = nearest(op, &known).map(|near| format!("did you mean `{near}`? "));
            return Err(Failure {
                message: format!("run {} has no op `{op}`", run.name),
                hint: Some(format!("{}it has {}", near.unwrap_or_default(), known.join(", "))),
                code: exit::USAGE,
            });
        }
        if self.op.is_empty() && self.contender.is_none() {
            return Ok(run);
        }
        let patterns = self.contender.as_deref().unwrap_or("*");
        let is_chosen = |record: &Record| {
            let contender = record.contender.to_string();
            let mut patterns = patterns.split([' ', ',']).filter(|pattern| !pattern.is_empty());
            (self.op.is_empty() || self.op.contains(&record.case.op))
                && patterns.any(|pattern| {
                    is_match(pattern, &contender) || is_match(&format!("{pattern}@*"), &contender)
                })
        };
        let who: BTreeSet<String> = run.records.iter().map(|of| of.contender.to_string()).collect();
        run.records.retain(is_chosen);
        if run.records.is_empty() {
            return Err(Failure {
                message: format!("run {} has no contender `{patterns}`", run.name),
                hint: Some(format!("it has {}", who.into_iter().collect::<Vec<_>>().join(", "))),
                code: exit::USAGE,
            });
        }
        let items: BTreeSet<u64> = run.records.iter().map(|record| record.item).collect();
        run.findings.retain(|finding| finding.items.iter().any(|item| items.contains(item)));
        Ok(run)
    }
}

/// The report of a run of programs, which have neither ops nor contenders.
fn of_programs(run: &Run) -> Result<Option<Document>, Failure> {
    let compared = run.programs.iter().find_map(|entry| match entry {
        ProgramEntry::Compared(comparison) => Some(comparison),
        ProgramEntry::Raced(_) => None,
    });
    if let (RunKind::Programs, None) = (run.plan.kind, compared) {
        return Err(Failure {
            message: format!("run {} was cut off before it was decided", run.id),
            hint: Some("run the same `proofmark compare` again".to_owned()),
            code: exit::ENVIRONMENT,
        });
    }
    Ok(compared.map(|comparison| reports::programs(comparison, &run.id)))
}

/// What a report opens with: the answer of each run, and its red flags.
fn lead(document: &Document) -> Vec<String> {
    let mut lines = Vec::new();
    for section in &document.sections {
        match section {
            Section::Heading(_) => break,
            Section::Text(text) => lines.push(text.clone()),
            Section::RedFlags(flags) => {
                lines.extend(flags.iter().map(|flag| format!("RED FLAG: {flag}")));
            }
            _ => {}
        }
    }
    lines
}

/// The run that a text means, from a file or from the store.
pub(super) fn load(store: &Store, text: &str) -> Result<ReportedRun, Failure> {
    let path = Path::new(text);
    if path.is_file() {
        return read(path);
    }
    let run = store.load(text).map_err(EngineError::from)?;
    let number = store.number(&run.id).map_err(EngineError::from)?;
    Ok(ReportedRun { number, ..stored(run) })
}

/// What `bench --format json` wrote to a file.
fn read(path: &Path) -> Result<ReportedRun, Failure> {
    let failure = |what: String| Failure {
        message: format!("cannot read {}: {what}", path.display()),
        hint: Some("give a file that `proofmark bench --format json` wrote".to_owned()),
        code: exit::USAGE,
    };
    let bytes = std::fs::read(path).map_err(|error| failure(error.to_string()))?;
    let data = serde_json::from_slice(&bytes).map_err(|error| failure(error.to_string()))?;
    let file = read_bench(&data).map_err(|error| failure(error.to_string()))?;
    // `bench` names one run; a report that was written as JSON has a list.
    let run = data.get("run").or_else(|| data.get("runs")?.get(0));
    let run = run.and_then(serde_json::Value::as_str).unwrap_or_default();
    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
    let told = "a JSON file: slices, contracts and the machine's rates are not in it";
    Ok(ReportedRun {
        name: name.unwrap_or_default(),
        source: path.display().to_string(),
        facts: vec![("run", run.to_owned()), ("read from", told.to_owned())],
        records: file.records,
        findings: file.findings,
        absent: file.absent,
        machine: file.machine,
        ..ReportedRun::default()
    })
}

fn stored(run: Run) -> ReportedRun {
    let mut slices: BTreeMap<(u64, u32), Vec<Vec<f64>>> = BTreeMap::new();
    for item in &run.items {
        for slice in item.race.iter().flat_map(|race| &race.slices) {
            let trials = slices.entry((item.item, slice.arm)).or_default();
            let trial = slice.trial as usize;
            if trials.len() <= trial {
                trials.resize(trial + 1, Vec::new());
            }
            trials[trial].push(slice.call_ns());
        }
    }
    slices.values_mut().for_each(|trials| trials.retain(|trial| !trial.is_empty()));
    let missing = run.missing().len();
    let mut facts = vec![
        ("run", run.id.clone()),
        ("seed", run.plan.seed.to_string()),
        ("budget", run.plan.kind.to_string()),
        ("items", format!("{} of {}", run.items.len(), run.plan.items.len())),
        ("sessions", run.sessions.len().to_string()),
        ("sealed", if run.sealed { "yes" } else { "no" }.to_owned()),
    ];
    if missing > 0 {
        facts
            .push(("unfinished", format!("`proofmark bench --resume {}` goes on with it", run.id)));
    }
    facts.extend(run.notes.iter().map(|note| ("note", note.clone())));
    facts.push(("check", format!("`proofmark replay {}` computes all of it again", run.id)));
    let records: Vec<Record> = run.records().cloned().collect();
    ReportedRun {
        source: run.id.clone(),
        name: run.id,
        kind: Some(run.plan.kind),
        findings: findings(&records),
        records,
        absent: run.plan.absent,
        machine: Some(run.machine),
        facts,
        slices,
        ..ReportedRun::default()
    }
}
