//! Detection on histories whose changes are known.

use super::*;
use crate::{Environment, Place, Row, RunObject, append, append_event, init};
use proofmark_schema::Outcome;
use proofmark_stats::Stream;

/// A history that is made up.
pub(crate) struct Made {
    pub(crate) runs: usize,
    pub(crate) series: usize,
    /// Whether the code of each run is another.
    pub(crate) new_code: bool,
    pub(crate) contender: &'static str,
    pub(crate) level: fn(run: usize, series: usize) -> f64,
}

const CONTENDER: &str = "native/simd@avx512";

pub(crate) fn key(series: usize, contender: &str) -> SeriesKey {
    SeriesKey {
        op: "softmax".to_owned(),
        case: format!("softmax:f32[rows=1,d={}]", 64 + series),
        contender: contender.to_owned(),
        metric: Metric::Time,
        threads: 1,
        memory: "hot/4k".to_owned(),
        isolation: "T1".to_owned(),
        protocol: 1,
        environment: "0123456789abcdef".to_owned(),
    }
}

pub(crate) async fn made(made: &Made) -> (tempfile::TempDir, Place) {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::folder(folder.path()).unwrap();
    init(&place).await.unwrap();
    let mut stream = Stream::new(3);
    for number in 0..made.runs {
        let run = Run {
            id: format!("run{number:04}"),
            started: 2_000_000 * number as i64,
            commit_time: 1_000_000 * number as i64,
            commit: Some(format!("{number:040x}")),
            environment: Environment {
                class: key(0, CONTENDER).environment,
                ..Environment::default()
            },
            is_whole: true,
            ..Run::default()
        };
        let row = |series: usize| {
            let value = 1000.0 * (made.level)(number, series) * (0.01 * stream.normal()).exp();
            let key = key(series, made.contender);
            let code = if made.new_code { format!("{number:016x}") } else { "0".repeat(16) };
            let point = Point {
                series: key.id().unwrap(),
                commit_time: run.commit_time,
                run: run.id.clone(),
                outcome: Outcome::Proven,
                value: Some(value),
                low: Some(0.99 * value as f32),
                high: Some(1.01 * value as f32),
                trials: 10,
                control: None,
                against: None,
                code: Some(code),
                flags: 0,
            };
            Row { key, point }
        };
        let rows: Vec<Row> = (0..made.series).map(row).collect();
        append(&place, &RunObject::new(run, rows).unwrap()).await.unwrap();
    }
    (folder, place)
}

pub(crate) async fn detected(place: &Place, shard: Shard) -> Detected {
    let snapshot = Snapshot::load(place).await.unwrap();
    let options = Options { shard, ..Options::default() };
    let found = detect(&snapshot, &options, 9_000_000_000, "test").await.unwrap();
    for event in &found.events {
        append_event(place, event).await.unwrap();
    }
    found
}

async fn alerts(place: &Place) -> Vec<Alert> {
    alerts_of(&Snapshot::load(place).await.unwrap().events().await.unwrap())
}

#[tokio::test]
async fn a_commit_that_moves_ten_of_thirty_series_is_one_alert_and_is_said_once() {
    let level = |run, series| if run >= 40 && series < 10 { 1.05 } else { 1.0 };
    let (_folder, place) =
        made(&Made { runs: 80, series: 30, new_code: true, contender: CONTENDER, level }).await;
    let found = detected(&place, Shard::WHOLE).await;
    assert_eq!((found.series, found.judged, found.changed), (30, 30, 10));
    let alerts = alerts(&place).await;
    assert_eq!(alerts.len(), 1);
    let alert = &alerts[0];
    assert_eq!((alert.state, alert.series.len()), (EventState::Detected, 10));
    assert_eq!((alert.finding.worse, alert.finding.better), (10, 0));
    // The change is the 40th commit: not before the 38th, and not after the 42nd.
    let (before, after) = alert.finding.times;
    assert!((38_000_000..40_000_000).contains(&before), "{before}");
    assert!((40_000_000..=42_000_000).contains(&after), "{after}");
    for member in &alert.finding.members {
        assert!((member.shift - 0.05).abs() < 0.01, "{member:?}");
        assert_eq!(member.cause, crate::alerts::Origin::Code);
    }
    assert!(detected(&place, Shard::WHOLE).await.events.is_empty(), "it is said once");
}

