//! `kernels/NAME.toml`: a function of a shared library, with its signature.

use super::promises::Promises;
use super::signature::{Prototype, Takes};
use crate::Expression;
use crate::page::{FileError, Page};
use proofmark_schema::DType;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The name of the parameter that takes packed weights.
pub(super) const PACKED: &str = "packed";
/// The name of the parameter that takes scratch memory.
pub(super) const WORKSPACE: &str = "workspace";
/// The name of the parameter that takes the number of threads, unless the file names another.
pub(super) const THREADS: &str = "threads";

/// A kernel in a shared library.
#[derive(Clone, Debug, PartialEq)]
pub struct LibraryCode {
    /// The library.
    pub library: PathBuf,
    /// Its functions, one for each choice of element types. The first parameter types that fit a
    /// case choose.
    pub calls: Vec<Function>,
    /// What packs weights before calls.
    pub setup: Option<Setup>,
    /// Bytes of scratch memory.
    pub workspace_bytes: Option<Expression>,
    /// How it receives the number of threads.
    pub threads: Threads,
    /// It writes machine code while it runs.
    pub has_jit: bool,
    /// How the library is built.
    pub build: Option<Build>,
    /// How it is launched, if `library` is a program in OpenCL.
    pub opencl: Option<OpenClCode>,
}

/// How a kernel in OpenCL is launched.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenClCode {
    /// Work-items along each dimension.
    pub global: Vec<Expression>,
    /// Work-items of a work-group along each dimension.
    pub local: Vec<Expression>,
    /// The options of the compiler.
    pub options: String,
}

/// A function of a library.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its symbol.
    pub symbol: String,
    /// Its signature.
    pub prototype: Prototype,
}

/// What packs weights before calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Its functions, as those of calls.
    pub calls: Vec<Function>,
    /// Bytes of the memory that it packs into.
    pub packed_bytes: Expression,
}

/// How a kernel receives the number of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Threads {
    /// It has one.
    One,
    /// The parameter of this name takes the number.
    By(String),
}

/// How a library is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    /// The program and its arguments, run in the folder of the kernel's file.
    pub command: Vec<String>,
    /// What the library is built from.
    pub sources: Vec<PathBuf>,
}

/// What a kernel's file says, whatever its language.
pub(super) struct Described<Code> {
    pub(super) summary: String,
    pub(super) version: Option<String>,
    pub(super) dtypes: Option<Vec<DType>>,
    pub(super) promises: Promises,
    pub(super) code: Code,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    language: Option<Spanned<String>>,
    #[serde(alias = "source")]
    library: Spanned<String>,
    #[serde(default)]
    global: Vec<Spanned<String>>,
    #[serde(default)]
    local: Vec<Spanned<String>>,
    #[serde(default)]
    options: String,
    symbol: Option<Spanned<String>>,
    call: Spanned<OneOrMore>,
    setup: Option<Spanned<String>>,
    setup_call: Option<Spanned<OneOrMore>>,
    packed_bytes: Option<Spanned<String>>,
    workspace_bytes: Option<Spanned<String>>,
    threads: Option<Spanned<WireThreads>>,
    #[serde(default)]
    jit: bool,
    version: Option<String>,
    summary: Option<String>,
    dtypes: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    promises: Promises,
    build: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    sources: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "write a signature, or a list of signatures")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "write 1, or the name of the parameter that takes the number")]
enum WireThreads {
    Count(usize),
    Name(String),
}

