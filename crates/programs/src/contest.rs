//! Two benchmarks, or two commands, as the two sides of a race.

use crate::harness::{Bench, measuring, reading};
use crate::output::{Shown, difference};
use crate::process::{Ended, Failed, Pinned, Scratch, now_ns};
use crate::race::{Arms, Sampled};
use proofmark_schema::program::{Harness, ProgramFault, ProgramOutcome};
use std::path::{Path, PathBuf};

/// Processor time over wall time above which a program uses several processors.
const PARALLEL: f64 = 1.2;
/// A process is ended after this many times what a rehearsal took, and never before
/// [`LEAST_TIMEOUT_NS`].
const PATIENCE: u64 = 50;
const LEAST_TIMEOUT_NS: u64 = 60_000_000_000;

/// How the two sides are run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether all processes are kept on one processor.
    pub is_pinned: bool,
    /// Time after which the first process of a side is ended.
    pub timeout_ns: u64,
}

/// Why a contest has no race, or no further sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A side failed.
    Fault(ProgramFault),
    /// The outputs differ, and where.
    Differs(String),
}

/// What a rehearsal showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Rehearsed {
    /// The mean time of one process over both sides.
    pub process_ns: f64,
    /// What is known about the results so far.
    pub outcome: ProgramOutcome,
    /// Why outputs could not be compared.
    pub output: Option<String>,
    /// Whether a side uses several processors if it may.
    pub is_parallel: bool,
}

/// Both sides of one benchmark.
#[derive(Debug)]
pub struct Contest<'a> {
    sides: &'a [Bench; 2],
    scratch: &'a Scratch,
    settings: Settings,
    /// The output that every process must write.
    expected: Option<Vec<u8>>,
    timeout_ns: u64,
}

impl<'a> Contest<'a> {
    /// Two sides that have not run yet.
    pub fn new(sides: &'a [Bench; 2], scratch: &'a Scratch, settings: Settings) -> Contest<'a> {
        let timeout_ns = settings.timeout_ns;
        Contest { sides, scratch, settings, expected: None, timeout_ns }
    }

    /// Runs each side untimed: once wherever the kernel puts it, then as in the race.
    ///
    /// # Errors
    /// If a side fails, or their outputs differ.
    pub fn rehearse(&mut self) -> Result<Rehearsed, Trouble> {
        let mut first = Vec::new();
        for arm in [0, 1] {
            first.push(self.run(arm)?);
        }
        let is_parallel =
            first.iter().any(|(ended, _)| ended.cpu_ns as f64 > PARALLEL * ended.wall_ns as f64);
        let _pinned = self.settings.is_pinned.then(Pinned::to_last_processor);
        let mut second = Vec::new();
        for arm in [0, 1] {
            second.push(self.run(arm)?);
        }
        let longest = first.iter().chain(&second).map(|(ended, _)| ended.wall_ns).max();
        let patience = longest.unwrap_or(0).saturating_mul(PATIENCE);
        self.timeout_ns = patience.max(LEAST_TIMEOUT_NS);
        let process_ns = second.iter().map(|(ended, _)| ended.wall_ns as f64).sum::<f64>() / 2.0;
        let (mut outcome, mut output) = (ProgramOutcome::Unproven, None);
        if let (Some(base), Some(other)) = (&first[0].1, &first[1].1) {
            let is_steady = |arm: usize| first[arm].1 == second[arm].1;
            match (is_steady(0) && is_steady(1), difference(base, other)) {
                (true, None) => {
                    outcome = ProgramOutcome::Agrees;
                    self.expected = Some(base.clone());
                }
                (true, Some(said)) => return Err(Trouble::Differs(said)),
                (false, _) => {
                    output =
                        Some("the output changes from run to run, so it cannot be compared".into());
                }
            }
        }
        Ok(Rehearsed { process_ns, outcome, output, is_parallel })
    }

    /// Runs one process; gives how it ended and what it shows of its result.
    fn run(&self, arm: u32) -> Result<(Ended, Option<Vec<u8>>), Trouble> {
        let bench = &self.sides[arm as usize];
        let home = self.home();
        let fault = |what: String, said: String| Trouble::Fault(ProgramFault { arm, what, said });
        if bench.harness == Harness::Criterion {
            // What an earlier process wrote must not be read as the figure of this one.
            let _ = std::fs::remove_dir_all(&home);
        }
        let command = measuring(bench, &home);
        let folder = command.folder.clone().unwrap_or_else(|| PathBuf::from("."));
        let shown: Option<&Shown> = command.shown.as_ref();
        if let Some(shown) = shown {
            shown.forget(&folder);
        }
        let ended = self.scratch.run(&command, self.timeout_ns);
        let ended = ended.map_err(|Failed { what, said }| fault(what, said))?;
        let result = shown.map(|shown| shown.read(&folder, &ended.stdout)).transpose();
        Ok((ended, result.map_err(|what| fault(what, String::new()))?))
    }

    fn home(&self) -> PathBuf {
        Path::new(self.scratch.folder()).join("criterion")
    }
}

impl Arms for Contest<'_> {
    type Fault = Trouble;

    fn sample(&mut self, arm: u32) -> Result<Sampled, Trouble> {
        let (ended, result) = self.run(arm)?;
        if let (Some(expected), Some(result)) = (&self.expected, &result)
            && let Some(said) = difference(expected, result)
        {
            return Err(Trouble::Differs(format!("in a timed run, {said}")));
        }
        let bench = &self.sides[arm as usize];
        let value_ns = match bench.harness {
            Harness::Command => ended.wall_ns as f64,
            _ => reading(bench, &ended.stdout, &self.home())
                .map_err(|what| Trouble::Fault(ProgramFault { arm, what, said: String::new() }))?,
        };
        Ok(Sampled { value_ns, wall_ns: ended.wall_ns, cpu_ns: ended.cpu_ns })
    }

    fn now_ns(&self) -> u64 {
        now_ns()
    }
}
