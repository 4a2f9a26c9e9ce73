//! What a model's step takes: a table and a sentence for each, within the report of a bench.

use crate::document::{Cell, Column, Document};
use crate::plain::{counted, percent, threads, time};
use proofmark_analyze::{Side, Step};
use proofmark_schema::quantity::{Nanos, three_digits};
use serde_json::{Value, json};

const COLUMNS: [Column; 6] = [
    Column::left("contender", 0),
    Column::right("step", 0),
    Column::right("a token", 1),
    Column::right("× native, same layers", 0),
    Column::text("most of it in", 2),
    Column::text("without", 1),
];

/// Ops of a side that are named.
const NAMED: usize = 3;

/// The step as data.
pub(super) fn flat(step: &Step) -> Value {
    let side = |side: &Side| {
        json!({
            "who": side.who,
            "step_ms": side.ns.estimate * 1e-6,
            "step_ms_low": side.ns.low * 1e-6,
            "step_ms_high": side.ns.high * 1e-6,
            "ms_per_token": side.ns.estimate * 1e-6 / step.tokens as f64,
            "ratio_to_native": side.ratio,
            "ms_by_op": side.by_op.iter().map(|(op, ns)| (op.clone(), json!(ns * 1e-6)))
                .collect::<serde_json::Map<_, _>>(),
            "missing": side.missing,
        })
    };
    json!({
        "model": step.model,
        "tokens": step.tokens,
        "dtype": step.dtype.name(),
        "threads": step.threads,
        "sides": step.sides.iter().map(side).collect::<Vec<_>>(),
    })
}

/// Adds the step to a document.
pub(super) fn push(document: &mut Document, step: &Step) {
    let tokens = counted(step.tokens as usize, "token");
    let title = format!("{}, {tokens}, {}, {}", step.model, step.dtype, threads(step.threads));
    let rows = step.sides.iter().map(|side| row(step, side)).collect();
    document.table(format!("A step of {title}"), &COLUMNS, rows);
    if let Some(text) = sentence(step) {
        document.text(text);
    }
}

fn row(step: &Step, side: &Side) -> Vec<Cell> {
    let ratio = side
        .ratio
        .map_or_else(Cell::nothing, |ratio| Cell::plain(format!("{}×", three_digits(ratio))));
    vec![
        Cell::plain(&side.who),
        Cell::plain(time(&side.ns)),
        Cell::plain(Nanos(side.ns.estimate / step.tokens as f64).to_string()),
        ratio,
        Cell::plain(shares(side, NAMED)),
        Cell::plain(side.missing.join(", ")),
    ]
}

/// `matmul 81 %, attention 9 %`.
fn shares(side: &Side, most: usize) -> String {
    let share =
        |(op, ns): &(String, f64)| format!("{op} {}", percent(100.0 * ns / side.ns.estimate));
    side.by_op.iter().take(most).map(share).collect::<Vec<_>>().join(", ")
}

fn sentence(step: &Step) -> Option<String> {
    let native = step.sides.iter().find(|side| side.who == "native")?;
    let token = Nanos(native.ns.estimate / step.tokens as f64);
    let partial = match native.missing.len() {
        0 => String::new(),
        _ => format!("; without {}", native.missing.join(", ")),
    };
    Some(format!(
        "Over its layers, {} takes {token} a token with the fastest kernel of each case, {} of \
         it{partial}.",
        step.model,
        shares(native, 1)
    ))
}

#[cfg(test)]
mod tests {
    use crate::fixture;
    use crate::render::{Style, find};
    use crate::reports::bench;
    use proofmark_schema::plan::Use;

    #[test]
    fn a_bench_of_a_model_tells_its_step_and_what_a_peer_lacks() {
        let used = |layer: &str, times| Use {
            model: "tiny".to_owned(),
            tokens: 4,
            layer: layer.to_owned(),
            times,
        };
        let mut up = fixture::with_time(10_000.0);
        up.uses = vec![used("up", 8)];
        let mut peer = up.clone();
        peer.contender = "peer/pytorch".parse().unwrap();
        let mut norm = fixture::with_time(5_000.0);
        norm.case.op = "rms_norm".to_owned();
        norm.uses = vec![used("norm", 4)];
        let document = bench(&[up, peer, norm], &[], &[]);
        let render = find("term").unwrap().render;
        let text = render(&document, &Style { width: 160, colour: false });
        assert!(text.contains("A step of tiny, 4 tokens, f32, 1 thread"), "{text}");
        assert!(text.contains("tiny takes 25.0 µs a token"), "{text}");
        assert!(text.contains("80 % of it."), "{text}");
        let torch =
            text.lines().find(|line| line.contains("peer/pytorch") && line.contains("norm"));
        assert!(torch.is_some_and(|line| line.contains("1.00×")), "{text}");
    }
}
