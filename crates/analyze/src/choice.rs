//! Which of several ways to compute a case is the fastest: races one after the other.

use proofmark_schema::Case;
use proofmark_schema::quantity::Interval;
use proofmark_schema::race::Verdict;
use serde::{Deserialize, Serialize};

/// What there was to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Among {
    /// The kernels of an op.
    Kernels,
    /// The sizes of blocks that a kernel cuts its operands into.
    Blocks,
}

/// A race of one option against the best so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Challenge {
    /// The case it was on.
    pub case: Case,
    /// The option.
    pub option: String,
    /// The best so far.
    pub against: String,
    /// Time of the option over time of the best so far.
    pub ratio: Interval,
    /// What the race showed of the option.
    pub verdict: Verdict,
    /// Trials behind it.
    pub trials: u32,
}

/// What was chosen for a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The case.
    pub case: Case,
    /// Threads.
    pub threads: usize,
    /// What there was to choose from.
    pub among: Among,
    /// What holds without tuning.
    pub built_in: String,
    /// What was chosen: the built-in one unless another was shown faster, twice.
    pub chosen: String,
    /// The races of the search, in their order.
    pub search: Vec<Challenge>,
    /// Races of what the search found against the built-in one, after all else: the choice rests
    /// on these.
    pub check: Vec<Challenge>,
    /// Options that were refused or failed, with the reason.
    pub refused: Vec<String>,
    /// Error rate of each race.
    pub alpha: f64,
    /// The run that keeps the races.
    pub run: String,
    /// When, in seconds since 1970.
    pub made: u64,
    /// Whether it was found before.
    pub is_cached: bool,
}

impl Choice {
    /// Whether something else than the built-in was chosen.
    pub fn is_new(&self) -> bool {
        self.chosen != self.built_in
    }
}

/// The best after these races: each option that was shown faster than the best so far takes its
/// place.
pub fn best_of<'a>(built_in: &'a str, search: &'a [Challenge]) -> &'a str {
    let faster = |race: &&Challenge| race.verdict == Verdict::Faster;
    search.iter().rfind(faster).map_or(built_in, |race| &race.option)
}

/// Whether the check bears out the search: shown faster on the first case and slower on none.
pub fn is_borne_out(check: &[Challenge]) -> bool {
    let is_faster = check.first().is_some_and(|race| race.verdict == Verdict::Faster);
    is_faster && check.iter().all(|race| race.verdict != Verdict::Slower)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn race(option: &str, against: &str, verdict: Verdict) -> Challenge {
        Challenge {
            case: "conv2d:f32[b=1]".parse().unwrap(),
            option: option.to_owned(),
            against: against.to_owned(),
            ratio: Interval { estimate: 0.9, low: 0.8, high: 0.95, confidence: 0.99 },
            verdict,
            trials: 5,
        }
    }

    #[test]
    fn only_what_was_shown_faster_takes_the_place_of_the_best() {
        let search = [
            race("im2col", "simd", Verdict::Slower),
            race("winograd", "simd", Verdict::Faster),
            race("scalar", "winograd", Verdict::Undecided),
        ];
        assert_eq!(best_of("simd", &search), "winograd");
        assert_eq!(best_of("simd", &search[..1]), "simd");
        assert_eq!(best_of("simd", &[]), "simd");
    }

    #[test]
    fn a_choice_that_loses_anywhere_or_is_not_shown_again_is_none() {
        let of = |verdict| race("kc=384", "kc=256", verdict);
        assert!(is_borne_out(&[of(Verdict::Faster), of(Verdict::Same)]));
        assert!(!is_borne_out(&[of(Verdict::Faster), of(Verdict::Slower)]));
        assert!(!is_borne_out(&[of(Verdict::Same), of(Verdict::Faster)]));
        assert!(!is_borne_out(&[of(Verdict::Undecided)]));
        assert!(!is_borne_out(&[]));
    }
}
