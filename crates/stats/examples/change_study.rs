//! Measures the change detector on series whose changes are known.
//!
//! `null N`, `power N`, `memory N`, `looks N` and `delay N` print a table from N series a
//! row; `speed N` times N series of 100 points on two threads; `export N FOLDER` writes N series of
//! each class with our change points, for `study/compare.py`.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

#[path = "../study/models.rs"]
mod models;

use models::{Model, step};
use proofmark_stats::Stream;
use proofmark_stats::change::{Detector, Judgement, Settings};
use std::fmt::Write as _;

const POINTS: usize = 100;
const SEED: u64 = 2026;

const ALL: [Model; 6] = [
    Model::Normal,
    Model::Outliers,
    Model::Memory(60),
    Model::ControlRatio,
    Model::Machines,
    Model::Rounded,
];

fn growing() -> Detector {
    Detector::new(Settings::default()).expect("the default settings are valid")
}

fn once() -> Detector {
    let settings = Settings { horizon: POINTS, ..Settings::default() };
    Detector::new(settings).expect("the settings are valid")
}

fn judge(detector: &Detector, values: &[f64]) -> Judgement {
    detector.judge(values).expect("the values are positive")
}

fn share(count: usize, of: usize) -> String {
    format!("{:.2} %", 100.0 * count as f64 / of as f64)
}

/// How many of `series` series without a change alert.
fn false_alarms(detector: &Detector, model: Model, series: usize) -> usize {
    let mut stream = Stream::new(SEED);
    (0..series)
        .filter(|_| {
            let values = model.series(&mut stream, POINTS);
            !judge(detector, &values).changes.is_empty()
        })
        .count()
}

fn null(series: usize) {
    println!("| noise, {series} series of {POINTS} points | judged as it grows | judged once |");
    println!("|---|---:|---:|");
    for model in ALL {
        let rate = |detector| share(false_alarms(detector, model, series), series);
        println!("| {} | {} | {} |", model.name(), rate(&growing()), rate(&once()));
    }
}

fn memory(series: usize) {
    println!("| memory of the noise, {series} series | growing | once | once, 40 points |");
    println!("|---:|---:|---:|---:|");
    for hundredths in [0, 20, 40, 60, 70, 80, 90] {
        let model = Model::Memory(hundredths);
        let rate = |detector| share(false_alarms(detector, model, series), series);
        let mut stream = Stream::new(SEED);
        let short = Detector::new(Settings { horizon: 40, ..Settings::default() }).expect("valid");
        let wrong = (0..series)
            .filter(|_| !judge(&short, &model.series(&mut stream, 40)).changes.is_empty())
            .count();
        let columns = [rate(&growing()), rate(&once()), share(wrong, series)];
        println!("| {:.2} | {} |", f64::from(hundredths) / 100.0, columns.join(" | "));
    }
}

/// Found within three points, changes beside it, and the truth within the place interval.
fn found(detector: &Detector, model: Model, percent: f64, series: usize) -> [usize; 5] {
    let mut stream = Stream::new(SEED + 1);
    let place = POINTS / 2;
    let mut counts = [0; 5];
    for _ in 0..series {
        let mut values = model.series(&mut stream, POINTS);
        step(&mut values, place, 1.0 + percent / 100.0);
        let changes = judge(detector, &values).changes;
        let hit = changes.iter().find(|change| change.place.abs_diff(place) <= 3);
        counts[0] += usize::from(hit.is_some());
        counts[1] += changes.len() - usize::from(hit.is_some());
        if let [change] = &changes[..] {
            let truth = (1.0 + percent / 100.0).ln();
            counts[2] += 1;
            counts[3] += usize::from((change.places.0..=change.places.1).contains(&place));
            counts[4] += usize::from((change.shift.low..=change.shift.high).contains(&truth));
        }
    }
    counts
}

fn power(series: usize) {
    println!(
        "| noise, {series} series | step | found ±3, growing | others a series | found ±3, once | \
         place interval holds | shift interval holds |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for model in Model::PROMISED {
        for percent in [1.0, 2.0, 5.0] {
            let (a, b) = (growing(), once());
            let (grown, single) =
                (found(&a, model, percent, series), found(&b, model, percent, series));
            println!(
                "| {} | {percent} % | {} | {:.3} | {} | {} | {} |",
                model.name(),
                share(grown[0], series),
                grown[1] as f64 / series as f64,
                share(single[0], series),
                share(grown[3], grown[2].max(1)),
                share(grown[4], grown[2].max(1)),
            );
        }
    }
}

