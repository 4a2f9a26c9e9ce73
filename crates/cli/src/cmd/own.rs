//! Finds the user's own ops before a command runs.

use super::libraries;
use crate::output::{env, say};
use proofmark_engine::own::{self, Interpreter, OwnPlace};
use proofmark_engine::peers::Peer;
use proofmark_engine::{EngineError, add_own_op};
use std::path::PathBuf;
use std::sync::OnceLock;

/// What was found, once for the process.
static FOUND: OnceLock<Found> = OnceLock::new();

#[derive(Default)]
struct Found {
    places: Vec<OwnPlace>,
    interpreter: Option<&'static Interpreter>,
    kernels: Vec<&'static dyn Peer>,
}

/// The kernels of the user's own ops.
pub(super) fn kernels() -> Vec<&'static dyn Peer> {
    FOUND.get().map(|found| found.kernels.clone()).unwrap_or_default()
}

/// The contenders of these ops where none is stated: the kernels of this project, as a pattern, and
/// those of the user's own ops.
pub(super) fn usual(native: &str, ops: &[String]) -> String {
    let Some(found) = FOUND.get().filter(|found| !found.places.is_empty()) else {
        return native.to_owned();
    };
    let is_own = |op: &String| found.places.iter().any(|place| place.op == *op);
    match (ops.iter().any(is_own), ops.iter().all(is_own)) {
        (true, true) => "own/*".to_owned(),
        (false, false) => native.to_owned(),
        _ => format!("{native} own/*"),
    }
}

/// The arguments that let a worker find the same ops.
pub(super) fn arguments() -> Vec<String> {
    let Some(found) = FOUND.get() else { return Vec::new() };
    let own = found.places.iter().map(|place| ["--own".to_owned(), place.to_string()]);
    let mut all: Vec<String> = own.flatten().collect();
    if let Some(Ok(home)) = found.interpreter.map(Interpreter::home) {
        all.extend(["--python-home".to_owned(), home.to_string()]);
    }
    all
}

/// Reads the folders of `PROOFMARK_OPS`, or those that the working directory means. A folder that
/// is not of the form is told and left out, because most commands are about other ops.
pub(crate) fn load() {
    let folders = match env("PROOFMARK_OPS") {
        Some(stated) => {
            let stated: Vec<PathBuf> = std::env::split_paths(&stated).collect();
            stated.iter().flat_map(|folder| own::folders_at(folder)).collect()
        }
        None => std::env::current_dir().map(|at| own::folders_from(&at)).unwrap_or_default(),
    };
    if folders.is_empty() {
        return;
    }
    read(&folders, interpreter());
}

/// The interpreter that references run in.
pub(super) fn interpreter() -> Interpreter {
    Interpreter::of(env("PROOFMARK_PYTHON").map(PathBuf::from), &libraries())
}

fn read(folders: &[PathBuf], interpreter: Interpreter) {
    // It serves the ops, which live as long as the process.
    let interpreter: &'static Interpreter = Box::leak(Box::new(interpreter));
    let mut found = Found { interpreter: Some(interpreter), ..Found::default() };
    for folder in folders {
        match add_own_op(folder, interpreter) {
            Ok((place, kernels)) => {
                found.places.push(place);
                found.kernels.extend(kernels);
            }
            Err(error) => tell(&error),
        }
    }
    FOUND.get_or_init(|| found);
}

fn tell(error: &EngineError) {
    say(&format!("warning: {error}; this op is left out"));
}
