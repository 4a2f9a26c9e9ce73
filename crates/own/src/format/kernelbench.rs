//! KernelBench: a file with `Model`, `get_inputs` and `get_init_inputs`; answers have `ModelNew`.

use super::page::{Imported, Number, OperandLine, Page};
use super::{Folder, Source, filled, has_compiler, plain_name, read};
use crate::Python;
use crate::reference::Process;
use crate::template::NewOpError;
use serde::Deserialize;
use serde_json::json;
use std::path::Path;

const REFERENCE: &str = include_str!("template/kernelbench_adapter.py");
const KERNEL: &str = include_str!("template/kernelbench_kernel.py");

/// The rule by which sizes become smaller; `sizes.py` applies it.
pub(super) const RULE: &str = "the largest size that the problem still runs with is halved, until all tensors \
                    fit into the byte limit";

/// Seeds of the parameters: KernelBench's, and another, so that an answer cannot contain results
/// that belong to one set of parameters.
const SEEDS: [i64; 2] = [42, 1];

/// What `kernelbench.py` reports about a problem.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Told {
    pub(super) inputs: Vec<Input>,
    pub(super) outputs: Vec<Output>,
    pub(super) sizes: Vec<Size>,
    pub(super) has_state: bool,
    pub(super) bytes: Bytes,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Input {
    pub(super) name: String,
    pub(super) place: usize,
    pub(super) dtype: String,
    pub(super) shape: Vec<u64>,
    #[serde(rename = "bool")]
    pub(super) is_flag: bool,
    /// Any numbers suit it: the problem draws it and changes nothing.
    pub(super) free: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Output {
    pub(super) name: String,
    pub(super) dtype: String,
    pub(super) shape: Vec<u64>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Size {
    pub(super) name: String,
    pub(super) stated: u64,
    pub(super) used: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Bytes {
    pub(super) stated: u64,
    pub(super) used: u64,
}

/// The folder of a problem.
pub(super) fn folder(source: &Source<'_>, python: &Python) -> Result<Folder, NewOpError> {
    let path = std::path::absolute(source.problem)
        .map_err(|error| NewOpError::Io { path: source.problem.to_owned(), error })?;
    let question = json!({"do": "describe", "format": "kernelbench", "file": path,
                          "limit": source.bytes});
    let told = Process::describe(python, &question).map_err(NewOpError::Reference)?;
    let told: Told = serde_json::from_value(told).map_err(|error| NewOpError::Format {
        path: path.clone(),
        reason: format!("its description cannot be read: {error}"),
    })?;
    let mut files = vec![("problem.py".to_owned(), read(&path)?)];
    files.push(("adapter.py".to_owned(), filled(REFERENCE, &blanks(&told))));
    for answer in source.answers {
        files.extend(kernel(&told, answer)?);
    }
    let page = page(&told, source.problem);
    let mut notes = Vec::new();
    if !page.imported.shrunk.is_empty() {
        let Bytes { stated, used } = told.bytes;
        notes.push(format!("its tensors take {stated} bytes, and {used} with these sizes:"));
        let shrunk = page.imported.shrunk.iter();
        notes.extend(shrunk.map(|(name, stated, used)| format!("  {name} {stated} → {used}")));
    }
    Ok(Folder { name: name(source.problem), page, files, notes })
}

/// `softmax_23` of `23_Softmax.py`.
pub(super) fn name(problem: &Path) -> String {
    let name = plain_name(problem);
    match name.split_once('_') {
        Some((number, rest)) if number.chars().all(|c| c.is_ascii_digit()) => {
            format!("{rest}_{number}")
        }
        _ => name,
    }
}

/// The two files of an answer: what calls it, and the answer as it is.
fn kernel(told: &Told, answer: &Path) -> Result<[(String, String); 2], NewOpError> {
    let (name, text) = (plain_name(answer), read(answer)?);
    if !text.contains("ModelNew") {
        let reason = "it has no `ModelNew`: it is no answer to a KernelBench problem".to_owned();
        return Err(NewOpError::Format { path: answer.to_owned(), reason });
    }
    let compiler = if has_compiler(&text) { "true" } else { "false" };
    let filled = filled(KERNEL, &[("NAME", &name), ("COMPILER", compiler)]);
    let filled = super::filled(&filled, &blanks(told));
    Ok([(format!("kernels/{name}.py"), filled), (format!("kernels/_{name}.py"), text)])
}

/// What fills the blanks of both templates.
fn blanks(told: &Told) -> Vec<(&'static str, &'static str)> {
    let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    let names: Vec<&str> = told.inputs.iter().map(|input| input.name.as_str()).collect();
    let list = |parts: Vec<String>| leak(parts.join(", "));
    let changed = told.sizes.iter().filter(|size| size.stated != size.used);
    let sizes = changed.map(|size| format!("\"{}\": {}", size.name, size.used)).collect();
    let places: Vec<String> = told.inputs.iter().map(|input| input.place.to_string()).collect();
    let flags = told.inputs.iter().enumerate().filter(|(_, input)| input.is_flag);
    let flags: Vec<String> = flags.map(|(index, _)| index.to_string()).collect();
    let seed: &[&str] = if told.has_state { &["seed"] } else { &[] };
    vec![
        ("SIZES", leak(format!("{{{}}}", list(sizes)))),
        ("PLACES", leak(format!("[{}]", places.join(", ")))),
        ("FLAGS", leak(format!("[{}]", flags.join(", ")))),
        ("PARAMETERS", leak([&names, seed].concat().join(", "))),
        ("OPERANDS", leak(names.join(", "))),
        ("SEED", if told.has_state { ", seed=seed" } else { "" }),
        ("NAMES", list(names.iter().map(|name| format!("\"{name}\"")).collect())),
    ]
}

fn page(told: &Told, problem: &Path) -> Page {
    let source = problem.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let numbers = |shape: &[u64]| shape.iter().map(u64::to_string).collect();
    // The problem is judged in f32, as KernelBench does it.
    let other = |dtype: &str| (dtype != "f32").then(|| dtype.to_owned());
    let input = |input: &Input| OperandLine {
        name: input.name.clone(),
        is_output: false,
        shape: numbers(&input.shape),
        dtype: other(&input.dtype),
        is_made: !input.free,
        below: None,
    };
    let output = |output: &Output| OperandLine {
        name: output.name.clone(),
        is_output: true,
        shape: numbers(&output.shape),
        dtype: other(&output.dtype),
        is_made: false,
        below: None,
    };
    let operands: Vec<OperandLine> =
        told.inputs.iter().map(input).chain(told.outputs.iter().map(output)).collect();
    let seeds: Vec<Number> = SEEDS.iter().map(|seed| Number::Int(*seed)).collect();
    let shrunk = told.sizes.iter().filter(|size| size.stated != size.used);
    Page {
        summary: format!("{source} of KernelBench"),
        axes: told.sizes.iter().map(|size| (size.name.clone(), size.used)).collect(),
        attributes: if told.has_state { vec![("seed".to_owned(), seeds)] } else { Vec::new() },
        dtypes: vec!["f32"],
        valid: told.sizes.iter().map(|size| format!("{} == {}", size.name, size.used)).collect(),
        has_inputs: operands.iter().any(|operand| operand.is_made),
        operands,
        cases: match told.has_state {
            true => SEEDS.iter().map(|seed| format!("seed={seed}")).collect(),
            false => vec![String::new()],
        },
        imported: Imported {
            format: "kernelbench",
            source,
            rule: RULE.to_owned(),
            shrunk: shrunk.map(|size| (size.name.clone(), size.stated, size.used)).collect(),
            workloads: Vec::new(),
        },
    }
}
