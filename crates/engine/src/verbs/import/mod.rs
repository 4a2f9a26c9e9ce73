//! Numbers of other tools, read and stored as what they are: times without a proof. A format is one
//! file and two lines here: `mod` and [`IMPORTERS`].

mod criterion;
mod go;
mod google;
mod hyperfine;
mod importer;

pub use importer::{ImportedRow, Importer};

use crate::bounded::read_text;
use crate::{EngineError, nearest};
use importer::{clean, median_row};
use proofmark_store::Store;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::Path;

/// What was read from one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Imported {
    /// Its name in the store.
    pub name: String,
    /// The format it was read as.
    pub from: String,
    /// The file.
    pub file: String,
    /// Its benchmarks, in order.
    pub rows: Vec<ImportedRow>,
}

/// Every format of a single file; `criterion` reads folders too.
pub static IMPORTERS: &[Importer] =
    &[criterion::IMPORTER, go::IMPORTER, google::IMPORTER, hyperfine::IMPORTER];

/// Longest file that is read.
const LARGEST_MIB: u64 = 256;

/// Reads a file or a folder of criterion's, and keeps it.
///
/// # Errors
/// If it cannot be read, is of no known format, or has no benchmark in it.
pub fn import(store: &Store, path: &Path, from: Option<&str>) -> Result<Imported, EngineError> {
    let broken = |reason: String| EngineError::Import { file: path.display().to_string(), reason };
    let facts = std::fs::metadata(path).map_err(|error| broken(error.to_string()))?;
    let (from, rows) = if facts.is_dir() {
        (criterion::IMPORTER.name, criterion::read_folder(path, criterion::LIMITS).map_err(broken)?)
    } else {
        let text = File::open(path).and_then(|file| read_text(file, LARGEST_MIB));
        let text = text.map_err(|error| broken(error.to_string()))?;
        let importer = chosen(&text, from)
            .ok_or_else(|| broken("its contents are of no format that is known".to_owned()))?;
        (importer.name, (importer.read)(&text).map_err(broken)?)
    };
    if rows.is_empty() {
        return Err(broken(format!("it has no benchmark that reads as {from}")));
    }
    let file = path.display().to_string();
    let mut imported = Imported { name: String::new(), from: from.to_owned(), file, rows };
    imported.name = name_of(path, &imported);
    let bytes = serde_json::to_vec_pretty(&imported).map_err(|error| broken(error.to_string()))?;
    store.keep_import(&imported.name, &bytes)?;
    Ok(imported)
}

/// The import of that name.
///
/// # Errors
/// If there is none, or what lies there is damaged.
pub fn imported(store: &Store, name: &str) -> Result<Imported, EngineError> {
    let unknown = || -> Result<EngineError, EngineError> {
        let known = store.import_names()?;
        let names: Vec<&str> = known.iter().map(String::as_str).collect();
        let nearest = nearest(name, &names).map(str::to_owned);
        Ok(EngineError::UnknownImport { name: name.to_owned(), nearest, known: known.join(", ") })
    };
    let Some(bytes) = store.import(name)? else { return Err(unknown()?) };
    serde_json::from_slice(&bytes).map_err(|error| EngineError::Import {
        file: name.to_owned(),
        reason: format!("the kept file is damaged: {error}"),
    })
}

fn chosen(text: &str, from: Option<&str>) -> Option<&'static Importer> {
    match from {
        Some(name) => IMPORTERS.iter().find(|importer| importer.name == name),
        None => IMPORTERS.iter().find(|importer| (importer.looks_like)(text)),
    }
}

/// The file's name and a hash of what was read: the same file again is the same import.
fn name_of(path: &Path, imported: &Imported) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let stem: String = stem.chars().filter(|&c| is_plain(c)).take(40).collect();
    let rows = serde_json::to_vec(&imported.rows).unwrap_or_default();
    let hash = blake3::hash(&rows).to_hex();
    let stem = if stem.is_empty() { &imported.from } else { &stem };
    format!("{stem}-{}", &hash[..8])
}

#[cfg(test)]
mod tests;
