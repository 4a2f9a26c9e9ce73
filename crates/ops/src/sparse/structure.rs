//! Where the entries of a sparse matrix are: patterns as they come from grids, graphs and chance.

use super::definition::{EACH, ENTRIES, PATTERN};
use proofmark_tensor::mix;
use proofmark_terms::Case;

/// Where entries are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// The same number in each row, at the offsets of a stencil on a square grid.
    Stencil,
    /// The same number in each row, side by side along the diagonal.
    Banded,
    /// Anywhere, in no order, some twice; rows of any length, some empty.
    Random,
    /// Anywhere, the first rows much longer than the last.
    PowerLaw,
    /// One whole row, and the same number anywhere in the others.
    DenseRow,
}

/// The words of `pattern`.
pub(super) const PATTERNS: &[&str] = &["stencil", "banded", "random", "powerlaw", "dense_row"];

/// Sizes and pattern of a matrix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Structure {
    /// Rows.
    pub(super) rows: usize,
    /// Columns.
    pub(super) cols: usize,
    /// Entries of a row on average.
    pub(super) each: usize,
    /// Where they are.
    pub(super) pattern: Pattern,
    /// Entries in all, where a case counts them itself; else 0.
    pub(super) counted: usize,
}

impl Structure {
    /// Reads `m`, `n`, `pattern` and `each` of a case.
    pub(super) fn of(case: &Case) -> Structure {
        let size = |axis| case.size(axis).unwrap_or(0) as usize;
        let pattern = match PATTERN.word(case) {
            "stencil" => Pattern::Stencil,
            "banded" => Pattern::Banded,
            "powerlaw" => Pattern::PowerLaw,
            "dense_row" => Pattern::DenseRow,
            _ => Pattern::Random,
        };
        let (each, counted) = (EACH.int(case) as usize, ENTRIES.int(case) as usize);
        Structure { rows: size("m"), cols: size("n"), each, pattern, counted }
    }

    /// Entries in all: as many as the case says, or as its pattern makes of `each`.
    pub(super) fn entries(&self) -> usize {
        match (self.rows, self.cols, self.pattern) {
            (0, ..) | (_, 0, _) => 0,
            _ if self.counted > 0 => self.counted,
            (rows, cols, Pattern::DenseRow) => (rows - 1) * self.each + cols,
            (rows, ..) => rows * self.each,
        }
    }

    /// Where each row begins, and where the last ends.
    pub(super) fn pointers(&self, seed: u64) -> Vec<usize> {
        let (rows, entries) = (self.rows, self.entries());
        let dense = rows / 2;
        let mut pointers: Vec<usize> = match self.pattern {
            _ if entries == 0 => vec![0; rows + 1],
            Pattern::Stencil | Pattern::Banded => (0..=rows).map(|i| i * self.each).collect(),
            Pattern::Random => {
                let drawn = |i: usize| mix(seed, 71, i as u64) as usize % (entries + 1);
                (0..rows.saturating_sub(1)).map(drawn).chain([0, entries]).collect()
            }
            Pattern::PowerLaw => {
                let share = |i: usize| (i as f64 / rows as f64).sqrt();
                (0..=rows).map(|i| (entries as f64 * share(i)) as usize).collect()
            }
            Pattern::DenseRow => {
                let after = |i: usize| if i > dense { self.cols } else { 0 };
                let others = |i: usize| if i > dense { i - 1 } else { i };
                (0..=rows).map(|i| others(i) * self.each + after(i)).collect()
            }
        };
        pointers.sort_unstable();
        pointers
    }

    /// The columns of a row's entries, of which the first has this number.
    pub(super) fn columns(&self, row: usize, first: usize, count: usize, seed: u64) -> Vec<usize> {
        let cols = self.cols;
        let diagonal = row * cols / self.rows.max(1);
        let side = (cols as f64).sqrt().ceil() as usize;
        let drawn = |k: usize| mix(seed, 72, (first + k) as u64) as usize % cols;
        let column = |k: usize| match self.pattern {
            // 0, then ±1 and multiples of a grid's side in turn.
            Pattern::Stencil => {
                let reach = [0, 1, side, 2, 2 * side][k.div_ceil(2) % 5] + k / 10;
                if k % 2 == 1 { diagonal + reach } else { diagonal + cols * (reach + 1) - reach }
            }
            Pattern::Banded => diagonal + k,
            Pattern::DenseRow if count == cols => k,
            _ => drawn(k),
        };
        (0..count).map(|k| column(k) % cols).collect()
    }

    /// Row pointers, the row of each entry, and its column, in the order of rows.
    pub(super) fn made(&self, seed: u64) -> [Vec<f64>; 3] {
        let pointers = self.pointers(seed);
        let (mut rows, mut columns) = (Vec::new(), Vec::new());
        for (row, ends) in pointers.windows(2).enumerate() {
            let count = ends[1] - ends[0];
            rows.extend(std::iter::repeat_n(row as f64, count));
            let of_row = self.columns(row, ends[0], count, seed);
            columns.extend(of_row.into_iter().map(|column| column as f64));
        }
        [pointers.into_iter().map(|pointer| pointer as f64).collect(), rows, columns]
    }

    /// The same entries in another order, as they come from an assembly.
    pub(super) fn scattered(&self, seed: u64) -> [Vec<f64>; 2] {
        let [_, rows, columns] = self.made(seed);
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&entry| mix(seed, 73, entry as u64));
        let ordered = |from: &[f64]| order.iter().map(|&entry| from[entry]).collect();
        [ordered(&rows), ordered(&columns)]
    }
}
