//! The report of programs that were raced as they are: ratios only, in a table of their own.

use crate::document::{Cell, Column, Document, Emphasis};
use crate::plain::{counted, ratio};
use proofmark_schema::decision::Standing;
use proofmark_schema::program::{ProgramComparison, ProgramDecision, ProgramOutcome};
use proofmark_schema::quantity::three_digits;
use serde_json::json;

const COLUMNS: [Column; 7] = [
    Column::left("benchmark", 0),
    Column::left("verdict", 0),
    Column::right("ratio of times", 0),
    Column::left("results", 0),
    Column::right("trials", 3),
    Column::left("timed by", 4),
    Column::text("because", 2),
];

/// The document of a comparison of programs.
pub fn programs(comparison: &ProgramComparison, run: &str) -> Document {
    let decisions = &comparison.decisions;
    let counts = counts(decisions);
    let data = json!({
        "run": run,
        "base": comparison.base,
        "other": comparison.other,
        "alpha": comparison.alpha,
        "benchmarks": decisions,
        "counts": counts.iter().copied().collect::<std::collections::BTreeMap<_, _>>(),
        "only_base": comparison.only_base,
        "only_other": comparison.only_other,
        "notes": comparison.notes,
    });
    let (base, other) = (&comparison.base, &comparison.other);
    let title = format!("Compare {other} with {base}");
    let mut document = Document::new(title, data, "benchmarks");
    let said: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    let total = counted(decisions.len(), "benchmark");
    document.text(match decisions.is_empty() {
        true => format!("{other} and {base} have no benchmark in common."),
        false => format!("{total}: {}.", said.join(", ")),
    });
    let title = format!("{other} against {base}");
    document.table(title, &COLUMNS, decisions.iter().map(line).collect());
    for decision in decisions.iter().filter(|decision| decision.fault.is_some()) {
        push_fault(&mut document, comparison, decision);
    }
    for (side, names) in [(base, &comparison.only_base), (other, &comparison.only_other)] {
        if !names.is_empty() {
            document.note(format!("only {side} has {}: not raced", names.join(", ")));
        }
    }
    if decisions.iter().any(|decision| decision.last().is_some()) {
        document.note(
            "a program has no reference: a ratio says how long it takes, not whether it is right",
        );
        document.note(format!(
            "the chance that a program which is not slower is called SLOWER is at most {} %, over \
             all benchmarks together",
            three_digits(100.0 * comparison.alpha)
        ));
    }
    for note in &comparison.notes {
        document.note(note.clone());
    }
    document
}

