//! `proofmark compare`: which of two contenders is faster, decided.

use super::{DEFAULT_SEED, arena, cap};
use crate::exit;
use crate::output::{Failure, Format, print_document};
use crate::progress::Progress;
use clap::Args;
use proofmark_engine::{CompareRequest, Compared, compare};
use proofmark_report::reports::{self, ProveRow};
use proofmark_schema::ContenderId;
use proofmark_schema::race::Verdict;

/// Arguments of `compare`.
#[derive(Args)]
pub(crate) struct Compare {
    /// The contender that is compared with, as `native/simd@avx2`
    base: ContenderId,
    /// The other contender, as `native/simd@avx512`
    other: ContenderId,
    /// The case, as `rms_norm:f32[b=1,s=128,d=4096]`
    #[arg(long)]
    case: String,
    /// Threads each may use
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Error rate of the verdict
    #[arg(long, default_value_t = 0.01, value_parser = share)]
    alpha: f64,
    /// Differences below this many per cent are not reported as a change
    #[arg(long, default_value_t = 0.5, value_parser = percent)]
    report_margin: f64,
    /// Differences below this many per cent are called the same
    #[arg(long, default_value_t = 1.0, value_parser = percent)]
    margin: f64,
    /// Seconds after which no further trial starts
    #[arg(long, default_value_t = 60.0)]
    seconds: f64,
    /// Seed of inputs, layouts and orders
    #[arg(long, default_value_t = DEFAULT_SEED)]
    seed: u64,
    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Say nothing while working
    #[arg(long, short)]
    quiet: bool,
}

impl Compare {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let request = CompareRequest {
            base: self.base.clone(),
            other: self.other.clone(),
            case: self.case.clone(),
            threads: usize::from(self.threads),
            seed: self.seed,
            alpha: self.alpha,
            report_margin: self.report_margin / 100.0,
            same_margin: self.margin / 100.0,
            seconds: self.seconds,
            cap: cap()?,
        };
        let progress = Progress::new(self.quiet);
        let compared = compare(&arena()?, &request, &progress)?;
        progress.finish();
        match compared {
            Compared::Ruled(ruled) => {
                let (race, ruling) = *ruled;
                print_document(self.format, &reports::compare(&race, &ruling))?;
                Ok(match ruling.comparison.verdict {
                    Verdict::Faster | Verdict::Same => exit::PASS,
                    Verdict::Slower => exit::REGRESSION,
                    Verdict::Undecided => exit::UNDECIDED,
                })
            }
            Compared::Refused(proof) => {
                let rows: Vec<ProveRow> = ProveRow::of(&[&proof]).into_iter().collect();
                print_document(self.format, &reports::prove(&rows))?;
                Ok(match exit::of_outcomes(std::iter::once(proof.outcome)) {
                    // Somebody who does not do the case cannot be compared on it.
                    exit::PASS => exit::ENVIRONMENT,
                    code => code,
                })
            }
            Compared::Failed(fault) => {
                Err(Failure { message: fault.to_string(), hint: None, code: exit::CRASHED })
            }
        }
    }
}

fn share(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "write a number such as 0.01")?;
    if value > 0.0 && value < 0.5 { Ok(value) } else { Err("it lies between 0 and 0.5".into()) }
}

fn percent(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "write per cent, such as 1")?;
    if value > 0.0 && value < 100.0 { Ok(value) } else { Err("it lies between 0 and 100".into()) }
}
