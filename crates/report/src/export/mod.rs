//! A run in the formats of other tools. A new one is one file and two lines here: `mod` and
//! [`EXPORTERS`].
//!
//! A contender that was not proven has no time here either. It appears where a format knows
//! failures, and is left out elsewhere ([`Exported::left_out`] counts it).

mod bmf;
mod criterion;
mod csv;
mod exporter;
mod flashinfer;
mod gha;
mod github;
mod go;
mod google;
mod hud;
mod junit;
mod parquet;

pub use exporter::{ExportFile, ExportOptions, ExportRow, Exported, Exporter};
pub use github::annotations;

use exporter::{json_bytes, single, text};

/// Every format.
pub static EXPORTERS: &[Exporter] = &[
    go::EXPORTER,
    criterion::EXPORTER,
    gha::EXPORTER,
    bmf::EXPORTER,
    junit::EXPORTER,
    hud::EXPORTER,
    csv::EXPORTER,
    google::EXPORTER,
    github::EXPORTER,
    parquet::EXPORTER,
    flashinfer::EXPORTER,
];

/// The format of that name.
pub fn find(name: &str) -> Option<&'static Exporter> {
    EXPORTERS.iter().find(|exporter| exporter.name == name)
}

#[cfg(test)]
pub(crate) mod tests;
