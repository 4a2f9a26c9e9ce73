//! Kernels of the user: a file says which function is called, and with what.
//!
//! `kernels/NAME.toml` names a function of a shared library with its signature; `kernels/NAME.py`
//! has a function in Python. The supervisor reads files ([`KernelFile::read`]), asks whether a case
//! is supported and what the worker must be allowed to do. The worker loads the kernel ([`load`]).

mod arguments;
mod foreign;
mod header;
mod make;
mod manifest;
mod opencl;
mod promises;
mod python;
mod registers;
mod signature;

pub use header::{PythonCode, Tensors};
pub use make::BuildError;
pub use manifest::{Build, Function, LibraryCode, OpenClCode, Setup, Threads};
pub use promises::Promises;
pub use signature::{BadPrototype, Parameter, Pointee, Prototype, Scalar, Takes, Value};

use crate::FileError;
use arguments::{Scene, Source};
use manifest::Described;
use proofmark_contract::{ExplicitCase, Signature, Unsupported};
use proofmark_peers::{Found, Needs, NotLoaded, Peered, Ready};
use proofmark_schema::device::HOST;
use proofmark_schema::{DType, ErrorContract, Receipt, is_name};
use std::fs;
use std::path::{Path, PathBuf};

/// A kernel of the user, as its file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelFile {
    /// Its file.
    pub path: PathBuf,
    /// Its name: that of the file.
    pub name: String,
    /// One line: what it is.
    pub summary: String,
    /// Its version, if the file states one.
    pub version: Option<String>,
    /// Element types that it does; none if all for which its signature fits.
    pub dtypes: Option<Vec<DType>>,
    /// What it promises about its error.
    pub promises: Promises,
    /// What is called.
    pub code: Code,
}

/// What is called.
#[derive(Clone, Debug, PartialEq)]
pub enum Code {
    /// A function of a shared library.
    Library(Box<LibraryCode>),
    /// A function in Python.
    Python(PythonCode),
}

/// What the process of a kernel must be allowed to do in a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelPermit {
    /// Files and folders that it reads.
    pub reads: Vec<PathBuf>,
    /// What it does besides computing.
    pub needs: Needs,
}

/// The most libraries in the folder of a kernel's library that it may read.
const BESIDE: usize = 256;

impl KernelFile {
    /// Reads a file: `NAME.toml` or `NAME.py`.
    ///
    /// # Errors
    /// If it cannot be read, or is not of the form; with the line and the nearest key.
    pub fn read(path: &Path) -> Result<KernelFile, FileError> {
        let whole = |reason: String| FileError::whole(path, reason);
        let absolute = std::path::absolute(path).map_err(|error| whole(error.to_string()))?;
        let text = fs::read_to_string(path).map_err(|error| whole(error.to_string()))?;
        KernelFile::parse(&text, &absolute)
    }

    /// Reads the text of a file; the path gives the name, the language and the folder.
    ///
    /// # Errors
    /// If it is not of the form; with the line and the nearest key.
    pub fn parse(text: &str, path: &Path) -> Result<KernelFile, FileError> {
        let whole = |reason: String| FileError::whole(path, reason);
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !is_name(&name) {
            return Err(whole(format!("`{name}` is no name: write letters, digits and `._+-`")));
        }
        let Described { summary, version, dtypes, promises, code } = match path
            .extension()
            .and_then(|it| it.to_str())
        {
            Some("toml") => manifest::parse(text, path)?.map(|code| Code::Library(Box::new(code))),
            Some("py") => header::parse(text, path)?.map(Code::Python),
            _ => return Err(whole("a kernel is described by a .toml or a .py file".to_owned())),
        };
        Ok(KernelFile { path: path.to_owned(), name, summary, version, dtypes, promises, code })
    }

    /// Whether a file is a kernel beyond doubt: folders called `kernels` are common, so that a file
    /// in Python must have a header of ours.
    pub(crate) fn is_marked(path: &Path) -> bool {
        let has_header = || fs::read_to_string(path).is_ok_and(|text| text.contains(header::MARK));
        KernelFile::is_name(path)
            && (path.extension().is_some_and(|it| it == "toml") || has_header())
    }

