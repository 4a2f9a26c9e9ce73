//! From splits to change points: narrowest over threshold, memory of the noise, refinement.

use super::scan::{MINIMUM_SEGMENT, Split, double_ranks};
use std::ops::Range;

/// The most memory that is corrected for; more of it leaves nothing to be detected.
const MOST_MEMORY: f64 = 0.95;

/// 95 % quantile of the likelihood ratio at the true place of a change: P(ratio ≤ x) is
/// (1 − e^(−x/2))² (Eo and Morley, Quantitative Economics 2015).
const PLACE_RATIO: f64 = 7.352_2;

/// A change point with the split that found it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) place: usize,
    pub(super) strength: f64,
    /// The points from the change before to the change after.
    pub(super) around: Range<usize>,
    /// The first and last place that the data do not exclude, at 95 %.
    pub(super) places: (usize, usize),
}

/// The factor by which first-order memory widens the statistic: √((1 + r) / (1 − r)).
pub(super) fn widening(memory: f64) -> f64 {
    ((1.0 + memory) / (1.0 - memory)).sqrt()
}

/// The change points of a series and the memory of its noise.
///
/// The memory is estimated between the change points, and change points need a stronger split the
/// more memory there is. Both are repeated until the memory no longer grows. It never falls, so
/// that the loop ends.
pub(super) fn segment(values: &[f64], splits: &[Split], threshold: f64) -> (Vec<Found>, f64) {
    let mut ordered = splits.to_vec();
    ordered.sort_by(|a, b| {
        let by_length = a.length.cmp(&b.length);
        by_length.then(b.strength.total_cmp(&a.strength)).then(a.start.cmp(&b.start))
    });
    let mut memory = 0.0;
    loop {
        let chosen = narrowest(&ordered, threshold * widening(memory));
        let places = refine(values, &chosen.iter().map(|split| split.place).collect::<Vec<_>>());
        let seen = memory_of(values, &places);
        if seen <= memory || places.is_empty() {
            let memory = if places.is_empty() { seen.max(memory) } else { memory };
            return (describe(values, &chosen, &places, memory), memory);
        }
        memory = seen;
    }
}

/// The narrowest interval over the threshold first; then those that do not contain its change
/// (Baranowski, Chen, Fryzlewicz, JRSS B 2019). In the order of their places.
fn narrowest(ordered: &[Split], threshold: f64) -> Vec<Split> {
    let mut chosen: Vec<Split> = Vec::new();
    for split in ordered.iter().filter(|split| split.strength > threshold) {
        let end = split.start + split.length;
        if !chosen.iter().any(|other| split.start < other.place && other.place < end) {
            chosen.push(*split);
        }
    }
    chosen.sort_by_key(|split| split.place);
    chosen
}

/// Moves each change to the best split of all points between its neighbours.
///
/// A change moves at most half the way to a neighbour, so that changes keep their order.
fn refine(values: &[f64], places: &[usize]) -> Vec<usize> {
    let bound = |i: usize| places.get(i).copied().unwrap_or(values.len());
    (0..places.len())
        .map(|i| {
            let place = places[i];
            let (start, end) = (if i == 0 { 0 } else { places[i - 1] }, bound(i + 1));
            let half = |gap: usize| gap.div_ceil(2).max(MINIMUM_SEGMENT);
            let first = if i == 0 { MINIMUM_SEGMENT } else { start + half(place - start) };
            let last =
                if i + 1 == places.len() { end - MINIMUM_SEGMENT } else { end - half(end - place) };
            let profile = Profile::new(&values[start..end]);
            let mut best = (profile.between(place - start), place);
            for other in first..=last {
                let strength = profile.between(other - start);
                if strength > best.0 {
                    best = (strength, other);
                }
            }
            best.1
        })
        .collect()
}

/// The sum of squares between the two sides of every split of a segment, on ranks.
struct Profile {
    /// Sums of the ranks before each place, less their mean.
    sums: Vec<i64>,
    total: f64,
}

impl Profile {
    fn new(values: &[f64]) -> Profile {
        let (mut sums, mut sum, mut total) = (vec![0], 0, 0);
        for rank in double_ranks(values) {
            let centred = rank as i64 - (values.len() as i64 + 1);
            sum += centred;
            total += centred * centred;
            sums.push(sum);
        }
        Profile { sums, total: total as f64 }
    }

    fn between(&self, k: usize) -> f64 {
        let count = self.sums.len() - 1;
        if k == 0 || k >= count {
            return 0.0;
        }
        (self.sums[k] * self.sums[k]) as f64 * count as f64 / (k * (count - k)) as f64
    }

    /// The places whose likelihood is too near to that of `place` to be excluded.
    fn places(&self, place: usize, widening: f64) -> (usize, usize) {
        let count = self.sums.len() - 1;
        let best = self.between(place);
        let noise = (self.total - best).max(0.0) / (count.saturating_sub(2)).max(1) as f64;
        let allowed = PLACE_RATIO * noise * widening * widening;
        let kept = |k: &usize| best - self.between(*k) <= allowed;
        let low = (1..count).find(kept).unwrap_or(place);
        let high = (1..count).rev().find(kept).unwrap_or(place);
        (low.min(place), high.max(place))
    }
}

/// The lag-one correlation of the ranks within segments, corrected for its bias.
fn memory_of(values: &[f64], places: &[usize]) -> f64 {
    let (mut products, mut squares) = (0.0, 0.0);
    let mut start = 0;
    for end in places.iter().copied().chain([values.len()]) {
        let count = (end - start) as f64;
        let ranks: Vec<f64> = double_ranks(&values[start..end])
            .iter()
            .map(|&rank| (rank - count - 1.0) / count)
            .collect();
        squares += ranks.iter().map(|rank| rank * rank).sum::<f64>();
        products += ranks.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
        start = end;
    }
    if squares <= 0.0 {
        return 0.0;
    }
    // From the correlation of ranks to that of normal values.
    let raw = 2.0 * (std::f64::consts::PI / 6.0 * products / squares).sin();
    // Each segment's mean is estimated, which lowers the correlation by (1 + 4 r) / n on average
    // (Marriott and Pope, Biometrika 1954).
    let count = values.len() as f64;
    let lowered = (places.len() + 1) as f64 / count;
    ((raw + lowered) / (1.0 - 4.0 * lowered).max(0.2)).clamp(0.0, MOST_MEMORY)
}

fn describe(values: &[f64], chosen: &[Split], places: &[usize], memory: f64) -> Vec<Found> {
    let count = places.len();
    (0..count)
        .map(|i| {
            let start = if i == 0 { 0 } else { places[i - 1] };
            let end = if i + 1 == count { values.len() } else { places[i + 1] };
            let profile = Profile::new(&values[start..end]);
            let (low, high) = profile.places(places[i] - start, widening(memory));
            let strength = chosen[i].strength / widening(memory);
            Found {
                place: places[i],
                strength,
                around: start..end,
                places: (start + low, start + high),
            }
        })
        .collect()
}
