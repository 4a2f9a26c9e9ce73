//! The report of machine code: what the hottest functions are made of, and what was promised.

use crate::document::{Cell, Column, Document, Emphasis};
use crate::plain::percent;
use proofmark_analyze::{Mix, Width};
use proofmark_schema::{Case, ContenderId};
use serde_json::json;

/// Code that was looked into.
#[derive(Clone, Debug)]
pub struct InspectedCode<'a> {
    /// The case it ran on.
    pub case: &'a Case,
    /// The contender.
    pub contender: &'a ContenderId,
    /// Its hottest functions.
    pub mixes: &'a [Mix],
    /// What its name promises.
    pub promised: Option<Width>,
    /// The widest registers found.
    pub widest: Width,
    /// Samples behind the shares.
    pub samples: u64,
}

const COLUMNS: [Column; 9] = [
    Column::right("time", 0),
    Column::text("function", 0),
    Column::right("instructions", 1),
    Column::right("on vectors", 0),
    Column::right("time on vectors", 2),
    Column::right("multiply-adds", 1),
    Column::right("calls", 2),
    Column::left("widest", 0),
    Column::text("commonest", 3),
];

/// The document of machine code.
pub fn asm(of: &InspectedCode<'_>) -> Document {
    let is_kept = of.promised.is_none_or(|promised| of.widest >= promised);
    let data = json!({
        "case": of.case.to_string(),
        "contender": of.contender.to_string(),
        "promised": of.promised,
        "widest": of.widest,
        "is_kept": is_kept,
        "samples": of.samples,
        "functions": of.mixes,
    });
    let title = format!("The code of {} on {}", of.contender, of.case);
    let mut document = Document::new(title, data, "functions");
    document.table("", &COLUMNS, of.mixes.iter().map(row).collect());
    let widest = of.widest.name();
    document.text(match of.promised {
        None => format!("The widest registers are {widest}; its name promises none."),
        Some(promised) if is_kept => {
            format!("Promised: {}. Kept: the widest registers are {widest}.", promised.name())
        }
        Some(promised) => format!(
            "BROKEN PROMISE: its name says {}, the widest registers where its time goes are \
             {widest}.",
            promised.name()
        ),
    });
    document
        .note(format!("{} samples; functions with less than 2 % of them are left out", of.samples));
    document
}

fn row(mix: &Mix) -> Vec<Cell> {
    let commonest: Vec<String> =
        mix.commonest.iter().map(|(name, count)| format!("{name} {count}")).collect();
    let vectors = percent(100.0 * mix.vector as f64 / mix.instructions.max(1) as f64);
    let emphasis = (mix.widest >= Width::Ymm).then_some(Emphasis::Good);
    vec![
        Cell::plain(percent(100.0 * mix.share)),
        Cell::plain(super::profile::short(&mix.function)),
        Cell::plain(mix.instructions.to_string()),
        Cell::plain(vectors),
        Cell::plain(percent(100.0 * mix.vector_time)),
        Cell::plain(mix.multiply_adds.to_string()),
        Cell::plain(mix.calls.to_string()),
        Cell { emphasis, ..Cell::plain(mix.widest.name()) },
        Cell::plain(commonest.join(", ")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};

    #[test]
    fn a_promise_is_kept_or_called_broken() {
        let mix = Mix {
            function: "kernel".to_owned(),
            instructions: 10,
            vector: 5,
            widest: Width::Ymm,
            share: 0.9,
            ..Mix::default()
        };
        let told = |promised| {
            let document = asm(&InspectedCode {
                case: &"add:f32[b=1,s=1,d=9]".parse().unwrap(),
                contender: &"native/simd@avx512".parse().unwrap(),
                mixes: std::slice::from_ref(&mix),
                promised,
                widest: Width::Ymm,
                samples: 100,
            });
            (find("term").unwrap().render)(
                &document,
                &Style { width: 160, colour: false, ..Style::default() },
            )
        };
        assert!(told(Some(Width::Ymm)).contains("Kept"));
        assert!(told(Some(Width::Zmm)).contains("BROKEN PROMISE: its name says zmm"));
        assert!(told(None).contains("promises none"));
    }
}
