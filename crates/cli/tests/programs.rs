//! Programs that are raced as they are: commands, benchmarks of other harnesses, checks of both.
//!
//! Decisions are tested on programs that print times of their own choice, in the format of Google
//! Benchmark, so that no test depends on how fast the machine is.
#![expect(clippy::disallowed_methods, reason = "a test starts the program, git and cargo")]

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROOFMARK: &str = env!("CARGO_BIN_EXE_proofmark");

/// A folder with programs and a store in it.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn script(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::write(&path, format!("#!/bin/sh\n{text}")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A program that answers as one of Google Benchmark and says that each of its benchmarks takes
    /// so many nanoseconds, give or take half a per cent.
    fn harness(&self, name: &str, benchmarks: &[(&str, u32)]) {
        let names: String = benchmarks.iter().map(|(name, _)| format!("{name}\\n")).collect();
        let cases: String = benchmarks
            .iter()
            .map(|(name, ns)| format!("--benchmark_filter=^{name}\\$) name={name}; ns={ns};;\n"))
            .collect();
        self.script(
            name,
            &format!(
                "if [ \"$1\" = --benchmark_list_tests=true ]; then printf '{names}'; exit 0; fi\n\
                 case \"$1\" in\n{cases}*) exit 9;;\nesac\n\
                 noise=$(od -An -N2 -tu2 /dev/urandom)\n\
                 time=$((ns + ns * noise / 6553600))\n\
                 [ $ns -gt 0 ] || {{ echo 'index out of range' >&2; exit 101; }}\n\
                 printf '{{\"benchmarks\":[{{\"name\":\"%s\",\"run_type\":\"iteration\",\
                 \"real_time\":%s,\"time_unit\":\"ns\"}}]}}' \"$name\" \"$time\"\n"
            ),
        );
    }

    fn run(&self, arguments: &[&str], code: i32) -> (String, String) {
        self.run_in(self.0.path(), arguments, code)
    }

    fn run_in(&self, folder: &Path, arguments: &[&str], code: i32) -> (String, String) {
        let mut command = Command::new(PROOFMARK);
        command.args(arguments).env("PROOFMARK_STORE", self.path("store")).current_dir(folder);
        command.env("PROOFMARK_BUILD_CACHE", self.path("cache")).env("COLUMNS", "160");
        let output = command.output().expect("the program starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, talk) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{out}\n{talk}");
        (out, talk)
    }

    fn compare(&self, arguments: &[&str], code: i32) -> Value {
        let all = [&["compare", "--settle", "0", "--format", "json"], arguments].concat();
        serde_json::from_str(&self.run(&all, code).0).unwrap()
    }
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(arguments);
    let output = command.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn by_name<'a>(compared: &'a Value, name: &str) -> &'a Value {
    let rows = compared["benchmarks"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name} in {compared}"))
}

#[test]
fn equal_benchmarks_are_the_same_and_a_slower_one_is_found() {
    let place = Place::new();
    place.harness("old", &[("BM_equal", 1_000_000), ("BM_slower", 1_000_000), ("BM_gone", 5)]);
    place.harness("new", &[("BM_equal", 1_000_000), ("BM_slower", 1_050_000), ("BM_fresh", 5)]);
    let compared = place.compare(&["cmd:./old", "cmd:./new", "--benches"], 1);
    let equal = by_name(&compared, "bench/BM_equal");
    assert_eq!(
        (equal["standing"].as_str(), equal["outcome"].as_str()),
        (Some("SAME"), Some("UNPROVEN"))
    );
    let slower = by_name(&compared, "bench/BM_slower");
    assert_eq!(slower["standing"], "SLOWER");
    // It was raced twice, and the ratio is the planted one.
    let ratio = slower["confirmation"]["ratio"]["estimate"].as_f64().unwrap();
    assert!((ratio - 1.05).abs() < 0.01, "{ratio}");
    assert_eq!(compared["only_base"], serde_json::json!(["bench/BM_gone"]));
    assert_eq!(compared["only_other"], serde_json::json!(["bench/BM_fresh"]));
    // What is one-sided costs nothing: without the slower one the comparison passes.
    place.compare(&["cmd:./old", "cmd:./new", "--benches", "--filter", "BM_equal"], 0);
}

