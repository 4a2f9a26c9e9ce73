//! `proofmark costs`: what the runtime itself costs, beside targets.

use super::cap;
use crate::exit;
use crate::output::{Failure, Format, print_document};
use clap::Args;
use proofmark_engine::{Cost, CostUnit, TARGETS, Target, costs, read_targets};
use proofmark_report::reports::{self, CostRow};
use std::path::PathBuf;

/// Arguments of `costs`.
#[derive(Args)]
pub(crate) struct Costs {
    /// Targets in TOML, as `suites/seeds/002-targets.toml` has them; those by default
    #[arg(long, value_name = "FILE")]
    targets: Option<PathBuf>,
    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

impl Costs {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let text = match &self.targets {
            None => TARGETS.to_owned(),
            Some(path) => std::fs::read_to_string(path).map_err(|error| {
                Failure::environment(format!("cannot read {}: {error}", path.display()))
            })?,
        };
        let targets = read_targets(&text)?;
        let rows: Vec<CostRow> =
            costs(cap()?)?.into_iter().map(|cost| row(cost, &targets)).collect();
        print_document(self.format, &reports::costs(&rows))?;
        Ok(exit::PASS)
    }
}

fn row(cost: Cost, targets: &[Target]) -> CostRow {
    let target = targets.iter().find(|target| target.is_met(&cost).is_some());
    CostRow {
        is_met: target.and_then(|target| target.is_met(&cost)),
        target: target.map(|target| target.says.clone()),
        name: cost.name,
        value: cost.value,
        worst: cost.worst,
        unit: match cost.unit {
            CostUnit::Nanos => "ns",
            CostUnit::Percent => "%",
            CostUnit::GigabytesPerSecond => "GB/s",
        },
    }
}
