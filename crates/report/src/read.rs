//! The JSON of a bench read back: flat records as records, so that every report can show them.

use proofmark_schema::conditions::{Conditions, Quiet};
use proofmark_schema::finding::Finding;
use proofmark_schema::isolation::Confinement;
use proofmark_schema::machine::MachineFacts;
use proofmark_schema::memory::{CacheState, PageState};
use proofmark_schema::plan::Absence;
use proofmark_schema::precision::Precision;
use proofmark_schema::proof::{Errors, Proof, Refusal};
use proofmark_schema::quantity::Interval;
use proofmark_schema::race::Comparison;
use proofmark_schema::record::{Judged, Limits, Performance, Record, ShapeRoles, SliceSpan};
use proofmark_schema::{Case, ContenderId, ErrorContract, FORMAT_VERSION, Family, Memory, Work};
use proofmark_schema::{Outcome, Receipt, Reproducibility};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Why a JSON text is not what `bench --format json` writes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It is some other JSON.
    #[error("there is no list `records` in it")]
    NoRecords,
    /// A record cannot be read.
    #[error("record {index}: {reason}")]
    Record {
        /// Which, from 0.
        index: usize,
        /// Why.
        reason: String,
    },
}

/// What `bench --format json` wrote.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BenchFile {
    /// Its records; what the flat form leaves out (contracts, slices, the machine's rates) is not
    /// in them.
    pub records: Vec<Record>,
    /// Its findings.
    pub findings: Vec<Finding>,
    /// The contenders that could not enter.
    pub absent: Vec<Absence>,
    /// Where it ran, if the file is the JSON of a report.
    pub machine: Option<MachineFacts>,
}

/// Reads the JSON of a bench.
///
/// # Errors
/// If the data is not the JSON of a bench.
pub fn read_bench(data: &Value) -> Result<BenchFile, ReadError> {
    let records = data.get("records").and_then(Value::as_array).ok_or(ReadError::NoRecords)?;
    let read = |(index, flat): (usize, &Value)| {
        record(flat).map_err(|reason| ReadError::Record { index, reason })
    };
    let records = records.iter().enumerate().map(read).collect::<Result<_, _>>()?;
    // Files from before these lists were written have none.
    Ok(BenchFile {
        records,
        findings: list(data.get("findings")),
        absent: list(data.get("absent")),
        machine: data.get("machine").and_then(|runs| of(runs.get(0)?, "machine")),
    })
}

fn list<T: DeserializeOwned>(value: Option<&Value>) -> Vec<T> {
    value.and_then(|value| Vec::deserialize(value).ok()).unwrap_or_default()
}

/// A member, if it is there and can be read as what it should be.
fn of<T: DeserializeOwned>(flat: &Value, name: &str) -> Option<T> {
    T::deserialize(flat.get(name)?).ok()
}

fn text(flat: &Value, name: &str) -> String {
    of(flat, name).unwrap_or_default()
}

fn number(flat: &Value, name: &str) -> Option<f64> {
    flat.get(name)?.as_f64()
}

fn record(flat: &Value) -> Result<Record, String> {
    let missing = |name: &str| format!("`{name}` is missing or cannot be read");
    let case: Case = of(flat, "case").ok_or_else(|| missing("case"))?;
    let contender = contender(&text(flat, "contender")).ok_or_else(|| missing("contender"))?;
    let threads = of(flat, "threads").unwrap_or(1);
    let outcome = of(flat, "outcome").ok_or_else(|| missing("outcome"))?;
    let proof = proof(flat, &case, &contender, threads, outcome);
    let performance = performance(flat).map(Box::new);
    let memory = Memory {
        cache: of(flat, "cache").unwrap_or_default(),
        pages: of(flat, "pages").unwrap_or_default(),
    };
    let size = |name| of(flat, name).unwrap_or(1);
    Ok(Record {
        format: FORMAT_VERSION,
        run: text(flat, "run"),
        item: of(flat, "item").unwrap_or_default(),
        threads,
        memory,
        receipt: receipt(flat),
        isolation: of(flat, "isolation").unwrap_or_default(),
        work: work(flat),
        shape: ShapeRoles {
            batch_size: size("batch_size"),
            sequence_length: size("sequence_length"),
            tensor_dimension: size("tensor_dimension"),
        },
        uses: of(flat, "uses").unwrap_or_default(),
        imported: of(flat, "imported"),
        judged: match outcome {
            Outcome::Proven => Judged::Proven { proof, performance },
            _ => Judged::Refused { proof },
        },
        case,
        contender,
    })
}

/// The contender, whatever its name: a report may show a contender that cannot run.
fn contender(id: &str) -> Option<ContenderId> {
    id.parse().ok().or_else(|| {
        let (family, name) = id.split_once('/')?;
        let family = Family::ALL.into_iter().find(|known| known.name() == family)?;
        Some(ContenderId { family, name: name.to_owned(), isa: None })
    })
}

fn receipt(flat: &Value) -> Receipt {
    Receipt {
        version: text(flat, "version"),
        build: text(flat, "build"),
        isa: text(flat, "own_isa"),
        prepared_outside: of(flat, "packed_outside").unwrap_or_default(),
        threads: of(flat, "threads_used"),
        on: of(flat, "device"),
        empty_call_ns: number(flat, "empty_call_ns"),
        memory: text(flat, "result_memory"),
        ..Receipt::default()
    }
}

/// The work, recomputed from time and rates; bytes read and written are one sum.
fn work(flat: &Value) -> Work {
    let ns = number(flat, "time_ms").map(|ms| ms * 1e6);
    let amount = |rate| ns.zip(number(flat, rate)).map_or(0, |(ns, rate)| (ns * rate) as u64);
    let (flops, bytes_read) = (amount("gflops"), amount("throughput_gbps"));
    Work { flops, bytes_read, ..Work::default() }
}

