//! `scale`, `tune`, `trace`, `profile` and `asm` as a person meets them.
#![expect(clippy::disallowed_methods, reason = "a test starts the program")]

use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

fn proofmark(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.current_dir(folder).env("PROOFMARK_STORE", folder.join("store")).args(arguments);
    command.envs(environment.iter().copied()).output().expect("the program starts")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn talk(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&out(output)).unwrap_or_else(|error| {
        panic!("{error}: {}\n{}", out(output), talk(output));
    })
}

#[test]
fn thread_counts_race_side_by_side_and_the_run_replays_and_is_traced() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| proofmark(folder.path(), arguments, &[]);
    let case = "add:f32[b=1,s=64,d=256]";
    let arguments = ["scale", "--case", case, "--threads", "1..2", "--quick", "--settle", "0"];
    let scaled = run(&[&arguments[..], &["--format", "json"]].concat());
    assert_eq!(scaled.status.code(), Some(0), "{}", talk(&scaled));
    let scaling = &json(&scaled)["scalings"][0];
    assert_eq!(scaling["is_interleaved"], true);
    let threads: Vec<u64> = scaling["points"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|point| point["threads"].as_u64())
        .collect();
    assert_eq!(threads, [1, 2]);
    assert!(scaling["points"][1]["speedup"]["low"].as_f64().unwrap() > 0.0);

    let replayed = run(&["replay", "latest"]);
    assert!(out(&replayed).contains("2 of 2 records"), "{}", out(&replayed));
    let again = run(&["scale", "--run", "latest", "--format", "json"]);
    assert_eq!(json(&again)["scalings"][0]["points"], scaling["points"]);
    let resumed = run(&["bench", "--resume", "latest"]);
    assert!(talk(&resumed).contains("is no table"), "{}", talk(&resumed));

    let traced = run(&["trace", "latest", "--out", "t.json"]);
    assert_eq!(traced.status.code(), Some(0), "{}", talk(&traced));
    assert!(out(&traced).is_empty() && talk(&traced).contains("are in t.json"), "{}", out(&traced));
    let text = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
    holds_the_trace_event_format(&serde_json::from_str(&text).unwrap());
    let short = run(&["trace", "latest", "--out", "-", "--most", "1"]);
    assert!(talk(&short).contains("are left out"), "{}", talk(&short));
    let short = json(&short);
    let other = &short["otherData"];
    assert!(other["slices"].as_u64().unwrap() < other["slices_left_out"].as_u64().unwrap());
    holds_the_trace_event_format(&short);
}

/// Every event is metadata or complete, and a nested event lies within the time of its parent.
fn holds_the_trace_event_format(trace: &Value) {
    let events = trace["traceEvents"].as_array().unwrap();
    let mut open: Vec<(u64, &str, f64, f64)> = Vec::new();
    let mut slices = 0;
    for event in events {
        let pid = event["pid"].as_u64().unwrap();
        assert!(event["name"].is_string() && event["tid"].is_u64() && event["args"].is_object());
        match event["ph"].as_str().unwrap() {
            "M" => assert_eq!(event["name"], "process_name"),
            "X" => {
                let (ts, dur) = (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap());
                assert!(ts >= 0.0 && dur >= 0.0);
                let category = event["cat"].as_str().unwrap();
                let depth = ["trial", "block", "slice"].iter().position(|c| *c == category);
                open.truncate(depth.unwrap());
                if let Some((outer, _, start, end)) = open.last() {
                    assert_eq!(*outer, pid);
                    assert!(*start <= ts + 1e-6 && ts + dur <= end + 1e-6, "{event}");
                }
                open.push((pid, category, ts, ts + dur));
                slices += usize::from(category == "slice");
            }
            other => panic!("{other} is no phase of ours"),
        }
    }
    assert!(slices > 0);
}

