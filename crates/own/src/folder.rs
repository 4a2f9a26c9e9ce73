//! Folders that define ops: where they are, and what they become.

use crate::manifest::Manifest;
use crate::page::{FileError, Page};
use crate::reference::{Python, Reference};
use crate::{MANIFEST, OwnOp};
use proofmark_contract::{
    Call, Definition, Entry, Kernel, KernelError, Mutant, NoTruth, Unsupported,
};
use proofmark_schema::{Case, DType, Isa};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The folder of a project in which its ops are.
pub const OPS: &str = "ops";

/// The op folders that a command started in `start` means: those below `ops` of the nearest folder
/// upwards that has any, and `start` itself where it is one.
pub fn folders_from(start: &Path) -> Vec<PathBuf> {
    for folder in start.ancestors() {
        if folder.join(MANIFEST).is_file() {
            return vec![folder.to_owned()];
        }
        let found = folders_in(&folder.join(OPS));
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// The op folder itself, or those in a folder.
pub fn folders_at(folder: &Path) -> Vec<PathBuf> {
    match folder.join(MANIFEST).is_file() {
        true => vec![folder.to_owned()],
        false => folders_in(folder),
    }
}

/// The op folders in a folder, by name.
fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.retain(|path| path.join(MANIFEST).is_file());
    found.sort_unstable();
    found
}

/// Makes an op of a folder. It lives as long as the process.
///
/// # Errors
/// What in its files is not of the form.
pub fn load(folder: &Path, python: Option<&Python>) -> Result<&'static OwnOp, FileError> {
    let path = folder.join(MANIFEST);
    let whole = |reason: String| FileError::whole(&path, reason);
    let text = std::fs::read_to_string(&path).map_err(|error| whole(error.to_string()))?;
    let manifest: Manifest = Page { text: &text, path: &path }.read()?;
    let reference = Reference::new(folder, &manifest.reference.python, python.cloned());
    let op = reference.and_then(|reference| OwnOp::new(folder, manifest, reference));
    Ok(Box::leak(Box::new(op.map_err(whole)?)))
}

/// The op as a member of the list of ops. Its kernels are contenders of their own family.
pub fn entry(op: &'static OwnOp) -> &'static Entry {
    let suite: &'static str = Box::leak(suite(op).into_boxed_str());
    Box::leak(Box::new(Entry { op, kernels: &[], mutants: &[], suite }))
}

/// The op with the kernels and wrong kernels of a built-in op, which it describes in its own words.
pub fn entry_for(op: &'static OwnOp, built_in: &'static Entry) -> &'static Entry {
    Box::leak(Box::new(Entry { op, ..*built_in }))
}

/// The op with wrong kernels that are made from the reference, at the default sizes, and with
/// the warnings about the reference. Wrong kernels run only in a worker.
///
/// # Errors
/// If the reference cannot run, or has a primitive without a rule.
pub fn entry_with_mutants(op: &'static OwnOp) -> Result<(&'static Entry, Vec<String>), NoTruth> {
    let dtype = op.dtypes().first().copied().unwrap_or(DType::F32);
    let traced = op.reference().trace(op, &op.default_case(dtype))?;
    let kept = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
    let mutant = |(name, flaw): &(String, String)| {
        let name = kept(name);
        let kernel: &'static Declared = Box::leak(Box::new(Declared(name)));
        Mutant { name, flaw: kept(flaw), kernel }
    };
    let mutants: Vec<Mutant> = traced.mutants.iter().map(mutant).collect();
    let mutants: &'static [Mutant] = Box::leak(mutants.into_boxed_slice());
    Ok((Box::leak(Box::new(Entry { mutants, ..*entry(op) })), traced.notes))
}

/// A wrong kernel whose code is in a worker.
struct Declared(&'static str);

impl Kernel for Declared {
    fn name(&self) -> &'static str {
        self.0
    }

    fn summary(&self) -> &'static str {
        "made from the reference"
    }

    fn isas(&self) -> &'static [Isa] {
        &[Isa::Scalar]
    }

    fn supports(&self, _: &Case, _: Isa) -> Result<(), Unsupported> {
        Ok(())
    }

    fn run(&self, _: &mut Call<'_>) -> Result<(), KernelError> {
        Err(KernelError::Refused("it runs only in a worker".to_owned()))
    }
}

/// The suite of an op that states none: its default sizes.
fn suite(op: &OwnOp) -> String {
    let axes: Vec<String> =
        op.axes().iter().map(|axis| format!("{} = {}", axis.name, axis.default)).collect();
    let sweep: Vec<String> =
        op.axes().iter().map(|axis| format!("{}={}", axis.name, axis.default)).collect();
    let dtypes: Vec<String> =
        op.dtypes().iter().map(|dtype| format!("\"{}\"", dtype.name())).collect();
    let mut text = "analysis = \"\"\n".to_owned();
    for size in ["small", "medium", "large", "batch"] {
        let stated = op.manifest().sizes.0.iter().find(|(name, _)| name == size);
        let axes = match stated {
            Some((_, table)) => table.to_string(),
            None => axes.join("\n"),
        };
        let _ = writeln!(text, "[sizes.{size}]\n{axes}");
    }
    for name in ["smoke", "standard", "full"] {
        let (dtypes, sweep) = (dtypes.join(", "), sweep.join(" "));
        let _ = writeln!(text, "[sweeps.{name}]\ndtypes = [{dtypes}]\naxes = \"{sweep}\"");
    }
    text
}
