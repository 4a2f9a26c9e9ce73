//! `proofmark selftest`: the tool proves itself on this machine.

use super::{arena, cap};
use crate::exit;
use crate::output::{Failure, Format, print_document};
use crate::progress::Progress;
use clap::{Args, Subcommand};
use proofmark_engine::{OpSelfTest, OtherGateCount, other_gate_names, selftest_gate};
use proofmark_report::reports::{self, SelftestRow};

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

impl Selftest {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let Part::Gate(gate) = &self.part;
        let progress = Progress::new(gate.quiet);
        let test = selftest_gate(&arena()?, &gate.ops, gate.seeds, cap()?, &progress)?;
        progress.finish();
        let rows: Vec<SelftestRow> = test.ops.iter().map(row).collect();
        print_document(gate.format, &reports::selftest(&rows))?;
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
