//! `proofmark selftest`: the tool proves itself on this machine.

use super::quantities::seconds;
use super::{Devices, Shown, arena, cap, drawn_seed, own, shelf};
use crate::exit;
use crate::output::{Failure, print_document};
use crate::progress::Progress;
use clap::{Args, Subcommand};
use proofmark_engine::{
    GateRequest, OpSelfTest, OtherGateCount, PLANTED, References, TimingRequest, TimingVerdict,
    loop_overheads, other_gate_names, sandbox_costs, selftest_gate, selftest_sandbox,
    selftest_timing, start_cost, timing_verdict,
};
use proofmark_report::reports::{self, SelftestRow};
use std::path::PathBuf;

/// Arguments of `selftest`.
#[derive(Args)]
pub(crate) struct Selftest {
    #[command(subcommand)]
    part: Part,
}

#[derive(Subcommand)]
enum Part {
    /// Every wrong kernel must be refused, no right one may be
    Gate(Gate),
    /// Same code must not be called different, planted slowdowns must be found
    Timing(Timing),
    /// Planted cheats must not win, honest kernels must not be accused
    Judge(super::selftest_judge::Judge),
    /// Every known way out of the sandbox must be refused and reported
    Sandbox(Sandbox),
}

#[derive(Args)]
struct Sandbox {
    /// Do not measure what the sandbox costs
    #[arg(long)]
    skip_cost: bool,
    /// Seconds after which a race starts no further trial
    #[arg(long, default_value_t = 10.0, value_parser = seconds)]
    seconds: f64,
    #[command(flatten)]
    shown: Shown,
}

#[derive(Args)]
struct Gate {
    /// Ops; all by default
    #[arg(value_name = "OP")]
    ops: Vec<String>,
    /// How many seeds each is tried with
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Try the installed peers as right kernels too
    #[arg(long)]
    peers: bool,
    #[command(flatten)]
    devices: Devices,
    /// Judge by references in place of the ops' own oracles: a folder with an own op for each
    #[arg(long, value_name = "FOLDER")]
    reference: Option<PathBuf>,
    #[command(flatten)]
    shown: Shown,
}

#[derive(Args)]
struct Timing {
    /// Live comparisons for each kernel and planted effect
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    comparisons: u16,
    /// Classes of kernels: S within the cache, M streaming, T all processors, L long calls, D on a
    /// device (see `--device`)
    #[arg(long, default_value = "SMTLD")]
    classes: String,
    /// Only kernels whose case contains this text
    #[arg(long, default_value = "")]
    track: String,
    #[command(flatten)]
    devices: Devices,
    /// Planted slowdowns in per cent, at most 5; 0 is the same code twice
    #[arg(long, value_delimiter = ',', default_values_t = PLANTED,
          value_parser = clap::value_parser!(u64).range(0..=5))]
    planted: Vec<u64>,
    /// Seconds after which a comparison starts no further trial
    #[arg(long, default_value_t = 30.0, value_parser = seconds)]
    seconds: f64,
    /// Do not measure what slices cost against a bare loop
    #[arg(long)]
    skip_overhead: bool,
    /// Seed of inputs, layouts and orders; drawn at random and printed unless it is given
    #[arg(long, default_value_t = drawn_seed(), hide_default_value = true)]
    seed: u64,
    #[command(flatten)]
    shown: Shown,
}

impl Selftest {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        match &self.part {
            Part::Gate(gate) => gate.run(),
            Part::Timing(timing) => timing.run(),
            Part::Judge(judge) => judge.run(),
            Part::Sandbox(sandbox) => sandbox.run(),
        }
    }
}

impl Sandbox {
    fn run(&self) -> Result<u8, Failure> {
        let progress = Progress::new(self.shown.quiet);
        let arena = arena(None)?;
        let tried = selftest_sandbox(&arena, &progress)?;
        let (mut costs, mut start) = (Vec::new(), None);
        if !self.skip_cost {
            costs = sandbox_costs(&arena, self.seconds, drawn_seed(), cap()?, &progress)?;
            start = Some(start_cost(&arena)?);
        }
        progress.finish();
        print_document(self.shown.format, &reports::sandbox(&tried, &costs, start))?;
        let has_held = tried.iter().all(|one| !one.is_open && one.is_reported());
        Ok(if has_held { exit::PASS } else { exit::INTEGRITY })
    }
}

impl Timing {
    fn run(&self) -> Result<u8, Failure> {
        let progress = Progress::new(self.shown.quiet);
        let request = TimingRequest {
            comparisons: usize::from(self.comparisons),
            classes: self.classes.clone(),
            track: self.track.clone(),
            devices: self.devices.patterns(),
            planted: self.planted.clone(),
            seconds: self.seconds,
            seed: self.seed,
            cap: cap()?,
        };
        let arena = arena(None)?;
        let comparisons = selftest_timing(&arena, &request, &progress)?;
        let overheads = match self.skip_overhead {
            true => Vec::new(),
            false => loop_overheads(&arena, self.seed, cap()?, &progress)?,
        };
        progress.finish();
        print_document(self.shown.format, &reports::timing(&comparisons, &overheads))?;
        Ok(match timing_verdict(&comparisons) {
            TimingVerdict::Held => exit::PASS,
            TimingVerdict::FalseAlarms => exit::INCORRECT,
            TimingVerdict::Blind => exit::UNDECIDED,
        })
    }
}

impl Gate {
    /// The right kernels that are tried.
    fn patterns(&self) -> String {
        let peers = if self.peers { " peer/*" } else { "" };
        format!("native/*@* opencl/*{peers}")
    }

    fn run(&self) -> Result<u8, Failure> {
        let progress = Progress::new(self.shown.quiet);
        let references = self.reference.clone();
        let request = GateRequest {
            ops: self.ops.clone(),
            seeds: self.seeds,
            cap: cap()?,
            with: self.patterns(),
            shelf: shelf().on(&self.devices.device),
            references: references
                .map(|folder| References { folder, interpreter: own::interpreter() }),
        };
        let test = selftest_gate(&arena(None)?, &request, &progress)?;
        progress.finish();
        let rows: Vec<SelftestRow> = test.ops.iter().map(row).collect();
        print_document(self.shown.format, &reports::selftest(&rows))?;
        Ok(if test.passed() { exit::PASS } else { exit::INCORRECT })
    }
}

fn row(op: &OpSelfTest) -> SelftestRow {
    let count = |count: &OtherGateCount| reports::OtherGateCount {
        caught: count.caught,
        of: count.of,
        correct_refused: count.correct_refused,
    };
    let others = other_gate_names().map(str::to_owned).zip(op.others.iter().map(count));
    SelftestRow {
        op: op.op.to_owned(),
        mutants: op.mutants,
        killed: op.mutants_killed,
        results: op.results,
        results_killed: op.results_killed,
        correct: op.correct,
        correct_refused: op.correct_refused,
        other_gates: others.collect(),
        survivors: op.survivors.clone(),
        wrongly_refused: op.wrongly_refused.clone(),
    }
}
