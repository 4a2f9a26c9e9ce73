//! Records: what is kept of a contender on an item.

use super::performance::performance;
use proofmark_contract::Entry;
use proofmark_gate::Proven;
use proofmark_machine::Ceilings;
use proofmark_schema::plan::Item;
use proofmark_schema::proof::Proof;
use proofmark_schema::race::Race;
use proofmark_schema::record::{Judged, Record};
use proofmark_schema::{ContenderId, FORMAT_VERSION, Receipt};

/// The record of a contender without a time: refused, before it was measured or while it was, or
/// interpreted.
pub(crate) fn refused(entry: &Entry, item: &Item, receipt: Receipt, proof: Proof) -> Record {
    let who = proof.contender.clone();
    let judged = match proof.refusal {
        None => Judged::Proven { proof, performance: None },
        Some(_) => Judged::Refused { proof },
    };
    record(entry, item, who, receipt, judged)
}

/// The record of a proven contender that was an arm of a race.
pub(crate) fn raced(
    entry: &Entry,
    item: &Item,
    proven: &Proven<'_>,
    race: &Race,
    arm: usize,
    ceilings: &Ceilings,
) -> Record {
    let performance = performance(race, arm, entry, item, proven, ceilings).map(Box::new);
    let judged = Judged::Proven { proof: proven.proof().clone(), performance };
    record(entry, item, proven.contender().clone(), proven.receipt().clone(), judged)
}

/// A record of no run yet: [`super::RunLog`] writes the id of its run into it.
fn record(
    entry: &Entry,
    item: &Item,
    contender: ContenderId,
    receipt: Receipt,
    judged: Judged,
) -> Record {
    Record {
        format: FORMAT_VERSION,
        run: String::new(),
        item: item.index,
        case: item.case.clone(),
        contender,
        threads: item.threads,
        memory: item.memory,
        receipt,
        isolation: judged.proof().confinement.level,
        work: entry.op.work(&item.case),
        shape: entry.op.shape_roles(&item.case),
        uses: item.uses.clone(),
        imported: entry.op.imported(&item.case),
        judged,
    }
}
