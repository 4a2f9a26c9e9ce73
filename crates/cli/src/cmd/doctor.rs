//! `proofmark doctor`: may this machine be trusted with a measurement today?

use super::StorePath;
use crate::exit;
use crate::output::{Failure, Format, print_document};
use clap::Args;
use proofmark_engine::doctor;
use proofmark_report::reports::{self, DoctorCheck};
use proofmark_schema::machine::CheckState;

/// Arguments of `doctor`.
#[derive(Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    store: StorePath,
    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

impl Doctor {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let checks = doctor(&self.store.store);
        let has_problem = checks.iter().any(|check| check.state == CheckState::Problem);
        let rows: Vec<DoctorCheck> = checks
            .into_iter()
            .map(|check| DoctorCheck {
                name: check.name.to_owned(),
                state: check.state,
                detail: check.detail,
                hint: check.hint,
            })
            .collect();
        print_document(self.format, &reports::doctor(&rows))?;
        Ok(if has_problem { exit::ENVIRONMENT } else { exit::PASS })
    }
}
