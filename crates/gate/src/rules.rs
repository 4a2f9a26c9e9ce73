//! What a proof is made with.

use proofmark_schema::ContenderId;

/// How thoroughly a case is examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Every filling, placement and special value: for the small cases of an op's portfolio.
    Full,
    /// Fewer runs of each kind, and sampled outputs: for a large case that will be measured, by
    /// a contender that holds a certificate.
    Sampled,
}

/// What a proof is made with.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Seed of every input.
    pub seed: u64,
    /// Threads the contender is given.
    pub threads: usize,
    /// Thread counts whose results are compared with those of `threads`.
    pub other_threads: Vec<usize>,
    /// The same contender on other instruction-set paths, for the reproducibility class.
    pub siblings: Vec<ContenderId>,
    /// How thoroughly.
    pub depth: Depth,
}
