//! Writes a history that is made up, to try commands and pages: `demo PLACE [SERIES] [RUNS]`.
#![allow(clippy::print_stdout, reason = "it tells what it did")]

use proofmark_history::{
    Calibration, Environment, HistoryError, Metric, Place, Point, Row, Run, RunObject, SeriesKey,
    append, init,
};
use proofmark_schema::Outcome;
use proofmark_stats::Stream;

const MACHINES: [(&str, &str, u32); 2] =
    [("00000000000000a1", "Xeon Platinum 8481C", 8), ("00000000000000b2", "EPYC 9R14", 16)];
const OPS: [&str; 5] = ["softmax", "rms_norm", "matmul", "silu", "attention"];
const CONTENDERS: [&str; 4] =
    ["native/scalar", "native/simd@avx512", "native/parallel@avx512", "onednn"];

fn key(series: usize, class: &str) -> SeriesKey {
    let (op, contender) = (OPS[series % 5], CONTENDERS[series / 5 % 4]);
    SeriesKey {
        op: op.to_owned(),
        case: format!("{op}:f32[b={},d={}]", 1 + series / 2000, 64 * (1 + series / 20 % 100)),
        contender: contender.to_owned(),
        metric: Metric::Time,
        threads: if contender.contains("parallel") { 4 } else { 1 },
        memory: "hot/4k".to_owned(),
        isolation: "T1".to_owned(),
        protocol: 1,
        environment: class.to_owned(),
    }
}

/// Commit 60 makes `softmax` of one contender 4 % slower, and commit 85 takes that back. From
/// commit 70 on `rms_norm` is 8 % faster.
fn level(key: &SeriesKey, commit: usize) -> f64 {
    match (key.op.as_str(), key.contender.as_str()) {
        ("softmax", "native/simd@avx512") if (60..85).contains(&commit) => 1.04,
        ("rms_norm", "native/simd@avx512") if commit >= 70 => 0.92,
        ("matmul", "native/parallel@avx512") if commit >= 95 => 1.06,
        _ => 1.0,
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), HistoryError> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |i: usize, default| words.get(i).and_then(|word| word.parse().ok()).unwrap_or(default);
    let (count, runs) = (number(1, 200), number(2, 120));
    let place = Place::parse(words.first().map_or("demo", String::as_str))?;
    init(&place).await?;
    let mut stream = Stream::new(28);
    for commit in 0..runs {
        for (machine, (class, cpu, cpus)) in MACHINES.iter().enumerate() {
            let speed = if machine == 0 { 1.0 } else { 0.8 };
            let time = 1_790_000_000_000_000 + 7_200_000_000 * commit as i64;
            let run = Run {
                id: format!("{:08x}-{machine}", 0x1000 + commit),
                started: time + 60_000_000 * machine as i64,
                commit_time: time,
                commit: Some(format!("{:010x}{:030x}", (commit + 7) * 0x9e37_79b9, commit)),
                branch: Some("main".to_owned()),
                kind: "standard".to_owned(),
                environment: Environment {
                    class: (*class).to_owned(),
                    arch: "x86_64".to_owned(),
                    cpu: (*cpu).to_owned(),
                    cpus: *cpus,
                    memory_bytes: 64 << 30,
                    kernel: if commit < 40 { "6.8.0-45" } else { "6.8.0-51" }.to_owned(),
                    ..Environment::default()
                },
                calibration: Calibration {
                    chain_ns: Some(100.0 + 0.1 * stream.normal()),
                    ..Calibration::default()
                },
                is_whole: true,
            };
            let mut row = |series: usize| {
                let key = key(series, class);
                let base = 300.0 * (1.0 + (series % 977) as f64);
                let ratio = level(&key, commit) * (0.01 * stream.normal()).exp();
                // Some are refused, and have no number.
                let value =
                    (!(31 * commit + series).is_multiple_of(997)).then_some(base * speed * ratio);
                let control = value.filter(|_| series.is_multiple_of(4)).map(|_| ratio as f32);
                let point = Point {
                    series: key.id()?,
                    commit_time: run.commit_time,
                    run: run.id.clone(),
                    outcome: if value.is_some() { Outcome::Proven } else { Outcome::Wrong },
                    value,
                    low: value.map(|value| 0.992 * value as f32),
                    high: value.map(|value| 1.008 * value as f32),
                    trials: 12,
                    control,
                    against: control.map(|_| "onednn".to_owned()),
                    code: Some(format!("{commit:016x}")),
                    flags: 0,
                };
                Ok(Row { key, point })
            };
            let rows: Result<Vec<Row>, HistoryError> = (0..count).map(&mut row).collect();
            append(&place, &RunObject::new(run, rows?)?).await?;
        }
    }
    println!(
        "{place}: {} runs of {count} series on {} machines",
        runs * MACHINES.len(),
        MACHINES.len()
    );
    Ok(())
}
