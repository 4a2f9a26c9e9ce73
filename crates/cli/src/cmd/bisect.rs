//! `proofmark bisect`: the first revision that is slower, with the error rate of the search.

use super::programs::SECONDS;
use super::quantities::{seconds, settling, share};
use super::{BuildCache, RepoPath, Shown, StorePath, Workbench, cap, drawn_seed};
use crate::exit;
use crate::output::{Failure, print_document};
use clap::Args;
use proofmark_engine::programs::{Command, Shown as ShownOutput};
use proofmark_engine::{
    BisectRequest, EngineError, ProgramTerms, REPORT_MARGIN, SAME_MARGIN, bisect,
};
use proofmark_report::reports::{self, BisectedLine};

/// Arguments of `bisect`.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Bisect {
    /// A revision that is fast
    #[arg(long, value_name = "REVISION")]
    good: String,
    /// A later revision that is slow
    #[arg(long, value_name = "REVISION", default_value = "HEAD")]
    bad: String,
    /// The command that is raced in the folder of each revision, as `cmd:./tool --size 3`; the
    /// bench targets of the project if there is none
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
    /// Command that builds a revision before its `cmd:` runs
    #[arg(long, value_name = "COMMAND", requires = "command")]
    build: Option<String>,
    /// What the `cmd:` shows of its result, to be compared: `stdout` or `file:PATH`
    #[arg(long, value_name = "WHERE", requires = "command")]
    compare_output: Option<ShownOutput>,
    /// Only benchmarks whose name contains this text, or matches it as a pattern
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Seconds after which no further trial of a race starts
    #[arg(long, visible_alias = "time", default_value_t = SECONDS, value_parser = seconds)]
    seconds: f64,
    /// Error rate of the whole search
    #[arg(long, default_value_t = 0.01, value_parser = share)]
    alpha: f64,
    /// Threads that a program may use: 1 keeps it on one processor, more on none
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Seconds to wait for a quiet machine before each race, at the most; 0 does not wait
    #[arg(long, default_value_t = 5.0, value_name = "SECONDS", value_parser = settling)]
    settle: f64,
    /// Seed of orders; drawn at random unless it is given
    #[arg(long, default_value_t = drawn_seed(), hide_default_value = true)]
    seed: u64,
    #[command(flatten)]
    repo: RepoPath,
    #[command(flatten)]
    builds: BuildCache,
    #[command(flatten)]
    store: StorePath,
    #[command(flatten)]
    shown: Shown,
}

const AFTER_HELP: &str = "\
Each candidate is built and raced against the good revision. Revisions that do not build are
skipped. A search that was cut off goes on where it stopped.

  proofmark bisect --good v1.2.0 --filter parse
  proofmark bisect --good HEAD~40 --build 'cargo build --release' 'cmd:target/release/tool data'

Exit codes: 0 found, 2 the bad revision is not slower than the good one, 7 an end does not build.";

impl Bisect {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let request = self.request()?;
        let workbench = Workbench::open(&self.store, &self.builds, None, self.shown.quiet)?;
        let found = bisect(&workbench.programs(&self.repo.repo), &request)?;
        workbench.progress.finish();
        let tried = found.tried.iter();
        let tried = tried.map(|it| (it.commit.clone(), it.answer.name(), it.ratio));
        let line = BisectedLine {
            first_bad: found.first_bad,
            suspects: found.suspects,
            name: found.name,
            candidates: found.candidates,
            tried: tried.collect(),
            alpha: found.alpha,
        };
        print_document(self.shown.format, &reports::bisect(&line))?;
        Ok(exit::PASS)
    }

    fn request(&self) -> Result<BisectRequest, Failure> {
        let parse = |text: &String| -> Result<Command, Failure> {
            let text = text.strip_prefix("cmd:").unwrap_or(text);
            Ok(Command::parse(text).map_err(EngineError::from)?)
        };
        let mut command = self.command.as_ref().map(parse).transpose()?;
        if let Some(command) = &mut command {
            command.shown.clone_from(&self.compare_output);
        }
        Ok(BisectRequest {
            good: self.good.clone(),
            bad: self.bad.clone(),
            command,
            build: self.build.as_ref().map(parse).transpose()?,
            terms: ProgramTerms {
                filter: self.filter.clone(),
                seconds: self.seconds,
                quiet_seconds: self.settle,
                is_pinned: self.threads == 1,
                seed: self.seed,
                alpha: self.alpha,
                report_margin: REPORT_MARGIN,
                same_margin: SAME_MARGIN,
                cap: cap()?,
                tolerance: None,
            },
        })
    }
}
