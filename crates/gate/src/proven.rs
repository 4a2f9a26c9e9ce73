//! Proven contenders: the only ones that may be measured.

use crate::revealed::Revealed;
use crate::subject::values;
use proofmark_arena::{Arena, Fault, Ruler};
use proofmark_contract::{Op, Role, Signature, check_case};
use proofmark_schema::proof::Proof;
use proofmark_schema::{Case, ContenderId, Isolation, Receipt};

/// A contender that passed the gate on a case. Only the gate can make one.
pub struct Proven<'a> {
    pub(crate) arena: &'a Arena,
    pub(crate) op: &'a dyn Op,
    pub(crate) signature: Signature,
    proof: Proof,
    receipt: Receipt,
}

impl<'a> Proven<'a> {
    pub(crate) fn new(
        arena: &'a Arena,
        op: &'a dyn Op,
        proof: Proof,
        receipt: Receipt,
    ) -> Proven<'a> {
        let signature = check_case(op, &proof.case).expect("a proven case fits its op");
        Proven { arena, op, signature, proof, receipt }
    }

    /// The case it was proven on.
    pub fn case(&self) -> &Case {
        &self.proof.case
    }

    /// The contender's id.
    pub fn contender(&self) -> &ContenderId {
        &self.proof.contender
    }

    /// Threads it was proven with.
    pub fn threads(&self) -> usize {
        self.proof.threads
    }

    /// The proof.
    pub fn proof(&self) -> &Proof {
        &self.proof
    }

    /// What it reports about itself.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// Whether every call must be on operands that the supervisor has written for it.
    pub fn reveals(&self) -> bool {
        self.arena.regime().level == Isolation::T3
    }

    /// Whether an operand is a weight, so that weights can be cold while the others are not.
    pub fn has_weights(&self) -> bool {
        self.signature.operands().iter().any(|operand| operand.role == Role::Weight)
    }

    /// Bytes of the results of a call.
    pub fn result_bytes(&self) -> u64 {
        let bytes = |operand: &proofmark_contract::Operand| {
            (operand.layout().len() * operand.dtype.size()) as u64
        };
        self.signature.outputs().iter().map(bytes).sum()
    }

    /// Bytes of all operands of a call.
    pub fn operand_bytes(&self) -> u64 {
        self.signature.bytes()
    }

    /// Starts the process that reads the rulers while this contender is raced.
    ///
    /// # Errors
    /// If no process can be started.
    pub fn ruler(&self, cpu: Option<usize>) -> Result<Ruler, Fault> {
        self.arena.ruler(cpu)
    }

    /// Draws the inputs of a trial. All arms of a trial must share them.
    pub fn reveal(&self, seed: u64) -> Revealed {
        let portfolio = self.op.portfolio(self.case(), &self.signature);
        let filling = portfolio.zero_mean.first().expect("a portfolio has zero-mean fills");
        let inputs = values(self.op, self.case(), &self.signature, filling, seed);
        Revealed::new(seed, inputs)
    }
}
