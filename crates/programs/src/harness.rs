//! Other harnesses: how each lists its benchmarks, runs one of them briefly, and says what one
//! iteration took.
//!
//! One sample is one process that measures one benchmark for a few hundredths of a second. The
//! figure is the harness's own time of one iteration: the process around it would dilute it.

use crate::command::Command;
use crate::divan;
use crate::process::{Failed, Scratch};
use proofmark_schema::program::Harness;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Seconds for which a harness warms up in each process, and for which it measures, if it has
/// options for them.
const WARM_UP_SECONDS: f64 = 0.01;
const MEASURED_SECONDS: f64 = 0.02;
/// Samples that criterion takes in a process: the least that it allows.
const CRITERION_SAMPLES: u32 = 10;
/// Resamples of criterion's own analysis, which is not used: the least that it does not warn of.
const CRITERION_RESAMPLES: u32 = 1001;

/// A benchmark of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bench {
    /// The target or program that has it.
    pub target: String,
    /// Its name within it.
    pub name: String,
    /// What times it.
    pub harness: Harness,
    /// The program.
    pub program: Command,
}

impl Bench {
    /// The name that tells it from all others of a comparison.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.target, self.name)
    }
}

/// Marks that harnesses leave in the programs that they are part of: the names of their settings,
/// and of a function where the harness is a shared library.
const MARKS: [(&str, Harness); 4] = [
    ("CRITERION_HOME", Harness::Criterion),
    ("DIVAN_SAMPLE_COUNT", Harness::Divan),
    ("benchmark_list_tests", Harness::Google),
    ("benchmark10Initialize", Harness::Google),
];
/// The mark of a harness that proves and measures kernels by itself.
const OWN_MARK: &str = "PROOFMARK_BENCHES";

/// What a program's bytes say about its harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detected {
    /// It is raced.
    Known(Harness),
    /// It is a program of `proofmark-bench`, which proves and measures by itself.
    Own,
}

/// The harness of a program, by what stands in its bytes; without a mark that of the compiler.
///
/// # Errors
/// If the file cannot be read.
pub fn detect(path: &Path) -> std::io::Result<Detected> {
    let bytes = std::fs::read(path)?;
    Ok(detect_in(&bytes))
}

fn detect_in(bytes: &[u8]) -> Detected {
    let has = |mark: &str| bytes.windows(mark.len()).any(|at| at == mark.as_bytes());
    if has(OWN_MARK) {
        return Detected::Own;
    }
    let known = MARKS.iter().find(|(mark, _)| has(mark)).map(|(_, harness)| *harness);
    Detected::Known(known.unwrap_or(Harness::Libtest))
}

/// The benchmarks of a program, in the order in which it names them.
///
/// # Errors
/// If the program does not list them.
pub fn list(
    target: &str,
    program: &Command,
    harness: Harness,
    scratch: &Scratch,
    timeout_ns: u64,
) -> Result<Vec<Bench>, Failed> {
    let args: &[&str] = match harness {
        Harness::Command => &[],
        Harness::Criterion | Harness::Libtest => &["--bench", "--list"],
        // Its own list leaves out arguments, so that all benchmarks are run once instead.
        Harness::Divan => &divan::ONCE,
        Harness::Google => &["--benchmark_list_tests=true"],
    };
    let asked = program.clone().with_args(args.iter().copied());
    let said = scratch.run(&asked, timeout_ns)?.stdout;
    let said = String::from_utf8_lossy(&said);
    let names = match harness {
        Harness::Command => Vec::new(),
        Harness::Criterion | Harness::Libtest => listed(&said),
        Harness::Divan => divan::rows(&said).into_iter().map(|row| row.path).collect(),
        Harness::Google => {
            said.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
        }
    };
    let bench = |name| Bench { target: target.to_owned(), name, harness, program: program.clone() };
    Ok(names.into_iter().map(bench).collect())
}