/// Reads the text of a file.
pub(super) fn parse(text: &str, path: &Path) -> Result<Described<LibraryCode>, FileError> {
    let page = Page { text, path };
    let wire: Wire = page.read()?;
    let folder = path.parent().unwrap_or(Path::new(""));
    if wire.library.get_ref().is_empty() {
        return Err(page.bad(wire.library.span(), "the name of the library is empty"));
    }
    let calls = functions(&page, &wire.call, wire.symbol.as_ref(), "symbol")?;
    let setup = setup(&page, &wire)?;
    let workspace_bytes =
        wire.workspace_bytes.as_ref().map(|text| formula(&page, text)).transpose()?;
    let takes = |name: &str| calls.iter().all(|call| takes(call, name).is_some());
    for (name, is_made, key) in [
        (PACKED, setup.is_some(), "setup_call"),
        (WORKSPACE, workspace_bytes.is_some(), "workspace_bytes"),
    ] {
        let reason = match (takes(name), is_made) {
            (true, false) => format!("the call takes `{name}`, and there is no `{key}`"),
            (false, true) => format!("there is `{key}`, and not every call takes `{name}`"),
            _ => continue,
        };
        return Err(page.bad(wire.call.span(), reason));
    }
    if calls.iter().any(|call| self::takes(call, PACKED) == Some(true)) {
        let reason = format!("take `{PACKED}` as constant: what was packed serves every call");
        return Err(page.bad(wire.call.span(), reason));
    }
    let threads = threads(&page, wire.threads.as_ref(), &calls)?;
    let opencl = opencl(&page, &wire)?;
    if opencl.is_some() && (setup.is_some() || workspace_bytes.is_some()) {
        let reason = "a kernel in OpenCL has no packed weights and no workspace: use local memory";
        return Err(page.bad(wire.call.span(), reason));
    }
    let summary = wire
        .summary
        .clone()
        .unwrap_or_else(|| format!("`{}` of {}", calls[0].symbol, wire.library.get_ref()));
    Ok(Described {
        summary,
        version: wire.version.clone(),
        dtypes: page.dtypes(wire.dtypes.as_deref())?,
        promises: wire.promises,
        code: LibraryCode {
            library: folder.join(wire.library.get_ref()),
            calls,
            setup,
            workspace_bytes,
            threads,
            has_jit: wire.jit,
            build: build(&page, &wire, folder)?,
            opencl,
        },
    })
}

/// The functions of a key, each with its symbol.
fn functions(
    page: &Page<'_>,
    wire: &Spanned<OneOrMore>,
    symbol: Option<&Spanned<String>>,
    key: &str,
) -> Result<Vec<Function>, FileError> {
    let texts: Vec<&String> = match wire.get_ref() {
        OneOrMore::One(text) => vec![text],
        OneOrMore::More(texts) => texts.iter().collect(),
    };
    if texts.is_empty() {
        return Err(page.bad(wire.span(), "the list of signatures is empty"));
    }
    let function = |text: &String| {
        let prototype =
            Prototype::parse(text).map_err(|error| page.bad(wire.span(), error.to_string()))?;
        let symbol = match (&prototype.name, symbol) {
            (Some(name), None) => name.clone(),
            (None, Some(symbol)) => symbol.get_ref().clone(),
            (Some(name), Some(symbol)) => {
                let reason = format!("the signature names `{name}` already: remove `{key}`");
                return Err(page.bad(symbol.span(), reason));
            }
            (None, None) => {
                let reason = format!("`{key}` is missing, and the signature names no function");
                return Err(page.bad(wire.span(), reason));
            }
        };
        Ok(Function { symbol, prototype })
    };
    texts.into_iter().map(function).collect()
}

/// What packs weights, if the file has it.
fn setup(page: &Page<'_>, wire: &Wire) -> Result<Option<Setup>, FileError> {
    let (call, packed_bytes) = match (&wire.setup_call, &wire.packed_bytes) {
        (Some(call), Some(packed_bytes)) => (call, packed_bytes),
        (Some(call), None) => {
            let reason = "`packed_bytes` is missing: the bytes that it packs into, as a formula";
            return Err(page.bad(call.span(), reason));
        }
        (None, Some(bytes)) => return Err(page.bad(bytes.span(), "`setup_call` is missing")),
        (None, None) => match &wire.setup {
            Some(symbol) => return Err(page.bad(symbol.span(), "`setup_call` is missing")),
            None => return Ok(None),
        },
    };
    let calls = functions(page, call, wire.setup.as_ref(), "setup")?;
    let bytes = formula(page, packed_bytes)?;
    if bytes.uses(THREADS) {
        let reason = "weights are packed once for every number of threads: leave `threads` out";
        return Err(page.bad(packed_bytes.span(), reason));
    }
    if calls.iter().any(|call| takes(call, WORKSPACE).is_some()) {
        let reason = format!("there is no `{WORKSPACE}` outside of calls: allocate it");
        return Err(page.bad(call.span(), reason));
    }
    if !calls.iter().all(|call| takes(call, PACKED) == Some(true)) {
        let reason = format!("not every signature takes `{PACKED}: *mut u8`, where weights go");
        return Err(page.bad(call.span(), reason));
    }
    Ok(Some(Setup { calls, packed_bytes: bytes }))
}

