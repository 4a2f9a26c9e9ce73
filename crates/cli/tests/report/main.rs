//! `proofmark report` as a person meets it, and its page as a browser does.
#![expect(clippy::disallowed_methods, reason = "a test starts the program and reads a variable")]
#![expect(clippy::print_stderr, reason = "a browser that is not here, and how long a page took")]

mod page;

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn proofmark(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.args(arguments).env("COLUMNS", "120").env_remove("PROOFMARK_STORE");
    command.output().expect("the program starts")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn talk(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A small run in this store over a sweep; what it wrote as JSON.
fn tiny(store: &Path, sweep: &str) -> String {
    let mut arguments = vec!["bench", "add", "--quick", "--dtype", "f32", "--threads", "1"];
    arguments.extend(["--with", "native/scalar native/simd", "--sweep", sweep]);
    arguments.extend(["--settle", "0", "--quiet", "--format", "json"]);
    arguments.extend(["--store", store.to_str().unwrap()]);
    let output = proofmark(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    out(&output)
}

#[test]
fn a_run_is_told_in_words_tables_and_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().to_str().unwrap();
    let written = tiny(folder.path(), "b=1 s=2,4,8 d=64,256");
    let report = |more: &[&str]| {
        let output = proofmark(&[&["report", "--store", store], more].concat());
        assert_eq!(output.status.code(), Some(0), "{more:?}: {}", talk(&output));
        out(&output)
    };
    let page = report(&["--html", "-"]);
    assert!(page.starts_with("<!") && page.trim_end().ends_with("</html>"), "{page:.200}");
    assert!(!Path::new("-").exists());
    let all = report(&[]);
    for part in [
        "Who wins, and by how much",
        "Case by case",
        "What to choose",
        "Along the axes",
        "Red flags and refusals",
        "What is proven",
    ] {
        assert!(all.contains(&format!("== {part} ==")), "{part} in\n{all}");
    }
    assert!(all.contains("$ proofmark bench add --dtype f32 --sweep 'b=1 s=2,4,8 d=64,256'"));
    let some = report(&["latest", "--only", "ranking,flags", "--contender", "native/simd"]);
    assert!(!some.contains("Case by case") && !some.contains("native/scalar"), "{some}");
    let data: Value = serde_json::from_str(&report(&["--format", "json"])).unwrap();
    assert_eq!(data["records"].as_array().unwrap().len(), 12 * simd_paths(&written));
    assert!(data["plots"].as_array().is_some_and(|plots| plots.len() >= 3), "{}", data["plots"]);
    let csv = report(&["--format", "csv"]);
    assert!(csv.starts_with("run,operation,implementation,") && csv.contains("\r\n"), "{csv}");
    assert_eq!(csv.lines().count(), data["records"].as_array().unwrap().len() + 1);
    let svg = report(&["--format", "svg", "--only", "sweep"]);
    assert!(svg.starts_with("<svg ") && svg.contains("<title>native/simd"), "{svg}");
    // The file that the bench wrote reports the same as the run, except for what it leaves out.
    let file = folder.path().join("bench.json");
    std::fs::write(&file, &written).unwrap();
    let read = report(&[file.to_str().unwrap(), "--only", "ranking"]);
    let table = |text: &str| text.split("Op by op").nth(1).map(str::to_owned);
    assert_eq!(table(&read), table(&report(&["--only", "ranking"])));
    let both = report(&["latest", file.to_str().unwrap()]);
    assert!(both.contains("== Runs together ==") && both.contains("Run bench:"), "{both}");
}

/// Records of `native/simd` and `native/scalar` for one case, over 2.
fn simd_paths(written: &str) -> usize {
    let data: Value = serde_json::from_str(written).unwrap();
    data["records"].as_array().unwrap().len() / 12
}

#[test]
fn what_is_not_there_or_not_known_is_told_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().to_str().unwrap();
    let other = folder.path().join("other.json");
    std::fs::write(&other, "{\"peers\": []}").unwrap();
    let json = folder.path().join("bench.json");
    let flat = r#"{"records": [{"case": "add:f32[b=1,s=1,d=8]", "contender": "native/simd",
        "outcome": "PROVEN", "run": "r"}]}"#;
    std::fs::write(&json, flat).unwrap();
    let (other, json) = (other.to_str().unwrap(), json.to_str().unwrap());
    for (arguments, code, word) in [
        (&["latest"][..], 6, "make one: `proofmark bench"),
        (&["no/such/run"], 6, "hint"),
        (&[other], 2, "bench --format json"),
        (&[json, "--op", "ad"], 2, "did you mean `add`?"),
        (&[json, "--contender", "peer/*"], 2, "it has native/simd"),
        (&[json, "--only", "rankin"], 2, "ranking"),
        (&[json, "--html", "no/such/folder/x.html"], 6, "--html report.html"),
    ] {
        let output = proofmark(&[&["report", "--store", store], arguments].concat());
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", talk(&output));
        assert!(talk(&output).contains(word), "{arguments:?}: {}", talk(&output));
    }
    // A record without a time is no error.
    let output = proofmark(&["report", json, "--store", store]);
    assert!(out(&output).contains("One contender") || out(&output).contains("Nothing"));
}
