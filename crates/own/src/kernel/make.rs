//! Building the library of a kernel when its sources have changed.

use super::manifest::{Build, LibraryCode};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// Why a library is not built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A source is not there.
    #[error("{}: `sources` names {}, which is not read: {error}", file.display(), path.display())]
    NoSource {
        /// The source.
        path: PathBuf,
        /// The kernel's file.
        file: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The program cannot be started.
    #[error("{}: `{program}` of `build` cannot be started: {error}; install it", file.display())]
    NoProgram {
        /// The program.
        program: String,
        /// The kernel's file.
        file: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The program failed.
    #[error("{}: `build` failed: {command}\n{said}", file.display())]
    Failed {
        /// What was run.
        command: String,
        /// The kernel's file.
        file: PathBuf,
        /// What it printed.
        said: String,
    },
    /// The program made no library, or left the old one.
    #[error(
        "{}: `build` did not write {}: let `build` and `library` name the same file ({command})",
        file.display(),
        library.display()
    )]
    NoLibrary {
        /// What was run.
        command: String,
        /// The library.
        library: PathBuf,
        /// The kernel's file.
        file: PathBuf,
    },
}

/// Builds the library of the kernel in `file` if it is older than its sources or than the file.
/// `false` if there was nothing to do.
pub(super) fn make(file: &Path, code: &LibraryCode) -> Result<bool, BuildError> {
    let Some(build) = &code.build else { return Ok(false) };
    let mut newest = written(file, file)?;
    for source in &build.sources {
        newest = newest.max(written(source, file)?);
    }
    let made = |library: &Path| library.metadata().and_then(|about| about.modified());
    let before = made(&code.library).ok();
    // Files of one tick of the clock may have been written in either order.
    if before.is_some_and(|made| made > newest) {
        return Ok(false);
    }
    run(file, build)?;
    if made(&code.library).is_ok_and(|now| before != Some(now)) {
        return Ok(true);
    }
    let (command, library) = (build.command.join(" "), code.library.clone());
    Err(BuildError::NoLibrary { command, library, file: file.to_owned() })
}

fn written(path: &Path, file: &Path) -> Result<SystemTime, BuildError> {
    path.metadata().and_then(|about| about.modified()).map_err(|error| BuildError::NoSource {
        path: path.to_owned(),
        file: file.to_owned(),
        error,
    })
}

#[expect(clippy::disallowed_methods, reason = "this is the place that runs a user's compiler")]
fn run(file: &Path, build: &Build) -> Result<(), BuildError> {
    let (program, arguments) = build.command.split_first().expect("a command is never empty");
    let mut command = Command::new(program);
    command.args(arguments).current_dir(file.parent().unwrap_or(Path::new("/")));
    let output = command.stdin(Stdio::null()).output().map_err(|error| BuildError::NoProgram {
        program: program.clone(),
        file: file.to_owned(),
        error,
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(BuildError::Failed {
        command: build.command.join(" "),
        file: file.to_owned(),
        said: String::from_utf8_lossy(&said).trim_end().to_owned(),
    })
}
