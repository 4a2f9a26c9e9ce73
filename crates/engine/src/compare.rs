//! Two contenders on one case, raced until it is decided.

use crate::bench::depth_for;
use crate::prove::rules;
use crate::{EngineError, Event, Listener, Roster, find_op};
use proofmark_arena::Arena;
use proofmark_contract::{Entry, check_case, complete_case};
use proofmark_gate::{Depth, Proven, certify};
use proofmark_measure::{MonotonicClock, RaceFault, RaceRules, rule};
use proofmark_schema::proof::Proof;
use proofmark_schema::race::{Race, Ruling};
use proofmark_schema::{Case, ContenderId, Isa};
use proofmark_stats::{Looks, Stopping};

/// Working sets beyond this stream from outside the second-level cache and vary more.
const STREAMING_BYTES: u64 = 1 << 20;

/// What to decide.
#[derive(Clone, Debug)]
pub struct CompareRequest {
    /// The one that is compared with.
    pub base: ContenderId,
    /// The other.
    pub other: ContenderId,
    /// The case as text.
    pub case: String,
    /// Threads each may use.
    pub threads: usize,
    /// Seed of inputs, layouts and orders.
    pub seed: u64,
    /// Error rate of the verdict.
    pub alpha: f64,
    /// Differences smaller than this share are not reported.
    pub report_margin: f64,
    /// Differences smaller than this share are called the same.
    pub same_margin: f64,
    /// Seconds after which no further trial starts.
    pub seconds: f64,
    /// Highest path.
    pub cap: Isa,
}

/// How a comparison ended.
#[derive(Debug)]
pub enum Compared {
    /// Both were proven and raced: the slices, and what follows from them.
    Ruled(Box<(Race, Ruling)>),
    /// One was refused, so there is nothing to compare.
    Refused(Box<Proof>),
    /// One failed while it was measured.
    Failed(RaceFault),
}

/// Proves both contenders and races them until it is decided.
///
/// # Errors
/// If the case cannot be read or does not fit its op.
pub fn compare(
    arena: &Arena,
    request: &CompareRequest,
    listener: &dyn Listener,
) -> Result<Compared, EngineError> {
    let case: Case = request.case.parse()?;
    let entry = find_op(&case.op)?;
    let case = complete_case(entry.op, &case);
    let signature = check_case(entry.op, &case)
        .map_err(|reason| EngineError::Case { case: case.to_string(), reason })?;
    let mut field = Vec::new();
    for who in [&request.base, &request.other] {
        let who = best_path(entry, who, request.cap);
        listener.hear(&Event::Certifying { what: format!("{} {who}", entry.op.name()) });
        match admit(arena, entry, &case, &who, request) {
            Ok(proven) => field.push(proven),
            Err(proof) => return Ok(Compared::Refused(proof)),
        }
    }
    let Ok(field) = <[Proven<'_>; 2]>::try_from(field) else { unreachable!("two were admitted") };
    let is_noisy = request.threads > 1 || signature.bytes() > STREAMING_BYTES;
    let stopping = Stopping {
        looks: if is_noisy { Looks::long() } else { Looks::short() },
        alpha: request.alpha,
        report_margin: request.report_margin,
        same_margin: request.same_margin,
    };
    let budget_ns = (request.seconds * 1e9) as u64;
    let rules = RaceRules { budget_ns, ..RaceRules::standard(request.seed) };
    Ok(match rule(&field, &rules, &stopping, &MonotonicClock) {
        Ok(ruled) => Compared::Ruled(Box::new(ruled)),
        Err(fault) => Compared::Failed(fault),
    })
}

/// A kernel without a path takes its best one.
fn best_path(entry: &'static Entry, who: &ContenderId, cap: Isa) -> ContenderId {
    if who.isa.is_some() {
        return who.clone();
    }
    let best = Roster::new(&who.to_string(), cap).kernels(entry).into_iter().next();
    best.map_or_else(|| who.clone(), |(id, _, _)| id)
}

fn admit<'a>(
    arena: &'a Arena,
    entry: &'static Entry,
    case: &Case,
    who: &ContenderId,
    request: &CompareRequest,
) -> Result<Proven<'a>, Box<Proof>> {
    let full = rules(request.seed, request.threads, Vec::new(), Depth::Full);
    let cases = entry.op.proof_cases(case.dtype);
    let certificate = certify(arena, entry.op, who, case.dtype, &cases, &full);
    let depth = depth_for(entry, case);
    let rules = rules(request.seed, request.threads, Vec::new(), depth);
    certificate.prove(arena, entry.op, case, &rules)
}
