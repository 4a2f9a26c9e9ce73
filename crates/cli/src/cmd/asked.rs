//! Which cases are meant, and how they are raced: arguments that several commands share.

use super::bench::attribute;
use super::quantities::{seconds, settling, share};
use super::{drawn_seed, shelf};
use crate::output::Failure;
use clap::Args;
use proofmark_engine::{EngineError, RaceTerms, Request, SIZES, Sweep, cases};
use proofmark_schema::{AttrValue, Case, DType, Isa};

/// Cases by name, or by ops and a suite, a size or a sweep. The command has the argument `ops`.
#[derive(Args)]
pub(super) struct AskedCases {
    /// A case, as `rms_norm:f32[b=1,s=128,d=4096]`; may be given many times
    #[arg(long, conflicts_with_all = ["ops", "suite", "size", "sweep", "dtype", "attr"])]
    case: Vec<String>,
    /// A sweep of the ops' own suites (smoke, standard, full), a workload (transformer) or a
    /// file of one
    #[arg(long)]
    suite: Option<String>,
    /// A named size: small, medium, large or batch
    #[arg(long, value_parser = SIZES)]
    size: Option<String>,
    /// Axis sizes: `b=16,32 s=256:2048:*2 d=768`; every combination is a case
    #[arg(long, conflicts_with = "size")]
    sweep: Option<Sweep>,
    /// Element types, as `f32,bf16`; those of the suite by default
    #[arg(long, value_delimiter = ',')]
    dtype: Vec<DType>,
    /// Attributes, as `eps=1e-5,variant=gemma`
    #[arg(long, value_delimiter = ',', value_parser = attribute)]
    attr: Vec<(String, AttrValue)>,
}

impl AskedCases {
    /// Whether a suite, a size or a sweep says which cases of an op are meant.
    pub(super) fn is_swept(&self) -> bool {
        self.suite.is_some() || self.size.is_some() || self.sweep.is_some()
    }

    /// The cases asked for. Ops alone mean the cases of `suite`; no arguments mean no cases.
    pub(super) fn of(&self, ops: &[String], suite: &str, cap: Isa) -> Result<Vec<Case>, Failure> {
        if !self.case.is_empty() {
            return parsed(self.case.iter().map(String::as_str));
        }
        if ops.is_empty() && !self.is_swept() {
            return Ok(Vec::new());
        }
        Ok(cases(&self.request(ops, suite, cap)?)?)
    }

    /// A request for the cases asked for. Ops alone mean the cases of `suite`.
    pub(super) fn request(
        &self,
        ops: &[String],
        suite: &str,
        cap: Isa,
    ) -> Result<Request, Failure> {
        Ok(Request {
            cases: parsed(self.case.iter().map(String::as_str))?,
            ops: ops.to_vec(),
            dtypes: self.dtype.clone(),
            sweep: self.sweep.clone(),
            size: self.size.clone(),
            suite: self.suite.clone().unwrap_or_else(|| suite.to_owned()),
            attrs: self.attr.clone(),
            ..Request::of_cases(cap, shelf())
        })
    }
}

/// How each of many small races is run.
#[derive(Args)]
pub(super) struct AskedRace {
    /// Seconds after which no further trial of a race starts
    #[arg(long, default_value_t = 3.0, value_parser = seconds)]
    seconds: f64,
    /// Error rate of each race
    #[arg(long, default_value_t = 0.01, value_parser = share)]
    alpha: f64,
    /// Seconds to wait for a quiet machine before each race, at the most; 0 does not wait
    #[arg(long, default_value_t = 5.0, value_name = "SECONDS", value_parser = settling)]
    settle: f64,
    /// Seed of inputs, layouts and orders; drawn at random and printed unless it is given
    #[arg(long, default_value_t = drawn_seed(), hide_default_value = true)]
    seed: u64,
}

impl AskedRace {
    /// The terms of each race; a quick race takes at most a second.
    pub(super) fn terms(&self, threads: u16, is_quick: bool) -> RaceTerms {
        RaceTerms {
            threads: usize::from(threads),
            seconds: if is_quick { self.seconds.min(1.0) } else { self.seconds },
            alpha: self.alpha,
            quiet_seconds: self.settle,
            seed: self.seed,
        }
    }
}

/// Cases by their names.
pub(super) fn parsed<'a>(texts: impl Iterator<Item = &'a str>) -> Result<Vec<Case>, Failure> {
    let parsed: Result<_, _> = texts.map(str::parse::<Case>).collect();
    Ok(parsed.map_err(EngineError::from)?)
}
