//! `proofmark check`: a change held against a project's rules, for people and for CI.

use super::programs;
use super::quantities::{seconds, settling, share};
use super::{BuildCache, Isolated, StorePath, Workbench, arm, cap, drawn_seed, kept, shelf};
use crate::exit;
use crate::output::{Failure, Format, print, print_document, say};
use clap::{Args, ValueEnum};
use proofmark_engine::policy::Checked;
use proofmark_engine::{
    Arm, CheckRequest, Day, ProgramSides, ProgramTerms, ProgramsRequest, REPORT_MARGIN, Request,
    Ruled, RulesRequest, SAME_MARGIN, Source, Tolerance, cases, check, check_programs, read_rules,
    unix_seconds,
};
use proofmark_report::reports;
use proofmark_schema::{Case, Isa};
use std::path::PathBuf;

/// Arguments of `check`.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Check {
    /// The side that is compared with, as `rev:origin/main`, `baseline:main` or a branch;
    /// `baseline` of the file by default
    #[arg(long, alias = "against", value_name = "ARM", value_parser = side)]
    base: Option<Arm>,
    /// The other side; the working tree where the base is a revision, else this program
    #[arg(long, value_name = "ARM", value_parser = side)]
    new: Option<Arm>,
    /// The project's file; the nearest proofmark.toml from here upwards by default. Where the base
    /// is a revision, its version of the file judges, unless the file is outside of the repository
    #[arg(long, value_name = "PATH")]
    config: Option<PathBuf>,
    /// The revision whose version of the file judges; the base by default
    #[arg(long, value_name = "REVISION")]
    rules: Option<String>,
    /// Seconds after which no further trial of a race starts
    #[arg(long, value_parser = seconds)]
    seconds: Option<f64>,
    /// Error rate of the whole check
    #[arg(long, value_parser = share)]
    alpha: Option<f64>,
    /// Seconds to wait for a quiet machine before each race, at the most; 0 does not wait
    #[arg(long, default_value_t = 5.0, value_name = "SECONDS", value_parser = settling)]
    settle: f64,
    /// Seed of inputs, layouts and orders; drawn at random and printed unless it is given
    #[arg(long, default_value_t = drawn_seed(), hide_default_value = true)]
    seed: u64,
    /// Folder of the crate whose revisions `rev:` means; that of the file by default
    #[arg(long, value_name = "PATH")]
    repo: Option<PathBuf>,
    #[command(flatten)]
    builds: BuildCache,
    #[command(flatten)]
    isolated: Isolated,
    #[command(flatten)]
    store: StorePath,
    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// End with 0 where only this is to be reported
    #[arg(long, value_enum, value_name = "WHAT")]
    exit_zero_on: Option<Tolerated>,
    /// Say nothing while working
    #[arg(long, short)]
    quiet: bool,
}

/// What may be let pass.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Tolerated {
    /// Something could not be decided.
    Undecided,
}

const AFTER_HELP: &str = "\
Exit codes, the worst first: 4 integrity, 3 a wrong kernel, 7 a contender crashed or did not build,
1 a regression or a missed target, 6 environment, 5 undecided, 0 pass. `proofmark init` writes a
proofmark.toml to begin with.";

/// Default seconds of a race.
const SECONDS: f64 = 60.0;
/// Default error rate.
const ALPHA: f64 = 0.01;

