//! What is said about a command that cannot be carried out: what happened, what to do, exit code.

use crate::mask::Held::{Exact, Words};
use crate::session::{Session, WIDE};

fn hold(mut session: Session, name: &str, lines: &[&str]) {
    for line in lines {
        session.run(WIDE, Exact, line);
    }
    session.hold(name);
}

#[test]
fn words_that_the_command_line_does_not_know() {
    hold(
        Session::new(),
        "errors_words",
        &[
            "",
            "benhc add",
            "bench add --quik",
            "bench add --size smal",
            "bench add --format tabel",
            "bench add --threads 0",
            "bench add --settle=-1",
            "bench add --dtype f33",
            "bench add --cache warm",
            "bench add --attr eps",
            "bench add --shard 3/2",
            "bench add --case 'add:f32[b=2,s=3,d=17]'",
            "compare native/simd",
            "compare rve:HEAD native/simd",
            "compare native/simd native/scalar --alpha 0",
            "compare native/simd native/scalar --margin 200",
            "check --seconds nan",
            "export latest --to cvs --out -",
            "export latest --out -",
            "scale add --threads 4..1",
            "report --only rankin",
            "machine prob",
            "selftest gat",
            "tune",
            "repro 'add:f32[b=1,s=1,d=8]'",
        ],
    );
}

#[test]
fn ops_contenders_axes_and_cases_that_there_are_not() {
    hold(
        Session::new(),
        "errors_names",
        &[
            "bench rmsnorm",
            "bench zzz",
            "prove rms_nrom",
            "list --op rms",
            "bench 'add:f32[b=2,s=3,d=17]'",
            "bench --case 'add:f32[b=2,s=3,q=17]'",
            "bench --case 'add:f32[b=2'",
            "bench add --sweep q=3 --dry-run",
            "bench add --sweep d=1:x --dry-run",
            "bench add --sweep '' --dry-run",
            "bench add --attr eps=1 --dry-run",
            "bench add --dtype i8 --dry-run",
            "bench add --cache weights-cold --dry-run",
            "bench add --dry-run --with native/simdd",
            "bench add --dry-run --with peer/opnblas",
            "bench add --dry-run --with peer/jax",
            "prove add --with native/smid",
            "repro 'add:f32[b=1' --with native/scalar",
            "repro 'add:f32[b=1,s=1,d=8]' --with mutant/tail_droped",
            "repro 'add:f32[b=1,s=1,d=8]' --with planted/nop",
            "scale add --with native/paralel",
            "tune --case 'add:f32[b=1,s=1,d=8]'",
            "tune softmax --axis q",
            "tune softmax --between native/simd",
            "tune softmax --from 9 --to 3",
            "choose conv2 --size small",
            "profile sofmax",
            "asm softmax",
            "asm softmax/smid",
            "asm softmax/simd --case 'add:f32[b=1,s=1,d=8]'",
            "selftest gate sofmax",
            "selftest judge softmax --only extra_coers",
            "peers add opnblas",
            "peers remove openblas",
            "workload show transformr",
            "workload show zzz",
        ],
    );
}

#[test]
fn files_suites_and_folders_that_cannot_be_read() {
    let session = Session::new();
    session.write("bad.txt", "add:f32 b=1 s=1 d=8\nsofmax:f32 b=1 s=1 d=8\n");
    session.write("bad.toml", "[check]\nbaseline = \"rev:main\"\nsiute = \"smoke\"\n");
    session.write("empty.toml", "[check]\nbaseline = \"baseline:main\"\n");
    session.write("bad.json", "{\"peers\": []}");
    session.write("broken.json", "{\"records\"");
    hold(
        session,
        "errors_files",
        &[
            "bench --suite bad.txt --dry-run",
            "bench --suite nowhere.txt --dry-run",
            "bench --suite smok --dry-run",
            "check",
            "check --config bad.toml",
            "check --config empty.toml",
            "check --config nowhere.toml",
            "report bad.json",
            "report broken.json",
            "import nowhere.json",
            "import bad.json",
            "import --show zzz",
            "workload from-config nowhere.json",
            "workload from-config bad.json",
            "costs --targets nowhere.toml",
            "costs --targets bad.txt",
            "peers add mine --from nowhere.so",
            "man --out bad.txt/pages",
            "init bad.txt",
        ],
    );
}

#[test]
fn runs_and_baselines_that_there_are_not() {
    hold(
        Session::new(),
        "errors_empty_store",
        &[
            "report",
            "report 01a1",
            "replay latest",
            "trace latest",
            "merge latest",
            "export latest --to csv --out -",
            "scale --run latest",
            "bench --resume latest",
            "compare run:latest/native/simd native/simd --case 'add:f32[b=1,s=1,d=8]'",
            "compare baseline:main native/simd --case 'add:f32[b=1,s=1,d=8]'",
            "compare native/simd native/scalar",
            "baseline show main",
            "baseline remove main",
            "baseline save ''",
            "import --show main",
        ],
    );
    hold(
        Session::with_runs(),
        "errors_store",
        &[
            "report lastest",
            "report zzzzzz",
            "report 01a1",
            "report 01a1eaef --op sofmax",
            "report 01a1eaef --contender 'peer/*'",
            "report 01a1eaef --html nowhere/page.html",
            "merge 01a1eaef 01a1eaf0",
            "export 01a1eaef --to parquet --out -",
            "export 01a1eaef --to criterion --out -",
            "export 01a1eaef --to csv",
            "export 01a1eaef --to github",
            "bench --resume 01a1eaf0",
            "scale --run 01a1eaf2",
        ],
    );
}

#[test]
fn what_no_memory_holds() {
    let mut session = Session::new();
    let most = "18446744073709551615";
    session.run(WIDE, Exact, &format!("bench softmax --sweep 'b={most} s=2 d=8' --dry-run"));
    session.run(
        WIDE,
        Words,
        "bench softmax --dtype f32 --sweep 'b=1 s=1 d=9999999999999' --dry-run",
    );
    session.hold("errors_memory");
}
