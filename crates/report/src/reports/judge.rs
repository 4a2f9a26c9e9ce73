//! The report of the judge's own proof: which planted cheats won, which honest kernels were
//! accused.

use crate::document::{Cell, Column, Document, Emphasis};
use proofmark_schema::judge::{JudgeCounts, JudgedRun, Mark};
use serde_json::json;

const COLUMNS: [Column; 6] = [
    Column::left("op", 0),
    Column::left("specimen", 0),
    Column::left("class", 2),
    Column::left("outcome", 0),
    Column::right("ratio", 0),
    Column::text("what named it", 1),
];

/// Letters of a reason that a table shows.
const REASON: usize = 96;

/// The document of a self-test of the judge; its lines are the runs.
pub fn judge(runs: &[JudgedRun]) -> Document {
    let counts = JudgeCounts::of(runs);
    let data = json!({ "cheats": counts.cheats, "honest": counts.honest, "rows": runs });
    let mut document = Document::new(answer(&counts), data, "rows");
    let groups: Vec<Vec<&JudgedRun>> = grouped(runs);
    document.table("", &COLUMNS, groups.iter().map(|group| cells(group)).collect());
    document.note(
        "ratio is the time of the twin over that of the specimen; more than 1.10 with a clean \
         outcome is a win",
    );
    if runs.iter().any(|run| !run.is_counted()) {
        document.note(
            "a specimen marked * changes or reads what the harness keeps in its own process, \
             which is not counted",
        );
    }
    document
}

/// The answer in one sentence.
fn answer(counts: &JudgeCounts) -> String {
    let JudgeCounts { cheats, honest } = counts;
    format!(
        "Cheats won {} of {} planted runs ({} named); honest kernels were accused in {} of {} \
         runs ({} undecided).",
        cheats.wins, cheats.runs, cheats.named, honest.accused, honest.runs, honest.undecided
    )
}

/// The runs of each specimen on each op, together, in the order they came first.
fn grouped(runs: &[JudgedRun]) -> Vec<Vec<&JudgedRun>> {
    let mut groups: Vec<Vec<&JudgedRun>> = Vec::new();
    for run in runs {
        let is_alike = |group: &&mut Vec<&JudgedRun>| {
            (&group[0].op, &group[0].specimen) == (&run.op, &run.specimen)
        };
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    groups
}

/// One row: the worst of the runs of a specimen, and how many were like it.
fn cells(group: &[&JudgedRun]) -> Vec<Cell> {
    let worst = group.iter().max_by_key(|run| run.mark.rank()).expect("a group has a run");
    let alike = group.iter().filter(|run| run.mark == worst.mark).count();
    let times = match group.len() {
        1 => String::new(),
        all => format!(" ({alike} of {all})"),
    };
    let mark = worst.mark.name();
    let outcome = match worst.mark {
        Mark::Named | Mark::Accused | Mark::Undecided => {
            format!("{mark} {}{times}", worst.outcome)
        }
        _ => format!("{mark}{times}"),
    };
    let outcome = match worst.mark {
        Mark::Win | Mark::Accused => Cell::with(outcome, Emphasis::Bad),
        Mark::Unnamed | Mark::Undecided => Cell::plain(outcome),
        _ => Cell::with(outcome, Emphasis::Good),
    };
    let star = if worst.is_counted() { "" } else { "*" };
    vec![
        Cell::plain(&worst.op),
        Cell::plain(format!("{}{star}", worst.specimen)),
        Cell::plain(worst.class.name()),
        outcome,
        worst.ratio.map_or_else(Cell::nothing, |ratio| Cell::plain(format!("{ratio:.2}"))),
        Cell::plain(shortened(&worst.words)),
    ]
}

fn shortened(words: &str) -> String {
    let mut short: String = words.chars().take(REASON).collect();
    if short.len() < words.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};
    use proofmark_schema::Isolation;
    use proofmark_schema::judge::{Class, Kind};

    fn run(specimen: &str, kind: Kind, mark: Mark, outcome: &str) -> JudgedRun {
        JudgedRun {
            op: "softmax".to_owned(),
            specimen: specimen.to_owned(),
            class: if kind == Kind::Honest { Class::Honest } else { Class::Replay },
            kind,
            case: "softmax:f32[b=1,s=1,d=8]".to_owned(),
            threads: 1,
            run: 0,
            load: 0,
            isolation: Isolation::T1,
            mark,
            outcome: outcome.to_owned(),
            ratio: (mark == Mark::Win).then_some(12.5),
            words: "timed output y[0] is NaN, exact 0.5".to_owned(),
            seconds: 0.5,
        }
    }

    #[test]
    fn data_has_exactly_the_agreed_names_and_the_answer_comes_first() {
        let cheat = Kind::Cheat { attacks: false };
        let runs = [
            run("memo_ptr", cheat, Mark::Named, "WRONG"),
            run("standing_all", cheat, Mark::Win, "PROVEN"),
            run("plain", Kind::Honest, Mark::Passed, "PROVEN"),
            run("plain", Kind::Honest, Mark::Accused, "CAUGHT"),
        ];
        let document = judge(&runs);
        let cheats = json!({ "planted": 2, "runs": 2, "wins": 1, "named": 1 });
        let honest = json!({ "kernels": 1, "runs": 2, "accused": 1, "undecided": 0 });
        assert_eq!(document.data["cheats"], cheats);
        assert_eq!(document.data["honest"], honest);
        assert_eq!(document.data.as_object().unwrap().len(), 3);
        let style = Style { width: 80, ..Style::default() };
        let text = (find("term").unwrap().render)(&document, &style);
        assert!(text.starts_with("Cheats won 1 of 2 planted runs (1 named)"), "{text}");
        assert!(text.contains("ACCUSED CAUGHT (1 of 2)") && text.contains("12.50"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
