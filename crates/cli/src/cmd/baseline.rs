//! `proofmark baseline`: worker programs that are kept, so that they can be run again.

use super::{BuildCache, Isolated, RepoPath, StorePath, Workbench, arm};
use crate::exit;
use crate::output::{Failure, Format, print_document};
use clap::{Args, Subcommand};
use proofmark_engine::{Arm, EngineError, Shelf};
use proofmark_report::reports;
use proofmark_schema::{Artefact, ContenderId};

/// Arguments of `baseline`.
#[derive(Args)]
pub(crate) struct Baseline {
    #[command(subcommand)]
    deed: Deed,
    #[command(flatten)]
    store: StorePath,
    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table, global = true)]
    format: Format,
    /// Say nothing while working
    #[arg(long, short, global = true)]
    quiet: bool,
}

#[derive(Subcommand)]
enum Deed {
    /// Keep this program, or that of a revision, under a name
    Save(Save),
    /// List all that are kept
    List,
    /// Show one and check its program
    Show {
        /// Its name
        name: String,
    },
    /// Forget one
    Remove {
        /// Its name
        name: String,
    },
}

#[derive(Args)]
struct Save {
    /// Its name, for `compare baseline:NAME …`
    name: String,
    /// What is kept, as `rev:HEAD`; this program by default
    #[arg(long, value_name = "ARM", value_parser = arm)]
    from: Option<Arm>,
    /// The contender that is meant where none is named
    #[arg(long)]
    contender: Option<ContenderId>,
    #[command(flatten)]
    isolated: Isolated,
    #[command(flatten)]
    repo: RepoPath,
    #[command(flatten)]
    builds: BuildCache,
}

impl Baseline {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let store = self.store.open()?;
        let shown = match &self.deed {
            Deed::Save(save) => vec![(save.name.clone(), self.save(save)?)],
            Deed::List => store.artefacts(Shelf::Baselines).map_err(EngineError::from)?,
            Deed::Show { name } => {
                let artefact = store.baseline(name).map_err(EngineError::from)?;
                store.program(&artefact).map_err(EngineError::from)?;
                vec![(name.clone(), artefact)]
            }
            Deed::Remove { name } => {
                let removed = store.remove_baseline(name).map_err(EngineError::from)?;
                vec![(name.clone(), removed)]
            }
        };
        print_document(self.format, &reports::baseline(&shown))?;
        Ok(exit::PASS)
    }

    fn save(&self, save: &Save) -> Result<Artefact, Failure> {
        let level = save.isolated.isolation;
        let workbench = Workbench::open(&self.store, &save.builds, level, self.quiet)?;
        let programs = workbench.programs(&save.repo.repo);
        let kept =
            programs.save_baseline(&save.name, save.from.as_ref(), save.contender.as_ref())?;
        workbench.progress.finish();
        Ok(kept)
    }
}
