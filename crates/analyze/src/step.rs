//! What a step of a model takes: its cases, each as many times as the model has it.

use proofmark_schema::plan::Use;
use proofmark_schema::quantity::Interval;
use proofmark_schema::record::Record;
use proofmark_schema::{DType, Family, Memory};
use std::collections::{BTreeMap, BTreeSet};

/// One side of a whole step: a peer, or the kernels of this project, the fastest on each case.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// The peer, or `native`.
    pub who: String,
    /// Time of the step in nanoseconds; its ends are the sums of the layers' ends.
    pub ns: Interval,
    /// Nanoseconds of each op, the most first.
    pub by_op: Vec<(String, f64)>,
    /// Nanoseconds of each layer, in the order of the model.
    pub by_layer: Vec<(String, f64)>,
    /// Layers that it has no time for, and that are not in the sum.
    pub missing: Vec<String>,
    /// Its time over that of `native` on the layers that both have.
    pub ratio: Option<f64>,
}

/// A step of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The model.
    pub model: String,
    /// Tokens of the step.
    pub tokens: u64,
    /// Element type.
    pub dtype: DType,
    /// Threads.
    pub threads: usize,
    /// Caches and pages.
    pub memory: Memory,
    /// `native` first, then peers by name.
    pub sides: Vec<Side>,
}

/// A layer's time: how often, its case, and what each side needs for one call.
struct Layer<'a> {
    used: &'a Use,
    op: &'a str,
    times: BTreeMap<String, Interval>,
}

/// The steps that records are parts of, in the order in which they first appear.
pub fn steps(records: &[Record]) -> Vec<Step> {
    let mut found: Vec<(Step, Vec<Layer<'_>>)> = Vec::new();
    for record in records {
        for used in &record.uses {
            let step = Step {
                model: used.model.clone(),
                tokens: used.tokens,
                dtype: record.case.dtype,
                threads: record.threads,
                memory: record.memory,
                sides: Vec::new(),
            };
            let at = found.iter().position(|(known, _)| *known == step).unwrap_or_else(|| {
                found.push((step, Vec::new()));
                found.len() - 1
            });
            note(&mut found[at].1, record, used);
        }
    }
    let summed = found.into_iter().map(|(step, layers)| Step { sides: sides(&layers), ..step });
    summed.collect()
}

fn side_of(record: &Record) -> String {
    match record.contender.family {
        Family::Peer => record.contender.to_string(),
        _ => "native".to_owned(),
    }
}

/// Adds a record to its layer; the fastest of a side's kernels counts.
fn note<'a>(layers: &mut Vec<Layer<'a>>, record: &'a Record, used: &'a Use) {
    let op = record.case.op.as_str();
    let is_same = |layer: &Layer<'_>| layer.used == used && layer.op == op;
    let at = layers.iter().position(is_same).unwrap_or_else(|| {
        layers.push(Layer { used, op, times: BTreeMap::new() });
        layers.len() - 1
    });
    let Some(performance) = record.judged.performance() else { return };
    let wall = performance.wall_ns;
    let known = layers[at].times.entry(side_of(record)).or_insert(wall);
    if wall.estimate < known.estimate {
        *known = wall;
    }
}

fn sides(layers: &[Layer<'_>]) -> Vec<Side> {
    let names: BTreeSet<&String> = layers.iter().flat_map(|layer| layer.times.keys()).collect();
    names.into_iter().map(|who| side(who, layers)).collect()
}

fn side(who: &str, layers: &[Layer<'_>]) -> Side {
    let mut ns = Interval { low: 0.0, estimate: 0.0, high: 0.0, confidence: 0.95 };
    let (mut common, mut native) = (0.0, 0.0);
    let mut by_op: BTreeMap<String, f64> = BTreeMap::new();
    let (mut by_layer, mut missing) = (Vec::<(String, f64)>::new(), Vec::new());
    for layer in layers {
        let times = layer.used.times as f64;
        let Some(one) = layer.times.get(who) else {
            missing.push(layer.used.layer.clone());
            continue;
        };
        ns.low += times * one.low;
        ns.estimate += times * one.estimate;
        ns.high += times * one.high;
        let spent = times * one.estimate;
        *by_op.entry(layer.op.to_owned()).or_default() += spent;
        match by_layer.iter_mut().find(|(name, _)| *name == layer.used.layer) {
            Some((_, ns)) => *ns += spent,
            None => by_layer.push((layer.used.layer.clone(), spent)),
        }
        if let Some(ours) = layer.times.get("native") {
            common += times * one.estimate;
            native += times * ours.estimate;
        }
    }
    let mut by_op: Vec<(String, f64)> = by_op.into_iter().collect();
    by_op.sort_by(|a, b| b.1.total_cmp(&a.1));
    let ratio = (who != "native" && native > 0.0).then_some(common / native);
    Side { who: who.to_owned(), ns, by_op, by_layer, missing, ratio }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::timed;

    fn of(contender: &str, op: &str, ns: f64, layer: &str, times: u64) -> Record {
        let mut record = timed(contender, 0, ns);
        op.clone_into(&mut record.case.op);
        let (model, layer) = ("tiny".to_owned(), layer.to_owned());
        record.uses = vec![Use { model, tokens: 1, layer, times }];
        record
    }

    #[test]
    fn a_step_is_the_sum_of_its_layers_with_the_fastest_kernel_of_each() {
        let records = [
            of("native/simd", "matmul", 100.0, "up", 4),
            of("native/parallel", "matmul", 50.0, "up", 4),
            of("native/simd", "add", 10.0, "residual", 8),
            of("peer/pytorch", "matmul", 40.0, "up", 4),
        ];
        let [step] = &steps(&records)[..] else { panic!("one step") };
        let [native, torch] = &step.sides[..] else { panic!("two sides") };
        assert_eq!((native.who.as_str(), native.ns.estimate), ("native", 280.0));
        assert_eq!(native.by_op[0], ("matmul".to_owned(), 200.0));
        let layers = [("up".to_owned(), 200.0), ("residual".to_owned(), 80.0)];
        assert_eq!(native.by_layer, layers);
        assert!(native.missing.is_empty() && native.ratio.is_none());
        assert_eq!(torch.ns.estimate, 160.0);
        assert_eq!(torch.missing, ["residual"]);
        assert_eq!(torch.ratio, Some(0.8), "only where both have a time");
    }

    #[test]
    fn steps_of_other_tokens_types_and_threads_are_kept_apart() {
        let one = of("native/simd", "add", 10.0, "residual", 1);
        let mut other = one.clone();
        other.uses[0].tokens = 128;
        let mut third = one.clone();
        third.threads = 2;
        assert_eq!(steps(&[one, other, third]).len(), 3);
    }

    #[test]
    fn records_without_uses_are_no_step() {
        assert!(steps(&[timed("native/simd", 0, 1.0)]).is_empty());
    }
}
