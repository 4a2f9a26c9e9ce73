//! A document: what people read as sections, and what programs read as data.

use crate::plot::Plot;
use serde_json::Value;
use std::borrow::Cow;
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
    /// How far the number is from the best of its row, in a table that is a map.
    pub shade: Option<Shade>,
    /// More about it, where a renderer can show it on demand.
    pub hint: String,
}

/// How far a time is from the fastest of its case. The number itself is written in the cell too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shade(usize);

impl Shade {
    /// The shades from the fastest to the slowest: the last ratio of each, and its words.
    pub const STEPS: [(f64, &str); 7] = [
        (1.0, "fastest"),
        (1.1, "up to 1.1×"),
        (1.5, "to 1.5×"),
        (2.0, "to 2×"),
        (4.0, "to 4×"),
        (10.0, "to 10×"),
        (f64::INFINITY, "more"),
    ];

    /// The shade of a ratio to the fastest; `None` of what is no ratio.
    pub fn of(ratio: f64) -> Option<Shade> {
        Shade::STEPS.iter().position(|(last, _)| ratio <= *last).map(Shade)
    }

    /// Its place among the steps.
    pub fn index(self) -> usize {
        self.0
    }
}

impl Cell {
    /// A cell without emphasis.
    pub fn plain(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }

    /// A cell that is set off.
    pub fn with(text: impl Into<String>, emphasis: Emphasis) -> Cell {
        Cell { text: text.into(), emphasis: Some(emphasis), ..Cell::default() }
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading, with the unit if all cells share one.
    pub name: Cow<'static, str>,
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
        Column { name: Cow::Borrowed(name), align: Align::Left, rank, wraps: false }
    }

    /// A column of sentences.
    pub const fn text(name: &'static str, rank: u8) -> Column {
        Column { name: Cow::Borrowed(name), align: Align::Left, rank, wraps: true }
    }

    /// A column of numbers.
    pub const fn right(name: &'static str, rank: u8) -> Column {
        Column { name: Cow::Borrowed(name), align: Align::Right, rank, wraps: false }
    }
}

impl Column {
    /// The column with another heading.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Column {
        Column { name: Cow::Owned(name.into()), ..self }
    }
}

/// A number that stands for a whole run, with what it counts.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyFigure {
    /// The number.
    pub value: String,
    /// What it counts.
    pub label: String,
    /// How it is set off.
    pub emphasis: Option<Emphasis>,
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
    /// Whether it is read at a glance, by the shades of its cells.
    pub is_map: bool,
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
    /// What must be looked at before a number is used.
    RedFlags(Vec<String>),
    /// Numbers for the first glance. The text beside them says the same in a sentence.
    KeyFigures(Vec<KeyFigure>),
    /// Sections that are shown on demand.
    Details(Details),
}

/// Sections that are shown on demand.
#[derive(Clone, Debug, PartialEq)]
pub struct Details {
    /// What they are about.
    pub summary: String,
    /// The command that shows them where nothing can be opened.
    pub command: String,
    /// The sections.
    pub sections: Vec<Section>,
}

/// A report before it is bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// Where and when, below the title; empty if that is not known.
    pub subtitle: String,
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
        let (title, subtitle) = (title.into(), String::new());
        Document { title, subtitle, sections: Vec::new(), data, lines }
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

    /// The plots, those within details too.
    pub fn plots(&self) -> impl Iterator<Item = &Plot> {
        fn collect<'a>(sections: &'a [Section], found: &mut Vec<&'a Plot>) {
            for section in sections {
                match section {
                    Section::Plot(plot) => found.push(plot),
                    Section::Details(details) => collect(&details.sections, found),
                    _ => {}
                }
            }
        }
        let mut found = Vec::new();
        collect(&self.sections, &mut found);
        found.into_iter()
    }

    /// Adds what `fill` adds as details, unless it adds nothing.
    pub fn details(&mut self, summary: impl Into<String>, fill: impl FnOnce(&mut Document)) {
        let outer = std::mem::take(&mut self.sections);
        fill(self);
        let sections = std::mem::replace(&mut self.sections, outer);
        if !sections.is_empty() {
            let (summary, command) = (summary.into(), String::new());
            self.sections.push(Section::Details(Details { summary, command, sections }));
        }
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
            let (title, columns) = (title.into(), columns.to_vec());
            self.sections.push(Section::Table(Table { title, columns, rows, is_map: false }));
        }
    }

    /// Adds a table that is read by its shades, unless it has no rows.
    pub fn map(&mut self, title: impl Into<String>, columns: Vec<Column>, rows: Vec<Vec<Cell>>) {
        if !rows.is_empty() {
            let table = Table { title: title.into(), columns, rows, is_map: true };
            self.sections.push(Section::Table(table));
        }
    }
}
