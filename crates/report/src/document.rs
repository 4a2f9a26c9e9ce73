//! A document: what people read as sections, and what programs read as data.

use crate::plot::Plot;
use serde_json::Value;
use std::sync::Arc;

/// What the colour of a cell says, where there is colour. Colour never carries a meaning alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emphasis {
    /// As it should be, or the best.
    Good,
    /// Wrong, or suspicious.
    Bad,
    /// Of less interest.
    Dim,
}

/// The raw slices behind a number, where a renderer can show them on demand.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// Whose they are.
    pub name: String,
    /// Slices that were measured; of many, only some are kept here.
    pub measured: usize,
    /// Nanoseconds of a call, trial by trial, in the order in which they ran.
    pub trials: Vec<Vec<f64>>,
    /// Low end, estimate and high end of the number.
    pub interval: [f64; 3],
}

/// One cell of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// The text, as it came; renderers make it harmless.
    pub text: String,
    /// How it is set off.
    pub emphasis: Option<Emphasis>,
    /// What the number was made of.
    pub samples: Option<Arc<Samples>>,
}

impl Cell {
    /// A cell without emphasis.
    pub fn plain(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }

    /// A cell that is set off.
    pub fn with(text: impl Into<String>, emphasis: Emphasis) -> Cell {
        Cell { text: text.into(), emphasis: Some(emphasis), samples: None }
    }

    /// What stands where nothing was measured.
    pub fn nothing() -> Cell {
        Cell::with("–", Emphasis::Dim)
    }
}

/// On which side the cells of a column stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading, with the unit if all cells share one.
    pub name: &'static str,
    /// Where its cells stand.
    pub align: Align,
    /// 0: always shown. Where a table is too wide, columns of the highest rank go first.
    pub rank: u8,
    /// Whether its cells are sentences, which may be broken into lines.
    pub wraps: bool,
}

impl Column {
    /// A column of words.
    pub const fn left(name: &'static str, rank: u8) -> Column {
        Column { name, align: Align::Left, rank, wraps: false }
    }

    /// A column of sentences.
    pub const fn text(name: &'static str, rank: u8) -> Column {
        Column { name, align: Align::Left, rank, wraps: true }
    }

    /// A column of numbers.
    pub const fn right(name: &'static str, rank: u8) -> Column {
        Column { name, align: Align::Right, rank, wraps: false }
    }
}

/// A table; every row has one cell for each column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Section {
    /// What the sections up to the next one are about.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// A table.
    Table(Table),
    /// A plot.
    Plot(Plot),
    /// A remark of less weight.
    Note(String),
    /// A command to copy; never wrapped.
    Command(String),
}

/// A report before it is bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// What people read.
    pub sections: Vec<Section>,
    /// What programs read.
    pub data: Value,
    /// The member of `data` whose elements are the lines of JSON lines; empty: `data` is one line.
    pub lines: &'static str,
}

impl Document {
    /// A document without sections.
    pub fn new(title: impl Into<String>, data: Value, lines: &'static str) -> Document {
        Document { title: title.into(), sections: Vec::new(), data, lines }
    }

    /// Begins a part.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.sections.push(Section::Heading(text.into()));
    }

    /// Adds a plot, unless it has no points.
    pub fn plot(&mut self, plot: Plot) {
        if plot.series.iter().any(|series| !series.points.is_empty()) {
            self.sections.push(Section::Plot(plot));
        }
    }

    /// The plots.
    pub fn plots(&self) -> impl Iterator<Item = &Plot> {
        self.sections.iter().filter_map(|section| match section {
            Section::Plot(plot) => Some(plot),
            _ => None,
        })
    }

    /// Adds a paragraph.
    pub fn text(&mut self, text: impl Into<String>) {
        self.sections.push(Section::Text(text.into()));
    }

    /// Adds a remark.
    pub fn note(&mut self, text: impl Into<String>) {
        self.sections.push(Section::Note(text.into()));
    }

    /// Adds a command, unless it is empty.
    pub fn command(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.sections.push(Section::Command(text));
        }
    }

    /// Adds a table, unless it has no rows.
    pub fn table(&mut self, title: impl Into<String>, columns: &[Column], rows: Vec<Vec<Cell>>) {
        if !rows.is_empty() {
            let table = Table { title: title.into(), columns: columns.to_vec(), rows };
            self.sections.push(Section::Table(table));
        }
    }
}