#[test]
fn a_benchmark_that_crashes_is_named_and_the_others_are_raced() {
    let place = Place::new();
    place.harness("old", &[("BM_fine", 1_000_000), ("BM_broken", 1_000_000)]);
    place.harness("new", &[("BM_fine", 1_000_000), ("BM_broken", 0)]);
    let compared = place.compare(&["cmd:./old", "cmd:./new", "--benches"], 7);
    let broken = by_name(&compared, "bench/BM_broken");
    assert_eq!(broken["fault"]["what"], "exit code 101");
    assert_eq!(broken["fault"]["said"], "index out of range");
    assert_eq!((broken["outcome"].as_str(), broken["screen"].is_null()), (Some("CRASHED"), true));
    assert_eq!(by_name(&compared, "bench/BM_fine")["standing"], "SAME");
    let (out, _) =
        place.run(&["compare", "cmd:./old", "cmd:./new", "--benches", "--settle", "0"], 7);
    assert!(out.contains("index out of range") && out.contains("exit code 101"), "{out}");
}

/// A command that counts so far, writes its result, and keeps a processor busy.
fn counting(count: u32) -> String {
    format!("cmd:sh -c 'i=0; while [ $i -lt {count} ]; do i=$((i+1)); done; echo done'")
}

#[test]
fn commands_that_are_equal_are_not_flagged_and_a_slower_one_is() {
    let place = Place::new();
    let (fast, slow) = (counting(20_000), counting(60_000));
    let all = ["compare", &fast, &fast, "--settle", "0", "--time", "5", "--format", "json"];
    let mut command = Command::new(PROOFMARK);
    command.args(all).arg("--store").arg(place.path("store"));
    let output = command.output().unwrap();
    // A loaded machine may leave it undecided, but it is not slower.
    assert!([Some(0), Some(5)].contains(&output.status.code()), "{output:?}");
    let compared = place.compare(&[&fast, &slow, "--time", "5", "--compare-output", "stdout"], 1);
    let row = &compared["benchmarks"][0];
    assert_eq!(
        (row["standing"].as_str(), row["outcome"].as_str()),
        (Some("SLOWER"), Some("AGREES"))
    );
    // There are ratios and no times, neither for people nor for programs.
    assert!(!compared.to_string().contains("_ns"), "{compared}");
    let (table, _) = place.run(&["report", "latest"], 0);
    assert!(table.contains("SLOWER") && table.contains("AGREES"), "{table}");
    let (replayed, _) = place.run(&["replay", "latest"], 0);
    assert!(!replayed.contains("different"), "{replayed}");
}

#[test]
fn a_changed_output_is_told_with_its_line_and_is_not_raced() {
    let place = Place::new();
    let base = "cmd:printf 'a\\nb\\n'";
    let compared = place.compare(&[base, "cmd:printf 'a\\nc\\n'", "--compare-output", "stdout"], 3);
    let row = &compared["benchmarks"][0];
    assert_eq!((row["outcome"].as_str(), row["screen"].is_null()), (Some("DIFFERS"), true));
    assert_eq!(row["output"], "line 2: `b` became `c`");
    let file = "file:result.txt";
    let writes = |word: &str| format!("cmd:sh -c 'echo {word} > result.txt'");
    place.compare(&[&writes("x"), &writes("y"), "--compare-output", file], 3);
    let silent = place.compare(&[&writes("x"), "cmd:true", "--compare-output", file], 7);
    let said = silent["benchmarks"][0]["fault"]["what"].as_str().unwrap();
    assert!(said.contains("did not write `result.txt`"), "{said}");
}

#[test]
fn a_command_that_dies_is_named_with_its_signal_and_last_words() {
    let place = Place::new();
    let dies = "cmd:sh -c 'echo bad state >&2; kill -SEGV $$'";
    let compared = place.compare(&["cmd:true", dies], 7);
    let fault = &compared["benchmarks"][0]["fault"];
    assert_eq!(fault["what"], "signal 11 (SIGSEGV)");
    assert!(fault["said"].as_str().unwrap().contains("bad state"), "{fault}");
    // Another exit code may mean success.
    place.compare(&["cmd:sh -c 'exit 3'", "cmd:true", "--exit-code", "3"], 7);
    let (_, talk) = place.run(&["compare", "cmd:true", "cmd:./nowhere"], 7);
    assert!(!talk.contains("panicked"), "{talk}");
}

#[test]
fn what_cannot_be_raced_is_told_with_what_to_do() {
    let place = Place::new();
    for (arguments, word) in [
        (&["cmd:./a 'x", "cmd:./b"][..], "quotes"),
        (&["cmd:./a | ./b", "cmd:./b"], "sh -c"),
        (&["cmd:./a", "native/simd"], "another command"),
        (&["cmd:./nowhere", "cmd:./nowhere", "--benches"], "cannot read the program"),
        (&["native/simd", "native/simd", "--benches"], "rev:REVISION"),
    ] {
        let (_, talk) = place.run(&[&["compare"], arguments].concat(), 2);
        assert!(talk.contains(word), "{arguments:?}: {talk}");
    }
}

