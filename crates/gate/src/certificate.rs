//! Certificates: a contender that passed every case of an op's portfolio for an element type.

use crate::examiner::Examiner;
use crate::proven::Proven;
use crate::rules::Rules;
use proofmark_arena::Arena;
use proofmark_contract::Op;
use proofmark_schema::proof::{Proof, Refusal};
use proofmark_schema::{Case, ContenderId, DType, Outcome, Receipt};

/// What an examination over a whole portfolio found.
pub struct Certificate<'a> {
    op: &'a dyn Op,
    contender: ContenderId,
    dtype: DType,
    receipt: Receipt,
    proofs: Vec<Proof>,
}

/// Examines a contender on `cases` of one element type, stopping at the first refusal.
///
/// A case that the contender says it does not support is kept in the list and is not a refusal.
///
/// # Panics
/// If there is no case: a certificate without cases could refuse no contender.
pub fn certify<'a>(
    arena: &Arena,
    op: &'a dyn Op,
    contender: &ContenderId,
    dtype: DType,
    cases: &[Case],
    rules: &Rules,
) -> Certificate<'a> {
    assert!(!cases.is_empty(), "a certificate covers at least one case");
    let examiner = Examiner::new(arena, op, contender.clone(), rules.clone());
    let mut certificate = Certificate {
        op,
        contender: contender.clone(),
        dtype,
        receipt: Receipt::default(),
        proofs: Vec::new(),
    };
    for case in cases {
        let (proof, receipt) = examiner.examine_again(case, &certificate.receipt);
        let outcome = proof.outcome;
        if outcome != Outcome::Unsupported {
            certificate.receipt = receipt;
        }
        certificate.proofs.push(proof);
        if !matches!(outcome, Outcome::Proven | Outcome::Unsupported) {
            break;
        }
    }
    certificate.refuse_emptiness();
    certificate
}

impl Certificate<'_> {
    /// If the contender did only cases without elements, the last proof becomes a refusal that says
    /// so.
    fn refuse_emptiness(&mut self) {
        let outcome = self.outcome();
        let Some(last) = self.proofs.last_mut().filter(|last| last.outcome == Outcome::Proven)
        else {
            return;
        };
        if outcome == Outcome::Unsupported {
            let op = self.op.name();
            last.outcome = outcome;
            last.refusal = Some(Refusal {
                outcome,
                stage: None,
                reason:
                    "it does none of the portfolio's cases that have elements, so that nothing \
                         could be checked"
                        .to_owned(),
                worst: None,
                crash: None,
                repro: format!("proofmark prove {op} --with {}", self.contender),
            });
        }
    }

    /// The proofs of the cases, in order; the last may be a refusal.
    pub fn proofs(&self) -> &[Proof] {
        &self.proofs
    }

    /// What the contender reports about itself.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// The verdict over all cases.
    pub fn outcome(&self) -> Outcome {
        let last = self.proofs.last().map_or(Outcome::Skipped, |proof| proof.outcome);
        if !matches!(last, Outcome::Proven | Outcome::Unsupported) {
            return last;
        }
        // On a case without elements every contender is right.
        let has_elements = |proof: &Proof| proof.case.axes.iter().all(|(_, size)| *size > 0);
        let is_proven = |proof: &Proof| proof.outcome == Outcome::Proven && has_elements(proof);
        let any = self.proofs.iter().any(is_proven);
        if any { Outcome::Proven } else { Outcome::Unsupported }
    }

    /// The proof that refused, if one did.
    pub fn refused(&self) -> Option<&Proof> {
        match self.outcome() {
            Outcome::Proven => None,
            _ => self.proofs.last(),
        }
    }

    /// Proves one more case of the same op, contender and element type, and with it the right to
    /// be measured on that case.
    ///
    /// # Errors
    /// The proof with its refusal: of this case, or of the portfolio where that had failed.
    pub fn prove<'a>(
        &self,
        arena: &'a Arena,
        op: &'a dyn Op,
        case: &Case,
        rules: &Rules,
    ) -> Result<Proven<'a>, Box<Proof>> {
        assert_eq!((op.name(), case.dtype), (self.op.name(), self.dtype), "another certificate");
        if let Some(refused) = self.refused() {
            return Err(Box::new(refused.clone()));
        }
        let examiner = Examiner::new(arena, op, self.contender.clone(), rules.clone());
        let (proof, receipt) = examiner.examine_again(case, &self.receipt);
        if proof.outcome != Outcome::Proven {
            return Err(Box::new(proof));
        }
        Ok(Proven::new(arena, op, proof, receipt))
    }
}
