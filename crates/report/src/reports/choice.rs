//! The report of choices: which kernel or which blocks are the fastest, and the races behind it.

use super::threshold::{hit_rate, verdict};
use crate::document::{Cell, Column, Document, Emphasis};
use crate::plain::{counted, percent, ratio, threads};
use proofmark_analyze::{Among, Challenge, Choice};
use proofmark_schema::quantity::Age;
use serde_json::json;

const CHOSEN: [Column; 5] = [
    Column::left("case", 0),
    Column::right("threads", 1),
    Column::left("built in", 0),
    Column::left("chosen", 0),
    Column::right("speed-up", 0),
];

const RACES: [Column; 5] = [
    Column::left("option", 0),
    Column::left("against", 0),
    Column::right("speed-up", 0),
    Column::left("verdict", 0),
    Column::right("trials", 1),
];

const KEPT: [Column; 5] = [
    Column::left("case", 0),
    Column::left("built in", 1),
    Column::left("chosen", 0),
    Column::right("threads", 1),
    Column::right("age", 1),
];

/// The document of choices just made or kept.
pub fn choices(choices: &[Choice]) -> Document {
    let data = json!({ "choices": choices });
    let mut document = Document::new("What is fastest here", data, "choices");
    document.table("", &CHOSEN, choices.iter().map(chosen).collect());
    document.text(summary(choices));
    for choice in choices {
        let title = format!("{}, {}", choice.case, threads(choice.threads));
        document.table(title, &RACES, choice.search.iter().map(race).collect());
        let is_one = choice.check.len() == 1;
        let checked = |it: &Challenge| {
            let mut cells = race(it);
            if !is_one {
                cells[0] = Cell::plain(it.case.to_string());
            }
            cells
        };
        let title = if is_one { "Checked" } else { "Checked on every case" };
        document.table(title, &RACES, choice.check.iter().map(checked).collect());
        for why in &choice.refused {
            document.note(format!("left out: {why}"));
        }
        document.note(evidence(choice));
    }
    document
}

/// The document of what is kept, with how often that saved a measurement.
pub fn kept_choices(choices: &[Choice], lookups: u64, hits: u64, now: u64) -> Document {
    let data = json!({ "choices": choices, "lookups": lookups, "hits": hits });
    let mut document = Document::new("Choices that are kept", data, "choices");
    let row = |choice: &Choice| {
        vec![
            Cell::plain(choice.case.to_string()),
            Cell::plain(&choice.built_in),
            Cell::plain(&choice.chosen),
            Cell::plain(choice.threads.to_string()),
            Cell::plain(Age(now.saturating_sub(choice.made)).to_string()),
        ]
    };
    document.table("", &KEPT, choices.iter().map(row).collect());
    document.text(match choices.is_empty() {
        true => "None is kept: `proofmark choose conv2d` makes some.".to_owned(),
        false => hit_rate(lookups, hits),
    });
    document
}

fn chosen(choice: &Choice) -> Vec<Cell> {
    let gain = choice.check.first().filter(|_| choice.is_new());
    let name = match choice.is_new() {
        true => Cell::with(&choice.chosen, Emphasis::Good),
        false => Cell::plain(&choice.chosen),
    };
    vec![
        Cell::plain(choice.case.to_string()),
        Cell::plain(choice.threads.to_string()),
        Cell::plain(&choice.built_in),
        name,
        Cell::plain(gain.map_or("–".to_owned(), |race| ratio(&race.ratio.inverse()))),
    ]
}

fn race(race: &Challenge) -> Vec<Cell> {
    vec![
        Cell::plain(&race.option),
        Cell::plain(&race.against),
        Cell::plain(ratio(&race.ratio.inverse())),
        verdict(race.verdict),
        Cell::plain(race.trials.to_string()),
    ]
}

fn summary(choices: &[Choice]) -> String {
    let among = match choices.first().map(|choice| choice.among) {
        None => return "There was nothing to choose.".to_owned(),
        Some(Among::Kernels) => "kernels",
        Some(Among::Blocks) => "block sizes",
    };
    let new = choices.iter().filter(|choice| choice.is_new()).count();
    match new {
        0 => format!(
            "The built-in {among} stay: nothing else was shown faster and then borne out by a \
             second race."
        ),
        _ => format!(
            "For {new} of {} something else than the built-in {among} is faster: shown in the \
             search and again in a race of its own.",
            counted(choices.len(), "case")
        ),
    }
}

fn evidence(choice: &Choice) -> String {
    let kept = if choice.is_cached { "kept from before (--fresh measures again); " } else { "" };
    format!(
        "{kept}{}, each wrong at most {} of the time; run {}",
        counted(choice.search.len() + choice.check.len(), "race"),
        percent(100.0 * choice.alpha),
        choice.run
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};
    use proofmark_schema::quantity::Interval;
    use proofmark_schema::race::Verdict;

    fn choice(chosen: &str) -> Choice {
        let case: proofmark_schema::Case = "conv2d:f32[b=1,c=16]".parse().unwrap();
        let race = Challenge {
            case: case.clone(),
            option: "winograd".to_owned(),
            against: "simd".to_owned(),
            ratio: Interval { estimate: 0.8, low: 0.79, high: 0.81, confidence: 0.99 },
            verdict: Verdict::Faster,
            trials: 6,
        };
        Choice {
            case,
            threads: 1,
            among: Among::Kernels,
            built_in: "simd".to_owned(),
            chosen: chosen.to_owned(),
            search: vec![race.clone()],
            check: vec![race],
            refused: vec!["im2col on conv2d: it is too large".to_owned()],
            alpha: 0.01,
            run: "r1".to_owned(),
            made: 100,
            is_cached: true,
        }
    }

    fn text(document: &Document) -> String {
        (find("term").unwrap().render)(
            document,
            &Style { width: 160, colour: false, ..Style::default() },
        )
    }

    #[test]
    fn a_choice_is_told_with_its_gain_and_its_races() {
        let told = text(&choices(&[choice("winograd"), choice("simd")]));
        assert!(told.contains("For 1 of 2 cases something else"), "{told}");
        assert!(told.contains("1.25× [1.23, 1.27]"), "{told}");
        assert!(told.contains("left out: im2col") && told.contains("kept from before"), "{told}");
        let stays = text(&choices(&[choice("simd")]));
        assert!(stays.contains("The built-in kernels stay"), "{stays}");
    }

    #[test]
    fn kept_choices_have_an_age() {
        let kept = text(&kept_choices(&[choice("winograd")], 4, 3, 7300));
        assert!(kept.contains("winograd") && kept.contains("2 h"), "{kept}");
        assert!(kept.contains("a hit rate of 75 %"), "{kept}");
        assert!(text(&kept_choices(&[], 0, 0, 0)).contains("None is kept"));
    }
}
