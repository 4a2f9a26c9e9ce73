//! Finds the user's own ops before a command runs.

use super::libraries;
use crate::output::{env, say};
use proofmark_engine::own::{self, Interpreter, OwnPlace, SubmittedFile};
use proofmark_engine::peers::Peer;
use proofmark_engine::{EngineError, add_own_kernels, add_own_op, add_submission};
use std::path::{Path, PathBuf};
use std::sync::{OnceLock, PoisonError, RwLock};

/// What was found, once for the process.
static FOUND: OnceLock<Found> = OnceLock::new();

#[derive(Default)]
struct Found {
    places: Vec<OwnPlace>,
    kernels: Vec<&'static dyn Peer>,
}

/// The kernel that was submitted last: what a command names replaces what the environment names.
static SUBMITTED: RwLock<Option<(SubmittedFile, &'static dyn Peer)>> = RwLock::new(None);

/// The variable that names a submitted kernel for commands that do not take one.
const SUBMISSION: &str = "PROOFMARK_SUBMISSION";

/// The kernels of the user's own ops, and one that was submitted.
pub(super) fn kernels() -> Vec<&'static dyn Peer> {
    let own = FOUND.get().map(|found| found.kernels.clone()).unwrap_or_default();
    own.into_iter().chain(submitted().map(|(_, kernel)| kernel)).collect()
}

fn submitted() -> Option<(SubmittedFile, &'static dyn Peer)> {
    SUBMITTED.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Makes a submitted kernel known to this process and its workers. `builds` allows the command in
/// its file to be run.
pub(super) fn submit(file: SubmittedFile, builds: bool) -> Result<&'static dyn Peer, EngineError> {
    let known = FOUND.get().map(|found| found.kernels.clone()).unwrap_or_default();
    let kernel = add_submission(&file, &known, interpreter(), builds)?;
    *SUBMITTED.write().unwrap_or_else(PoisonError::into_inner) = Some((file, kernel));
    Ok(kernel)
}

/// The interpreter of references and of kernels in Python.
pub(super) fn interpreter() -> &'static Interpreter {
    static INTERPRETER: OnceLock<Interpreter> = OnceLock::new();
    let stated = || env("PROOFMARK_PYTHON").map(PathBuf::from);
    INTERPRETER.get_or_init(|| Interpreter::of(stated(), &libraries()))
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
    let places = FOUND.get().map_or(&[][..], |found| &found.places);
    let own = places.iter().map(|place| ["--own".to_owned(), place.to_string()]);
    let mut all: Vec<String> = own.flatten().collect();
    let mut needs_python = !places.is_empty();
    if let Some((file, kernel)) = submitted() {
        all.extend(["--submission".to_owned(), file.to_string()]);
        needs_python |= kernel.needs().interpreter;
    }
    // To find the interpreter may start it.
    if needs_python && let Ok(home) = interpreter().home() {
        all.extend(["--python-home".to_owned(), home.to_string()]);
    }
    all
}

/// Reads the folders of `PROOFMARK_OPS`, or those that the working directory means, what `cargo
/// bench` left for this project, and the kernel of `PROOFMARK_SUBMISSION`. What is not of the form
/// is told and left out, because most commands are about other ops.
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
    if !folders.is_empty() {
        read(&folders);
    }
    let Some(submitted) = env(SUBMISSION) else { return };
    let read = submitted.parse::<SubmittedFile>().map_err(|form| format!("{SUBMISSION}: {form}"));
    let read = read.and_then(|file| submit(file, false).map_err(|error| error.to_string()));
    if let Err(error) = read {
        say(&format!("warning: {error}; this kernel is left out"));
    }
}

fn read(folders: &[PathBuf]) {
    let mut found = Found::default();
    for folder in folders {
        let added = match own::adds_kernels(folder) {
            true => add_own_kernels(folder, interpreter()),
            false => add_own_op(folder, interpreter()),
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
