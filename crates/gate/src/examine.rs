//! Takes one contender through the ten stages on one case.

use crate::examination::Examination;
use crate::examiner::Examiner;
use crate::refuse;
use crate::stages::STAGES;
use crate::subject::Subject;
use proofmark_contract::check_case;
use proofmark_schema::isolation::Confinement;
use proofmark_schema::precision::{InputPrecision, Precision};
use proofmark_schema::proof::{Errors, Proof, Refusal, StageReport};
use proofmark_schema::{Case, CodeFile, ErrorContract, Outcome, Receipt, Reproducibility};

impl Examiner<'_> {
    /// Examines one case. The proof says whether it passed; see [`crate::certify`] for the way
    /// to a [`crate::Proven`].
    pub fn examine(&self, case: &Case) -> (Proof, Receipt) {
        let mut proof = self.blank(case);
        let signature = match check_case(self.op, case) {
            Ok(signature) => signature,
            Err(bad) => {
                let refusal = self.refusal(case, Outcome::Unsupported, None, bad.to_string());
                return (finish(proof, Some(refusal), None), Receipt::default());
            }
        };
        let (of, threads, seed) = ((self.op, case), self.rules.threads, self.rules.seed);
        let loaded = Subject::load(self.arena, of, &signature, &self.contender, threads, seed);
        let subject = match loaded {
            Ok(subject) => subject,
            Err(fault) => {
                let refusal = refuse::of_fault(self, case, None, fault);
                return (finish(proof, Some(refusal), None), Receipt::default());
            }
        };
        let mut receipt = subject.loaded().receipt.clone();
        proof.contract = subject.loaded().contract;
        let mut exam = Examination::new(self, case, &signature, subject);
        let mut refusal = None;
        for &(stage, run) in STAGES {
            exam.stage = stage;
            exam.checks = 0;
            exam.note.clear();
            let verdict = run(&mut exam);
            let note = std::mem::take(&mut exam.note);
            proof.stages.push(StageReport { stage, checks: exam.checks, note });
            if let Err(refused) = verdict {
                refusal = Some(*refused);
                break;
            }
        }
        exam.subject.note_code(&mut receipt);
        proof.left = exam.subject.left();
        proof.confinement = exam.subject.confinement();
        if refusal.is_none() {
            refusal = self.refused_for_attacks(case, &proof.confinement);
        }
        proof.errors = exam.errors;
        proof.reproducibility = exam.reproducibility;
        (finish(proof, refusal, exam.looks_like), receipt)
    }

    /// The refusal of a contender that reached for another process.
    fn refused_for_attacks(&self, case: &Case, confinement: &Confinement) -> Option<Refusal> {
        let attack = confinement.attack()?;
        let reason = format!("it reached for another process ({attack}), which was refused");
        Some(self.refusal(case, Outcome::Caught, None, reason))
    }

    /// Examines a further case of a contender that gave this receipt before. What was found then
    /// holds only for the same files.
    pub(crate) fn examine_again(&self, case: &Case, before: &Receipt) -> (Proof, Receipt) {
        let (mut proof, receipt) = self.examine(case);
        if let Some(file) = before.replaced_in(&receipt) {
            let refusal = self.refusal(case, Outcome::Broken, None, replaced(file));
            proof = finish(proof, Some(refusal), None);
        }
        (proof, receipt)
    }

    fn blank(&self, case: &Case) -> Proof {
        Proof {
            case: case.clone(),
            contender: self.contender.clone(),
            threads: self.rules.threads,
            seed: self.rules.seed,
            outcome: Outcome::Proven,
            contract: ErrorContract::default(),
            stages: Vec::new(),
            errors: Errors::default(),
            reproducibility: Reproducibility::None,
            precision: Precision::default(),
            left: Vec::new(),
            confinement: Confinement { level: self.arena.regime().level, ..Confinement::default() },
            refusal: None,
        }
    }
}

/// Why a proof does not hold for a file that has taken the place of the one that was proven.
pub(crate) fn replaced(file: &CodeFile) -> String {
    let CodeFile { name, sha256 } = file;
    format!("its file {name} is no longer the one that was proven: its SHA-256 is now {sha256}")
}

fn finish(mut proof: Proof, refusal: Option<Refusal>, looks_like: Option<InputPrecision>) -> Proof {
    match &refusal {
        Some(refusal) => {
            proof.outcome = refusal.outcome;
            proof.precision = looks_like.map_or(Precision::Unknown, Precision::Inputs);
        }
        None => proof.precision = Precision::Sums(proof.contract.accumulate),
    }
    proof.refusal = refusal;
    proof
}
