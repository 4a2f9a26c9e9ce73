//! Bencher metric format: measures by benchmark, each a value with its bounds.

use super::{ExportFile, ExportOptions, ExportRow, Exported, Exporter, json_bytes, single, text};
use proofmark_schema::quantity::Interval;
use serde_json::{Map, Value, json};

pub(super) const EXPORTER: Exporter =
    text("bmf", "Bencher metric format, version 0 (1 with --bmf 1)", export);

/// Characters of a benchmark's name that Bencher takes.
const LONGEST: usize = 1024;

fn export(run: &Exported<'_>, options: &ExportOptions) -> Vec<ExportFile> {
    let document = if options.bmf == 0 { version_0(run) } else { version_1(run) };
    single(json_bytes(&document))
}

/// `{"NAME": {"latency": {…}, "throughput": {…}}}`.
fn version_0(run: &Exported<'_>) -> Value {
    let mut all = Map::new();
    for (row, performance) in run.measured() {
        let name: String = row.name().chars().take(LONGEST).collect();
        all.insert(name, measures(&performance.wall_ns));
    }
    Value::Object(all)
}

/// `{"OP": [{"parameters": {…}, "measures": {…}}]}`.
fn version_1(run: &Exported<'_>) -> Value {
    let mut all: Map<String, Value> = Map::new();
    for (row, performance) in run.measured() {
        let cell = json!({
            "parameters": parameters(row),
            "measures": measures(&performance.wall_ns),
        });
        let of_op = all.entry(row.record.case.op.clone()).or_insert_with(|| json!([]));
        if let Value::Array(cells) = of_op {
            cells.push(cell);
        }
    }
    Value::Object(all)
}

fn parameters(row: &ExportRow<'_>) -> Value {
    let case = &row.record.case;
    let mut all = Map::new();
    all.insert("contender".to_owned(), json!(row.record.contender));
    all.insert("dtype".to_owned(), json!(case.dtype.name()));
    all.extend(case.axes.iter().map(|(name, size)| (name.clone(), json!(size))));
    all.extend(case.attrs.iter().map(|(name, value)| (name.clone(), json!(value.to_string()))));
    all.extend(row.states().into_iter().map(|(key, value)| (key.to_owned(), json!(value))));
    Value::Object(all)
}

/// Nanoseconds a call, and calls a second: the bounds change places.
fn measures(wall: &Interval) -> Value {
    let rate = |ns: f64| 1e9 / ns;
    json!({
        "latency": {
            "value": wall.estimate, "lower_value": wall.low, "upper_value": wall.high,
        },
        "throughput": {
            "value": rate(wall.estimate),
            "lower_value": rate(wall.high),
            "upper_value": rate(wall.low),
        },
    })
}
