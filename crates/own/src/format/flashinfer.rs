//! flashinfer-trace: a Definition in JSON, Workloads as lines of JSON, Solutions in JSON.

use super::page::{Imported, Number, OperandLine, Page};
use super::{Folder, Source, filled, has_compiler, read};
use crate::Expression;
use crate::manifest::Ordered;
use crate::template::NewOpError;
use proofmark_schema::is_name;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

const REFERENCE: &str = include_str!("template/flashinfer_adapter.py");
const KERNEL: &str = include_str!("template/flashinfer_kernel.py");

/// The format's name.
pub(super) const FORMAT: &str = "flashinfer-trace";

/// Sizes of variable axes in a Definition that comes without workloads.
const USUAL: u64 = 16;

/// Maximum number of cases of a proof, because each runs the reference hundreds of times.
const CASES: usize = 16;

/// A case that cannot be shrunk may exceed the limit by this factor.
const MOST: u64 = 64;

const RULE: &str = "the largest variable axis is halved, until all tensors fit into the byte limit";

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Definition {
    pub(super) name: String,
    #[serde(default)]
    op_type: String,
    axes: Ordered<Axis>,
    inputs: Ordered<Tensor>,
    outputs: Ordered<Tensor>,
    #[serde(default)]
    constraints: Vec<String>,
    description: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Axis {
    Const { value: u64 },
    Var,
}

#[derive(Clone, Debug, Deserialize)]
struct Tensor {
    shape: Option<Vec<String>>,
    dtype: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Workload {
    axes: BTreeMap<String, u64>,
    #[serde(default)]
    inputs: BTreeMap<String, Input>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Input {
    Random,
    Scalar { value: Value },
    Safetensors {},
}

#[derive(Clone, Debug, Deserialize)]
struct Solution {
    name: String,
    definition: String,
    spec: Spec,
    sources: Vec<SourceFile>,
}

#[derive(Clone, Debug, Deserialize)]
struct Spec {
    language: String,
    entry_point: String,
    #[serde(default = "yes")]
    destination_passing_style: bool,
}

fn yes() -> bool {
    true
}

#[derive(Clone, Debug, Deserialize)]
struct SourceFile {
    path: String,
    content: String,
}

/// A case that a workload becomes.
struct Stated {
    /// As `op.toml` states it.
    case: String,
    axes: BTreeMap<String, u64>,
    scalars: Vec<(String, Number)>,
    json: String,
    /// Its inputs, if some of them are data in files.
    data: Option<Value>,
}

/// Our name of an element type, and its bytes.
fn dtype(name: &str) -> Option<(&'static str, u64)> {
    Some(match name {
        "float32" => ("f32", 4),
        "float16" => ("f16", 2),
        "bfloat16" => ("bf16", 2),
        "float8_e4m3fn" => ("f8e4m3", 1),
        "float8_e5m2" => ("f8e5m2", 1),
        "int64" => ("i64", 8),
        "int32" => ("i32", 4),
        "int8" => ("i8", 1),
        "bool" => ("u8", 1),
        _ => return None,
    })
}

/// The folder of a Definition.
pub(super) fn folder(source: &Source<'_>) -> Result<Folder, NewOpError> {
    let path = source.problem;
    let text = read(path)?;
    let definition: Definition = parsed(path, &text)?;
    let wrong = |reason: String| NewOpError::Format { path: path.to_owned(), reason };
    let types = definition.inputs.0.iter().chain(&definition.outputs.0);
    for (name, tensor) in types {
        if dtype(&tensor.dtype).is_none() {
            let kind = &tensor.dtype;
            return Err(wrong(format!(
                "UNSUPPORTED: `{name}` is {kind}, which no kernel here has"
            )));
        }
    }
    let mut notes = Vec::new();
    let stated = stated(&definition, source, &mut notes).map_err(&wrong)?;
    let page = page(&definition, &stated, &mut notes);
    let reference = reference(&definition, &stated, &page);
    let mut files =
        vec![("definition.json".to_owned(), text), ("adapter.py".to_owned(), reference)];
    for answer in source.answers {
        let solution: Solution = parsed(answer, &read(answer)?)?;
        files.push(kernel(&definition, &solution, answer)?);
    }
    for (name, stated, used) in &page.imported.shrunk {
        notes.push(format!("the largest {name} is shrunk: {stated} → {used}"));
    }
    let name = definition.name.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    Ok(Folder { name, page, files, notes })
}

fn parsed<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, NewOpError> {
    serde_json::from_str(text).map_err(|error| NewOpError::Format {
        path: path.to_owned(),
        reason: format!("it is no part of flashinfer-trace: {error}"),
    })
}

/// The cases of the workloads, or one of usual sizes.
fn stated(
    definition: &Definition,
    source: &Source<'_>,
    notes: &mut Vec<String>,
) -> Result<Vec<Stated>, String> {
    let Some(path) = source.workloads else {
        let axes = definition.axes.0.iter().map(|(name, axis)| match axis {
            Axis::Const { value } => (name.clone(), *value),
            Axis::Var => (name.clone(), USUAL),
        });
        notes.push(format!("without --workloads every variable axis is {USUAL}"));
        let workload = Workload { axes: axes.collect(), inputs: BTreeMap::new() };
        return Ok(vec![case(definition, source, &workload, "")?]);
    };
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut all: Vec<Stated> = Vec::new();
    let step = lines.len().div_ceil(CASES).max(1);
    if step > 1 {
        notes.push(format!("{} workloads: only every {step}th is a case", lines.len()));
    }
    for (number, line) in lines.iter().enumerate().filter(|(number, _)| number % step == 0) {
        let place = format!("{}:{}", path.display(), number + 1);
        let value: Value = serde_json::from_str(line).map_err(|e| format!("{place}: {e}"))?;
        // A line is a trace without a solution, or the workload alone.
        let value = value.get("workload").cloned().unwrap_or(value);
        let workload: Workload =
            serde_json::from_value(value.clone()).map_err(|error| format!("{place}: {error}"))?;
        match case(definition, source, &workload, &value.to_string()) {
            Ok(case) if all.iter().any(|known| known.case == case.case) => {}
            Ok(case) => all.push(case),
            Err(reason) => notes.push(format!("UNSUPPORTED: {place}: {reason}")),
        }
    }
    match all.is_empty() {
        true => {
            Err(format!("no workload of {} can be a case: {}", path.display(), notes.join("; ")))
        }
        false => Ok(all),
    }
}

/// The case of a workload, shrunk if it is too large.
fn case(
    definition: &Definition,
    source: &Source<'_>,
    workload: &Workload,
    json: &str,
) -> Result<Stated, String> {
    let mut axes = BTreeMap::new();
    for (name, axis) in &definition.axes.0 {
        let size = match axis {
            Axis::Const { value } => *value,
            Axis::Var => *workload.axes.get(name).ok_or_else(|| format!("it lacks `{name}`"))?,
        };
        axes.insert(name.clone(), size);
    }
    let is_file = |input: &Input| matches!(input, Input::Safetensors { .. });
    let has_data = workload.inputs.values().any(is_file);
    let is_variable = |name: &str| {
        let found = definition.axes.0.iter().find(|(known, _)| known == name);
        matches!(found, Some((_, Axis::Var)))
    };
    while bytes(definition, &axes) > source.bytes && !has_data {
        let mut names: Vec<&String> = axes.keys().filter(|name| is_variable(name)).collect();
        names.retain(|name| axes[*name] > 1 && !definition.is_tied(name));
        names.sort_by_key(|name| std::cmp::Reverse(axes[*name]));
        let halved = |name: &String| {
            let mut smaller = axes.clone();
            *smaller.get_mut(name)? /= 2;
            definition.holds(&smaller).then_some(smaller)
        };
        let Some(smaller) = names.into_iter().find_map(halved) else { break };
        axes = smaller;
    }
    let taken = bytes(definition, &axes);
    if taken > MOST * source.bytes {
        return Err(format!(
            "its tensors take {taken} bytes; give a larger limit: --bytes {taken}"
        ));
    }
    let mut scalars = Vec::new();
    for (name, _) in definition.inputs.0.iter().filter(|(_, tensor)| tensor.shape.is_none()) {
        let number = match workload.inputs.get(name) {
            Some(Input::Scalar { value }) => match (value.as_i64(), value.as_f64()) {
                (Some(int), _) if !definition.is_real(name) => Number::Int(int),
                (_, Some(real)) => Number::Real(real),
                _ => return Err(format!("the scalar `{name}` is {value}, no number")),
            },
            _ if definition.is_real(name) => Number::Real(1.0),
            _ => Number::Int(1),
        };
        scalars.push((name.clone(), number));
    }
    let sizes = definition.axes.0.iter().map(|(name, _)| format!("{name}={}", axes[name]));
    let numbers = scalars.iter().map(|(name, number)| format!("{name}={}", number.text()));
    let words: Vec<String> = sizes.chain(numbers).collect();
    let data = if has_data { Some(located(json, source)?) } else { None };
    Ok(Stated { case: words.join(" "), axes, scalars, json: json.to_owned(), data })
}

/// The workload with the whole paths of its data, which are relative to some folder above it.
fn located(json: &str, source: &Source<'_>) -> Result<Value, String> {
    let mut value: Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let start = source.workloads.unwrap_or(source.problem);
    let start = std::path::absolute(start).map_err(|error| error.to_string())?;
    let inputs = value["inputs"].as_object_mut().into_iter().flat_map(|inputs| inputs.values_mut());
    for input in inputs.filter(|input| input["type"] == "safetensors") {
        let path = input["path"].as_str().unwrap_or_default().to_owned();
        let found = start.ancestors().map(|folder| folder.join(&path)).find(|it| it.is_file());
        let found = found.ok_or_else(|| format!("there is no {path} beside it or above it"))?;
        input["path"] = Value::from(found.to_string_lossy());
    }
    Ok(value)
}

/// Bytes of all tensors.
fn bytes(definition: &Definition, axes: &BTreeMap<String, u64>) -> u64 {
    let all = definition.inputs.0.iter().chain(&definition.outputs.0);
    let of = |(_, tensor): &(String, Tensor)| {
        let sizes = tensor.shape.iter().flatten().map(|axis| axes.get(axis).copied().unwrap_or(1));
        let item = dtype(&tensor.dtype).map_or(1, |(_, bytes)| bytes);
        sizes.fold(item, u64::saturating_mul)
    };
    all.map(of).fold(0, u64::saturating_add)
}

/// The words of an expression.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| !word.is_empty())
}

impl Definition {
    /// A constraint as a condition on axes; none if it is another expression of Python.
    fn condition(&self, text: &str) -> Option<Expression> {
        let is_axis = |name: &str| self.axes.0.iter().any(|(known, _)| known == name);
        let is_known = words(text).all(|word| word.parse::<u64>().is_ok() || is_axis(word));
        if is_known { text.parse().ok() } else { None }
    }

    /// Whether a constraint names an axis in a way that is not understood here.
    fn is_tied(&self, axis: &str) -> bool {
        let is_about = |text: &&String| words(text).any(|word| word == axis);
        self.constraints.iter().filter(is_about).any(|text| self.condition(text).is_none())
    }

    /// Whether the constraints that are understood hold for these sizes.
    fn holds(&self, axes: &BTreeMap<String, u64>) -> bool {
        let of_name = |name: &str| i64::try_from(*axes.get(name)?).ok();
        let mut all = self.constraints.iter().filter_map(|text| self.condition(text));
        all.all(|condition| condition.value(&of_name).is_ok_and(|value| value != 0))
    }

    fn is_real(&self, input: &str) -> bool {
        let found = self.inputs.0.iter().find(|(name, _)| name == input);
        found.is_some_and(|(_, tensor)| tensor.dtype.contains("float"))
    }

    /// The element type of its cases: that of the first output of reals, else of the first input.
    fn main_type(&self) -> &'static str {
        let tensors = || self.outputs.0.iter().chain(&self.inputs.0).map(|(_, tensor)| tensor);
        let is_real = |tensor: &&Tensor| tensor.dtype.contains("float") && tensor.shape.is_some();
        let found = tensors().find(is_real).or_else(|| tensors().next());
        found.and_then(|tensor| dtype(&tensor.dtype)).map_or("f32", |(name, _)| name)
    }

    /// Whether an input needs values that `inputs` of the reference makes.
    fn is_made(&self, name: &str, tensor: &Tensor, stated: &[Stated]) -> bool {
        let is_file = |stated: &Stated| {
            stated.data.as_ref().is_some_and(|data| data["inputs"][name]["type"] == "safetensors")
        };
        let is_probability = self.op_type == "sampling" && name == "probs";
        !tensor.dtype.contains("float") || is_probability || stated.iter().any(is_file)
    }
}

/// The attribute that tells which workload's data a case has.
const NUMBER: &str = "workload";

fn page(definition: &Definition, stated: &[Stated], notes: &mut Vec<String>) -> Page {
    let has_data = stated.iter().any(|it| it.data.is_some());
    let main = definition.main_type();
    let line = |(name, tensor): &(String, Tensor), is_output: bool| {
        let shape = tensor.shape.clone().unwrap_or_default();
        let own = dtype(&tensor.dtype).map_or("f32", |(name, _)| name);
        OperandLine {
            name: name.clone(),
            is_output,
            // A single number is an array of one element.
            shape: if shape.is_empty() { vec!["1".to_owned()] } else { shape },
            dtype: (own != main).then(|| own.to_owned()),
            is_made: !is_output && definition.is_made(name, tensor, stated),
            below: None,
        }
    };
    let inputs = definition.inputs.0.iter().filter(|(_, tensor)| tensor.shape.is_some());
    let operands: Vec<OperandLine> = inputs
        .map(|input| line(input, false))
        .chain(definition.outputs.0.iter().map(|output| line(output, true)))
        .collect();
    let mut attributes: Vec<(String, Vec<Number>)> = Vec::new();
    for (name, number) in stated.iter().flat_map(|it| &it.scalars) {
        match attributes.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) if values.contains(number) => {}
            Some((_, values)) => values.push(*number),
            None => attributes.push((name.clone(), vec![*number])),
        }
    }
    if has_data {
        let all = (0..stated.len()).map(|number| Number::Int(number as i64));
        attributes.push((NUMBER.to_owned(), all.collect()));
    }
    let mut valid = Vec::new();
    for (name, axis) in &definition.axes.0 {
        if let Axis::Const { value } = axis {
            valid.push(format!("{name} == {value}"));
        }
    }
    for text in &definition.constraints {
        match definition.condition(text) {
            Some(_) => valid.push(text.clone()),
            None => notes.push(format!("the constraint `{text}` is left to the workloads")),
        }
    }
    let of_case = |(number, it): (usize, &Stated)| match has_data {
        true => format!("{} {NUMBER}={number}", it.case),
        false => it.case.clone(),
    };
    let cases: Vec<String> = stated.iter().enumerate().map(of_case).collect();
    let first = &stated[0].axes;
    Page {
        summary: definition.description.clone().unwrap_or_else(|| definition.name.clone()),
        axes: definition.axes.0.iter().map(|(name, _)| (name.clone(), first[name])).collect(),
        attributes,
        dtypes: vec![main],
        valid,
        has_inputs: operands.iter().any(|operand| operand.is_made),
        operands,
        imported: Imported {
            format: FORMAT,
            source: definition.name.clone(),
            rule: RULE.to_owned(),
            shrunk: shrunk(definition, stated),
            workloads: cases
                .iter()
                .zip(stated)
                .filter(|(_, it)| !it.json.is_empty())
                .map(|(case, it)| (case.clone(), it.json.clone()))
                .collect(),
        },
        cases,
    }
}

