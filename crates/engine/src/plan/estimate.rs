//! Estimates how long a plan takes: proofs by their operation counts, races by their budgets.

use super::rules::{depth_for, proof_rules, race_rules};
use crate::jobs::processors;
use crate::{Roster, find_op};
use proofmark_contract::{Entry, Values, Want};
use proofmark_gate::{Depth, Expense, expense};
use proofmark_measure::{Clock, MonotonicClock, RaceRules};
use proofmark_peers::{PEERS, Peer};
use proofmark_schema::plan::{Item, Plan};
use proofmark_schema::{Case, ContenderId, DType, Family, Isa, Work};
use std::collections::BTreeSet;

/// Nanoseconds per unit of what proofs and races count. Those of proofs are fitted to the processor
/// time of 24 proofs of twelve ops, from 0.6 to 5 seconds long, on a machine at rest, and predict
/// 21 of them within 30 %. [`at_this_pace`] scales their sum to another machine, or to a busy one.
mod cost {
    /// One examination: a worker is started, and its stages are prepared.
    pub(super) const EXAMINATION: f64 = 24e6;
    /// One call: two wake-ups, guards looked at.
    pub(super) const CALL: f64 = 20e3;
    /// An element of an operand, written before a call or read after it.
    pub(super) const MOVED: f64 = 3.1;
    /// An element of an input, drawn.
    pub(super) const FILLED: f64 = 8.7;
    /// An element, scored against the oracle's.
    pub(super) const JUDGED: f64 = 25.0;
    /// An operation of an oracle.
    pub(super) const OPERATION: f64 = 1.4;
    /// An operation of the oracle by which the paces of machines are compared, on the machine of
    /// these numbers.
    pub(super) const YARDSTICK: f64 = 0.6;
    /// A race before its first trial and after its last.
    pub(super) const RACE: f64 = 250e6;
    /// A trial's worker, started and ended.
    pub(super) const WORKER: f64 = 11e6;
    /// A block of a trial without its slices: arms are stopped and continued, results are checked.
    pub(super) const BLOCK: f64 = 1.2e6;
}

/// Operations a nanosecond of a kernel: on the scalar path, and on others by each thread.
const SCALAR_RATE: f64 = 1.7;
const VECTOR_RATE: f64 = 60.0;
/// Bytes a nanosecond that it reads and writes.
const BYTES_RATE: f64 = 10.0;

/// Seconds of both parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) proofs: f64,
    pub(crate) races: f64,
}

impl Estimate {
    /// The same with proofs that take `pace` times as long.
    pub(crate) fn at_pace(self, pace: f64) -> Estimate {
        Estimate { proofs: pace * self.proofs, ..self }
    }
}

/// Writes the estimated time into a plan. It depends on the items alone, so a plan that is made
/// again or merged from shards gets the same estimate.
pub(crate) fn write(plan: &mut Plan) {
    let Estimate { proofs, races } = estimate(plan);
    plan.proof_seconds = proofs;
    plan.estimate_seconds = proofs + races;
}

fn estimate(plan: &Plan) -> Estimate {
    let add = |sum: Estimate, item: Estimate| Estimate {
        proofs: sum.proofs + item.proofs,
        races: sum.races + item.races,
    };
    by_item(plan, |_| true).into_iter().fold(Estimate::default(), add)
}

/// The estimate of each item; zero for an item that is not left. The first item that has a
/// contender proves its portfolio too. Every proof of a run is made anew: verdicts that `prove` has
/// stored save a run no time.
pub(crate) fn by_item(plan: &Plan, is_left: impl Fn(&Item) -> bool) -> Vec<Estimate> {
    let mut proven = BTreeSet::new();
    let estimate = |item: &Item| {
        let entry = find_op(&item.case.op).ok().filter(|_| is_left(item));
        let Some(entry) = entry else { return Estimate::default() };
        let (case, threads) = (&item.case, item.threads);
        let mut proofs = 0.0;
        for who in &item.field {
            // One worker opens the library for all proofs of an item.
            proofs += 1e-9 * opens_ns(who);
            proofs += proof(entry, case, who, threads, depth_for(entry, case));
            if proven.insert((case.op.clone(), case.dtype, who.clone(), threads)) {
                proofs += portfolio(entry, who, case.dtype, threads);
            }
        }
        Estimate { proofs, races: race(entry, item, &race_rules(plan.kind, plan.seed)) }
    };
    plan.items.iter().map(estimate).collect()
}

