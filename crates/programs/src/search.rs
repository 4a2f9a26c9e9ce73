//! The first bad revision of a line, found by halving, with the error rate of the whole search.
//!
//! Each step asks whether one candidate is slower than the good end. A wrong answer leads to a
//! wrong revision, so that the error rate is divided by the most steps that there may be.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a step says of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Not slower than the good end.
    Good,
    /// Slower.
    Bad,
    /// It does not build, crashes, or stays undecided.
    Skipped,
}

impl Answer {
    /// Its name, as tables and files have it.
    pub fn name(self) -> &'static str {
        match self {
            Answer::Good => "good",
            Answer::Bad => "bad",
            Answer::Skipped => "skipped",
        }
    }
}

/// Where a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The place of the first bad candidate; with skipped ones before it, one of those may be it.
    pub first_bad: usize,
    /// Skipped candidates between the last good one and the first bad one.
    pub suspects: Vec<usize>,
}

/// The most steps of a search among this many candidates, of which the last is known to be bad:
/// those of halving, and one for each candidate that may be skipped.
pub fn most_steps(candidates: usize, skips: usize) -> u32 {
    let halvings = usize::BITS - candidates.saturating_sub(1).leading_zeros();
    halvings + skips as u32
}

/// Finds the first bad one of some candidates. The good end is before the first, and the last is
/// bad. What is known already is not asked again.
///
/// # Errors
/// The first error of a question.
pub fn first_bad<E>(
    candidates: usize,
    known: &BTreeMap<usize, Answer>,
    ask: &mut dyn FnMut(usize) -> Result<Answer, E>,
) -> Result<Found, E> {
    let mut answers = known.clone();
    // The places of the last good and the first bad one, counted from the good end, which is 0.
    let (mut good, mut bad) = (0_usize, candidates);
    loop {
        let middle = good.midpoint(bad);
        let is_open = |place: &usize| answers.get(&(place - 1)) != Some(&Answer::Skipped);
        // The nearest to the middle that was not skipped.
        let next = (good + 1..bad).filter(is_open).min_by_key(|place| place.abs_diff(middle));
        let Some(place) = next else { break };
        let answer = match answers.get(&(place - 1)) {
            Some(&answer) => answer,
            None => ask(place - 1)?,
        };
        answers.insert(place - 1, answer);
        match answer {
            Answer::Good => good = place,
            Answer::Bad => bad = place,
            Answer::Skipped => {}
        }
    }
    Ok(Found { first_bad: bad - 1, suspects: (good + 1..bad).map(|place| place - 1).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_stats::Stream;
    use std::convert::Infallible;

    fn search(count: usize, planted: usize, skipped: &[usize]) -> (Found, u32) {
        let mut asked = 0;
        let mut ask = |at: usize| -> Result<Answer, Infallible> {
            asked += 1;
            Ok(match at {
                at if skipped.contains(&at) => Answer::Skipped,
                at if at >= planted => Answer::Bad,
                _ => Answer::Good,
            })
        };
        let Ok(found) = first_bad(count, &BTreeMap::new(), &mut ask);
        (found, asked)
    }

    #[test]
    fn a_planted_revision_is_found_wherever_it_is_within_the_steps_stated() {
        for count in [1, 2, 3, 7, 64, 100] {
            for planted in 0..count {
                let (found, asked) = search(count, planted, &[]);
                assert_eq!(found, Found { first_bad: planted, suspects: Vec::new() });
                assert!(asked <= most_steps(count, 0), "{count} {planted}: {asked}");
            }
        }
    }

    #[test]
    fn what_is_skipped_is_suspected_only_beside_the_change() {
        let mut stream = Stream::new(5);
        for _ in 0..500 {
            let count = 2 + stream.below(63) as usize;
            let planted = stream.below(count as u64) as usize;
            let skipped: Vec<usize> = (0..count - 1).filter(|_| stream.below(4) == 0).collect();
            let (found, asked) = search(count, planted, &skipped);
            let may_be = found.first_bad == planted || found.suspects.contains(&planted);
            assert!(may_be, "{count} {planted} {skipped:?} {found:?}");
            assert!(found.suspects.iter().all(|at| skipped.contains(at)), "{found:?}");
            assert!(asked <= most_steps(count, skipped.len()));
        }
    }

    #[test]
    fn what_is_known_is_not_asked_again() {
        let known = BTreeMap::from([(3, Answer::Good), (5, Answer::Bad)]);
        let mut asked = Vec::new();
        let mut ask = |at: usize| -> Result<Answer, Infallible> {
            asked.push(at);
            Ok(Answer::Bad)
        };
        let Ok(found) = first_bad(8, &known, &mut ask);
        assert_eq!((found.first_bad, asked), (4, vec![4]));
    }
}
