//! Google Benchmark's JSON: repetitions as `iteration` rows and our median as an `aggregate`.

use super::{ExportFile, ExportOptions, ExportRow, Exported, Exporter, json_bytes, single, text};
use proofmark_schema::record::Performance;
use serde_json::{Value, json};

pub(super) const EXPORTER: Exporter = text(
    "google",
    "Google Benchmark JSON: compare.py, github-action-benchmark (googlecpp), Bencher",
    export,
);

fn export(run: &Exported<'_>, _options: &ExportOptions) -> Vec<ExportFile> {
    let machine = run.machine;
    let caches: Vec<Value> = machine
        .caches
        .iter()
        .map(|cache| {
            let kind = match cache.kind.as_str() {
                "data" => "Data",
                "instruction" => "Instruction",
                _ => "Unified",
            };
            json!({ "type": kind, "level": cache.level, "size": cache.bytes, "num_sharing": 1 })
        })
        .collect();
    let rows: Vec<Value> = run
        .measured()
        .enumerate()
        .flat_map(|(family, (row, performance))| benchmarks(row, performance, family))
        .collect();
    let document = json!({
        "context": {
            "date": run.date(),
            "host_name": machine.fingerprint,
            "executable": format!("proofmark {}", run.version),
            "num_cpus": machine.cpus.len(),
            "mhz_per_cpu": 0,
            "cpu_scaling_enabled": machine.governor.as_deref().is_some_and(|g| g != "performance"),
            "caches": caches,
            "load_avg": [],
            "library_build_type": "release",
            "proofmark_run": run.run,
            "proofmark_seed": run.seed,
        },
        "benchmarks": rows,
    });
    single(json_bytes(&document))
}

fn benchmarks(row: &ExportRow<'_>, performance: &Performance, family: usize) -> Vec<Value> {
    let name = row.name();
    let repetitions = row.samples.repetitions();
    let count = repetitions.len();
    let rates = |value: &mut Value, ns: f64| {
        let work = &row.record.work;
        let all = [("bytes_per_second", work.bytes()), ("items_per_second", work.flops)];
        for (key, work) in all.into_iter().filter(|(_, work)| *work > 0 && ns > 0.0) {
            value[key] = json!(work as f64 / ns * 1e9);
        }
    };
    let line = |kind: &str, iterations: u64, real: f64, cpu: f64| {
        let mut value = json!({
            "name": name,
            "family_index": family,
            "per_family_instance_index": 0,
            "run_name": name,
            "run_type": kind,
            "repetitions": count,
            "threads": row.record.threads,
            "iterations": iterations,
            "real_time": real,
            "cpu_time": cpu,
            "time_unit": "ns",
        });
        rates(&mut value, real);
        value
    };
    let mut lines = Vec::new();
    for (index, one) in repetitions.iter().enumerate() {
        let mut value = line("iteration", one.calls, one.call_ns, one.cpu_ns);
        value["repetition_index"] = json!(index);
        lines.push(value);
    }
    let wall = performance.wall_ns;
    let cpu: Vec<f64> = repetitions.iter().map(|one| one.cpu_ns).collect();
    let cpu = proofmark_analyze::median_of(&cpu).unwrap_or(wall.estimate);
    let mut median = line("aggregate", count as u64, wall.estimate, cpu);
    median["name"] = json!(format!("{name}_median"));
    median["aggregate_name"] = json!("median");
    median["aggregate_unit"] = json!("time");
    median["low"] = json!(wall.low);
    median["high"] = json!(wall.high);
    lines.push(median);
    lines
}
