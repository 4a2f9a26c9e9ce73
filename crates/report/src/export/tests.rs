//! Every format on the same small run.

use super::*;
use crate::fixture;
use proofmark_analyze::Samples;
use proofmark_schema::machine::MachineFacts;
use proofmark_schema::race::Slice;
use proofmark_schema::record::Record;
use serde_json::Value;

pub(crate) fn machine() -> MachineFacts {
    serde_json::from_value(serde_json::json!({
        "format": 1, "cpu": "Test CPU", "arch": "x86_64", "cpus": [0, 1],
        "memory_bytes": 1u64 << 34,
        "caches": [{"level": 1, "kind": "data", "bytes": 32768}], "features": [], "isa": "avx2",
        "kernel": "6.0", "hypervisor": null, "huge_pages": "madvise", "governor": null,
        "hardware_counters": false, "fingerprint": "abc123"
    }))
    .unwrap()
}

/// `trials` trials of 12 slices whose median is `ns`.
fn samples(trials: u32, ns: u64) -> Samples {
    let slice = |trial, position: u32| Slice {
        trial,
        position,
        calls: 1,
        wall_ns: ns - 5 + u64::from(position % 11),
        cpu_ns: ns - 7,
        ..Slice::default()
    };
    let of = |trial| (0..11).map(|position| slice(trial, position)).collect();
    Samples::new((0..trials).map(of).collect())
}

pub(crate) fn with<T>(records: &[Record], run: impl Fn(&Exported<'_>) -> T) -> T {
    let machine = machine();
    let row = |record| ExportRow {
        record,
        samples: samples(
            12,
            if std::ptr::eq(record, &raw const records[0]) { 40_000 } else { 10_000 },
        ),
        arm: None,
        ruling: None,
    };
    let rows = records.iter().map(row).collect();
    let (started, version) = (Some(1_700_000_000), "0.1.0");
    run(&Exported { run: "r1", started, seed: 7, version, machine: &machine, rows })
}

pub(crate) fn records() -> Vec<Record> {
    vec![fixture::first(), fixture::compared(), fixture::refused()]
}

pub(crate) fn options() -> ExportOptions {
    ExportOptions { baseline: "new".to_owned(), bmf: 0 }
}

fn only(name: &str) -> String {
    let files = with(&records(), |run| (find(name).unwrap().export)(run, &options()));
    assert_eq!(files.len(), 1, "{name}");
    String::from_utf8(files[0].bytes.clone()).unwrap()
}

#[test]
fn no_format_gives_a_time_to_what_was_refused() {
    for exporter in EXPORTERS {
        let files = with(&[fixture::refused()], |run| (exporter.export)(run, &options()));
        for file in files.iter().filter(|_| exporter.is_text && !exporter.has_failures) {
            let text = String::from_utf8_lossy(&file.bytes);
            assert!(!text.contains("avx512"), "{}: {text}", exporter.name);
        }
    }
    assert_eq!(with(&records(), |run| run.left_out()), 1);
    assert_eq!(with(&[fixture::with_time(f64::NAN)], |run| run.left_out()), 1);
}

#[test]
fn go_lines_are_names_counts_and_pairs_of_value_and_unit() {
    let text = only("go");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("Benchmark")).collect();
    assert_eq!(lines.len(), 24, "{text}");
    let name = "BenchmarkMatmul/impl=native.simd.avx2/b=1/m=64/n=32/k=63/dtype=f32-1";
    let fields: Vec<&str> = lines[12].split_whitespace().collect();
    assert_eq!(fields[..4], [name, "11", "10000", "ns/op"], "{text}");
    assert!(fields.len().is_multiple_of(2) && fields.contains(&"GFLOP/s"), "{fields:?}");
    assert!(
        text.contains("\npkg: proofmark/matmul\n") && text.contains("\n# proofmark 0.1.0: run=r1")
    );
}

#[test]
fn criterion_folders_hold_our_median_and_every_slice() {
    let files = with(&records(), |run| (find("criterion").unwrap().export)(run, &options()));
    assert_eq!(files.len(), 8);
    let folder = "matmul/native_simd@avx2/b=1,m=64,n=32,k=63,dtype=f32,threads=1/new";
    let read = |name: &str| -> Value {
        let path = format!("{folder}/{name}");
        let file = files.iter().find(|file| file.path == path).unwrap_or_else(|| panic!("{path}"));
        serde_json::from_slice(&file.bytes).unwrap()
    };
    assert_eq!(read("estimates.json")["median"]["point_estimate"], 10_000.0);
    assert_eq!(read("sample.json")["times"].as_array().unwrap().len(), 132);
    assert_eq!(read("benchmark.json")["throughput"]["Bytes"], 20_000);
    assert_eq!(read("tukey.json").as_array().unwrap().len(), 4);
}

