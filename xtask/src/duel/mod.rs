//! The same kernels with the same planted effects through other harnesses and through ours.

mod frontier;
mod harness;
mod noise;
mod options;
mod plan;
mod record;
mod rig;
mod run;
mod setup;
mod table;
mod track;

use std::path::Path;

use crate::Failure;

pub(crate) const USAGE: &str = "\
usage: cargo xtask duel COMMAND

commands:
  setup   install the other harnesses, build them around our kernels, build proofmark
  run     compare and append to records/duel; what is recorded is not done again
          [--harness a,b] [--classes SMTL] [--regimes N0,N1,N2,N3,N4] [--planted 0,1,2,5]
          [--count N] [--budget SECONDS] [--shard K/N] [--minutes M]

`cargo xtask docs` writes the tables and the plot from the records.
";

/// Runs one command of the duel.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), Failure> {
    match words {
        ["setup"] => setup::run(root),
        ["run", rest @ ..] => run::run(root, &options::Options::parse(rest)?),
        // Started by `run`, as a child of its own.
        ["hog", regime, seconds] => noise::hog(regime, seconds),
        _ => Err(format!("no such command\n{USAGE}")),
    }
}

/// The tables of the duel, from the records.
pub(crate) fn tables(root: &Path) -> Result<String, Failure> {
    Ok(table::markdown(&record::read_all(root)?))
}

/// The plot of the duel, from the records.
pub(crate) fn picture(root: &Path) -> Result<String, Failure> {
    Ok(frontier::svg(&record::read_all(root)?))
}