/// Seconds of the proof of a contender on its op's portfolio.
pub(crate) fn portfolio(
    entry: &'static Entry,
    who: &ContenderId,
    dtype: DType,
    threads: usize,
) -> f64 {
    let cases = entry.op.proof_cases(dtype);
    cases.iter().map(|case| proof(entry, case, who, threads, Depth::Full)).sum()
}

/// Seconds of the examination of a case.
fn proof(
    entry: &'static Entry,
    case: &Case,
    who: &ContenderId,
    threads: usize,
    depth: Depth,
) -> f64 {
    // An estimate must not depend on the processor's paths, so only the scalar path counts: it is
    // the slowest sibling.
    let siblings = Roster::new("native/*@*", Isa::Scalar).siblings(entry, who, Some(case));
    let others = siblings.iter().map(|other| call_ns(entry, case, other, threads));
    let others: f64 = others.sum();
    // Any seed will do: it determines which places are drawn, not how many.
    let rules = proof_rules(0, threads, siblings, depth);
    let Expense { calls, moved, filled, judged, operations } = expense(entry.op, case, &rules);
    let counted = cost::CALL * calls as f64
        + cost::MOVED * moved as f64
        + cost::FILLED * filled as f64
        + cost::JUDGED * judged as f64
        + cost::OPERATION * operations as f64;
    let called = calls as f64 * call_ns(entry, case, who, threads) + others;
    1e-9 * (cost::EXAMINATION + peer_ns(who, |peer| peer.prepares_ms()) + counted + called)
}

/// Seconds of a race: its budget, unless its fewest trials take longer or its most trials take
/// less.
fn race(entry: &Entry, item: &Item, rules: &RaceRules) -> f64 {
    let Ok(signature) = entry.op.signature(&item.case) else { return 0.0 };
    let elements: usize = signature.operands().iter().map(proofmark_contract::Operand::len).sum();
    let slice = rules.slice_ns as f64;
    let mut trial = cost::FILLED * elements as f64;
    for who in &item.field {
        let call = call_ns(entry, &item.case, who, item.threads);
        // A block has two slices of an arm. A call that is longer than a slice follows an untimed
        // one.
        let block = cost::BLOCK + 2.0 * slice.max(2.0 * call);
        // Each trial includes warm-up, verification and discarded rounds.
        trial += cost::WORKER + cost::MOVED * elements as f64 + 5.0 * call;
        trial += f64::from(rules.blocks) * block;
    }
    let (least, most) = (f64::from(rules.least_trials), f64::from(rules.most_trials));
    // The last trial begins within the budget, and ends after it.
    let trials = (rules.budget_ns as f64 + trial / 2.0).clamp(least * trial, most * trial);
    // Workers of trials are copies of one that has opened the library.
    let ready = |who| opens_ns(who) + peer_ns(who, |peer| peer.prepares_ms());
    let opens: f64 = item.field.iter().map(ready).sum();
    1e-9 * (cost::RACE + opens + trials)
}

/// Nanoseconds that a worker takes to open a contender's library.
fn opens_ns(who: &ContenderId) -> f64 {
    peer_ns(who, |peer| peer.opens_ms())
}

/// A number of milliseconds that a peer states; none of other contenders.
fn peer_ns(who: &ContenderId, milliseconds: impl Fn(&dyn Peer) -> u32) -> f64 {
    let name = who.name.split('@').next();
    let is_it = |peer: &&&dyn Peer| who.family == Family::Peer && Some(peer.name()) == name;
    let found = PEERS.iter().find(is_it);
    1e6 * f64::from(found.map_or(0, |peer| milliseconds(*peer)))
}

/// Nanoseconds of one call of a contender.
fn call_ns(entry: &Entry, case: &Case, who: &ContenderId, threads: usize) -> f64 {
    let work = entry.op.work(case);
    let Work { flops, transcendentals, .. } = work;
    let operations = flops as f64 + 16.0 * transcendentals as f64;
    let rate = match who.isa {
        Some(Isa::Scalar) => SCALAR_RATE,
        _ => VECTOR_RATE * threads as f64,
    };
    operations / rate + work.bytes() as f64 / BYTES_RATE
}

