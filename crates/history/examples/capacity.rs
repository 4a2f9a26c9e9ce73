//! Makes a history of so many series and rounds, and says what it costs: bytes a row, seconds of
//! each step and memory. The last line is JSON.
//!
//! ```console
//! $ cargo run --release --example capacity -- FOLDER SERIES ROUNDS [ROWS [EVERY]]
//! ```
//!
//! In each round every series gets one point. A round is appended as runs of at most ROWS points
//! (5,000), by two threads. The history is compacted after EVERY rounds, and at the end into one
//! group; with 0 the inbox stays. Each hundredth series becomes slower by 5 % halfway. What is
//! read was written just before, so that it is in the page cache of the system.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a program that measures")]

use futures::{StreamExt, TryStreamExt};
use proofmark_history::compact::{self, compact};
use proofmark_history::detect::{self, Detected, detect};
use proofmark_history::read::Shard;
use proofmark_history::{
    HistoryError, Metric, Place, Point, Row, Run, RunObject, SeriesId, SeriesKey, Snapshot, append,
    init,
};
use proofmark_schema::Outcome;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

type Failure = Box<dyn std::error::Error>;

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

fn key(index: usize) -> SeriesKey {
    SeriesKey {
        op: ["rms_norm", "softmax", "matmul", "add"][index % 4].to_owned(),
        case: format!("rms_norm:f32[b=1,s={},d=768]", 1 + index / 8),
        contender: ["native/simd@avx512", "native/parallel@avx512"][index / 4 % 2].to_owned(),
        metric: Metric::Time,
        threads: 1,
        memory: "hot/4k".to_owned(),
        isolation: "T1".to_owned(),
        protocol: 1,
        environment: "0123456789abcdef".to_owned(),
    }
}

/// The `part`th run of a round: rounds come ten minutes apart, each of a commit of its own.
fn run_of(
    ids: &[SeriesId],
    first: usize,
    round: u64,
    part: u64,
    has_moved: bool,
) -> Result<RunObject, HistoryError> {
    let mut random = (1 + (round << 24) + part).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..8).for_each(|_| _ = draw(&mut random));
    let time = 1_790_000_000_000_000 + (round * 600_000_000).cast_signed();
    let millis = (time / 1000).cast_unsigned() + part % 60_000;
    let digits = (draw(&mut random) * 2.8e14) as u64;
    let id = format!("{:08x}-{:04x}-7000-8000-{digits:012x}", millis >> 16, millis & 0xffff);
    let commit = Some(format!("{round:040x}"));
    let run = Run { id, started: time, commit_time: time, commit, ..Run::default() };
    let machine = 1.0 + 0.005 * normal(&mut random);
    let rows = ids.iter().zip(first..).map(|(series, index)| {
        let step = if has_moved && index % 100 == 0 { 1.05 } else { 1.0 };
        let time_of = 1000.0 * (1.0 + index as f64) * machine * step;
        let value = time_of * (1.0 + 0.01 * normal(&mut random)).max(0.5);
        let width = 0.005 + 0.005 * draw(&mut random);
        let point = Point {
            series: *series,
            commit_time: time,
            run: run.id.clone(),
            outcome: Outcome::Proven,
            value: Some(value),
            low: Some((value * (1.0 - width)) as f32),
            high: Some((value * (1.0 + width * (0.9 + 0.2 * draw(&mut random)))) as f32),
            trials: 10 + (3.0 * draw(&mut random)) as u32,
            control: Some((0.8 * step * (1.0 + 0.01 * normal(&mut random))) as f32),
            against: Some("peer/onednn".to_owned()),
            code: Some(format!("{round:016x}")),
            flags: u32::from(draw(&mut random) < 0.05) * 2,
        };
        Row { key: key(index), point }
    });
    let rows = rows.collect();
    RunObject::new(run, rows)
}

/// A step that is being measured: when it began, and processor time until then.
struct Step(Instant, f64);

impl Step {
    fn begin() -> Result<Step, Failure> {
        // The greatest resident memory is counted from here on.
        std::fs::write("/proc/self/clear_refs", "5")?;
        Ok(Step(Instant::now(), processor_s()?))
    }

    /// Seconds, seconds of processor time, and the greatest resident memory in MiB.
    fn end(&self) -> Result<(f64, f64, u64), Failure> {
        let seconds = self.0.elapsed().as_secs_f64();
        let status = std::fs::read_to_string("/proc/self/status")?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
        let kib: u64 = peak.trim().trim_end_matches(" kB").parse()?;
        Ok((seconds, processor_s()? - self.1, kib / 1024))
    }
}

/// Processor time of all threads, which Linux states in hundredths of a second.
fn processor_s() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(") ").ok_or("no name in /proc/self/stat")?;
    let of_user_and_system = fields.split(' ').skip(11).take(2).map(str::parse::<f64>);
    Ok(of_user_and_system.sum::<Result<f64, _>>()? / 100.0)
}