#[test]
fn a_crossing_is_found_once_then_kept_and_its_constants_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| proofmark(folder.path(), arguments, &[]);
    let case = "add:f32[b=1,s=1,d=64]";
    let arguments = ["tune", "--case", case, "--axis", "s", "--to", "4", "--quick", "--races", "0"];
    let arguments = [&arguments[..], &["--settle", "0", "--format", "json"]].concat();
    let first = run(&arguments);
    assert_eq!(first.status.code(), Some(0), "{}", talk(&first));
    let crossing = json(&first)["crossings"][0].clone();
    assert_eq!(crossing["is_cached"], false);
    assert_eq!(crossing["places"].as_array().unwrap().len(), 3, "{}", talk(&first));
    let second = json(&run(&arguments))["crossings"][0].clone();
    assert_eq!((&second["is_cached"], &second["run"]), (&Value::Bool(true), &crossing["run"]));
    let kept = json(&run(&["tune", "--cached", "--format", "json"]));
    assert_eq!((kept["lookups"].as_u64(), kept["hits"].as_u64()), (Some(2), Some(1)));
    let replayed = run(&["replay", "latest"]);
    assert_eq!(replayed.status.code(), Some(0), "{}", out(&replayed));

    let file = "format = 1\nmachine = \"m\"\nprocessor = \"p\"\nversion = \"0\"\ndate = \"d\"\n\
                [ops.add]\nparallel_from = 7\nunit = \"elements\"\ncase = \"c\"\naxis = \"s\"\n\
                kernels = [\"a\", \"b\"]\nthreads = 2\nrun = \"r\"\n";
    std::fs::write(folder.path().join("good.toml"), file).unwrap();
    std::fs::write(folder.path().join("bad.toml"), file.replace("ops.add", "ops.ad")).unwrap();
    let bench = ["bench", "add", "--quick", "--dtype", "f32", "--with", "native/parallel"];
    let bench = [&bench[..], &["--sweep", "b=1 s=4 d=64", "--threads", "2"]].concat();
    let bench = [&bench[..], &["--settle", "0"]].concat();
    let with = |path: &str| proofmark(folder.path(), &bench, &[("PROOFMARK_TUNING", path)]);
    assert_eq!(with("good.toml").status.code(), Some(0), "{}", talk(&with("good.toml")));
    for (path, words) in [("bad.toml", "`ad` has no tuned constant"), ("none.toml", "cannot read")]
    {
        let output = with(path);
        assert_eq!(output.status.code(), Some(2), "{path}");
        assert!(talk(&output).contains(words) && talk(&output).contains("hint:"), "{path}");
    }
}

#[test]
fn a_kernel_is_chosen_once_then_kept_and_blocks_are_taken_from_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| proofmark(folder.path(), arguments, &[]);
    let more = ["--settle", "0", "--seconds", "0.2", "--format", "json"];
    let conv = "conv2d:f32[b=1,c=8,o=8,h=10,w=10]";
    let kernels = [&["choose", "--case", conv], &more[..]].concat();
    let first = run(&kernels);
    assert_eq!(first.status.code(), Some(0), "{}", talk(&first));
    let first = json(&first)["choices"][0].clone();
    assert_eq!(first["is_cached"], false);
    let search = first["search"].as_array().unwrap();
    let options: Vec<&str> = search.iter().map(|it| it["option"].as_str().unwrap()).collect();
    assert!(options.contains(&"im2col") && options.contains(&"winograd"), "{options:?}");
    assert!(!options.contains(&first["built_in"].as_str().unwrap()), "{options:?}");
    let again = json(&run(&kernels))["choices"][0].clone();
    assert_eq!((&again["is_cached"], &again["run"]), (&true.into(), &first["run"]));
    let replayed = run(&["replay", "latest"]);
    assert_eq!(replayed.status.code(), Some(0), "{}", out(&replayed));

    let file = "format = 1\nmachine = \"m\"\nprocessor = \"p\"\nversion = \"0\"\ndate = \"d\"\n\
                [blocks]\nkc = 64\nmc = 56\nnc = 64\ncase = \"c\"\nthreads = 1\nrun = \"r\"\n";
    std::fs::write(folder.path().join("blocks.toml"), file).unwrap();
    let prove = ["prove", "matmul", "--dtype", "f32", "--with", "native/simd", "--quiet"];
    let proven = proofmark(folder.path(), &prove, &[("PROOFMARK_TUNING", "blocks.toml")]);
    assert_eq!(proven.status.code(), Some(0), "{}", talk(&proven));
    let refused = run(&["choose", "--blocks", "--case", "softmax:f32[b=1,s=1,d=64]"]);
    assert!(talk(&refused).contains("give cases of matmul"), "{}", talk(&refused));
}

#[test]
#[ignore = "a minute: every candidate is proven on the whole portfolio of matmul"]
fn blocks_are_searched_proven_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| proofmark(folder.path(), arguments, &[]);
    let more = ["--settle", "0", "--seconds", "0.2", "--format", "json"];
    let product = "matmul:f32[b=1,m=40,n=96,k=40]";
    let blocks = run(&[&["choose", "--blocks", "--case", product], &more[..]].concat());
    assert_eq!(blocks.status.code(), Some(0), "{}", talk(&blocks));
    let blocks = json(&blocks)["choices"][0].clone();
    let raced = blocks["search"].as_array().unwrap();
    assert!(raced.iter().any(|it| it["option"].as_str().unwrap().contains("kc=128")), "{raced:?}");
    assert_eq!(blocks["refused"].as_array().unwrap().len(), 0, "{blocks}");
    let kept = json(&run(&["choose", "--cached", "--format", "json"]));
    assert_eq!(kept["choices"].as_array().unwrap().len(), 1);
}

