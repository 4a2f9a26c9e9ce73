//! The report of a search for the first slower revision or version.

use crate::document::{Cell, Column, Document};
use crate::plain::counted;
use proofmark_schema::quantity::three_digits;
use serde_json::json;

/// What a search found.
#[derive(Clone, Debug)]
pub struct BisectedLine {
    /// What a candidate is: `revision` or `version`.
    pub candidate: &'static str,
    /// The first bad candidate.
    pub first_bad: String,
    /// Candidates just before it that could not be judged.
    pub suspects: Vec<String>,
    /// What was raced.
    pub name: String,
    /// Candidates that it could have been.
    pub candidates: usize,
    /// What was tried: candidate, answer, ratio to the good end.
    pub tried: Vec<(String, &'static str, Option<f64>)>,
    /// Error rate of the whole search.
    pub alpha: f64,
}

/// The document of a search.
pub fn bisect(line: &BisectedLine) -> Document {
    let tried: Vec<_> = line
        .tried
        .iter()
        .map(|(tried, answer, ratio)| json!({line.candidate: tried, "answer": answer, "ratio": ratio}))
        .collect();
    let data = json!({
        "first_bad": line.first_bad,
        "suspects": line.suspects,
        "benchmark": line.name,
        "candidates": line.candidates,
        "alpha": line.alpha,
        "tried": tried,
    });
    let title = format!("The first slower {}", line.candidate);
    let mut document = Document::new(title, data, "tried");
    document.text(format!(
        "{} is the first of {} that is slower on {}.",
        line.first_bad,
        counted(line.candidates, line.candidate),
        line.name
    ));
    if !line.suspects.is_empty() {
        document.text(format!(
            "The change may also be in one of those just before it, which could not be judged: {}.",
            line.suspects.join(", ")
        ));
    }
    let cell = |ratio: &Option<f64>| match ratio {
        Some(ratio) => Cell::plain(format!("{}×", three_digits(*ratio))),
        None => Cell::nothing(),
    };
    let row = |(tried, answer, ratio): &(String, &'static str, Option<f64>)| {
        vec![Cell::plain(tried.clone()), Cell::plain(*answer), cell(ratio)]
    };
    let columns = [
        Column::left(line.candidate, 0),
        Column::left("answer", 0),
        Column::right("ratio of times", 0),
    ];
    document.table("Tried", &columns, line.tried.iter().map(row).collect());
    document.note(format!(
        "the chance that any answer of the search is wrong is at most {} %",
        three_digits(100.0 * line.alpha)
    ));
    document
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};

    #[test]
    fn the_first_bad_revision_is_named_with_its_suspects_and_the_error_rate() {
        let line = BisectedLine {
            candidate: "revision",
            first_bad: "c3".to_owned(),
            suspects: vec!["c2".to_owned()],
            name: "speed/one".to_owned(),
            candidates: 8,
            tried: vec![("c3".to_owned(), "bad", Some(1.1)), ("c2".to_owned(), "skipped", None)],
            alpha: 0.01,
        };
        let document = bisect(&line);
        let text = (find("term").unwrap().render)(&document, &Style::default());
        let text = text.replace('\n', " ");
        for word in ["c3 is the first of 8 revisions", "c2", "1.10×", "1.00 %"] {
            assert!(text.contains(word), "{word} in {text}");
        }
    }
}