#[tokio::test]
async fn shards_find_together_what_the_whole_finds() {
    let level = |run, series| if run >= 40 && series < 10 { 1.05 } else { 1.0 };
    let (_folder, place) =
        made(&Made { runs: 80, series: 30, new_code: true, contender: CONTENDER, level }).await;
    let mut series = 0;
    for number in 1..=3 {
        series += detected(&place, Shard { number, of: 3 }).await.series;
    }
    assert_eq!(series, 30);
    let named: BTreeSet<_> = alerts(&place).await.into_iter().flat_map(|a| a.series).collect();
    let moved: BTreeSet<_> = (0..10).map(|series| key(series, CONTENDER).id().unwrap()).collect();
    assert_eq!(named, moved);
    assert!(detected(&place, Shard::WHOLE).await.events.is_empty());
}

#[tokio::test]
async fn series_that_do_not_change_are_silent() {
    let made_up =
        Made { runs: 60, series: 40, new_code: true, contender: CONTENDER, level: |_, _| 1.0 };
    let (_folder, place) = made(&made_up).await;
    assert!(detected(&place, Shard::WHOLE).await.events.is_empty());
}

#[tokio::test]
async fn the_same_code_on_both_sides_is_explained() {
    let level = |run, _| if run >= 30 { 1.1 } else { 1.0 };
    let (_folder, place) =
        made(&Made { runs: 60, series: 3, new_code: false, contender: CONTENDER, level }).await;
    detected(&place, Shard::WHOLE).await;
    let alerts = alerts(&place).await;
    assert_eq!(alerts.len(), 1);
    assert_eq!(alerts[0].state, EventState::Explained);
    assert!(!alerts[0].is_open());
    assert!(detected(&place, Shard::WHOLE).await.events.is_empty());
}

#[tokio::test]
async fn a_change_that_was_taken_back_is_fixed_and_its_way_back_is_no_alert() {
    let level = |run, _| if (30..60).contains(&run) { 1.1 } else { 1.0 };
    let (_folder, place) =
        made(&Made { runs: 90, series: 2, new_code: true, contender: CONTENDER, level }).await;
    detected(&place, Shard::WHOLE).await;
    let alerts = alerts(&place).await;
    assert_eq!(alerts.len(), 1, "{alerts:?}");
    assert_eq!(alerts[0].state, EventState::Fixed);
    // What became faster and slow again is two alerts: the second is a regression.
    let level = |run, _| if (30..60).contains(&run) { 0.9 } else { 1.0 };
    let (_folder, place) =
        made(&Made { runs: 90, series: 2, new_code: true, contender: CONTENDER, level }).await;
    detected(&place, Shard::WHOLE).await;
    assert_eq!(self::alerts(&place).await.len(), 2);
}

#[tokio::test]
async fn an_alert_that_was_dismissed_stays_dismissed() {
    let level = |run, _| if run >= 30 { 1.1 } else { 1.0 };
    let (_folder, place) =
        made(&Made { runs: 60, series: 2, new_code: true, contender: CONTENDER, level }).await;
    let first = detected(&place, Shard::WHOLE).await.events.remove(0);
    let dismissed = Event {
        time: first.time + 10,
        state: EventState::Dismissed,
        text: "known".to_owned(),
        ..first
    };
    append_event(&place, &dismissed).await.unwrap();
    assert!(detected(&place, Shard::WHOLE).await.events.is_empty());
    assert_eq!(alerts(&place).await[0].state, EventState::Dismissed);
}

#[test]
fn a_series_is_judged_by_its_control_where_every_point_has_one() {
    let mut point = Point {
        series: key(0, CONTENDER).id().unwrap(),
        commit_time: 0,
        run: "a".to_owned(),
        outcome: Outcome::Proven,
        value: Some(200.0),
        low: None,
        high: None,
        trials: 1,
        control: Some(0.5),
        against: Some("onednn".to_owned()),
        code: None,
        flags: 0,
    };
    assert_eq!(judged_values(Metric::Time, &[&point, &point]), [0.5, 0.5]);
    assert_eq!(judged_values(Metric::Allocations, &[&point]), [201.0]);
    let other = Point { against: Some("mkl".to_owned()), ..point.clone() };
    assert_eq!(judged_values(Metric::Time, &[&point, &other]), [200.0, 200.0]);
    point.flags = flag::PLANTED;
    assert!(judged_points(&[point]).is_empty());
}
