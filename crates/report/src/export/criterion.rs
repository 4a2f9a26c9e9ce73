//! Criterion's folders, which critcmp and others read:
//! `GROUP/FUNCTION/VALUE/BASELINE/{benchmark,estimates,sample,tukey}.json`.

use super::{ExportFile, ExportOptions, ExportRow, Exported, Exporter, json_bytes};
use proofmark_analyze::Estimate;
use proofmark_schema::quantity::Interval;
use proofmark_schema::race::Slice;
use proofmark_schema::record::Performance;
use serde_json::{Value, json};

pub(super) const EXPORTER: Exporter = Exporter {
    name: "criterion",
    summary: "a folder as criterion leaves it: critcmp, Bencher (rust_criterion)",
    is_folder: true,
    is_text: true,
    has_failures: false,
    export,
};

/// Two-sided 95 % of a normal distribution.
const NORMAL_95: f64 = 1.959_963_984_540_054;

fn export(run: &Exported<'_>, options: &ExportOptions) -> Vec<ExportFile> {
    let mut files = Vec::new();
    for (row, performance) in run.measured() {
        let ids = ids(row);
        let folder = ids.clone().map(|id| file_name(&id)).join("/");
        let contents = [
            ("benchmark.json", benchmark(row, &ids, &folder)),
            ("estimates.json", estimates(row, performance)),
            ("sample.json", sample(row)),
            ("tukey.json", json!(row.samples.spread().map_or([0.0; 4], |spread| spread.fences))),
        ];
        let baseline = file_name(&options.baseline);
        files.extend(contents.map(|(name, value)| ExportFile {
            path: format!("{folder}/{baseline}/{name}"),
            bytes: json_bytes(&value),
        }));
    }
    files
}

/// Group, function and value.
fn ids(row: &ExportRow<'_>) -> [String; 3] {
    let case = &row.record.case;
    let mut values: Vec<String> =
        case.axes.iter().map(|(name, size)| format!("{name}={size}")).collect();
    values.push(format!("dtype={}", case.dtype));
    values.extend(case.attrs.iter().map(|(name, value)| format!("{name}={value}")));
    values.extend(row.states().iter().map(|(key, value)| format!("{key}={value}")));
    [case.op.clone(), row.record.contender.to_string(), values.join(",")]
}

fn benchmark(row: &ExportRow<'_>, ids: &[String; 3], folder: &str) -> Value {
    let [group, function, value] = ids;
    let work = &row.record.work;
    let throughput = match (work.bytes(), work.flops) {
        (0, 0) => Value::Null,
        (0, flops) => json!({ "Elements": flops }),
        (bytes, _) => json!({ "Bytes": bytes }),
    };
    let full = format!("{group}/{function}/{value}");
    json!({
        "group_id": group,
        "function_id": function,
        "value_str": value,
        "throughput": throughput,
        "full_id": full,
        "directory_name": folder,
        "title": full,
    })
}

fn estimates(row: &ExportRow<'_>, performance: &Performance) -> Value {
    let time = performance.wall_ns;
    let spread = row.samples.spread();
    let of = |estimate: Option<Estimate>| {
        let estimate = estimate.unwrap_or(Estimate { value: time.estimate, error: 0.0 });
        let reach = NORMAL_95 * estimate.error;
        let (low, high) = (estimate.value - reach, estimate.value + reach);
        statistic(&Interval { estimate: estimate.value, low, high, confidence: 0.95 })
    };
    json!({
        "mean": of(spread.map(|spread| spread.mean)),
        "median": statistic(&time),
        "median_abs_dev": of(spread.map(|spread| spread.absolute_deviation)),
        "slope": null,
        "std_dev": of(spread.map(|spread| spread.deviation)),
    })
}

fn statistic(interval: &Interval) -> Value {
    json!({
        "confidence_interval": {
            "confidence_level": interval.confidence,
            "lower_bound": interval.low,
            "upper_bound": interval.high,
        },
        "point_estimate": interval.estimate,
        "standard_error": (interval.high - interval.low) / 2.0 / NORMAL_95,
    })
}

fn sample(row: &ExportRow<'_>) -> Value {
    let of = |value: fn(&Slice) -> f64| row.samples.slices().map(value).collect::<Vec<f64>>();
    json!({
        "sampling_mode": "Flat",
        "iters": of(|slice| f64::from(slice.calls)),
        "times": of(|slice| slice.wall_ns as f64),
    })
}

/// A name that is one part of a path on every system; long ones end with a hash of the whole.
fn file_name(text: &str) -> String {
    const LONGEST: usize = 120;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-=,@+".contains(c);
    let mut name: String = text.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    if name.starts_with('.') || name.is_empty() {
        name.insert(0, '_');
    }
    if name.len() > LONGEST {
        // FNV-1a: names only have to differ.
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
        name.truncate(LONGEST - 17);
        name += &format!("-{hash:016x}");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_leave_no_folder_and_stay_apart() {
        assert_eq!(file_name("native/simd@avx2"), "native_simd@avx2");
        assert_eq!(file_name("../x"), "_.._x");
        assert_eq!(file_name(""), "_");
        let long = "d=1,".repeat(60);
        assert_eq!(file_name(&long).len(), 120);
        assert_ne!(file_name(&(long.clone() + "a")), file_name(&(long + "b")));
    }
}
