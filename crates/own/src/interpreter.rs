//! The Python that references run in, and the same one as a library for kernels.

use crate::Python;
use proofmark_peers::{PeerShelf, PythonHome, interpreter};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::OnceLock;

/// An interpreter as a library, in a worker: as JSON it travels to the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnHome {
    /// The interpreter's shared library.
    pub library: PathBuf,
    /// Its modules and packages.
    pub home: PythonHome,
}

impl OwnHome {
    /// Whether it has a package of that name.
    pub(crate) fn has(&self, package: &str) -> bool {
        self.home.packages.iter().any(|folder| folder.join(package).is_dir())
    }
}

impl fmt::Display for OwnHome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for OwnHome {
    type Err = String;

    fn from_str(text: &str) -> Result<OwnHome, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }
}

/// The interpreter of the user's own ops. What takes time is found when it is asked for.
pub struct Interpreter {
    python: Option<Python>,
    home: OnceLock<Result<OwnHome, String>>,
}

impl Interpreter {
    /// The stated program; else that of the peer `pytorch` on a shelf; else `python3`.
    pub fn of(stated: Option<PathBuf>, shelf: &PeerShelf) -> Interpreter {
        let shelved = shelf.read("pytorch").and_then(|it| Some((it.library, it.python?)));
        let (python, home) = match (stated, shelved) {
            (Some(program), _) => (Python { program, packages: Vec::new() }, OnceLock::new()),
            (None, Some((library, home))) => {
                let program = home.prefix.join("bin/python3");
                let packages = home.packages.clone();
                (Python { program, packages }, OnceLock::from(Ok(OwnHome { library, home })))
            }
            (None, None) => {
                let program = PathBuf::from("python3");
                (Python { program, packages: Vec::new() }, OnceLock::new())
            }
        };
        Interpreter { python: Some(python), home }
    }

    /// The library that a worker was given. It starts no program.
    pub fn given(home: Option<OwnHome>) -> Interpreter {
        let none = || "this worker was told of no interpreter".to_owned();
        Interpreter { python: None, home: OnceLock::from(home.ok_or_else(none)) }
    }

    /// The program, where one may be started.
    pub fn python(&self) -> Option<&Python> {
        self.python.as_ref()
    }

    /// The interpreter as a library.
    ///
    /// # Errors
    /// Why there is none, and what to do.
    pub fn home(&self) -> Result<&OwnHome, String> {
        let find = || {
            let python = self.python.as_ref().ok_or("there is no interpreter")?;
            let found = interpreter(&python.program).map_err(|error| error.to_string())?;
            let home = found.python.ok_or("the interpreter does not say where it is")?;
            Ok(OwnHome { library: found.library, home })
        };
        self.home.get_or_init(find).as_ref().map_err(Clone::clone)
    }
}
