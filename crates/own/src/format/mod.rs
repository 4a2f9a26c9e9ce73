//! Problems that people already have in the format of another project, turned into folders of ops.
//!
//! Commands know only folders, so no other part of the program has to learn a format. The user's
//! files are copied into the folder as they are. The files that we add only call them.

mod flashinfer;
mod gpu_mode;
mod kernelbench;
mod page;

use crate::manifest::ImportedText;
use crate::template::{NewOpError, written};
use crate::{OwnOp, Python};
use page::Page;
use proofmark_contract::{Attribute, Axis, Definition};
use proofmark_schema::imported::Shrunk;
use proofmark_schema::{AttrValue, Case};
use std::path::{Path, PathBuf};

/// Bytes of all tensors of a case, unless the user states others. The reference runs 25 times at
/// once in f64 for each of some 30 sets of inputs, which takes seconds at this size.
pub const BYTES: u64 = 1 << 18;

/// The folder of an imported task within the folder of its op.
pub(crate) const TASK_FOLDER: &str = "task";

/// What to make an op of.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// The problem: a file or a folder.
    pub problem: &'a Path,
    /// Answers to it, which become kernels.
    pub answers: &'a [PathBuf],
    /// Workloads of flashinfer-trace, which become cases.
    pub workloads: Option<&'a Path>,
    /// The bytes that all tensors of a case may take; larger sizes are shrunk.
    pub bytes: u64,
    /// The name of the op; made from that of the problem if it is not stated.
    pub name: Option<&'a str>,
    /// The folder that the op's folder is made in.
    pub within: &'a Path,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedOp {
    /// The op's name.
    pub name: String,
    /// The files.
    pub files: Vec<PathBuf>,
    /// What the user should know, as sizes that were shrunk.
    pub notes: Vec<String>,
}

/// The folder of an op before it is written.
struct Folder {
    name: String,
    page: Page,
    /// Texts of the files beside `op.toml`, by path. The first is the problem itself.
    files: Vec<(String, String)>,
    notes: Vec<String>,
}

/// Makes the folder of an op from a problem and its answers. If there is one of the same problem
/// already, only the answers are added.
///
/// # Errors
/// If the files are of no known format, the problem does not run, or nothing can be written.
pub fn import_op(source: &Source<'_>, python: &Python) -> Result<ImportedOp, NewOpError> {
    if !source.problem.exists() {
        let reason = "there is no such file or folder".to_owned();
        return Err(NewOpError::Format { path: source.problem.to_owned(), reason });
    }
    let extension = source.problem.extension().and_then(|extension| extension.to_str());
    let folder = match extension {
        Some("py") => kernelbench::folder(source, python)?,
        Some("json") => flashinfer::folder(source)?,
        Some("yml" | "yaml") => gpu_mode::folder(source, python)?,
        _ if source.problem.join(gpu_mode::TASK).is_file() => gpu_mode::folder(source, python)?,
        _ => {
            let reason = "it is no problem: give a KernelBench problem (.py), a Definition of \
                          flashinfer-trace (.json) or the folder of a GPU MODE task";
            let path = source.problem.to_owned();
            return Err(NewOpError::Format { path, reason: reason.to_owned() });
        }
    };
    folder.write(source)
}

impl Folder {
    fn write(self, source: &Source<'_>) -> Result<ImportedOp, NewOpError> {
        let name = source.name.unwrap_or(&self.name).to_owned();
        crate::template::check_name(&name)?;
        let place = source.within.join(&name);
        let mut texts = self.files;
        if place.exists() {
            let (path, problem) = texts.first().cloned().unwrap_or_default();
            let is_same = std::fs::read_to_string(place.join(path)).is_ok_and(|it| it == problem);
            texts.retain(|(path, _)| path.starts_with("kernels/"));
            if !is_same || texts.is_empty() {
                return Err(NewOpError::Exists(place));
            }
        } else {
            texts.insert(0, (crate::MANIFEST.to_owned(), self.page.text()));
        }
        let files = texts.iter().map(|(path, text)| written(&place.join(path), text));
        let files = files.collect::<Result<_, _>>()?;
        Ok(ImportedOp { name, files, notes: self.notes })
    }
}

/// The text of a user's file.
fn read(path: &Path) -> Result<String, NewOpError> {
    std::fs::read_to_string(path).map_err(|error| NewOpError::Io { path: path.to_owned(), error })
}

/// A file's name as one that Python and the command line take: letters, digits and `_`.
fn plain_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let letters = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let words: String = stem.chars().map(letters).collect();
    let words: Vec<&str> = words.split('_').filter(|word| !word.is_empty()).collect();
    words.join("_")
}

/// The text of a template with its blanks filled in.
fn filled(template: &str, blanks: &[(&str, &str)]) -> String {
    blanks.iter().fold(template.to_owned(), |text, (blank, words)| {
        text.replace(&format!("{{{blank}}}"), words)
    })
}

/// Whether the text of an answer starts a compiler.
fn has_compiler(text: &str) -> bool {
    ["torch.compile", "load_inline", "cpp_extension"].iter().any(|word| text.contains(word))
}

/// The workload of a case in the words of the format that the op was read from.
pub(crate) fn workload(op: &OwnOp, text: &ImportedText, case: &Case) -> Option<serde_json::Value> {
    // A case need not state an attribute that has its default.
    let of =
        |case: &Case, name: &str, default: AttrValue| case.get(name).cloned().unwrap_or(default);
    let is_case = |stated: &str| {
        let Ok(stated) = crate::cases::stated(op, stated, case.dtype) else { return false };
        let is_same = |attribute: &Attribute| {
            let default = || attribute.default();
            of(&stated, attribute.name, default()) == of(case, attribute.name, default())
        };
        let is_axis = |axis: &Axis| stated.size(axis.name) == case.size(axis.name);
        op.axes().iter().all(is_axis) && op.attributes().iter().all(is_same)
    };
    let found = text.workloads.iter().find(|workload| is_case(&workload.case))?;
    serde_json::from_str(&found.json).ok()
}

/// The axes of a case that are smaller than a workload states.
pub(crate) fn smaller(case: &Case, stated: &serde_json::Value) -> Vec<Shrunk> {
    let axes = case.axes.iter().filter_map(|(name, used)| {
        let stated = stated[&**name].as_u64()?;
        (stated > *used).then(|| Shrunk { name: name.to_string(), stated, used: *used })
    });
    axes.collect()
}

#[cfg(test)]
mod tests;
