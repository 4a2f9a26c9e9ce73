//! The kernels of an own op, as contenders.

use crate::kernel::{self, Code, KernelFile};
use crate::reference::{INSTALL, MODULES};
use crate::{FileError, Interpreter, OwnOp};
use proofmark_contract::{Definition, ExplicitCase, Op, Signature, Unsupported};
use proofmark_peers::{Found, Needs, NotLoaded, Peer, Ready, Script, Source};
use proofmark_schema::{ContenderId, ErrorContract, Family, Underflow};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The kernels of an op: its reference run eagerly, and one for each file in its folder `kernels`.
///
/// # Errors
/// What in a file is not of the form.
pub fn kernels(
    op: &'static OwnOp,
    interpreter: &'static Interpreter,
) -> Result<Vec<&'static dyn Peer>, FileError> {
    let ops = one(op.name());
    let reference = Eager { op, ops, interpreter, mutant: None };
    let mut all: Vec<&'static dyn Peer> = Vec::new();
    if op.reference().is_python() {
        all.push(Box::leak(Box::new(reference)));
    }
    all.extend(added_kernels(op, op.folder(), &op.files(), interpreter)?);
    Ok(all)
}

/// Whether a folder has a kernel of this name.
pub(crate) fn has_kernel(folder: &Path, name: &str) -> bool {
    let file = |ending: &str| folder.join(KERNELS).join(format!("{name}.{ending}"));
    file("toml").is_file() || file("py").is_file()
}

/// The kernels of an op, one for each file in the folder `kernels` of a folder. `op_files` decide
/// what the op is; an op of this program has none.
///
/// # Errors
/// What in a file is not of the form.
pub fn added_kernels(
    op: &'static dyn Op,
    folder: &Path,
    op_files: &[PathBuf],
    interpreter: &'static Interpreter,
) -> Result<Vec<&'static dyn Peer>, FileError> {
    let mut all: Vec<&'static dyn Peer> = Vec::new();
    for file in KernelFile::all_in(&folder.join(KERNELS))? {
        if file.name == REFERENCE {
            let reason = "`reference` is the op's own reference: give the kernel another name";
            return Err(FileError::whole(&file.path, reason));
        }
        let (place, judged_by) = (folder.to_owned(), op_files.to_vec());
        let kernel = OwnKernel { place, judged_by, builds: true, ..read(op, file, interpreter) };
        all.push(kernel.kept());
    }
    Ok(all)
}

/// The kernel of a file that lies anywhere, for an op of the user or of this build.
///
/// It may read less than a kernel in the op's folder: its own file (of a kernel in Python, the
/// folder of the file), the library with those beside it, and the files that it is judged by.
pub(crate) fn outside(
    op: &'static dyn Op,
    judged_by: Vec<PathBuf>,
    file: KernelFile,
    interpreter: &'static Interpreter,
    builds: bool,
) -> &'static dyn Peer {
    let place = match file.code {
        Code::Library(_) => file.path.clone(),
        Code::Python(_) => file.path.parent().unwrap_or(Path::new("/")).to_owned(),
    };
    OwnKernel { place, judged_by, builds, ..read(op, file, interpreter) }.kept()
}

/// A kernel as its file describes it.
fn read(op: &'static dyn Op, file: KernelFile, interpreter: &'static Interpreter) -> OwnKernel {
    let kept = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
    let (name, summary) = (kept(&file.name), kept(&file.summary));
    let (ops, built) = (one(op.name()), OnceLock::new());
    let (place, judged_by, builds) = (PathBuf::new(), Vec::new(), false);
    OwnKernel { op, ops, name, summary, file, interpreter, built, place, judged_by, builds }
}

/// Starts the interpreter in which references and wrong kernels run.
///
/// # Errors
/// Why it does not start.
pub fn warm(interpreter: &Interpreter) -> Result<bool, String> {
    script(serde_json::Value::Null).start(&found(interpreter)?).map(|()| true)
}

/// The folder of an op in which the files of its kernels are.
pub(crate) const KERNELS: &str = "kernels";