async fn detected(place: Place, shard: Shard) -> Result<Detected, HistoryError> {
    let snapshot = Snapshot::load(&place).await?;
    let options = detect::Options { shard, ..detect::Options::default() };
    detect(&snapshot, &options, 0, "capacity").await
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, series, rounds, rest @ ..] = arguments.as_slice() else {
        return Err("give FOLDER SERIES ROUNDS [ROWS [EVERY]]".into());
    };
    let (series, rounds): (usize, u64) = (series.parse()?, rounds.parse()?);
    let of_run: usize = rest.first().map_or(Ok(5000), |rows| rows.parse())?;
    let every: u64 = rest.get(1).map_or(Ok(rounds), |every| every.parse())?;
    let place = Place::parse(folder)?;
    init(&place).await?;
    let ids: Arc<Vec<SeriesId>> =
        Arc::new((0..series).map(|index| key(index).id()).collect::<Result<_, _>>()?);

    let (mut inbox_bytes, mut written) = (0, 0);
    let (mut appending, mut compaction) = ((0.0, 0.0), (0.0, 0.0, 0));
    for round in 0..rounds {
        let step = Step::begin()?;
        let parts = (0..series.div_ceil(of_run)).map(|part| {
            let (ids, place) = (ids.clone(), place.clone());
            let first = part * of_run;
            tokio::spawn(async move {
                let own = &ids[first..ids.len().min(first + of_run)];
                let run = run_of(own, first, round, part as u64, 2 * round >= rounds)?;
                Ok::<u64, HistoryError>(append(&place, &run).await?.bytes)
            })
        });
        let mut sizes = futures::stream::iter(parts).buffered(2);
        while let Some(size) = sizes.try_next().await? {
            inbox_bytes += size?;
        }
        let (seconds, processor_s, _) = step.end()?;
        appending = (appending.0 + seconds, appending.1 + processor_s);
        let is_last = round + 1 == rounds;
        if every > 0 && (is_last || (round + 1).is_multiple_of(every)) {
            let step = Step::begin()?;
            let options = compact::Options::at(SystemTime::now());
            written += compact(&place, compact::Options { all: is_last, ..options }).await?.rows;
            let done = step.end()?;
            compaction = (compaction.0 + done.0, compaction.1 + done.1, compaction.2.max(done.2));
        }
    }
    let rows = series as u64 * rounds;
    let runs = rounds * series.div_ceil(of_run) as u64;
    println!("append: {runs} runs, {rows} rows, {:.1} s", appending.0);

    let step = Step::begin()?;
    let snapshot = Snapshot::load(&place).await?;
    let (open_s, _, open_mib) = step.end()?;
    let segments = snapshot.segments().count();
    let segment_bytes: u64 = snapshot.segments().map(|segment| segment.size).sum();
    println!("compact: {written} rows written, {segments} segments, {:.1} s", compaction.0);

    // The first pass reads the footers of the segments, and warms the page cache.
    let mut lookups = Vec::new();
    for _ in 0..2 {
        lookups.clear();
        for &id in ids.iter().step_by(series.div_ceil(200)) {
            let began = Instant::now();
            let points = snapshot.points(id).await?;
            assert_eq!(points.len() as u64, rounds, "a series has a point of each round");
            lookups.push(1e3 * began.elapsed().as_secs_f64());
        }
    }
    lookups.sort_by(f64::total_cmp);
    println!("one series: {rounds} points, {:.2} ms", lookups[lookups.len() / 2]);

    let mut scans = Vec::new();
    for shard in [Shard::WHOLE, Shard { number: 3, of: 8 }] {
        let step = Step::begin()?;
        let mut seen = 0;
        let visit = |_: &SeriesKey, points: &[Point]| {
            seen += points.len() as u64;
            Ok(())
        };
        snapshot.for_each_series(shard, visit).await?;
        scans.push(step.end()?);
        assert!(shard.of > 1 || seen == rows, "a scan sees every row");
    }

    let step = Step::begin()?;
    let halves =
        [1, 2].map(|number| tokio::spawn(detected(place.clone(), Shard { number, of: 2 })));
    let (mut judged, mut changed) = (0, 0);
    for half in halves {
        let half = half.await??;
        (judged, changed) = (judged + half.judged, changed + half.changed);
    }
    let (detect_s, detect_processor_s, detect_mib) = step.end()?;
    println!("detect: {judged} series in two shards at once, {changed} changed, {detect_s:.1} s");

    let mut objects = serde_json::Map::new();
    for prefix in ["inbox", "segments", "runs", "series", "_delta_log", "checkpoints"] {
        objects.insert(prefix.to_owned(), place.list(prefix).await?.len().into());
    }
    let began = Instant::now();
    let collected = compact::collect(&place, SystemTime::now(), Duration::ZERO).await?;
    let collect_s = began.elapsed().as_secs_f64();
    let began = Instant::now();
    Snapshot::load(&place).await?;
    let json = serde_json::json!({
        "rows": rows, "series": series, "runs": runs, "rows_of_a_run": of_run.min(series), "every":
        every, "inbox_bytes_a_row": inbox_bytes as f64 / rows as f64, "segment_bytes_a_row":
        segment_bytes as f64 / rows as f64, "segments": segments, "objects": objects, "append_s":
        appending.0, "append_processor_s": appending.1, "compact_s": compaction.0,
        "compact_processor_s": compaction.1, "compact_peak_mib": compaction.2,
        "compact_rows_written": written, "open_ms": 1e3 * open_s, "open_peak_mib": open_mib,
        "open_ms_after_collect": 1e3 * began.elapsed().as_secs_f64(), "collected_objects":
        collected.objects, "collect_s": collect_s, "one_series_ms": lookups[lookups.len() / 2],
        "one_series_worst_ms": lookups.last(), "scan_s": scans[0].0, "scan_processor_s":
        scans[0].1, "scan_shard_3_of_8_processor_s": scans[1].1, "detect_two_shards_s": detect_s,
        "detect_processor_s": detect_processor_s, "detect_judged": judged, "detect_changed":
        changed, "detect_peak_mib": detect_mib,
    });
    println!("{json}");
    Ok(())
}
