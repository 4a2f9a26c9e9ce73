//! Traces of flashinfer-trace: one line of JSON for each contender on a workload. Only ops that
//! were made from a Definition have them.

use super::{ExportFile, ExportOptions, ExportRow, Exported, Exporter, single, text};
use proofmark_schema::Outcome;
use proofmark_schema::imported::ImportedFrom;
use proofmark_schema::proof::Proof;
use serde_json::{Value, json};

pub(super) const EXPORTER: Exporter = Exporter {
    has_failures: true,
    ..text("flashinfer-trace", "traces of ops that were made from Definitions", export)
};

/// The format's name in records of imported ops.
const FORMAT: &str = "flashinfer-trace";

/// The contender that is the Definition's own reference.
const REFERENCE: &str = "own/reference";

fn export(run: &Exported<'_>, _options: &ExportOptions) -> Vec<ExportFile> {
    let lines: Vec<String> =
        run.rows.iter().filter_map(|row| Some(format!("{}\n", trace(run, row)?))).collect();
    single(lines.concat())
}

/// The trace of a row; none if its op has no Definition, or it was not evaluated.
fn trace(run: &Exported<'_>, row: &ExportRow<'_>) -> Option<Value> {
    let record = row.record;
    let imported = record.imported.as_ref().filter(|imported| imported.format == FORMAT)?;
    Some(json!({
        "definition": imported.name,
        "workload": workload(imported)?,
        "solution": record.contender.name,
        "evaluation": evaluation(run, row)?,
    }))
}

/// The workload that was run. With smaller sizes it is another one than that of the source.
fn workload(imported: &ImportedFrom) -> Option<Value> {
    let mut workload = imported.workload.clone()?;
    for size in &imported.shrunk {
        workload["axes"][&size.name] = json!(size.used);
    }
    if !imported.shrunk.is_empty() {
        let uuid = workload["uuid"].as_str().unwrap_or_default();
        workload["uuid"] = json!(format!("{uuid}-shrunk"));
    }
    Some(workload)
}

fn evaluation(run: &Exported<'_>, row: &ExportRow<'_>) -> Option<Value> {
    let proof = row.record.judged.proof();
    let status = status(proof.outcome)?;
    let mut evaluation = json!({
        "status": status,
        "environment": environment(run, row),
        "timestamp": run.date().unwrap_or_else(|| run.run.to_owned()),
        "log": log(proof, row),
    });
    // The format wants both for a pass, only the errors for wrong numbers, and neither for anything
    // else.
    if status == "PASSED" {
        evaluation["performance"] = performance(run, row)?;
    }
    if matches!(status, "PASSED" | "INCORRECT_NUMERICAL") {
        evaluation["correctness"] = correctness(proof);
    }
    Some(evaluation)
}

/// The status of an outcome; none of what was not evaluated.
fn status(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Proven => Some("PASSED"),
        Outcome::Wrong => Some("INCORRECT_NUMERICAL"),
        Outcome::TimedOut => Some("TIMEOUT"),
        // Neither a cheat nor a test that could not fail has passed.
        Outcome::Caught | Outcome::Mistrusted | Outcome::Crashed | Outcome::Broken => {
            Some("RUNTIME_ERROR")
        }
        Outcome::Unsupported | Outcome::Absent | Outcome::Skipped | Outcome::Undecided => None,
    }
}

fn environment(run: &Exported<'_>, row: &ExportRow<'_>) -> Value {
    let hardware = if run.machine.cpu.is_empty() { "cpu" } else { &run.machine.cpu };
    let build = &row.record.receipt.build;
    json!({ "hardware": hardware, "libs": { "proofmark": run.version, "build": build } })
}

/// The reason of a refusal, and what a reader of the numbers must know.
fn log(proof: &Proof, row: &ExportRow<'_>) -> String {
    let mut lines = Vec::new();
    if let Some(refusal) = &proof.refusal {
        lines.push(format!("{}: {}", proof.outcome.name(), refusal.reason));
        lines.push(refusal.repro.clone());
    }
    lines.extend(row.record.imported.as_ref().and_then(|imported| imported.caveat()));
    lines.join("\n")
}

/// Errors as the format has them: those of the worst element of a refused kernel. The greatest
/// absolute error of a proven kernel is not kept. The format writes a value that is not a number as
/// a word.
fn correctness(proof: &Proof) -> Value {
    let number = |value: f64| match value.is_finite() && value >= 0.0 {
        true => json!(value),
        false => json!("NaN"),
    };
    let (absolute, relative, q) = match &proof.refusal {
        None => (f64::NAN, proof.errors.max_relative, proof.errors.q_max),
        Some(refusal) => refusal.worst.as_ref().map_or((f64::NAN, f64::NAN, f64::NAN), |worst| {
            let off = (worst.got - worst.want).abs();
            (off, off / worst.want.abs(), worst.q)
        }),
    };
    json!({
        "max_relative_error": number(relative),
        "max_absolute_error": number(absolute),
        "extra": { "q_max": number(q) },
    })
}

