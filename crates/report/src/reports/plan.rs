//! The report of a plan: what would run, which contenders cannot enter and why, and how long it
//! takes.

use crate::document::{Cell, Column, Document, Emphasis};
use crate::plain::{Span, counted};
use proofmark_schema::plan::{Absence, Item, Plan};
use serde_json::json;

const ITEM_COLUMNS: [Column; 5] = [
    Column::right("item", 1),
    Column::left("case", 0),
    Column::right("threads", 0),
    Column::left("memory", 2),
    Column::text("contenders", 0),
];

const ABSENT_COLUMNS: [Column; 3] =
    [Column::left("contender", 0), Column::left("case", 1), Column::text("reason", 0)];

/// The document of a plan that has not run.
pub fn plan(plan: &Plan) -> Document {
    let mut document = Document::new("Plan", json!(plan), "items");
    document.table("", &ITEM_COLUMNS, plan.items.iter().map(item).collect());
    document.table("absent", &ABSENT_COLUMNS, plan.absent.iter().map(absence).collect());
    document.text(format!(
        "{}, budget {}, seed {}",
        counted(plan.items.len(), "item"),
        plan.kind,
        plan.seed
    ));
    let races = plan.estimate_seconds - plan.proof_seconds;
    document.text(format!(
        "about {}: {} of proofs, {} of races",
        Span(plan.estimate_seconds),
        Span(plan.proof_seconds),
        Span(races)
    ));
    document
}

fn item(item: &Item) -> Vec<Cell> {
    let field: Vec<String> = item.field.iter().map(ToString::to_string).collect();
    let texts = [
        item.index.to_string(),
        item.case.to_string(),
        item.threads.to_string(),
        format!("{}, {}", item.memory.cache, item.memory.pages),
        field.join(" "),
    ];
    texts.into_iter().map(Cell::plain).collect()
}

fn absence(absence: &Absence) -> Vec<Cell> {
    vec![
        Cell::with(&absence.contender, Emphasis::Dim),
        Cell::plain(&absence.case),
        Cell::plain(&absence.reason),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};
    use proofmark_schema::plan::RunKind;
    use proofmark_schema::{Cache, Memory};

    #[test]
    fn a_dry_run_shows_items_absences_and_the_estimate() {
        let planned = Plan {
            format: 1,
            seed: 7,
            kind: RunKind::Quick,
            items: vec![Item {
                index: 0,
                case: "matmul:f32[m=8]".parse().unwrap(),
                field: vec!["native/scalar@scalar".parse().unwrap()],
                threads: 1,
                memory: Memory { cache: Cache::Cold, ..Memory::default() },
                uses: Vec::new(),
            }],
            absent: vec![Absence {
                contender: "peer/pytorch".to_owned(),
                case: "matmul".to_owned(),
                reason: "not installed".to_owned(),
            }],
            proof_seconds: 0.5,
            estimate_seconds: 2.5,
            part: None,
        };
        let document = plan(&planned);
        let text = (find("term").unwrap().render)(&document, &Style::default());
        for part in [
            "matmul:f32[m=8]",
            "cold, 4k",
            "peer/pytorch",
            "not installed",
            "1 item, budget quick, seed 7\n",
            "about 2.5 s: 0.5 s of proofs, 2.0 s of races",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert_eq!(document.data["items"][0]["case"], "matmul:f32[m=8]");
        assert_eq!(document.data["proof_seconds"], 0.5);
    }
}