/// How a kernel in OpenCL is launched, if the file has one.
fn opencl(page: &Page<'_>, wire: &Wire) -> Result<Option<OpenClCode>, FileError> {
    let Some(language) = &wire.language else {
        return match wire.global.iter().chain(&wire.local).next() {
            Some(size) => {
                Err(page.bad(size.span(), "only a kernel with `language = \"opencl\"` has sizes"))
            }
            None => Ok(None),
        };
    };
    if language.get_ref() != "opencl" {
        let reason = format!("`{}`: write \"opencl\", or leave it out", language.get_ref());
        return Err(page.bad(language.span(), reason));
    }
    if wire.local.is_empty() || wire.local.len() != wire.global.len() || wire.local.len() > 3 {
        let reason = "write `global` and `local`: as many formulas each, one a dimension, up to 3";
        return Err(page.bad(language.span(), reason));
    }
    let formulas = |texts: &[Spanned<String>]| {
        texts.iter().map(|text| formula(page, text)).collect::<Result<Vec<_>, _>>()
    };
    Ok(Some(OpenClCode {
        global: formulas(&wire.global)?,
        local: formulas(&wire.local)?,
        options: wire.options.clone(),
    }))
}

fn formula(page: &Page<'_>, text: &Spanned<String>) -> Result<Expression, FileError> {
    text.get_ref().parse::<Expression>().map_err(|error| page.bad(text.span(), error.to_string()))
}

/// Whether a function may write to an address of this name; none if it takes none.
fn takes(function: &Function, name: &str) -> Option<bool> {
    function.prototype.parameters.iter().find_map(|it| match it.takes {
        Takes::Pointer { writes, .. } if it.name == name => Some(writes),
        _ => None,
    })
}

fn threads(
    page: &Page<'_>,
    wire: Option<&Spanned<WireThreads>>,
    calls: &[Function],
) -> Result<Threads, FileError> {
    let has = |name: &str| {
        calls.iter().all(|call| call.prototype.parameters.iter().any(|it| it.name == name))
    };
    let Some(wire) = wire else {
        let is_parallel = has(THREADS);
        return Ok(if is_parallel { Threads::By(THREADS.to_owned()) } else { Threads::One });
    };
    match wire.get_ref() {
        WireThreads::Count(1) => Ok(Threads::One),
        WireThreads::Count(count) => {
            let reason = format!(
                "threads = {count}: write 1, or the name of the parameter that takes the number"
            );
            Err(page.bad(wire.span(), reason))
        }
        WireThreads::Name(name) if has(name) => Ok(Threads::By(name.clone())),
        WireThreads::Name(name) => {
            Err(page.bad(wire.span(), format!("not every call has a parameter `{name}`")))
        }
    }
}

fn build(page: &Page<'_>, wire: &Wire, folder: &Path) -> Result<Option<Build>, FileError> {
    let Some(command) = &wire.build else { return Ok(None) };
    if command.get_ref().is_empty() {
        return Err(page.bad(command.span(), "the command is empty: write [\"cc\", …]"));
    }
    if wire.sources.is_empty() {
        let reason = "`sources` is missing: the files whose change builds the library again";
        return Err(page.bad(command.span(), reason));
    }
    let sources = wire.sources.iter().map(|source| folder.join(source)).collect();
    Ok(Some(Build { command: command.get_ref().clone(), sources }))
}