/// The names of a list as libtest and criterion write it: `name: benchmark`, or `name: bench`.
fn listed(text: &str) -> Vec<String> {
    let name = |line: &str| {
        let (name, kind) = line.rsplit_once(": ")?;
        ["bench", "benchmark"].contains(&kind).then(|| name.to_owned())
    };
    text.lines().filter_map(name).collect()
}

/// The command that measures one benchmark once, with a private folder for what it writes.
pub fn measuring(bench: &Bench, home: &Path) -> Command {
    let program = bench.program.clone();
    let name = &bench.name;
    match bench.harness {
        Harness::Command => program,
        Harness::Criterion => {
            let mut command = program.with_args([
                "--bench".to_owned(),
                format!("^{}$", escaped(name)),
                "--noplot".to_owned(),
                "--warm-up-time".to_owned(),
                WARM_UP_SECONDS.to_string(),
                "--measurement-time".to_owned(),
                MEASURED_SECONDS.to_string(),
                "--sample-size".to_owned(),
                CRITERION_SAMPLES.to_string(),
                "--nresamples".to_owned(),
                CRITERION_RESAMPLES.to_string(),
            ]);
            command.environment.push(("CRITERION_HOME".to_owned(), home.display().to_string()));
            command
        }
        Harness::Divan => program.with_args(divan::measuring(name, MEASURED_SECONDS)),
        Harness::Libtest => program.with_args(["--bench", "--exact", name]),
        Harness::Google => program.with_args([
            format!("--benchmark_filter=^{}$", escaped(name)),
            "--benchmark_format=json".to_owned(),
            format!("--benchmark_min_time={MEASURED_SECONDS}"),
        ]),
    }
}

/// Nanoseconds of one iteration, from what a measuring process printed and wrote.
///
/// # Errors
/// If there is no figure of the benchmark, in words.
pub fn reading(bench: &Bench, stdout: &[u8], home: &Path) -> Result<f64, String> {
    let text = String::from_utf8_lossy(stdout);
    let found = match bench.harness {
        Harness::Command => None,
        Harness::Criterion => of_criterion(home),
        Harness::Divan => divan::median_ns(&text, &bench.name),
        Harness::Libtest => of_libtest(&text),
        Harness::Google => of_google(&text, &bench.name),
    };
    found.filter(|ns| ns.is_finite() && *ns > 0.0).ok_or_else(|| {
        format!("the {} program printed no time of `{}`", bench.harness.name(), bench.name)
    })
}

/// The median over criterion's samples of the time of one iteration. The folder is private to one
/// process that measured one benchmark, so that it has one such file.
fn of_criterion(home: &Path) -> Option<f64> {
    let path = find_file(home, "new/sample.json", 8)?;
    let data: Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let numbers = |name: &str| -> Option<Vec<f64>> {
        data[name].as_array()?.iter().map(Value::as_f64).collect()
    };
    let (iterations, times) = (numbers("iters")?, numbers("times")?);
    let each: Vec<f64> = times.iter().zip(&iterations).map(|(time, count)| time / count).collect();
    proofmark_stats::median(&each)
}

/// The first file below a folder whose path ends with these names.
fn find_file(folder: &Path, end: &str, depth: usize) -> Option<PathBuf> {
    let direct = folder.join(end);
    if direct.is_file() {
        return Some(direct);
    }
    let folders = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let mut folders: Vec<PathBuf> = folders.filter(|path| path.is_dir() && depth > 0).collect();
    folders.sort();
    folders.iter().find_map(|folder| find_file(folder, end, depth - 1))
}

/// The figure of `test name ... bench:   1,234.56 ns/iter (+/- 12)`.
fn of_libtest(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.contains("ns/iter"))?;
    let (_, rest) = line.split_once("bench:")?;
    let (figure, _) = rest.split_once("ns/iter")?;
    figure.trim().replace(',', "").parse().ok()
}

