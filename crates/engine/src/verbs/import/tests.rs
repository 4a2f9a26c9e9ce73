//! Files of each format, those that are none, and hostile ones.

use super::*;
use std::fs;

const GO: &str = "\
goos: linux
BenchmarkFib20-8   	   30000	     41653 ns/op	 12 B/op
BenchmarkFib20-8   	   30000	     41655 ns/op
BenchmarkFib20-8   	   30000	     41651 ns/op
Benchmarking is fun 3 4 ns/op
BenchmarkOther 1 7.5 MB/s
ok
";

const GOOGLE: &str = r#"{"context": {}, "benchmarks": [
  {"name": "a", "run_name": "a", "run_type": "iteration", "real_time": 2.0, "time_unit": "us"},
  {"name": "a", "run_name": "a", "run_type": "iteration", "real_time": 4.0, "time_unit": "us"},
  {"name": "a_mean", "run_name": "a", "run_type": "aggregate", "aggregate_name": "mean",
   "real_time": 9.0, "time_unit": "us"},
  {"name": "b", "real_time": 5, "time_unit": "ms"}]}"#;

const HYPERFINE: &str = r#"{"results": [{"command": "sleep {n}", "mean": 0.2, "median": 0.2,
  "min": 0.1, "max": 0.3, "times": [0.1, 0.2, 0.3], "parameters": {"n": "1"}}]}"#;

const MEDIAN: &str = r#"{"median": {"point_estimate": 12.5, "confidence_interval":
    {"confidence_level": 0.95, "lower_bound": 12.0, "upper_bound": 13.0}}}"#;

fn read(text: &str, from: Option<&str>) -> Result<Imported, EngineError> {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store")).unwrap();
    let file = folder.path().join("some file.txt");
    fs::write(&file, text).unwrap();
    let first = import(&store, &file, from)?;
    assert_eq!(import(&store, &file, from)?, first, "the same file is the same import");
    assert_eq!(store.import_names().unwrap(), [first.name.as_str()]);
    assert_eq!(imported(&store, &first.name)?, first);
    Ok(first)
}

fn times(imported: &Imported) -> Vec<(&str, f64, usize)> {
    imported.rows.iter().map(|row| (row.name.as_str(), row.time.estimate, row.values)).collect()
}

#[test]
fn each_format_is_told_from_its_contents() {
    let go = read(GO, None).unwrap();
    assert_eq!((go.from.as_str(), times(&go)), ("go", vec![("BenchmarkFib20-8", 41653.0, 3)]));
    let google = read(GOOGLE, None).unwrap();
    assert_eq!(google.from, "google");
    assert_eq!(times(&google), [("a", 3000.0, 2), ("b", 5e6, 1)]);
    let hyperfine = read(HYPERFINE, None).unwrap();
    assert_eq!(hyperfine.from, "hyperfine");
    assert_eq!(times(&hyperfine), [("sleep {n} n=1", 2e8, 3)]);
    assert!(hyperfine.name.starts_with("somefile-"), "{}", hyperfine.name);
}

#[test]
fn what_is_no_benchmark_says_so_and_keeps_nothing() {
    for (text, from) in [
        ("", None),
        ("hello", None),
        ("{}", None),
        ("{\"benchmarks\": []}", None),
        ("{\"results\": 3}", Some("hyperfine")),
        ("{", Some("google")),
        (GO, Some("criterion")),
    ] {
        let error = read(text, from).unwrap_err();
        assert!(matches!(error, EngineError::Import { .. }), "{text}: {error}");
        assert!(error.hint().is_some());
    }
}

#[test]
fn a_folder_of_criterions_is_read_with_the_names_of_its_benchmarks() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store")).unwrap();
    let place = |name: &str| folder.path().join("criterion/g/f").join(name);
    for name in ["new", "change", "main"] {
        fs::create_dir_all(place(name)).unwrap();
        fs::write(place(name).join("estimates.json"), MEDIAN).unwrap();
        fs::write(place(name).join("benchmark.json"), r#"{"full_id": "g/f"}"#).unwrap();
    }
    let read = import(&store, &folder.path().join("criterion"), None).unwrap();
    assert_eq!(times(&read), [("g/f (main)", 12.5, 0), ("g/f", 12.5, 0)]);
    assert_eq!((read.rows[0].time.low, read.rows[0].time.confidence), (12.0, 0.95));
}

/// As many as a generated benchmark may have. A linear search of all names for each one took
/// minutes.
const MANY: usize = 200_000;

#[test]
fn many_different_names_are_read_in_their_order() {
    let go: String = (0..MANY).map(|n| format!("BenchmarkN{n} 1 {}.5 ns/op\n", n % 1000)).collect();
    let line = |n: usize| {
        format!(r#"{{"name": "n{n}", "run_type": "iteration", "real_time": {}.5}}"#, n % 1000)
    };
    let lines: Vec<String> = (0..MANY).map(line).collect();
    let google = format!(r#"{{"benchmarks": [{}]}}"#, lines.join(","));
    for (text, importer, stem) in
        [(go, &go::IMPORTER, "BenchmarkN"), (google, &google::IMPORTER, "n")]
    {
        let rows = (importer.read)(&text).unwrap();
        assert_eq!(rows.len(), MANY);
        for n in [0, 1, 777, MANY - 1] {
            let row = &rows[n];
            assert_eq!(row.name, format!("{stem}{n}"));
            assert_eq!((row.time.estimate, row.values), ((n % 1000) as f64 + 0.5, 1));
        }
    }
}

/// A folder of criterion's with one benchmark, and a change to it.
fn criterion_with(change: impl FnOnce(&Path)) -> Result<Imported, EngineError> {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store")).unwrap();
    let new = folder.path().join("criterion/f/new");
    fs::create_dir_all(&new).unwrap();
    fs::write(new.join("estimates.json"), MEDIAN).unwrap();
    change(&new);
    import(&store, &folder.path().join("criterion"), None)
}

#[test]
fn a_file_of_criterions_that_is_too_long_is_named() {
    for name in ["estimates.json", "benchmark.json", "sample.json"] {
        let long = " ".repeat(17 << 20);
        let told = criterion_with(|new| fs::write(new.join(name), &long).unwrap()).unwrap_err();
        let told = told.to_string();
        assert!(told.contains(name) && told.contains("16 MiB"), "{told}");
    }
}

#[test]
fn a_folder_with_too_many_folders_or_bytes_in_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..20 {
        let new = folder.path().join(format!("f{n}/new"));
        fs::create_dir_all(&new).unwrap();
        fs::write(new.join("estimates.json"), MEDIAN).unwrap();
    }
    let read = |folders, bytes| {
        criterion::read_folder(folder.path(), criterion::Limits { folders, bytes })
    };
    // The folder itself, and two of each benchmark.
    assert_eq!(read(41, 1 << 20).unwrap().len(), 20);
    for folders in [0, 1, 20, 21, 22, 40] {
        let told = read(folders, 1 << 20).unwrap_err();
        assert!(told.contains(&format!("more than {folders} folders")), "{told}");
    }
    let bytes = 20 * MEDIAN.len() as u64;
    assert_eq!(read(41, bytes).unwrap().len(), 20);
    let told = read(41, bytes - 1).unwrap_err();
    assert!(told.contains(&format!("more than {} bytes", bytes - 1)), "{told}");
}
