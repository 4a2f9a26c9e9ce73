//! An examiner: a contender, the op that it claims to implement, and the rules of the proof.

use crate::rules::Rules;
use proofmark_arena::Arena;
use proofmark_contract::Op;
use proofmark_schema::proof::{Refusal, Stage};
use proofmark_schema::{Case, ContenderId, Outcome};

/// Takes a contender through the stages.
pub struct Examiner<'a> {
    pub(crate) arena: &'a Arena,
    pub(crate) op: &'a dyn Op,
    pub(crate) contender: ContenderId,
    pub(crate) rules: Rules,
}

impl<'a> Examiner<'a> {
    /// An examiner of `contender` as an implementation of `op`.
    pub fn new(
        arena: &'a Arena,
        op: &'a dyn Op,
        contender: ContenderId,
        rules: Rules,
    ) -> Examiner<'a> {
        Examiner { arena, op, contender, rules }
    }

    /// A refusal with the command that shows it again.
    pub(crate) fn refusal(
        &self,
        case: &Case,
        outcome: Outcome,
        stage: Option<Stage>,
        reason: String,
    ) -> Refusal {
        let Rules { seed, threads, .. } = self.rules;
        let who = &self.contender;
        let repro =
            format!("proofmark repro '{case}' --with {who} --seed {seed} --threads {threads}");
        Refusal { outcome, stage, reason, worst: None, crash: None, repro }
    }
}
