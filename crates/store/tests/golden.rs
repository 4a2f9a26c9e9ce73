//! Runs of an earlier version, kept as files: every later version reads them, and writes what it
//! read as they have it.
//!
//! `tests/golden` is a store of format 3. It holds a shard of `bench`, a run of `compare`, and one
//! that refused its second arm. It is never made again: a later format gets a store of its own.

use proofmark_schema::Outcome;
use proofmark_schema::proof::Stage;
use proofmark_schema::race::CallInputs;
use proofmark_schema::record::Record;
use proofmark_store::{Run, Store, read_slices};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;

const BENCH: &str = "01a1eae6-e0a1-76f6-b2ec-6e5b38781805";
const COMPARE: &str = "01a1eae6-f497-72f8-9fad-a156d65f8de3";
const REFUSED: &str = "01a1eae7-1173-76bf-9ba9-0b53189d55f4";

fn root() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "golden"].iter().collect()
}

fn load(id: &str) -> Run {
    Store::open(&root()).unwrap().load(id).unwrap()
}

fn text(run: &str, file: &str) -> String {
    std::fs::read_to_string(root().join("runs").join(run).join(file)).unwrap()
}

/// A value as the files have it.
fn json<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap()
}

/// Whether everything in the old value is in the new one, which may have more members.
fn keeps(new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            old.iter().all(|(name, value)| new.get(name).is_some_and(|new| keeps(new, value)))
        }
        (Value::Array(new), Value::Array(old)) => {
            new.len() == old.len() && new.iter().zip(old).all(|(new, old)| keeps(new, old))
        }
        _ => new == old,
    }
}

#[test]
fn every_run_is_intact_and_sealed() {
    let store = Store::open(&root()).unwrap();
    let mut ids = store.list().unwrap();
    ids.sort_unstable();
    assert_eq!(ids, [BENCH, COMPARE, REFUSED]);
    for id in ids {
        assert!(store.verify(&id).unwrap().is_intact(), "{id}");
        let run = load(&id);
        assert!(run.sealed && run.missing().is_empty() && run.torn_bytes == 0, "{id}");
        assert_eq!((run.plan.format, run.machine.format), (3, 3), "{id}");
    }
}

#[test]
fn the_records_of_a_bench_are_read() {
    let run = load(BENCH);
    assert_eq!((run.plan.seed, run.plan.items.len()), (7, 1));
    assert_eq!(json(&run.plan)["budget"], "quick");
    assert!(run.notes[0].starts_with("shard 1/1 of plan "), "{:?}", run.notes);
    let names: Vec<String> = run.records().map(|record| record.contender.to_string()).collect();
    assert_eq!(names, ["native/simd@avx512", "native/scalar@scalar"]);
    for record in run.records() {
        assert_eq!((record.run.as_str(), record.item, record.threads), (BENCH, 0, 1));
        assert_eq!(record.case.to_string(), "add:f32[b=1,s=2,d=16]");
        assert_eq!((record.memory.cache.name(), record.memory.pages.name()), ("hot", "4k"));
        assert_eq!(json(&record.isolation), "T1");
        assert_eq!(record.receipt.device, "cpu");
        let proof = record.judged.proof();
        assert_eq!(proof.outcome, Outcome::Proven);
        assert_eq!(json(&proof.precision), "f32");
        let performance = record.judged.performance().unwrap();
        assert!(performance.wall_ns.estimate > 0.0 && performance.trials > 0);
        assert_eq!(performance.inputs, CallInputs::Perturbed);
    }
    let race = run.items[0].race.as_ref().unwrap();
    let groups = read_slices(&root().join("runs").join(BENCH).join("slices.bin")).unwrap();
    assert_eq!((groups.len(), &groups[0].slices), (1, &race.slices));
    assert!(race.slices.len() > 8);
}

#[test]
fn the_ruling_of_a_comparison_is_read() {
    let run = load(COMPARE);
    assert_eq!(json(&run.plan)["budget"], "compare");
    let decided = run.items[0].decided.as_ref().unwrap();
    assert_eq!(decided.arms[0].contender.to_string(), "native/scalar@scalar");
    assert!(!decided.looks.is_empty() && decided.ruling.comparison.trials > 0);
}

#[test]
fn a_refusal_is_read() {
    let run = load(REFUSED);
    let refused = run.records().map(|record| record.judged.proof());
    let proof = refused.into_iter().find(|proof| proof.outcome == Outcome::Wrong).unwrap();
    assert_eq!(json(&proof.precision), "bf16 inputs");
    let refusal = proof.refusal.as_ref().unwrap();
    assert_eq!((refusal.stage, refusal.crash.is_none()), (Some(Stage::Memory), true));
    let worst = refusal.worst.as_ref().unwrap();
    assert!(worst.q > worst.limit && worst.output == "c", "{worst:?}");
    assert!(refusal.repro.starts_with("proofmark repro 'matmul:f32["), "{}", refusal.repro);
}

#[test]
fn what_was_read_is_written_as_it_was() {
    for id in [BENCH, COMPARE, REFUSED] {
        let run = load(id);
        let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let plan = json(&run.plan);
        assert!(keeps(&plan, &parsed(&text(id, "plan.json"))), "{id}: {plan}");
        let machine = json(&run.machine);
        assert!(keeps(&machine, &parsed(&text(id, "machine.json"))), "{id}: {machine}");
        for line in text(id, "records.jsonl").lines() {
            let record: Record = serde_json::from_str(line).unwrap();
            let again = json(&record);
            assert!(keeps(&again, &parsed(line)), "{id}: {again}");
        }
    }
}