/// Times in milliseconds. Without a time of the reference in the same run there is no speedup.
fn performance(run: &Exported<'_>, row: &ExportRow<'_>) -> Option<Value> {
    let time = |wanted: &dyn Fn(&ExportRow<'_>) -> bool| {
        let found = run.measured().find(|(row, _)| wanted(row));
        found.map(|(_, performance)| performance.wall_ns.estimate / 1e6)
    };
    let is_alike = |other: &ExportRow<'_>| {
        (&other.record.case, other.record.threads) == (&row.record.case, row.record.threads)
    };
    let own = time(&|other| std::ptr::eq(other.record, row.record))?;
    let reference =
        time(&|other| is_alike(other) && other.record.contender.to_string() == REFERENCE);
    let reference = reference.unwrap_or(0.0);
    Some(json!({
        "latency_ms": own,
        "reference_latency_ms": reference,
        "speedup_factor": reference / own,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::{options, with};
    use crate::fixture;
    use proofmark_schema::imported::Shrunk;
    use proofmark_schema::record::{Judged, Record};

    fn imported(record: &mut Record) {
        record.imported = Some(ImportedFrom {
            format: FORMAT.to_owned(),
            name: "rows".to_owned(),
            shrunk: Vec::new(),
            workload: Some(json!({"uuid": "w", "axes": {"n": 4}, "inputs": {}})),
        });
    }

    /// The traces of these records.
    fn traces(records: &[Record]) -> Vec<Value> {
        let files = with(records, |run| export(run, &options()));
        let text = String::from_utf8(files[0].bytes.clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_proven_row_passes_with_its_time_and_other_ops_have_no_trace() {
        let mut record = fixture::first();
        assert!(traces(&[record.clone()]).is_empty());
        imported(&mut record);
        let all = traces(&[record.clone()]);
        assert_eq!((all.len(), &all[0]["definition"]), (1, &json!("rows")));
        assert_eq!(all[0]["workload"]["uuid"], "w");
        let evaluation = &all[0]["evaluation"];
        assert_eq!(evaluation["status"], "PASSED");
        assert!(evaluation["performance"]["latency_ms"].as_f64().unwrap() > 0.0);
        assert_eq!(evaluation["performance"]["speedup_factor"], 0.0);
    }

    #[test]
    fn a_workload_with_smaller_sizes_is_another_workload() {
        let mut record = fixture::first();
        imported(&mut record);
        let shrunk = Shrunk { name: "n".to_owned(), stated: 4, used: 2 };
        record.imported.as_mut().unwrap().shrunk.push(shrunk);
        let trace = &traces(&[record])[0];
        assert_eq!(trace["workload"]["axes"]["n"], 2);
        assert_eq!(trace["workload"]["uuid"], "w-shrunk");
        assert!(trace["evaluation"]["log"].as_str().unwrap().contains("n 4 → 2"));
    }

    #[test]
    fn only_what_is_proven_passes() {
        let refused = |outcome: Outcome| {
            let mut record = fixture::first();
            imported(&mut record);
            let mut proof = fixture::refused_proof();
            proof.outcome = outcome;
            if let Some(refusal) = &mut proof.refusal {
                refusal.reason = "the reason".to_owned();
            }
            record.judged = Judged::Refused { proof };
            traces(&[record])
        };
        for outcome in [Outcome::Caught, Outcome::Mistrusted, Outcome::Crashed, Outcome::Broken] {
            let evaluation = &refused(outcome)[0]["evaluation"];
            assert_eq!(evaluation["status"], "RUNTIME_ERROR", "{outcome:?}");
            let log = evaluation["log"].as_str().unwrap();
            assert!(log.starts_with(outcome.name()) && log.contains("the reason"), "{log}");
            assert!(evaluation["performance"].is_null() && evaluation["correctness"].is_null());
        }
        let wrong = &refused(Outcome::Wrong)[0]["evaluation"];
        assert_eq!(wrong["status"], "INCORRECT_NUMERICAL");
        assert!(wrong["performance"].is_null());
        assert_eq!(wrong["correctness"]["max_absolute_error"], 1.25, "that of the worst element");
        assert_eq!(refused(Outcome::TimedOut)[0]["evaluation"]["status"], "TIMEOUT");
        for outcome in [Outcome::Unsupported, Outcome::Absent, Outcome::Skipped] {
            assert!(refused(outcome).is_empty(), "{outcome:?} was not evaluated");
        }
    }
}
