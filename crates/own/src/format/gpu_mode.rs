//! GPU MODE: a folder with `task.yml`, `reference.py` and others; submissions have `custom_kernel`.

use super::page::{Imported, OperandLine, Page};
use super::{Folder, Source, TASK_FOLDER, filled, has_compiler, plain_name, read};
use crate::Python;
use crate::reference::Process;
use crate::template::NewOpError;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const ADAPTER: &str = include_str!("template/gpu_mode_adapter.py");
const KERNEL: &str = include_str!("template/gpu_mode_kernel.py");

/// The file that describes a task.
pub(super) const TASK: &str = "task.yml";

/// What `task.yml` says, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Task {
    pub(super) files: Vec<TaskFile>,
    pub(super) tests: Vec<Map<String, Value>>,
    pub(super) benchmarks: Vec<Map<String, Value>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct TaskFile {
    pub(super) name: String,
    pub(super) source: String,
}

/// What `gpu_mode.py` reports about a task.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Told {
    inputs: Vec<Tensor>,
    outputs: Vec<Tensor>,
    axes: Vec<String>,
    cases: Vec<BTreeMap<String, u64>>,
    shrunk: Vec<Size>,
    fixed: Value,
    scratch: Vec<usize>,
    notes: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Tensor {
    name: String,
    #[serde(default)]
    place: usize,
    dtype: String,
    shape: Vec<String>,
    #[serde(rename = "bool")]
    is_flag: bool,
    /// Any numbers suit it: the task draws it and changes nothing.
    #[serde(default)]
    free: bool,
}

#[derive(Clone, Debug, Deserialize)]
struct Size {
    name: String,
    stated: u64,
    used: u64,
}

/// Reads `task.yml`.
pub(super) fn parse(path: &Path, text: &str) -> Result<Task, NewOpError> {
    let wrong = |reason: String| NewOpError::Format { path: path.to_owned(), reason };
    let task: Task = serde_saphyr::from_str(text).map_err(|error| wrong(error.to_string()))?;
    match task.tests.is_empty() && task.benchmarks.is_empty() {
        true => Err(wrong("it has neither `tests` nor `benchmarks`".to_owned())),
        false => Ok(task),
    }
}

/// The folder of a task.
pub(super) fn folder(source: &Source<'_>, python: &Python) -> Result<Folder, NewOpError> {
    let path = match source.problem.is_dir() {
        true => source.problem.join(TASK),
        false => source.problem.to_owned(),
    };
    let wrong = |reason: String| NewOpError::Format { path: path.clone(), reason };
    let text = read(&path)?;
    let task = parse(&path, &text)?;
    let texts = texts(&task, path.parent().unwrap_or(Path::new("")))?;
    let cases: Vec<&Map<String, Value>> = task.tests.iter().chain(&task.benchmarks).collect();
    let question = json!({"do": "describe", "format": "gpu_mode", "limit": source.bytes,
                          "file": {"files": texts, "cases": cases}});
    let told = Process::describe(python, &question).map_err(NewOpError::Reference)?;
    let told: Told = serde_json::from_value(told)
        .map_err(|error| wrong(format!("its description cannot be read: {error}")))?;
    let place = std::path::absolute(path.parent().unwrap_or(Path::new(".")))
        .map_err(|error| NewOpError::Io { path: path.clone(), error })?;
    let name = plain_name(&PathBuf::from(place.file_name().unwrap_or_default()));
    let page = page(&told, &name);
    let mut files = vec![(format!("{TASK_FOLDER}/{TASK}"), text)];
    files.extend(texts.into_iter().map(|(name, text)| (format!("{TASK_FOLDER}/{name}"), text)));
    files.push(("adapter.py".to_owned(), filled(ADAPTER, &borrowed(&blanks(&told)))));
    for answer in source.answers {
        files.extend(kernel(&told, answer)?);
    }
    let mut notes = told.notes.clone();
    let shrunk = page.imported.shrunk.iter();
    notes.extend(
        shrunk.map(|(name, was, is)| format!("the largest {name} is shrunk: {was} → {is}")),
    );
    Ok(Folder { name, page, files, notes })
}

/// The Python files of a task without its submission and its runner, by name.
fn texts(task: &Task, folder: &Path) -> Result<BTreeMap<String, String>, NewOpError> {
    let stated = task.files.iter().map(|file| (file.name.clone(), file.source.clone()));
    let mut wanted: BTreeMap<String, String> = stated.collect();
    wanted.retain(|name, source| {
        name.ends_with(".py") && name != "eval.py" && !source.starts_with('@')
    });
    wanted.entry("reference.py".to_owned()).or_insert_with(|| "reference.py".to_owned());
    let text = |(name, source): (String, String)| Ok((name, read(&folder.join(source))?));
    wanted.into_iter().map(text).collect()
}

