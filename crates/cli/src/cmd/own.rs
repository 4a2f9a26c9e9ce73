//! Finds the user's own ops before a command runs.

use super::libraries;
use crate::output::{env, say};
use proofmark_engine::own::{self, Interpreter, OwnPlace};
use proofmark_engine::peers::Peer;
use proofmark_engine::{EngineError, add_own_kernels, add_own_op};
use std::path::{Path, PathBuf};
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
    let has_own = |op: &String| found.places.iter().any(|place| place.op == *op);
    let is_own = |op: &String| {
        let defines = |place: &OwnPlace| place.op == *op && !own::adds_kernels(&place.folder);
        found.places.iter().any(defines)
    };
    match (ops.iter().any(has_own), ops.iter().all(is_own)) {
        (true, true) => "own/*".to_owned(),
        (false, _) => native.to_owned(),
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

/// Reads the folders of `PROOFMARK_OPS`, or those that the working directory means, and what
/// `cargo bench` left for this project. A folder that is not of the form is told and left out,
/// because most commands are about other ops.
pub(crate) fn load() {
    let found = |variable: &str, from: fn(&Path) -> Vec<PathBuf>| match env(variable) {
        Some(stated) => {
            let stated: Vec<PathBuf> = std::env::split_paths(&stated).collect();
            stated.iter().flat_map(|folder| own::folders_at(folder)).collect()
        }
        None => std::env::current_dir().map(|at| from(&at)).unwrap_or_default(),
    };
    let mut folders: Vec<PathBuf> = found("PROOFMARK_OPS", own::folders_from);
    folders.extend(found("PROOFMARK_BENCHES", own::benches_from));
    // Kernels are added to ops that are known by then.
    folders.sort_by_key(|folder| own::adds_kernels(folder));
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
        let added = match own::adds_kernels(folder) {
            true => add_own_kernels(folder, interpreter),
            false => add_own_op(folder, interpreter),
        };
        match added {
            Ok((place, kernels)) => {
                found.places.push(place);
                found.add(kernels);
            }
            Err(error) => tell(&error),
        }
    }
    FOUND.get_or_init(|| found);
}

impl Found {
    /// Adds kernels. Two of one name for an op could not be told apart.
    fn add(&mut self, kernels: Vec<&'static dyn Peer>) {
        for kernel in kernels {
            let is_same =
                |known: &&dyn Peer| known.name() == kernel.name() && known.ops() == kernel.ops();
            match self.kernels.iter().any(is_same) {
                true => say(&format!(
                    "warning: there are two kernels `{}` of {}; the second one is left out",
                    kernel.id(),
                    kernel.ops().join(", ")
                )),
                false => self.kernels.push(kernel),
            }
        }
    }
}

fn tell(error: &EngineError) {
    say(&format!("warning: {error}; its folder is left out"));
}
