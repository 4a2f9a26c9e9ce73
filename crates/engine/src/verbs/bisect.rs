//! The first revision of a line that is slower than the good one.
//!
//! Every candidate is raced against the good end, never against a stored time. The error rate of
//! the whole search is divided by the most steps that it may take.

use super::compare::{ProgramSides, ProgramTerms, ProgramsRequest, compare_programs};
use crate::git::Repository;
use crate::plan::CommandPair;
use crate::race::Programs;
use crate::{Arm, EngineError, Event, Source};
use proofmark_programs::Command;
use proofmark_programs::search::{Answer, first_bad, most_steps};
use proofmark_schema::decision::Standing;
use proofmark_schema::program::ProgramDecision;
use proofmark_store::Store;
use std::collections::BTreeMap;

/// Revisions that may be skipped before the error rate is used up.
const SKIPS: usize = 4;

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

/// One revision that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// The commit.
    pub commit: String,
    /// What was found.
    pub answer: Answer,
    /// Time of the revision over that of the good one, if they were raced now.
    pub ratio: Option<f64>,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Bisected {
    /// The first bad commit.
    pub first_bad: String,
    /// Commits just before it that could not be judged: the change may be in one of them.
    pub suspects: Vec<String>,
    /// The benchmark or command that was followed.
    pub name: String,
    /// Commits between the good and the bad end, the bad one included.
    pub candidates: usize,
    /// What was tried, in order.
    pub tried: Vec<Tried>,
    /// Error rate of the whole search.
    pub alpha: f64,
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
    let commits: Vec<&str> = listed.lines().collect();
    let is_line = repository.git(&["merge-base", "--is-ancestor", &good, &bad]).is_ok();
    if commits.is_empty() || !is_line {
        let (good, bad) = (request.good.clone(), request.bad.clone());
        return Err(EngineError::NoLine { good, bad });
    }
    let steps = 1 + most_steps(commits.len(), SKIPS);
    let mut search = Search {
        programs,
        request,
        good: &good,
        alpha: request.terms.alpha / f64::from(steps),
        name: None,
        effect: 1.0,
        tried: Vec::new(),
        steps_left: steps - 1,
        kept: Kept::open(programs.store, &[&good, &bad], request)?,
    };
    search.measure_ends(&bad)?;
    let known = search.kept.answers(&commits);
    let mut ask = |at: usize| search.ask(commits[at]);
    let found = first_bad(commits.len(), &known, &mut ask)?;
    let commit = |at: usize| commits[at].to_owned();
    Ok(Bisected {
        first_bad: commit(found.first_bad),
        suspects: found.suspects.into_iter().map(commit).collect(),
        name: search.name.unwrap_or_default(),
        candidates: commits.len(),
        tried: search.tried,
        alpha: request.terms.alpha,
    })
}

/// A search in progress.
struct Search<'a> {
    programs: &'a Programs<'a>,
    request: &'a BisectRequest,
    good: &'a str,
    /// Error rate of one step.
    alpha: f64,
    /// The benchmark that is followed.
    name: Option<String>,
    /// Time of the bad end over that of the good one.
    effect: f64,
    tried: Vec<Tried>,
    /// Races that the error rate is divided by and that have not been run.
    steps_left: u32,
    kept: Kept<'a>,
}

