//! The commands, one file each.

pub(crate) mod bench;
pub(crate) mod compare;
pub(crate) mod doctor;
pub(crate) mod list;
pub(crate) mod machine;
pub(crate) mod prove;
pub(crate) mod replay;
pub(crate) mod repro;
pub(crate) mod selftest;
pub(crate) mod worker;

use crate::output::{Failure, env};
use proofmark_engine::{Arena, isa_cap};
use proofmark_schema::Isa;

/// What every command that runs workers needs: workers are this very program.
fn arena() -> Result<Arena, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::environment(format!("cannot find this program: {error}")))?;
    Ok(Arena::new(program, vec!["__worker".into()]))
}

/// The highest path kernels may take: `PROOFMARK_ISA` caps it.
fn cap() -> Result<Isa, Failure> {
    Ok(isa_cap(env("PROOFMARK_ISA").as_deref())?)
}

/// A seed that is printed, so that a run can be repeated.
const DEFAULT_SEED: u64 = 20_261_115;

/// Where runs are kept.
#[derive(clap::Args)]
pub(crate) struct StorePath {
    /// Folder that runs are kept in
    #[arg(long, env = "PROOFMARK_STORE", default_value = ".proofmark")]
    store: std::path::PathBuf,
}
