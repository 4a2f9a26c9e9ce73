//! What a comparison is asked, and what it answers.

use crate::{Arm, EngineError};
use proofmark_peers::PeerShelf;
use proofmark_schema::decision::CaseDecision;
use proofmark_schema::finding::Severity;
use proofmark_schema::record::Record;
use proofmark_schema::{Case, ContenderId, Isa, Memory};

/// What to decide.
#[derive(Clone, Debug)]
pub struct CompareRequest {
    /// The one that is compared with, and the other.
    pub arms: [Arm; 2],
    /// The contender where an arm names none.
    pub contender: Option<ContenderId>,
    /// The cases. They may be empty only if both arms are stored runs, and then mean all cases that
    /// both runs share.
    pub cases: Vec<Case>,
    /// Threads each may use.
    pub threads: usize,
    /// What caches and pages both are measured with.
    pub memory: Memory,
    /// The most seconds to wait for a quiet machine before each race; 0 means no wait.
    pub quiet_seconds: f64,
    /// Seed of inputs, layouts and orders.
    pub seed: u64,
    /// Error rate of the whole comparison.
    pub alpha: f64,
    /// Differences smaller than this share are not reported.
    pub report_margin: f64,
    /// Differences smaller than this share are called the same.
    pub same_margin: f64,
    /// Seconds after which no further trial of a race starts.
    pub seconds: f64,
    /// Highest path.
    pub cap: Isa,
    /// Where peers are.
    pub shelf: PeerShelf,
}

/// How a comparison ended.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The run that keeps its races; none where stored numbers were compared.
    pub run: Option<String>,
    /// One for each case, in the order asked for.
    pub decisions: Vec<CaseDecision>,
    /// What is worth knowing besides.
    pub notes: Vec<String>,
    /// The worst that follows.
    pub severity: Severity,
}

/// The records of both sides of a case's races.
pub(crate) type Sides = Vec<[Record; 2]>;

impl CompareRequest {
    /// The contender of each side: the one the arm names, else the command's, else the other arm's,
    /// else the one the artefact names.
    pub(super) fn contenders(
        &self,
        meant: [Option<&ContenderId>; 2],
    ) -> Result<[ContenderId; 2], EngineError> {
        let [first, second] = &self.arms;
        let pick = |own: &Arm, other: &Arm, meant: Option<&ContenderId>| {
            let named = own.contender.as_ref().or(self.contender.as_ref());
            let who = named.or(other.contender.as_ref()).or(meant);
            who.cloned().ok_or_else(|| EngineError::NoContender(own.to_string()))
        };
        Ok([
            pick(first, second, meant[0].or(meant[1]))?,
            pick(second, first, meant[1].or(meant[0]))?,
        ])
    }
}