/// An interpreter as what a peer opens.
fn found(interpreter: &Interpreter) -> Result<Found, String> {
    interpreter.home().map(|home| Found {
        version: None,
        place: None,
        library: home.library.clone(),
        lock: None,
        python: Some(home.home.clone()),
        has_jit: true,
        files: Vec::new(),
    })
}

/// The script that runs references, with the facts about one of them.
fn script(told: serde_json::Value) -> Script {
    let modules: serde_json::Value =
        MODULES.iter().map(|(name, text)| ((*name).to_owned(), json!(text))).collect();
    Script {
        name: "eager.py".to_owned(),
        text: concat!(include_str!("reference/finder.py"), include_str!("reference/eager.py")),
        given: json!({ "modules": modules }),
        told,
    }
}

/// The id of a reference that is run eagerly.
pub fn reference_id() -> ContenderId {
    ContenderId { family: Family::Own, name: REFERENCE.to_owned(), isa: None }
}

const REFERENCE: &str = "reference";

/// A list of one op.
fn one(op: &'static str) -> &'static [&'static str] {
    Box::leak(Box::new([op]))
}

/// The reference run in the element type of its operands, as a user runs it; or a wrong kernel that
/// is made of it.
struct Eager {
    op: &'static OwnOp,
    ops: &'static [&'static str],
    interpreter: &'static Interpreter,
    mutant: Option<&'static str>,
}

impl Eager {
    fn script(&self) -> Script {
        script(json!({
            "file": self.op.reference().file(),
            "function": self.op.reference().function(),
            "mutant": self.mutant,
        }))
    }
}

impl Peer for Eager {
    fn name(&self) -> &'static str {
        self.mutant.unwrap_or(REFERENCE)
    }

    fn family(&self) -> Family {
        if self.mutant.is_some() { Family::Mutant } else { Family::Own }
    }

    fn summary(&self) -> &'static str {
        "the reference in the element type of its operands, eagerly"
    }

    fn ops(&self) -> &'static [&'static str] {
        self.ops
    }

    fn source(&self) -> Source {
        Source::Registered
    }

    fn elsewhere(&self) -> Option<Result<Found, String>> {
        let find = || {
            if !self.interpreter.home()?.has("torch") {
                return Err(INSTALL.to_owned());
            }
            let (place, files) = (Some(self.op.folder().to_owned()), self.op.files());
            Ok(Found { place, files, ..found(self.interpreter)? })
        };
        Some(find())
    }

    fn needs(&self) -> Needs {
        Needs { interpreter: true, jit: true, compiler: false }
    }

    fn opens_ms(&self) -> u32 {
        1500
    }

    fn supports(&self, _: &ExplicitCase) -> Result<(), Unsupported> {
        Ok(())
    }

    /// Library functions may lose subnormals, and a reference composed of several rounds between
    /// them.
    fn contract(&self, _: &ExplicitCase) -> ErrorContract {
        ErrorContract { underflow: Underflow::Flushed, ..ErrorContract::default() }
    }

    fn warm(&self, found: &Found) -> Result<bool, String> {
        self.script().start(found).map(|()| true)
    }

    fn open(&self, found: &Found) -> Result<(), String> {
        self.script().start(found)
    }

    fn load(
        &self,
        found: &Found,
        case: &ExplicitCase,
        signature: &Signature,
        threads: usize,
    ) -> Result<Ready, String> {
        self.script().load(found, case, signature, threads)
    }

    fn mutant(&self, name: &str) -> Option<&'static dyn Peer> {
        let Eager { op, ops, interpreter, .. } = *self;
        let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
        Some(Box::leak(Box::new(Eager { op, ops, interpreter, mutant: Some(name) })))
    }
}

/// Why a kernel is not loaded, in words; the loader finds out whether its library opens.
fn why(error: NotLoaded) -> String {
    match error {
        NotLoaded::Unsupported(reason) | NotLoaded::Broken(reason) => reason,
    }
}

/// A kernel that a file describes.
struct OwnKernel {
    op: &'static dyn Op,
    ops: &'static [&'static str],
    name: &'static str,
    summary: &'static str,
    file: KernelFile,
    interpreter: &'static Interpreter,
    built: OnceLock<Result<(), String>>,
    /// What it may read besides its library: a folder or a file.
    place: PathBuf,
    /// The files of its op; an op of this program has none.
    judged_by: Vec<PathBuf>,
    /// Whether the command in its file may be run.
    builds: bool,
}

