//! What a model's step takes: a table and a sentence for each, within the report of a bench.

use crate::document::{Cell, Column, Document};
use crate::plain::{counted, percent, threads, time};
use crate::plot::{Plot, PlotAxis, PlotKind, Point, Series};
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

/// Layers that have a colour of their own in the picture.
const COLOURED: usize = 7;

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
    let sentence = sentence(step);
    document.plot(plot(step, &title, sentence.as_deref().unwrap_or_default()));
    let rows = step.sides.iter().map(|side| row(step, side)).collect();
    document.table(format!("A step of {title}"), &COLUMNS, rows);
    if let Some(text) = sentence {
        document.text(text);
    }
}

/// A bar for each side, in which its layers are laid end to end: the longest first, the short ones
/// as one.
fn plot(step: &Step, title: &str, says: &str) -> Plot {
    let mut layers: Vec<(&str, f64)> = Vec::new();
    for (name, ns) in step.sides.iter().flat_map(|side| &side.by_layer) {
        match layers.iter_mut().find(|(known, _)| known == name) {
            Some((_, most)) => *most = most.max(*ns),
            None => layers.push((name, *ns)),
        }
    }
    layers.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (named, rest) = layers.split_at(layers.len().min(COLOURED));
    let series = |name: &str, of: &[(&str, f64)]| {
        let spent = |side: &Side| -> f64 {
            let is_in = |layer: &&(String, f64)| of.iter().any(|(name, _)| *name == layer.0);
            side.by_layer.iter().filter(is_in).map(|(_, ns)| ns).sum()
        };
        let sides = step.sides.iter().enumerate();
        let point = |(row, side): (usize, &Side)| Point::at(row as f64, spent(side), label(side));
        Series::new(name, sides.map(point).collect())
    };
    let axes = (PlotAxis::default(), PlotAxis::linear("time", "ns"));
    let title = format!("Where the time of a step goes: {title}");
    let mut plot = Plot::new(title, PlotKind::Stacks, axes.0, axes.1);
    says.clone_into(&mut plot.says);
    for layer in named {
        plot = plot.with(series(layer.0, &[*layer]));
    }
    match rest {
        [] => plot,
        [one] => plot.with(series(one.0, rest)),
        _ => plot.with(series(&format!("{} other layers", rest.len()), rest)),
    }
}

/// The side, and how many layers it has no time for: its bar is that much too short.
fn label(side: &Side) -> String {
    match side.missing.len() {
        0 => side.who.clone(),
        missing => format!("{} (without {})", side.who, counted(missing, "layer")),
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
        let text = render(&document, &Style { width: 160, colour: false, ..Style::default() });
        assert!(text.contains("A step of tiny, 4 tokens, f32, 1 thread"), "{text}");
        assert!(text.contains("tiny takes 25.0 µs a token"), "{text}");
        assert!(text.contains("80 % of it."), "{text}");
        let torch =
            text.lines().find(|line| line.contains("peer/pytorch") && line.contains("norm"));
        assert!(torch.is_some_and(|line| line.contains("1.00×")), "{text}");
        assert!(text.contains(" native                          ████"), "{text}");
        assert!(text.contains(" peer/pytorch (without 1 layer)  ████"), "{text}");
        assert!(text.contains("█ up  ▓ norm"), "{text}");
    }
}
