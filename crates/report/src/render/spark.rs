//! The slices behind a time as a line of small bars, for terminals that can show them.

use crate::{Cell, Column, Samples, Table};

/// The heights of a bar.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Bars of a line.
const BARS: usize = 8;
/// The last bar begins at this many times the fastest slice.
const LAST: f64 = 1.7;

/// The heading: from the fastest slice on the left to those that took this much longer.
const HEADING: Column = Column::left("slices ×1…×1.7", 4);

/// The table with a column of lines after its only column of times with slices, if it has one.
pub(super) fn with_sparklines(table: &Table) -> Option<Table> {
    let has_samples = |i: &usize| table.rows.iter().any(|row| row[*i].samples.is_some());
    let mut timed = (0..table.columns.len()).filter(has_samples);
    let (Some(column), None) = (timed.next(), timed.next()) else { return None };
    let mut table = table.clone();
    table.columns.insert(column + 1, HEADING);
    for row in &mut table.rows {
        let line = row[column].samples.as_deref().map(sparkline);
        row.insert(column + 1, line.map_or_else(Cell::nothing, Cell::plain));
    }
    Some(table)
}

/// How often each time was seen: the fastest on the left, all that took [`LAST`] times as long and
/// more in the last bar. The scale is that of all rows, so that their shapes can be compared.
fn sparkline(samples: &Samples) -> String {
    let slices: Vec<f64> = samples.trials.iter().flatten().copied().collect();
    let fastest = slices.iter().copied().fold(f64::INFINITY, f64::min);
    if !(fastest > 0.0 && fastest.is_finite()) {
        return String::new();
    }
    let mut counts = [0usize; BARS];
    for slice in &slices {
        let place = (slice / fastest - 1.0) / (LAST - 1.0) * (BARS - 1) as f64;
        counts[(place as usize).min(BARS - 1)] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let bar = |&count: &usize| match count {
        0 => ' ',
        some => LEVELS[(some * LEVELS.len()).div_ceil(most) - 1],
    };
    counts.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn of(slices: &[f64]) -> Samples {
        let trials = vec![slices.to_vec()];
        Samples { name: "a".to_owned(), measured: slices.len(), trials, interval: [1.0; 3] }
    }

    #[test]
    fn steady_slices_are_one_bar_and_two_speeds_are_two() {
        assert_eq!(sparkline(&of(&[100.0; 9])), "█       ");
        assert_eq!(sparkline(&of(&[100.0, 100.0, 145.0])), "█   ▄   ");
        assert_eq!(sparkline(&of(&[100.0, 900.0])), "█      █");
        assert_eq!(sparkline(&of(&[])), "");
        assert_eq!(sparkline(&of(&[f64::NAN, 0.0])), "");
    }

    #[test]
    fn only_a_table_with_one_column_of_times_gets_a_column_of_lines() {
        let timed = Cell { samples: Some(Arc::new(of(&[1.0]))), ..Cell::plain("1 s") };
        let columns = vec![Column::left("who", 0), Column::right("time", 0)];
        let rows =
            vec![vec![Cell::plain("a"), timed.clone()], vec![Cell::plain("b"), Cell::nothing()]];
        let one = Table { columns: columns.clone(), rows, ..Table::default() };
        let drawn = with_sparklines(&one).unwrap();
        assert_eq!(drawn.columns.len(), 3);
        assert_eq!(
            (drawn.rows[0][2].text.as_str(), drawn.rows[1][2].text.as_str()),
            ("█       ", "–")
        );
        let rows = vec![vec![timed.clone(), timed]];
        assert_eq!(
            with_sparklines(&Table { columns: columns.clone(), rows, ..Table::default() }),
            None
        );
        let rows = vec![vec![Cell::plain("a"), Cell::plain("b")]];
        assert_eq!(with_sparklines(&Table { columns, rows, ..Table::default() }), None);
    }
}
