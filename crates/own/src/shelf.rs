//! The own ops that a worker was told of, read when a case asks for them.

use crate::{Interpreter, OwnHome, contender, folder};
use proofmark_contract::Entry;
use proofmark_peers::Peer;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
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
    loaded: Rc<RefCell<BTreeMap<String, Loaded>>>,
}

impl OwnShelf {
    /// These ops, with the interpreter that their kernels in Python run in.
    pub fn new(places: Vec<OwnPlace>, home: Option<OwnHome>) -> OwnShelf {
        let interpreter = Box::leak(Box::new(Interpreter::given(home)));
        OwnShelf { places, interpreter, loaded: Rc::default() }
    }

    /// The op of that name with its kernels; none if the worker was not told of it.
    ///
    /// # Errors
    /// Why its folder cannot be read.
    pub fn find(&self, op: &str) -> Option<Result<Loaded, String>> {
        if let Some(known) = self.loaded.borrow().get(op) {
            return Some(Ok(known.clone()));
        }
        let place = self.places.iter().find(|place| place.op == op)?;
        let read = || -> Result<Loaded, String> {
            let own = folder::load(&place.folder, None).map_err(|error| error.to_string())?;
            let kernels = contender::kernels(own, self.interpreter);
            let kernels = kernels.map_err(|error| error.to_string())?;
            Ok((folder::entry(own), kernels))
        };
        let found = read();
        if let Ok(loaded) = &found {
            self.loaded.borrow_mut().insert(op.to_owned(), loaded.clone());
        }
        Some(found)
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
