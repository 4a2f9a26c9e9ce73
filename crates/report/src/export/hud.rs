//! Records of the PyTorch HUD's benchmark database (version 3): one for each metric.

use super::{ExportFile, ExportOptions, ExportRow, Exported, Exporter, json_bytes, single, text};
use proofmark_schema::DType;
use proofmark_schema::race::Slice;
use serde_json::{Map, Value, json};

pub(super) const EXPORTER: Exporter =
    text("hud", "records of the PyTorch HUD's benchmark database", export);

fn export(run: &Exported<'_>, _options: &ExportOptions) -> Vec<ExportFile> {
    let mut records = Vec::new();
    for (row, performance) in run.measured() {
        let slices: Vec<f64> = row.samples.slices().map(micros).collect();
        let times =
            if slices.is_empty() { vec![performance.wall_ns.estimate / 1e3] } else { slices };
        records.push(record(run, row, "latency_us", &times, "lower"));
        let peak = performance.peak_bytes as f64 / 1e6;
        records.push(record(run, row, "peak_memory_mb", &[peak], "lower"));
    }
    single(json_bytes(&json!(records)))
}

fn micros(slice: &Slice) -> f64 {
    slice.call_ns() / 1e3
}

fn record(
    run: &Exported<'_>,
    row: &ExportRow<'_>,
    metric: &str,
    values: &[f64],
    better: &str,
) -> Value {
    let (record, case) = (row.record, &row.record.case);
    let dtype = dtype(case.dtype);
    let device = match record.receipt.device.as_str() {
        "" => "cpu",
        device => device,
    };
    // Maps of extra facts are from text to text.
    let mut extra = Map::new();
    extra.insert("device".to_owned(), json!(device));
    extra.insert("cache".to_owned(), json!(record.memory.cache.to_string()));
    extra.insert("pages".to_owned(), json!(record.memory.pages.to_string()));
    extra.insert("case".to_owned(), json!(case.to_string()));
    extra.insert("run".to_owned(), json!(run.run));
    extra.extend(row.states().into_iter().map(|(key, value)| (key.to_owned(), json!(value))));
    let axes: Vec<String> = case.axes.iter().map(|(name, size)| format!("{name}={size}")).collect();
    let shape = axes.join(",");
    let machine = run.machine;
    json!({
        "benchmark": {
            "name": "proofmark", "mode": "inference", "dtype": dtype, "extra_info": extra,
        },
        "model": {
            "name": format!("{}[{shape}]", case.op),
            "type": "kernel",
            "backend": record.contender.to_string(),
            "origins": ["proofmark"],
            "extra_info": {
                "version": record.receipt.version, "build": record.receipt.build,
            },
        },
        "inputs": { case.op.as_str(): { "dtype": dtype, "extra_info": { "shape": shape } } },
        "dependencies": { "proofmark": {
            "repo": "", "branch": "", "sha": "", "version": run.version, "extra_info": {},
        } },
        "runners": [{
            "name": machine.fingerprint,
            "type": machine.arch,
            "cpu_info": machine.cpu,
            "cpu_count": machine.cpus.len(),
            "avail_mem_in_gb": machine.memory_bytes >> 30,
            "extra_info": { "kernel": machine.kernel },
        }],
        "metric": {
            "name": metric,
            "benchmark_values": values,
            "target_value": 0.0,
            "extra_info": { "better": better, "unit_of_inference": "trial" },
        },
    })
}

/// PyTorch's word for an element type, where it has one.
fn dtype(dtype: DType) -> &'static str {
    match dtype {
        DType::F64 => "float64",
        DType::F32 => "float32",
        DType::F16 => "float16",
        DType::Bf16 => "bfloat16",
        DType::F8e4m3 => "float8_e4m3fn",
        DType::F8e5m2 => "float8_e5m2",
        DType::I8 => "int8",
        DType::U8 => "uint8",
        DType::I32 => "int32",
        DType::I64 => "int64",
        DType::U32 => "uint32",
    }
}
