//! Every contender on every case, as a multiple of the fastest one's time.

use super::ReportedRun;
use crate::document::{Cell, Column, Document, Emphasis, Shade};
use crate::plain::time;
use crate::reports::names;
use proofmark_analyze::field;
use proofmark_schema::ContenderId;
use proofmark_schema::record::Record;
use serde_json::Value;

pub(super) fn push(document: &mut Document, run: &ReportedRun) -> Vec<Value> {
    let all = run.contenders();
    let rows = run.by_ratio();
    if all.len() < 2 || rows.is_empty() {
        return Vec::new();
    }
    let mut columns = vec![Column::left("case", 0)];
    for (rank, id) in all.iter().enumerate() {
        let rank = u8::try_from(rank).unwrap_or(u8::MAX);
        columns.push(Column::right("", rank).named(names::contender(id, &all)));
    }
    let rows = rows.iter().map(|cell| row(run, cell, &all)).collect();
    document.map("Time over that of the fastest contender of the case", columns, rows);
    Vec::new()
}

fn row(run: &ReportedRun, cell: &[&Record], all: &[ContenderId]) -> Vec<Cell> {
    let field = field(cell);
    let least = field.first().map(|(_, time)| time.estimate);
    let of = |id: &ContenderId| {
        let Some(record) = cell.iter().find(|record| record.contender == *id) else {
            return Cell::nothing();
        };
        if let Some(refusal) = &record.judged.proof().refusal {
            let hint = format!("{id}: {}, {}", refusal.outcome, refusal.reason);
            let word = refusal.outcome.name().to_lowercase().replace('_', " ");
            return Cell { hint, ..Cell::with(word, Emphasis::Bad) };
        }
        let own = field.iter().find(|(of, _)| of.contender == *id).map(|(_, time)| time.estimate);
        let (Some(own), Some(least), Some(performance)) = (own, least, record.judged.performance())
        else {
            return Cell::nothing();
        };
        let hint = format!("{id}: {}", time(&performance.wall_ns));
        Cell { shade: Shade::of(own / least), hint, ..Cell::plain(short(own / least)) }
    };
    let name = Cell::plain(names::case(cell[0], &run.records));
    std::iter::once(name).chain(all.iter().map(of)).collect()
}

/// Two digits: a map is read by its shades.
fn short(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 9.95 => format!("{ratio:.1}"),
        ratio if ratio < 999.5 => format!("{ratio:.0}"),
        _ => ">999".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_two_digits_and_shades_of_their_own() {
        assert_eq!([1.0, 1.26, 12.4, 4321.0].map(short), ["1.0", "1.3", "12", ">999"]);
        let shades = [1.0, 1.05, 1.5, 3.0, 1e6].map(|ratio| Shade::of(ratio).unwrap().index());
        assert_eq!(shades, [0, 1, 2, 4, 6]);
        assert_eq!(Shade::of(f64::NAN), None);
    }
}