fn of_google(text: &str, name: &str) -> Option<f64> {
    let data: Value = serde_json::from_str(text).ok()?;
    let is_it = |row: &&Value| row["name"] == name && row["run_type"] != "aggregate";
    let row = data["benchmarks"].as_array()?.iter().find(is_it)?;
    if row["error_occurred"] == true {
        return None;
    }
    let unit = match row["time_unit"].as_str()? {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(row["real_time"].as_f64()? * unit)
}

/// A name as a regular expression that means it alone.
fn escaped(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if "\\.+*?()|[]{}^$".contains(c) {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench(harness: Harness, name: &str) -> Bench {
        let program = Command::program(Path::new("/bin/x"));
        Bench { target: "t".to_owned(), name: name.to_owned(), harness, program }
    }

    #[test]
    fn lists_are_read_as_the_harnesses_write_them() {
        let said =
            "sum 1000: benchmark\n\ngroup/a: b: bench\nparses: test\n\n1 test, 2 benchmarks\n";
        assert_eq!(listed(said), ["sum 1000", "group/a: b"]);
    }

    #[test]
    fn a_harness_is_known_by_its_marks() {
        assert_eq!(detect_in(b"..DIVAN_SAMPLE_COUNT.."), Detected::Known(Harness::Divan));
        assert_eq!(detect_in(b"CRITERION_HOME"), Detected::Known(Harness::Criterion));
        assert_eq!(detect_in(b"--benchmark_list_tests"), Detected::Known(Harness::Google));
        assert_eq!(detect_in(b"_ZN9benchmark10InitializeEPiPPc"), Detected::Known(Harness::Google));
        assert_eq!(detect_in(b"nothing"), Detected::Known(Harness::Libtest));
        assert_eq!(detect_in(OWN_MARK.as_bytes()), Detected::Own);
    }

    #[test]
    fn a_filter_means_one_benchmark_alone() {
        assert_eq!(escaped("sum(200)/a+b"), "sum\\(200\\)/a\\+b");
        let command = measuring(&bench(Harness::Google, "BM_x/8"), Path::new("/h"));
        assert!(command.words.contains(&"--benchmark_filter=^BM_x/8$".to_owned()));
        let command = measuring(&bench(Harness::Criterion, "a.b"), Path::new("/h"));
        assert!(command.words.contains(&"^a\\.b$".to_owned()));
        assert_eq!(command.environment, [("CRITERION_HOME".to_owned(), "/h".to_owned())]);
    }

    #[test]
    fn figures_are_read_in_nanoseconds() {
        let none = Path::new("/nowhere");
        let said = b"\nrunning 1 test\ntest a::b ... bench:       1,234.50 ns/iter (+/- 12.00)\n";
        assert_eq!(reading(&bench(Harness::Libtest, "a::b"), said, none), Ok(1234.5));
        let said = br#"{"benchmarks":[
            {"name":"BM_x","run_type":"aggregate","real_time":9.0,"time_unit":"ns"},
            {"name":"BM_x","run_type":"iteration","real_time":2.5,"time_unit":"us"},
            {"name":"BM_y","run_type":"iteration","error_occurred":true,"real_time":2.5,"time_unit":"us"}]}"#;
        assert_eq!(reading(&bench(Harness::Google, "BM_x"), said, none), Ok(2500.0));
        assert!(reading(&bench(Harness::Google, "BM_y"), said, none).is_err());
        let said = reading(&bench(Harness::Google, "BM_z"), said, none).unwrap_err();
        assert!(said.contains("printed no time of `BM_z`"), "{said}");
    }

    #[test]
    fn criterions_figure_is_the_median_over_its_samples() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("group/sum(200)/new");
        std::fs::create_dir_all(&folder).unwrap();
        let sample = r#"{"sampling_mode":"Linear","iters":[1.0,2.0,3.0],"times":[10.0,22.0,90.0]}"#;
        std::fs::write(folder.join("sample.json"), sample).unwrap();
        assert_eq!(reading(&bench(Harness::Criterion, "x"), b"", home.path()), Ok(11.0));
    }
}
