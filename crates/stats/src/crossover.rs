//! Where one contender overtakes another along an axis, between which two sizes.

/// The ratio of two contenders at one place of an axis, between its bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisRatio {
    /// Place on the axis.
    pub at: f64,
    /// Lower bound of the ratio.
    pub low: f64,
    /// Upper bound of the ratio.
    pub high: f64,
}

/// On which side of 1 a ratio clearly lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The whole interval lies below 1.
    Below,
    /// The whole interval lies above 1.
    Above,
}

/// A change of side between two places of the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// The last place clearly on the old side.
    pub from: f64,
    /// The first place clearly on the new side.
    pub to: f64,
    /// The new side.
    pub side: Side,
}

/// Where two curves cross.
#[derive(Clone, Debug, PartialEq)]
pub enum Crossover {
    /// No place is clearly on either side.
    Unclear,
    /// Every clear place is on this side.
    Never(Side),
    /// They cross once.
    Once(Crossing),
    /// They cross more than once, in the order of the axis.
    Several(Vec<Crossing>),
}

/// Finds where a ratio passes 1 along an axis.
///
/// Places where the interval holds 1 belong to neither side and widen the answer. The places may
/// come in any order. The result is `None` for a place that is not finite or comes twice, and for
/// bounds that are not positive and in order.
pub fn crossover(ratios: &[AxisRatio]) -> Option<Crossover> {
    let sound = |ratio: &AxisRatio| {
        ratio.at.is_finite() && ratio.low > 0.0 && ratio.low <= ratio.high && ratio.high.is_finite()
    };
    if !ratios.iter().all(sound) {
        return None;
    }
    let mut ordered = ratios.to_vec();
    ordered.sort_by(|a, b| a.at.total_cmp(&b.at));
    if ordered.windows(2).any(|pair| pair[0].at == pair[1].at) {
        return None;
    }
    let clear: Vec<(f64, Side)> =
        ordered.iter().filter_map(|ratio| Some((ratio.at, side(ratio)?))).collect();
    let mut crossings: Vec<Crossing> = clear
        .windows(2)
        .filter(|pair| pair[0].1 != pair[1].1)
        .map(|pair| Crossing { from: pair[0].0, to: pair[1].0, side: pair[1].1 })
        .collect();
    Some(match (clear.first(), crossings.len()) {
        (None, _) => Crossover::Unclear,
        (Some((_, side)), 0) => Crossover::Never(*side),
        (Some(_), 1) => Crossover::Once(crossings.remove(0)),
        _ => Crossover::Several(crossings),
    })
}

fn side(ratio: &AxisRatio) -> Option<Side> {
    match ratio {
        AxisRatio { high, .. } if *high < 1.0 => Some(Side::Below),
        AxisRatio { low, .. } if *low > 1.0 => Some(Side::Above),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(f64, f64)]) -> Vec<AxisRatio> {
        points
            .iter()
            .map(|&(at, mid)| AxisRatio { at, low: mid - 0.05, high: mid + 0.05 })
            .collect()
    }

    #[test]
    fn the_answer_spans_from_the_last_clear_place_to_the_first_of_the_other_side() {
        let ratios =
            curve(&[(64.0, 1.6), (128.0, 1.2), (256.0, 1.02), (512.0, 0.99), (1024.0, 0.7)]);
        let crossing = Crossing { from: 128.0, to: 1024.0, side: Side::Below };
        assert_eq!(crossover(&ratios), Some(Crossover::Once(crossing)));
    }

    #[test]
    fn the_order_of_the_places_given_does_not_matter() {
        let mut ratios = curve(&[(1.0, 0.5), (2.0, 0.8), (3.0, 1.3), (4.0, 2.0)]);
        let first = crossover(&ratios);
        ratios.reverse();
        assert_eq!(crossover(&ratios), first);
        let crossing = Crossing { from: 2.0, to: 3.0, side: Side::Above };
        assert_eq!(first, Some(Crossover::Once(crossing)));
    }

    #[test]
    fn curves_that_never_clearly_change_sides_do_not_cross() {
        assert_eq!(
            crossover(&curve(&[(1.0, 0.5), (2.0, 0.97), (3.0, 1.04)])),
            Some(Crossover::Never(Side::Below))
        );
        assert_eq!(crossover(&curve(&[(1.0, 1.5)])), Some(Crossover::Never(Side::Above)));
        assert_eq!(crossover(&curve(&[(1.0, 1.0), (2.0, 1.01)])), Some(Crossover::Unclear));
        assert_eq!(crossover(&[]), Some(Crossover::Unclear));
    }

    #[test]
    fn several_crossings_are_all_named_in_order() {
        let ratios = curve(&[(1.0, 0.5), (2.0, 1.5), (3.0, 1.0), (4.0, 0.6), (5.0, 1.2)]);
        let Some(Crossover::Several(crossings)) = crossover(&ratios) else {
            panic!("three crossings");
        };
        let places: Vec<(f64, f64)> = crossings.iter().map(|c| (c.from, c.to)).collect();
        assert_eq!(places, [(1.0, 2.0), (2.0, 4.0), (4.0, 5.0)]);
        let sides: Vec<Side> = crossings.iter().map(|c| c.side).collect();
        assert_eq!(sides, [Side::Above, Side::Below, Side::Above]);
    }

    #[test]
    fn a_place_that_only_touches_one_is_on_neither_side() {
        let ratios = [
            AxisRatio { at: 1.0, low: 0.8, high: 1.0 },
            AxisRatio { at: 2.0, low: 1.0, high: 1.2 },
        ];
        assert_eq!(crossover(&ratios), Some(Crossover::Unclear));
    }

    #[test]
    fn refuses_places_and_bounds_that_make_no_sense() {
        let good = AxisRatio { at: 1.0, low: 0.9, high: 1.1 };
        for bad in [
            AxisRatio { at: f64::NAN, ..good },
            AxisRatio { low: 0.0, ..good },
            AxisRatio { low: 1.2, ..good },
            AxisRatio { high: f64::INFINITY, ..good },
            AxisRatio { high: f64::NAN, ..good },
        ] {
            assert_eq!(crossover(&[bad]), None);
        }
        assert_eq!(crossover(&[good, good]), None);
    }
}
