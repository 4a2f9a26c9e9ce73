//! The renderers. A new one is one file and two lines here: `mod` and [`RENDERERS`].

pub(crate) mod csv;
mod html;
mod json;
mod markdown;
mod picture;
mod svg;
mod term;

use crate::Document;

/// What a renderer is told about where its text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether colour is wanted.
    pub colour: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style { width: 100, colour: false }
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

/// Every renderer; the first is the default.
pub static RENDERERS: &[Renderer] = &[
    term::RENDERER,
    markdown::RENDERER,
    json::RENDERER,
    json::LINES_RENDERER,
    csv::RENDERER,
    html::RENDERER,
    svg::RENDERER,
];

/// The renderer of that name.
pub fn find(name: &str) -> Option<&'static Renderer> {
    RENDERERS.iter().find(|renderer| renderer.name == name)
}
