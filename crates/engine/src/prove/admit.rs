//! Admits contenders to races: each is certified once on its op's whole portfolio and then proven
//! on the case.

use crate::jobs::run_all;
use crate::plan::{depth_for, proof_rules, proofs_at_once};
use crate::{Event, Listener, Roster};
use proofmark_arena::{Arena, give_back_memory};
use proofmark_contract::Entry;
use proofmark_gate::{Certificate, Depth, Proven, Rules, certify};
use proofmark_schema::proof::{Proof, Refusal};
use proofmark_schema::{Case, ContenderId, DType, Isa, Outcome};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The contenders of one program on their way into races.
pub(crate) struct Admission<'a> {
    arena: &'a Arena,
    seed: u64,
    cap: Isa,
    listener: &'a dyn Listener,
    certificates: Mutex<BTreeMap<Key, Arc<Certificate<'static>>>>,
}

/// What a certificate is of: op, contender, element type and threads.
type Key = (&'static str, ContenderId, DType, usize);

impl<'a> Admission<'a> {
    pub(crate) fn new(
        arena: &'a Arena,
        seed: u64,
        cap: Isa,
        listener: &'a dyn Listener,
    ) -> Admission<'a> {
        Admission { arena, seed, cap, listener, certificates: Mutex::default() }
    }

    /// Admits a field to the races of a case, using all processors at once because proofs do not
    /// need a quiet machine. The results are in the order of the field. A contender that is
    /// interpreted has no time: it is not admitted, and its proof has no refusal.
    pub(crate) fn admit_all(
        &self,
        entry: &'static Entry,
        case: &Case,
        field: &[(&ContenderId, usize)],
    ) -> Vec<Result<Proven<'a>, Box<Proof>>> {
        let most = proofs_at_once(entry, case);
        let results = run_all(field, most, |&arm| self.examine(entry, case, arm));
        give_back_memory();
        results
    }

    /// Admits one contender.
    ///
    /// # Errors
    /// The proof with its refusal.
    pub(crate) fn admit(
        &self,
        entry: &'static Entry,
        case: &Case,
        who: &ContenderId,
        threads: usize,
    ) -> Result<Proven<'a>, Box<Proof>> {
        let proven = self.examine(entry, case, (who, threads));
        give_back_memory();
        proven.map_err(|proof| if proof.refusal.is_none() { untimed(*proof) } else { proof })
    }

    /// Certifies a contender on its op's portfolio, unless that is done, and proves the case.
    fn examine(
        &self,
        entry: &'static Entry,
        case: &Case,
        (who, threads): (&ContenderId, usize),
    ) -> Result<Proven<'a>, Box<Proof>> {
        let siblings = |case| Roster::new("native/*@*", self.cap).siblings(entry, who, case);
        let rules = |case, depth| proof_rules(self.seed, threads, siblings(case), depth);
        let key = (entry.op.name(), who.clone(), case.dtype, threads);
        let known = self.certificates().get(&key).cloned();
        let certificate = known.unwrap_or_else(|| {
            let made = Arc::new(self.certify(entry, case.dtype, who, &rules(None, Depth::Full)));
            self.certificates().insert(key, Arc::clone(&made));
            made
        });
        let rules = rules(Some(case), depth_for(entry, case));
        let proven = certificate.prove(self.arena, entry.op, case, &rules);
        if let Err(proof) = &proven {
            let (what, outcome) = (format!("{case} {who}"), proof.outcome);
            self.listener.hear(&Event::Refused { what, outcome });
        }
        match proven {
            Ok(proven) if proven.proof().contract.interpreted => {
                Err(Box::new(proven.proof().clone()))
            }
            proven => proven,
        }
    }

    fn certify(
        &self,
        entry: &'static Entry,
        dtype: DType,
        who: &ContenderId,
        rules: &Rules,
    ) -> Certificate<'static> {
        self.listener.hear(&Event::Certifying { contender: who.to_string() });
        certify(self.arena, entry.op, who, dtype, &entry.op.proof_cases(dtype), rules)
    }

    fn certificates(&self) -> MutexGuard<'_, BTreeMap<Key, Arc<Certificate<'static>>>> {
        self.certificates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The refusal of a proven contender by a command that needs its time.
fn untimed(mut proof: Proof) -> Box<Proof> {
    proof.outcome = Outcome::Unsupported;
    proof.refusal = Some(Refusal {
        outcome: Outcome::Unsupported,
        stage: None,
        reason: "it is proven, but interpreted, so that it has no time".to_owned(),
        worst: None,
        crash: None,
        repro: format!("proofmark prove {} --with {}", proof.case.op, proof.contender),
    });
    Box::new(proof)
}
