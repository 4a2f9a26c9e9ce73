//! Proofs over whole portfolios, on all processors at once.

use crate::jobs::{processors, run_all};
use crate::plan::{Proofs, check_room, depth_for, fitting, proof_rules};
use crate::prove::{Certified, ProveRequest};
use crate::race::isolated;
use crate::{EngineError, Event, Listener, ProofBook, Roster, Shard, find_op};
use proofmark_arena::Arena;
use proofmark_contract::Entry;
use proofmark_gate::{Depth, Examiner, Rules, certify};
use proofmark_peers::Status;
use proofmark_schema::proof::Proof;
use proofmark_schema::{ContenderId, DType, Isa};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a request came to.
#[derive(Clone, Debug)]
pub struct Proved {
    /// Those that were judged now, in order.
    pub certified: Vec<Certified>,
    /// How many had passed before and were not judged again.
    pub skipped: usize,
}

/// Proves every admitted kernel on its op's portfolio, and keeps each verdict in the book as soon
/// as it is made. A shard proves only its part: ops, contenders and element types are dealt out as
/// cases are, whatever the book holds.
///
/// # Errors
/// If an op does not exist, no contender is admitted, or a verdict cannot be kept.
pub fn prove(
    arena: &Arena,
    request: &ProveRequest,
    shard: Shard,
    book: &ProofBook<'_>,
    listener: &dyn Listener,
) -> Result<Proved, EngineError> {
    let (roster, mut jobs) = jobs(request, listener)?;
    let chosen = shard.choose(&jobs.iter().map(text).collect());
    jobs.retain(|job| chosen.contains(&text(job)));
    let before = jobs.len();
    if request.missing {
        let passed = book.passed();
        jobs.retain(|(entry, who, dtype)| {
            !passed.iter().any(|one| one.is_about(entry.op.name(), who, *dtype))
        });
    }
    let skipped = before - jobs.len();
    let arena = &isolated(arena, jobs.iter().map(|(_, who, _)| who))?;
    // If a verdict cannot be kept, proving the rest would be wasted work.
    let is_stopped = AtomicBool::new(false);
    let proofs = Proofs::begin(&jobs, request.threads);
    let places: Vec<usize> = (0..jobs.len()).collect();
    let results = run_all(&places, processors(), |&place| {
        let (entry, who, dtype) = &jobs[place];
        if is_stopped.load(Ordering::Relaxed) {
            return None;
        }
        let siblings = roster.siblings(entry, who, None);
        let rules = proof_rules(request.seed, request.threads, siblings, Depth::Full);
        let certified = certify_one(arena, entry, who, *dtype, &rules);
        let kept = book.keep(&certified);
        is_stopped.fetch_or(kept.is_err(), Ordering::Relaxed);
        let what = format!("{} {} {}", certified.op, who, dtype);
        let progress = Some(proofs.ended(place));
        listener.hear(&Event::Judged { what, outcome: certified.outcome, progress });
        Some(kept.map(|()| certified))
    });
    let certified = results.into_iter().flatten().collect::<Result<_, _>>()?;
    Ok(Proved { certified, skipped })
}

/// A contender on an op's portfolio for an element type.
type Job = (&'static Entry, ContenderId, DType);

/// A job as shards deal it out.
fn text((entry, who, dtype): &Job) -> String {
    format!("{}:{dtype} {who}", entry.op.name())
}

/// Every job that a request admits.
fn jobs(
    request: &ProveRequest,
    listener: &dyn Listener,
) -> Result<(Roster, Vec<Job>), EngineError> {
    let roster = Roster::new(&request.with, request.cap).with_peers(&request.shelf);
    let entries: Vec<&'static Entry> = if request.ops.is_empty() {
        crate::ops().to_vec()
    } else {
        request.ops.iter().map(|name| find_op(name)).collect::<Result<_, _>>()?
    };
    roster.check(&entries)?;
    let mut jobs: Vec<Job> = Vec::new();
    let mut absent = BTreeMap::new();
    for entry in entries.iter().copied() {
        let kernels = roster.kernels(entry).into_iter().map(|(who, _, _)| who);
        let mut ready = Vec::new();
        for (who, _, status) in roster.peers(entry) {
            match status {
                Status::Ready(_) => ready.push(who),
                Status::Absent(hint) => _ = absent.insert(who.to_string(), hint),
            }
        }
        for who in kernels.chain(ready) {
            let wanted =
                |dtype: &DType| request.dtypes.is_empty() || request.dtypes.contains(dtype);
            let dtypes = entry.op.dtypes().iter().copied().filter(wanted);
            jobs.extend(dtypes.map(|dtype| (entry, who.clone(), dtype)));
        }
    }
    if let (true, Some((name, hint))) = (jobs.is_empty(), absent.first_key_value()) {
        return Err(EngineError::AbsentPeer { name: name.clone(), hint: hint.clone() });
    }
    for (name, hint) in absent {
        listener.hear(&Event::Note(format!("ABSENT {name}: {hint}")));
    }
    if let (true, Some(pattern)) = (jobs.is_empty(), roster.unmatched(&entries).first()) {
        return Err(roster.why_unmatched(pattern, &entries));
    }
    if jobs.is_empty() {
        return Err(EngineError::Unfit(format!(
            "no contender of these ops matches `{}`",
            request.with
        )));
    }
    Ok((roster, jobs))
}

fn certify_one(
    arena: &Arena,
    entry: &'static Entry,
    who: &ContenderId,
    dtype: DType,
    rules: &Rules,
) -> Certified {
    let cases = entry.op.proof_cases(dtype);
    let certificate = certify(arena, entry.op, who, dtype, &cases, rules);
    Certified {
        op: entry.op.name(),
        contender: who.clone(),
        dtype,
        outcome: certificate.outcome(),
        receipt: certificate.receipt().clone(),
        proofs: certificate.proofs().to_vec(),
    }
}

/// Examines one contender on one case again: what a refusal's command runs.
///
/// # Errors
/// If the case cannot be read or does not fit its op.
pub fn reproduce(
    arena: &Arena,
    case: &str,
    who: &ContenderId,
    seed: u64,
    threads: usize,
    cap: Isa,
) -> Result<Proof, EngineError> {
    let (entry, case) = fitting(&case.parse()?)?;
    check_room(entry, &case, proofmark_machine::load().available_bytes)?;
    let siblings = Roster::new("*@*", cap).siblings(entry, who, Some(&case));
    let rules = proof_rules(seed, threads, siblings, depth_for(entry, &case));
    let arena = &isolated(arena, [who])?;
    let (proof, _) = Examiner::new(arena, entry.op, who.clone(), rules).examine(&case);
    Ok(proof)
}
