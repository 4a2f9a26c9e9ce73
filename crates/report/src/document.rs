//! A document: what people read as sections, and what programs read as data.

use serde_json::Value;

/// What is said about a cell by colour, where there is colour; never the only bearer of meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emphasis {
    /// As it should be, or the best.
    Good,
    /// Wrong, or suspicious.
    Bad,
    /// Of less interest.
    Dim,
}

/// One cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// The text, as it came; renderers make it harmless.
    pub text: String,
    /// How it is set off.
    pub emphasis: Option<Emphasis>,
}

impl Cell {
    /// A cell without emphasis.
    pub fn plain(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), emphasis: None }
    }

    /// A cell that is set off.
    pub fn with(text: impl Into<String>, emphasis: Emphasis) -> Cell {
        Cell { text: text.into(), emphasis: Some(emphasis) }
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Section {
    /// A paragraph.
    Text(String),
    /// A table.
    Table(Table),
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