    /// Whether a path has the name of a kernel's file.
    fn is_name(path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".toml") || name.ends_with(".py") && !name.starts_with('_')
    }

    /// The kernels of a folder, by name: its `.toml` files, and its `.py` files that do not begin
    /// with `_`. A folder that is not there has none.
    ///
    /// # Errors
    /// The first file that cannot be read, or a name that two files have.
    pub fn all_in(folder: &Path) -> Result<Vec<KernelFile>, FileError> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let paths = entries.map(|it| it.path());
        let mut paths: Vec<PathBuf> = paths.filter(|path| KernelFile::is_name(path)).collect();
        paths.sort_unstable();
        for two in paths.windows(2) {
            if two[0].file_stem() == two[1].file_stem() {
                let reason = format!("{} has the same name: rename one", two[0].display());
                return Err(FileError::whole(&two[1], reason));
            }
        }
        paths.iter().map(|path| KernelFile::read(path)).collect()
    }

    /// What it promises about its error on a case.
    pub fn contract(&self, case: &ExplicitCase, signature: &Signature) -> ErrorContract {
        // Operands that other kernels take with padding between rows.
        let operands = signature.operands().iter().enumerate();
        let mut padded = operands.filter(|(_, it)| it.free_row_stride && it.shape.len() > 1);
        let dense_rows = match &self.code {
            Code::Library(code) => {
                let call = Scene { code, case, signature }.call();
                let arguments = call.map(|call| call.arguments).unwrap_or_default();
                let takes = |source| arguments.iter().any(|it| it.source == source);
                padded.any(|(place, _)| {
                    takes(Source::Operand(place)) && !takes(Source::Stride(place))
                })
            }
            Code::Python(code) => !code.has_strides && padded.next().is_some(),
        };
        let interpreted = matches!(&self.code, Code::Python(code) if code.is_interpreted);
        let promised = self.promises.contract(case.dtype);
        ErrorContract { dense_rows, interpreted, ..promised }
    }

    /// Whether it does a case. The library is not opened, and no Python is run.
    ///
    /// # Errors
    /// The reason why not, as a fragment.
    pub fn supports(&self, case: &ExplicitCase, signature: &Signature) -> Result<(), Unsupported> {
        let dtype = case.dtype;
        if self.dtypes.as_ref().is_some_and(|dtypes| !dtypes.contains(&dtype)) {
            let known: Vec<&str> = self.dtypes.iter().flatten().map(|it| it.name()).collect();
            return Err(Unsupported(format!("its file names {} only", known.join(", "))));
        }
        match &self.code {
            Code::Library(code) => {
                if let Some(opencl) = &code.opencl {
                    return opencl::launch(code, opencl, (case, signature), String::new())
                        .map(drop);
                }
                let scene = Scene { code, case, signature };
                scene.call().and(scene.setup().map(drop)).and(scene.workspace_bytes(1).map(drop))
            }
            Code::Python(code) => python::supports(code, signature),
        }
    }

    /// Whether every call of it depends on an axis or attribute of this name. A function in Python
    /// may if its parameters cannot be read.
    pub fn takes(&self, name: &str) -> bool {
        let is_it = |parameter: &Parameter| match &parameter.value {
            Some(Value::Whole(formula)) => formula.uses(name),
            Some(Value::Real(_)) => false,
            None => parameter.name == name,
        };
        match &self.code {
            Code::Library(code) => {
                code.calls.iter().all(|call| call.prototype.parameters.iter().any(is_it))
            }
            Code::Python(code) => {
                code.parameters.as_ref().is_none_or(|all| all.iter().any(|it| it == name))
            }
        }
    }

    /// Builds its library if `build` says how and it is older than its sources; `false` if there
    /// was nothing to do. It runs a program of the user's choice, in the caller's process.
    ///
    /// # Errors
    /// If the program fails or leaves no library.
    pub fn build(&self) -> Result<bool, BuildError> {
        match &self.code {
            Code::Library(code) => make::make(&self.path, code),
            Code::Python(_) => Ok(false),
        }
    }

    /// What it does besides computing. This reads no folder, so a worker may call it.
    pub fn needs(&self) -> Needs {
        match &self.code {
            Code::Library(code) if code.opencl.is_some() => {
                Needs { jit: true, compiler: true, ..Needs::default() }
            }
            Code::Library(code) => Needs { jit: code.has_jit, ..Needs::default() },
            Code::Python(code) => {
                Needs { jit: code.has_jit, interpreter: true, compiler: code.has_compiler }
            }
        }
    }

    /// The device that it runs on, by the name in patterns.
    pub fn device(&self) -> &'static str {
        match &self.code {
            Code::Library(code) if code.opencl.is_some() => proofmark_opencl::name_of_first(),
            Code::Library(_) => HOST,
            Code::Python(code) => code.device.unwrap_or(HOST),
        }
    }

    /// Whether this machine has what drives its device. Only files are looked at, so that any
    /// process may ask; a worker finds out the rest.
    ///
    /// # Errors
    /// What is missing, and how to get it.
    pub fn has_device(&self) -> Result<(), String> {
        match &self.code {
            Code::Library(code) if code.opencl.is_some() => {
                proofmark_opencl::found().map(drop).map_err(|absent| absent.to_string())
            }
            Code::Python(PythonCode { device: Some(device), .. }) => python::has_device(device),
            _ => Ok(()),
        }
    }

    /// What its process must be allowed to do. `python` is the interpreter, for a kernel in Python.
    pub fn permit(&self, python: Option<&Found>) -> KernelPermit {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let mut reads = vec![self.path.clone()];
        match &self.code {
            Code::Library(code) => {
                reads.push(code.library.clone());
                let beside = code.library.parent().unwrap_or(folder);
                reads.extend(files_in(beside, &|name| name.contains(".so")).take(BESIDE));
            }
            Code::Python(code) => {
                reads.push(folder.to_owned());
                reads.extend(python.map(|found| found.library.clone()));
                reads.extend(code.device.iter().flat_map(|device| python::device_files(device)));
                if let Some(home) = python.and_then(|found| found.python.as_ref()) {
                    // A compiler is given the interpreter's headers, and starts it again.
                    let part = if code.has_compiler { "" } else { "lib" };
                    reads.push(home.prefix.join(part));
                    reads.extend(home.packages.iter().cloned());
                }
            }
        }
        reads.sort_unstable();
        reads.dedup();
        KernelPermit { reads, needs: self.needs() }
    }

    /// The files that make this kernel what it is, in order. For a kernel in Python these are all
    /// files of its folder that it could import, the interpreter, and the lists in which the
    /// installer wrote down the hashes of packages.
    pub fn files(&self, python: Option<&Found>) -> Vec<PathBuf> {
        let mut files = vec![self.path.clone()];
        match &self.code {
            Code::Library(code) => {
                files.push(code.library.clone());
                if code.opencl.is_some() {
                    // The loader and the files that name the drivers.
                    files.extend(proofmark_opencl::found().iter().flat_map(Found::own_files));
                }
            }
            Code::Python(_) => {
                let folder = self.path.parent().unwrap_or(Path::new("/"));
                let is_imported = |name: &str| name.ends_with(".py") || name.contains(".so");
                files.extend(files_in(folder, &is_imported));
                files.extend(python.into_iter().flat_map(Found::own_files));
            }
        }
        files.sort_unstable();
        files.dedup();
        files
    }
}

