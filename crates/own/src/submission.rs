//! A kernel that was submitted: its file lies outside of its op's folder, and a stranger wrote it.

use crate::kernel::{Code, KernelFile};
use crate::{FileError, Interpreter, contender};
use proofmark_contract::Op;
use proofmark_peers::{Peer, Plugin};
use proofmark_schema::{ContenderId, Family, is_name};
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

/// The file of a submitted kernel and the op that it is for: `OP=FILE` as an argument of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmittedFile {
    /// The op.
    pub op: String,
    /// The file: `NAME.toml`, `NAME.py`, or a library with the plug-in interface.
    pub path: PathBuf,
}

impl fmt::Display for SubmittedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.op, self.path.display())
    }
}

impl FromStr for SubmittedFile {
    type Err = String;

    fn from_str(text: &str) -> Result<SubmittedFile, String> {
        let form = "write `OP=FILE`";
        let (op, path) = text.split_once('=').filter(|it| !it.1.is_empty()).ok_or(form)?;
        let path = std::path::absolute(path).map_err(|error| format!("{path}: {error}"))?;
        Ok(SubmittedFile { op: op.to_owned(), path })
    }
}

impl SubmittedFile {
    /// Its id: the name is that of the file.
    pub fn id(&self) -> ContenderId {
        let name = self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        ContenderId { family: Family::Own, name, isa: None }
    }

    /// Whether that contender is this file.
    pub(crate) fn is_for(&self, op: &str, who: &ContenderId) -> bool {
        self.op == op && self.id() == *who
    }

    /// Reads the file. `judged_by` are the files of an op of the user; `builds` allows the command
    /// in the file to be run, with the rights of this process.
    ///
    /// # Errors
    /// If the file cannot be read, or is not of its form; with the line and the nearest key.
    pub fn read(
        &self,
        op: &'static dyn Op,
        judged_by: Vec<PathBuf>,
        interpreter: &'static Interpreter,
        builds: bool,
    ) -> Result<&'static dyn Peer, FileError> {
        let whole = |reason: &str| FileError::whole(&self.path, reason);
        if !self.path.is_file() {
            return Err(whole(match self.path.is_dir() {
                true => "it is a folder: name the file of the kernel in it, a .toml, .py or .so",
                false => "there is no such file: name a .toml, .py or .so file of a kernel",
            }));
        }
        let name = self.id().name;
        if !is_name(&name) {
            return Err(whole(&format!("`{name}` is no name: write letters, digits and `._+-`")));
        }
        match self.path.extension().is_some_and(|extension| extension == "so") {
            true => Ok(Plugin::submitted(&name, op.name(), &self.path, judged_by)),
            false => {
                let file = KernelFile::read(&self.path)?;
                self.check_library(&file)?;
                Ok(contender::outside(op, judged_by, file, interpreter, builds))
            }
        }
    }

    /// Refuses a library outside of the file's folder: it would be another's work, and the sandbox
    /// would let the kernel read what lies beside it.
    fn check_library(&self, file: &KernelFile) -> Result<(), FileError> {
        let Code::Library(code) = &file.code else { return Ok(()) };
        // A library that is not there yet has no links to follow.
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let climbs = code.library.components().any(|part| part == Component::ParentDir);
        let folder = real(self.path.parent().unwrap_or(Path::new("/")));
        if !climbs && real(&code.library).starts_with(folder) {
            return Ok(());
        }
        let library = code.library.display();
        let reason = format!("its library {library} is not below its folder: put it there");
        Err(FileError::whole(&self.path, reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submitted_file_prints_and_parses_back() {
        let file: SubmittedFile = "row_norm=/contest/a=b/fast.toml".parse().unwrap();
        assert_eq!((file.op.as_str(), file.id().to_string().as_str()), ("row_norm", "own/fast"));
        assert_eq!(file.to_string().parse(), Ok(file.clone()));
        assert!(file.is_for("row_norm", &"own/fast".parse().unwrap()));
        assert!(!file.is_for("row_norm", &"own/reference".parse().unwrap()));
        assert!(!file.is_for("softmax", &"own/fast".parse().unwrap()));
        for text in ["", "row_norm", "row_norm="] {
            assert!(text.parse::<SubmittedFile>().is_err(), "{text}");
        }
    }
}
