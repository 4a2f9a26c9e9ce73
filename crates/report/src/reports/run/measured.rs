//! One line a case with the contenders as columns; every measurement on demand.

use super::ReportedRun;
use crate::document::{Cell, Column, Document, Emphasis};
use crate::flat::metric;
use crate::plain::{counted, percent, ratio};
use crate::reports::bench::{Extras, SUSPICIOUS_PERCENT, push_absences, push_table, tables, title};
use crate::reports::names;
use proofmark_analyze::{doubts, pairings, winner};
use proofmark_schema::ContenderId;
use proofmark_schema::quantity::Nanos;
use proofmark_schema::record::Record;
use serde_json::Value;

const CASES: [Column; 5] = [
    Column::left("case", 0),
    Column::left("fastest", 0),
    Column::right("ours ÷ best peer", 1),
    Column::right("efficiency", 2),
    Column::left("held by", 3),
];

/// The column that only runs with peers have.
const AGAINST: usize = 2;

pub(super) fn push(document: &mut Document, run: &ReportedRun) -> Vec<Value> {
    push_cases(document, run);
    let doubts = doubts(&run.records, &|record| run.spread(record));
    let remarks = |record: &Record| {
        let of = doubts.iter().filter(|doubt| std::ptr::eq(doubt.record, record));
        of.map(|doubt| doubt.words.as_str()).collect::<Vec<_>>().join("; ")
    };
    let extras = Extras { samples: &|record| run.samples(record), remarks: &remarks };
    for table in tables(&run.records) {
        let count = counted(table.len(), "measurement");
        document.details(format!("{}: {count} with all columns", title(table[0])), |document| {
            push_table(document, &table, &extras);
        });
    }
    document.details("What did not enter, and why", |document| {
        push_absences(document, &run.absent);
    });
    Vec::new()
}

fn push_cases(document: &mut Document, run: &ReportedRun) {
    let all = run.contenders();
    let mut columns = CASES.to_vec();
    for (index, id) in all.iter().enumerate() {
        let rank = u8::try_from(4 + index).unwrap_or(u8::MAX);
        columns.push(Column::right("", rank).named(names::contender(id, &all)));
    }
    let mut rows: Vec<Vec<Cell>> = run.by_cost().iter().map(|cell| row(run, cell, &all)).collect();
    if rows.iter().all(|row| row[AGAINST] == Cell::nothing()) {
        columns.remove(AGAINST);
        rows.iter_mut().for_each(|row| drop(row.remove(AGAINST)));
    }
    document.table("Times, the costliest losses first", &columns, rows);
    document.note(
        "a time in bold is the fastest of its case and stands clear of every other's interval. \
         Efficiency is the least time that the machine's limits allow over that of the fastest",
    );
}

fn row(run: &ReportedRun, cell: &[&Record], all: &[ContenderId]) -> Vec<Cell> {
    let field = proofmark_analyze::field(cell);
    let winner = winner(cell);
    let fastest = field.first().map(|(record, _)| *record);
    let pairing = pairings(cell.iter().copied()).and_then(|found| {
        let is_ours = found.subject == proofmark_analyze::Subject::Ours;
        found.cases.first().filter(|_| is_ours).map(|case| (case.ratio, case.lead))
    });
    let against = pairing.map_or_else(Cell::nothing, |(interval, lead)| Cell {
        emphasis: match lead {
            proofmark_analyze::Lead::Faster => Some(Emphasis::Good),
            proofmark_analyze::Lead::Level => None,
            proofmark_analyze::Lead::Slower => Some(Emphasis::Bad),
        },
        ..Cell::plain(ratio(&interval))
    });
    let who = fastest.map_or_else(Cell::nothing, |record| {
        let name = names::contender(&record.contender, all);
        Cell::plain(if winner.best.is_some() { name } else { format!("{name} (tie)") })
    });
    let efficiency = fastest.and_then(|record| metric(record, "efficiency"));
    let limits = fastest.and_then(|record| record.judged.performance()?.limits?.bound);
    let mut cells = vec![
        Cell::plain(names::case(cell[0], &run.records)),
        who,
        against,
        efficiency.map_or_else(Cell::nothing, |value| Cell {
            emphasis: (value > SUSPICIOUS_PERCENT).then_some(Emphasis::Bad),
            ..Cell::plain(percent(value))
        }),
        limits.map_or_else(Cell::nothing, |bound| Cell::plain(bound.name())),
    ];
    cells.extend(all.iter().map(|id| {
        let Some(record) = cell.iter().find(|record| record.contender == *id) else {
            return Cell::nothing();
        };
        match record.judged.performance() {
            Some(performance) => Cell {
                emphasis: winner.is(id).then_some(Emphasis::Good),
                samples: run.samples(record),
                hint: crate::plain::time(&performance.wall_ns),
                ..Cell::plain(Nanos(performance.wall_ns.estimate).to_string())
            },
            None => Cell::with(record.judged.proof().outcome.name(), Emphasis::Bad),
        }
    }));
    cells
}
