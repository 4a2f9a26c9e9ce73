//! `proofmark judge` as a contest host and an agent run it: what a submission earns.
#![expect(clippy::disallowed_methods, reason = "a test starts the program and a compiler")]

mod mistakes;
mod place;

use place::Place;
use serde_json::Value;

/// The shown case; small, because the submissions are slow.
const CASE: &str = "softmax_grad:f32[b=1,s=16,d=400]";

/// What every verdict of these tests is asked with.
const QUICK: [&str; 6] = ["--quick", "--settle", "0", "--quiet", "--case", CASE];

/// A race at T3 takes ten times as long, because every call has operands of its own. Where another
/// layer decides, a test asks for less.
const T2: [&str; 2] = ["--isolation", "t2"];

/// The seed of a test that must give the same verdict every time.
const SEED: [&str; 2] = ["--seed", "20261118"];

#[track_caller]
fn earns_nothing(verdict: &Value) {
    assert_eq!(verdict["reward"], 0.0, "{verdict:#}");
    assert!(verdict["speedup"].is_null(), "no number without a proof: {verdict:#}");
}

#[test]
fn a_right_kernel_is_proven_and_its_reward_is_the_lower_bound() {
    let place = Place::new();
    place.submit("right", "");
    let (code, verdict) = place.judge("right.toml", &[&QUICK[..], &["--held-out", "1"]].concat());
    // A busy machine may leave a race undecided.
    assert!(matches!(code, 0 | 5), "{verdict:#}");
    assert_eq!(verdict["schema"], "proofmark.verdict/1");
    assert_eq!(verdict["isolation"]["level"], "T3", "{verdict:#}");
    assert_eq!(verdict["submission"]["contender"], "own/right");
    assert!(verdict["baseline"].as_str().unwrap().starts_with("native/simd"), "{verdict:#}");
    let cases = verdict["cases"].as_array().unwrap();
    let origins: Vec<&Value> = cases.iter().map(|case| &case["origin"]).collect();
    assert_eq!(origins, ["shown", "held_out"]);
    assert_eq!(cases[0]["case"], CASE);
    if code == 5 {
        return earns_nothing(&verdict);
    }
    assert_eq!(verdict["outcome"], "PROVEN", "{verdict:#}");
    let reward = verdict["reward"].as_f64().unwrap();
    assert!(reward > 0.0 && verdict["speedup"]["low"] == verdict["reward"], "{verdict:#}");
    assert!(verdict["speedup"]["high"].as_f64().unwrap() >= reward, "{verdict:#}");
    assert!(cases.iter().all(|case| case["speedup"]["low"].is_f64()), "{verdict:#}");
    assert!(verdict["speedup_held_out"]["low"].is_f64(), "{verdict:#}");
    // Commands that repeat it find the submission, and the run is kept.
    assert_eq!(place.shell(verdict["repeat"][1].as_str().unwrap()), 0, "{verdict:#}");
    let (code, report) = place.json(&["report", verdict["run"].as_str().unwrap()]);
    assert_eq!(code, 0, "{report:#}");
}

#[test]
fn a_wrong_kernel_earns_nothing_and_is_told_its_first_wrong_element() {
    let place = Place::new();
    place.submit("wrong", "-DWRONG");
    let (code, verdict) = place.judge("wrong.toml", &QUICK);
    assert_eq!((code, &verdict["outcome"]), (3, &Value::from("WRONG")), "{verdict:#}");
    earns_nothing(&verdict);
    let found = &verdict["counterexample"];
    let of = |name: &str| found[name].as_f64().unwrap_or_else(|| panic!("{name}: {found:#}"));
    assert!(of("error") > of("limit") && of("got") != of("expected"), "{found:#}");
    assert_eq!(found["output"], "dx");
    assert_eq!(found["element"].as_array().unwrap().len(), 3, "{found:#}");
    assert_eq!(place.shell(verdict["repeat"][2].as_str().unwrap()), 3, "{verdict:#}");
}

