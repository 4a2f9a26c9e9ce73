//! The ops that this process knows: those of this build, and those of the user's folders.

use crate::{EngineError, SubmissionError, nearest};
use proofmark_contract::{Definition, Entry};
use proofmark_own::{Interpreter, OwnOp, OwnPlace, SubmittedFile};
use proofmark_peers::Peer;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

/// The user's own ops that were added so far, after those of this build.
static ALL: RwLock<Option<&'static [&'static Entry]>> = RwLock::new(None);

static OWN: RwLock<Vec<&'static OwnOp>> = RwLock::new(Vec::new());

/// The user's own op of that name.
pub(crate) fn own_op(name: &str) -> Option<&'static OwnOp> {
    let all = OWN.read().unwrap_or_else(PoisonError::into_inner);
    all.iter().copied().find(|op| Definition::name(*op) == name)
}

/// Every op this process knows.
pub fn ops() -> &'static [&'static Entry] {
    ALL.read().unwrap_or_else(PoisonError::into_inner).unwrap_or(proofmark_ops::OPS)
}

/// Adds the op of a folder; gives its place and its kernels.
///
/// # Errors
/// What in the folder is not of the form, or an op that has the same name.
pub fn add_own_op(
    folder: &Path,
    interpreter: &'static Interpreter,
) -> Result<(OwnPlace, Vec<&'static dyn Peer>), EngineError> {
    let op = proofmark_own::load(folder, interpreter.python())?;
    let entry = proofmark_own::entry(op);
    let name = entry.op.name();
    if ops().iter().any(|known| known.op.name() == name) {
        return Err(EngineError::SameOp { name: name.to_owned(), folder: folder.to_owned() });
    }
    let kernels = proofmark_own::kernels(op, interpreter)?;
    let all: &'static [&'static Entry] = Box::leak([ops(), &[entry]].concat().into_boxed_slice());
    *ALL.write().unwrap_or_else(PoisonError::into_inner) = Some(all);
    OWN.write().unwrap_or_else(PoisonError::into_inner).push(op);
    Ok((OwnPlace { op: name.to_owned(), folder: folder.to_owned() }, kernels))
}

/// The kernels that a folder adds to the op of its name, with their place.
///
/// # Errors
/// What in the folder is not of the form, or if there is no such op.
pub fn add_own_kernels(
    folder: &Path,
    interpreter: &'static Interpreter,
) -> Result<(OwnPlace, Vec<&'static dyn Peer>), EngineError> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let entry = find_op(&name)?;
    let files = own_op(&name).map(OwnOp::files).unwrap_or_default();
    let kernels = proofmark_own::added_kernels(entry.op, folder, &files, interpreter)?;
    Ok((OwnPlace { op: name, folder: folder.to_owned() }, kernels))
}

/// Reads a kernel that was submitted for an op, in addition to the `known` kernels of the user's
/// ops. `builds` allows the command in its file to be run, with the rights of this process.
///
/// # Errors
/// If there is no such op, the file is not of the form, or a known kernel has the same name.
pub fn add_submission(
    file: &SubmittedFile,
    known: &[&'static dyn Peer],
    interpreter: &'static Interpreter,
    builds: bool,
) -> Result<&'static dyn Peer, EngineError> {
    let entry = find_op(&file.op)?;
    let judged_by = own_op(&file.op).map(OwnOp::files).unwrap_or_default();
    let kernel = file.read(entry.op, judged_by, interpreter, builds);
    let kernel = kernel.map_err(SubmissionError::from)?;
    let is_same = |other: &&&dyn Peer| other.has(&file.op) && other.id() == kernel.id();
    match known.iter().find(is_same) {
        Some(_) => {
            let (id, path) = (kernel.id(), file.path.clone());
            Err(SubmissionError::SameKernel { id, path }.into())
        }
        None => Ok(kernel),
    }
}

/// The op of that name, or an error that names the nearest.
///
/// # Errors
/// If there is no such op.
pub fn find_op(name: &str) -> Result<&'static Entry, EngineError> {
    let found = ops().iter().copied().find(|entry| entry.op.name() == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = ops().iter().map(|entry| entry.op.name()).collect();
        EngineError::UnknownOp {
            name: name.to_owned(),
            nearest: nearest(name, &names).map(str::to_owned),
            known: names.join(", "),
        }
    })
}
