//! `proofmark tune`: where one contender starts to pay along an axis, as a constant.

use super::asked::AskedRace;
use super::constants::{constants_in, write_to};
use super::{Shown, StorePath, cap, here, shelf};
use crate::exit;
use crate::output::{Failure, print, print_document, say};
use crate::progress::Progress;
use clap::{Args, ValueEnum};
use proofmark_engine::{
    Emit, EngineError, TuneRequest, USUAL, cached_tunings, snippet, tune, tuned_unit, unix_seconds,
    usual_crossing,
};
use proofmark_report::reports;
use proofmark_schema::{Case, ContenderId};
use std::path::PathBuf;

/// Arguments of `tune`.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Tune {
    /// Ops whose usual crossing is sought
    #[arg(value_name = "OP", required_unless_present_any = ["all", "cached", "case"])]
    ops: Vec<String>,
    /// The usual crossings: attention, matmul, rope, softmax
    #[arg(long, conflicts_with_all = ["ops", "case", "axis"])]
    all: bool,
    /// Show the crossings that are kept, and how often one saved a measurement
    #[arg(long, conflicts_with_all = ["ops", "all", "case"])]
    cached: bool,
    /// The case whose axis is followed, as `softmax:f32[b=1,s=1,d=512]`
    #[arg(long, conflicts_with = "ops")]
    case: Option<String>,
    /// The axis that is followed; the usual one by default
    #[arg(long)]
    axis: Option<String>,
    /// The one that is compared with, and the one that may start to pay
    #[arg(long, value_delimiter = ',', num_args = 1..=2,
          default_values = ["native/simd", "native/parallel"])]
    between: Vec<ContenderId>,
    /// Threads both may use
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// The smallest size looked at
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    from: Option<u64>,
    /// The greatest size looked at
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    to: Option<u64>,
    /// Races after the first look, at the most
    #[arg(long, default_value_t = 10)]
    races: usize,
    #[command(flatten)]
    race: AskedRace,
    /// Times that the bounds of a crossing are raced; a bound is what all of them showed
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=20))]
    rounds: u8,
    /// A second a race, few races, one round
    #[arg(long, visible_alias = "fast")]
    quick: bool,
    /// Measure although an answer is kept
    #[arg(long)]
    fresh: bool,
    /// Write constants to this file; those of other ops in it stay
    #[arg(long, value_name = "FILE", default_value = "tuning.toml")]
    out: PathBuf,
    /// Print constants as source instead of a table
    #[arg(long, value_enum)]
    emit: Option<Language>,
    #[command(flatten)]
    store: StorePath,
    #[command(flatten)]
    shown: Shown,
}

const AFTER_HELP: &str = "\
Both contenders are raced at sizes that are far apart, then between the two where the faster one
changes. While it looks, our parallel kernels wake all threads whatever the size. The file is used
by every command with PROOFMARK_TUNING=tuning.toml, and by a program that calls
proofmark_ops::tuning::set.

  proofmark tune softmax
  proofmark tune softmax --axis s --between native/simd,native/parallel --threads 2 --to 65536
  proofmark tune --all --emit c
  proofmark tune matmul --axis m --between peer/openblas,native/simd --threads 1";

/// A language that constants are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Language {
    /// `pub const`.
    Rust,
    /// `#define`.
    C,
    /// `const`.
    Go,
}

impl Tune {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let store = self.store.open()?;
        if self.cached {
            let kept = cached_tunings(&store)?;
            let now = unix_seconds();
            let document = reports::kept_thresholds(&kept.crossings, kept.lookups, kept.hits, now);
            print_document(self.shown.format, &document)?;
            return Ok(exit::PASS);
        }
        let requests = self.requests()?;
        let (here, cap, progress) = (here(None)?, cap()?, Progress::new(self.shown.quiet));
        let mut constants = constants_in(&self.out, cap)?;
        let crossings = tune(&here, &store, &progress, &requests)?;
        crossings.iter().for_each(|crossing| constants.add(crossing));
        progress.finish();
        let new = crossings.iter().any(|crossing| crossing.constant.is_some());
        if new {
            write_to(&self.out, &constants)?;
        }
        match self.emit {
            Some(language) => print(&snippet(&constants, language.into()))?,
            None => {
                print_document(self.shown.format, &reports::threshold(&crossings, &tuned_unit))?;
            }
        }
        if new && !self.shown.quiet {
            let path = self.out.display();
            say(&format!("constants are in {path}: use them with PROOFMARK_TUNING={path}"));
        }
        Ok(exit::PASS)
    }

    fn requests(&self) -> Result<Vec<TuneRequest>, Failure> {
        let ops: Vec<String> = match (&self.case, self.all) {
            (Some(text), _) => {
                let case: Case = text.parse().map_err(EngineError::from)?;
                return Ok(vec![self.request(case, self.axis.as_deref(), (1, 1 << 16))?]);
            }
            (None, true) => USUAL.iter().map(|(op, ..)| (*op).to_owned()).collect(),
            (None, false) => self.ops.clone(),
        };
        let one = |op: &String| {
            let usual = usual_crossing(op)?;
            self.request(usual.case, self.axis.as_deref().or(usual.axis), usual.range)
        };
        ops.iter().map(one).collect()
    }

    fn request(
        &self,
        case: Case,
        axis: Option<&str>,
        range: (u64, u64),
    ) -> Result<TuneRequest, Failure> {
        let usage = |message: String, hint: &str| Failure {
            message,
            hint: Some(hint.to_owned()),
            code: exit::USAGE,
        };
        let Some(axis) = axis else {
            let message = format!("nothing says which axis of {} is followed", case.op);
            return Err(usage(message, "give `--axis s`; `proofmark list ops` shows the axes"));
        };
        let [base, other] = &self.between[..] else {
            let message = "two contenders cross, not one".to_owned();
            return Err(usage(message, "write `--between native/simd,native/parallel`"));
        };
        let range = (self.from.unwrap_or(range.0), self.to.unwrap_or(range.1));
        if range.0 > range.1 {
            let message = format!("--from {} is greater than --to {}", range.0, range.1);
            return Err(usage(message, "turn them round"));
        }
        Ok(TuneRequest {
            case,
            axis: axis.to_owned(),
            between: [base.clone(), other.clone()],
            terms: self.race.terms(self.threads, self.quick),
            range,
            rounds: if self.quick { 1 } else { usize::from(self.rounds) },
            races: if self.quick { self.races.min(4) } else { self.races },
            is_fresh: self.fresh,
            cap: cap()?,
            shelf: shelf(),
        })
    }
}

impl From<Language> for Emit {
    fn from(language: Language) -> Emit {
        match language {
            Language::Rust => Emit::Rust,
            Language::C => Emit::C,
            Language::Go => Emit::Go,
        }
    }
}
