//! From findings to documents; from documents to bytes.
//!
//! A report turns data into a [`Document`]; a renderer turns any document into text. Neither
//! knows of the other, and none of them writes anywhere: the caller has the bytes.
#![forbid(unsafe_code)]

mod document;
pub mod export;
#[cfg(test)]
mod fixture;
mod flat;
mod plain;
mod plot;
mod read;
pub mod render;
pub mod reports;

pub use document::{
    Align, Cell, Column, Details, Document, Emphasis, KeyFigure, Samples, Section, Shade, Table,
};
pub use flat::flat_record;
pub use plain::{Span, markup, plain};
pub use plot::{Plot, PlotAxis, PlotKind, Point, Series};
pub use read::{BenchFile, ReadError, read_bench};
pub use render::{RENDERERS, Renderer, Style, csv_line, find};
