//! The command line as a person meets it: words in, words out, exit codes.
#![expect(clippy::disallowed_methods, reason = "a test starts the program")]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn proofmark(arguments: &[&str]) -> Output {
    with_environment(arguments, &[])
}

fn with_environment(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.args(arguments).envs(environment.iter().copied());
    command.output().expect("the program starts")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn talk(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn tiny(store: &Path, more: &[&str]) -> Output {
    let mut arguments = vec!["bench", "add", "--quick", "--dtype", "f32", "--threads", "1"];
    arguments.extend(["--with", "native/scalar native/simd", "--sweep", "b=2 s=3 d=17"]);
    arguments.extend(["--settle", "0", "--store", store.to_str().unwrap()]);
    arguments.extend(more);
    proofmark(&arguments)
}

#[test]
fn no_command_and_help_show_the_way() {
    let none = proofmark(&[]);
    assert_eq!(none.status.code(), Some(2));
    let help = proofmark(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    for word in [
        "baseline",
        "bench",
        "compare",
        "doctor",
        "list",
        "machine",
        "prove",
        "repro",
        "selftest",
        "Exit codes",
    ] {
        assert!(out(&help).contains(word), "{word}");
    }
    assert!(!out(&help).contains("__worker"));
}

#[test]
fn the_long_version_names_commit_compiler_and_target_and_the_short_one_is_a_line() {
    let short = out(&proofmark(&["-V"]));
    assert_eq!(short, concat!("proofmark ", env!("CARGO_PKG_VERSION"), "\n"));
    let long = out(&proofmark(&["--version"]));
    let lines: Vec<&str> = long.lines().collect();
    assert_eq!(lines.len(), 4, "{long}");
    assert_eq!(format!("{}\n", lines[0]), short);
    let commit = lines[1].strip_prefix("commit:   ").expect("a commit");
    let hash = commit.strip_suffix(" (modified)").unwrap_or(commit);
    let is_hash = hash.len() == 40 && hash.chars().all(|letter| letter.is_ascii_hexdigit());
    assert!(is_hash || commit == "unknown", "{commit}");
    assert!(lines[2].starts_with("compiler: rustc 1."), "{long}");
    assert!(lines[3].starts_with("target:   x86_64-"), "{long}");
}

#[test]
fn a_typo_in_an_ops_name_is_answered_with_the_nearest() {
    for arguments in [&["bench", "rmsnorm"][..], &["prove", "rms_nrom"], &["list", "--op", "rms"]] {
        let output = proofmark(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(talk(&output).contains("did you mean `rms_norm`?"), "{}", talk(&output));
        assert!(out(&output).is_empty());
    }
}

#[test]
fn a_wrong_axis_sweep_attribute_or_isa_says_what_would_be_right() {
    for (arguments, environment, word) in [
        (&["bench", "add", "--dry-run", "--sweep", "q=3"][..], &[][..], "axes: b, s, d"),
        (&["bench", "add", "--dry-run", "--sweep", "d=1:x"], &[], "a:b:step"),
        (&["bench", "add", "--dry-run", "--attr", "eps=1"], &[], "attributes: "),
        (&["bench", "add", "--dry-run", "--dtype", "i8"], &[], "defined: "),
        (&["bench", "add", "--dry-run", "--with", "native/nobody"], &[], "native/nobody"),
        (&["bench", "add", "--dry-run", "--cache", "weights-cold"], &[], "has no weights"),
        (&["bench", "add", "--dry-run", "--cache", "warm"], &[], "hot, cold, rotate"),
        (&["bench", "add", "--settle=-1"], &[], "settle"),
        (&["bench", "add", "--dry-run"], &[("PROOFMARK_ISA", "sse9")], "sse9"),
        (&["repro", "add:f32[b=1", "--with", "native/scalar"], &[], "op:dtype"),
        (&["bench", "--resume", "nothing", "--store", "/nonexistent/store"], &[], "store"),
    ] {
        let output = with_environment(arguments, environment);
        let code = output.status.code();
        assert!(code == Some(2) || code == Some(6), "{arguments:?}: {code:?}");
        assert!(talk(&output).contains(word), "{arguments:?}: {}", talk(&output));
    }
}

#[test]
fn what_no_memory_holds_is_an_error_and_no_panic() {
    let most = "18446744073709551615";
    for (arguments, words) in [
        (["softmax", &format!("b={most} s={most} d=8")], "axis `b`"),
        (["matmul", "m=1099511627776 n=1099511627776 k=2"], "sizes multiplied"),
        (["lstm", "t=1 b=1 i=1 h=1099511627776"], "sizes multiplied"),
    ] {
        let [op, sweep] = arguments;
        let output = proofmark(&["bench", op, "--sweep", sweep, "--dry-run"]);
        assert_eq!(output.status.code(), Some(2), "{op} {sweep}: {}", talk(&output));
        assert!(talk(&output).contains(words), "{op} {sweep}: {}", talk(&output));
    }
    let case = "softmax:f32[b=1,s=1,d=999999999999]";
    let sweep = ["bench", "softmax", "--dtype", "f32", "--sweep", "b=1 s=1 d=999999999999"];
    let others = [
        &["repro", case, "--with", "native/simd"][..],
        &["compare", "native/simd", "native/scalar", "--case", case],
    ];
    for arguments in [&[&sweep[..], &["--dry-run"]].concat()[..], &sweep].iter().chain(&others) {
        let output = proofmark(arguments);
        assert_eq!(output.status.code(), Some(6), "{arguments:?}: {}", talk(&output));
        let told = talk(&output);
        assert!(told.contains("needs about 21.8 TiB") && told.contains("are free"), "{told}");
        assert!(told.contains("hint: "), "{told}");
    }
    // Beside a case that fits, it is left out and the reason is reported.
    let sweep = ["bench", "softmax", "--dtype", "f32", "--sweep", "b=1 s=1 d=8,999999999999"];
    let output = proofmark(&[&sweep[..], &["--dry-run", "--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let plan: Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!(plan["items"].as_array().unwrap().len(), 1, "{plan:#}");
    assert!(out(&output).contains("needs about 21.8 TiB"), "{plan:#}");
}

#[test]
fn a_name_that_nobody_has_is_an_error_also_beside_others() {
    let bench = ["bench", "add", "--dry-run", "--with"];
    let scale = ["scale", "add", "--quick", "--with"];
    let prove = ["prove", "add", "--dtype", "f32", "--with"];
    let repro = ["repro", "add:f32[b=1,s=1,d=8]", "--with"];
    for (command, with, near) in [
        (&bench[..], "native/simd native/smid", "native/simd"),
        (&bench, "native/*,peer/opnblas", "peer/openblas"),
        (&bench, "native/simd native/simd@avx3", "native/simd"),
        (&scale, "native/parallel native/paralel", "native/parallel"),
        (&prove, "native/scalar native/smid", "native/simd"),
        (&repro, "mutant/tail_droped", "mutant/tail_dropped"),
        (&repro, "peer/opnblas", "peer/openblas"),
    ] {
        let output = proofmark(&[command, &[with]].concat());
        assert_eq!(output.status.code(), Some(2), "{command:?} {with}: {}", talk(&output));
        let told = talk(&output);
        assert!(told.contains(&format!("did you mean `{near}`?")), "{command:?} {with}: {told}");
    }
    // A star that matches no contender, a peer that is not here and a path that a machine may lack
    // are not typing errors.
    let folder = tempfile::tempdir().unwrap();
    let shelf = [("PROOFMARK_PEERS", folder.path().to_str().unwrap())];
    for with in ["native/simd peer/zz*", "native/simd peer/jax", "native/simd native/simd@avx512"] {
        let output = with_environment(&[&bench[..], &[with]].concat(), &shelf);
        assert_eq!(output.status.code(), Some(0), "{with}: {}", talk(&output));
    }
}

#[test]
fn empty_and_impossible_arguments_are_refused() {
    let arms = ["native/simd", "native/scalar"];
    let case = ["--case", "add:f32[b=1,s=1,d=8]"];
    let compare =
        |more: [&'static str; 2]| [&["compare"], &arms[..], &case[..], &more[..]].concat();
    for arguments in [
        vec!["bench", "add", "--dry-run", "--sweep", ""],
        compare(["--seconds", "nan"]),
        compare(["--seconds", "inf"]),
        compare(["--seconds", "0"]),
        compare(["--seconds=-1", "--quiet"]),
        compare(["--alpha", "0"]),
        vec!["check", "--seconds", "nan"],
        vec!["tune", "add", "--alpha", "0"],
        vec!["tune", "add", "--seconds", "inf"],
        vec!["scale", "add", "--settle", "nan"],
        vec!["selftest", "timing", "--seconds", "0"],
        vec!["baseline", "save", ""],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let output = with_environment(&arguments, &[("PROOFMARK_STORE", store.to_str().unwrap())]);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", talk(&output));
    }
}

#[test]
fn a_dry_run_prints_the_plan_and_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = tiny(folder.path(), &["--dry-run"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(out(&output).contains("add:f32[b=2,s=3,d=17]"), "{}", out(&output));
    assert!(!folder.path().join("runs").exists());
}

#[test]
fn states_of_memory_are_an_axis_and_are_told_as_asked_and_as_achieved() {
    let folder = tempfile::tempdir().unwrap();
    let states = ["--cache", "cold,rotate", "--pages", "4k,huge", "--format", "json"];
    let output = tiny(folder.path(), &states);
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let document: Value = serde_json::from_str(&out(&output)).unwrap();
    let records = document["records"].as_array().unwrap();
    let state = |record: &Value| format!("{} {}", record["cache"], record["pages"]);
    let told: Vec<String> = records.iter().step_by(2).map(state).collect();
    let want = [r#""cold" "4k""#, r#""cold" "huge""#, r#""rotate" "4k""#, r#""rotate" "huge""#];
    assert_eq!(told, want);
    for record in records {
        assert!(record["cache_achieved"].is_boolean() && record["pages_achieved"].is_boolean());
        assert!(record["throttled"].is_boolean() && record["noisy"].is_null(), "{record}");
    }
}

#[test]
fn flat_records_carry_the_fields_people_expect_and_null_for_what_was_not_measured() {
    let folder = tempfile::tempdir().unwrap();
    let output = tiny(folder.path(), &["--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let document: Value = serde_json::from_str(&out(&output)).unwrap();
    let records = document["records"].as_array().unwrap();
    assert_eq!(records.len(), 2);
    for record in records {
        assert_eq!(record["operation"], "add");
        assert_eq!(record["outcome"], "PROVEN");
        assert_eq!(record["batch_size"], 2);
        assert_eq!(record["sequence_length"], 3);
        assert_eq!(record["tensor_dimension"], 17);
        for field in ["time_ms", "memory_mb", "inference_speed", "efficiency", "throughput_gbps"] {
            assert!(record[field].as_f64().is_some_and(|value| value > 0.0), "{field}: {record}");
        }
        let (time, speed) = (&record["time_ms"], &record["inference_speed"]);
        let product = time.as_f64().unwrap() * speed.as_f64().unwrap();
        assert!((product - 1000.0).abs() < 1e-6);
        assert_eq!(record["run"], document["run"]);
    }
    // A finished run can be asked for again, and says the same.
    let again = proofmark(&[
        "bench",
        "--resume",
        "latest",
        "--format",
        "json",
        "--store",
        folder.path().to_str().unwrap(),
    ]);
    assert_eq!(serde_json::from_str::<Value>(&out(&again)).unwrap(), document);
}

#[test]
fn a_probe_is_made_kept_shown_and_used() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().to_str().unwrap();
    let asked = ["machine", "probe", "--quick", "--format", "json", "--store", store];
    let output = proofmark(&asked);
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let probe: Value = serde_json::from_str(&out(&output)).unwrap();
    for key in ["clock_ghz", "machine", "made", "seconds"] {
        assert!(probe[key].is_number() || probe[key].is_string(), "{key}: {probe}");
    }
    for (list, keys) in [
        ("compute", &["unit", "threads", "gops_limit", "gops_median"][..]),
        ("bandwidth", &["level", "kind", "threads", "bytes", "gbps", "gbps_median"]),
        ("latency", &["bytes", "ns", "ns_median"]),
    ] {
        let rows = probe[list].as_array().unwrap();
        assert!(!rows.is_empty(), "{list}");
        for row in rows {
            assert!(keys.iter().all(|key| !row[key].is_null()), "{list}: {row}");
        }
    }
    let shown = proofmark(&["machine", "--format", "json", "--store", store]);
    assert_eq!(serde_json::from_str::<Value>(&out(&shown)).unwrap()["probe"], probe);
    let shown = proofmark(&["machine", "--store", store]);
    assert!(out(&shown).contains("probed "), "{}", out(&shown));
    let bench = tiny(folder.path(), &["--format", "json"]);
    assert!(talk(&bench).contains("limits: probe of "), "{}", talk(&bench));
    let records: Value = serde_json::from_str(&out(&bench)).unwrap();
    let records = records["records"].as_array().unwrap();
    assert!(records.iter().all(|record| record["bound"] == "overhead"), "{records:?}");
}

#[test]
fn a_pipe_gets_no_colour_and_a_narrow_terminal_no_long_lines() {
    for (environment, width) in [(("COLUMNS", "60"), 60), (("NO_COLOR", "1"), 1000)] {
        let output = with_environment(&["list"], &[environment]);
        assert!(!out(&output).contains('\x1b'));
        for line in out(&output).lines() {
            assert!(line.chars().count() <= width, "{line}");
        }
    }
}

#[test]
fn a_proof_is_json_with_every_stage() {
    let output = proofmark(&[
        "prove",
        "softmax",
        "--dtype",
        "f32",
        "--with",
        "native/scalar",
        "--format",
        "json",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let document: Value = serde_json::from_str(&out(&output)).unwrap();
    let result = &document["results"][0];
    for (field, value) in [("op", "softmax"), ("kernel", "scalar"), ("isa", "scalar")] {
        assert_eq!(result[field], value);
    }
    assert_eq!(result["outcome"], "PROVEN");
    for letter in ["A", "B", "D", "E", "F", "G", "H", "I", "J"] {
        assert!(result["stages"][letter].as_u64().is_some_and(|checks| checks > 0), "{letter}");
    }
}

#[test]
fn a_refusal_names_the_worst_element_and_the_command_that_shows_it_again() {
    let case = "matmul:f32[b=1,m=17,n=19,k=300]";
    let output = proofmark(&["repro", case, "--with", "mutant/inputs_bf16", "--seed", "5"]);
    assert_eq!(output.status.code(), Some(3), "{}", talk(&output));
    let text = out(&output);
    for word in ["WRONG", "bf16 inputs", "proofmark repro 'matmul:f32[", "--seed 5"] {
        assert!(text.contains(word), "{word} in {text}");
    }
}

#[test]
fn the_cap_on_instruction_sets_is_kept() {
    let output = with_environment(
        &["bench", "add", "--dry-run", "--format", "json", "--quick"],
        &[("PROOFMARK_ISA", "avx2")],
    );
    if output.status.success() {
        assert!(!out(&output).contains("avx512"));
        assert!(out(&output).contains("avx2"));
    } else {
        assert!(talk(&output).contains("only reaches"), "{}", talk(&output));
    }
}

#[test]
fn a_wrong_kernel_is_refused_before_it_is_compared() {
    let case = "softmax:f32[b=1,s=4,d=40]";
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().to_str().unwrap();
    let arms = ["native/scalar", "mutant/exp_by_bits"];
    let output = proofmark(&["compare", arms[0], arms[1], "--case", case, "--store", store]);
    assert_eq!(output.status.code(), Some(3), "{}", talk(&output));
    assert!(out(&output).contains("WRONG"), "{}", out(&output));
}

#[test]
fn a_run_comes_out_the_same_from_its_slices() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(tiny(folder.path(), &["-q"]).status.code(), Some(0));
    let output = proofmark(&["replay", "latest", "--store", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    assert!(out(&output).contains("2 of 2 records come out the same"), "{}", out(&output));
}

#[test]
fn a_case_is_measured_by_its_name() {
    let store = tempfile::tempdir().unwrap();
    let case = "add:f32[b=2,s=3,d=17]";
    let mut arguments = vec!["bench", "--case", case, "--quick", "--threads", "1", "--settle", "0"];
    arguments.extend(["--with", "native/simd", "--format", "json"]);
    arguments.extend(["--store", store.path().to_str().unwrap()]);
    let output = proofmark(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let document: Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!(document["records"][0]["case"], case);
    assert_eq!(document["records"].as_array().unwrap().len(), 1);

    let misplaced = proofmark(&["bench", case]);
    assert_eq!(misplaced.status.code(), Some(2));
    assert!(talk(&misplaced).contains(&format!("--case '{case}'")), "{}", talk(&misplaced));
    let both = proofmark(&["bench", "add", "--case", case]);
    assert_eq!(both.status.code(), Some(2));
    let unknown = proofmark(&["bench", "--case", "add:f32[b=2,s=3,q=17]"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(talk(&unknown).contains('q'), "{}", talk(&unknown));
}
