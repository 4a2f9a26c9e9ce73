//! Commands that read stored runs: their whole output is held, because it follows from the runs.

use crate::mask::Held::{Exact, Words};
use crate::session::{Session, WIDE};

/// Two cases of softmax, two or three contenders, one and two threads.
const BENCH: &str = "01a1eaef-ba71";
/// A case of softmax with one and two threads, side by side.
const SCALE: &str = "01a1eaf0-df2a";
/// A case of softmax, decided.
const COMPARE: &str = "01a1eaf2-2e8b";

#[test]
fn the_welcome_counts_the_runs() {
    let mut session = Session::with_runs();
    session.run(WIDE, Exact, "");
    session.hold("welcome");
}

#[test]
fn bench_shows_the_table_of_a_finished_run() {
    let mut session = Session::with_runs();
    session.run_at_both_widths(Exact, &format!("bench --resume {BENCH}"));
    session.run(WIDE, Exact, &format!("bench --resume {BENCH} --format markdown"));
    session.run(WIDE, Exact, &format!("bench --resume {COMPARE}"));
    session.hold("bench_resume");
}

#[test]
fn report_shows_a_run_in_parts() {
    let mut session = Session::with_runs();
    session.run_at_both_widths(Exact, &format!("report {BENCH}"));
    session.hold("report");
    let mut session = Session::with_runs();
    session.run(WIDE, Exact, &format!("report {BENCH} {SCALE} --only ranking"));
    session.run(WIDE, Words, &format!("report {BENCH} --html page.html"));
    session.hold("report_several");
}

#[test]
fn compare_of_two_stored_runs_decides_nothing() {
    let mut session = Session::with_runs();
    session.run_at_both_widths(
        Exact,
        &format!("compare run:{BENCH}/native/scalar run:{BENCH}/native/simd@avx512"),
    );
    session.hold("compare_runs");
}

#[test]
fn scale_of_a_stored_run() {
    let mut session = Session::with_runs();
    session.run_at_both_widths(Exact, &format!("scale --run {SCALE}"));
    session.run(WIDE, Exact, &format!("scale --run {COMPARE}"));
    session.hold("scale_run");
}

#[test]
fn replay_trace_and_merge_read_a_run() {
    let mut session = Session::with_runs();
    session.run(WIDE, Exact, &format!("replay {BENCH}"));
    session.run(WIDE, Exact, &format!("replay {COMPARE}"));
    session.run(WIDE, Exact, &format!("replay {COMPARE} --verify"));
    session.run(WIDE, Exact, &format!("trace {BENCH} --out trace.json"));
    session.run(WIDE, Exact, &format!("trace {BENCH} --out trace.json --most 10"));
    session.run(WIDE, Exact, &format!("merge {BENCH}"));
    session.hold("replay_trace_merge");
}

#[test]
fn export_writes_every_format() {
    let mut session = Session::with_runs();
    for format in ["go", "bmf", "junit", "hud", "csv", "google", "criterion", "gha", "parquet"] {
        session.run(WIDE, Exact, &format!("export {BENCH} --to {format} --out {format}"));
    }
    session.run(WIDE, Exact, &format!("export {BENCH} --to github --out -"));
    session.run(WIDE, Exact, &format!("export {COMPARE} --to github --out -"));
    session.hold("export");
}

#[test]
fn tune_and_choose_show_what_is_kept() {
    let mut session = Session::with_runs();
    session.run(WIDE, Words, "tune --cached");
    session.run(WIDE, Words, "choose --cached");
    session.hold("kept_tunings");
}
