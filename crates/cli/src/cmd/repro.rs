//! `proofmark repro`: one contender on one case again.

use super::{DEFAULT_SEED, Isolated, arena, cap, shelf};
use crate::exit;
use crate::output::{Failure, Format, print_document};
use clap::Args;
use proofmark_engine::{EngineError, check_contender, check_specimen, find_op, reproduce};
use proofmark_report::reports::{self, ProveRow};
use proofmark_schema::{Case, ContenderId, Family};

/// Arguments of `repro`.
#[derive(Args)]
pub(crate) struct Repro {
    /// The case, as `rms_norm:f32[b=32,s=512,d=768]`
    case: String,
    /// The contender, as `native/simd@avx512`
    #[arg(long)]
    with: ContenderId,
    /// Seed of the inputs
    #[arg(long, default_value_t = DEFAULT_SEED)]
    seed: u64,
    /// Threads it is given
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    #[command(flatten)]
    isolated: Isolated,
    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

impl Repro {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let case: Case = self.case.parse().map_err(EngineError::from)?;
        let entry = find_op(&case.op)?;
        match self.with.family {
            Family::Planted => check_specimen(&self.with)?,
            _ => check_contender(entry, &self.with, &shelf())?,
        }
        let threads = usize::from(self.threads);
        let arena = arena(self.isolated.isolation)?;
        let proof = reproduce(&arena, &self.case, &self.with, self.seed, threads, cap()?)?;
        let rows: Vec<ProveRow> = ProveRow::of(&[&proof]).into_iter().collect();
        print_document(self.format, &reports::prove(&rows, 0))?;
        Ok(exit::of_outcomes(std::iter::once(proof.outcome)))
    }
}
