//! The page of 2,000 records in a real browser: quick, whole, and hostile names stay text.

use super::{out, proofmark, talk, tiny};
use proofmark_schema::plan::{Item, Plan};
use proofmark_schema::record::{Judged, Record};
use proofmark_store::{ItemEntry, Run, Store};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const HOSTILE: &str = "<script>alert(1)</script>";
const OPS: usize = 25;
const CASES: usize = 10;
const ARMS: usize = 8;

#[test]
fn two_thousand_records_open_quickly_and_hostile_names_stay_text() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path(), "b=1 s=2 d=64");
    let store = Store::open(folder.path()).unwrap();
    multiply(&store, &store.load("latest").unwrap());
    let page = folder.path().join("page.html");
    let seen = looked_at(folder.path(), "many", &page);
    let bytes = std::fs::metadata(&page).unwrap().len();
    assert!(bytes < 5_000_000, "{bytes} bytes");
    if let Some(seen) = seen {
        eprintln!("{bytes} bytes, loaded in {} ms", seen["load_ms"]);
        assert!(seen["rows"].as_u64() > Some((OPS * CASES * ARMS) as u64), "{seen}");
        assert!(seen["figures"].as_u64() > Some(OPS as u64), "{seen}");
        assert!(seen["slices_drawn"].as_u64() > Some(10), "{seen}");
    }
    // A name that no run could have, from a file that anybody may have written.
    let store = folder.path().to_str().unwrap();
    let output =
        proofmark(&["report", "many", "--op", "op_1", "--format", "json", "--store", store]);
    let file = folder.path().join("bench.json");
    let written = out(&output).replace("native/kernel_1@", &format!("own/{HOSTILE}@"));
    std::fs::write(&file, written).unwrap();
    looked_at(folder.path(), file.to_str().unwrap(), &page);
}

#[test]
fn the_record_of_a_suite_opens_with_its_picture_and_few_red_flags() {
    let record = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../records/2026-11-17-0d053ca4a802/transformer-f32-all-peers.json"
    );
    let folder = tempfile::tempdir().unwrap();
    let (store, page) = (folder.path().to_str().unwrap(), folder.path().join("page.html"));
    let output = proofmark(&["report", record, "--store", store, "--html", page.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let answer = "faster on 36, too close to call on 14, slower on 5";
    assert!(out(&output).contains(answer), "{}", out(&output));
    for width in ["1280", "390"] {
        let Some(seen) = looked(&page, &["", width]) else { return };
        eprintln!("{width} wide: loaded in {} ms", seen["load_ms"]);
        assert_eq!(seen["errors"], Value::from(Vec::<Value>::new()), "{seen}");
        assert_eq!(seen["overflow"], 0, "{seen}");
        assert_eq!(seen["picture_first"], true, "{seen}");
        assert_eq!(seen["empty_plots"], 0, "{seen}");
        assert_eq!(seen["rows_without_heading"], 0, "{seen}");
        assert!(seen["red_flags"].as_u64().is_some_and(|flags| (1..=3).contains(&flags)), "{seen}");
    }
}

/// Writes the page of a run and opens it in Chromium; `None` where there is no browser.
fn looked_at(store: &Path, run: &str, page: &Path) -> Option<Value> {
    let (store, page) = (store.to_str().unwrap(), page.to_str().unwrap());
    let output = proofmark(&["report", run, "--store", store, "--html", page]);
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    assert!(talk(&output).contains("wrote"), "{}", talk(&output));
    assert!(!out(&output).is_empty());
    let seen = looked(page.as_ref(), &[])?;
    for (name, want) in [
        ("errors", Value::from(Vec::<Value>::new())),
        ("outside", Value::from(Vec::<Value>::new())),
        ("empty_plots", 0.into()),
        ("unnamed_plots", 0.into()),
        ("rows_without_heading", 0.into()),
        ("picture_first", true.into()),
        ("scripts", 2.into()),
        ("images", 0.into()),
        ("overflow", 0.into()),
        ("hostile_text", true.into()),
        ("sorted", true.into()),
        ("filtered", true.into()),
        ("restored", true.into()),
    ] {
        assert_eq!(seen[name], want, "{name}: {seen}");
    }
    assert!(seen["load_ms"].as_u64() < Some(10_000), "{seen}");
    assert!(seen["tip"].as_str().is_some_and(|tip| !tip.is_empty()), "{seen}");
    Some(seen)
}

/// What Chromium sees of a page; `None` where there is no browser. `more` are further arguments of
/// the script.
fn looked(page: &Path, more: &[&str]) -> Option<Value> {
    let browser = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
    let starts = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !starts("node") || !starts(&browser) {
        let is_due = std::env::var_os("PROOFMARK_REQUIRE_BROWSER").is_some();
        assert!(!is_due, "node or {browser} is not here");
        eprintln!("not looked at: node or {browser} is not here (`apt-get install chromium`)");
        return None;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/report/look.mjs");
    let looked =
        Command::new("node").args([script, page.to_str().unwrap()]).args(more).output().unwrap();
    assert!(looked.status.success(), "{}", talk(&looked));
    Some(serde_json::from_str(&out(&looked)).unwrap())
}

/// A run `many` of 2,000 records, each a measured one with other names and times.
fn multiply(store: &Store, real: &Run) {
    let entry = &real.items[0];
    let (race, records) = (entry.race.as_ref().unwrap(), &entry.records);
    let mut items = Vec::new();
    for index in 0..OPS * CASES {
        let mut case = race.case.clone();
        case.op = format!("op_{}", index / CASES);
        case.axes[1].1 = 1 << (index % CASES);
        let field = (0..ARMS).map(|arm| records[arm % 2].contender.clone()).collect();
        items.push(Item {
            index: index as u64,
            case,
            field,
            threads: 1,
            ..real.plan.items[0].clone()
        });
    }
    let plan = Plan { items, ..real.plan.clone() };
    let mut writer = store.create("many", &plan, &real.machine).unwrap();
    for item in &plan.items {
        let mut race = race.clone();
        race.case = item.case.clone();
        let arm_of = |slice: &proofmark_schema::race::Slice, arm: usize| {
            let mut slice = *slice;
            (slice.arm, slice.wall_ns) = (arm as u32, slice.wall_ns * (arm as u64 + 2) / 2);
            slice
        };
        let first: Vec<_> = race.slices.iter().filter(|slice| slice.arm == 0).copied().collect();
        race.slices =
            (0..ARMS).flat_map(|arm| first.iter().map(move |of| arm_of(of, arm))).collect();
        let records = (0..ARMS).map(|arm| renamed(&records[arm.min(1)], item, arm)).collect();
        let entry = ItemEntry { item: item.index, race: Some(race), records, ..entry.clone() };
        writer.append_item(&entry).unwrap();
    }
}

fn renamed(real: &Record, item: &Item, arm: usize) -> Record {
    let mut record = real.clone();
    (record.run, record.item, record.case) = ("many".to_owned(), item.index, item.case.clone());
    record.contender.name = format!("kernel_{arm}");
    record.receipt.version = HOSTILE.to_owned();
    if let Judged::Proven { performance: Some(performance), .. } = &mut record.judged {
        let times = (arm as f64 + 2.0) / 2.0 * (1.0 + item.index as f64);
        let wall = &mut performance.wall_ns;
        (wall.low, wall.estimate, wall.high) =
            (wall.low * times, wall.estimate * times, wall.high * times);
        performance.slices.arm = arm as u32;
    }
    record
}
