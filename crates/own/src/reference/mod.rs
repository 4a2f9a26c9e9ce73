//! Where the truth about a user's op comes from: its reference, run in f64 in a process of its own,
//! with the error scale derived from its primitives.

mod library;
mod process;

use crate::OwnOp;
use crate::manifest::ReferenceText;
pub use library::{SERVE_REFERENCE, serve_reference};
use process::Answer;
pub(crate) use process::{MODULES, Process};
use proofmark_contract::{Definition, NoTruth, Operand, Signature, Truth, Values, Want};
use proofmark_schema::{AttrValue, Case};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The unit roundoff that the scale is counted in: that of f32, in which kernels accumulate.
const UNIT: f64 = 1.0 / 16_777_216.0;

/// Truths that are kept: contenders that are proven at once are asked about the same inputs.
const KEPT: usize = 32;

/// An interpreter that runs references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Python {
    /// The program.
    pub program: PathBuf,
    /// Folders of packages in addition to its own.
    pub packages: Vec<PathBuf>,
}

/// A reference: a function in a Python file or in a shared library.
pub struct Reference {
    runner: Runner,
    file: PathBuf,
    function: String,
    state: Mutex<State>,
}

/// What runs a reference.
enum Runner {
    /// An interpreter; none in a worker.
    Python(Option<Python>),
    /// This program, which opens the library; with what the function takes, by name.
    Library(Vec<String>),
}

#[derive(Default)]
struct State {
    process: Option<Process>,
    truths: VecDeque<(blake3::Hash, Arc<Whole>)>,
    /// Whether its results depend on its inputs, once it was asked.
    vetted: Option<Result<(), NoTruth>>,
    /// Why the user's function made no inputs; there is no truth about others.
    not_made: Option<NoTruth>,
    reductions: BTreeMap<String, u64>,
}

/// The truth about every element of every output.
struct Whole {
    outputs: Vec<Truth>,
    reduction: u64,
}

impl Reference {
    /// The reference of a folder. Nothing is started yet.
    ///
    /// # Errors
    /// If the text is not of its form, or there is no such file.
    pub(crate) fn new(
        folder: &Path,
        text: &ReferenceText,
        python: Option<Python>,
    ) -> Result<Reference, String> {
        let (runner, file, function) = match text {
            ReferenceText::Python { python: text, .. } => {
                let form =
                    || format!("`python = \"{text}\"` is not of the form `file.py:function`");
                let (file, function) = text.rsplit_once(':').ok_or_else(form)?;
                if function.is_empty() {
                    return Err(form());
                }
                (Runner::Python(python), folder.join(file), function)
            }
            ReferenceText::Library { library, symbol, parameters } => {
                (Runner::Library(parameters.clone()), folder.join(library), symbol.as_str())
            }
        };
        if !file.is_file() {
            return Err(format!("there is no file {}", file.display()));
        }
        let state = Mutex::default();
        Ok(Reference { runner, file, function: function.to_owned(), state })
    }

    /// Whether it is a function in Python, which can be run eagerly and made wrong kernels of.
    pub(crate) fn is_python(&self) -> bool {
        matches!(self.runner, Runner::Python(_))
    }

    /// Its file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Its function.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// The truth about the wanted elements of an output.
    pub(crate) fn truth(
        &self,
        op: &OwnOp,
        case: &Case,
        inputs: &Values,
        output: usize,
        want: &Want,
    ) -> Result<Truth, NoTruth> {
        let signature = op.signature(case).map_err(|error| NoTruth::Failed(error.to_string()))?;
        let whole = self.whole(op, case, &signature, inputs)?;
        let layout = signature.outputs()[output].layout();
        let all = &whole.outputs[output];
        let mut truth = Truth::with_capacity(all.value.len());
        for flat in want.indices(layout.rows(), layout.cols()) {
            truth.push(all.value[flat], all.scale[flat]);
        }
        Ok(truth)
    }

    /// Terms in the longest sum of the reference; 1 where it cannot be run.
    pub(crate) fn reduction(&self, op: &OwnOp, case: &Case) -> u64 {
        let key = case.to_string();
        if let Some(&known) = self.state().reductions.get(&key) {
            return known;
        }
        let told = op.signature(case).ok().and_then(|signature| {
            let mut request = request("trace", op, case, &signature);
            request["mutants"] = json!(false);
            let answer = self.ask(&request, &[], 0).ok()?;
            answer.json["reduction"].as_u64()
        });
        let terms = told.unwrap_or(1);
        self.state().reductions.insert(key, terms);
        terms
    }

