//! What decides how many runs a stage makes.

use crate::rules::{Depth, Rules};
use proofmark_contract::{Op, Signature};
use proofmark_schema::Case;

/// What decides how many runs a stage makes, before there is a contender.
#[derive(Clone, Copy)]
pub(crate) struct Outline<'a> {
    pub(crate) op: &'a dyn Op,
    pub(crate) case: &'a Case,
    pub(crate) signature: &'a Signature,
    pub(crate) rules: &'a Rules,
}

impl Outline<'_> {
    /// Whether only a few runs of each kind are affordable.
    pub(crate) fn is_sampled(&self) -> bool {
        self.rules.depth == Depth::Sampled
    }
}
