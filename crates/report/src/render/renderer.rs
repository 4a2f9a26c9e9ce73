//! What a renderer is: a name, and a function from a document to text.

use crate::Document;

/// What a renderer is told about where its text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether colour is wanted.
    pub colour: bool,
    /// Whether the slices behind a time are drawn next to it.
    pub sparklines: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style { width: 100, colour: false, sparklines: false }
    }
}

/// A way to turn a document into text.
#[derive(Clone, Copy, Debug)]
pub struct Renderer {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is for.
    pub summary: &'static str,
    /// The text, which ends with a line break.
    pub render: fn(&Document, &Style) -> String,
}
