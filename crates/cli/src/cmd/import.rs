//! `proofmark import`: numbers of other tools, kept beside the runs.

use super::StorePath;
use crate::exit;
use crate::output::{Failure, Format, print_document, say};
use clap::Args;
use clap::builder::PossibleValuesParser;
use proofmark_engine::{EngineError, IMPORTERS, Imported, import, imported};
use proofmark_report::reports::{self, ImportRow, ImportedFile};
use std::path::PathBuf;

/// Arguments of `import`.
#[derive(Args)]
pub(crate) struct Import {
    /// A file of another tool, or criterion's folder
    #[arg(required_unless_present_any = ["list", "show"])]
    file: Option<PathBuf>,
    /// The format; told from the contents by default
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    from: Option<String>,
    /// List what was imported
    #[arg(long, conflicts_with_all = ["file", "show"])]
    list: bool,
    /// Show an import again
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    show: Option<String>,
    #[command(flatten)]
    store: StorePath,
    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(IMPORTERS.iter().map(|importer| importer.name))
}

impl Import {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let store = self.store.open()?;
        let document = match (&self.file, &self.show) {
            (Some(file), _) => {
                let read = import(&store, file, self.from.as_deref())?;
                say(&format!("kept as {}", read.name));
                reports::import(&shown(read))
            }
            (None, Some(name)) => reports::import(&shown(imported(&store, name)?)),
            (None, None) => {
                let names = store.import_names().map_err(EngineError::from)?;
                let all = names.iter().map(|name| imported(&store, name));
                let all: Vec<Imported> = all.collect::<Result<_, _>>()?;
                reports::imports(&all.into_iter().map(shown).collect::<Vec<_>>())
            }
        };
        print_document(self.format, &document)?;
        Ok(exit::PASS)
    }
}

fn shown(imported: Imported) -> ImportedFile {
    let row = |row: proofmark_engine::ImportedRow| ImportRow {
        name: row.name,
        time: row.time,
        values: row.values,
        source: row.source,
    };
    ImportedFile {
        name: imported.name,
        from: imported.from,
        file: imported.file,
        rows: imported.rows.into_iter().map(row).collect(),
    }
}