    /// What the reference consists of, for this case: primitives, warnings, wrong kernels.
    ///
    /// # Errors
    /// If the reference cannot run, or has a primitive without a rule.
    pub fn trace(&self, op: &OwnOp, case: &Case) -> Result<Traced, NoTruth> {
        if !self.is_python() {
            let reason = "wrong kernels are made only of a reference in Python";
            return Err(NoTruth::Underivable(reason.to_owned()));
        }
        let signature = op.signature(case).map_err(|error| NoTruth::Failed(error.to_string()))?;
        let answer = self.ask(&request("trace", op, case, &signature), &[], 0)?;
        let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let list = |key: &str| answer.json[key].as_array().cloned().unwrap_or_default();
        if let Some(unknown) = list("unknown").first() {
            return Err(NoTruth::Underivable(text(unknown, "text")));
        }
        Ok(Traced {
            notes: list("notes").iter().map(|note| text(note, "text")).collect(),
            mutants: list("mutants")
                .iter()
                .map(|mutant| (text(mutant, "name"), text(mutant, "flaw")))
                .collect(),
        })
    }

    fn whole(
        &self,
        op: &OwnOp,
        case: &Case,
        signature: &Signature,
        inputs: &Values,
    ) -> Result<Arc<Whole>, NoTruth> {
        let key = key(case, inputs);
        let mut state = self.state();
        if let Some((_, whole)) = state.truths.iter().find(|(known, _)| *known == key) {
            return Ok(Arc::clone(whole));
        }
        if let Some(reason) = &state.not_made {
            return Err(reason.clone());
        }
        drop(state);
        self.vet(op, case)?;
        let elements: usize = signature.outputs().iter().map(Operand::len).sum();
        let read: Vec<&[f64]> = (0..signature.inputs().len()).map(|i| inputs.of(i)).collect();
        let answer = self.ask(&request("truth", op, case, signature), &read, 2 * elements)?;
        let whole = Arc::new(whole_of(&answer, signature)?);
        state = self.state();
        state.reductions.insert(case.to_string(), whole.reduction);
        state.truths.truncate(KEPT - 1);
        state.truths.push_front((key, Arc::clone(&whole)));
        Ok(whole)
    }

    /// Fills the operands that the user's function makes. If it fails, there is no truth from then
    /// on.
    pub(crate) fn make_inputs(
        &self,
        op: &OwnOp,
        case: &Case,
        signature: &Signature,
        seed: u64,
        inputs: &mut Values,
    ) {
        let is_made = |operand: &Operand| op.operand_text(operand.name).is_some_and(|it| it.made);
        let made: Vec<(usize, &Operand)> =
            signature.inputs().iter().enumerate().filter(|(_, it)| is_made(it)).collect();
        let room = made.iter().map(|(_, operand)| operand.len()).sum();
        let mut question = request("values", op, case, signature);
        // PyTorch takes seeds of 63 bits.
        question["seed"] = json!(seed >> 1);
        let answer = match self.ask(&question, &[], room) {
            Ok(answer) => answer,
            Err(reason) => {
                self.state().not_made = Some(reason);
                return;
            }
        };
        for (index, operand) in made {
            let offset = answer.json["operands"][operand.name].as_u64().unwrap_or(0) as usize / 8;
            if let Some(values) = answer.values.get(offset..offset + operand.len()) {
                inputs.tensors[index] = values.to_vec();
                proofmark_tensor::round_all(operand.dtype, &mut inputs.tensors[index]);
            }
        }
    }

