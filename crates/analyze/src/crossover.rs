//! Where one contender overtakes another along an axis: which sizes to race, and what follows.

use proofmark_schema::quantity::Interval;
use proofmark_schema::race::Verdict;
use proofmark_schema::{Case, ContenderId};
use proofmark_stats::{AxisRatio, Crossover, Side, crossover};
use serde::{Deserialize, Serialize};

/// Two contenders at one size of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spot {
    /// The size.
    pub at: u64,
    /// Time of the second over time of the first.
    pub ratio: Interval,
    /// What the race showed of the second.
    pub verdict: Verdict,
    /// Trials behind it.
    pub trials: u32,
}

impl Spot {
    /// Merges two races of one size at different times: a verdict stands only if both gave it.
    ///
    /// An interval covers the minutes of its race. The cost of waking a thread drifts by more than
    /// that from hour to hour. The hull of races at different times covers the drift that was seen.
    #[must_use]
    pub fn and_again(self, again: Spot) -> Spot {
        let (one, two) = (self.ratio, again.ratio);
        let ratio = Interval {
            estimate: (one.estimate * two.estimate).sqrt(),
            low: one.low.min(two.low),
            high: one.high.max(two.high),
            confidence: one.confidence.min(two.confidence),
        };
        let is_agreed = self.verdict == again.verdict;
        let verdict = if is_agreed { self.verdict } else { Verdict::Undecided };
        Spot { at: self.at, ratio, verdict, trials: self.trials + again.trials }
    }
}

/// The sizes between which the second contender passes the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Between {
    /// The last size at which it was shown on the old side.
    pub low: u64,
    /// The first size at which it was shown on the new side.
    pub high: u64,
    /// Whether it is the faster one from there on.
    pub is_faster: bool,
}

/// A gain of at least this, if shown, is worth a thread at once.
const CLEAR_GAIN: f64 = 1.1;

impl Between {
    /// The size from which the second contender is worth taking: the first size at which it was
    /// shown to pay if it pays clearly there, else twice that. The cost of waking a thread changes
    /// by a quarter with what ran before, so a gain of some per cent today is a loss tomorrow.
    pub fn worth(&self, spots: &[Spot]) -> u64 {
        let is_clear = |spot: &Spot| spot.at == self.high && spot.ratio.high <= 1.0 / CLEAR_GAIN;
        if spots.iter().any(is_clear) { self.high } else { 2 * self.high }
    }
}

/// Where two contenders cross.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// Once.
    Once {
        /// There.
        crossing: Between,
    },
    /// More than once, in the order of the axis.
    Several {
        /// There.
        crossings: Vec<Between>,
    },
    /// The second was shown faster at some sizes and slower at none.
    AlwaysFaster,
    /// The second was shown slower at some sizes and faster at none.
    NeverFaster,
    /// Neither was shown faster anywhere.
    Unclear,
}

/// Maximum number of places of a first look at an axis.
const COARSE: usize = 7;
/// How near to each other the bounds of a crossing are brought, as a ratio.
const NARROW: f64 = 1.2;

/// Sizes for a first look, evenly spaced by ratio, both ends among them.
pub fn coarse(from: u64, to: u64) -> Vec<u64> {
    let (low, high) = (from.max(1) as f64, to.max(from.max(1)) as f64);
    let steps = ((high / low).log2().ceil() as usize).clamp(1, COARSE - 1);
    let at = |step: usize| (low * (high / low).powf(step as f64 / steps as f64)).round() as u64;
    let mut sizes: Vec<u64> = (0..=steps).map(at).collect();
    sizes.dedup();
    sizes
}

/// What the places show.
pub fn answer(places: &[Spot]) -> Answer {
    let ratio = |place: &Spot| {
        let Interval { low, high, .. } = place.ratio;
        // What was not shown stays on neither side, wherever its interval lies.
        let (low, high) = match place.verdict {
            Verdict::Faster if high < 1.0 => (low, high),
            Verdict::Slower if low > 1.0 => (low, high),
            _ => (low.min(1.0), high.max(1.0)),
        };
        AxisRatio { at: place.at as f64, low: low.max(f64::MIN_POSITIVE), high: high.min(1e300) }
    };
    let between = |crossing: &proofmark_stats::Crossing| Between {
        low: crossing.from as u64,
        high: crossing.to as u64,
        is_faster: crossing.side == Side::Below,
    };
    match crossover(&places.iter().map(ratio).collect::<Vec<_>>()) {
        Some(Crossover::Once(crossing)) => Answer::Once { crossing: between(&crossing) },
        Some(Crossover::Several(crossings)) => {
            Answer::Several { crossings: crossings.iter().map(between).collect() }
        }
        Some(Crossover::Never(Side::Below)) => Answer::AlwaysFaster,
        Some(Crossover::Never(Side::Above)) => Answer::NeverFaster,
        Some(Crossover::Unclear) | None => Answer::Unclear,
    }
}

