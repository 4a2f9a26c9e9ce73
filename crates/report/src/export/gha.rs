//! Two files for github-action-benchmark, which wants one direction a file: times
//! (`customSmallerIsBetter`) and rates (`customBiggerIsBetter`).

use super::{ExportFile, ExportOptions, ExportRow, Exported, Exporter, json_bytes};
use crate::flat::metric;
use proofmark_schema::quantity::three_digits;
use serde_json::{Value, json};

pub(super) const EXPORTER: Exporter = Exporter {
    name: "gha",
    summary: "a folder with two files for github-action-benchmark (custom…IsBetter)",
    is_folder: true,
    is_text: true,
    has_failures: false,
    export,
};

fn export(run: &Exported<'_>, _options: &ExportOptions) -> Vec<ExportFile> {
    let (mut times, mut rates) = (Vec::new(), Vec::new());
    for (row, performance) in run.measured() {
        let wall = performance.wall_ns;
        let half = wall.relative_half_width();
        let name = row.name();
        let entry = |name: &str, unit: &str, value: f64| {
            json!({
                "name": name,
                "unit": unit,
                "value": value,
                "range": format!("± {}", three_digits(value * half)),
                "extra": extra(run, row),
            })
        };
        times.push(entry(&name, "ns/op", wall.estimate));
        for (metric_name, unit) in [("throughput_gbps", "GB/s"), ("gflops", "GFLOP/s")] {
            let value = metric(row.record, metric_name).filter(|value| *value > 0.0);
            rates.extend(value.map(|value| entry(&format!("{name} {unit}"), unit, value)));
        }
    }
    let file = |path: &str, entries: Vec<Value>| ExportFile {
        path: path.to_owned(),
        bytes: json_bytes(&json!(entries)),
    };
    vec![file("smaller-is-better.json", times), file("bigger-is-better.json", rates)]
}

fn extra(run: &Exported<'_>, row: &ExportRow<'_>) -> String {
    let record = row.record;
    let mut lines = vec![
        format!("run={}", run.run),
        format!("trials={}", row.samples.trials()),
        format!("seed={}", record.judged.proof().seed),
        format!("machine={}", run.machine.fingerprint),
    ];
    if let Some(efficiency) = metric(record, "efficiency") {
        lines.push(format!("roofline={} %", three_digits(efficiency)));
    }
    lines.join("\n")
}