impl Search<'_> {
    /// Races the two ends, and follows what became slower most.
    fn measure_ends(&mut self, bad: &str) -> Result<(), EngineError> {
        let decisions = self.race(bad)?;
        let ratio = |it: &ProgramDecision| it.last().map_or(1.0, |ruling| ruling.ratio.estimate);
        let slower = decisions.iter().filter(|it| it.standing == Standing::Slower);
        let worst = slower.max_by(|first, second| ratio(first).total_cmp(&ratio(second)));
        let Some(worst) = worst else {
            let (good, bad) = (self.request.good.clone(), self.request.bad.clone());
            return Err(EngineError::NotSlower { good, bad });
        };
        (self.name, self.effect) = (Some(worst.name.clone()), ratio(worst));
        Ok(())
    }

    fn race(&self, commit: &str) -> Result<Vec<ProgramDecision>, EngineError> {
        let mut terms = self.request.terms.clone();
        terms.alpha = self.alpha;
        terms.filter = self.name.clone().or(terms.filter);
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
        let names = [self.request.good.clone(), commit[..12].to_owned()];
        let request = ProgramsRequest { sides, names, terms };
        Ok(compare_programs(self.programs, &request)?.comparison.decisions)
    }

    /// Whether a revision is bad.
    fn ask(&mut self, commit: &str) -> Result<Answer, EngineError> {
        // A further race would break the stated error rate, so that the rest stays suspected.
        let Some(left) = self.steps_left.checked_sub(1) else { return Ok(Answer::Skipped) };
        self.steps_left = left;
        let raced = match self.race(commit) {
            Ok(decisions) => decisions,
            Err(EngineError::Build { said, .. }) => {
                let note =
                    format!("{} is skipped, because it does not build: {said}", &commit[..12]);
                self.programs.listener.hear(&Event::Note(note));
                Vec::new()
            }
            Err(EngineError::NoBenches { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        let decision = raced.iter().find(|it| Some(&it.name) == self.name.as_ref());
        let answer = decision.map_or(Answer::Skipped, |it| judged(it, self.effect));
        let ratio = decision.and_then(|it| Some(it.last()?.ratio.estimate));
        self.kept.keep(commit, answer)?;
        self.tried.push(Tried { commit: commit.to_owned(), answer, ratio });
        Ok(answer)
    }
}

/// Whether a revision has the effect of the bad end. One that is neither slower nor the same is
/// judged by the side of the middle, on the scale of ratios, that its whole interval lies on.
fn judged(decision: &ProgramDecision, effect: f64) -> Answer {
    let Some(ruling) = decision.last() else { return Answer::Skipped };
    let middle = effect.sqrt();
    match ruling.ratio {
        ratio if ratio.low > middle => Answer::Bad,
        ratio if ratio.high < middle => Answer::Good,
        _ => match decision.standing {
            Standing::Slower => Answer::Bad,
            Standing::Same | Standing::Faster => Answer::Good,
            _ => Answer::Skipped,
        },
    }
}

/// Answers of a search in the store, so that it can go on.
struct Kept<'a> {
    store: &'a Store,
    /// Its name in the store.
    name: String,
    by_commit: BTreeMap<String, Answer>,
}

impl<'a> Kept<'a> {
    fn open(
        store: &'a Store,
        ends: &[&str; 2],
        request: &BisectRequest,
    ) -> Result<Kept<'a>, EngineError> {
        let BisectRequest { command, build, terms, .. } = request;
        let what = format!("{ends:?} {command:?} {build:?} {:?}", terms.filter);
        let hash = blake3::hash(what.as_bytes()).to_hex();
        let name = format!("bisect-{}.json", &hash[..16]);
        let text = store.read_file(&name)?.unwrap_or_default();
        // A file that cannot be read is like none: its revisions are raced again.
        let by_commit = serde_json::from_slice(&text).unwrap_or_default();
        Ok(Kept { store, name, by_commit })
    }

    /// What is known; skipped revisions are tried again.
    fn answers(&self, commits: &[&str]) -> BTreeMap<usize, Answer> {
        let known = commits.iter().enumerate();
        known.filter_map(|(at, commit)| Some((at, *self.by_commit.get(*commit)?))).collect()
    }

    fn keep(&mut self, commit: &str, answer: Answer) -> Result<(), EngineError> {
        if answer != Answer::Skipped {
            self.by_commit.insert(commit.to_owned(), answer);
        }
        let text = serde_json::to_vec_pretty(&self.by_commit).unwrap_or_default();
        Ok(self.store.write_file(&self.name, &text)?)
    }
}
