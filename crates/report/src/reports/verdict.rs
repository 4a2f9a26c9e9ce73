//! The verdict on a submitted kernel.

use crate::document::{Cell, Column, Document, Emphasis};
use proofmark_schema::Outcome;
use proofmark_schema::quantity::{Interval, Nanos, three_digits};
use proofmark_schema::submission::{Counterexample, JudgedCase, SubmissionVerdict};
use serde_json::Value;

const COLUMNS: [Column; 6] = [
    Column::left("case", 0),
    Column::left("origin", 0),
    Column::left("outcome", 0),
    Column::right("time", 0),
    Column::right("baseline", 1),
    Column::right("speed-up [interval]", 0),
];

/// The document of a verdict; its lines are the cases.
pub fn verdict(verdict: &SubmissionVerdict) -> Document {
    let data = serde_json::to_value(verdict).unwrap_or(Value::Null);
    let mut document = Document::new(answer(verdict), data, "cases");
    document.table("", &COLUMNS, verdict.cases.iter().map(cells).collect());
    if let Some(found) = &verdict.counterexample {
        document.text(told(found));
    }
    verdict.reasons.iter().for_each(|reason| document.text(reason));
    document.note(format!(
        "raced against {}; {}; isolation {}; seed {}; run {}",
        verdict.baseline,
        threads(verdict.threads),
        verdict.isolation.describe(),
        verdict.seed,
        verdict.run
    ));
    verdict.repeat.iter().for_each(|command| document.command(command));
    document
}

/// The answer in one sentence.
fn answer(verdict: &SubmissionVerdict) -> String {
    let SubmissionVerdict { op, submission, outcome, reward, speedup, .. } = verdict;
    let speed = speedup.map_or_else(String::new, |it| format!(", {} times as fast", interval(&it)));
    let reward = if *reward == 0.0 { "0".to_owned() } else { three_digits(*reward) };
    format!("{outcome} {op} {}{speed}: reward {reward}", submission.contender)
}

fn threads(count: usize) -> String {
    if count == 1 { "1 thread".to_owned() } else { format!("{count} threads") }
}

fn interval(it: &Interval) -> String {
    let Interval { estimate, low, high, .. } = *it;
    format!("{} [{}, {}]", three_digits(estimate), three_digits(low), three_digits(high))
}

fn told(found: &Counterexample) -> String {
    let element: Vec<String> = found.element.iter().map(ToString::to_string).collect();
    format!(
        "counterexample on {} ({}): {}[{}] is {}, should be {}; error {} over the limit {}; inputs \
         {}",
        found.case,
        found.origin.name(),
        found.output,
        element.join(","),
        found.got,
        found.expected,
        three_digits(found.error),
        three_digits(found.limit),
        found.inputs
    )
}

fn cells(case: &JudgedCase) -> Vec<Cell> {
    let time = |time: &Option<Interval>| {
        time.map_or_else(Cell::nothing, |it| Cell::plain(Nanos(it.estimate).to_string()))
    };
    let outcome = match case.outcome {
        None => Cell::with("not tried", Emphasis::Dim),
        Some(outcome) if outcome == Outcome::Proven => Cell::with(outcome.name(), Emphasis::Good),
        Some(outcome) => Cell::with(outcome.name(), Emphasis::Bad),
    };
    vec![
        Cell::plain(&case.case),
        Cell::plain(case.origin.name()),
        outcome,
        time(&case.time_ns),
        time(&case.baseline_ns),
        case.speedup.map_or_else(Cell::nothing, |it| Cell::plain(interval(&it))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::refused_proof;
    use crate::render::{Style, find};
    use proofmark_schema::isolation::Confinement;
    use proofmark_schema::submission::{CaseOrigin, Submission, VERDICT_SCHEMA};
    use serde_json::json;

    fn wrong() -> SubmissionVerdict {
        let proof = refused_proof();
        let refusal = proof.refusal.as_ref().unwrap();
        let case = JudgedCase::open(&proof.case, CaseOrigin::HeldOut);
        SubmissionVerdict {
            schema: VERDICT_SCHEMA.to_owned(),
            op: "matmul".to_owned(),
            submission: Submission {
                contender: "own/fast".parse().unwrap(),
                file: "fast.toml".to_owned(),
                code: Vec::new(),
                allowed: Vec::new(),
                contract: None,
            },
            outcome: Outcome::Wrong,
            reward: 0.0,
            baseline: "native/simd@avx2".parse().unwrap(),
            speedup: None,
            speedup_shown: None,
            speedup_held_out: None,
            counterexample: Counterexample::of(&proof.case, CaseOrigin::HeldOut, refusal),
            cases: vec![JudgedCase { outcome: Some(Outcome::Wrong), ..case }],
            reasons: vec![refusal.reason.clone()],
            isolation: Confinement::default(),
            threads: 1,
            seed: 7,
            version: "0.1.0".to_owned(),
            run: "0193".to_owned(),
            repeat: vec!["proofmark judge matmul fast.toml --seed 7".to_owned()],
        }
    }

    #[test]
    fn a_verdict_has_exactly_the_agreed_names() {
        let data = verdict(&wrong()).data;
        let names =
            |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
        assert_eq!(
            names(&data),
            [
                "baseline",
                "cases",
                "counterexample",
                "isolation",
                "op",
                "outcome",
                "reasons",
                "repeat",
                "reward",
                "run",
                "schema",
                "seed",
                "speedup",
                "speedup_held_out",
                "speedup_shown",
                "submission",
                "threads",
                "version"
            ]
        );
        assert_eq!(data["schema"], "proofmark.verdict/1");
        assert_eq!((&data["outcome"], &data["reward"]), (&json!("WRONG"), &json!(0.0)));
        assert_eq!(
            names(&data["counterexample"]),
            [
                "case", "element", "error", "expected", "got", "inputs", "limit", "origin",
                "output", "stage"
            ]
        );
        assert_eq!(data["counterexample"]["origin"], "held_out");
        let back: SubmissionVerdict = serde_json::from_value(data).unwrap();
        assert_eq!(back.counterexample.unwrap().element, [0, 3, 31]);
    }

    #[test]
    fn people_read_the_answer_the_counterexample_and_the_command() {
        let text = (find("term").unwrap().render)(&verdict(&wrong()), &Style::default());
        // Lines are broken at the width of the terminal.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "WRONG matmul own/fast: reward 0",
            "(held out): c[0,3,31] is 0, should be 1.25; error inf over the limit 16.0",
            "raced against native/simd@avx2; 1 thread;",
            "$ proofmark judge matmul fast.toml --seed 7",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }
}
