//! From the changes of many series to few alerts.

use super::scan::double_ranks;
use crate::multiple::benjamini_hochberg_adjusted;

/// Which series alert: those whose p-value falls at a false discovery rate of `rate` over the
/// family (Benjamini and Hochberg) and does not exceed `alpha`.
///
/// The second condition matters in a small family, whose rate alone would allow more than `alpha`
/// of the series without a change.
pub fn alerts(p_values: &[f64], alpha: f64, rate: f64) -> Vec<bool> {
    let adjusted = benjamini_hochberg_adjusted(p_values);
    p_values.iter().zip(adjusted).map(|(&p, adjusted)| p <= alpha && adjusted <= rate).collect()
}

/// A change of one series, in the order of commits.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The series, as the caller numbers them.
    pub series: usize,
    /// The first and the last commit that may have made the change.
    pub commits: (u64, u64),
    /// ln(after / before).
    pub shift: f64,
    /// The p-value of the change.
    pub p_value: f64,
}

/// Changes that one commit explains.
#[derive(Clone, Debug, PartialEq)]
pub struct Incident {
    /// The commits that are possible for every member.
    pub commits: (u64, u64),
    /// Indices into the candidates, the smallest p-value first.
    pub members: Vec<usize>,
    /// Members whose value rose.
    pub risen: usize,
    /// Members whose value fell.
    pub fallen: usize,
}

/// Groups candidates into the fewest incidents such that the members of each share a commit.
///
/// Intervals that overlap in a chain do not make one incident: a commit must be possible for all.
/// The greedy choice by the earliest last commit is the smallest cover of intervals by points.
pub fn incidents(candidates: &[Candidate]) -> Vec<Incident> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|&i| (candidates[i].commits.1, candidates[i].commits.0));
    let mut result: Vec<Incident> = Vec::new();
    for i in order {
        let Candidate { commits: (low, high), shift, .. } = candidates[i];
        // The sort puts the smallest last commit first, so that the open incident ends with it.
        let open = result.last_mut().filter(|incident| low <= incident.commits.1);
        let incident = match open {
            Some(incident) => incident,
            None => {
                let (members, risen, fallen) = (Vec::new(), 0, 0);
                result.push(Incident { commits: (low, high), members, risen, fallen });
                let last = result.len() - 1;
                &mut result[last]
            }
        };
        incident.commits.0 = incident.commits.0.max(low);
        incident.members.push(i);
        incident.risen += usize::from(shift > 0.0);
        incident.fallen += usize::from(shift < 0.0);
    }
    for incident in &mut result {
        incident.members.sort_by(|&i, &j| {
            let (a, b) = (&candidates[i], &candidates[j]);
            a.p_value.total_cmp(&b.p_value).then(a.series.cmp(&b.series))
        });
    }
    result
}

