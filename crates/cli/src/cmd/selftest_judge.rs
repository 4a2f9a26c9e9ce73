//! `proofmark selftest judge`: planted cheats and odd but honest kernels, both rates.

use super::quantities::seconds;
use super::{DEFAULT_SEED, Devices, Isolated, Shown, arena, cap, shelf};
use crate::exit;
use crate::output::{Failure, print_document};
use crate::progress::Progress;
use clap::Args;
use proofmark_engine::{JudgeRequest, JudgeVerdict, judge_verdict, selftest_judge};
use proofmark_report::reports;

/// Arguments of `selftest judge`.
#[derive(Args)]
pub(super) struct Judge {
    /// Ops; softmax, rms_norm and matmul by default
    #[arg(value_name = "OP")]
    ops: Vec<String>,
    /// Only specimens whose name contains this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// How often each is judged
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    runs: u16,
    /// Busy threads beside the races; each number is tried
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "0",
          value_parser = clap::value_parser!(u16).range(0..=256))]
    load: Vec<u16>,
    /// Only honest kernels
    #[arg(long, conflicts_with = "cheats_only")]
    honest_only: bool,
    /// Only cheats and faults
    #[arg(long)]
    cheats_only: bool,
    /// Judge every shipped kernel of the ops as an honest one too
    #[arg(long)]
    honest: bool,
    /// Judge every installed peer as an honest kernel too
    #[arg(long)]
    peers: bool,
    /// Seconds after which a race starts no further trial
    #[arg(long, default_value_t = 0.6, value_parser = seconds)]
    seconds: f64,
    /// Seed of inputs, layouts and orders
    #[arg(long, default_value_t = DEFAULT_SEED)]
    seed: u64,
    #[command(flatten)]
    devices: Devices,
    #[command(flatten)]
    isolated: Isolated,
    #[command(flatten)]
    shown: Shown,
}

impl Judge {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        let progress = Progress::new(self.shown.quiet);
        let request = JudgeRequest {
            ops: self.ops.clone(),
            only: self.only.clone(),
            runs: usize::from(self.runs),
            load: self.load.iter().copied().map(usize::from).collect(),
            cheats: !self.honest_only,
            honest: !self.cheats_only,
            kernels: self.honest,
            peers: self.peers.then(shelf),
            devices: self.devices.patterns(),
            seconds: self.seconds,
            seed: self.seed,
            cap: cap()?,
        };
        let runs = selftest_judge(&arena(self.isolated.isolation)?, &request, &progress)?;
        progress.finish();
        print_document(self.shown.format, &reports::judge(&runs))?;
        Ok(match judge_verdict(&runs) {
            JudgeVerdict::Held => exit::PASS,
            JudgeVerdict::Won => exit::INTEGRITY,
            JudgeVerdict::Accused => exit::INCORRECT,
            JudgeVerdict::Undecided => exit::UNDECIDED,
        })
    }
}
