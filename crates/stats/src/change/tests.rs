//! What must hold for every series, whatever its values.

use super::*;
use crate::Stream;

/// A series of 60 to 200 points with up to three steps, and outliers.
fn series(seed: u64) -> Vec<f64> {
    let mut stream = Stream::new(seed);
    let count = 60 + stream.below(141) as usize;
    let places: Vec<u64> = (0..stream.below(4)).map(|_| stream.below(count as u64)).collect();
    let sizes: Vec<f64> = places.iter().map(|_| 0.04 * stream.normal()).collect();
    (0..count)
        .map(|i| {
            let steps = places.iter().zip(&sizes).filter(|(place, _)| i as u64 >= **place);
            let level: f64 = steps.map(|(_, size)| size).sum();
            let outlier = if stream.uniform() < 0.03 { 0.3 } else { 0.0 };
            (level + 0.01 * stream.normal() + outlier).exp()
        })
        .collect()
}

fn detector() -> Detector {
    Detector::new(Settings::default()).unwrap()
}

/// All of a judgement that does not depend on the unit of the values.
fn findings(judgement: &Judgement) -> Vec<(usize, (usize, usize), f64)> {
    judgement.changes.iter().map(|c| (c.place, c.places, c.strength)).collect()
}

fn judged(values: impl IntoIterator<Item = f64>) -> Judgement {
    detector().judge(&values.into_iter().collect::<Vec<f64>>()).unwrap()
}

#[test]
fn the_table_is_what_its_generator_prints() {
    for points in [16, 24, 32] {
        let row = table::ROWS.iter().find(|row| row.0 == points).unwrap();
        assert_eq!(null_quantiles(points, TABLE_SERIES, TABLE_SEED), row.1, "{points}");
    }
}

#[test]
fn longer_series_need_stronger_splits() {
    for pair in table::ROWS.windows(2) {
        assert!(pair[0].0 < pair[1].0);
        assert!(pair[0].1[5..9].iter().zip(&pair[1].1[5..9]).all(|(a, b)| a < b), "{pair:?}");
    }
}

#[test]
fn p_values_and_thresholds_are_inverse_and_fall() {
    for probability in [0.3, 0.05, 0.01, 0.003, 0.001] {
        let threshold = null::threshold(128, probability).unwrap();
        assert!((null::p_value(128, threshold) / probability - 1.0).abs() < 1e-9);
    }
    let p: Vec<f64> = (20..90).map(|i| null::p_value(128, f64::from(i) / 10.0)).collect();
    assert!(p.windows(2).all(|pair| pair[0] >= pair[1]), "{p:?}");
    assert!(p[0] == 1.0 && p[69] < 1e-12 && p[69] > 0.0);
    assert_eq!(null::threshold(128, 1e-6), None);
    assert!(Detector::new(Settings { alpha: 0.0, ..Settings::default() }).is_none());
    assert!(Detector::new(Settings { confidence: 1.0, ..Settings::default() }).is_none());
}

#[test]
fn a_monotone_transform_changes_no_finding() {
    let mut some = 0;
    for seed in 0..60 {
        let values = series(seed);
        let plain = judged(values.clone());
        some += plain.changes.len();
        for transform in [f64::exp, |v: f64| v.powi(3), |v: f64| v.ln() + 9.0, f64::sqrt] {
            let other = judged(values.iter().map(|&v| transform(v)));
            assert_eq!(findings(&other), findings(&plain), "seed {seed}");
            assert_eq!(other.memory, plain.memory);
        }
    }
    assert!(some > 20, "only {some} changes were compared");
}

#[test]
fn a_unit_changes_no_finding_and_no_relative_shift() {
    for seed in 0..60 {
        let values = series(seed);
        let plain = judged(values.clone());
        let scaled = judged(values.iter().map(|v| v * 1e6));
        let moved = judged(values.iter().map(|v| v + 3.0));
        assert_eq!(findings(&scaled), findings(&plain), "seed {seed}");
        assert_eq!(findings(&moved), findings(&plain), "seed {seed}");
        for (a, b) in scaled.changes.iter().zip(&plain.changes) {
            assert!((a.shift.estimate - b.shift.estimate).abs() < 1e-9, "seed {seed}");
        }
    }
}

