//! `proofmark selftest`: the tool proves itself on this machine.

use super::{DEFAULT_SEED, arena, cap};
use crate::exit;
use crate::output::{Failure, Format, print_document};
use crate::progress::Progress;
use clap::{Args, Subcommand};
use proofmark_engine::{
    OpSelfTest, OtherGateCount, TimingRow, other_gate_names, selftest_gate, selftest_timing,
};
use proofmark_report::reports::{self, SelftestRow, TimingLine};

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
}

#[derive(Args)]
struct Gate {
    /// Ops; all by default
    #[arg(value_name = "OP")]
    ops: Vec<String>,
    /// How many seeds each is tried with
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Say nothing while working
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Args)]
struct Timing {
    /// Live comparisons for each kernel and planted effect
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    comparisons: u16,
    /// Classes of kernels: S within the cache, M streaming, T all processors, L long calls
    #[arg(long, default_value = "SMTL")]
    classes: String,
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

impl Selftest {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        match &self.part {
            Part::Gate(gate) => gate.run(),
            Part::Timing(timing) => timing.run(),
        }
    }
}

impl Timing {
    fn run(&self) -> Result<u8, Failure> {
        let progress = Progress::new(self.quiet);
        let comparisons = usize::from(self.comparisons);
        let (classes, seed) = (&self.classes, self.seed);
        let rows = selftest_timing(&arena()?, comparisons, classes, seed, cap()?, &progress)?;
        progress.finish();
        let lines: Vec<TimingLine> = rows.iter().map(timing_line).collect();
        print_document(self.format, &reports::timing(&lines))?;
        Ok(exit::PASS)
    }
}

fn timing_line(row: &TimingRow) -> TimingLine {
    let at = |share: f64| {
        let last = row.seconds.len().saturating_sub(1) as f64;
        row.seconds.get((share * last).round() as usize).copied().unwrap_or(0.0)
    };
    let mut detectable = row.detectable.clone();
    detectable.sort_by(f64::total_cmp);
    TimingLine {
        class: row.class,
        contender: row.contender.clone(),
        case: row.case.clone(),
        planted_percent: row.planted,
        comparisons: row.comparisons,
        slower: row.slower,
        faster: row.faster,
        same: row.same,
        covered: row.covered,
        seconds_median: at(0.5),
        seconds_p90: at(0.9),
        detectable_percent: detectable.get(detectable.len() / 2).map(|share| 100.0 * share),
    }
}

impl Gate {
    fn run(&self) -> Result<u8, Failure> {
        let progress = Progress::new(self.quiet);
        let test = selftest_gate(&arena()?, &self.ops, self.seeds, cap()?, &progress)?;
        progress.finish();
        let rows: Vec<SelftestRow> = test.ops.iter().map(row).collect();
        print_document(self.format, &reports::selftest(&rows))?;
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
