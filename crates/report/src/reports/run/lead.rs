//! The first picture: who wins, by how much, over all cases.

use super::ReportedRun;
use crate::document::{Cell, Column, Document, Emphasis, KeyFigure};
use crate::plain::{counted, is_bounded, ratio};
use crate::reports::names;
use crate::{Plot, PlotAxis, PlotKind, Point, Series};
use proofmark_analyze::{Lead, Pairing, Pairings, Subject, pairings};
use proofmark_schema::quantity::{Nanos, three_digits};
use serde_json::{Value, json};

const COSTS: [Column; 6] = [
    Column::left("case", 0),
    Column::right("ratio [interval]", 0),
    Column::right("costs", 0),
    Column::left("fastest of ours", 1),
    Column::left("faster than it", 0),
    Column::right("its time", 2),
];

/// Series of the picture, in its order; a renderer gives each a shape of its own.
const LEADS: [Lead; 3] = [Lead::Slower, Lead::Level, Lead::Faster];

pub(super) fn push(document: &mut Document, run: &ReportedRun) -> Vec<Value> {
    let Some(found) = pairings(&run.records) else { return Vec::new() };
    let (ours, theirs) = sides(&found.subject);
    document.plot(picture(run, &found));
    document.note(format!(
        "each row is one case: the time of {ours} over that of {theirs}, with its 95 % interval, on \
         a logarithmic scale. An interval that holds 1 is too close to call. The slowest cases are \
         first; refused results are not in the picture",
    ));
    let mut slower: Vec<&Pairing<'_>> =
        found.cases.iter().filter(|case| case.lead == Lead::Slower).collect();
    slower.sort_by(|a, b| b.cost_ns.total_cmp(&a.cost_ns));
    let has_uses = slower.iter().any(|case| !case.record.uses.is_empty());
    let title = format!("What the {} cost", counted(slower.len(), "slower case"));
    document.table(title, &COSTS, slower.iter().map(|case| cost(run, case)).collect());
    if has_uses {
        document.note("a case of a model costs as often as the model calls it in a step");
    }
    found.cases.iter().map(data).collect()
}

/// What is divided by what.
fn sides(subject: &Subject) -> (String, &'static str) {
    match subject {
        Subject::Ours => ("our fastest kernel".to_owned(), "the best peer"),
        Subject::Contender(contender) => (contender.to_string(), "the best other"),
    }
}

fn picture(run: &ReportedRun, found: &Pairings<'_>) -> Plot {
    let (ours, theirs) = sides(&found.subject);
    let title = format!("Time of {ours} over that of {theirs}");
    let x = PlotAxis::linear(format!("{ours}, and {theirs}"), "");
    let mut plot = Plot::new(title, PlotKind::Intervals, x, PlotAxis::log("ratio", "×"));
    let worst = &found.cases[0];
    plot.says = format!(
        "Faster on {}, too close to call on {}, slower on {} of {}; the greatest ratio is {}× on {}",
        found.count(Lead::Faster),
        found.count(Lead::Level),
        found.count(Lead::Slower),
        counted(found.cases.len(), "case"),
        three_digits(worst.ratio.estimate),
        names::case(worst.record, &run.records)
    );
    let all = run.contenders();
    for lead in LEADS {
        let rows = found.cases.iter().enumerate().filter(|(_, case)| case.lead == lead);
        let points = rows.map(|(row, case)| {
            let time = |of: &proofmark_schema::record::Record| {
                let wall = of.judged.performance().map_or(f64::NAN, |of| of.wall_ns.estimate);
                Nanos(wall).to_string()
            };
            let rival = names::contender(&case.rival.contender, &all);
            let ends = is_bounded(&case.ratio).then_some((case.ratio.low, case.ratio.high));
            Point {
                low: ends.map(|ends| ends.0),
                high: ends.map(|ends| ends.1),
                beside: vec![time(case.record), format!("{rival} {}", time(case.rival))],
                ..Point::at(row as f64, case.ratio.estimate, names::case(case.record, &run.records))
            }
        });
        plot = plot.with(Series::new(lead.name(), points.collect()));
    }
    plot
}

fn cost(run: &ReportedRun, case: &Pairing<'_>) -> Vec<Cell> {
    let time = case.rival.judged.performance().map(|of| Nanos(of.wall_ns.estimate).to_string());
    let per = if case.record.uses.is_empty() { "a call" } else { "a step" };
    vec![
        Cell::plain(names::case(case.record, &run.records)),
        Cell::with(ratio(&case.ratio), Emphasis::Bad),
        Cell::plain(format!("{} {per}", Nanos(case.cost_ns))),
        Cell::plain(case.record.contender.to_string()),
        Cell::plain(case.rival.contender.to_string()),
        time.map_or_else(Cell::nothing, Cell::plain),
    ]
}

fn data(case: &Pairing<'_>) -> Value {
    json!({
        "case": case.record.case,
        "threads": case.record.threads,
        "contender": case.record.contender,
        "against": case.rival.contender,
        "ratio": case.ratio.estimate,
        "ratio_low": case.ratio.low,
        "ratio_high": case.ratio.high,
        "lead": case.lead.name(),
        "cost_ms": case.cost_ns * 1e-6,
    })
}

/// The answer in numbers.
pub(super) fn figures(run: &ReportedRun) -> Vec<KeyFigure> {
    let Some(found) = pairings(&run.records) else { return Vec::new() };
    let count = |lead, label: String, emphasis| KeyFigure {
        value: found.count(lead).to_string(),
        label,
        emphasis: Some(emphasis),
    };
    let theirs = sides(&found.subject).1;
    let worst = &found.cases[0];
    let slower = match worst.lead {
        Lead::Slower => format!(
            "slower, the most {}× on {}",
            three_digits(worst.ratio.estimate),
            worst.record.case.op
        ),
        _ => "slower".to_owned(),
    };
    let refused = run.records.iter().filter(|of| of.judged.proof().refusal.is_some()).count();
    vec![
        count(Lead::Faster, format!("cases faster than {theirs}"), Emphasis::Good),
        count(Lead::Level, "too close to call".to_owned(), Emphasis::Dim),
        count(Lead::Slower, slower, Emphasis::Bad),
        KeyFigure {
            value: format!("{}×", three_digits(found.mean)),
            label: format!("the time of {theirs}, geometric mean"),
            emphasis: None,
        },
        KeyFigure {
            value: refused.to_string(),
            label: format!("of {} refused, and not ranked", counted(run.records.len(), "result")),
            emphasis: None,
        },
    ]
}