    /// Asks once whether the results depend on the inputs, at the default sizes; at those of a
    /// proof if the default ones are large.
    fn vet(&self, op: &OwnOp, case: &Case) -> Result<(), NoTruth> {
        // A library answers no such question.
        if !self.is_python() {
            return Ok(());
        }
        if let Some(known) = &self.state().vetted {
            return known.clone();
        }
        let elements = |case: &Case| {
            let signature = op.signature(case).ok()?;
            Some(signature.operands().iter().map(Operand::len).sum::<usize>())
        };
        let is_small = |case: &Case| elements(case).is_some_and(|count| count <= VETTED_ELEMENTS);
        let default = op.default_case(case.dtype);
        let chosen = match is_small(&default) {
            true => default,
            false => {
                let made = crate::cases::made(op, case.dtype).into_iter().filter(is_small);
                made.max_by_key(elements).unwrap_or_else(|| case.clone())
            }
        };
        let signature =
            op.signature(&chosen).map_err(|error| NoTruth::Failed(error.to_string()))?;
        let vetted =
            self.ask(&request("vet", op, &chosen, &signature), &[], 0).and_then(|answer| {
                let blind = answer.json["blind"].as_array().map_or(0, Vec::len);
                match blind < signature.outputs().len() {
                    true => Ok(()),
                    false => Err(NoTruth::Blind(BLIND.to_owned())),
                }
            });
        self.state().vetted = Some(vetted.clone());
        vetted
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // A panic elsewhere leaves nothing half-done in it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the process, which is started first if it does not run.
    fn ask(&self, request: &Value, inputs: &[&[f64]], room: usize) -> Result<Answer, NoTruth> {
        let mut state = self.state();
        if state.process.is_none() {
            let process = match &self.runner {
                Runner::Python(python) => {
                    let absent = || NoTruth::Absent(INSTALL.to_owned());
                    Process::of_python(python.as_ref().ok_or_else(absent)?)?
                }
                Runner::Library(_) => Process::of_library()?,
            };
            let mut opening = json!({"do": "open", "file": self.file, "function": self.function});
            if let Runner::Library(parameters) = &self.runner {
                opening["parameters"] = json!(parameters);
            }
            state.process = Some(process.open(&opening)?);
        }
        let process = state.process.as_mut().expect("it was just started");
        let answer = process.ask(request, inputs, room);
        if process.is_dead() {
            // The next question gets a new one.
            state.process = None;
        }
        answer
    }
}

/// Why a kernel is neither proven nor refused if its reference cannot tell.
const BLIND: &str = "its result does not depend on its inputs, so that a constant would pass";

/// The most elements of all operands of a case on which it is asked whether results depend on
/// inputs: the reference runs a few times.
const VETTED_ELEMENTS: usize = 1 << 20;

/// What to do where there is no interpreter with PyTorch.
pub(crate) const INSTALL: &str = "it needs Python with PyTorch: run `proofmark peers add pytorch`, or set \
                       PROOFMARK_PYTHON to an interpreter that has it";

/// What is known of a reference from a trial run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// Warnings about the reference.
    pub notes: Vec<String>,
    /// Wrong kernels that can be made of it: name and flaw.
    pub mutants: Vec<(String, String)>,
}

/// The case and all inputs, bit by bit.
fn key(case: &Case, inputs: &Values) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(case.to_string().as_bytes());
    for tensor in &inputs.tensors {
        hasher.update(&tensor.len().to_le_bytes());
        hasher.update(&process::bytes_of(&[tensor]));
    }
    hasher.finalize()
}

/// A request about a case. Offsets of inputs follow from their sizes.
pub(crate) fn request(deed: &str, op: &OwnOp, case: &Case, signature: &Signature) -> Value {
    let mut offset = 0;
    let input = |operand: &Operand| {
        let at = offset;
        offset += 8 * operand.len();
        let mut told = json!({"name": operand.name, "dtype": operand.dtype.name(),
                              "shape": operand.shape, "role": "input", "offset": at});
        if let Some(below) = op.below(operand.name, case) {
            told["below"] = json!(below);
        }
        if op.operand_text(operand.name).is_some_and(|text| text.made) {
            told["made"] = json!(true);
        }
        told
    };
    let operands: Vec<Value> = signature.inputs().iter().map(input).collect();
    let output = |operand: &Operand| json!({"name": operand.name, "dtype": operand.dtype.name(), "shape": operand.shape});
    let outputs: Vec<Value> = signature.outputs().iter().map(output).collect();
    let axes: BTreeMap<&str, u64> = case.axes.iter().map(|(name, size)| (&**name, *size)).collect();
    let value = |value: AttrValue| match value {
        AttrValue::Flag(flag) => json!(flag),
        AttrValue::Int(number) => json!(number),
        AttrValue::Real(number) => json!(number),
        AttrValue::Word(word) => json!(word),
    };
    let attributes: BTreeMap<&str, Value> = op
        .attributes()
        .iter()
        .map(|it| (it.name, value(case.get(it.name).cloned().unwrap_or_else(|| it.default()))))
        .collect();
    json!({"do": deed, "dtype": case.dtype.name(), "axes": axes, "attributes": attributes,
           "operands": operands, "outputs": outputs, "u": UNIT, "seed": SEED,
           "inputs": op.manifest().reference.inputs()})
}

/// The seed of the noise that the scale is derived with; records repeat it.
const SEED: u64 = 20_261_115;

fn whole_of(answer: &Answer, signature: &Signature) -> Result<Whole, NoTruth> {
    let bad = || NoTruth::Failed("its process gave an answer without values".to_owned());
    let places = answer.json["outputs"].as_array().ok_or_else(bad)?;
    let mut outputs = Vec::new();
    for (operand, place) in signature.outputs().iter().zip(places) {
        let part = |name: &str| {
            let offset = usize::try_from(place[name].as_u64()?).ok()?;
            answer.values.get(offset / 8..offset / 8 + operand.len()).map(<[f64]>::to_vec)
        };
        let (value, scale) = (part("value").ok_or_else(bad)?, part("scale").ok_or_else(bad)?);
        outputs.push(Truth { value, scale, forgiven: Vec::new() });
    }
    if outputs.len() != signature.outputs().len() {
        return Err(bad());
    }
    Ok(Whole { outputs, reduction: answer.json["reduction"].as_u64().unwrap_or(1) })
}
