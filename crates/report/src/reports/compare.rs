//! The report of a comparison that decides.

use crate::document::{Cell, Column, Document, Emphasis};
use crate::plain::{counted, is_bounded, ratio};
use crate::reports::ProveRow;
use crate::reports::prove::push_refusal;
use proofmark_schema::decision::{CaseDecision, Standing};
use proofmark_schema::quantity::three_digits;
use proofmark_schema::race::Verdict;
use serde_json::json;

const DETAILS: [Column; 2] = [Column::left("", 0), Column::text("", 0)];
const CASES: [Column; 6] = [
    Column::left("case", 0),
    Column::left("verdict", 0),
    Column::right("ratio of times", 1),
    Column::right("trials", 3),
    Column::right("p", 4),
    Column::text("because", 2),
];

/// What was compared, besides the cases.
#[derive(Clone, Debug)]
pub struct ComparedArms {
    /// The arm that is compared with, as it was asked for.
    pub base: String,
    /// The other.
    pub other: String,
    /// Error rate of the whole comparison.
    pub alpha: f64,
    /// The run that keeps the races.
    pub run: Option<String>,
    /// What is worth knowing besides.
    pub notes: Vec<String>,
}

/// The document of a comparison: one line for each case, or all about the only one.
pub fn compare(arms: &ComparedArms, decisions: &[CaseDecision]) -> Document {
    let count = |is: fn(&Standing) -> bool| {
        decisions.iter().filter(|decision| is(&decision.standing)).count()
    };
    let counts = [
        ("SLOWER", count(|it| *it == Standing::Slower)),
        ("not confirmed", count(|it| matches!(it, Standing::NotConfirmed(_)))),
        ("UNDECIDED", count(|it| *it == Standing::Undecided)),
        ("FASTER", count(|it| *it == Standing::Faster)),
        ("SAME", count(|it| *it == Standing::Same)),
        ("weak", count(|it| *it == Standing::Weak)),
        ("refused", count(|it| *it == Standing::Refused)),
    ];
    let data = json!({
        "base": arms.base,
        "other": arms.other,
        "alpha": arms.alpha,
        "run": arms.run,
        "cases": decisions,
        "counts": counts.iter().copied().collect::<std::collections::BTreeMap<_, _>>(),
        "notes": arms.notes,
    });
    let (base, other) = (&arms.base, &arms.other);
    let mut document = Document::new(format!("Compare {other} with {base}"), data, "cases");
    match decisions {
        [] => document.text("The two have no case in common."),
        [only] => document.table(only.case.to_string(), &DETAILS, details(arms, only)),
        _ => {
            let title = format!("{other} against {base}");
            document.table(title, &CASES, decisions.iter().map(line).collect());
            let said = counts.iter().filter(|(_, count)| *count > 0);
            let said: Vec<String> = said.map(|(word, count)| format!("{count} {word}")).collect();
            let total = counted(decisions.len(), "case");
            document.text(format!("{total}: {}.", said.join(", ")));
            if arms.run.is_some() {
                document.note(format!(
                    "the chance that code which is not slower is called SLOWER is at most {}, over \
                     all cases together",
                    percent(arms.alpha)
                ));
            }
        }
    }
    for note in &arms.notes {
        document.note(note.clone());
    }
    let refused = decisions.iter().filter_map(|decision| decision.refused.as_deref());
    for row in refused.filter_map(|proof| ProveRow::of(&[proof])) {
        push_refusal(&mut document, &row);
    }
    document
}

fn percent(share: f64) -> String {
    format!("{} %", three_digits(100.0 * share))
}

fn p_value(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { three_digits(p) }
}

fn verdict(decision: &CaseDecision, text: String) -> Cell {
    let emphasis = match decision.standing {
        Standing::Slower | Standing::Refused => Emphasis::Bad,
        Standing::Faster | Standing::Same => Emphasis::Good,
        Standing::Undecided | Standing::Weak | Standing::NotConfirmed(_) => Emphasis::Dim,
    };
    Cell::with(text, emphasis)
}

/// Why a case stands where it does.
fn because(decision: &CaseDecision) -> Option<String> {
    let ruling = decision.last().map(|decided| &decided.ruling);
    let open = ruling.and_then(|ruling| ruling.undecided_because.clone());
    match decision.standing {
        Standing::NotConfirmed(verdict) => {
            let open = open.map_or_else(String::new, |reason| format!(": {reason}"));
            Some(format!("slower at first, {} with fresh trials{open}", verdict.name()))
        }
        Standing::Weak => Some("stored numbers decide nothing".to_owned()),
        _ => decision.because.clone().or(open),
    }
}

fn line(decision: &CaseDecision) -> Vec<Cell> {
    let cell = |text: Option<String>| text.map_or_else(Cell::nothing, Cell::plain);
    let decided = decision.last();
    let trials = decided.map(|decided| decided.ruling.comparison.trials.to_string());
    vec![
        Cell::plain(decision.case.to_string()),
        verdict(decision, decision.standing.name().to_owned()),
        cell(decision.ratio.as_ref().map(ratio)),
        cell(trials),
        cell(decided.and_then(|decided| decided.p_value).map(p_value)),
        cell(because(decision)),
    ]
}