/// The size to race next to narrow a single crossing; none if it is known well enough, or if there
/// is not exactly one crossing.
pub fn next_place(places: &[Spot]) -> Option<u64> {
    let Answer::Once { crossing: Between { low, high, .. } } = answer(places) else { return None };
    // Nothing was shown at the sizes within the crossing. Only a size between them and a bound can
    // still move that bound.
    let mut known: Vec<u64> = places.iter().map(|place| place.at).collect();
    known.retain(|at| (low..=high).contains(at));
    known.sort_unstable();
    let (first, last) = (known.first()?, known.last()?);
    let gap = |pair: &[u64]| pair[1] as f64 / pair[0].max(1) as f64;
    let edges = [[*first, *known.get(1)?], [known[known.len() - 2], *last]];
    let widest = edges.iter().max_by(|a, b| gap(*a).total_cmp(&gap(*b)))?;
    let middle = ((widest[0] as f64) * (widest[1] as f64)).sqrt().round() as u64;
    let is_new = middle > widest[0] && middle < widest[1];
    (gap(widest) > NARROW && is_new).then_some(middle)
}

/// Where a zone lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZoneName {
    /// A quarter of the threshold.
    Below,
    /// The threshold.
    At,
    /// Four times the threshold.
    Above,
}

impl ZoneName {
    /// The word in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            ZoneName::Below => "below",
            ZoneName::At => "at",
            ZoneName::Above => "above",
        }
    }
}

/// A zone of the rule for parallel code: below its threshold it costs nothing, at the threshold it
/// gains a little, and above it gains clearly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Zone {
    /// Where it lies.
    pub name: ZoneName,
    /// The size.
    pub at: u64,
    /// Time of the first contender over time of the second.
    pub speedup: Interval,
    /// What is wanted, in words.
    pub wanted: String,
    /// Whether the estimate meets it.
    pub is_met: bool,
}

impl Zone {
    /// The zone of that name, from what was raced there.
    pub fn of(name: ZoneName, place: &Spot) -> Zone {
        let speedup = place.ratio.inverse();
        let s = speedup.estimate;
        let (wanted, is_met) = match name {
            ZoneName::Below => ("about 1×: 0.95× to 1.05×", (0.95..=1.05).contains(&s)),
            ZoneName::At => ("1.1× to 1.2×, or more", s >= 1.1),
            ZoneName::Above => ("1.3× or more", s >= 1.3),
        };
        Zone { name, at: place.at, speedup, wanted: wanted.to_owned(), is_met }
    }
}