/// Judged after every point: the share of series with an alarm at any look.
fn looks(series: usize) {
    println!("| noise, {series} series, a look after each of {POINTS} points | any alarm |");
    println!("|---|---:|");
    let detector = growing();
    for model in ALL {
        let mut stream = Stream::new(SEED + 2);
        let wrong = (0..series)
            .filter(|_| {
                let mut monitor = detector.monitor();
                model.series(&mut stream, POINTS).into_iter().any(|value| {
                    monitor.push(value);
                    !monitor.judge().changes.is_empty()
                })
            })
            .count();
        println!("| {} | {} |", model.name(), share(wrong, series));
    }
}

/// Points after a step until it is found, in a history of 60 points.
fn delay(series: usize) {
    println!("| noise, {series} series | step | median delay in points | missed in 60 |");
    println!("|---|---:|---:|---:|");
    let detector = growing();
    for model in [Model::Normal, Model::Outliers, Model::Memory(60), Model::ControlRatio] {
        for percent in [2.0, 5.0, 20.0] {
            let mut stream = Stream::new(SEED + 3);
            let mut delays: Vec<usize> = (0..series)
                .map(|_| {
                    let mut values = model.series(&mut stream, 120);
                    step(&mut values, 60, 1.0 + percent / 100.0);
                    let mut monitor = detector.monitor();
                    values[..60].iter().for_each(|&value| monitor.push(value).expect("fits"));
                    let hit = values[60..].iter().position(|&value| {
                        monitor.push(value);
                        monitor.judge().changes.iter().any(|c| c.place.abs_diff(60) <= 3)
                    });
                    hit.map_or(usize::MAX, |i| i + 1)
                })
                .collect();
            delays.sort_unstable();
            let missed = delays.iter().filter(|&&d| d == usize::MAX).count();
            let middle = delays[series / 2];
            let middle = if middle == usize::MAX { "–".to_owned() } else { middle.to_string() };
            println!("| {} | {percent} % | {middle} | {} |", model.name(), share(missed, series));
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "it reports a speed")]
fn speed(series: usize) {
    let detector = growing();
    let mut stream = Stream::new(SEED + 4);
    let all: Vec<Vec<f64>> =
        (0..series).map(|i| Model::PROMISED[i % 4].series(&mut stream, POINTS)).collect();
    let start = std::time::Instant::now();
    let changes: usize = std::thread::scope(|scope| {
        let count = |half: &[Vec<f64>]| {
            half.iter().map(|values| judge(&detector, values).changes.len()).sum::<usize>()
        };
        let (first, second) = all.split_at(series / 2);
        let other = scope.spawn(move || count(second));
        count(first) + other.join().expect("the other half is judged")
    });
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{series} series, {changes} changes, {seconds:.2} s on two threads; {:.1} µs a series and \
         thread; 10⁶ series in {:.0} s",
        2e6 * seconds / series as f64,
        1e6 * seconds / series as f64
    );
}

fn export(series: usize, folder: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (model, percent) in ALL.iter().flat_map(|&m| [0.0, 1.0, 2.0, 5.0].map(|p| (m, p))) {
        let mut stream = Stream::new(SEED + 5);
        let mut text = String::new();
        let detector = growing();
        for _ in 0..series {
            let mut values = model.series(&mut stream, POINTS);
            step(&mut values, POINTS / 2, 1.0 + percent / 100.0);
            let join = |list: Vec<String>| list.join(" ");
            let changes = judge(&detector, &values).changes;
            let places = join(changes.iter().map(|c| c.place.to_string()).collect());
            let values = join(values.iter().map(f64::to_string).collect());
            let _ = writeln!(text, "{places};{values}");
        }
        std::fs::write(format!("{folder}/{}-{percent}.txt", model.name()), text)?;
    }
    Ok(())
}

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let series = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(1000);
    match words.first().map(String::as_str) {
        Some("null") => null(series),
        Some("power") => power(series),
        Some("memory") => memory(series),
        Some("looks") => looks(series),
        Some("delay") => delay(series),
        Some("speed") => speed(series),
        Some("export") => export(series, words.get(2).map_or("change-series", String::as_str))?,
        _ => println!("null, power, memory, looks, delay, speed: N; export: N FOLDER"),
    }
    Ok(())
}
