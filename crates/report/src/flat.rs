//! A record as one flat object, for tables, data frames and old scripts.

use proofmark_analyze::{Band, METRICS};
use proofmark_schema::proof::{Proof, Stage};
use proofmark_schema::quantity::Interval;
use proofmark_schema::record::Record;
use serde_json::{Map, Value, json};

/// The record without nesting. A number that was not measured is null, never 0.
pub fn flat_record(record: &Record) -> Value {
    let mut flat = Map::new();
    let mut put = |name: &str, value: Value| flat.insert(name.to_owned(), value);
    put("run", json!(record.run));
    put("item", json!(record.item));
    put("case", json!(record.case));
    put("contender", json!(record.contender));
    put("operation", json!(record.case.op));
    put("implementation", json!(record.contender));
    put("batch_size", json!(record.shape.batch_size));
    put("sequence_length", json!(record.shape.sequence_length));
    put("tensor_dimension", json!(record.shape.tensor_dimension));
    put("uses", json!(record.uses));
    if let Some(imported) = &record.imported {
        put("imported", json!(imported));
    }
    put("dtype", json!(record.case.dtype.name()));
    put("threads", json!(record.threads));
    put("isa", isa(record));
    put("isolation", json!(record.isolation));
    put("version", json!(record.receipt.version));
    put("build", json!(record.receipt.build));
    put("own_isa", json!(record.receipt.isa));
    put("threads_used", json!(record.receipt.threads));
    put("empty_call_ns", json!(record.receipt.empty_call_ns));
    put("result_memory", json!(record.receipt.memory));
    put("packed_outside", json!(record.receipt.prepared_outside));
    if let Some(device) = &record.receipt.on {
        put("device", json!(device));
        put("device_time", json!(record.judged.performance().and_then(|of| of.device)));
    }
    for metric in METRICS {
        put(metric.name, number(metric.of(record)));
    }
    let band = metric(record, "efficiency").and_then(|percent| Band::of(percent / 100.0));
    put("band", json!(band.map(Band::name)));
    put_performance(&mut flat, record);
    put_proof(&mut flat, record.judged.proof());
    Value::Object(flat)
}

/// The value of a metric by name.
pub(crate) fn metric(record: &Record, name: &str) -> Option<f64> {
    proofmark_analyze::metrics::value(name, record)
}

fn put_performance(flat: &mut Map<String, Value>, record: &Record) {
    let performance = record.judged.performance();
    let wall = performance.map(|performance| performance.wall_ns);
    let comparison = performance.and_then(|performance| performance.comparison.as_ref());
    let peer = performance.and_then(|performance| performance.best_peer.as_ref());
    let conditions = performance.and_then(|performance| performance.conditions.as_ref());
    let ratio = comparison.map(|comparison| comparison.ratio);
    let part = |interval: Option<Interval>, part: fn(&Interval) -> f64, scale: f64| {
        number(interval.map(|interval| part(&interval) * scale))
    };
    let rows = [
        ("time_ms_low", part(wall, |i| i.low, 1e-6)),
        ("time_ms_high", part(wall, |i| i.high, 1e-6)),
        ("confidence", part(wall, |i| i.confidence, 1.0)),
        ("ratio", part(ratio, |i| i.estimate, 1.0)),
        ("ratio_low", part(ratio, |i| i.low, 1.0)),
        ("ratio_high", part(ratio, |i| i.high, 1.0)),
        ("against", json!(comparison.map(|comparison| &comparison.against))),
        ("verdict", json!(comparison.map(|comparison| comparison.verdict.name()))),
        ("best_peer", json!(peer.map(|comparison| &comparison.against))),
        ("best_peer_ratio", part(peer.map(|of| of.ratio), |i| i.estimate, 1.0)),
        ("best_peer_ratio_low", part(peer.map(|of| of.ratio), |i| i.low, 1.0)),
        ("best_peer_ratio_high", part(peer.map(|of| of.ratio), |i| i.high, 1.0)),
        ("best_peer_verdict", json!(peer.map(|comparison| comparison.verdict.name()))),
        ("inputs", json!(performance.map(|performance| performance.inputs))),
        ("seen_faster", number(performance.and_then(|of| of.seen_faster))),
        ("grown_bytes", json!(performance.and_then(|of| of.grown_bytes))),
        ("trials", json!(performance.map(|performance| performance.trials))),
        ("bound", json!(performance.and_then(|of| Some(of.limits?.bound?.name())))),
        ("bound_ns", number(performance.and_then(|of| Some(of.limits?.bound_ns)))),
        ("cache", json!(record.memory.cache)),
        ("cache_achieved", json!(performance.map(|performance| performance.cache.achieved))),
        ("cache_probe_ns", number(performance.and_then(|of| of.cache.probe_ns_median))),
        ("pages", json!(record.memory.pages)),
        ("pages_achieved", json!(performance.and_then(|of| Some(of.pages?.achieved)))),
        ("noisy", json!(conditions.and_then(|of| Some(!of.quiet?.is_quiet)))),
        ("throttled", json!(conditions.map(|of| of.throttled.is_some()))),
    ];
    flat.extend(rows.map(|(name, value)| (name.to_owned(), value)));
}