/// One series from many that may move together by too little to be seen alone.
///
/// Each point is e to the mean of the members' ranks at that run, scaled to −½ … ½. The ranks keep
/// the direction, and the noise that members share at a run remains in the pooled point, so that a
/// detector judges the result like any other series. `None` is a run that a member has no value
/// of; runs without any value are left out. Returns the runs and their values.
pub fn pooled(members: &[Vec<Option<f64>>]) -> Vec<(usize, f64)> {
    let runs = members.iter().map(Vec::len).max().unwrap_or(0);
    let mut sums = vec![(0.0, 0u32); runs];
    for member in members {
        let present: Vec<(usize, f64)> =
            member.iter().enumerate().filter_map(|(run, value)| Some((run, (*value)?))).collect();
        let values: Vec<f64> = present.iter().map(|&(_, value)| value).collect();
        let count = values.len() as f64;
        for (&(run, _), rank) in present.iter().zip(double_ranks(&values)) {
            sums[run].0 += (rank - count - 1.0) / (2.0 * count);
            sums[run].1 += 1;
        }
    }
    let runs = sums.into_iter().enumerate().filter(|(_, (_, count))| *count > 0);
    runs.map(|(run, (sum, count))| (run, (sum / f64::from(count)).exp())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Detector, Settings};
    use super::*;
    use crate::Stream;

    fn candidate(series: usize, commits: (u64, u64), shift: f64) -> Candidate {
        Candidate { series, commits, shift, p_value: 0.001 / (series + 1) as f64 }
    }

    #[test]
    fn five_thousand_series_that_one_commit_moves_are_one_incident() {
        let mut stream = Stream::new(41);
        let candidates: Vec<Candidate> = (0..5000)
            .map(|i| {
                let commits = (100 - stream.below(6), 100 + stream.below(6));
                candidate(i, commits, if i % 5 == 0 { -0.02 } else { 0.02 })
            })
            .collect();
        let all = incidents(&candidates);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].commits, (100, 100));
        assert_eq!((all[0].risen, all[0].fallen), (4000, 1000));
        assert_eq!(all[0].members[0], 4999, "the smallest p-value is first");
    }

    #[test]
    fn a_chain_of_overlaps_is_not_one_incident() {
        let chain = [(1, 3), (3, 6), (5, 8), (8, 9)];
        let candidates: Vec<Candidate> =
            chain.iter().enumerate().map(|(i, &c)| candidate(i, c, 0.1)).collect();
        let all = incidents(&candidates);
        let commits: Vec<(u64, u64)> = all.iter().map(|incident| incident.commits).collect();
        assert_eq!(commits, [(3, 3), (8, 8)]);
        assert!(incidents(&[]).is_empty());
    }

    #[test]
    fn alerts_need_the_family_and_the_single_rate() {
        // A family of one: 4 % is a discovery at a rate of 5 %, and not an alert at 1 %.
        assert_eq!(alerts(&[0.04], 0.01, 0.05), [false]);
        // A family of a hundred: 1 % alone is what chance gives.
        let mut family = vec![0.5; 100];
        family[3] = 0.009;
        family[7] = 0.000_4;
        let got = alerts(&family, 0.01, 0.05);
        assert!(got[7] && !got[3]);
    }

    #[test]
    fn forty_series_that_fall_by_less_than_their_noise_are_found_together() {
        let detector = Detector::new(Settings::default()).unwrap();
        let mut stream = Stream::new(42);
        let members: Vec<Vec<Option<f64>>> = (0..40)
            .map(|member| {
                let point = |run: usize| {
                    let level = if run < 50 { 1.0 } else { 0.992 };
                    let value = level * (0.01 * stream.normal()).exp();
                    (!(run + member).is_multiple_of(17)).then_some(value)
                };
                (0..100).map(point).collect()
            })
            .collect();
        let alone = |member: &Vec<Option<f64>>| {
            let values: Vec<f64> = member.iter().flatten().copied().collect();
            !detector.judge(&values).unwrap().changes.is_empty()
        };
        assert!(members.iter().filter(|member| alone(member)).count() < 20);
        let pool = pooled(&members);
        let values: Vec<f64> = pool.iter().map(|&(_, value)| value).collect();
        let judgement = detector.judge(&values).unwrap();
        assert_eq!(judgement.changes.len(), 1);
        assert!(pool[judgement.changes[0].place].0.abs_diff(50) <= 1);
        assert!(judgement.changes[0].shift.high < 0.0);
        assert!(pooled(&[]).is_empty());
    }

    #[test]
    fn noise_that_all_members_share_is_not_a_discovery() {
        let detector = Detector::new(Settings::default()).unwrap();
        let mut stream = Stream::new(43);
        let wrong = (0..300)
            .filter(|_| {
                let shared: Vec<f64> = (0..100).map(|_| 0.01 * stream.normal()).collect();
                let members: Vec<Vec<Option<f64>>> = (0..10)
                    .map(|_| {
                        let own = |s: &f64| Some((s + 0.002 * stream.normal()).exp());
                        shared.iter().map(own).collect()
                    })
                    .collect();
                let values: Vec<f64> = pooled(&members).iter().map(|&(_, v)| v).collect();
                !detector.judge(&values).unwrap().changes.is_empty()
            })
            .count();
        // At 1 %, nine or more of 300 have a probability of 0.4 %.
        assert!(wrong <= 8, "{wrong} of 300");
    }
}
