//! Candidates that are revisions: their bench targets, or a command in the folder of each.

use super::{Bisected, Ends, Judged, Kept, Line, search};
use crate::git::Repository;
use crate::plan::CommandPair;
use crate::race::Programs;
use crate::verbs::compare::{ProgramSides, ProgramTerms, ProgramsRequest, compare_programs};
use crate::{Arm, BisectError, EngineError, Source};
use proofmark_programs::Command;
use proofmark_schema::program::ProgramDecision;

/// What to find.
#[derive(Clone, Debug)]
pub struct BisectRequest {
    /// A revision that is fast.
    pub good: String,
    /// A later one that is slow.
    pub bad: String,
    /// The command that is raced in the folder of each revision; none for bench targets.
    pub command: Option<Command>,
    /// What builds a revision before its command runs.
    pub build: Option<Command>,
    /// How each race is run; the error rate is that of the whole search.
    pub terms: ProgramTerms,
}

/// Finds the first bad revision. A search that was cut off goes on where it stopped.
///
/// # Errors
/// If the revisions are not on one line, an end does not build, or the bad end is not slower.
pub fn bisect(programs: &Programs<'_>, request: &BisectRequest) -> Result<Bisected, EngineError> {
    let repository = Repository::open(programs.repo)?;
    let (good, bad) = (repository.resolve(&request.good)?, repository.resolve(&request.bad)?);
    let range = format!("{good}..{bad}");
    let listed = repository.git(&["rev-list", "--reverse", "--first-parent", &range])?;
    let commits: Vec<String> = listed.lines().map(str::to_owned).collect();
    let is_line = repository.git(&["merge-base", "--is-ancestor", &good, &bad]).is_ok();
    if commits.is_empty() || !is_line {
        let (good, bad) = (request.good.clone(), request.bad.clone());
        return Err(BisectError::NoLine { good, bad }.into());
    }
    let BisectRequest { command, build, terms, .. } = request;
    let what = format!("{:?} {command:?} {build:?} {:?}", [&good, &bad], terms.filter);
    let kept = Kept::open(programs.store, &what)?;
    let ends = Ends { good: &request.good, bad: &request.bad };
    let line = Revisions { programs, request, good: &good };
    search(&line, &commits, &ends, terms.alpha, kept, programs.listener)
}

/// The commits after a good one.
struct Revisions<'a> {
    programs: &'a Programs<'a>,
    request: &'a BisectRequest,
    good: &'a str,
}

impl Line for Revisions<'_> {
    fn race(
        &self,
        commit: &str,
        alpha: f64,
        followed: Option<&str>,
    ) -> Result<Vec<Judged>, EngineError> {
        let mut terms = self.request.terms.clone();
        terms.alpha = alpha;
        terms.filter = followed.map(str::to_owned).or(terms.filter);
        let arm =
            |commit: &str| Arm { source: Source::Revision(commit.to_owned()), contender: None };
        let sides = match &self.request.command {
            None => ProgramSides::Benches([arm(self.good), arm(commit)]),
            Some(command) => {
                let mut sides = [command.clone(), command.clone()];
                for (side, (which, commit)) in sides.iter_mut().zip([(0, self.good), (1, commit)]) {
                    let build = self.request.build.as_ref();
                    side.folder = Some(self.programs.checked_out(commit, which, build)?);
                }
                let name = command.words.join(" ");
                ProgramSides::Commands(vec![CommandPair { name, sides }])
            }
        };
        let names = [self.request.good.clone(), self.short(commit).to_owned()];
        let request = ProgramsRequest { sides, names, terms };
        let compared = compare_programs(self.programs, &request)?;
        let judged = |it: ProgramDecision| Judged {
            ratio: it.last().map(|ruling| ruling.ratio),
            name: it.name,
            standing: it.standing,
            because: None,
        };
        Ok(compared.comparison.decisions.into_iter().map(judged).collect())
    }

    fn skips(&self, error: &EngineError) -> Option<String> {
        match error {
            EngineError::Build { said, .. } => Some(format!("it does not build: {said}")),
            EngineError::NoBenches { .. } => Some(String::new()),
            _ => None,
        }
    }

    fn short<'a>(&self, commit: &'a str) -> &'a str {
        &commit[..12]
    }
}
