//! Commands that look at this machine, prove, measure or write.
//!
//! A race gets so little time that it decides nothing, and what it says is held without numbers;
//! at the usual widths only outputs are held that have no measured number.

use crate::mask::Held::{Columns, Exact, Header, Words};
use crate::session::{Session, WIDE, WIDEST};

const CASE: &str = "'add:f32[b=2,s=3,d=17]'";
/// Time for one trial.
const HURRIED: &str = "--seconds 0.001 --settle 0 --seed 7";

#[test]
fn list_shows_an_op_its_sizes_and_its_coverage() {
    let mut session = Session::new();
    session.run_at_both_widths(Exact, "list --op softmax");
    session.run(WIDE, Exact, "list ops --op add");
    session.run(WIDE, Exact, "list sizes --op add");
    session.run(WIDEST, Columns(2), "list --coverage --op add");
    session.hold("list");
}

#[test]
fn prove_shows_a_row_for_each_kernel_and_refusals_in_full() {
    let mut session = Session::new();
    let line = "prove add --dtype f32 --with native/scalar --threads 1 --seed 7";
    session.run_at_both_widths(Exact, line);
    session.run(WIDE, Exact, &format!("{line} --missing"));
    session.hold("prove");
}

#[test]
fn repro_shows_a_refusal_again() {
    let mut session = Session::new();
    let case = "'matmul:f32[b=1,m=17,n=19,k=300]'";
    for (case, contender) in [
        (CASE, "mutant/tail_dropped"),
        (case, "mutant/inputs_bf16"),
        (CASE, "native/scalar"),
        (CASE, "planted/oob_read"),
    ] {
        let line = format!("repro {case} --with {contender} --seed 7 --threads 1");
        session.run_at_both_widths(Exact, &line);
    }
    session.hold("repro");
}

#[test]
fn a_plan_is_shown_before_it_is_run() {
    let mut session = Session::new();
    let line = "bench add softmax --dtype f32 --size small --threads 1 --seed 7 --dry-run \
                --with 'native/scalar native/parallel peer/jax'";
    session.run_at_both_widths(Words, line);
    session.run(WIDE, Words, &format!("{line} --shard 1/2"));
    session.hold("bench_plan");
}

#[test]
fn programs_that_differ_or_crash_are_told_and_not_raced() {
    let mut session = Session::new();
    let line = "compare 'cmd:printf old' 'cmd:printf new' --compare-output stdout --settle 0 -q";
    session.run_at_both_widths(Exact, line);
    session.run(WIDE, Exact, "compare cmd:true cmd:false --settle 0 -q");
    session.run(WIDE, Exact, "compare cmd:true native/simd");
    session.hold("compare_programs");
}

#[test]
fn compare_refuses_a_wrong_kernel_and_decides_nothing_in_a_hurry() {
    let mut session = Session::new();
    let wrong = format!("compare native/scalar mutant/tail_dropped --case {CASE} {HURRIED} -q");
    session.run_at_both_widths(Exact, &wrong);
    let same = format!("compare native/scalar native/scalar --case {CASE} {HURRIED}");
    session.run(WIDEST, Words, &same);
    session.hold("compare");
}

#[test]
fn check_fails_for_a_wrong_kernel_and_is_undecided_in_a_hurry() {
    let mut session = Session::new();
    let rules = "[check]\nbaseline = \"native/scalar\"\ncases = [\"add:f32[b=2,s=3,d=17]\"]\n";
    session.write("proofmark.toml", rules);
    session.run_at_both_widths(Exact, &format!("check --new mutant/tail_dropped {HURRIED} -q"));
    session.run(WIDEST, Words, &format!("check --new native/scalar {HURRIED}"));
    session.hold("check");
}

#[test]
fn tune_and_choose_show_their_races() {
    let mut session = Session::new();
    let tune = "tune --case 'softmax:f32[b=1,s=1,d=8]' --axis s --from 1 --to 2 --quick";
    session.run(WIDEST, Words, &format!("{tune} {HURRIED}"));
    session.run(WIDEST, Words, &format!("choose --case {CASE} {HURRIED}"));
    session.hold("tune_choose");
}

#[test]
fn doctor_machine_and_peers_name_what_they_look_at() {
    let mut session = Session::new();
    session.run_at_both_widths(Columns(1), "doctor");
    session.run(WIDE, Columns(1), "machine");
    session.run(WIDEST, Columns(1), "peers");
    session.run(WIDEST, Columns(1), "peers list");
    session.hold("machine");
}

#[test]
fn costs_name_what_they_measure() {
    let mut session = Session::new();
    session.run(WIDEST, Columns(1), "costs");
    session.hold("costs");
}

#[test]
fn selftests_count_what_was_refused() {
    let mut session = Session::new();
    session.run(WIDEST, Words, "selftest judge softmax --only oob_write_after --seed 7");
    let timing = "selftest timing --comparisons 1 --classes S --track add --planted 0";
    session.run(WIDEST, Words, &format!("{timing} --seconds 0.001 --skip-overhead --seed 7"));
    session.hold("selftest");
}

#[test]
fn baselines_are_saved_listed_shown_and_removed() {
    let mut session = Session::new();
    let save = "save before --contender native/simd";
    for line in ["list", save, "list", "show before", "show befor", "remove before"] {
        session.run(WIDEST, Header, &format!("baseline {line}"));
    }
    session.hold("baseline");
}

#[test]
fn imports_are_read_listed_and_shown() {
    let mut session = Session::new();
    let text = "goos: linux\npkg: example.org/x\nBenchmarkAdd-2  1000  123 ns/op  16 B/op\n\
                BenchmarkAdd-2  1000  125 ns/op  16 B/op\nPASS\n";
    session.write("bench.txt", text);
    session.run(WIDE, Exact, "import --list");
    session.run(WIDE, Exact, "import bench.txt");
    session.run(WIDE, Exact, "import --list");
    session.run(WIDE, Exact, "import --show bench");
    session.run(WIDE, Exact, "import --show bench-48bf9358");
    session.hold("import");
}

#[test]
fn workloads_are_listed_shown_and_made() {
    let mut session = Session::new();
    let config = r#"{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4,
        "num_key_value_heads": 2, "num_hidden_layers": 2, "intermediate_size": 128,
        "vocab_size": 100, "max_position_embeddings": 64, "rms_norm_eps": 1e-6}"#;
    session.write("config.json", config);
    session.run(WIDE, Exact, "workload list");
    session.run(WIDE, Exact, "workload show transformer");
    session.run(WIDE, Exact, "workload from-config config.json --tokens 1,8");
    session.hold("workload");
}

#[test]
fn init_writes_files_once() {
    let mut session = Session::new();
    session.run(WIDE, Exact, "init");
    session.run(WIDE, Exact, "init");
    session.run(WIDE, Exact, "init --github --script");
    session.hold("init");
}

#[test]
fn the_version_and_manual_pages() {
    let mut session = Session::new();
    session.run(WIDE, Exact, "-V");
    session.run(WIDE, Exact, "man --out pages");
    session.hold("version");
}
