//! An empty environment: a folder that is removed afterwards, and no variable of the caller.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::at;
use crate::Failure;

/// What every system has on its path.
const PATH: &str = "/usr/bin:/bin:/usr/sbin:/sbin";

/// A home folder that holds nothing at first.
pub(super) struct Empty {
    home: PathBuf,
}

impl Empty {
    pub(super) fn new(name: &str) -> Result<Empty, Failure> {
        let id = std::process::id();
        let home = std::env::temp_dir().join(format!("proofmark-release-{name}-{id}"));
        fs::create_dir(&home).map_err(at(&home))?;
        Ok(Empty { home })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// A program that is started in the folder and inherits no variable.
    pub(super) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.env_clear().current_dir(&self.home);
        command.env("HOME", &self.home).env("PATH", PATH).env("LC_ALL", "C.UTF-8");
        command
    }

    /// What lies in the folder, by name.
    pub(super) fn names(&self) -> Result<Vec<String>, Failure> {
        let entries = fs::read_dir(&self.home).map_err(at(&self.home))?;
        let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        Ok(names.collect())
    }
}

impl Drop for Empty {
    fn drop(&mut self) {
        // What is left there costs disk and nothing else.
        let _ = fs::remove_dir_all(&self.home);
    }
}