fn proof(
    flat: &Value,
    case: &Case,
    contender: &ContenderId,
    threads: usize,
    outcome: Outcome,
) -> Proof {
    let refusal = (outcome != Outcome::Proven).then(|| Refusal {
        outcome,
        stage: None,
        reason: text(flat, "reason"),
        worst: None,
        crash: None,
        repro: text(flat, "repro"),
    });
    let errors = Errors {
        q_max: number(flat, "q_max").unwrap_or_default(),
        q_rms: number(flat, "q_rms").unwrap_or_default(),
        ..Errors::default()
    };
    Proof {
        case: case.clone(),
        contender: contender.clone(),
        threads,
        seed: of(flat, "seed").unwrap_or_default(),
        outcome,
        contract: ErrorContract::default(),
        stages: Vec::new(),
        errors,
        reproducibility: Reproducibility::Bitwise,
        precision: Precision::Unstated,
        left: Vec::new(),
        confinement: Confinement::default(),
        refusal,
    }
}

fn performance(flat: &Value) -> Option<Performance> {
    let confidence = number(flat, "confidence").unwrap_or(0.95);
    let interval = |names: [&str; 3], scale: f64| {
        let [low, estimate, high] = names.map(|name| number(flat, name));
        let (low, estimate, high) = (low? * scale, estimate? * scale, high? * scale);
        Some(Interval { estimate, low, high, confidence })
    };
    let trials = of(flat, "trials").unwrap_or_default();
    let compared = |prefix: &str, against: &str, verdict: &str| {
        let names = ["_low", "", "_high"].map(|end| format!("{prefix}{end}"));
        let [low, estimate, high] = &names;
        Some(Comparison {
            against: contender(&text(flat, against))?,
            ratio: interval([low, estimate, high], 1.0)?,
            verdict: of(flat, verdict)?,
            trials,
        })
    };
    let comparison = compared("ratio", "against", "verdict");
    let achieved = |name| of(flat, name).unwrap_or(true);
    let cache = CacheState {
        asked: of(flat, "cache").unwrap_or_default(),
        achieved: achieved("cache_achieved"),
        probe_ns_median: number(flat, "cache_probe_ns"),
        ..CacheState::hot()
    };
    let pages = of(flat, "pages").map(|asked| PageState {
        asked,
        achieved: achieved("pages_achieved"),
        ..PageState::default()
    });
    // The flat form does not hold the rates themselves, only what they led to.
    let limits = number(flat, "bound_ns").map(|bound_ns| Limits {
        flops_per_second: f64::INFINITY,
        bytes_per_second: f64::INFINITY,
        bound_ns,
        bound: of(flat, "bound"),
        unit: None,
    });
    let conditions = of(flat, "noisy").map(|is_noisy: bool| Conditions {
        quiet: Some(Quiet { is_quiet: !is_noisy, ..Quiet::default() }),
        ..Conditions::default()
    });
    Some(Performance {
        wall_ns: interval(["time_ms_low", "time_ms", "time_ms_high"], 1e6)?,
        trials,
        slice_count: 0,
        cache,
        pages,
        peak_bytes: number(flat, "memory_mb").map_or(0, |mb| (mb * 1e6).round() as u64),
        allocations_per_call: number(flat, "allocations").unwrap_or_default(),
        allocated_bytes_per_call: number(flat, "allocated_bytes"),
        limits,
        inputs: of(flat, "inputs").unwrap_or_default(),
        seen_faster: number(flat, "seen_faster"),
        grown_bytes: number(flat, "grown_bytes").map(|bytes| bytes as u64),
        device: of(flat, "device_time"),
        // An arm without a comparison is the first.
        slices: SliceSpan { race: 0, arm: u32::from(comparison.is_some()) },
        comparison,
        conditions,
        best_peer: compared("best_peer_ratio", "best_peer", "best_peer_verdict"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{compared, first, refused};
    use crate::{flat_record, reports};
    use serde_json::json;

    #[test]
    fn what_a_bench_wrote_is_read_and_written_again_alike() {
        let records = [first(), compared(), refused()];
        let findings = proofmark_analyze::findings(&records);
        let data = reports::bench(&records, &findings, &[]).data;
        let read = read_bench(&data).unwrap();
        assert_eq!(read.findings, findings);
        for (before, after) in records.iter().zip(&read.records) {
            let (before, mut after) = (flat_record(before), flat_record(after));
            // Errors are shown only for stages that ran, and the flat form does not say which ran.
            for name in ["q_max", "q_rms", "pages_achieved"] {
                after[name] = before[name].clone();
            }
            for (name, value) in before.as_object().unwrap() {
                match (value.as_f64(), after[name].as_f64()) {
                    (Some(a), Some(b)) => assert!((a - b).abs() <= 1e-9 * a.abs(), "{name}"),
                    _ => assert_eq!(*value, after[name], "{name}"),
                }
            }
        }
    }

    #[test]
    fn a_name_that_could_not_run_is_read_as_text() {
        let mut flat = flat_record(&first());
        flat["contender"] = json!("peer/<script>alert(1)</script>");
        let read = read_bench(&json!({ "records": [flat] })).unwrap();
        assert_eq!(read.records[0].contender.to_string(), "peer/<script>alert(1)</script>");
    }

    #[test]
    fn what_is_no_bench_is_refused_with_the_record_that_is_wrong() {
        assert_eq!(read_bench(&json!({"peers": []})), Err(ReadError::NoRecords));
        let error = read_bench(&json!({"records": [flat_record(&first()), {"case": 3}]}));
        assert_eq!(error.unwrap_err().to_string(), "record 1: `case` is missing or cannot be read");
    }
}
