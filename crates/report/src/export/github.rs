//! A GitHub step summary, and annotations for what a person must look at.

use super::{ExportFile, ExportOptions, ExportRow, Exported, Exporter, single};
use crate::document::{Cell, Column, Document};
use crate::plain::{counted, plain, ratio, threads, time};
use crate::render;
use proofmark_schema::race::Verdict;
use proofmark_schema::record::Performance;
use std::fmt::Write;

pub(super) const EXPORTER: Exporter = Exporter {
    name: "github",
    summary: "Markdown for $GITHUB_STEP_SUMMARY, annotations on stdout",
    is_folder: false,
    is_text: true,
    has_failures: true,
    export,
};

/// Rows of the whole table; GitHub takes 1 MiB a step.
const MOST_ROWS: usize = 2000;

/// Annotations of a kind that GitHub shows for a step.
const MOST_ANNOTATIONS: usize = 10;

const REFUSED: [Column; 4] = [
    Column::left("case", 0),
    Column::left("contender", 0),
    Column::left("outcome", 0),
    Column::text("why", 0),
];

const MEASURED: [Column; 6] = [
    Column::left("case", 0),
    Column::left("contender", 0),
    Column::left("threads", 0),
    Column::right("time", 0),
    Column::right("ratio", 0),
    Column::left("verdict", 0),
];

fn export(run: &Exported<'_>, _options: &ExportOptions) -> Vec<ExportFile> {
    let markdown = render::find("markdown").expect("the renderer is in the list").render;
    let style = render::Style::default();
    let mut head = Document::new("Proofmark", serde_json::Value::Null, "");
    head.text(sentence(run));
    let refused: Vec<Vec<Cell>> = refused(run).map(refused_row).collect();
    head.table("Refused", &REFUSED, refused);
    head.table("Slower", &MEASURED, slower(run).map(measured_row).collect());
    let mut all = Document::new("All times", serde_json::Value::Null, "");
    all.table(
        "",
        &MEASURED,
        run.measured().take(MOST_ROWS).map(|(row, _)| measured_row(row)).collect(),
    );
    if run.measured().count() > MOST_ROWS {
        all.note(format!("the first {MOST_ROWS} rows; the run has the rest"));
    }
    all.note(format!(
        "run {}, seed {}, {} ({}), proofmark {}",
        run.run, run.seed, run.machine.cpu, run.machine.fingerprint, run.version
    ));
    let mut out = markdown(&head, &style);
    let _ = write!(
        out,
        "\n<details><summary>All times and where they come from</summary>\n\n{}\n</details>\n",
        markdown(&all, &style)
    );
    single(out)
}

/// The verdict first.
fn sentence(run: &Exported<'_>) -> String {
    let proven = run.rows.iter().filter(|row| row.record.judged.proof().refusal.is_none()).count();
    let (refused, slower) = (refused(run).count(), slower(run).count());
    let mut text = format!("{} proven", counted(proven, "result"));
    if refused > 0 {
        text += &format!(", {refused} refused");
    }
    if slower > 0 {
        text += &format!(", {slower} slower than what they were compared with");
    }
    text + "."
}

fn refused<'a>(run: &'a Exported<'_>) -> impl Iterator<Item = &'a ExportRow<'a>> {
    run.rows.iter().filter(|row| row.record.judged.proof().refusal.is_some())
}

fn slower<'a>(run: &'a Exported<'_>) -> impl Iterator<Item = &'a ExportRow<'a>> {
    let is_slower = |(row, performance): &(&ExportRow<'_>, &Performance)| {
        let of_table = performance.comparison.as_ref().map(|of| of.verdict);
        row.ruling.or(of_table) == Some(Verdict::Slower)
    };
    run.measured().filter(is_slower).map(|(row, _)| row)
}

fn refused_row(row: &ExportRow<'_>) -> Vec<Cell> {
    let proof = row.record.judged.proof();
    let reason = proof.refusal.as_ref().map_or("", |refusal| &refusal.reason);
    vec![
        Cell::plain(row.record.case.to_string()),
        Cell::plain(row.record.contender.to_string()),
        Cell::plain(proof.outcome.name()),
        Cell::plain(reason),
    ]
}

fn measured_row(row: &ExportRow<'_>) -> Vec<Cell> {
    let performance = row.record.judged.performance();
    let comparison = performance.and_then(|performance| performance.comparison.as_ref());
    let cell = |text: Option<String>| text.map_or_else(Cell::nothing, Cell::plain);
    vec![
        Cell::plain(row.record.case.to_string()),
        Cell::plain(row.arm.clone().unwrap_or_else(|| row.record.contender.to_string())),
        Cell::plain(row.record.threads.to_string()),
        cell(performance.map(|performance| time(&performance.wall_ns))),
        cell(comparison.map(|comparison| ratio(&comparison.ratio))),
        cell(comparison.map(|of| format!("{} against {}", of.verdict.name(), of.against))),
    ]
}

/// `::error` for refused contenders and decided regressions, `::warning` for what a table shows
/// as slower; of each kind as many as GitHub shows, then one that counts the rest.
pub fn annotations(run: &Exported<'_>) -> String {
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    for row in refused(run) {
        let proof = row.record.judged.proof();
        let (reason, repro) =
            proof.refusal.as_ref().map_or(("", ""), |of| (of.reason.as_str(), of.repro.as_str()));
        let (case, who) = (&row.record.case, &row.record.contender);
        let word = proof.outcome.name();
        let text = format!("{who} is {word} on {case}: {reason} (see it again: {repro})");
        errors.push(annotation("error", word, &text));
    }
    for row in slower(run) {
        let Some(of) = row.record.judged.performance().and_then(|one| one.comparison.as_ref())
        else {
            continue;
        };
        let who = row.arm.clone().unwrap_or_else(|| row.record.contender.to_string());
        let (case, all) = (&row.record.case, threads(row.record.threads));
        let text =
            format!("{who} takes {} the time of {} on {case}, {all}", ratio(&of.ratio), of.against);
        match row.ruling.is_some() {
            true => errors.push(annotation("error", "SLOWER", &text)),
            false => warnings.push(annotation("warning", "SLOWER", &text)),
        }
    }
    let mut out = String::new();
    for (kind, mut all) in [("error", errors), ("warning", warnings)] {
        if all.len() > MOST_ANNOTATIONS {
            let rest = all.len() - (MOST_ANNOTATIONS - 1);
            all.truncate(MOST_ANNOTATIONS - 1);
            all.push(annotation(kind, "more", &format!("{rest} more: see the step summary")));
        }
        out.extend(all);
    }
    out
}

/// One line; `%`, line breaks and in titles `:` and `,` are escaped as the runner wants it.
fn annotation(kind: &str, title: &str, text: &str) -> String {
    format!("::{kind} title=proofmark {title}::{}\n", plain(text).replace('%', "%25"))
}
