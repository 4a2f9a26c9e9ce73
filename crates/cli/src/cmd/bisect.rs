//! `proofmark bisect`: the first revision or version that is slower, with the error rate of the
//! search.

use super::asked::parsed;
use super::programs::SECONDS;
use super::quantities::{seconds, settling, share};
use super::{BuildCache, RepoPath, Shown, StorePath, Workbench, cap, drawn_seed, shelf};
use crate::exit;
use crate::output::{Failure, print_document};
use clap::Args;
use proofmark_engine::peers::Tools;
use proofmark_engine::programs::{Command, Shown as ShownOutput};
use proofmark_engine::{
    Arm, BisectRequest, CompareRequest, EngineError, ProgramTerms, REPORT_MARGIN, SAME_MARGIN,
    Source, VersionsRequest, bisect, bisect_versions,
};
use proofmark_report::reports::{self, BisectedLine};
use proofmark_schema::Memory;
use std::path::PathBuf;

/// Arguments of `bisect`.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Bisect {
    /// A revision that is fast, or a version of a peer
    #[arg(long, value_name = "REVISION")]
    good: String,
    /// A later revision or version that is slow; HEAD or the newest version by default
    #[arg(long, value_name = "REVISION")]
    bad: Option<String>,
    /// What is raced: a command in the folder of each revision, as `cmd:./tool --size 3`, or the
    /// versions of a library, as `peer/onnxruntime`; the bench targets of the project by default
    #[arg(value_name = "WHAT")]
    what: Option<String>,
    /// Command that builds a revision before its `cmd:` runs
    #[arg(long, value_name = "COMMAND", requires = "what")]
    build: Option<String>,
    /// What the `cmd:` shows of its result, to be compared: `stdout` or `file:PATH`
    #[arg(long, value_name = "WHERE", requires = "what")]
    compare_output: Option<ShownOutput>,
    /// Only benchmarks whose name contains this text, or matches it as a pattern
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// A case on which versions are raced, as `gru:f32[t=64,b=1,i=128,h=128]`; may be given many
    /// times
    #[arg(long, requires = "what")]
    case: Vec<String>,
    /// The versions, oldest first; those of the registry by default
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "what")]
    versions: Vec<String>,
    /// The Python that installs versions
    #[arg(long, value_name = "PATH", default_value = "python3")]
    python: PathBuf,
    /// Seconds after which no further trial of a race starts
    #[arg(long, visible_alias = "time", default_value_t = SECONDS, value_parser = seconds)]
    seconds: f64,
    /// Error rate of the whole search
    #[arg(long, default_value_t = 0.01, value_parser = share)]
    alpha: f64,
    /// Threads that each may use: 1 keeps a program on one processor, more on none
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
Each candidate is built or installed, and raced against the good one. Candidates that cannot be are
skipped. A search that was cut off goes on where it stopped.

  proofmark bisect --good v1.2.0 --filter parse
  proofmark bisect --good HEAD~40 --build 'cargo build --release' 'cmd:target/release/tool data'
  proofmark bisect peer/onnxruntime --good 1.20.0 --case 'gru:f32[t=64,b=1,i=128,h=128]'

Exit codes: 0 found, 2 the bad end is not slower than the good one, 6 an end cannot be installed,
7 an end does not build.";

impl Bisect {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let workbench = Workbench::open(&self.store, &self.builds, None, self.shown.quiet)?;
        let programs = workbench.programs(&self.repo.repo);
        let versions = self.versions()?;
        let found = match &versions {
            Some(request) => bisect_versions(&programs, request)?,
            None => bisect(&programs, &self.revisions()?)?,
        };
        workbench.progress.finish();
        let tried = found.tried.iter();
        let tried = tried.map(|it| (it.candidate.clone(), it.answer.name(), it.ratio));
        let line = BisectedLine {
            candidate: if versions.is_some() { "version" } else { "revision" },
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

    /// A search among the versions of a peer, if one is named.
    fn versions(&self) -> Result<Option<VersionsRequest>, Failure> {
        let peer = self.what.as_ref().and_then(|what| what.strip_prefix("peer/"));
        let Some(peer) = peer.map(str::to_owned) else { return Ok(None) };
        if peer.contains('@') {
            let message = format!("`{peer}` has a version already");
            let hint = Some("name the versions with `--good` and `--bad`".to_owned());
            return Err(Failure { message, hint, code: exit::USAGE });
        }
        let cases = parsed(self.case.iter().map(String::as_str))?;
        if cases.is_empty() {
            let message = "nothing says on which case".to_owned();
            let hint = Some("give `--case CASE` once or more".to_owned());
            return Err(Failure { message, hint, code: exit::USAGE });
        }
        let here = Arm { source: Source::Here, contender: None };
        let terms = CompareRequest {
            arms: [here.clone(), here],
            contender: None,
            cases,
            threads: usize::from(self.threads),
            memory: Memory::default(),
            quiet_seconds: self.settle,
            seed: self.seed,
            alpha: self.alpha,
            report_margin: REPORT_MARGIN,
            same_margin: SAME_MARGIN,
            seconds: self.seconds,
            cap: cap()?,
            shelf: shelf(),
        };
        let tools = Tools { python: self.python.clone(), as_it_is: false, unlocked: false };
        Ok(Some(VersionsRequest {
            peer,
            good: self.good.clone(),
            bad: self.bad.clone(),
            versions: self.versions.clone(),
            tools,
            terms,
        }))
    }

    fn revisions(&self) -> Result<BisectRequest, Failure> {
        let parse = |text: &String| -> Result<Command, Failure> {
            let text = text.strip_prefix("cmd:").unwrap_or(text);
            Ok(Command::parse(text).map_err(EngineError::from)?)
        };
        let mut command = self.what.as_ref().map(parse).transpose()?;
        if let Some(command) = &mut command {
            command.shown.clone_from(&self.compare_output);
        }
        Ok(BisectRequest {
            good: self.good.clone(),
            bad: self.bad.clone().unwrap_or_else(|| "HEAD".to_owned()),
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
