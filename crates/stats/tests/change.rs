//! Holds the rates of false alarms and discoveries that the change detector promises.

#[path = "../study/models.rs"]
mod models;

use models::{Model, step};
use proofmark_stats::Stream;
use proofmark_stats::change::{Detector, Settings};

const POINTS: usize = 100;

fn detector() -> Detector {
    Detector::new(Settings::default()).unwrap()
}

#[test]
fn at_most_one_percent_of_series_without_a_change_alert_in_each_class() {
    let detector = detector();
    for model in Model::PROMISED {
        let mut stream = Stream::new(71);
        let wrong = (0..2000)
            .filter(|_| {
                let values = model.series(&mut stream, POINTS);
                !detector.judge(&values).unwrap().changes.is_empty()
            })
            .count();
        // 1 % of 2000 is 20. `change_study null` measures more series.
        assert!(wrong <= 20, "{}: {wrong} of 2000", model.name());
    }
}

#[test]
fn the_machine_without_a_control_is_what_no_detector_can_tell_from_the_code() {
    let detector = detector();
    let mut stream = Stream::new(72);
    let wrong = (0..500)
        .filter(|_| {
            let values = Model::Machines.series(&mut stream, POINTS);
            !detector.judge(&values).unwrap().changes.is_empty()
        })
        .count();
    assert!(wrong > 50, "{wrong} of 500: the control ratio would not be needed");
    // Rounded values have ties everywhere.
    let values = Model::Rounded.series(&mut stream, POINTS);
    assert!(detector.judge(&values).unwrap().changes.is_empty());
}

#[test]
fn two_percent_in_noise_of_one_percent_is_found_in_95_of_100_series() {
    let detector = detector();
    let mut stream = Stream::new(73);
    let (mut found, mut held) = (0, 0);
    for _ in 0..1000 {
        let mut values = Model::Normal.series(&mut stream, POINTS);
        step(&mut values, 50, 1.02);
        let changes = detector.judge(&values).unwrap().changes;
        let hit = changes.iter().find(|change| change.place.abs_diff(50) <= 3);
        found += usize::from(hit.is_some());
        held += usize::from(hit.is_some_and(|c| (c.places.0..=c.places.1).contains(&50)));
    }
    assert!(found >= 950, "{found} of 1000");
    assert!(held as f64 >= 0.95 * found as f64, "the place interval holds {held} of {found}");
}

#[test]
fn a_look_after_every_point_raises_no_more_false_alarms_than_promised() {
    let detector = detector();
    for model in [Model::Normal, Model::Outliers, Model::ControlRatio] {
        let mut stream = Stream::new(74);
        let wrong = (0..500)
            .filter(|_| {
                let mut monitor = detector.monitor();
                model.series(&mut stream, POINTS).into_iter().any(|value| {
                    monitor.push(value).unwrap();
                    !monitor.judge().changes.is_empty()
                })
            })
            .count();
        // At 1 %, thirteen or more of 500 have a probability of 0.2 %.
        assert!(wrong <= 12, "{}: {wrong} of 500", model.name());
    }
}
