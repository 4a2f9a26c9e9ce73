//! Into the race: certified on the op's whole portfolio, once, then proven on the case.

use crate::prove::rules;
use crate::{Event, Listener, Roster};
use proofmark_arena::{Arena, give_back_memory};
use proofmark_contract::Entry;
use proofmark_gate::{Certificate, Depth, Proven, certify};
use proofmark_schema::proof::Proof;
use proofmark_schema::{Case, ContenderId, DType, Isa};
use std::collections::BTreeMap;

/// Operations and bytes up to which a measured case is examined in full.
const FULL_FLOPS: u64 = 20_000_000;
const FULL_BYTES: u64 = 4 << 20;

/// How thoroughly a case that will be measured is examined.
pub(crate) fn depth_for(entry: &Entry, case: &Case) -> Depth {
    let work = entry.op.work(case);
    let is_small = work.flops <= FULL_FLOPS && work.bytes() <= FULL_BYTES;
    if is_small { Depth::Full } else { Depth::Sampled }
}

/// The contenders of one program on their way into races.
pub(crate) struct Admission<'a> {
    arena: &'a Arena,
    seed: u64,
    cap: Isa,
    listener: &'a dyn Listener,
    certificates: BTreeMap<(&'static str, ContenderId, DType, usize), Certificate<'static>>,
}

impl<'a> Admission<'a> {
    pub(crate) fn new(
        arena: &'a Arena,
        seed: u64,
        cap: Isa,
        listener: &'a dyn Listener,
    ) -> Admission<'a> {
        Admission { arena, seed, cap, listener, certificates: BTreeMap::new() }
    }

    /// Certifies a contender on its op's portfolio, unless that is done, and proves the case.
    ///
    /// # Errors
    /// The proof with its refusal.
    pub(crate) fn admit(
        &mut self,
        entry: &'static Entry,
        case: &Case,
        who: &ContenderId,
        threads: usize,
    ) -> Result<Proven<'a>, Box<Proof>> {
        let siblings = Roster::new("native/*@*", self.cap).siblings(entry, who);
        let rules = |depth: Depth| rules(self.seed, threads, siblings.clone(), depth);
        let dtype = case.dtype;
        let key = (entry.op.name(), who.clone(), dtype, threads);
        let certificate = self.certificates.entry(key).or_insert_with(|| {
            let what = format!("{} {who} {dtype}", entry.op.name());
            self.listener.hear(&Event::Certifying { what });
            let cases = entry.op.proof_cases(dtype);
            certify(self.arena, entry.op, who, dtype, &cases, &rules(Depth::Full))
        });
        let proven = certificate.prove(self.arena, entry.op, case, &rules(depth_for(entry, case)));
        give_back_memory();
        if let Err(proof) = &proven {
            let (what, outcome) = (format!("{case} {who}"), proof.outcome);
            self.listener.hear(&Event::Judged { what, outcome });
        }
        proven
    }
}