fn details(arms: &ComparedArms, decision: &CaseDecision) -> Vec<Vec<Cell>> {
    let row = |name: &str, value: String| vec![Cell::plain(name), Cell::plain(value)];
    let (base, other) = (&arms.base, &arms.other);
    let words = match decision.standing {
        Standing::Faster => format!("{other} is FASTER than {base}"),
        Standing::Slower => format!("{other} is SLOWER than {base}"),
        Standing::Same => format!("{other} is the SAME as {base}"),
        Standing::NotConfirmed(Verdict::Undecided) | Standing::Undecided => {
            format!("{other} is UNDECIDED against {base}")
        }
        Standing::NotConfirmed(_) => format!("not confirmed: {other} is not slower than {base}"),
        Standing::Weak => format!("weak: {other} beside {base}"),
        Standing::Refused => "nothing to compare".to_owned(),
    };
    let mut rows = vec![vec![Cell::plain("verdict"), verdict(decision, words)]];
    if let Some(reason) = because(decision) {
        rows.push(row("because", reason));
    }
    if let Some(ratio) = decision.ratio {
        let at = 100.0 * ratio.confidence;
        let [estimate, low, high] = [ratio.estimate, ratio.low, ratio.high];
        rows.push(row(
            "ratio of times",
            match is_bounded(&ratio) {
                true => format!("{estimate:.4} [{low:.4}, {high:.4}] at {at:.2} %"),
                false => format!("{estimate:.4}; the trials are too few to bound it"),
            },
        ));
    }
    let Some(decided) = decision.last() else { return rows };
    let ruling = &decided.ruling;
    rows.push(row(
        "rule",
        format!(
            "error rate {} over all looks; below {} no change is reported, within {} it is the \
             same",
            percent(ruling.alpha),
            percent(ruling.report_margin),
            percent(ruling.same_margin)
        ),
    ));
    if let (Some(first), Some(_)) = (&decision.screen, &decision.confirmation) {
        let ratio = first.ruling.comparison.ratio.estimate;
        rows.push(row("raced twice", format!("slower by {} at first", percent(ratio - 1.0))));
    }
    let both = decision.screen.iter().chain(&decision.confirmation);
    let (trials, seconds) = both.fold((0, 0.0), |(trials, seconds), decided| {
        (trials + decided.ruling.comparison.trials, seconds + decided.ruling.seconds)
    });
    let (slices, checked) = (decision.slices, decision.checked_elements);
    rows.push(row(
        "evidence",
        format!(
            "{} of fresh processes, {}, {} of timed outputs checked, {seconds:.2} s",
            counted(trials as usize, "trial"),
            counted(slices, "slice"),
            counted(checked as usize, "element")
        ),
    ));
    if let Some(detectable) = ruling.detectable {
        rows.push(row("could have seen", format!("{} nine times in ten", percent(detectable))));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};
    use proofmark_schema::decision::{Decided, RacedArm, Round};
    use proofmark_schema::quantity::Interval;
    use proofmark_schema::race::{Comparison, Ruling};

    fn decision(standing: Standing, verdict: Verdict, reason: Option<&str>) -> CaseDecision {
        let mut decision = CaseDecision::open("add:f32[b=1,s=1,d=8]".parse().unwrap(), 1);
        let arm = |arm: &str| RacedArm {
            arm: arm.to_owned(),
            contender: "native/simd@avx2".parse().unwrap(),
            program: None,
        };
        let ratio = Interval { estimate: 0.99, low: 0.9, high: 1.1, confidence: 0.998 };
        let decided = Decided {
            round: Round::Screen,
            arms: [arm("rev:HEAD~1"), arm("rev:HEAD")],
            looks: vec![6, 10],
            ruling: Ruling {
                comparison: Comparison {
                    against: "native/simd@avx2".parse().unwrap(),
                    ratio,
                    verdict,
                    trials: 60,
                },
                alpha: 0.01,
                report_margin: 0.005,
                same_margin: 0.01,
                undecided_because: reason.map(str::to_owned),
                detectable: Some(0.02),
                seconds: 1.0,
            },
            p_value: Some(0.5),
        };
        decision.standing = standing;
        decision.ratio = Some(ratio);
        decision.screen = Some(decided);
        decision
    }

    fn shown(decisions: &[CaseDecision], width: usize) -> (Document, String) {
        let arms = ComparedArms {
            base: "rev:HEAD~1".to_owned(),
            other: "rev:HEAD".to_owned(),
            alpha: 0.01,
            run: None,
            notes: Vec::new(),
        };
        let document = compare(&arms, decisions);
        let style = Style { width, ..Style::default() };
        let text = (find("term").unwrap().render)(&document, &style);
        (document, text)
    }

    #[test]
    fn the_verdict_names_both_and_says_why_it_is_open() {
        let open = decision(Standing::Undecided, Verdict::Undecided, Some("the noise is large"));
        let (document, text) = shown(&[open], 100);
        for word in ["rev:HEAD is UNDECIDED against rev:HEAD~1", "noise", "2.00 %"] {
            assert!(text.contains(word), "{word} in {text}");
        }
        assert_eq!(document.data["cases"][0]["standing"], "UNDECIDED");
    }

    #[test]
    fn a_family_has_a_line_for_each_case_and_a_summary_that_fits_a_narrow_terminal() {
        let lines = [
            decision(Standing::Slower, Verdict::Slower, None),
            decision(Standing::NotConfirmed(Verdict::Same), Verdict::Same, None),
            decision(Standing::Same, Verdict::Same, None),
        ];
        let (document, text) = shown(&lines, 60);
        for word in ["SLOWER", "not confirmed", "3 cases: 1 SLOWER, 1 not confirmed, 1 SAME"] {
            assert!(text.replace('\n', " ").contains(word), "{word} in {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert_eq!(document.data["counts"]["SLOWER"], 1);
    }
}
