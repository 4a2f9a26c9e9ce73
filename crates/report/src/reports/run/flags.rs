//! Red flags: what must be looked at before a number is used. Then what was refused, with the
//! commands that show it, and how often rows have remarks.

use super::ReportedRun;
use crate::document::{Cell, Column, Document, Emphasis};
use crate::plain::counted;
use proofmark_analyze::{Flag, FlagKind, flags};
use proofmark_schema::proof::Refusal;
use proofmark_schema::record::Record;
use serde_json::{Value, json};

const COLUMNS: [Column; 5] = [
    Column::left("flag", 0),
    Column::left("contender", 0),
    Column::right("cases", 1),
    Column::text("worst", 0),
    Column::text("what to do", 2),
];

/// Refusals that are shown with their command; the table counts all.
const TOLD: usize = 24;

/// The red flags as one short sentence each, the gravest first; the part has all about them.
pub(super) fn red(run: &ReportedRun) -> Vec<String> {
    let sentence = |flag: &Flag| {
        let Flag { who, op, worst, .. } = flag;
        let place = match flag.cases {
            1 => op.clone(),
            cases => format!("{}, for example {op}", counted(cases, "case")),
        };
        match flag.kind {
            FlagKind::Wrong => format!("{who} is wrong on {place}."),
            FlagKind::Failure => format!("{who} failed on {place}."),
            FlagKind::Untrusted => format!("{who} is not to be trusted: it was caught on {place}."),
            FlagKind::Impossible => format!("{who} is faster than the machine allows on {place}."),
            FlagKind::Noise => format!("The machine was disturbed in {place}."),
            _ => format!("The run is unsteady: {worst}. Trust the ratios before the times."),
        }
    };
    all(run).iter().filter(|flag| flag.is_red).map(sentence).collect()
}

fn all(run: &ReportedRun) -> Vec<Flag> {
    flags(&run.records, &|record| run.spread(record))
}

pub(super) fn push(document: &mut Document, run: &ReportedRun) -> Vec<Value> {
    let found = all(run);
    let is_refusal = |flag: &Flag| matches!(flag.kind, FlagKind::Wrong | FlagKind::Failure);
    let (red, rest): (Vec<&Flag>, Vec<&Flag>) = found.iter().partition(|flag| flag.is_red);
    let (refused, remarks): (Vec<&Flag>, Vec<&Flag>) =
        rest.into_iter().partition(|flag| is_refusal(flag));
    if red.is_empty() && !run.records.is_empty() {
        document.text("There is no red flag: nothing has to be looked at before a number is used.");
    }
    let rows = |flags: &[&Flag]| flags.iter().map(|flag| row(flag)).collect();
    document.table("Look at these before a number is used", &COLUMNS, rows(&red));
    document.table("Peers that were refused, and are not ranked", &COLUMNS, rows(&refused));
    push_refusals(document, run);
    document.details("Remarks on rows, counted", |document| {
        document.table("", &COLUMNS, rows(&remarks));
    });
    found.iter().map(data).collect()
}

/// The refusals, those with the same command together.
fn push_refusals(document: &mut Document, run: &ReportedRun) {
    let mut refusals: Vec<(&Refusal, Vec<&Record>)> = Vec::new();
    for record in &run.records {
        let Some(refusal) = &record.judged.proof().refusal else { continue };
        if refusal.repro.is_empty() {
            continue;
        }
        match refusals.iter_mut().find(|(known, _)| known.repro == refusal.repro) {
            Some((_, records)) => records.push(record),
            None => refusals.push((refusal, vec![record])),
        }
    }
    let count = counted(refusals.len(), "refusal");
    document.details(format!("{count}, each with the command that shows it"), |document| {
        for (refusal, records) in refusals.iter().take(TOLD) {
            let first = records[0];
            let more = match records.len() {
                1 => String::new(),
                all => format!(" and {}", counted(all - 1, "more case")),
            };
            document.text(format!(
                "{} {} on {}{more}: {}",
                refusal.outcome, first.contender, first.case, refusal.reason
            ));
            document.command(&refusal.repro);
        }
        if let Some(more) = refusals.len().checked_sub(TOLD).filter(|more| *more > 0) {
            document.note(format!("{more} more refusals have their commands in the JSON"));
        }
    });
}

fn row(flag: &Flag) -> Vec<Cell> {
    let emphasis = if flag.is_red { Emphasis::Bad } else { Emphasis::Dim };
    vec![
        Cell::with(flag.kind.name(), emphasis),
        Cell::plain(&flag.who),
        Cell::plain(flag.cases.to_string()),
        Cell::plain(&flag.worst),
        Cell::plain(flag.kind.advice()),
    ]
}

fn data(flag: &Flag) -> Value {
    json!({
        "flag": flag.kind.name(),
        "is_red": flag.is_red,
        "who": flag.who,
        "cases": flag.cases,
        "worst": flag.worst,
        "advice": flag.kind.advice(),
    })
}