/// For each axis that was shrunk, the largest stated size and what it became.
fn shrunk(definition: &Definition, stated: &[Stated]) -> Vec<(String, u64, u64)> {
    let of_axis = |(name, _): &(String, Axis)| {
        let pair = |it: &Stated| {
            let value: Value = serde_json::from_str(&it.json).ok()?;
            let (was, is) = (value["axes"][name].as_u64()?, it.axes[name]);
            (was != is).then_some((was, is))
        };
        let (was, is) = stated.iter().filter_map(pair).max()?;
        Some((name.clone(), was, is))
    };
    definition.axes.0.iter().filter_map(of_axis).collect()
}

fn reference(definition: &Definition, stated: &[Stated], page: &Page) -> String {
    let names: Vec<&str> = definition.inputs.0.iter().map(|(name, _)| name.as_str()).collect();
    let axes: Vec<&str> = definition.axes.0.iter().map(|(name, _)| name.as_str()).collect();
    let has_number = page.attributes.iter().any(|(name, _)| name == NUMBER);
    let mut drawn = [&["data_seed"], axes.as_slice()].concat();
    if has_number {
        drawn.push(NUMBER);
    }
    let pairs: Vec<String> = axes.iter().map(|name| format!("\"{name}\": {name}")).collect();
    let data: Vec<Value> = stated
        .iter()
        .map(|it| it.data.clone().unwrap_or(serde_json::json!({"inputs": {}})))
        .collect();
    let data = if has_number { Value::from(data) } else { Value::Array(Vec::new()) };
    filled(
        REFERENCE,
        &[
            ("WORKLOADS", &data.to_string()),
            ("PARAMETERS", &names.join(", ")),
            ("DRAWN", &drawn.join(", ")),
            ("AXES", &format!("{{{}}}", pairs.join(", "))),
            ("NUMBER", if has_number { ", workload" } else { "" }),
        ],
    )
}

