//! The renderers. A new one is one file and two lines here: `mod` and [`RENDERERS`].

pub(crate) mod csv;
mod html;
mod json;
mod markdown;
mod picture;
mod renderer;
mod spark;
mod svg;
mod term;

pub use csv::csv_line;
pub use html::page_style;
pub use renderer::{Renderer, Style};

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