/// A crossing as it was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crossing {
    /// The case; its size along the axis is that of the crossing, or the greatest looked at.
    pub case: Case,
    /// The axis.
    pub axis: String,
    /// The one that is compared with, and the one that starts to pay.
    pub between: [ContenderId; 2],
    /// Threads both could use.
    pub threads: usize,
    /// Smallest and greatest size looked at.
    pub range: (u64, u64),
    /// Error rate of each race.
    pub alpha: f64,
    /// Every size that was raced, in the order of the axis.
    pub places: Vec<Spot>,
    /// What they show.
    pub answer: Answer,
    /// The least size of a thread's part, where kernels of the op take such a constant.
    pub constant: Option<usize>,
    /// Below, at and above the threshold, with the constant in force.
    pub zones: Vec<Zone>,
    /// The run that keeps the races.
    pub run: String,
    /// When, in seconds since 1970.
    pub made: u64,
    /// Whether it was kept from before.
    #[serde(default)]
    pub is_cached: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_gain_is_worth_it_from_twice_its_size_on() {
        let between = Between { low: 5, high: 8, is_faster: true };
        assert_eq!(between.worth(&[place(4, 1.3), place(8, 0.5)]), 8);
        assert_eq!(between.worth(&[place(4, 0.5), place(8, 0.98)]), 16);
        assert_eq!(between.worth(&[]), 16);
    }

    #[test]
    fn a_bound_is_only_what_every_round_showed() {
        let mut places = [place(1, 1.5), place(4, 1.1), place(8, 0.9), place(16, 0.6)];
        places[1] = places[1].and_again(place(4, 1.2));
        let narrow = Between { low: 4, high: 8, is_faster: true };
        assert_eq!(answer(&places), Answer::Once { crossing: narrow });
        places[2] = places[2].and_again(place(8, 1.05));
        assert_eq!(answer(&places), Answer::Once { crossing: Between { high: 16, ..narrow } });
        assert!(places[2].ratio.low < 0.9 && places[2].ratio.high > 1.05, "{:?}", places[2]);
        assert_eq!(places[2].trials, 12);
        let unsure = Spot { verdict: Verdict::Undecided, ..place(4, 1.1) };
        assert_eq!(place(4, 1.1).and_again(unsure).verdict, Verdict::Undecided);
    }

    /// A place where the second takes `ratio` of the first's time, known to ±2 %.
    fn place(at: u64, ratio: f64) -> Spot {
        let (low, high) = (0.98 * ratio, 1.02 * ratio);
        let verdict = match (low, high) {
            (_, high) if high < 1.0 => Verdict::Faster,
            (low, _) if low > 1.0 => Verdict::Slower,
            _ => Verdict::Same,
        };
        let ratio = Interval { estimate: ratio, low, high, confidence: 0.99 };
        Spot { at, ratio, verdict, trials: 6 }
    }

    /// Bisects a curve as the engine does.
    fn bisect(from: u64, to: u64, curve: impl Fn(f64) -> f64) -> (Vec<Spot>, Answer) {
        let at = |at: u64| place(at, curve(at as f64));
        let mut places: Vec<Spot> = coarse(from, to).into_iter().map(at).collect();
        while let Some(next) = next_place(&places) {
            places.push(at(next));
            assert!(places.len() < 40, "{places:?}");
        }
        let answer = answer(&places);
        (places, answer)
    }

    #[test]
    fn a_fork_that_costs_is_paid_back_where_it_should_be() {
        // Serial x against 600 + x/2: they meet at 1200.
        let (places, answer) = bisect(1, 65_536, |x| (600.0 + x / 2.0) / x);
        let Answer::Once { crossing } = answer else { panic!("{answer:?}") };
        assert!(crossing.is_faster && crossing.low < 1200 && crossing.high > 1200, "{crossing:?}");
        let width = crossing.high as f64 / crossing.low as f64;
        assert!(width < 1.6 && places.len() < 18, "{width} {}", places.len());
    }

    #[test]
    fn no_crossing_and_several_are_told_and_not_refined() {
        let (places, answer) = bisect(1, 4096, |_| 1.5);
        assert_eq!((places.len(), answer), (7, Answer::NeverFaster));
        assert_eq!(bisect(1, 4096, |_| 0.5).1, Answer::AlwaysFaster);
        assert_eq!(bisect(1, 4096, |_| 1.0).1, Answer::Unclear);
        let (_, answer) = bisect(1, 4096, |x| if (10.0..1000.0).contains(&x) { 0.7 } else { 1.4 });
        let Answer::Several { crossings } = answer else { panic!("{answer:?}") };
        let sides: Vec<bool> = crossings.iter().map(|crossing| crossing.is_faster).collect();
        assert_eq!(sides, [true, false]);
    }

    #[test]
    fn an_interval_clear_of_one_without_a_verdict_shows_nothing() {
        let mut unsure = place(8, 0.9);
        unsure.verdict = Verdict::Undecided;
        assert_eq!(answer(&[unsure]), Answer::Unclear);
    }

    #[test]
    fn a_small_axis_is_looked_at_whole() {
        assert_eq!(coarse(1, 1), [1]);
        assert_eq!(coarse(1, 4), [1, 2, 4]);
        let sizes = coarse(1, 1 << 16);
        assert_eq!((sizes.len(), sizes[0], sizes[6]), (7, 1, 1 << 16));
        let (_, answer) = bisect(1, 4, |x| if x > 2.5 { 0.8 } else { 1.3 });
        let crossing = Between { low: 2, high: 3, is_faster: true };
        assert_eq!(answer, Answer::Once { crossing });
    }

    #[test]
    fn zones_are_those_of_the_rule() {
        let met = |name, ratio: f64| Zone::of(name, &place(8, ratio)).is_met;
        let (below, at, above) = (ZoneName::Below, ZoneName::At, ZoneName::Above);
        assert!(met(below, 1.0) && !met(below, 1.3));
        assert!(met(at, 1.0 / 1.15) && met(at, 1.0 / 1.4) && !met(at, 1.0));
        assert!(met(above, 1.0 / 1.3) && !met(above, 1.0 / 1.2));
    }
}