#[test]
fn a_check_of_commands_keeps_the_limit_of_its_project() {
    let place = Place::new();
    let row = |new: &str| {
        format!(
            "[check]\nseconds = 5\n[policy]\nslower = 5\n[[command]]\nname = \"count\"\n\
             base = \"sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'\"\n\
             new = \"{new}\"\noutput = \"stdout\"\n"
        )
    };
    let slow = "sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'";
    fs::write(place.path("proofmark.toml"), row(slow)).unwrap();
    let (out, _) = place.run(&["check", "--settle", "0"], 1);
    assert!(out.contains("count") && out.contains("SLOWER"), "{out}");
    fs::write(place.path("proofmark.toml"), row("true")).unwrap();
    let (out, _) = place.run(&["check", "--settle", "0", "--format", "markdown"], 0);
    assert!(out.contains("| count") && out.contains("FASTER"), "{out}");
    fs::write(place.path("proofmark.toml"), format!("{}[benches]\n", row("true"))).unwrap();
    let (_, talk) = place.run(&["check"], 2);
    assert!(talk.contains("more than one of"), "{talk}");
}

/// A cargo project without dependencies, whose bench answers as a program of Google Benchmark does:
/// it builds in a second, and its times are of its own choice.
fn write_project(folder: &Path, ns: u32, names: &str) {
    let manifest = "[package]\nname = \"stranger\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\
                    [workspace]\n[[bench]]\nname = \"speed\"\nharness = false\n";
    let bench = format!(
        "fn main() {{\n\
         \x20   let words: Vec<String> = std::env::args().collect();\n\
         \x20   if words[1] == std::hint::black_box(\"--benchmark_list_tests=true\") {{\n\
         \x20       for name in {names} {{ println!(\"{{name}}\"); }}\n\
         \x20       return;\n\
         \x20   }}\n\
         \x20   let name = words[1].trim_start_matches(\"--benchmark_filter=^\").trim_end_matches('$');\n\
         \x20   let noise = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 1) % 1000;\n\
         \x20   let ns = {ns} as f64 * (1.0 + noise as f64 / 1e5);\n\
         \x20   println!(r#\"{{{{\"benchmarks\":[{{{{\"name\":\"{{name}}\",\"run_type\":\"iteration\",\
         \"real_time\":{{ns}},\"time_unit\":\"ns\"}}}}]}}}}\"#);\n\
         }}\n"
    );
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::create_dir_all(folder.join("benches")).unwrap();
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.join("src/lib.rs"), "").unwrap();
    fs::write(folder.join("benches/speed.rs"), bench).unwrap();
}

#[test]
fn a_strangers_repository_goes_from_init_to_a_green_and_a_red_check() {
    let place = Place::new();
    let folder = place.path("repo");
    fs::create_dir_all(&folder).unwrap();
    git(&folder, &["init", "--quiet", "--initial-branch", "trunk"]);
    write_project(&folder, 100_000, "[\"one\", \"two\"]");
    let (_, talk) = place.run_in(&folder, &["init", "--github"], 0);
    for word in ["1 bench target (speed)", "minutes", "rev:", "proofmark check"] {
        assert!(talk.contains(word) || word == "rev:", "{word} in {talk}");
    }
    let file = fs::read_to_string(folder.join("proofmark.toml")).unwrap();
    assert!(file.contains("baseline = \"rev:trunk\"") && file.contains("[benches]"), "{file}");
    assert!(folder.join(".github/workflows/proofmark.yml").is_file());
    git(&folder, &["add", "--all"]);
    git(&folder, &["commit", "--quiet", "--message", "first"]);
    let check = ["check", "--settle", "0"];
    let (out, _) = place.run_in(&folder, &check, 0);
    assert!(out.contains("2 benchmarks: 2 SAME") && out.contains("byte for byte"), "{out}");
    // A store that came with a commit may hold anything.
    fs::create_dir(folder.join("brought")).unwrap();
    fs::write(folder.join("brought/note"), "").unwrap();
    git(&folder, &["add", "--all"]);
    let (_, talk) = place.run_in(&folder, &["check", "--settle", "0", "--store", "brought"], 4);
    assert!(talk.contains("brought"), "{talk}");
    write_project(&folder, 110_000, "[\"one\", \"three\"]");
    let (out, _) = place.run_in(&folder, &check, 1);
    assert!(out.contains("speed/one") && out.contains("SLOWER"), "{out}");
    assert!(out.contains("only rev:trunk has speed/two"), "{out}");
    fs::write(folder.join("benches/speed.rs"), "fn main() { broken }").unwrap();
    let (_, talk) = place.run_in(&folder, &check, 7);
    assert!(talk.contains("does not build") || talk.contains("broken"), "{talk}");
}