#[test]
fn a_kernel_that_is_right_only_on_the_shown_shape_is_wrong_on_a_held_out_one() {
    let place = Place::new();
    place.submit("shown", "-DSHOWN");
    let seeded = [&QUICK[..], &SEED, &T2].concat();
    let (code, seen) = place.judge("shown.toml", &[&seeded[..], &["--held-out", "0"]].concat());
    assert!(matches!(code, 0 | 5), "the shown case alone does not tell: {seen:#}");
    let (code, verdict) = place.judge("shown.toml", &[&seeded[..], &["--held-out", "4"]].concat());
    assert_eq!((code, &verdict["outcome"]), (3, &Value::from("WRONG")), "{verdict:#}");
    assert_eq!(verdict["counterexample"]["origin"], "held_out", "{verdict:#}");
    earns_nothing(&verdict);
    // The seed decides the held-out cases.
    let again = place.judge("shown.toml", &[&seeded[..], &["--held-out", "4"]].concat()).1;
    assert_eq!(again["counterexample"], verdict["counterexample"]);
}

#[test]
fn a_kernel_that_caches_results_by_their_addresses_earns_nothing() {
    let place = Place::new();
    place.submit("cached", "-DCACHED");
    let (code, verdict) = place.judge("cached.toml", &QUICK);
    assert_eq!((code, &verdict["outcome"]), (3, &Value::from("WRONG")), "{verdict:#}");
    earns_nothing(&verdict);
}

/// It is right in every proof, which makes fewer calls than a race.
#[test]
fn a_kernel_that_skips_work_once_it_is_raced_earns_nothing() {
    let place = Place::new();
    place.submit("skipping", "-DSKIPPING");
    let (code, verdict) = place.judge("skipping.toml", &QUICK);
    assert_eq!((code, &verdict["outcome"]), (3, &Value::from("WRONG")), "{verdict:#}");
    earns_nothing(&verdict);
}

#[test]
fn what_a_kernel_tries_is_refused_and_told_and_a_crash_is_no_verdict_on_others() {
    let place = Place::new();
    place.submit("curious", "-DCURIOUS");
    let one = [&QUICK[..], &["--held-out", "0"], &T2].concat();
    let (code, verdict) = place.judge("curious.toml", &one);
    assert!(matches!(code, 0 | 5), "{verdict:#}");
    let attempts = verdict["isolation"]["attempts"].to_string();
    assert!(attempts.contains("/etc/passwd"), "{verdict:#}");
    assert!(verdict["reasons"].to_string().contains("/etc/passwd"), "{verdict:#}");
    place.submit("dying", "-DDYING");
    let (code, verdict) = place.judge("dying.toml", &one);
    assert_eq!((code, &verdict["outcome"]), (7, &Value::from("CRASHED")), "{verdict:#}");
    earns_nothing(&verdict);
}

#[test]
fn a_plug_in_library_is_a_submission_too() {
    let place = Place::new();
    let add = |behaviour: &str| {
        let library = place.plugin(behaviour);
        let case = ["--case", "add:f32[b=2,s=3,d=17]", "--quick", "--settle", "0", "--quiet"];
        place.judge_op("add", &library, &[&case[..], &["--held-out", "1"], &T2].concat())
    };
    let (code, verdict) = add("RIGHT");
    assert!(matches!(code, 0 | 5), "{verdict:#}");
    assert_eq!(verdict["submission"]["contender"], "own/libright", "{verdict:#}");
    let (code, verdict) = add("EVERY");
    assert_eq!((code, &verdict["outcome"]), (3, &Value::from("WRONG")), "{verdict:#}");
    earns_nothing(&verdict);
    let (code, verdict) = add("REACHING");
    assert_eq!((code, &verdict["outcome"]), (4, &Value::from("CAUGHT")), "{verdict:#}");
    earns_nothing(&verdict);
}
