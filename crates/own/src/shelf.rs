//! The own ops that a worker was given, read when a case asks for them.

use crate::{FileError, Interpreter, MANIFEST, OwnHome, SubmittedFile, contender, folder};
use proofmark_contract::Entry;
use proofmark_peers::Peer;
use proofmark_schema::ContenderId;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::str::FromStr;

/// An own op by its name, and its folder: `NAME=FOLDER` as an argument of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnPlace {
    /// The op.
    pub op: String,
    /// Its folder.
    pub folder: PathBuf,
}

impl fmt::Display for OwnPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.op, self.folder.display())
    }
}

impl FromStr for OwnPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<OwnPlace, String> {
        let (op, folder) = text.split_once('=').ok_or("write `op=folder`")?;
        Ok(OwnPlace { op: op.to_owned(), folder: PathBuf::from(folder) })
    }
}

/// An op with its kernels.
type Loaded = (&'static Entry, Vec<&'static dyn Peer>);

/// The own ops that a worker can load. A folder is read only for a case of its op: in a sandbox the
/// folders of other ops cannot be read.
#[derive(Clone)]
pub struct OwnShelf {
    places: Vec<OwnPlace>,
    interpreter: &'static Interpreter,
    /// By the op and the kernel that was asked for.
    loaded: Rc<RefCell<BTreeMap<(String, String), Loaded>>>,
    submitted: Option<SubmittedFile>,
}

impl OwnShelf {
    /// These ops, with the interpreter that their kernels in Python run in.
    pub fn new(places: Vec<OwnPlace>, home: Option<OwnHome>) -> OwnShelf {
        let interpreter = Box::leak(Box::new(Interpreter::given(home)));
        OwnShelf { places, interpreter, loaded: Rc::default(), submitted: None }
    }

    /// These ops with a kernel that was submitted for one of them, or for an op of this build.
    #[must_use]
    pub fn with_submission(self, submitted: Option<SubmittedFile>) -> OwnShelf {
        OwnShelf { submitted, ..self }
    }

    /// The op of that name, with the kernels of the folder that has the wanted one; none if the
    /// worker was not given it. `built_in` is the op if this program defines it. For a submitted
    /// kernel nothing else in the op's folder is read, because its sandbox does not allow that.
    ///
    /// # Errors
    /// Why its folder cannot be read.
    pub fn find(
        &self,
        op: &str,
        built_in: Option<&'static Entry>,
        who: &ContenderId,
    ) -> Option<Result<Loaded, String>> {
        let key = (op.to_owned(), who.to_string());
        if let Some(known) = self.loaded.borrow().get(&key) {
            return Some(Ok(known.clone()));
        }
        let of_op = || self.places.iter().filter(|it| it.op == op).map(|it| it.folder.as_path());
        let defining = of_op().find(|folder| folder.join(MANIFEST).is_file());
        let adding = of_op()
            .find(|folder| Some(*folder) != defining && contender::has_kernel(folder, &who.name));
        let submitted = self.submitted.as_ref().filter(|it| it.is_for(op, who));
        let found = match (built_in, defining, submitted) {
            (Some(entry), _, Some(file)) => self.submitted(entry, Vec::new(), file),
            (None, Some(folder), Some(file)) => folder::load(folder, None)
                .and_then(|own| self.submitted(folder::entry(own), own.files(), file)),
            (Some(entry), _, None) => self.added(entry, &[], adding),
            (None, Some(folder), None) => self.defined(folder, adding),
            (None, None, _) => return None,
        };
        if let Ok(loaded) = &found {
            self.loaded.borrow_mut().insert(key, loaded.clone());
        }
        Some(found.map_err(|error| error.to_string()))
    }

    /// An op of the user, with its own kernels or those of the folder that adds the wanted one. In
    /// a sandbox no other folder can be read.
    fn defined(&self, folder: &Path, adding: Option<&Path>) -> Result<Loaded, FileError> {
        let own = folder::load(folder, None)?;
        match adding {
            Some(_) => self.added(folder::entry(own), &own.files(), adding),
            None => Ok((folder::entry(own), contender::kernels(own, self.interpreter)?)),
        }
    }

    /// An op with the kernels of a folder.
    fn added(
        &self,
        entry: &'static Entry,
        files: &[PathBuf],
        folder: Option<&Path>,
    ) -> Result<Loaded, FileError> {
        let Some(folder) = folder else { return Ok((entry, Vec::new())) };
        let kernels = contender::added_kernels(entry.op, folder, files, self.interpreter)?;
        Ok((entry, kernels))
    }

    /// An op with the submitted kernel alone.
    fn submitted(
        &self,
        entry: &'static Entry,
        judged_by: Vec<PathBuf>,
        file: &SubmittedFile,
    ) -> Result<Loaded, FileError> {
        let kernel = file.read(entry.op, judged_by, self.interpreter, false)?;
        Ok((entry, vec![kernel]))
    }

    /// Starts the interpreter that all references and wrong kernels share.
    ///
    /// # Errors
    /// Why it does not start.
    pub fn warm(&self) -> Result<bool, String> {
        match self.places.is_empty() {
            true => Ok(false),
            false => contender::warm(self.interpreter),
        }
    }
}