#[test]
fn the_first_slower_revision_is_found_and_one_that_does_not_build_is_skipped() {
    let place = Place::new();
    let folder = place.path("repo");
    fs::create_dir_all(&folder).unwrap();
    git(&folder, &["init", "--quiet"]);
    for (number, ns) in [100, 100, 100, 0, 100, 112, 112, 112].into_iter().enumerate() {
        write_project(&folder, ns * 1000, "[\"one\", \"two\"]");
        if ns == 0 {
            fs::write(folder.join("benches/speed.rs"), "fn main() { broken }").unwrap();
        }
        fs::write(folder.join("number"), number.to_string()).unwrap();
        git(&folder, &["add", "--all"]);
        git(&folder, &["commit", "--quiet", "--message", &format!("number {number}")]);
    }
    let ends = ["bisect", "--good", "HEAD~7", "--settle", "0", "--format", "json"];
    let (out, _) = place.run_in(&folder, &ends, 0);
    let found: Value = serde_json::from_str(&out).unwrap();
    let mut ask = Command::new("git");
    let said = ask.args(["rev-parse", "HEAD~2"]).current_dir(&folder).output().unwrap();
    assert_eq!(found["first_bad"], String::from_utf8_lossy(&said.stdout).trim(), "{found}");
    assert_eq!(found["suspects"], serde_json::json!([]));
    // What is known is not raced again.
    let (out, _) = place.run_in(&folder, &ends, 0);
    let again: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(again["first_bad"], found["first_bad"]);
    let judged = |found: &Value| found["tried"].as_array().unwrap().len();
    assert!(judged(&again) < judged(&found), "{again} {found}");
    let (_, talk) = place.run_in(&folder, &["bisect", "--good", "HEAD~7", "--bad", "HEAD~4"], 7);
    assert!(talk.contains("build"), "{talk}");
    let (_, talk) = place.run_in(&folder, &["bisect", "--good", "HEAD~7", "--bad", "HEAD~6"], 2);
    assert!(talk.contains("not slower"), "{talk}");
}

/// criterion and divan as the registry has them. It downloads and compiles both, so that it runs
/// where it is asked for: `cargo nextest run -p proofmark --run-ignored only programs`.
#[test]
#[ignore = "it builds criterion and divan from the registry, which takes minutes"]
fn criterion_and_divan_are_listed_and_raced() {
    let place = Place::new();
    let folder = place.path("repo");
    fs::create_dir_all(folder.join("benches")).unwrap();
    fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = "[package]\nname = \"stranger\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\
                    [workspace]\n[dev-dependencies]\n\
                    criterion = { version = \"0.8\", default-features = false }\ndivan = \"0.1\"\n\
                    [[bench]]\nname = \"crit\"\nharness = false\n\
                    [[bench]]\nname = \"div\"\nharness = false\n";
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    let work = |count: u32| {
        format!(
            "pub fn work() -> u64 {{ (0..{count}).fold(0, |sum: u64, i| \
             std::hint::black_box(sum.wrapping_mul(31).wrapping_add(i))) }}"
        )
    };
    fs::write(folder.join("src/lib.rs"), work(1000)).unwrap();
    fs::write(
        folder.join("benches/crit.rs"),
        "use criterion::{criterion_group, criterion_main, Criterion};\n\
         fn all(c: &mut Criterion) { c.bench_function(\"work (small)\", |b| b.iter(stranger::work)); }\n\
         criterion_group!(benches, all);\ncriterion_main!(benches);\n",
    )
    .unwrap();
    fs::write(
        folder.join("benches/div.rs"),
        "fn main() { divan::main(); }\n#[divan::bench(args = [1, 2])]\n\
         fn work(n: u32) -> u64 { (0..n).map(|_| stranger::work()).sum() }\n",
    )
    .unwrap();
    git(&folder, &["init", "--quiet"]);
    git(&folder, &["add", "--all"]);
    git(&folder, &["commit", "--quiet", "--message", "first"]);
    fs::write(folder.join("src/lib.rs"), work(1500)).unwrap();
    let all = ["compare", "rev:HEAD", "rev:.", "--benches", "--settle", "0", "--format", "json"];
    let (out, _) = place.run_in(&folder, &all, 1);
    let compared: Value = serde_json::from_str(&out).unwrap();
    for (name, harness) in [
        ("crit/work (small)", "criterion"),
        ("div/div::work::1", "divan"),
        ("div/div::work::2", "divan"),
    ] {
        let row = by_name(&compared, name);
        assert_eq!(
            (row["harness"].as_str(), row["standing"].as_str()),
            (Some(harness), Some("SLOWER"))
        );
    }
}
