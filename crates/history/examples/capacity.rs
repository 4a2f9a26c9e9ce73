//! Makes a history of so many series and runs, and says what it costs: bytes a row after
//! compaction, and seconds of each step.
//!
//! ```console
//! $ cargo run --release --example capacity -- FOLDER SERIES RUNS [EVERY]
//! ```
//!
//! It is compacted after EVERY runs, and at the end into one group; with 0 the inbox stays.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a program that measures")]

use proofmark_history::compact::{Options, compact};
use proofmark_history::{
    Metric, Place, Point, Row, Run, RunObject, SeriesKey, Snapshot, append, init,
};
use proofmark_schema::Outcome;
use std::time::{Instant, SystemTime};

/// A uniform number from 0 to 1.
fn draw(state: &mut u64) -> f64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as f64 / (1u64 << 53) as f64
}

/// A normal number, by Box and Muller.
fn normal(state: &mut u64) -> f64 {
    let radius = (-2.0 * draw(state).max(1e-300).ln()).sqrt();
    radius * (std::f64::consts::TAU * draw(state)).cos()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, series, runs, every @ ..] = arguments.as_slice() else {
        return Err("give FOLDER SERIES RUNS [EVERY]".into());
    };
    let (series, runs): (u64, u64) = (series.parse()?, runs.parse()?);
    let every: u64 = every.first().map_or(Ok(runs), |every| every.parse())?;
    let runtime = tokio::runtime::Runtime::new()?;
    let place = Place::parse(folder)?;
    runtime.block_on(init(&place))?;
    let keys: Vec<SeriesKey> = (0..series)
        .map(|index| SeriesKey {
            op: ["rms_norm", "softmax", "matmul", "add"][(index % 4) as usize].to_owned(),
            case: format!("rms_norm:f32[b=1,s={},d=768]", 1 + index / 8),
            contender: ["native/simd@avx512", "native/parallel@avx512"][(index / 4 % 2) as usize]
                .to_owned(),
            metric: Metric::Time,
            threads: 1,
            memory: "hot/4k".to_owned(),
            isolation: "T1".to_owned(),
            protocol: 1,
            environment: "0123456789abcdef".to_owned(),
        })
        .collect();
    let ids: Vec<_> = keys.iter().map(SeriesKey::id).collect::<Result<_, _>>()?;
    let began = Instant::now();
    let mut random = 88_172_645_463_325_252;
    let (mut inbox_bytes, mut compacting, mut rewritten) = (0, 0.0, 0);
    for run in 0..runs {
        // Runs come some ten minutes apart, each of a commit of its own.
        let time = 1_790_000_000_000_000
            + (run * 600_000_000 + (draw(&mut random) * 6e7) as u64).cast_signed();
        let millis = time / 1000;
        let id = format!(
            "{:08x}-{:04x}-7000-8000-{:012x}",
            millis >> 16,
            millis & 0xffff,
            (draw(&mut random) * 2.8e14) as u64
        );
        let code = format!("{:016x}", (draw(&mut random) * 1.8e19) as u64);
        let of = Run { id: id.clone(), started: time, commit_time: time, ..Run::default() };
        let machine = 1.0 + 0.005 * normal(&mut random);
        let rows = keys.iter().zip(&ids).enumerate().map(|(index, (key, id_of_series))| {
            let time_of = 1000.0 * (1.0 + index as f64) * machine;
            let value = time_of * (1.0 + 0.01 * normal(&mut random)).max(0.5);
            let width = 0.005 + 0.005 * draw(&mut random);
            let point = Point {
                series: *id_of_series,
                commit_time: time,
                run: id.clone(),
                outcome: Outcome::Proven,
                value: Some(value),
                low: Some((value * (1.0 - width)) as f32),
                high: Some((value * (1.0 + width * (0.9 + 0.2 * draw(&mut random)))) as f32),
                trials: 10 + (3.0 * draw(&mut random)) as u32,
                control: Some((0.8 * (1.0 + 0.01 * normal(&mut random))) as f32),
                against: Some("peer/onednn".to_owned()),
                code: Some(code.clone()),
                flags: u32::from(draw(&mut random) < 0.05) * 2,
            };
            Row { key: key.clone(), point }
        });
        let object = RunObject::new(of, rows.collect())?;
        inbox_bytes += runtime.block_on(append(&place, &object))?.bytes;
        if every > 0 && (run + 1).is_multiple_of(every) && run + 1 < runs {
            let began = Instant::now();
            let options = Options::at(SystemTime::now());
            let done = runtime.block_on(compact(&place, options))?;
            compacting += began.elapsed().as_secs_f64();
            rewritten += done.rows;
        }
    }
    let rows = series * runs;
    let seconds = began.elapsed().as_secs_f64() - compacting;
    println!("append: {runs} runs, {rows} rows, {seconds:.1} s");
    println!("compactions on the way: {rewritten} rows, {compacting:.1} s");
    println!("inbox: {:.2} bytes a row", inbox_bytes as f64 / rows as f64);
    if every == 0 {
        return Ok(());
    }
    let began = Instant::now();
    let options = Options { all: true, ..Options::at(SystemTime::now()) };
    let done = runtime.block_on(compact(&place, options))?;
    let seconds = began.elapsed().as_secs_f64();
    println!("compact: {} rows, {} segments, {seconds:.1} s", done.rows, done.segments);
    println!("segments: {:.2} bytes a row", done.bytes as f64 / done.rows as f64);
    let snapshot = runtime.block_on(Snapshot::load(&place))?;
    runtime.block_on(snapshot.points(ids[0]))?;
    let began = Instant::now();
    let points = runtime.block_on(snapshot.points(ids[ids.len() / 2]))?;
    let millis = 1e3 * began.elapsed().as_secs_f64();
    println!("one series: {} points, {millis:.2} ms", points.len());
    Ok(())
}
