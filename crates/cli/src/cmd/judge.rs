//! `proofmark judge`: one verdict on a kernel that was submitted.

use super::asked::parsed;
use super::bench::attribute;
use super::quantities::settling;
use super::{StorePath, arena, cap, drawn_seed, level, own, shelf};
use crate::exit;
use crate::output::{Failure, Format, print_document};
use crate::progress::Progress;
use clap::Args;
use proofmark_engine::own::SubmittedFile;
use proofmark_engine::{
    Request, SIZES, SubmissionRequest, Sweep, cases, find_op, judge_submission,
};
use proofmark_report::reports;
use proofmark_schema::{AttrValue, Case, ContenderId, DType, Isa, Isolation, Outcome};
use std::path::PathBuf;

/// Arguments of `judge`.
#[derive(Args)]
pub(crate) struct Judge {
    /// The op: one of your own, or one of `proofmark list`
    #[arg(value_name = "OP")]
    op: String,
    /// The kernel: a .toml or .py file as in docs/own-kernels.md, or a shared library with the
    /// plug-in interface. It need not be in the op's folder
    #[arg(value_name = "SUBMISSION")]
    file: PathBuf,
    /// The contender that it is raced against; `own/reference` for an op of your own, else
    /// `native/simd`
    #[arg(long, value_name = "CONTENDER")]
    against: Option<ContenderId>,
    /// Cases that are drawn by the seed around the shown ones
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u16).range(0..=100))]
    held_out: u16,
    /// A shown case, as `row_norm:f32[rows=128,cols=1024]`; may be given many times; the op's
    /// sweep `smoke` by default
    #[arg(long, conflicts_with_all = ["size", "sweep", "dtype", "attr"])]
    case: Vec<String>,
    /// Shown cases by a named size: small, medium, large or batch
    #[arg(long, value_parser = SIZES)]
    size: Option<String>,
    /// Shown cases by axis sizes: `rows=1,128 cols=256:2048:*2`
    #[arg(long, conflicts_with = "size")]
    sweep: Option<Sweep>,
    /// Element types, as `f32,bf16`; the first of the op by default
    #[arg(long, value_delimiter = ',')]
    dtype: Vec<DType>,
    /// Attributes, as `eps=1e-5,variant=gemma`
    #[arg(long, value_delimiter = ',', value_parser = attribute)]
    attr: Vec<(String, AttrValue)>,
    /// Threads that both are given
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Seed of held-out cases, inputs, layouts and orders; drawn at random and printed unless it
    /// is given. A seed that the author knows reveals the held-out cases
    #[arg(long, default_value_t = drawn_seed(), hide_default_value = true)]
    seed: u64,
    /// Short races: a wider interval, and so a smaller reward
    #[arg(long, visible_alias = "fast")]
    quick: bool,
    /// Seconds to wait for a quiet machine before each race, at the most; 0 does not wait
    #[arg(long, default_value_t = 5.0, value_name = "SECONDS", value_parser = settling)]
    settle: f64,
    /// Run the command `build` of the submission's file first, with your rights and outside of the
    /// sandbox
    #[arg(long)]
    build: bool,
    /// Judge by the promises that the submission's file declares, and let it start a compiler, also
    /// where the baseline does not
    #[arg(long)]
    as_declared: bool,
    /// How the submission and the baseline are kept apart from this program: `t1` in a process of
    /// their own, `t2` in a sandbox too, `t3` with this program's clock and new operands for each
    /// call
    #[arg(long, value_name = "LEVEL", env = "PROOFMARK_ISOLATION", default_value = "t3",
          value_parser = level)]
    isolation: Isolation,
    #[command(flatten)]
    store: StorePath,
    /// How the verdict is written; `table` is for people
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// Say nothing while working
    #[arg(long, short)]
    quiet: bool,
}

impl Judge {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let entry = find_op(&self.op)?;
        let path = std::path::absolute(&self.file).unwrap_or_else(|_| self.file.clone());
        let kernel = own::submit(SubmittedFile { op: self.op.clone(), path }, self.build)?;
        let cap = cap()?;
        let request = SubmissionRequest {
            entry,
            kernel,
            file: self.file.clone(),
            against: self.against.clone(),
            shown: self.shown(entry.op.dtypes(), cap)?,
            held_out: usize::from(self.held_out),
            threads: usize::from(self.threads),
            seed: self.seed,
            quick: self.quick,
            as_declared: self.as_declared,
            quiet_seconds: self.settle,
            cap,
            shelf: shelf(),
        };
        let store = self.store.open()?;
        let arena = arena(Some(self.isolation))?;
        let progress = Progress::new(self.quiet);
        let verdict = judge_submission(&arena, &store, &request, &progress)?;
        progress.finish();
        print_document(self.format, &reports::verdict(&verdict))?;
        Ok(code(verdict.outcome))
    }

    /// The cases that the author of the kernel knows.
    fn shown(&self, dtypes: &[DType], cap: Isa) -> Result<Vec<Case>, Failure> {
        if !self.case.is_empty() {
            let cases = parsed(self.case.iter().map(String::as_str))?;
            let other = cases.iter().find(|case| case.op != self.op);
            return match other {
                None => Ok(cases),
                Some(other) => Err(Failure {
                    message: format!("`{other}` is no case of `{}`", self.op),
                    hint: Some(format!("write `--case '{}:…'`", self.op)),
                    code: exit::USAGE,
                }),
            };
        }
        let first = || dtypes.first().copied().into_iter().collect();
        let request = Request {
            ops: vec![self.op.clone()],
            dtypes: if self.dtype.is_empty() { first() } else { self.dtype.clone() },
            sweep: self.sweep.clone(),
            size: self.size.clone(),
            suite: "smoke".to_owned(),
            attrs: self.attr.clone(),
            ..Request::of_cases(cap, shelf())
        };
        Ok(cases(&request)?)
    }
}

/// The code of a verdict. A submission that does not do a case, or does not open, is at fault here,
/// where `prove` and `bench` pass over it.
fn code(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Unsupported => exit::INCORRECT,
        Outcome::Broken => exit::CRASHED,
        other => exit::of_outcomes(std::iter::once(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_proven_submission_passes() {
        let codes = [
            (Outcome::Proven, exit::PASS),
            (Outcome::Unsupported, exit::INCORRECT),
            (Outcome::Wrong, exit::INCORRECT),
            (Outcome::Mistrusted, exit::INCORRECT),
            (Outcome::Caught, exit::INTEGRITY),
            (Outcome::Undecided, exit::UNDECIDED),
            (Outcome::Skipped, exit::ENVIRONMENT),
            (Outcome::Absent, exit::ENVIRONMENT),
            (Outcome::Broken, exit::CRASHED),
            (Outcome::Crashed, exit::CRASHED),
            (Outcome::TimedOut, exit::CRASHED),
        ];
        for (outcome, expected) in codes {
            assert_eq!(code(outcome), expected, "{outcome}");
        }
    }
}