/// The plan with the time of its proofs scaled to this machine, for people to read. The scale is
/// how long an oracle takes here, which is measured in some ten milliseconds, and how many
/// contenders of a field are proven at once.
#[must_use]
pub fn at_this_pace(plan: &Plan) -> Plan {
    scaled(plan, pace_of(plan))
}

/// How many times longer the proofs of a plan take here than its estimate, which counts them one
/// after the other on the machine whose costs were fitted.
pub(crate) fn pace_of(plan: &Plan) -> f64 {
    pace() / at_once(plan, processors())
}

/// The mean number of concurrent proofs over the plan.
fn at_once(plan: &Plan, processors: usize) -> f64 {
    let proofs: usize = plan.items.iter().map(|item| item.field.len()).sum();
    let turns: usize = plan.items.iter().map(|item| item.field.len().div_ceil(processors)).sum();
    proofs.max(1) as f64 / turns.max(1) as f64
}

fn scaled(plan: &Plan, pace: f64) -> Plan {
    let mut plan = plan.clone();
    let races = plan.estimate_seconds - plan.proof_seconds;
    plan.proof_seconds *= pace;
    plan.estimate_seconds = plan.proof_seconds + races;
    plan
}

/// How many times longer an oracle takes here than on the machine whose costs were fitted.
pub(crate) fn pace() -> f64 {
    let Ok(entry) = find_op("matmul") else { return 1.0 };
    let side = 64;
    let case = Case::new("matmul", DType::F32);
    let case =
        ["m", "n", "k"].into_iter().fold(case.axis("b", 1), |case, axis| case.axis(axis, side));
    let case = proofmark_contract::complete_case(entry.op, &case);
    let operand = vec![0.75; (side * side) as usize];
    let inputs = Values { tensors: vec![operand.clone(), operand, Vec::new()] };
    let time = || {
        let start = MonotonicClock.now_ns();
        let truth = entry.op.oracle(&case, &inputs, 0, &Want::all());
        std::hint::black_box(truth);
        MonotonicClock.now_ns() - start
    };
    // The minimum is used because interference only makes a call slower.
    let fastest = (0..32).map(|_| time()).min().unwrap_or(0);
    fastest as f64 / (cost::YARDSTICK * entry.op.work(&case).flops as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PeerShelf, Request, Shard};

    fn planned(case: &str, with: &str, quick: bool) -> Plan {
        let case: Case = case.parse().unwrap();
        let words: Vec<String> =
            case.axes.iter().map(|(name, size)| format!("{name}={size}")).collect();
        let request = Request {
            ops: vec![case.op.clone()],
            dtypes: vec![case.dtype],
            sweep: Some(words.join(" ").parse().unwrap()),
            with: with.to_owned(),
            threads: vec![1],
            caches: vec![proofmark_schema::Cache::Hot],
            pages: vec![proofmark_schema::Pages::Small],
            quick,
            ..Request::of_cases(Isa::Scalar, PeerShelf::new("nowhere"))
        };
        crate::plan(&request).unwrap()
    }

    fn parts(plan: &Plan) -> Estimate {
        let races = plan.estimate_seconds - plan.proof_seconds;
        Estimate { proofs: plan.proof_seconds, races }
    }

    #[test]
    fn the_estimate_grows_with_the_case_and_both_parts_are_there() {
        for cases in [
            ["add:f32[b=1,s=1,d=64]", "add:f32[b=1,s=512,d=1024]", "add:f32[b=1,s=4096,d=8192]"],
            [
                "softmax:f32[b=1,s=4,d=64]",
                "softmax:f32[b=1,s=512,d=512]",
                "softmax:f32[b=4,s=2048,d=4096]",
            ],
            [
                "matmul:f32[b=1,m=8,n=8,k=8]",
                "matmul:f32[b=1,m=256,n=256,k=256]",
                "matmul:f32[b=1,m=900,n=900,k=900]",
            ],
        ] {
            let all = cases.map(|case| parts(&planned(case, "native/scalar", false)));
            for pair in all.windows(2) {
                assert!(pair[1].proofs > pair[0].proofs, "{cases:?}: {all:?}");
                assert!(pair[1].races >= pair[0].races, "{cases:?}: {all:?}");
            }
            assert!(all[0].proofs > 0.0 && all[0].races > 0.0, "{cases:?}: {all:?}");
            // The largest case has the greatest proof time; the portfolio is the same for all
            // three.
            assert!(all[2].proofs > 2.0 * all[0].proofs, "{cases:?}: {all:?}");
        }
    }

    #[test]
    fn a_short_race_shortens_races_and_no_proof() {
        let [quick, standard] = [true, false]
            .map(|quick| parts(&planned("add:f32[b=1,s=1,d=64]", "native/scalar", quick)));
        assert!(quick.races < standard.races && quick.proofs == standard.proofs);
    }

    #[test]
    fn a_compiler_takes_longer_to_be_ready_than_a_kernel() {
        let kernel = planned("add:f32[b=1,s=1,d=64]", "native/scalar", true);
        let mut compiler = kernel.clone();
        compiler.items[0].field = vec!["peer/pytorch_compile".parse().unwrap()];
        write(&mut compiler);
        let (kernel, compiler) = (parts(&kernel), parts(&compiler));
        assert!(compiler.proofs > kernel.proofs + 10.0, "{kernel:?} {compiler:?}");
        assert!(compiler.races > kernel.races + 2.0, "{kernel:?} {compiler:?}");
    }

    #[test]
    fn a_framework_starts_once_for_the_proofs_of_an_item_and_once_for_its_race() {
        let kernel = planned("add:f32[b=1,s=1,d=64]", "native/scalar", true);
        let mut framework = kernel.clone();
        let pytorch: ContenderId = "peer/pytorch".parse().unwrap();
        let start = 1e-9 * opens_ns(&pytorch);
        framework.items[0].field = vec![pytorch];
        write(&mut framework);
        let (kernel, framework) = (parts(&kernel), parts(&framework));
        let proofs = framework.proofs - start;
        assert!(proofs > 0.0 && proofs < 2.0 * kernel.proofs, "{kernel:?} {framework:?}");
        let races = framework.races - kernel.races;
        assert!(races > 0.9 * start && races < 1.1 * start, "{kernel:?} {framework:?}");
    }

    #[test]
    fn a_portfolio_is_proven_once_for_each_contender_and_not_for_each_case() {
        let one = planned("add:f32[b=1,s=1,d=64]", "native/scalar", true);
        let mut two = one.clone();
        let again = Item { index: 1, ..one.items[0].clone() };
        two.items.push(again);
        write(&mut two);
        let (one, both) = (parts(&one), parts(&two));
        assert!(both.proofs > one.proofs && both.proofs < 1.5 * one.proofs, "{one:?} {both:?}");
        assert!((both.races - 2.0 * one.races).abs() < 1e-9, "{one:?} {both:?}");
        let mut other = two.clone();
        other.items[1].threads = 2;
        write(&mut other);
        assert!(parts(&other).proofs > 1.8 * one.proofs, "another thread count is proven anew");
    }

    #[test]
    fn a_slower_machine_takes_longer_for_proofs_and_not_for_races() {
        let plan = planned("add:f32[b=1,s=1,d=64]", "native/scalar", true);
        let (here, there) = (parts(&plan), parts(&scaled(&plan, 3.0)));
        assert!((there.proofs - 3.0 * here.proofs).abs() < 1e-9);
        assert!((there.races - here.races).abs() < 1e-9);
        let pace = pace();
        assert!(pace.is_finite() && pace > 0.0, "{pace}");
    }

    #[test]
    fn a_field_is_proven_in_as_many_turns_as_processors_leave() {
        let mut plan = planned("add:f32[b=1,s=1,d=64]", "native/scalar", true);
        let who = plan.items[0].field[0].clone();
        for (many, processors, expected) in [(1, 2, 1.0), (2, 2, 2.0), (3, 2, 1.5), (3, 1, 1.0)] {
            plan.items[0].field = vec![who.clone(); many];
            assert!((at_once(&plan, processors) - expected).abs() < 1e-9, "{many} {processors}");
        }
        plan.items.clear();
        assert!((at_once(&plan, 2) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_plan_says_the_same_however_often_it_is_made() {
        let make = || planned("softmax:f32[b=1,s=4,d=64]", "native/scalar", true);
        assert_eq!(make(), make());
        let whole: Shard = "1/1".parse().unwrap();
        assert_eq!(whole.part(&make()), make());
    }
}
