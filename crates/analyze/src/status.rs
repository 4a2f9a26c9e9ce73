//! How much time each op takes beyond what the machine's limits need.

use crate::cells::{cells, field, geometric_mean};
use crate::metrics;
use crate::ranking::{Group, groups};
use proofmark_schema::Family;
use proofmark_schema::record::{Bound, Record};

/// How one op, element type and thread count stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing<'a> {
    /// What it is about.
    pub group: Group<'a>,
    /// Cases with a known limit.
    pub cases: usize,
    /// Share of the limit that the fastest of ours reaches: the geometric mean over cases.
    pub efficiency: f64,
    /// The case that is farthest from its limit, as the record of the fastest of ours.
    pub worst: &'a Record,
    /// What holds most cases.
    pub bound: Option<Bound>,
    /// Nanoseconds above the limit, over all cases as often as models have them.
    pub lost_ns: f64,
    /// These as a share of all that is lost.
    pub share: f64,
    /// `share` times the distance to the limit: the order in which to look.
    pub weight: f64,
    /// The fastest peer and its time over ours, where peers were measured: the geometric mean.
    pub peers: Option<f64>,
}

/// Every group with a known limit, in the order in which to look at them.
///
/// The fastest kernel of ours stands for a case; where none was measured, the fastest of all.
pub fn status<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<Standing<'a>> {
    let mut found: Vec<Standing<'_>> = groups(records).iter().filter_map(standing).collect();
    let lost: f64 = found.iter().map(|standing| standing.lost_ns).sum();
    for standing in &mut found {
        standing.share = if lost > 0.0 { standing.lost_ns / lost } else { 0.0 };
        standing.weight = standing.share * (1.0 - standing.efficiency).max(0.0);
    }
    found.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    found
}

fn standing<'a>(group: &Group<'a>) -> Option<Standing<'a>> {
    let mut standing: Option<Standing<'_>> = None;
    let (mut shares, mut peers, mut bounds) = (Vec::new(), Vec::new(), Vec::new());
    for cell in cells(group.records.iter().copied()) {
        let field = field(&cell);
        let is_ours = |record: &Record| record.contender.family != Family::Peer;
        let ours = field.iter().find(|(record, _)| is_ours(record)).or_else(|| field.first());
        let Some(&(best, best_time)) = ours else { continue };
        let Some(efficiency) = metrics::value("efficiency", best) else { continue };
        let performance = best.judged.performance()?;
        let limits = performance.limits?;
        let share = efficiency / 100.0;
        let times = best.uses.iter().map(|used| used.times).sum::<u64>().max(1) as f64;
        let lost = (performance.wall_ns.estimate - limits.bound_ns).max(0.0) * times;
        shares.push(share);
        bounds.extend(limits.bound);
        if let Some((_, time)) = field.iter().find(|(record, _)| !is_ours(record)) {
            peers.push(time.estimate / best_time.estimate);
        }
        let so_far = standing.get_or_insert_with(|| Standing {
            group: group.clone(),
            cases: 0,
            efficiency: 0.0,
            worst: best,
            bound: None,
            lost_ns: 0.0,
            share: 0.0,
            weight: 0.0,
            peers: None,
        });
        so_far.cases += 1;
        so_far.lost_ns += lost;
        if shares.iter().all(|&other| share <= other) {
            so_far.worst = best;
        }
    }
    let mut standing = standing?;
    standing.efficiency = geometric_mean(shares)?;
    standing.peers = geometric_mean(peers);
    let count = |bound: &Bound| bounds.iter().filter(|other| *other == bound).count();
    standing.bound = bounds.iter().copied().max_by_key(|bound| count(bound));
    Some(standing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{example, performance, timed};

    fn of(op: &str, wall: f64, bound: f64) -> Record {
        let mut record = example();
        op.clone_into(&mut record.case.op);
        let performance = performance(&mut record);
        performance.wall_ns.estimate = wall;
        performance.limits.as_mut().unwrap().bound_ns = bound;
        record
    }

    #[test]
    fn the_most_time_lost_far_from_its_limit_comes_first() {
        // 900 lost at 10 %, 1000 lost at 90 %, 100 lost at 50 %.
        let records = [of("near", 1e4, 9e3), of("far", 1e3, 100.0), of("small", 200.0, 100.0)];
        let found = status(&records);
        let ops: Vec<&str> = found.iter().map(|standing| standing.group.op).collect();
        assert_eq!(ops, ["far", "near", "small"]);
        assert!((found[0].share - 0.45).abs() < 1e-9 && (found[0].efficiency - 0.1).abs() < 1e-9);
    }

    #[test]
    fn records_without_limits_have_no_standing() {
        assert!(status(&[timed("native/simd", 0, 10.0)]).is_empty());
    }
}