#[test]
fn a_profile_and_the_code_behind_it_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| proofmark(folder.path(), arguments, &[]);
    let case = "softmax:f32[b=1,s=64,d=256]";
    let more = ["--case", case, "--seconds", "0.3", "--format", "json"];
    let files = ["--flame", "flame.svg", "--folded", "stacks.txt"];
    let profiled = run(&[&["profile", "softmax"], &more[..], &files].concat());
    assert_eq!(profiled.status.code(), Some(0), "{}", talk(&profiled));
    let profile = json(&profiled);
    let functions = profile["functions"].as_array().unwrap();
    assert!(functions.iter().any(|f| f["name"].as_str().unwrap().contains("max_and_sum")));
    assert_eq!(profile["allocations_per_call"], 0.0);
    let svg = std::fs::read_to_string(folder.path().join("flame.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("max_and_sum"));
    let stacks = std::fs::read_to_string(folder.path().join("stacks.txt")).unwrap();
    assert!(stacks.lines().all(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().is_ok()));

    let code = run(&[&["asm", "softmax/simd", "--sampler", "own"], &more[..]].concat());
    assert_eq!(code.status.code(), Some(0), "{}", talk(&code));
    let code = json(&code);
    assert_eq!(code["is_kept"], true);
    assert!(code["functions"][0]["instructions"].as_u64().unwrap() > 10);
}

/// A process without `perf_event_open`, as in most containers; its children have none either.
fn without_perf(command: &mut Command) -> &mut Command {
    use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter};
    let step = |code, jt, jf, k| sock_filter { code: code as u16, jt, jf, k };
    let filter = move || {
        let mut steps = [
            step(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0),
            step(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, libc::SYS_perf_event_open as u32),
            step(BPF_RET | BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
            step(BPF_RET | BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
        // SAFETY: the program and its steps live through the calls, which change only what this
        // process may do.
        let is_set = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) == 0
        };
        if is_set { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: the filter makes system calls on its own stack: it neither allocates nor locks.
    unsafe { command.pre_exec(filter) }
}

fn profile_without_perf(folder: &Path, more: &[&str]) -> Output {
    let case = "matmul:f32[b=1,m=96,n=96,k=96]";
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.current_dir(folder).args(["profile", "--case", case, "--format", "json"]);
    command.args(["--contender", "native/scalar", "--seconds", "1"]);
    without_perf(command.args(more)).output().expect("the program starts")
}

#[test]
fn without_the_kernels_clock_event_the_worker_samples_itself() {
    let folder = tempfile::tempdir().unwrap();
    let profiled = profile_without_perf(folder.path(), &["--flame", "flame.svg"]);
    assert_eq!(profiled.status.code(), Some(0), "{}", talk(&profiled));
    let profile = json(&profiled);
    assert_eq!((&profile["sampler"], &profile["samples_lost"]), (&"own".into(), &0.into()));
    let (all, first) = (profile["samples"].as_u64().unwrap(), &profile["functions"][0]);
    assert!(all > 5 && profile["samples_per_second"].as_f64().unwrap() > 0.0, "{profile}");
    assert!(first["name"].as_str().unwrap().contains("ops::matmul::kernels::scalar"), "{first}");
    assert!(first["own"].as_u64().unwrap() * 2 > all, "{first} of {all}");
    let svg = std::fs::read_to_string(folder.path().join("flame.svg")).unwrap();
    assert!(svg.contains("ops::matmul::kernels::scalar"));
}

#[test]
fn the_clock_event_asked_for_where_it_is_forbidden_ends_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let forced = profile_without_perf(folder.path(), &["--sampler", "perf"]);
    assert_eq!(forced.status.code(), Some(6), "{}", talk(&forced));
    for words in ["perf_event_open", "--sampler own", "perf_event_paranoid"] {
        assert!(talk(&forced).contains(words), "{}", talk(&forced));
    }
}

#[test]
fn slips_of_the_pen_are_answered_with_what_to_write() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, words) in [
        (&["scale"][..], "required"),
        (&["scale", "softmx"], "did you mean `softmax`"),
        (&["scale", "softmax", "--threads", "4..1"], "1..4"),
        (&["scale", "--run", "latest"], "no run `latest`"),
        (&["tune", "--case", "add:f32[b=1,s=1,d=64]"], "give `--axis"),
        (&["tune", "softmax", "--axis", "z"], "there is no axis `z`"),
        (&["tune", "softmax", "--between", "native/simd"], "write `--between"),
        (&["tune", "softmax", "--between", "native/smid,native/parallel"], "native/simd"),
        (&["tune", "softmax", "--from", "9", "--to", "2"], "turn them round"),
        (&["asm", "softmax"], "write `softmax/simd`"),
        (&["asm", "softmax/smid"], "did you mean `native/simd`"),
        (&["profile", "softmax", "--contender", "native/smid"], "did you mean"),
        (&["trace", "latest"], "no run `latest`"),
    ] {
        let output = proofmark(folder.path(), arguments, &[]);
        let code = output.status.code().unwrap();
        assert!(code == 2 || code == 6, "{arguments:?} ended with {code}");
        assert!(talk(&output).contains(words), "{arguments:?}: {}", talk(&output));
    }
    let none = proofmark(folder.path(), &["tune", "--cached"], &[]);
    assert!(out(&none).contains("None is kept"), "{}", out(&none));
}
