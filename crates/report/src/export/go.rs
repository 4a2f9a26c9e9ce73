//! Go benchmark text, which benchstat reads (golang/proposal, design 14313).
//!
//! One line a repetition. Only what is equal on both sides of a comparison may be a configuration
//! line, since benchstat makes a table for each; the rest stands in comments.

use super::{ExportFile, ExportOptions, ExportRow, Exported, Exporter, single, text};
use crate::flat::metric;
use proofmark_analyze::LEAST_REPETITIONS;
use std::fmt::Write;

pub(super) const EXPORTER: Exporter =
    text("go", "Go benchmark text: benchstat, github-action-benchmark (go)", export);

const UNITS: &str = "\
Unit GB/s better=higher
Unit GFLOP/s better=higher
Unit roofline-% better=higher
Unit peak-B/op better=lower assume=exact
";

fn export(run: &Exported<'_>, _options: &ExportOptions) -> Vec<ExportFile> {
    let machine = run.machine;
    let arch = match machine.arch.as_str() {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let mut out = format!("goos: linux\ngoarch: {arch}\ncpu: {}\n", machine.cpu.trim());
    let _ = writeln!(
        out,
        "# proofmark {}: run={} seed={} machine={}",
        run.version, run.run, run.seed, machine.fingerprint
    );
    out += UNITS;
    let mut ops: Vec<&str> = run.measured().map(|(row, _)| row.record.case.op.as_str()).collect();
    ops.dedup();
    let mut told = Vec::new();
    for op in ops {
        // Later rows of an op were already written with its first row.
        if told.contains(&op) {
            continue;
        }
        told.push(op);
        let _ = writeln!(out, "pkg: proofmark/{op}");
        for (row, performance) in run.measured().filter(|(row, _)| row.record.case.op == op) {
            push_row(&mut out, row, performance.peak_bytes);
        }
    }
    single(out)
}

fn push_row(out: &mut String, row: &ExportRow<'_>, peak_bytes: u64) {
    let name = name(row);
    let (trials, repetitions) = (row.samples.trials(), row.samples.repetitions());
    if trials < LEAST_REPETITIONS {
        let parts = row.samples.parts();
        let _ = writeln!(out, "# {name}: {trials} trials, each cut into at most {parts} lines");
    }
    let record = row.record;
    let constant = [
        (metric(record, "efficiency").map(hundredths), "roofline-%"),
        (metric(record, "allocated_bytes"), "B/op"),
        (metric(record, "allocations"), "allocs/op"),
        (Some(peak_bytes as f64), "peak-B/op"),
    ];
    for repetition in repetitions {
        let ns = repetition.call_ns;
        let _ = write!(out, "{name}\t{}\t{ns} ns/op", repetition.calls);
        let rates = [(record.work.bytes(), "GB/s"), (record.work.flops, "GFLOP/s")];
        for (work, unit) in rates.into_iter().filter(|(work, _)| *work > 0 && ns > 0.0) {
            let _ = write!(out, "\t{:.6} {unit}", work as f64 / ns);
        }
        for (value, unit) in constant {
            if let Some(value) = value {
                let _ = write!(out, "\t{value} {unit}");
            }
        }
        out.push('\n');
    }
}

/// Rounds to hundredths, since further digits are noise.
fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// `BenchmarkRmsNorm/impl=native.simd.avx512/b=1/d=64/dtype=f32-1`: `/` separates keys, and some
/// readers do not accept `@`.
fn name(row: &ExportRow<'_>) -> String {
    let record = row.record;
    let mut name = "Benchmark".to_owned();
    for word in record.case.op.split('_') {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    let contender = record.contender.to_string();
    let mut put = |key: &str, value: &str| {
        let _ = write!(name, "/{key}={}", value.replace(['/', '@', ' ', '\t'], "."));
    };
    put("impl", &contender);
    for (axis, size) in &record.case.axes {
        put(axis, &size.to_string());
    }
    put("dtype", record.case.dtype.name());
    for (attribute, value) in &record.case.attrs {
        put(attribute, &value.to_string());
    }
    for (key, value) in row.states().iter().filter(|(key, _)| *key != "threads") {
        put(key, value);
    }
    format!("{name}-{}", record.threads)
}