impl<Code> Described<Code> {
    fn map<Other>(self, into: impl FnOnce(Code) -> Other) -> Described<Other> {
        let Described { summary, version, dtypes, promises, code } = self;
        Described { summary, version, dtypes, promises, code: into(code) }
    }
}

/// Files of a folder whose names are wanted.
fn files_in(folder: &Path, is_wanted: &dyn Fn(&str) -> bool) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(move |it| it.file_name().to_str().is_some_and(is_wanted))
        .map(|it| it.path())
        .filter(|path| path.is_file())
}

/// Loads a kernel for a case with these operands, in the worker. `python` is the interpreter, for
/// a kernel in Python.
///
/// # Errors
/// Why it does not do the case, or cannot be loaded.
pub fn load(
    kernel: &KernelFile,
    python: Option<&Found>,
    (case, signature): (&ExplicitCase, &Signature),
    threads: usize,
) -> Result<Peered, NotLoaded> {
    let ready = ready(kernel, python, (case, signature), threads)?;
    let leak = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
    let named = (leak(&kernel.name), leak(&kernel.summary));
    Ok(Peered::new(named, kernel.contract(case, signature), ready))
}

/// The same before it is a kernel.
///
/// # Errors
/// As for [`load`].
pub(crate) fn ready(
    kernel: &KernelFile,
    python: Option<&Found>,
    (case, signature): (&ExplicitCase, &Signature),
    threads: usize,
) -> Result<Ready, NotLoaded> {
    let unsupported = |reason: Unsupported| NotLoaded::Unsupported(reason.to_string());
    kernel.supports(case, signature).map_err(unsupported)?;
    match &kernel.code {
        Code::Library(code) if let Some(opencl) = &code.opencl => {
            let source = fs::read_to_string(&code.library).map_err(|error| {
                NotLoaded::Broken(format!("{}: {error}", code.library.display()))
            })?;
            let launch = opencl::launch(code, opencl, (case, signature), source);
            proofmark_opencl::set_environment();
            let version = kernel.version.clone().unwrap_or("unknown".to_owned());
            proofmark_opencl::ready(launch.map_err(unsupported)?, threads, version)
                .map_err(NotLoaded::Broken)
        }
        Code::Library(code) => {
            let command = code.build.as_ref().map(|build| build.command.join(" "));
            let receipt = Receipt {
                version: kernel.version.clone().unwrap_or("unknown".to_owned()),
                build: command.unwrap_or("unknown".to_owned()),
                isa: "not reported".to_owned(),
                device: "cpu".to_owned(),
                ..Receipt::default()
            };
            foreign::load(code, (case, signature), threads, receipt)
        }
        Code::Python(code) => {
            let version = kernel.version.as_deref();
            python::load(code, python, (case, signature), threads, version)
        }
    }
}
