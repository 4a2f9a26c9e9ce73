//! The rank CUSUM of every interval of a series, one new point at a time.
//!
//! An interval is ranked on its own, its ranks become normal scores, and the best split of the
//! scores is the interval's statistic. Scores are whole numbers, so every sum is exact: a monotone
//! transform, a mirrored series or another machine gives the same bits.

use crate::tail::normal_point;

/// The lengths of intervals, each about √2 times the one before (the decay of seeded intervals;
/// Kovács, Bühlmann, Li, Munk, Biometrika 2023). Every start is taken, not each half length: the
/// set is then its own mirror image, and it only grows when a point is added.
pub const LENGTHS: [usize; 11] = [16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512];

/// The fewest points on either side of a change.
pub const MINIMUM_SEGMENT: usize = 4;

/// Scores are multiples of this share of a standard deviation.
const UNIT: f64 = 1.0 / 65_536.0;

/// What all intervals of one length share.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    length: usize,
    /// The score of twice the mean rank, so that tied values have one too. Whole numbers, and so
    /// small that every sum of them is exact.
    scores: Vec<f64>,
    /// √(l / (k (l − k))), for each split k from 1 that is allowed, and nought for the others.
    weights: Vec<[f64; 4]>,
    /// The splits themselves.
    places: Vec<[f64; 4]>,
}

impl Shape {
    pub(super) fn all() -> Vec<Shape> {
        LENGTHS.iter().map(|&length| Shape::new(length)).collect()
    }

    fn new(length: usize) -> Shape {
        let mut scores = vec![0.0; 2 * length + 1];
        // The score of rank l + 1 − i is that of rank i with the other sign, exactly.
        for twice in 2..=length {
            let tail = (twice - 1) as f64 / (2 * length) as f64;
            let score = normal_point(tail).map_or(0.0, |point| (point / UNIT).round());
            scores[twice] = -score;
            scores[2 * length + 2 - twice] = score;
        }
        let weight = |k: usize| match k {
            MINIMUM_SEGMENT.. if k <= length - MINIMUM_SEGMENT => {
                (length as f64 / (k * (length - k)) as f64).sqrt()
            }
            _ => 0.0,
        };
        let fours = |value: &dyn Fn(usize) -> f64| {
            let four = |first: usize| [0, 1, 2, 3].map(|i| value(first + i));
            (1..length).step_by(4).map(four).collect()
        };
        let (weights, places) = (fours(&weight), fours(&|k| k as f64));
        Shape { length, scores, weights, places }
    }

    /// The greatest strength that any interval of this length can have: all low values first.
    pub(super) fn limit(&self) -> f64 {
        let ranks: Vec<f64> = (1..=self.length).map(|rank| 2.0 * rank as f64).collect();
        self.best_split(&ranks, &mut Vec::new()).0
    }

    /// The largest strength over the splits, and its split.
    ///
    /// The statistic of a split is the correlation r of the scores with the two sides. Its strength
    /// is √(−(l − 3/2) ln(1 − r²)), the root of the likelihood ratio, which is nearly normal for
    /// short intervals too: √l r of 24 points cannot exceed 4, however clear the change.
    fn best_split(&self, ranks: &[f64], sums: &mut Vec<f64>) -> (f64, usize) {
        let length = self.length as f64;
        let (mut sum, mut squares) = (0.0, 0.0);
        sums.clear();
        sums.extend(ranks.iter().map(|&rank| {
            let score = self.scores[rank as usize];
            sum += score;
            squares += score * score;
            sum
        }));
        let spread = length * squares - sum * sum;
        if spread <= 0.0 {
            return (0.0, 0);
        }
        // Sums become statistics in place; four maxima at a time, so that they are vectors.
        let mut lanes = [0.0; 4];
        for ((four, weights), places) in
            sums.chunks_exact_mut(4).zip(&self.weights).zip(&self.places)
        {
            for i in 0..4 {
                four[i] = (length * four[i] - places[i] * sum).abs() * weights[i];
                lanes[i] = if four[i] > lanes[i] { four[i] } else { lanes[i] };
            }
        }
        let best = lanes.iter().fold(0.0, |best: f64, &lane| best.max(lane));
        let split = sums.iter().position(|&statistic| statistic == best).map_or(0, |i| i + 1);
        let correlation = (best * best / spread / length).min(0.999_999);
        (((1.5 - length) * (-correlation).ln_1p()).sqrt(), split)
    }
}

/// The best split of one interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Split {
    pub(super) start: usize,
    pub(super) length: usize,
    /// The first point after the change.
    pub(super) place: usize,
    pub(super) strength: f64,
}

/// A series that is scanned as its points arrive: a point costs one pass over the intervals that
/// end with it, and no interval is looked at twice.
#[derive(Clone, Debug)]
pub(super) struct Scan<'a> {
    shapes: &'a [Shape],
    values: Vec<f64>,
    /// Twice the mean ranks of the last points, for each length.
    ranks: Vec<Vec<f64>>,
    /// Space for the sums of one interval.
    sums: Vec<f64>,
    /// The splits above `floor`.
    splits: Vec<Split>,
    floor: f64,
    strongest: f64,
}