/// The two files of a submission: what calls it, and the submission as it is.
fn kernel(told: &Told, answer: &Path) -> Result<[(String, String); 2], NewOpError> {
    let (name, text) = (plain_name(answer), read(answer)?);
    if !text.contains("custom_kernel") {
        let reason = "it has no `custom_kernel`: it is no submission to a task".to_owned();
        return Err(NewOpError::Format { path: answer.to_owned(), reason });
    }
    let compiler = if has_compiler(&text) { "true" } else { "false" };
    let kernel = filled(KERNEL, &[("NAME", &name), ("COMPILER", compiler)]);
    let kernel = filled(&kernel, &borrowed(&blanks(told)));
    Ok([(format!("kernels/{name}.py"), kernel), (format!("kernels/_{name}.py"), text)])
}

fn borrowed<'a>(blanks: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    blanks.iter().map(|(blank, words)| (*blank, words.as_str())).collect()
}

/// What fills the blanks of both templates.
fn blanks(told: &Told) -> Vec<(&'static str, String)> {
    let names: Vec<&str> = told.inputs.iter().map(|input| input.name.as_str()).collect();
    let axes: Vec<&str> = told.axes.iter().map(String::as_str).collect();
    let list = |all: Vec<String>| format!("[{}]", all.join(", "));
    let flags = told.inputs.iter().enumerate().filter(|(_, input)| input.is_flag);
    let case: Vec<String> = axes.iter().map(|name| format!("\"{name}\": {name}")).collect();
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    vec![
        ("FIXED", python(&told.fixed)),
        ("PLACES", list(told.inputs.iter().map(|input| input.place.to_string()).collect())),
        ("FLAGS", list(flags.map(|(index, _)| index.to_string()).collect())),
        ("SCRATCH", list(told.scratch.iter().map(usize::to_string).collect())),
        ("PARAMETERS", [names.as_slice(), &axes].concat().join(", ")),
        ("OPERANDS", names.join(", ")),
        ("NAMES", quoted.join(", ")),
        ("CASE", format!("{{{}}}", case.join(", "))),
        ("DRAWN", [&["data_seed"], axes.as_slice()].concat().join(", ")),
    ]
}

/// A value of JSON as Python writes it.
pub(super) fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Array(all) => {
            let all: Vec<String> = all.iter().map(python).collect();
            format!("[{}]", all.join(", "))
        }
        Value::Object(all) => {
            let pair = |(name, value): (&String, &Value)| {
                format!("{}: {}", Value::from(name.as_str()), python(value))
            };
            let all: Vec<String> = all.iter().map(pair).collect();
            format!("{{{}}}", all.join(", "))
        }
        Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn page(told: &Told, name: &str) -> Page {
    let is_real = |tensor: &&Tensor| tensor.dtype.contains('f');
    let all = || told.outputs.iter().chain(&told.inputs);
    let main = all().find(is_real).map_or("f32", |tensor| tensor.dtype.as_str());
    let main = ["f16", "bf16", "f64"].into_iter().find(|known| *known == main).unwrap_or("f32");
    let line = |tensor: &Tensor, is_output: bool| OperandLine {
        name: tensor.name.clone(),
        is_output,
        shape: tensor.shape.clone(),
        dtype: (tensor.dtype != main).then(|| tensor.dtype.clone()),
        is_made: !is_output && !tensor.free,
        below: None,
    };
    let operands: Vec<OperandLine> = told
        .inputs
        .iter()
        .map(|input| line(input, false))
        .chain(told.outputs.iter().map(|output| line(output, true)))
        .collect();
    let case = |case: &BTreeMap<String, u64>| {
        let words: Vec<String> =
            told.axes.iter().map(|name| format!("{name}={}", case[name])).collect();
        words.join(" ")
    };
    let mut shrunk: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for size in &told.shrunk {
        let known = shrunk.entry(size.name.clone()).or_default();
        *known = (*known).max((size.stated, size.used));
    }
    Page {
        summary: format!("{name} of GPU MODE"),
        axes: told.axes.iter().map(|name| (name.clone(), told.cases[0][name])).collect(),
        attributes: Vec::new(),
        dtypes: vec![main],
        valid: Vec::new(),
        has_inputs: operands.iter().any(|operand| operand.is_made),
        operands,
        cases: told.cases.iter().map(case).collect(),
        imported: Imported {
            format: "gpu-mode",
            source: name.to_owned(),
            rule: "the largest size is halved, until all tensors fit into the byte limit"
                .to_owned(),
            shrunk: shrunk.into_iter().map(|(name, (was, is))| (name, was, is)).collect(),
            workloads: Vec::new(),
        },
    }
}
