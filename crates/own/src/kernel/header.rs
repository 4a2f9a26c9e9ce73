//! `kernels/NAME.py`: a function in Python, with what its header says of it.
//!
//! The header is the block of metadata that Python scripts may begin with (PEP 723):
//!
//! ```python
//! # /// script
//! # [tool.proofmark]
//! # takes = "numpy"
//! # ///
//! ```

use super::manifest::Described;
use super::promises::Promises;
use crate::page::{FileError, Page};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// A kernel in Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonCode {
    /// The file.
    pub file: PathBuf,
    /// The name of the function.
    pub function: String,
    /// What its operands are.
    pub takes: Tensors,
    /// Its operands may have padding between rows.
    pub has_strides: bool,
    /// It writes machine code while it runs.
    pub has_jit: bool,
    /// It starts a compiler.
    pub has_compiler: bool,
    /// The device of PyTorch that its operands lie on, if that is not the host.
    pub device: Option<&'static str>,
    /// It is written for another device, and interpreted here.
    pub is_interpreted: bool,
    /// The names of its parameters; none if the file does not show them, or it takes any.
    pub parameters: Option<Vec<String>>,
}

/// What the operands of a function in Python are. All lie on the memory of the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tensors {
    /// A `memoryview`. Elements of 16 bits without a type in Python are their bits.
    Buffer,
    /// A `numpy.ndarray`.
    Numpy,
    /// A `torch.Tensor`.
    Torch,
    /// A `jax.Array`. It cannot be written: results are returned.
    Jax,
}

impl Tensors {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Tensors::Buffer => "buffer",
            Tensors::Numpy => "numpy",
            Tensors::Torch => "torch",
            Tensors::Jax => "jax",
        }
    }
}

/// Packages, and the operands that files take which import them.
const FRAMEWORKS: &[(&str, Tensors)] = &[
    ("torch", Tensors::Torch),
    ("jax", Tensors::Jax),
    ("numpy", Tensors::Numpy),
    ("scipy", Tensors::Numpy),
    ("numba", Tensors::Numpy),
    (TRITON, Tensors::Torch),
];

/// What a header of ours has.
pub(super) const MARK: &str = "[tool.proofmark]";

/// The package whose kernels its interpreter runs.
const TRITON: &str = "triton";

/// Packages that write machine code while they run.
const COMPILERS_IN_MEMORY: &[&str] = &["torch", "jax", "numba"];

#[derive(Default, Deserialize)]
struct Wire {
    #[serde(default)]
    tool: WireTool,
}