fn put_proof(flat: &mut Map<String, Value>, proof: &Proof) {
    let judged_errors = has_errors(proof);
    let mut put = |name: &str, value: Value| flat.insert(name.to_owned(), value);
    put("outcome", json!(proof.outcome.name()));
    put("q_max", number(judged_errors.then_some(proof.errors.q_max)));
    put("q_rms", number(judged_errors.then_some(proof.errors.q_rms)));
    put("seed", json!(proof.seed));
    if proof.contract.interpreted {
        put("interpreted", json!(true));
    }
    if let Some(refusal) = &proof.refusal {
        put("reason", json!(refusal.reason));
        put("repro", json!(refusal.repro));
    }
}

/// Whether a stage ran from which the errors come.
pub(crate) fn has_errors(proof: &Proof) -> bool {
    let gives_errors = |stage: Stage| matches!(stage, Stage::ZeroMean | Stage::Structured);
    proof.stages.iter().any(|report| gives_errors(report.stage) && report.checks > 0)
}

/// A number, or null for what is none.
pub(crate) fn number(value: Option<f64>) -> Value {
    json!(value.filter(|value| value.is_finite()))
}

fn isa(record: &Record) -> Value {
    match record.contender.isa {
        Some(isa) => json!(isa.name()),
        None if record.receipt.isa.is_empty() => Value::Null,
        None => json!(record.receipt.isa),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_measured_record_has_every_expected_field() {
        let flat = flat_record(&fixture::compared());
        for (name, want) in [
            ("operation", json!("matmul")),
            ("implementation", json!("native/simd@avx2")),
            ("batch_size", json!(1)),
            ("sequence_length", json!(64)),
            ("tensor_dimension", json!(32)),
            ("time_ms", json!(0.01)),
            ("time_ms_low", json!(0.0099)),
            ("memory_mb", json!(1.5)),
            ("inference_speed", json!(1e5)),
            ("efficiency", json!(60.0)),
            ("throughput_gbps", json!(2.0)),
            ("gflops", json!(26.0)),
            ("band", json!("good")),
            ("bound", json!("compute")),
            ("bound_ns", json!(6000.0)),
            ("ratio", json!(0.25)),
            ("verdict", json!("FASTER")),
            ("isa", json!("avx2")),
            ("dtype", json!("f32")),
            ("outcome", json!("PROVEN")),
            ("trials", json!(6)),
            ("cache", json!("hot")),
            ("isolation", json!("T1")),
            ("q_max", json!(1.5)),
        ] {
            let got = &flat[name];
            match (got.as_f64(), want.as_f64()) {
                (Some(got), Some(want)) => assert!((got - want).abs() <= 1e-12 * want, "{name}"),
                _ => assert_eq!(*got, want, "{name}"),
            }
        }
        assert!(flat.get("reason").is_none());
    }

    #[test]
    fn what_was_not_measured_is_null_and_never_zero() {
        let flat = flat_record(&fixture::refused());
        for name in [
            "time_ms",
            "memory_mb",
            "inference_speed",
            "efficiency",
            "throughput_gbps",
            "gflops",
            "ratio",
            "time_ms_low",
            "trials",
            "band",
            "bound",
            "verdict",
            "q_max",
            "confidence",
        ] {
            assert_eq!(flat.get(name), Some(&Value::Null), "{name}");
        }
        assert_eq!(flat["outcome"], "WRONG");
        assert_eq!(flat["repro"], "proofmark prove matmul --seed 7");
    }

    #[test]
    fn times_that_are_no_numbers_are_null() {
        let flat = flat_record(&fixture::with_time(f64::NAN));
        assert_eq!(flat["time_ms"], Value::Null);
        assert_eq!(flat["time_ms_high"], Value::Null);
        let flat = flat_record(&fixture::with_time(f64::INFINITY));
        assert_eq!(flat["inference_speed"], Value::Null);
    }
}
