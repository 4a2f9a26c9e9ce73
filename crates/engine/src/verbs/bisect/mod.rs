//! The first candidate of a line that is slower than the good end: a revision, or a version of a
//! library.
//!
//! Every candidate is raced against the good end, never against a stored time. The error rate of
//! the whole search is divided by the most steps that it may take.

mod kept;
mod revisions;
mod versions;

pub use revisions::{BisectRequest, bisect};
pub use versions::{VersionsRequest, bisect_versions};

use crate::{BisectError, EngineError, Event, Listener};
use kept::Kept;
use proofmark_programs::search::{Answer, first_bad, most_steps};
use proofmark_schema::decision::Standing;
use proofmark_schema::quantity::Interval;

/// Candidates that may be skipped before the error rate is used up.
const SKIPS: usize = 4;

/// One candidate that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// The commit or version.
    pub candidate: String,
    /// What was found.
    pub answer: Answer,
    /// Time of the candidate over that of the good end, if they were raced now.
    pub ratio: Option<f64>,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Bisected {
    /// The first bad candidate.
    pub first_bad: String,
    /// Candidates just before it that could not be judged: the change may be in one of them.
    pub suspects: Vec<String>,
    /// The benchmark, command or case that was followed.
    pub name: String,
    /// Candidates between the good and the bad end, the bad one included.
    pub candidates: usize,
    /// What was tried, in order.
    pub tried: Vec<Tried>,
    /// Error rate of the whole search.
    pub alpha: f64,
}

/// The line that is searched.
trait Line {
    /// Races a candidate against the good end with this error rate. If a benchmark or case is
    /// followed already, only the one of that name is raced.
    fn race(
        &self,
        candidate: &str,
        alpha: f64,
        followed: Option<&str>,
    ) -> Result<Vec<Judged>, EngineError>;

    /// Why a candidate that could not be raced is skipped; `None` if the error ends the search. The
    /// text is empty if there is nothing to say.
    fn skips(&self, error: &EngineError) -> Option<String>;

    /// How notes call a candidate.
    fn short<'a>(&self, candidate: &'a str) -> &'a str;
}

/// How a benchmark or case ended in the race of a candidate against the good end.
struct Judged {
    name: String,
    standing: Standing,
    /// Time of the candidate over that of the good end; none if one of them was refused.
    ratio: Option<Interval>,
    /// Why it was refused.
    because: Option<String>,
}

/// The good and the bad end as the user names them.
struct Ends<'a> {
    good: &'a str,
    bad: &'a str,
}

/// Finds the first bad candidate; the last one is the bad end.
fn search(
    line: &dyn Line,
    candidates: &[String],
    ends: &Ends<'_>,
    alpha: f64,
    kept: Kept<'_>,
    listener: &dyn Listener,
) -> Result<Bisected, EngineError> {
    let steps = 1 + most_steps(candidates.len(), SKIPS);
    let mut search = Search {
        line,
        listener,
        alpha: alpha / f64::from(steps),
        name: String::new(),
        effect: 1.0,
        tried: Vec::new(),
        steps_left: steps - 1,
        kept,
    };
    search.measure_ends(&candidates[candidates.len() - 1], ends)?;
    let known = search.kept.answers(candidates);
    let mut ask = |at: usize| search.ask(&candidates[at]);
    let found = first_bad(candidates.len(), &known, &mut ask)?;
    Ok(Bisected {
        first_bad: candidates[found.first_bad].clone(),
        suspects: found.suspects.into_iter().map(|at| candidates[at].clone()).collect(),
        name: search.name,
        candidates: candidates.len(),
        tried: search.tried,
        alpha,
    })
}

/// A search in progress.
struct Search<'a> {
    line: &'a dyn Line,
    listener: &'a dyn Listener,
    /// Error rate of one step.
    alpha: f64,
    /// The benchmark or case that is followed.
    name: String,
    /// Time of the bad end over that of the good one.
    effect: f64,
    tried: Vec<Tried>,
    /// Races that the error rate is divided by and that have not been run.
    steps_left: u32,
    kept: Kept<'a>,
}

impl Search<'_> {
    /// Races the two ends, and follows what became slower most.
    fn measure_ends(&mut self, bad: &str, ends: &Ends<'_>) -> Result<(), EngineError> {
        let raced = self.line.race(bad, self.alpha, None)?;
        let (good, bad) = (ends.good.to_owned(), ends.bad.to_owned());
        let ratio = |it: &Judged| it.ratio.map_or(1.0, |ratio| ratio.estimate);
        let slower = raced.iter().filter(|it| it.standing == Standing::Slower);
        let worst = slower.max_by(|first, second| ratio(first).total_cmp(&ratio(second)));
        if let Some(worst) = worst {
            (self.name, self.effect) = (worst.name.clone(), ratio(worst));
            return Ok(());
        }
        match raced.into_iter().find_map(|it| it.because) {
            Some(why) => Err(BisectError::EndRefused { good, bad, why }.into()),
            None => Err(BisectError::NotSlower { good, bad }.into()),
        }
    }

    /// Whether a candidate is bad.
    fn ask(&mut self, candidate: &str) -> Result<Answer, EngineError> {
        // A further race would break the stated error rate, so that the rest stays suspected.
        let Some(left) = self.steps_left.checked_sub(1) else { return Ok(Answer::Skipped) };
        self.steps_left = left;
        let (raced, mut why) = match self.line.race(candidate, self.alpha, Some(&self.name)) {
            Ok(raced) => (raced, String::new()),
            Err(error) => (Vec::new(), self.line.skips(&error).ok_or(error)?),
        };
        let judged = raced.into_iter().find(|it| it.name == self.name);
        if let Some(because) = judged.as_ref().and_then(|it| it.because.as_ref()) {
            because.clone_into(&mut why);
        }
        if !why.is_empty() {
            let note = format!("{} is skipped: {why}", self.line.short(candidate));
            self.listener.hear(&Event::Note(note));
        }
        let answer = judged.as_ref().map_or(Answer::Skipped, |it| answer_of(it, self.effect));
        let ratio = judged.and_then(|it| Some(it.ratio?.estimate));
        self.kept.keep(candidate, answer)?;
        self.tried.push(Tried { candidate: candidate.to_owned(), answer, ratio });
        Ok(answer)
    }
}

/// Whether a candidate has the effect of the bad end. If it is neither slower nor the same, its
/// whole interval must lie on one side of the middle, on the scale of ratios, and that side
/// decides.
fn answer_of(judged: &Judged, effect: f64) -> Answer {
    let Some(ratio) = judged.ratio else { return Answer::Skipped };
    let middle = effect.sqrt();
    match judged.standing {
        _ if ratio.low > middle => Answer::Bad,
        _ if ratio.high < middle => Answer::Good,
        Standing::Slower => Answer::Bad,
        Standing::Same | Standing::Faster => Answer::Good,
        _ => Answer::Skipped,
    }
}