/// A Solution as a kernel.
fn kernel(
    definition: &Definition,
    solution: &Solution,
    path: &Path,
) -> Result<(String, String), NewOpError> {
    let wrong = |reason: String| NewOpError::Format { path: path.to_owned(), reason };
    if solution.definition != definition.name {
        let (other, name) = (&solution.definition, &definition.name);
        return Err(wrong(format!("it is a Solution of `{other}`, not of `{name}`")));
    }
    if solution.spec.language != "python" {
        let language = &solution.spec.language;
        return Err(wrong(format!("UNSUPPORTED: its language is {language}; python is read")));
    }
    let entry = &solution.spec.entry_point;
    let (file, _) = entry.split_once("::").unwrap_or((entry, "run"));
    if !file.ends_with(".py") || !solution.sources.iter().any(|source| source.path == file) {
        return Err(wrong(format!("its sources have no Python file `{file}`")));
    }
    let name: String = solution.name.replace(|c: char| !is_name(&c.to_string()), "_");
    let texts: Vec<String> = solution
        .sources
        .iter()
        .map(|it| format!("{}: {}", Value::from(&*it.path), Value::from(&*it.content)))
        .collect();
    let inputs: Vec<&str> = definition.inputs.0.iter().map(|(name, _)| name.as_str()).collect();
    let outputs: Vec<String> = definition.outputs.0.iter().map(|(name, _)| name.clone()).collect();
    let listed = inputs.join(", ");
    let (taken, call) = match solution.spec.destination_passing_style {
        true => {
            let given: Vec<String> = definition
                .outputs
                .0
                .iter()
                .map(|(name, tensor)| {
                    match tensor.shape.as_ref().is_some_and(|it| !it.is_empty()) {
                        true => name.clone(),
                        false => format!("{name}.reshape(())"),
                    }
                })
                .collect();
            let given = given.join(", ");
            let call = format!("FUNCTION(*DEFINITION.taken([{listed}]), {given})");
            (format!("{listed}, {}", outputs.join(", ")), call)
        }
        false => {
            let call =
                format!("return DEFINITION.results(FUNCTION(*DEFINITION.taken([{listed}])))");
            (listed.clone(), call)
        }
    };
    let compiler = solution.sources.iter().any(|source| has_compiler(&source.content));
    let text = filled(
        KERNEL,
        &[
            ("COMPILER", if compiler { "true" } else { "false" }),
            ("ENTRY", entry),
            ("NAME", &name),
            ("TAKEN", &taken),
            ("CALL", &call),
            ("SOURCES", &format!("{{{}}}", texts.join(", "))),
        ],
    );
    Ok((format!("kernels/{name}.py"), text))
}
