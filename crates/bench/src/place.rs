//! Where a bench program keeps what `proofmark` reads: the files of its kernels, and baselines.
//!
//! Below the target folder:
//!
//! ```text
//! proofmark/bench/PROGRAM/OP/kernels/NAME.toml
//! proofmark/baselines/NAME/PROGRAM/library.so, OP/kernels/NAME.toml
//! ```

use crate::registry::{Whole, quoted};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file that cargo puts into every target folder.
const TAG: &str = "CACHEDIR.TAG";

/// The file that defines an op.
const OP: &str = "op.toml";

/// The name of a kept library.
const LIBRARY: &str = "library.so";

/// The places of one bench program.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Place {
    root: PathBuf,
    program: String,
}

impl Place {
    /// The places of a bench program of this name whose library is there.
    pub(crate) fn of(library: &Path, program: &str) -> Place {
        let above = library.ancestors().skip(1).find(|folder| folder.join(TAG).is_file());
        let target = above.or_else(|| library.parent()).unwrap_or(Path::new("."));
        Place { root: target.join("proofmark"), program: program.to_owned() }
    }

    /// Where the ops and kernels of this build are.
    pub(crate) fn ops(&self) -> PathBuf {
        self.root.join("bench").join(&self.program)
    }

    /// Where the ops and kernels of a baseline are.
    fn baseline(&self, name: &str) -> PathBuf {
        self.root.join("baselines").join(name).join(&self.program)
    }

    /// Writes the files of these ops, by name and text, and kernels. It removes those of earlier
    /// builds.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn write(
        &self,
        ops_here: &[(String, String)],
        kernels: &[Placed],
    ) -> io::Result<()> {
        let ops = self.ops();
        let mut wanted = Vec::new();
        for (name, text) in ops_here {
            let path = ops.join(name).join(OP);
            write_if_new(&path, text)?;
            wanted.push(path);
        }
        for Placed { kernel, library } in kernels {
            let path = file(&ops, kernel);
            write_if_new(&path, &text(kernel, library))?;
            wanted.push(path);
        }
        let known = files_below(&ops).into_iter().chain(ops_below(&ops));
        for stale in known.filter(|path| !wanted.contains(path)) {
            fs::remove_file(stale)?;
        }
        Ok(())
    }

    /// Keeps the library of this build with the files of its kernels.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn save(&self, name: &str, kernels: &[Whole], library: &Path) -> io::Result<()> {
        let folder = self.baseline(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let kept = folder.join(LIBRARY);
        fs::copy(library, &kept)?;
        for kernel in kernels {
            write_if_new(&file(&folder, kernel), &text(kernel, &kept))?;
        }
        Ok(())
    }

    /// The kernels of a baseline, named `NAME.KERNEL`.
    ///
    /// # Errors
    /// If there is no such baseline, with what to do.
    pub(crate) fn kept(&self, name: &str) -> Result<Vec<Placed>, String> {
        let folder = self.baseline(name);
        let library = folder.join(LIBRARY);
        if !library.is_file() {
            return Err(format!(
                "there is no baseline `{name}` of `{}`: `cargo bench -- --save-baseline {name}` keeps one",
                self.program
            ));
        }
        let mut kernels = Vec::new();
        for path in files_below(&folder) {
            let read = || -> Option<Placed> {
                let (op, file) = (path.parent()?.parent()?.file_name()?, path.file_stem()?);
                let text = fs::read_to_string(&path).ok()?;
                // The first line names the library.
                let (_, rest) = text.split_once('\n')?;
                let name = format!("{name}.{}", file.to_string_lossy());
                let op = op.to_string_lossy().into_owned();
                let kernel = Whole { op, name, file: rest.to_owned() };
                Some(Placed { kernel, library: library.clone() })
            };
            kernels.extend(read());
        }
        Ok(kernels)
    }
}

/// A kernel and the library that it is in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Placed {
    pub(crate) kernel: Whole,
    pub(crate) library: PathBuf,
}

/// The text of a kernel's file.
fn text(kernel: &Whole, library: &Path) -> String {
    format!("library = {}\n{}", quoted(&library.to_string_lossy()), kernel.file)
}

fn file(ops: &Path, kernel: &Whole) -> PathBuf {
    ops.join(&kernel.op).join("kernels").join(format!("{}.toml", kernel.name))
}

fn inside(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// The files of ops below a folder.
fn ops_below(ops: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    inside(ops).map(|op| op.join(OP)).filter(|path| path.is_file())
}

/// The files of kernels below a folder, in order.
fn files_below(ops: &Path) -> Vec<PathBuf> {
    let folders = inside(ops).map(|op| op.join("kernels"));
    let mut all: Vec<PathBuf> = folders.flat_map(|folder| inside(&folder)).collect();
    all.retain(|path| path.extension().is_some_and(|it| it == "toml"));
    all.sort_unstable();
    all
}

/// Writes a file whose text has changed, in one step: other processes of a test runner read it.
fn write_if_new(path: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(path).is_ok_and(|known| known == text) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    fs::write(&beside, text)?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str) -> Whole {
        let file = format!("call = [\"{name}(x: *const f32) -> i32\"]\n");
        Whole { op: "scale".to_owned(), name: name.to_owned(), file }
    }

    fn names(place: &Place) -> Vec<String> {
        let name = |path: PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
        files_below(&place.ops()).into_iter().map(name).collect()
    }

    #[test]
    fn files_of_kernels_that_are_gone_are_removed() {
        let target = tempfile::tempdir().unwrap();
        fs::create_dir_all(target.path().join("release/deps")).unwrap();
        fs::write(target.path().join(TAG), "").unwrap();
        let library = target.path().join("release/deps/libkernels-1.so");
        let place = Place::of(&library, "mine-kernels");
        assert_eq!(place.ops(), target.path().join("proofmark/bench/mine-kernels"));
        let placed = |name: &str| Placed { kernel: kernel(name), library: library.clone() };
        place
            .write(&[("scale".to_owned(), "axes = {}".to_owned())], &[placed("a"), placed("b")])
            .unwrap();
        assert_eq!(names(&place), ["a", "b"]);
        assert!(place.ops().join("scale/op.toml").is_file());
        place.write(&[], &[placed("b")]).unwrap();
        assert!(!place.ops().join("scale/op.toml").exists());
        assert_eq!(names(&place), ["b"]);
    }

    #[test]
    fn a_baseline_keeps_the_library_that_was_there() {
        let target = tempfile::tempdir().unwrap();
        let library = target.path().join("libkernels-1.so");
        fs::write(&library, "old").unwrap();
        let place = Place::of(&library, "mine");
        assert!(place.kept("main").unwrap_err().contains("--save-baseline main"));
        place.save("main", &[kernel("a")], &library).unwrap();
        fs::write(&library, "new").unwrap();
        let kept = place.kept("main").unwrap();
        assert_eq!(kept.len(), 1);
        assert_eq!(fs::read_to_string(&kept[0].library).unwrap(), "old");
        assert_eq!(kept[0].kernel, Whole { name: "main.a".to_owned(), ..kernel("a") });
    }
}
