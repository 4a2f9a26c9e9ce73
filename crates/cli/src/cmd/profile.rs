//! `proofmark profile`: where the time of a contender goes.

use super::quantities::seconds;
use super::{DEFAULT_SEED, Shown, arena, cap, shelf};
use crate::exit;
use crate::output::{Failure, print_document, say};
use crate::progress::Progress;
use clap::{Args, ValueEnum};
use proofmark_engine::{EngineError, ProfileRequest, Request, SampledBy, cases, profile};
use proofmark_report::reports::{self, ProfiledCase};
use proofmark_schema::{Case, ContenderId, DType, Isa};
use std::path::{Path, PathBuf};

/// Arguments of `profile`.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Profile {
    #[command(flatten)]
    what: What,
    /// Contender to profile
    #[arg(long, default_value = "native/simd")]
    contender: ContenderId,
    /// Write a flame graph to this file
    #[arg(long, value_name = "FILE.svg")]
    flame: Option<PathBuf>,
    /// Write stacks to this file, in the form that flame graph tools read
    #[arg(long, value_name = "FILE")]
    folded: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
The contender is proven first, then its worker is sampled: by the kernel's clock event, which needs
no hardware counters and no other program, or, where that is forbidden, by a timer of its own.
Counts of its heap allocations come along.

  proofmark profile softmax --flame flame.svg
  proofmark profile matmul --contender native/parallel --threads 2";

/// What is sampled, and how.
#[derive(Args)]
pub(super) struct What {
    /// The op, on its medium size
    #[arg(value_name = "OP", required_unless_present = "case")]
    op: Option<String>,
    /// A case, as `softmax:f32[b=1,s=512,d=4096]`
    #[arg(long)]
    case: Option<String>,
    /// Threads it may use
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Seconds of samples
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    seconds: f64,
    /// Samples a second of each thread
    #[arg(long, default_value_t = 997, value_parser = clap::value_parser!(u64).range(1..=20_000))]
    hertz: u64,
    /// What takes the samples; by default the first that this system permits
    #[arg(long)]
    sampler: Option<Sampler>,
    /// Seed of the inputs
    #[arg(long, default_value_t = DEFAULT_SEED)]
    seed: u64,
    #[command(flatten)]
    pub(super) shown: Shown,
}

/// What takes the samples.
#[derive(Clone, Copy, ValueEnum)]
enum Sampler {
    /// The kernel, by its clock event (perf_event_open)
    Perf,
    /// The worker itself, by a timer on its processor time
    Own,
}

impl What {
    /// What was named.
    pub(super) fn op(&self) -> Option<&str> {
        self.op.as_deref()
    }

    /// The request about a contender; `op` where it was named elsewhere.
    pub(super) fn request(
        &self,
        op: Option<&str>,
        contender: ContenderId,
    ) -> Result<ProfileRequest, Failure> {
        let cap = cap()?;
        Ok(ProfileRequest {
            case: self.case(op.or(self.op.as_deref()), cap)?,
            contender,
            threads: usize::from(self.threads),
            seconds: self.seconds,
            hertz: self.hertz,
            sampler: self.sampler.map(|sampler| match sampler {
                Sampler::Perf => SampledBy::Perf,
                Sampler::Own => SampledBy::Own,
            }),
            seed: self.seed,
            cap,
            shelf: shelf(),
        })
    }

    fn case(&self, op: Option<&str>, cap: Isa) -> Result<Case, Failure> {
        if let Some(text) = &self.case {
            return Ok(text.parse().map_err(EngineError::from)?);
        }
        let request = Request {
            ops: op.map(str::to_owned).into_iter().collect(),
            dtypes: vec![DType::F32],
            size: Some("medium".to_owned()),
            ..Request::of_cases(cap, shelf())
        };
        let cases = cases(&request)?;
        Ok(cases.into_iter().next().expect("a named size is at least one case"))
    }
}

impl Profile {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let request = self.what.request(None, self.contender.clone())?;
        let progress = Progress::new(self.what.shown.quiet);
        let profiled = profile(&arena(None)?, &progress, &request)?;
        progress.finish();
        let of = ProfiledCase {
            case: &profiled.case,
            contender: &profiled.contender,
            call_ns: profiled.call_ns,
            allocations: profiled.allocations,
            is_own: profiled.sampling.by == SampledBy::Own,
            per_second: profiled.sampling.per_second,
            lost: profiled.sampling.lost,
        };
        let document = reports::profile(&of, &profiled.profile);
        print_document(self.what.shown.format, &document)?;
        if let Some(path) = &self.flame {
            write(path, &reports::flame_graph(&document.title, &profiled.profile))?;
        }
        if let Some(path) = &self.folded {
            write(path, &reports::folded(&profiled.profile))?;
        }
        for path in [&self.flame, &self.folded].into_iter().flatten() {
            if !self.what.shown.quiet {
                say(&format!("written to {}", path.display()));
            }
        }
        Ok(exit::PASS)
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display())))
}