impl Check {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let ruled = self.ruled()?;
        if !ruled.project.programs.is_empty() {
            return self.run_programs(&ruled);
        }
        let request = self.request(&ruled, cap()?)?;
        let level = self.isolated.isolation;
        let workbench = Workbench::open(&self.store, &self.builds, level, self.quiet)?;
        let checked = check(&workbench.programs(&ruled.repo), &request)?;
        workbench.progress.finish();
        let code = match (exit::of_decision(checked.severity()), self.exit_zero_on) {
            (exit::UNDECIDED, Some(Tolerated::Undecided)) => exit::PASS,
            (code, _) => code,
        };
        print_document(self.format, &reports::check(&checked, code))?;
        self.print_entries(&checked, &ruled)?;
        if !self.quiet {
            for run in &checked.runs {
                say(&format!("{}, seed {}", kept(&workbench.store, run)?, self.seed));
            }
        }
        Ok(code)
    }

    /// Programs are raced as they are, and judged by the limit and the accepted changes.
    fn run_programs(&self, ruled: &Ruled) -> Result<u8, Failure> {
        let project = &ruled.project;
        let sides = self.program_sides(ruled)?;
        let names = match &sides {
            ProgramSides::Benches(arms) => arms.each_ref().map(Arm::to_string),
            ProgramSides::Commands(_) => ["the base".to_owned(), "the new side".to_owned()],
        };
        let terms = ProgramTerms {
            filter: project.programs.filter.clone(),
            seconds: self.seconds.or(project.seconds).unwrap_or(programs::SECONDS),
            quiet_seconds: self.settle,
            is_pinned: project.threads.iter().all(|&threads| threads == 1),
            seed: self.seed,
            alpha: self.alpha.or(project.alpha).unwrap_or(ALPHA),
            report_margin: REPORT_MARGIN,
            same_margin: SAME_MARGIN,
            cap: cap()?,
            tolerance: Some(Tolerance {
                slower: project.rules.policy.slower / 100.0,
                accepts: project.rules.accepts.clone(),
                today: Day::of_unix(unix_seconds()),
            }),
        };
        let request = ProgramsRequest { sides, names, terms };
        let level = self.isolated.isolation;
        let workbench = Workbench::open(&self.store, &self.builds, level, self.quiet)?;
        let compared = check_programs(&workbench.programs(&ruled.repo), &shelf(), &request)?;
        workbench.progress.finish();
        print_document(self.format, &reports::programs(&compared.comparison, &compared.run))?;
        let code = programs::finish(&compared, &request, &workbench.store, self.quiet)?;
        let is_tolerated = self.exit_zero_on == Some(Tolerated::Undecided);
        Ok(if code == exit::UNDECIDED && is_tolerated { exit::PASS } else { code })
    }

    /// What a file that names programs races. A check is of ops, of benches or of commands: each
    /// has an error rate and a table of its own.
    fn program_sides(&self, ruled: &Ruled) -> Result<ProgramSides, Failure> {
        let project = &ruled.project;
        let programs = &project.programs;
        let has_cases =
            !project.cases.is_empty() || project.suite.is_some() || !project.ops.is_empty();
        if has_cases || (programs.has_benches && !programs.commands.is_empty()) {
            return Err(Failure {
                message: format!(
                    "{} names more than one of cases, [benches] and [[command]]",
                    project.path.display()
                ),
                hint: Some("write one file for each, and give `--config PATH`".to_owned()),
                code: exit::USAGE,
            });
        }
        if !programs.has_benches {
            return Ok(ProgramSides::Commands(programs.commands.clone()));
        }
        let base = ruled.base.clone().ok_or_else(|| no_base(ruled))?;
        let tree = || Arm { source: Source::Revision(".".to_owned()), contender: None };
        let new = self.new.clone().or_else(|| project.new.clone()).unwrap_or_else(tree);
        Ok(ProgramSides::Benches([base, new]))
    }

    fn ruled(&self) -> Result<Ruled, Failure> {
        let from = std::env::current_dir()
            .map_err(|error| Failure::environment(format!("cannot tell where this is: {error}")))?;
        Ok(read_rules(&RulesRequest {
            config: self.config.as_deref(),
            from: &from,
            repo: self.repo.as_deref(),
            base: self.base.as_ref(),
            new: self.new.as_ref(),
            rules: self.rules.as_deref(),
        })?)
    }

    fn request(&self, ruled: &Ruled, cap: Isa) -> Result<CheckRequest, Failure> {
        let project = &ruled.project;
        let base = ruled.base.clone().ok_or_else(|| no_base(ruled))?;
        let usual = || Arm {
            source: match base.source {
                Source::Revision(_) => Source::Revision(".".to_owned()),
                _ => Source::Here,
            },
            contender: None,
        };
        let new = self.new.clone().or_else(|| project.new.clone()).unwrap_or_else(usual);
        Ok(CheckRequest {
            base,
            new,
            cases: self.cases(ruled, cap)?,
            contenders: project.contenders.clone(),
            threads: if project.threads.is_empty() { vec![1] } else { project.threads.clone() },
            seconds: self.seconds.or(project.seconds).unwrap_or(SECONDS),
            quiet_seconds: self.settle,
            alpha: self.alpha.or(project.alpha).unwrap_or(ALPHA),
            seed: self.seed,
            cap,
            shelf: shelf(),
            rules: project.rules.clone(),
            origin: ruled.origin.clone(),
            today: Day::of_unix(unix_seconds()),
        })
    }

    /// The cases that the file names one by one, then those of its suite.
    fn cases(&self, ruled: &Ruled, cap: Isa) -> Result<Vec<Case>, Failure> {
        let project = &ruled.project;
        let mut all = project.cases.clone();
        if project.suite.is_some() || !project.ops.is_empty() {
            all.extend(cases(&Request {
                ops: project.ops.clone(),
                dtypes: project.dtypes.clone(),
                suite: project.suite.clone().unwrap_or_else(|| "standard".to_owned()),
                tree: ruled.tree.clone(),
                ..Request::of_cases(cap, shelf())
            })?);
        }
        if all.is_empty() {
            return Err(Failure {
                message: format!("{} names no case", project.path.display()),
                hint: Some("write `suite = \"smoke\"` or `cases = [\"…\"]` under [check]".into()),
                code: exit::USAGE,
            });
        }
        Ok(all)
    }

    /// The entries that would explain what is not explained, to be pasted.
    fn print_entries(&self, checked: &Checked, ruled: &Ruled) -> Result<(), Failure> {
        let entries = reports::accept_entries(checked);
        let path = ruled.project.path.display();
        let lead = if ruled.tree.is_some() {
            format!(
                "To explain it, let a change of its own land first that adds this to {path} and \
                 says why:"
            )
        } else {
            format!("To explain it, paste this into {path} and say why:")
        };
        match self.format {
            _ if entries.is_empty() => Ok(()),
            Format::Table => print(&format!("\n{lead}\n\n{entries}")),
            Format::Markdown => print(&format!("\n{lead}\n\n```toml\n{entries}```")),
            _ => Ok(()),
        }
    }
}

/// Nothing says what is compared with.
fn no_base(ruled: &Ruled) -> Failure {
    Failure {
        message: "nothing says what is compared with".to_owned(),
        hint: Some(format!(
            "give `--base rev:origin/main`, or write `baseline = \"rev:origin/main\"` under \
             [check] in {}",
            ruled.project.path.display()
        )),
        code: exit::USAGE,
    }
}

/// Reads an arm; a plain word is a revision.
fn side(text: &str) -> Result<Arm, String> {
    let is_word = !text.is_empty() && !text.contains([':', '/']);
    if is_word { arm(&format!("rev:{text}")) } else { arm(text) }
}