fn counts(decisions: &[ProgramDecision]) -> [(&'static str, usize); 7] {
    let standing = |is: fn(&Standing) -> bool| {
        decisions.iter().filter(|decision| is(&decision.standing)).count()
    };
    let outcome = |outcome: ProgramOutcome| {
        decisions.iter().filter(|decision| decision.outcome == outcome).count()
    };
    [
        ("DIFFERS", outcome(ProgramOutcome::Differs)),
        ("CRASHED", outcome(ProgramOutcome::Crashed)),
        ("SLOWER", standing(|it| *it == Standing::Slower)),
        ("not confirmed", standing(|it| matches!(it, Standing::NotConfirmed(_)))),
        ("UNDECIDED", standing(|it| *it == Standing::Undecided)),
        ("FASTER", standing(|it| *it == Standing::Faster)),
        ("SAME", standing(|it| *it == Standing::Same)),
    ]
}

fn line(decision: &ProgramDecision) -> Vec<Cell> {
    let cell = |text: Option<String>| text.map_or_else(Cell::nothing, Cell::plain);
    let last = decision.last();
    let verdict = match decision.standing {
        Standing::Refused => Cell::nothing(),
        Standing::Slower => Cell::with(decision.standing.name(), Emphasis::Bad),
        Standing::Faster | Standing::Same => Cell::with(decision.standing.name(), Emphasis::Good),
        _ => Cell::with(decision.standing.name(), Emphasis::Dim),
    };
    let results = match decision.outcome {
        ProgramOutcome::Unproven => Cell::with(decision.outcome.name(), Emphasis::Dim),
        ProgramOutcome::Agrees => Cell::with(decision.outcome.name(), Emphasis::Good),
        ProgramOutcome::Differs | ProgramOutcome::Crashed => {
            Cell::with(decision.outcome.name(), Emphasis::Bad)
        }
    };
    vec![
        Cell::plain(decision.name.clone()),
        verdict,
        cell(last.map(|ruling| ratio(&ruling.ratio))),
        results,
        cell(last.map(|ruling| ruling.trials.to_string())),
        Cell::plain(decision.harness.name()),
        cell(because(decision)),
    ]
}

/// Why a benchmark stands where it does.
fn because(decision: &ProgramDecision) -> Option<String> {
    let last = decision.last();
    let open = last.and_then(|ruling| {
        let reason = ruling.undecided_because.as_ref()?;
        let seen = ruling.detectable.map(|share| {
            format!("; {} % would be found nine times in ten", three_digits(100.0 * share))
        });
        Some(format!("{reason}{}", seen.unwrap_or_default()))
    });
    let word = match (decision.standing, last) {
        (Standing::NotConfirmed(_), Some(ruling)) => {
            Some(format!("slower at first, {} with fresh trials", ruling.verdict.name()))
        }
        _ => None,
    };
    let fault = decision.fault.as_ref().map(|fault| {
        format!(
            "{} ended with {}",
            if fault.arm == 0 { "the base" } else { "the new side" },
            fault.what
        )
    });
    let parts: Vec<String> =
        [fault, decision.output.clone(), word, open].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn push_fault(document: &mut Document, comparison: &ProgramComparison, decision: &ProgramDecision) {
    let Some(fault) = &decision.fault else { return };
    let side = if fault.arm == 0 { &comparison.base } else { &comparison.other };
    let lines: Vec<&str> = fault.said.lines().collect();
    let said = match lines.is_empty() {
        true => "It printed no error.".to_owned(),
        false => format!("Its last lines: {}", lines.join(" | ")),
    };
    document.text(format!("{}: {side} ended with {}. {said}", decision.name, fault.what));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};
    use proofmark_schema::decision::Round;
    use proofmark_schema::program::{Harness, ProgramFault, ProgramRuling};
    use proofmark_schema::quantity::Interval;
    use proofmark_schema::race::Verdict;

    fn decision(name: &str, standing: Standing, verdict: Verdict) -> ProgramDecision {
        ProgramDecision {
            name: name.to_owned(),
            harness: Harness::Criterion,
            outcome: ProgramOutcome::Unproven,
            standing,
            screen: Some(ProgramRuling {
                round: Round::Screen,
                ratio: Interval { estimate: 1.07, low: 1.05, high: 1.09, confidence: 0.99 },
                verdict,
                trials: 16,
                processes: 64,
                looks: vec![6, 10],
                alpha: 0.01,
                report_margin: 0.005,
                same_margin: 0.01,
                undecided_because: (verdict == Verdict::Undecided)
                    .then(|| "the noise is too large for the trials allowed".to_owned()),
                detectable: Some(0.03),
                p_value: Some(0.5),
                seconds: 3.25,
            }),
            confirmation: None,
            fault: None,
            output: None,
        }
    }

    fn shown() -> (Document, String) {
        let crashed = ProgramDecision {
            outcome: ProgramOutcome::Crashed,
            fault: Some(ProgramFault {
                arm: 1,
                what: "signal 11 (SIGSEGV)".to_owned(),
                said: "at line 7".to_owned(),
            }),
            screen: None,
            ..decision("parse/empty", Standing::Refused, Verdict::Undecided)
        };
        let differs = ProgramDecision {
            outcome: ProgramOutcome::Differs,
            output: Some("line 2: `b` became `c`".to_owned()),
            screen: None,
            ..decision("parse/small", Standing::Refused, Verdict::Undecided)
        };
        let comparison = ProgramComparison {
            base: "rev:main".to_owned(),
            other: "rev:.".to_owned(),
            alpha: 0.01,
            decisions: vec![
                decision("parse/large", Standing::Slower, Verdict::Slower),
                decision("parse/noisy", Standing::Undecided, Verdict::Undecided),
                crashed,
                differs,
            ],
            only_base: Vec::new(),
            only_other: vec!["parse/new".to_owned()],
            notes: Vec::new(),
        };
        let document = programs(&comparison, "run");
        let text =
            (find("term").unwrap().render)(&document, &Style { width: 110, ..Style::default() });
        (document, text)
    }

    #[test]
    fn a_table_of_programs_has_ratios_and_no_times() {
        let (document, text) = shown();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in [
            "4 benchmarks: 1 DIFFERS, 1 CRASHED, 1 SLOWER, 1 UNDECIDED.",
            "UNPROVEN",
            "signal 11 (SIGSEGV)",
            "at line 7",
            "`b` became `c`",
            "only rev:. has parse/new",
            "nine times in ten",
        ] {
            assert!(text.contains(word), "{word} in {text}");
        }
        for unit in [" ns", " µs", " ms", "wall_ns", "value_ns"] {
            assert!(!text.contains(unit), "{unit} in {text}");
            assert!(!document.data.to_string().contains(unit.trim_start()), "{}", document.data);
        }
    }
}
