//! The report of the sandbox's own proof: which ways out are open.

use crate::document::{Cell, Column, Document, Emphasis};
use proofmark_schema::isolation::{SandboxCost, StartCost, TriedEscape};
use proofmark_schema::quantity::Interval;
use serde_json::json;

const COLUMNS: [Column; 4] = [
    Column::left("attempt", 0),
    Column::left("T1", 1),
    Column::left("T2", 0),
    Column::text("reported", 1),
];

const COST_COLUMNS: [Column; 6] = [
    Column::left("the same kernel", 0),
    Column::right("threads", 1),
    Column::left("level", 0),
    Column::right("over T1", 0),
    Column::left("inputs", 2),
    Column::right("trials", 3),
];

/// The document of a self-test of the sandbox; its lines are the attempts.
pub fn sandbox(tried: &[TriedEscape], costs: &[SandboxCost], start: Option<StartCost>) -> Document {
    let count = |is: fn(&TriedEscape) -> bool| tried.iter().filter(|one| is(one)).count();
    let open = count(|one| one.is_open);
    let named = count(TriedEscape::is_reported);
    let without = count(|one| one.is_open_without);
    let all = tried.len();
    let answer = format!(
        "The sandbox refused {} of {all} attempts to get out and reported {named}.",
        all - open
    );
    let data = json!({
        "attempts": all, "refused": all - open, "reported": named,
        "open_without": without, "rows": tried, "costs": costs, "start": start,
    });
    let mut document = Document::new(answer, data, "rows");
    document.table("", &COLUMNS, tried.iter().map(cells).collect());
    document.note(format!("without a sandbox (T1), {without} of them succeed"));
    if !costs.is_empty() {
        document.table("", &COST_COLUMNS, costs.iter().map(cost).collect());
        document.note(
            "T1 over T1 is the control: a ratio that is no farther from 1 is the machine's. Calls \
             on fresh inputs are timed alone, and those of several threads then wake them up",
        );
    }
    if let Some(StartCost { t1_ms, t2_ms }) = start {
        let more = t2_ms - t1_ms;
        document.note(format!(
            "a worker starts in {t1_ms:.1} ms without a sandbox and in {t2_ms:.1} ms in one \
             ({more:+.1} ms)"
        ));
    }
    document
}

fn cost(cost: &SandboxCost) -> Vec<Cell> {
    let Interval { estimate, low, high, .. } = cost.ratio;
    vec![
        Cell::plain(cost.case.clone()),
        Cell::plain(cost.threads.to_string()),
        Cell::plain(cost.level.name()),
        Cell::plain(format!("{estimate:.4} [{low:.4}, {high:.4}]")),
        Cell::plain(cost.inputs.name()),
        Cell::plain(cost.trials.to_string()),
    ]
}

fn cells(tried: &TriedEscape) -> Vec<Cell> {
    let at = |is_open: bool| if is_open { "open" } else { "refused" };
    let inside = match tried.is_open {
        true => Cell::with(at(true), Emphasis::Bad),
        false => Cell::with(at(false), Emphasis::Good),
    };
    let reported = match tried.reports.iter().find(|one| one.call == tried.reported_as) {
        Some(report) => Cell::plain(report.to_string()),
        None => Cell::with("not reported", Emphasis::Bad),
    };
    vec![Cell::plain(tried.name.clone()), Cell::plain(at(tried.is_open_without)), inside, reported]
}