impl<'a> Scan<'a> {
    pub(super) fn new(shapes: &'a [Shape], floor: f64) -> Scan<'a> {
        let ranks = vec![Vec::new(); shapes.len()];
        let (values, sums, splits) = (Vec::new(), Vec::new(), Vec::new());
        Scan { shapes, values, ranks, sums, splits, floor, strongest: 0.0 }
    }

    pub(super) fn push(&mut self, value: f64) {
        self.values.push(value);
        let count = self.values.len();
        for (shape, ranks) in self.shapes.iter().zip(&mut self.ranks) {
            if count < shape.length {
                break;
            }
            let start = count - shape.length;
            let window = &self.values[start..];
            if start == 0 {
                *ranks = double_ranks(window);
            } else {
                slide(ranks, self.values[start - 1], window);
            }
            let (strength, split) = shape.best_split(ranks, &mut self.sums);
            self.strongest = self.strongest.max(strength);
            if strength > self.floor {
                let (length, place) = (shape.length, start + split);
                self.splits.push(Split { start, length, place, strength });
            }
        }
    }

    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    pub(super) fn splits(&self) -> &[Split] {
        &self.splits
    }

    pub(super) fn strongest(&self) -> f64 {
        self.strongest
    }
}

/// Moves a window's ranks one point on: `gone` leaves it, the last of `window` enters it.
fn slide(ranks: &mut [f64], gone: f64, window: &[f64]) {
    let Some((&new, rest)) = window.split_last() else { return };
    ranks.copy_within(1.., 0);
    let one = |holds: bool| if holds { 1.0 } else { 0.0 };
    let mut gains = 0.0;
    for (rank, &value) in ranks.iter_mut().zip(rest) {
        let lost = one(gone < value) + one(gone <= value);
        let gained = one(new < value) + one(new <= value);
        gains += gained;
        *rank += gained - lost;
    }
    ranks[rest.len()] = 2.0 * (rest.len() + 1) as f64 - gains;
}

/// Twice the rank of each value from 1, ties at the mean of their ranks.
pub(super) fn double_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    for group in order.chunk_by(|&i, &j| values[i] == values[j]) {
        for &i in group {
            ranks[i] = (2 * below + group.len() + 1) as f64;
        }
        below += group.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    #[test]
    fn sliding_a_window_gives_the_ranks_of_sorting_it() {
        let mut stream = Stream::new(21);
        // Few distinct values, so that ties are everywhere.
        let values: Vec<f64> = (0..200).map(|_| stream.below(9) as f64).collect();
        let mut ranks = double_ranks(&values[..24]);
        for start in 1..=values.len() - 24 {
            slide(&mut ranks, values[start - 1], &values[start..start + 24]);
            assert_eq!(ranks, double_ranks(&values[start..start + 24]), "{start}");
        }
    }

    #[test]
    fn scores_are_the_normal_quantiles_of_ranks_and_mirror_each_other() {
        let shape = Shape::new(12);
        for rank in 1..=12 {
            assert_eq!(shape.scores[2 * rank], -shape.scores[26 - 2 * rank], "{rank}");
        }
        // The normal quantile of 11.5 / 12 is 1.731664 (SciPy).
        assert!((shape.scores[24] * UNIT - 1.731_664).abs() < 1e-4);
        // The mean of all ranks, 6.5, is the middle.
        assert_eq!(shape.scores[13], 0.0);
    }

    #[test]
    fn the_statistic_of_an_interval_is_the_textbook_cusum() {
        let mut stream = Stream::new(22);
        let values: Vec<f64> = (0..16).map(|_| stream.normal()).collect();
        let shape = Shape::new(16);
        let scores: Vec<f64> = double_ranks(&values)
            .iter()
            .map(|&rank| -normal_point((rank - 1.0) / 32.0).unwrap())
            .collect();
        let sd = (scores.iter().map(|z| z * z).sum::<f64>() / 16.0).sqrt();
        let statistic = |k: usize| {
            let sum: f64 = scores[..k].iter().sum();
            sum.abs() / sd / ((k * (16 - k)) as f64 / 16.0).sqrt()
        };
        let strength = |r: f64| (-14.5 * (1.0 - r * r).ln()).sqrt();
        let want =
            (MINIMUM_SEGMENT..=16 - MINIMUM_SEGMENT).map(statistic).fold(0.0, f64::max) / 4.0;
        let (got, split) = shape.best_split(&double_ranks(&values), &mut Vec::new());
        assert!((got - strength(want)).abs() < 1e-4, "{got} {want}");
        assert!((statistic(split) / 4.0 - want).abs() < 1e-9);
    }
}