#[test]
fn a_reversed_series_has_mirrored_changes() {
    for seed in 0..60 {
        let values = series(seed);
        let plain = judged(values.clone());
        let reversed = judged(values.iter().rev().copied());
        let count = values.len();
        let mut mirrored: Vec<(usize, (usize, usize), f64)> = findings(&reversed)
            .into_iter()
            .map(|(place, (low, high), strength)| {
                (count - place, (count - high, count - low), strength)
            })
            .collect();
        mirrored.reverse();
        let plain = findings(&plain);
        let places = |list: &[(usize, (usize, usize), f64)]| -> Vec<(usize, (usize, usize))> {
            list.iter().map(|finding| (finding.0, finding.1)).collect()
        };
        assert_eq!(places(&mirrored), places(&plain), "seed {seed}");
        // The memory of the noise is a sum in the order of the series.
        let close = |(a, b): (&(_, _, f64), &(_, _, f64))| (a.2 - b.2).abs() < 1e-9;
        assert!(mirrored.iter().zip(&plain).all(close), "seed {seed}");
    }
}

#[test]
fn a_series_that_grows_is_judged_as_one_that_is_complete() {
    let detector = detector();
    for seed in 0..20 {
        let values = series(seed);
        let mut monitor = detector.monitor();
        for (i, &value) in values.iter().enumerate() {
            monitor.push(value).unwrap();
            let batch = detector.judge(&values[..=i]).unwrap();
            assert_eq!(monitor.judge(), batch, "seed {seed}, point {i}");
        }
    }
}

#[test]
fn only_the_window_is_judged_and_places_count_from_the_first_value() {
    let mut stream = Stream::new(5);
    let values: Vec<f64> =
        (0..700).map(|i| if i < 400 { 1.0 } else { 1.1 } + 0.01 * stream.normal()).collect();
    let whole = judged(values.clone());
    let last = judged(values[700 - WINDOW..].to_vec());
    assert_eq!(whole.changes.len(), 1);
    let change = &whole.changes[0];
    assert_eq!(change.place, 400);
    assert_eq!(change.before.start, 700 - WINDOW);
    assert_eq!(last.changes[0].place, 400 - (700 - WINDOW));
    let mut monitor = Detector::new(Settings::default()).unwrap();
    monitor.threshold = 9.0;
    let mut full = monitor.monitor();
    assert!((0..WINDOW).all(|_| full.push(1.0).is_some()));
    assert_eq!(full.push(1.0), None);
}

#[test]
fn says_nothing_about_values_that_are_no_measurements() {
    for wrong in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
        assert_eq!(detector().judge(&[1.0, 2.0, wrong]), None, "{wrong}");
    }
    assert!(judged([]).changes.is_empty());
    assert!(judged(vec![1.0; 100]).changes.is_empty(), "equal values do not change");
    assert!(judged((1..16).map(f64::from)).changes.is_empty(), "too few");
}

#[test]
fn two_opposite_steps_are_two_changes_with_their_shifts() {
    let mut stream = Stream::new(6);
    let level = |i: usize| if (40..70).contains(&i) { 1.05 } else { 1.0 };
    let values: Vec<f64> = (0..120).map(|i| level(i) * (0.01 * stream.normal()).exp()).collect();
    let changes = judged(values).changes;
    let places: Vec<usize> = changes.iter().map(|change| change.place).collect();
    assert_eq!(places, [40, 70]);
    for (change, truth) in changes.iter().zip([1.05f64.ln(), -(1.05f64.ln())]) {
        assert!(change.shift.low <= truth && truth <= change.shift.high, "{change:?}");
        assert!(change.places.0 <= change.place && change.place <= change.places.1);
        assert!(change.p_value < 1e-3);
    }
    assert_eq!(changes[0].after, 40..70);
    assert_eq!(changes[1].before, 40..70);
}
