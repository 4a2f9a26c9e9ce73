//! What a comparison says of one case, and the races it says it from.

use crate::proof::Proof;
use crate::quantity::Interval;
use crate::race::{Race, Ruling, Verdict};
use crate::{Case, ContenderId};
use serde::{Deserialize, Serialize};

/// Which race of a case this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Round {
    /// Every case is raced once.
    Screen,
    /// What was found slower is raced again, with fresh trials.
    Confirmation,
}

/// One side of a comparison as it was raced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RacedArm {
    /// The arm as it was asked for.
    pub arm: String,
    /// The contender.
    pub contender: ContenderId,
    /// SHA-256 of the worker program, where it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

/// The end of one race of a comparison: all that its slices do not say, and what follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    /// Which race of the case.
    pub round: Round,
    /// The raced arms; the first is the one that the other is compared with.
    pub arms: [RacedArm; 2],
    /// The trial counts at which it was looked at.
    pub looks: Vec<u32>,
    /// What follows from the slices.
    pub ruling: Ruling,
    /// The least error rate at which a look left out a ratio of 1, over all looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
}

/// Where a case stands at the end of a comparison; one word in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Faster.
    Faster,
    /// The same within the margin.
    Same,
    /// Slower, and slower again with fresh trials.
    Slower,
    /// Slower at first; fresh trials said this instead.
    NotConfirmed(Verdict),
    /// None of these could be shown.
    Undecided,
    /// From stored numbers: it decides nothing.
    Weak,
    /// An arm was refused or failed, so there is nothing to compare.
    Refused,
}

impl Standing {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Faster => "FASTER",
            Standing::Same => "SAME",
            Standing::Slower => "SLOWER",
            Standing::NotConfirmed(_) => "not confirmed",
            Standing::Undecided => "UNDECIDED",
            Standing::Weak => "weak",
            Standing::Refused => "refused",
        }
    }
}

impl Serialize for Standing {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.name().to_uppercase().replace(' ', "_"))
    }
}

/// One case of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseDecision {
    /// The case.
    pub case: Case,
    /// Threads each arm could use.
    pub threads: usize,
    /// Where it stands.
    pub standing: Standing,
    /// Time of the second arm over time of the first, from the last race or from stored numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Interval>,
    /// The first race.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screen: Option<Decided>,
    /// The second, where the first found it slower.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Decided>,
    /// Which arm was refused, 0 or 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_arm: Option<usize>,
    /// The proof that refused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Box<Proof>>,
    /// Why it stands there, where that needs a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Slices behind it.
    pub slices: usize,
    /// Elements of timed outputs that were checked.
    pub checked_elements: u64,
}

impl CaseDecision {
    /// A case of which nothing is known yet.
    pub fn open(case: Case, threads: usize) -> CaseDecision {
        CaseDecision {
            case,
            threads,
            standing: Standing::Refused,
            ratio: None,
            screen: None,
            confirmation: None,
            refused_arm: None,
            refused: None,
            because: None,
            slices: 0,
            checked_elements: 0,
        }
    }

    /// A race of it is over.
    pub fn raced(&mut self, race: &Race, decided: &Decided) {
        self.ratio = Some(decided.ruling.comparison.ratio);
        self.slices += race.slices.len();
        self.checked_elements += race.checked;
        let place = match decided.round {
            Round::Screen => &mut self.screen,
            Round::Confirmation => &mut self.confirmation,
        };
        *place = Some(decided.clone());
    }

    /// An arm was refused, and with it the case.
    pub fn refuse(&mut self, arm: usize, proof: Box<Proof>) {
        self.because = proof.refusal.as_ref().map(|refusal| refusal.reason.clone());
        self.refused_arm = Some(arm);
        self.refused = Some(proof);
    }

    /// The race that it rests on.
    pub fn last(&self) -> Option<&Decided> {
        self.confirmation.as_ref().or(self.screen.as_ref())
    }
}
