//! Folders that define ops: where they are, and what they become.

use crate::contender::KERNELS;
use crate::kernel::KernelFile;
use crate::manifest::Manifest;
use crate::page::{FileError, Page};
use crate::reference::{Python, Reference};
use crate::{MANIFEST, OwnOp};
use proofmark_contract::{Definition, Entry, Mutant, NoTruth};
use proofmark_schema::DType;
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

/// The op folders in a folder, by name: those that define an op, and those that add kernels to one.
fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = paths_in(folder).collect();
    found.retain(|path| path.join(MANIFEST).is_file() || adds_kernels(path));
    found.sort_unstable();
    found
}

fn paths_in(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// Whether a folder adds kernels to the op of its name, which is defined elsewhere: it has no
/// `op.toml`, and a `.toml` file or a file in Python with a header of ours in its folder `kernels`.
pub fn adds_kernels(folder: &Path) -> bool {
    let mut beside = paths_in(&folder.join(KERNELS));
    !folder.join(MANIFEST).is_file() && beside.any(|path| KernelFile::is_marked(&path))
}

/// Where `cargo bench` leaves the kernels of its programs, below the folder of a project.
const BENCHES: &str = "target/proofmark/bench";

/// The op folders that `cargo bench` left for the project around `start`.
pub fn benches_from(start: &Path) -> Vec<PathBuf> {
    let found = start.ancestors().map(|folder| folder.join(BENCHES)).find(|it| it.is_dir());
    let mut programs: Vec<PathBuf> = found.iter().flat_map(|it| paths_in(it)).collect();
    programs.sort_unstable();
    programs.iter().flat_map(|program| folders_in(program)).collect()
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
    let reference = Reference::new(folder, &manifest.reference, python.cloned());
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
    let mutant = |(name, flaw): &(String, String)| Mutant::elsewhere(kept(name), kept(flaw));
    let mutants: Vec<Mutant> = traced.mutants.iter().map(mutant).collect();
    let mutants: &'static [Mutant] = Box::leak(mutants.into_boxed_slice());
    Ok((Box::leak(Box::new(Entry { mutants, ..*entry(op) })), traced.notes))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn write(root: &Path, file: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    fn names(folders: &[PathBuf]) -> Vec<String> {
        let name = |folder: &PathBuf| folder.file_name().unwrap().to_string_lossy().into_owned();
        folders.iter().map(name).collect()
    }

    #[test]
    fn a_folder_with_kernels_alone_adds_them_and_one_without_is_none_of_ours() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "ops/defined/op.toml");
        write(root.path(), "ops/defined/kernels/fast.toml");
        write(root.path(), "ops/softmax/kernels/fast.toml");
        write(root.path(), "ops/other/kernels/triton.py");
        let found = folders_from(&root.path().join("src/deep"));
        assert_eq!(names(&found), ["defined", "softmax"]);
        assert_eq!(found.iter().map(|it| adds_kernels(it)).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn what_cargo_bench_left_is_found_from_inside_the_project() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "target/proofmark/bench/mine-kernels/softmax/kernels/fast.toml");
        write(root.path(), "target/proofmark/bench/mine-others/gelu/op.toml");
        let found = benches_from(&root.path().join("src"));
        assert_eq!(names(&found), ["softmax", "gelu"]);
        assert!(benches_from(&root.path().join("target/proofmark/bench/mine-others")).len() == 2);
        assert!(folders_from(root.path()).is_empty());
    }
}
