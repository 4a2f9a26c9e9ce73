//! `proofmark compare`: which of two arms is faster, decided for each case.

use super::asked::AskedCases;
use super::programs::{self, ProgramOptions};
use super::quantities::{seconds, settling, share};
use super::{
    BuildCache, Isolated, RepoPath, Shown, StorePath, Workbench, arm, cap, drawn_seed, kept, shelf,
};
use crate::exit;
use crate::output::{Failure, print_document, say};
use clap::Args;
use proofmark_engine::{
    Arm, CompareRequest, ProgramSides, ProgramTerms, ProgramsRequest, Source, compare,
    compare_programs,
};
use proofmark_report::reports::{self, ComparedArms};
use proofmark_schema::{Cache, Case, ContenderId, Isa, Memory, Pages};

/// Arguments of `compare`.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Compare {
    /// The arm that is compared with
    #[arg(value_parser = arm)]
    base: Arm,
    /// The other arm
    #[arg(value_parser = arm)]
    other: Arm,
    /// Ops, for cases by --suite, --size or --sweep
    #[arg(value_name = "OP")]
    ops: Vec<String>,
    #[command(flatten)]
    asked: AskedCases,
    /// The contender where an arm names none
    #[arg(long)]
    contender: Option<ContenderId>,
    /// Devices that both must run on: patterns such as `opencl*`; any by default, because arms name
    /// their contenders
    #[arg(long, value_name = "PATTERNS", default_value = "*")]
    device: String,
    /// Threads each may use
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// What the caches hold before a call: hot, cold, rotate or weights-cold
    #[arg(long, default_value = "hot")]
    cache: Cache,
    /// What pages operands lie on: 4k or huge
    #[arg(long, default_value = "4k")]
    pages: Pages,
    /// Seconds to wait for a quiet machine before each race, at the most; 0 does not wait
    #[arg(long, default_value_t = 5.0, value_name = "SECONDS", value_parser = settling)]
    settle: f64,
    /// Error rate of the whole comparison
    #[arg(long, default_value_t = 0.01, value_parser = share)]
    alpha: f64,
    /// Differences below this many per cent are not reported as a change
    #[arg(long, default_value_t = 0.5, value_parser = percent)]
    report_margin: f64,
    /// Differences below this many per cent are called the same
    #[arg(long, default_value_t = 1.0, value_parser = percent)]
    margin: f64,
    /// Seconds after which no further trial of a race starts; 60, and 30 for programs, by default
    #[arg(long, visible_alias = "time", value_parser = seconds)]
    seconds: Option<f64>,
    /// Seed of inputs, layouts and orders; drawn at random and printed unless it is given
    #[arg(long, default_value_t = drawn_seed(), hide_default_value = true)]
    seed: u64,
    #[command(flatten)]
    repo: RepoPath,
    #[command(flatten)]
    builds: BuildCache,
    #[command(flatten)]
    isolated: Isolated,
    #[command(flatten)]
    store: StorePath,
    #[command(flatten)]
    shown: Shown,
    // The last, because its heading is that of all options after it.
    #[command(flatten)]
    programs: ProgramOptions,
}

const AFTER_HELP: &str = "\
An arm is
  native/simd@avx2              a contender of this program
  rev:GITREV[/CONTENDER]        a revision of your crate, built now; `rev:.` is the working tree
  baseline:NAME[/CONTENDER]     a program that `proofmark baseline save NAME` kept
  run:ID[/CONTENDER]            the numbers of a stored run, which decide nothing
  'cmd:./new --size 3'          any command, raced against another without a proof

Programs and benchmarks that you already have are raced as they are; only ratios are reported:
  proofmark compare 'cmd:./old --size 3' 'cmd:./new --size 3' --compare-output stdout
  proofmark compare rev:main rev:. --benches --filter parse

What is found slower is raced again with fresh trials. Exit codes: 0 no case is slower, 1 a case
is slower, 5 undecided; a wrong kernel or a changed output is 3, a changed program 4, one that
crashes or does not build 7.";

/// Default seconds of a race of contenders.
const SECONDS: f64 = 60.0;

impl Compare {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        if let Some(sides) = self.programs.sides([&self.base, &self.other])? {
            return self.run_programs(sides);
        }
        let cap = cap()?;
        let request = CompareRequest {
            arms: [self.base.clone(), self.other.clone()],
            contender: self.contender.clone(),
            cases: self.cases(cap)?,
            threads: usize::from(self.threads),
            memory: Memory { cache: self.cache, pages: self.pages },
            quiet_seconds: self.settle,
            seed: self.seed,
            alpha: self.alpha,
            report_margin: self.report_margin / 100.0,
            same_margin: self.margin / 100.0,
            seconds: self.seconds.unwrap_or(SECONDS),
            cap,
            shelf: shelf().on(&self.device),
        };
        let (level, is_quiet) = (self.isolated.isolation, self.shown.quiet);
        let workbench = Workbench::open(&self.store, &self.builds, level, is_quiet)?;
        let compared = compare(&workbench.programs(&self.repo.repo), &request)?;
        workbench.progress.finish();
        let arms = ComparedArms {
            base: self.base.to_string(),
            other: self.other.to_string(),
            alpha: self.alpha,
            run: compared.run.clone(),
            notes: compared.notes,
        };
        print_document(self.shown.format, &reports::compare(&arms, &compared.decisions))?;
        if let (Some(run), false) = (&compared.run, is_quiet) {
            say(&format!("{}, seed {}", kept(&workbench.store, run)?, self.seed));
        }
        Ok(exit::of_decision(compared.severity))
    }

    /// Programs are raced as they are.
    fn run_programs(&self, sides: ProgramSides) -> Result<u8, Failure> {
        let terms = ProgramTerms {
            filter: self.programs.filter(),
            seconds: self.seconds.unwrap_or(programs::SECONDS),
            quiet_seconds: self.settle,
            is_pinned: self.threads == 1,
            seed: self.seed,
            alpha: self.alpha,
            report_margin: self.report_margin / 100.0,
            same_margin: self.margin / 100.0,
            cap: cap()?,
            tolerance: None,
        };
        let names = [self.base.to_string(), self.other.to_string()];
        let request = ProgramsRequest { sides, names, terms };
        let (level, is_quiet) = (self.isolated.isolation, self.shown.quiet);
        let workbench = Workbench::open(&self.store, &self.builds, level, is_quiet)?;
        let compared = compare_programs(&workbench.programs(&self.repo.repo), &request)?;
        workbench.progress.finish();
        let document = reports::programs(&compared.comparison, &compared.run);
        print_document(self.shown.format, &document)?;
        programs::finish(&compared, &request, &workbench.store, is_quiet)
    }

    /// The cases asked for; none where two runs are to say which they share.
    fn cases(&self, cap: Isa) -> Result<Vec<Case>, Failure> {
        let cases = self.asked.of(&self.ops, "standard", cap)?;
        if !cases.is_empty() {
            return Ok(cases);
        }
        let is_run = |arm: &Arm| matches!(arm.source, Source::Run(_));
        if is_run(&self.base) && is_run(&self.other) {
            return Ok(Vec::new());
        }
        Err(Failure {
            message: "nothing says on which cases".to_owned(),
            hint: Some("give `--case CASE` once or more, or `--suite smoke [OP…]`".to_owned()),
            code: exit::USAGE,
        })
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "write per cent, such as 1")?;
    if value > 0.0 && value < 100.0 { Ok(value) } else { Err("it lies between 0 and 100".into()) }
}
