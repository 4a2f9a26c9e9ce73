//! Answers questions about a reference in a shared library, in a process of its own.
//!
//! The function is made by `#[proofmark::op]` of `proofmark-bench`. It is given operands in f64 and
//! numbers, runs the reference exactly and with noise, and writes values and scales.

use proofmark_peers::Open;
use rustix::fd::{FromRawFd, OwnedFd};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, Write};
use std::mem::ManuallyDrop;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The hidden command of this program that serves a reference.
pub const SERVE_REFERENCE: &str = "__reference";

/// An argument of a reference. The crate `proofmark-bench` has the same.
#[repr(C)]
struct Argument {
    values: *mut f64,
    scales: *mut f64,
    length: usize,
    number: f64,
}

/// A reference: arguments and their number, a seed, the unit roundoff; it returns the terms of its
/// longest sum.
type Function = unsafe extern "C" fn(*const Argument, usize, u64, f64) -> u64;

/// A library that is open.
struct Opened {
    function: Function,
    parameters: Vec<String>,
}

/// Serves questions on the standard input until it ends. Inputs and results are in files.
///
/// # Errors
/// If the files or the standard streams fail.
pub fn serve_reference(input: &Path, output: &Path) -> std::io::Result<()> {
    let mut answers = File::from(rustix::io::dup(std::io::stdout())?);
    // SAFETY: descriptor 1 is open, as it was just copied, and this handle never closes it.
    let mut stdout = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(1) });
    // Nothing that the reference prints reaches the answers.
    rustix::io::dup2(std::io::stderr(), &mut stdout)?;
    let given = File::open(input)?;
    let results = File::options().write(true).open(output)?;
    let mut opened = None;
    for line in std::io::stdin().lock().lines() {
        let question: Value = serde_json::from_str(&line?)?;
        let answer = match question["do"].as_str() {
            Some("open") => open(&question).map(|it| {
                opened = Some(it);
                json!({})
            }),
            Some("truth") => run(opened.as_ref(), &question, Some((&given, &results))),
            Some("trace") => run(opened.as_ref(), &question, None),
            _ => Err("it is asked what it does not know".to_owned()),
        };
        let failed = |text: String| json!({"error": {"kind": "raised", "text": text}});
        writeln!(answers, "{}", answer.unwrap_or_else(failed))?;
    }
    Ok(())
}

fn open(question: &Value) -> Result<Opened, String> {
    let text = |key: &str| question[key].as_str().unwrap_or_default();
    let library = Open::at(Path::new(text("file")), false)?;
    // SAFETY: the symbol's name has the form of the function, and only such functions have it.
    let function = unsafe { library.get::<Function>(text("function")) }?;
    let names = question["parameters"].as_array().cloned().unwrap_or_default();
    let parameters = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    Ok(Opened { function, parameters })
}

/// Memory of one argument.
enum Memory {
    Number(f64),
    Read(Vec<f64>),
    Written { output: usize, values: Vec<f64>, scales: Vec<f64> },
}

/// Runs the reference on the inputs of a file, and writes its results to another. Without files it
/// runs on inputs of one value, for the length of its sums.
fn run(
    opened: Option<&Opened>,
    question: &Value,
    files: Option<(&File, &File)>,
) -> Result<Value, String> {
    let opened = opened.ok_or("no reference is open")?;
    let memory = |name: &String| memory(name, question, files.map(|(given, _)| given));
    let mut memories: Vec<Memory> =
        opened.parameters.iter().map(memory).collect::<Result<_, _>>()?;
    let argument = |memory: &mut Memory| {
        let nothing = std::ptr::null_mut();
        match memory {
            Memory::Number(number) => {
                Argument { values: nothing, scales: nothing, length: 0, number: *number }
            }
            Memory::Read(values) => {
                let (values, length) = (values.as_mut_ptr(), values.len());
                Argument { values, scales: nothing, length, number: 0.0 }
            }
            Memory::Written { values, scales, .. } => Argument {
                values: values.as_mut_ptr(),
                scales: scales.as_mut_ptr(),
                length: values.len(),
                number: 0.0,
            },
        }
    };
    let arguments: Vec<Argument> = memories.iter_mut().map(argument).collect();
    let (seed, unit) = (question["seed"].as_u64(), question["u"].as_f64());
    // SAFETY: each argument has as many elements as it says, and there is one for each parameter
    // that the library's own description lists.
    let longest = unsafe {
        let (seed, unit) = (seed.unwrap_or(0), unit.unwrap_or(0.0));
        (opened.function)(arguments.as_ptr(), arguments.len(), seed, unit)
    };
    let Some((_, results)) = files else { return Ok(json!({"reduction": longest})) };
    let mut places = vec![Value::Null; question["outputs"].as_array().map_or(0, Vec::len)];
    let mut at = 0;
    for memory in &memories {
        let Memory::Written { output, values, scales } = memory else { continue };
        let bytes = super::process::bytes_of(&[values, scales]);
        results.write_all_at(&bytes, at).map_err(|error| format!("results: {error}"))?;
        let scale = at + 8 * values.len() as u64;
        places[*output] = json!({"value": at, "scale": scale});
        at += bytes.len() as u64;
    }
    if let Some(missing) = places.iter().position(Value::is_null) {
        let name = &question["outputs"][missing]["name"];
        return Err(format!("the reference has no parameter {name}, which is an output of the op"));
    }
    Ok(json!({"outputs": places, "reduction": longest}))
}

/// What a parameter of this name is given.
fn memory(name: &str, question: &Value, given: Option<&File>) -> Result<Memory, String> {
    let list = |key: &str| question[key].as_array().cloned().unwrap_or_default();
    let is_it = |operand: &Value| operand["name"] == name;
    if let Some(operand) = list("operands").iter().find(|it| is_it(it)) {
        let mut bytes = vec![0; 8 * elements(operand)];
        let values = match given {
            Some(given) => {
                let offset = operand["offset"].as_u64().unwrap_or(0);
                let read = given.read_exact_at(&mut bytes, offset);
                read.map_err(|error| format!("inputs: {error}"))?;
                let number = |part: &[u8]| f64::from_le_bytes(part.try_into().unwrap_or_default());
                bytes.chunks_exact(8).map(number).collect()
            }
            // Half of one is a valid index too: 0.
            None => vec![0.5; elements(operand)],
        };
        return Ok(Memory::Read(values));
    }
    if let Some(output) = list("outputs").iter().position(is_it) {
        let zeros = vec![0.0; elements(&question["outputs"][output])];
        return Ok(Memory::Written { output, values: zeros.clone(), scales: zeros });
    }
    let number = match (&question["axes"][name], &question["attributes"][name]) {
        (Value::Null, Value::Bool(flag)) => Some(f64::from(u8::from(*flag))),
        (Value::Null, attribute) => attribute.as_f64(),
        (axis, _) => axis.as_f64(),
    };
    let unknown =
        || format!("the reference takes `{name}`, which is no operand, axis or number of the op");
    number.map(Memory::Number).ok_or_else(unknown)
}

fn elements(operand: &Value) -> usize {
    let shape = operand["shape"].as_array().into_iter().flatten();
    shape.map(|size| size.as_u64().unwrap_or(0) as usize).product()
}