impl OwnKernel {
    fn kept(self) -> &'static dyn Peer {
        Box::leak(Box::new(self))
    }

    /// Builds the library once in a process that may start programs, which a worker may not.
    fn build(&self) -> Result<(), String> {
        if !self.builds || self.interpreter.python().is_none() {
            return Ok(());
        }
        let build = || self.file.build().map(drop).map_err(|error| error.to_string());
        self.built.get_or_init(build).clone()
    }

    /// Built-in ops have attributes that a kernel need not know: what its call does not take has
    /// the default value.
    fn supports_attributes(&self, case: &ExplicitCase) -> Result<(), Unsupported> {
        for attribute in self.op.attributes() {
            let name = attribute.name;
            let value = case.get(name).filter(|value| **value != attribute.default());
            if let (Some(value), false) = (value, self.file.takes(name)) {
                return Err(Unsupported(format!(
                    "its call does not take `{name}`, which is {value}"
                )));
            }
        }
        Ok(())
    }

    /// The interpreter, for a kernel in Python.
    fn python(&self) -> Result<Option<Found>, String> {
        match self.file.code {
            Code::Python(_) => found(self.interpreter).map(Some),
            Code::Library(_) => Ok(None),
        }
    }
}

impl Peer for OwnKernel {
    fn name(&self) -> &'static str {
        self.name
    }

    fn family(&self) -> Family {
        Family::Own
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn ops(&self) -> &'static [&'static str] {
        self.ops
    }

    fn source(&self) -> Source {
        Source::Registered
    }

    fn elsewhere(&self) -> Option<Result<Found, String>> {
        let find = || {
            self.build()?;
            let python = self.python()?;
            self.file.has_device()?;
            let library = match (&self.file.code, &python) {
                (Code::Library(code), _) if !code.library.is_file() => {
                    let (library, file) = (code.library.display(), self.file.path.display());
                    return Err(match (self.builds, &code.build) {
                        (false, Some(_)) => format!(
                            "there is no {library}: build it first, or allow the command in \
                             {file} with `--build`"
                        ),
                        (false, None) => format!("there is no {library}: build it first"),
                        (true, _) => {
                            format!("there is no {library}: build it, or let {file} say how")
                        }
                    });
                }
                (Code::Library(code), _) => code.library.clone(),
                (Code::Python(_), Some(found)) => found.library.clone(),
                (Code::Python(_), None) => return Err("there is no interpreter".to_owned()),
            };
            let mut files = self.file.files(python.as_ref());
            files.extend(self.judged_by.iter().cloned());
            Ok(Found {
                version: self.file.version.clone(),
                place: Some(self.place.clone()),
                library,
                lock: None,
                python: python.and_then(|found| found.python),
                has_jit: self.needs().jit,
                files,
            })
        };
        Some(find())
    }

    fn device(&self) -> &'static str {
        self.file.device()
    }

    fn needs(&self) -> Needs {
        self.file.needs()
    }

    fn opens_ms(&self) -> u32 {
        if matches!(self.file.code, Code::Python(_)) { 1500 } else { 0 }
    }

    fn supports(&self, case: &ExplicitCase) -> Result<(), Unsupported> {
        let signature = self.op.signature(case);
        let signature = signature.map_err(|error| Unsupported(error.to_string()))?;
        self.file.supports(case, &signature)?;
        if self.judged_by.is_empty() { self.supports_attributes(case) } else { Ok(()) }
    }

    fn contract(&self, case: &ExplicitCase) -> ErrorContract {
        // A case without operands is refused before anything asks for its contract.
        let signature = self.op.signature(case).unwrap_or_else(|_| Signature::new(Vec::new()));
        self.file.contract(case, &signature)
    }

    fn load(
        &self,
        _: &Found,
        case: &ExplicitCase,
        signature: &Signature,
        threads: usize,
    ) -> Result<Ready, String> {
        kernel::ready(&self.file, self.python()?.as_ref(), (case, signature), threads).map_err(why)
    }
}
