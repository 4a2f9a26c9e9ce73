//! Runs that leave for other tools, come back, or are put together from shards.
#![expect(clippy::disallowed_methods, reason = "a test starts the program")]

use proofmark_store::Store;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

fn proofmark(store: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.args(arguments).env("PROOFMARK_STORE", store).env_remove("GITHUB_STEP_SUMMARY");
    command.output().expect("the program starts")
}

fn passed(store: &Path, arguments: &[&str]) -> String {
    let output = proofmark(store, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", talk(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn talk(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn bench(store: &Path, more: &[&str]) -> Value {
    let mut arguments = vec!["bench", "add", "--quick", "--dtype", "f32", "--threads", "1"];
    arguments.extend(["--with", "native/scalar native/simd", "--sweep", "b=1,2 s=3 d=17,64"]);
    arguments.extend(["--settle", "0", "--format", "json"]);
    arguments.extend(more);
    serde_json::from_str(&passed(store, &arguments)).unwrap()
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

/// Names and times of what an import says.
fn imported(store: &Path, file: &str) -> BTreeMap<String, f64> {
    let read: Value =
        serde_json::from_str(&passed(store, &["import", file, "--format", "json"])).unwrap();
    let rows = read["rows"].as_array().unwrap().iter();
    let row = |row: &Value| {
        assert_eq!(row["outcome"], "UNPROVEN");
        (row["name"].as_str().unwrap().to_owned(), row["time_ns"].as_f64().unwrap())
    };
    rows.map(row).collect()
}

#[test]
fn what_was_exported_is_imported_with_equal_medians() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let run = bench(&store, &[]);
    let records = run["records"].as_array().unwrap();
    assert_eq!(records.len(), 8);
    for format in ["go", "criterion", "google"] {
        let out = path(folder.path(), format);
        passed(&store, &["export", "latest", "--to", format, "--out", &out]);
        let back = imported(&store, &out);
        assert_eq!(back.len(), 8, "{format}");
        for record in records.iter().filter(|_| format != "go") {
            let (case, who) =
                (record["case"].as_str().unwrap(), record["contender"].as_str().unwrap());
            let axes = case.split(['[', ']']).nth(1).unwrap();
            let name = match format {
                "criterion" => format!("add/{who}/{axes},dtype=f32,threads=1"),
                _ => format!("{case} {who} threads=1"),
            };
            let want = record["time_ms"].as_f64().unwrap() * 1e6;
            assert!((back[&name] / want - 1.0).abs() < 1e-9, "{name}: {} {want}", back[&name]);
        }
    }
    let text = std::fs::read_to_string(folder.path().join("go")).unwrap();
    for (name, time) in imported(&store, &path(folder.path(), "go")) {
        let mut lines: Vec<f64> = text
            .lines()
            .filter_map(|line| line.strip_prefix(&name)?.split_whitespace().nth(1)?.parse().ok())
            .collect();
        assert!(lines.len() >= 10, "{text}");
        lines.sort_by(f64::total_cmp);
        let middle = (lines[(lines.len() - 1) / 2] + lines[lines.len() / 2]) / 2.0;
        assert!((time / middle - 1.0).abs() < 1e-12, "{name}");
    }
    let listed = passed(&store, &["import", "--list"]);
    assert!(listed.contains("3 files") && listed.contains("criterion-"), "{listed}");
    assert_eq!(Store::open(&store).unwrap().list().unwrap().len(), 1, "an import is no run");
    for (format, word) in [("junit", "<testsuites"), ("csv", "run,"), ("hud", "latency_us")] {
        let text = passed(&store, &["export", "latest", "--to", format, "--out", "-"]);
        assert!(text.contains(word), "{format}: {text}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    let summary = folder.path().join("summary.md");
    std::fs::write(&summary, "before\n").unwrap();
    command.args(["export", "latest", "--to", "github"]).env("PROOFMARK_STORE", &store);
    assert!(command.env("GITHUB_STEP_SUMMARY", &summary).status().unwrap().success());
    let text = std::fs::read_to_string(&summary).unwrap();
    assert!(text.starts_with("before\n# Proofmark") && text.contains("8 results proven"), "{text}");
}

#[test]
fn two_shards_merged_are_what_one_run_is() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    let whole = bench(&one, &["--seed", "7"]);
    let parts = ["1/2", "2/2"].map(|part| bench(&two, &["--seed", "7", "--shard", part]));
    let ids = parts.each_ref().map(|part| part["records"][0]["run"].as_str().unwrap().to_owned());
    let alone = proofmark(&two, &["merge", &ids[0]]);
    assert_eq!(alone.status.code(), Some(2));
    assert!(talk(&alone).contains("every shard from 1/n to n/n"), "{}", talk(&alone));
    let merged = passed(&two, &["merge", &ids[1], &ids[0], "--format", "json"]);
    let merged: Value = serde_json::from_str(&merged).unwrap();
    let rows = |run: &Value| -> Vec<String> {
        let fields = ["item", "case", "contender", "outcome", "seed", "threads"];
        let row = |record: &Value| fields.map(|field| record[field].to_string()).join(" ");
        run["records"].as_array().unwrap().iter().map(row).collect()
    };
    assert_eq!(rows(&merged), rows(&whole));
    assert_eq!(rows(&parts[0]).len() + rows(&parts[1]).len(), 8);
    let (store, other) = (Store::open(&two).unwrap(), Store::open(&one).unwrap());
    let (merged, whole) = (store.load("latest").unwrap(), other.load("latest").unwrap());
    assert_eq!(merged.plan, whole.plan);
    assert!(merged.sealed && store.verify("latest").unwrap().is_intact());
    // Seeds, layouts and orders are the same whether one run or two shards made them.
    let seeds = |run: &proofmark_store::Run| -> Vec<(u64, u64)> {
        let race =
            |entry: &proofmark_store::ItemEntry| (entry.item, entry.race.as_ref().unwrap().seed);
        run.items.iter().map(race).collect()
    };
    assert_eq!(seeds(&merged), seeds(&whole));
    let replayed = passed(&two, &["replay", "latest"]);
    assert!(replayed.contains("8 of 8 records"), "{replayed}");
}

#[test]
fn the_front_door_says_what_to_type_and_what_is_here() {
    let folder = tempfile::tempdir().unwrap();
    let none = proofmark(folder.path(), &[]);
    assert_eq!(none.status.code(), Some(2));
    assert!(none.stdout.is_empty());
    for words in ["proofmark doctor", "proofmark prove", "proofmark bench", "No run is kept"] {
        assert!(talk(&none).contains(words), "{}", talk(&none));
    }
    let help = passed(folder.path(), &["--help"]);
    assert!(help.contains("Prove and measure:") && help.contains("Exit codes"), "{help}");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = passed(folder.path(), &["completions", shell]);
        assert!(script.contains("selftest") && script.contains("sweep"), "{shell}");
    }
    let pages = path(folder.path(), "man");
    passed(folder.path(), &["man", "--out", &pages]);
    let page = std::fs::read_to_string(folder.path().join("man/proofmark-bench.1")).unwrap();
    assert!(page.starts_with(".ie") && page.contains("sweep"), "{page}");
    assert!(!folder.path().join("man/proofmark-__worker.1").exists());
}

#[test]
fn a_slip_of_the_pen_is_answered_with_the_name_that_was_meant() {
    let folder = tempfile::tempdir().unwrap();
    let case = "add:f32[b=1,s=1,d=4]";
    for (arguments, meant) in [
        (&["bench", "add", "--dry-run", "--with", "native/smid"][..], "`native/simd`"),
        (&["prove", "add", "--with", "peer/pytroch"], "`peer/pytorch`"),
        (&["repro", case, "--with", "native/smid"], "`native/simd`"),
        (&["repro", case, "--with", "peer/pytroch"], "`peer/pytorch`"),
        (&["bench", "matmul", "--dry-run", "--attr", "layot=nt"], "`layout`"),
        (&["bench", "matmul", "--dry-run", "--attr", "layout=ntt"], "`nt`"),
        (&["bench", "softmax", "--dry-run", "--sweep", "bb=3"], "`b`"),
        (&["bench", "add", "--dry-run", "--size", "larg"], "'large'"),
        (&["bench", "add", "--dry-run", "--suite", "smoek"], "`smoke`"),
        (&["bench", "--dry-run", "--suite", "qwen3-0.6"], "`qwen3-0.6b`"),
        (&["export", "x", "--to", "criterio", "--out", "x"], "'criterion'"),
        (&["import", "x", "--from", "hyperfin"], "'hyperfine'"),
        (&["benhc"], "'bench'"),
        (&["completions", "bsh"], "'bash'"),
    ] {
        let output = proofmark(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", talk(&output));
        assert!(talk(&output).contains(meant), "{arguments:?}: {}", talk(&output));
    }
    let runs = folder.path().join("runs/mine");
    std::fs::create_dir_all(runs).unwrap();
    for (text, meant) in [("latets", "did you mean `latest`?"), ("mien", "did you mean `mine`?")] {
        let output = proofmark(folder.path(), &["replay", text]);
        assert_eq!(output.status.code(), Some(6));
        assert!(talk(&output).contains(meant), "{text}: {}", talk(&output));
    }
}
