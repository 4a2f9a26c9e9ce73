//! The report of a comparison that decides.

use crate::document::{Cell, Column, Document, Emphasis};
use proofmark_schema::quantity::three_digits;
use proofmark_schema::race::{Race, Ruling, Verdict};
use serde_json::json;

const COLUMNS: [Column; 2] = [Column::left("", 0), Column::text("", 0)];

/// The document of a ruling.
pub fn compare(race: &Race, ruling: &Ruling) -> Document {
    let data = json!({
        "case": race.case,
        "base": race.arms[0],
        "other": race.arms[1],
        "threads": race.threads,
        "seed": race.seed,
        "ruling": ruling,
        "slices": race.slices.len(),
        "checked_elements": race.checked,
    });
    let mut document = Document::new(format!("Compare on {}", race.case), data, "");
    let (base, other) = (&race.arms[0], &race.arms[1]);
    let comparison = &ruling.comparison;
    let ratio = comparison.ratio;
    let emphasis = match comparison.verdict {
        Verdict::Slower => Emphasis::Bad,
        Verdict::Faster | Verdict::Same => Emphasis::Good,
        Verdict::Undecided => Emphasis::Dim,
    };
    let percent = |share: f64| format!("{} %", three_digits(100.0 * share));
    let row = |name: &str, value: String| vec![Cell::plain(name), Cell::plain(value)];
    let mut rows = vec![
        vec![
            Cell::plain("verdict"),
            Cell::with(format!("{other} is {} {base}", words(comparison.verdict)), emphasis),
        ],
        row(
            "ratio of times",
            format!(
                "{:.4} [{:.4}, {:.4}] at {:.2} %",
                ratio.estimate,
                ratio.low,
                ratio.high,
                100.0 * ratio.confidence
            ),
        ),
        row(
            "rule",
            format!(
                "error rate {} over all looks; below {} no change is reported, within {} it is the same",
                percent(ruling.alpha),
                percent(ruling.report_margin),
                percent(ruling.same_margin)
            ),
        ),
        row(
            "evidence",
            format!(
                "{} trials of fresh processes, {} slices, {} elements of timed outputs checked, {:.2} s",
                comparison.trials,
                race.slices.len(),
                race.checked,
                ruling.seconds
            ),
        ),
    ];
    if let Some(detectable) = ruling.detectable {
        rows.push(row("could have seen", format!("{} nine times in ten", percent(detectable))));
    }
    if let Some(reason) = &ruling.undecided_because {
        rows.push(row("undecided because", reason.clone()));
    }
    document.table("", &COLUMNS, rows);
    document
}

fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "FASTER than",
        Verdict::Slower => "SLOWER than",
        Verdict::Same => "the SAME as",
        Verdict::Undecided => "UNDECIDED against",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};
    use proofmark_schema::quantity::Interval;
    use proofmark_schema::race::Comparison;

    #[test]
    fn the_verdict_names_both_and_says_why_it_is_open() {
        let arms = ["native/scalar@scalar", "native/simd@avx2"].map(|id| id.parse().unwrap());
        let race = Race {
            case: "add:f32[b=1,s=1,d=8]".parse().unwrap(),
            arms: arms.to_vec(),
            threads: 1,
            seed: 1,
            trials: Vec::new(),
            slices: Vec::new(),
            checked: 0,
            peak_bytes: Vec::new(),
        };
        let ratio = Interval { estimate: 0.99, low: 0.9, high: 1.1, confidence: 0.998 };
        let ruling = Ruling {
            comparison: Comparison {
                against: race.arms[0].clone(),
                ratio,
                verdict: Verdict::Undecided,
                trials: 60,
            },
            alpha: 0.01,
            report_margin: 0.005,
            same_margin: 0.01,
            undecided_because: Some("the noise is too large for the trials allowed".to_owned()),
            detectable: Some(0.02),
            seconds: 1.0,
        };
        let document = compare(&race, &ruling);
        let text = (find("term").unwrap().render)(&document, &Style::default());
        for word in
            ["native/simd@avx2 is UNDECIDED against native/scalar@scalar", "noise", "2.00 %"]
        {
            assert!(text.contains(word), "{word} in {text}");
        }
        assert_eq!(document.data["ruling"]["comparison"]["verdict"], "UNDECIDED");
    }
}