#[derive(Default, Deserialize)]
struct WireTool {
    #[serde(default)]
    proofmark: WireKernel,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WireKernel {
    function: Option<String>,
    takes: Option<Tensors>,
    rows: WireRows,
    jit: Option<bool>,
    compiler: bool,
    device: Option<Spanned<String>>,
    version: Option<String>,
    summary: Option<String>,
    dtypes: Option<Vec<Spanned<String>>>,
    promises: Promises,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WireRows {
    #[default]
    Dense,
    Strided,
}

/// Reads the text of a file. The function itself is looked for when it is loaded.
pub(super) fn parse(text: &str, path: &Path) -> Result<Described<PythonCode>, FileError> {
    let header = header(text, path)?;
    let page = Page { text: &header, path };
    let wire: Wire = page.read()?;
    let wire = wire.tool.proofmark;
    let imported: Vec<&str> = text.lines().filter_map(imported).collect();
    let is_imported = |package: &&str| imported.contains(package);
    let first = imported.iter().find_map(|name| FRAMEWORKS.iter().find(|it| it.0 == *name));
    let function = wire.function.unwrap_or_else(|| "run".to_owned());
    let parameters = parameters(text, &function);
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let takes = wire.takes.unwrap_or_else(|| first.map_or(Tensors::Buffer, |it| it.1));
    let device = device(wire.device, takes, &page)?;
    Ok(Described {
        summary: wire.summary.unwrap_or_else(|| format!("`{function}` of {file}")),
        version: wire.version,
        dtypes: page.dtypes(wire.dtypes.as_deref())?,
        promises: wire.promises,
        code: PythonCode {
            file: path.to_owned(),
            function,
            takes,
            has_strides: matches!(wire.rows, WireRows::Strided),
            has_jit: wire.jit.unwrap_or_else(|| COMPILERS_IN_MEMORY.iter().any(is_imported)),
            has_compiler: wire.compiler,
            is_interpreted: imported.contains(&TRITON) && device.is_none(),
            device,
            parameters,
        },
    })
}

/// The device that a header names. It stays as long as the program, as kernels do.
fn device(
    named: Option<Spanned<String>>,
    takes: Tensors,
    page: &Page<'_>,
) -> Result<Option<&'static str>, FileError> {
    let Some(named) = named else { return Ok(None) };
    let (kind, number) = named.get_ref().split_once(':').unwrap_or((named.get_ref(), "0"));
    let is_word = !kind.is_empty() && kind.bytes().all(|letter| letter.is_ascii_lowercase());
    let is_name = is_word && kind != "cpu" && number.parse::<u16>().is_ok();
    let reason = match (is_name, takes) {
        (true, Tensors::Torch) => return Ok(Some(format!("{kind}:{number}").leak())),
        (true, _) => "only a kernel that takes tensors of PyTorch has a device",
        (false, _) => "write a device of PyTorch beside the host, as `cuda`, `cuda:1` or `xpu`",
    };
    Err(page.bad(named.span(), reason))
}

/// The text of the header, with an empty line for every line of the file that is not in it, so
/// that errors name the lines of the file.
fn header(text: &str, path: &Path) -> Result<String, FileError> {
    const END: &str = "# ///";
    let (mut kept, mut is_inside, mut blocks) = (String::new(), false, 0);
    for line in text.lines() {
        let line = line.trim_end();
        match (is_inside, line) {
            (false, "# /// script") => {
                (is_inside, blocks) = (true, blocks + 1);
            }
            (true, END) => is_inside = false,
            (true, line) => kept.push_str(line.strip_prefix('#').unwrap_or_default().trim_start()),
            (false, _) => {}
        }
        kept.push('\n');
    }
    match (is_inside, blocks) {
        (false, 0 | 1) => Ok(kept),
        (true, _) => Err(FileError::whole(path, format!("its header has no end `{END}`"))),
        (false, _) => Err(FileError::whole(path, "it has more than one header")),
    }
}

/// The names of a function's parameters, as the first `def` of that name has them. None if there is
/// no such line, as for a function that a decorator of another makes, or if it takes any name.
fn parameters(text: &str, function: &str) -> Option<Vec<String>> {
    let definition = format!("def {function}(");
    let place = text.lines().find_map(|line| {
        line.starts_with(&definition).then(|| line.as_ptr().addr() - text.as_ptr().addr())
    })?;
    let (mut depth, mut names, mut name) = (0_u32, Vec::new(), String::new());
    for letter in text[place + definition.len()..].chars() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => return named(names, name),
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => names.push(std::mem::take(&mut name)),
            _ if depth == 0 => name.push(letter),
            _ => {}
        }
    }
    None
}

/// The names of parameters, without types and default values; none if they take any name.
fn named(mut texts: Vec<String>, last: String) -> Option<Vec<String>> {
    texts.push(last);
    let name = |text: &String| {
        let end = text.find([':', '=']).unwrap_or(text.len());
        text[..end].trim().to_owned()
    };
    let names: Vec<String> = texts.iter().map(name).collect();
    (!names.iter().any(|name| name.starts_with("**"))).then_some(names)
}

/// The package that a line of Python imports.
fn imported(line: &str) -> Option<&str> {
    let rest = ["import ", "from "].iter().find_map(|word| line.trim_start().strip_prefix(word))?;
    rest.trim_start().split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(header: &str, body: &str) -> Result<PythonCode, String> {
        let text = format!("# /// script\n# [tool.proofmark]\n{header}\n# ///\n{body}\n");
        let read = parse(&text, Path::new("kernel.py"));
        read.map(|read| read.code).map_err(|error| error.to_string())
    }

    #[test]
    fn a_device_is_one_of_pytorch_and_ends_interpretation() {
        let triton = "import triton\ndef run(x, y): ...";
        assert!(read("", triton).unwrap().is_interpreted);
        let there = read("# device = \"cuda\"", triton).unwrap();
        assert_eq!((there.device, there.is_interpreted), (Some("cuda:0"), false));
        let second = read("# device = \"xpu:1\"", "import torch").unwrap();
        assert_eq!(second.device, Some("xpu:1"));
        for (device, body) in [
            ("cpu", "import torch"),
            ("", "import torch"),
            ("Cuda", "import torch"),
            ("cuda:x", "import torch"),
            ("cuda", "import numpy"),
        ] {
            let slip = read(&format!("# device = \"{device}\""), body);
            assert!(slip.unwrap_err().contains("device"), "{device} {body}");
        }
    }
}