#[test]
fn github_action_benchmark_gets_one_file_for_each_direction() {
    let files = with(&records(), |run| (find("gha").unwrap().export)(run, &options()));
    let times: Value = serde_json::from_slice(&files[0].bytes).unwrap();
    assert_eq!(
        (times[1]["value"].as_f64(), &times[1]["unit"]),
        (Some(10_000.0), &Value::from("ns/op"))
    );
    assert_eq!(times[1]["range"], "± 100");
    let rates: Value = serde_json::from_slice(&files[1].bytes).unwrap();
    assert_eq!(rates.as_array().unwrap().len(), 4);
}

#[test]
fn bencher_has_bounds_that_enclose_the_value_in_both_versions() {
    let text: Value = serde_json::from_str(&only("bmf")).unwrap();
    let one = &text["matmul:f32[b=1,m=64,n=32,k=63] native/simd@avx2 threads=1"];
    for measure in ["latency", "throughput"] {
        let of = |key: &str| one[measure][key].as_f64().unwrap();
        assert!(of("lower_value") <= of("value") && of("value") <= of("upper_value"), "{one}");
    }
    let options = ExportOptions { bmf: 1, ..options() };
    let files = with(&records(), |run| (find("bmf").unwrap().export)(run, &options));
    let text: Value = serde_json::from_slice(&files[0].bytes).unwrap();
    assert_eq!(text["matmul"][1]["parameters"]["m"], 64);
    assert_eq!(text["matmul"][1]["measures"]["latency"]["value"], 10_000.0);
}

#[test]
fn junit_counts_what_failed_and_escapes_hostile_words() {
    let mut hostile = fixture::refused();
    if let proofmark_schema::record::Judged::Refused { proof } = &mut hostile.judged {
        proof.refusal.as_mut().unwrap().reason = "</failure><script>\u{1b}[31m\"&".to_owned();
    }
    let rows = [fixture::first(), hostile];
    let files = with(&rows, |run| (find("junit").unwrap().export)(run, &options()));
    let text = String::from_utf8(files[0].bytes.clone()).unwrap();
    assert!(text.contains("tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\""), "{text}");
    assert!(text.contains("&lt;/failure&gt;&lt;script&gt;[31m&quot;&amp;"), "{text}");
    assert!(text.contains("time=\"0.000040000000\"") && !text.contains("<script>"), "{text}");
}

#[test]
fn the_hud_gets_every_slice_and_google_our_median() {
    let hud: Value = serde_json::from_str(&only("hud")).unwrap();
    assert_eq!(hud[0]["metric"]["benchmark_values"].as_array().unwrap().len(), 132);
    assert_eq!(
        (&hud[0]["metric"]["name"], &hud[0]["benchmark"]["dtype"]),
        (&Value::from("latency_us"), &Value::from("float32"))
    );
    let google: Value = serde_json::from_str(&only("google")).unwrap();
    let rows = google["benchmarks"].as_array().unwrap();
    assert_eq!(rows.len(), 26);
    assert_eq!(
        (&rows[12]["aggregate_name"], rows[12]["real_time"].as_f64()),
        (&Value::from("median"), Some(40_000.0))
    );
    assert_eq!(google["context"]["date"], "2023-11-14T22:13:20Z");
}

#[test]
fn a_summary_opens_with_the_verdict_and_annotations_name_the_refused() {
    let text = only("github");
    let (verdict, details) =
        (text.find("2 results proven, 1 refused").unwrap(), text.find("<details>").unwrap());
    assert!(verdict < details && text.contains("WRONG"), "{text}");
    let lines = with(&records(), annotations);
    assert!(
        lines.starts_with("::error title=proofmark WRONG::native/simd@avx512 is WRONG on matmul:"),
        "{lines}"
    );
    assert_eq!(lines.lines().count(), 1);
    let many = vec![fixture::refused(); 15];
    let lines = with(&many, annotations);
    assert_eq!(lines.lines().count(), 10);
    assert!(lines.ends_with("6 more: see the step summary\n"), "{lines}");
}
