//! The kernels and ops of a bench program, as its attributes describe them.

use std::path::Path;

/// A function with `#[proofmark::kernel]`.
#[derive(Debug)]
pub struct Kernel {
    /// The op that it does.
    pub op: &'static str,
    /// Its name. Functions of the same name are one kernel for several element types.
    pub name: &'static str,
    /// The signatures of what is called.
    pub calls: &'static [&'static str],
    /// Lines of the kernel's file.
    pub keys: &'static str,
    /// Lines of its table `promises`.
    pub promises: &'static str,
}

inventory::collect!(Kernel);

/// A function with `#[proofmark::setup]`.
#[derive(Debug)]
pub struct Setup {
    /// The op.
    pub op: &'static str,
    /// The kernel that it packs for.
    pub kernel: &'static str,
    /// The signatures of what is called.
    pub calls: &'static [&'static str],
    /// Bytes that it packs into, as a formula.
    pub packed_bytes: &'static str,
}

inventory::collect!(Setup);

/// A function with `#[proofmark::op]`.
#[derive(Debug)]
pub struct Op {
    /// Its name.
    pub name: &'static str,
    /// Its `op.toml`, without the reference.
    pub toml: &'static str,
    /// The symbol of its reference.
    pub symbol: &'static str,
    /// What the reference takes, by name.
    pub parameters: &'static [&'static str],
}

inventory::collect!(Op);

/// The ops of this program, by name.
pub(crate) fn ops() -> Vec<&'static Op> {
    let mut ops = all::<Op>();
    ops.sort_unstable_by_key(|op| op.name);
    ops
}

impl Op {
    /// The text of its `op.toml`.
    pub(crate) fn file(&self, library: &Path) -> String {
        let parameters: Vec<String> = self.parameters.iter().map(|name| quoted(name)).collect();
        format!(
            "{}\n[reference]\nlibrary = {}\nsymbol = {}\nparameters = [{}]\n",
            self.toml,
            quoted(&library.to_string_lossy()),
            quoted(self.symbol),
            parameters.join(", ")
        )
    }
}

/// A kernel with all functions that belong to it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Whole {
    pub(crate) op: String,
    pub(crate) name: String,
    /// The text of its file, without the library.
    pub(crate) file: String,
}

/// The name under which the macro `op` makes its reference a kernel.
const REFERENCE: &str = "reference_f32";

impl Whole {
    /// Whether it is the reference of an op, which is measured beside its kernels.
    pub(crate) fn is_reference(&self) -> bool {
        self.name == REFERENCE
    }

    /// Its name among the benchmarks of the program.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.op, self.name)
    }
}

/// The kernels of this program, by op and name.
///
/// # Errors
/// If a setup belongs to no kernel.
pub(crate) fn kernels() -> Result<Vec<Whole>, String> {
    joined(&all::<Kernel>(), &all::<Setup>())
}

fn all<T: inventory::Collect>() -> Vec<&'static T> {
    inventory::iter::<T>().collect()
}

fn joined(functions: &[&Kernel], setups: &[&Setup]) -> Result<Vec<Whole>, String> {
    let mut names: Vec<(&str, &str)> = functions.iter().map(|it| (it.op, it.name)).collect();
    names.sort_unstable();
    names.dedup();
    for setup in setups {
        if !names.contains(&(setup.op, setup.kernel)) {
            let Setup { op, kernel, .. } = setup;
            return Err(format!("a setup is for `{op}/{kernel}`, and there is no such kernel"));
        }
    }
    let whole = |&(op, name): &(&str, &str)| {
        let parts: Vec<&&Kernel> =
            functions.iter().filter(|it| (it.op, it.name) == (op, name)).collect();
        let packing: Vec<&&Setup> =
            setups.iter().filter(|it| (it.op, it.kernel) == (op, name)).collect();
        let mut file = list("call", parts.iter().flat_map(|it| it.calls));
        if let Some(first) = packing.first() {
            file += &list("setup_call", packing.iter().flat_map(|it| it.calls));
            file += &format!("packed_bytes = {}\n", quoted(first.packed_bytes));
        }
        // Functions of one kernel may state the same line.
        file += &lines(parts.iter().map(|it| it.keys));
        let promises = lines(parts.iter().map(|it| it.promises));
        if !promises.is_empty() {
            file += &format!("[promises]\n{promises}");
        }
        Whole { op: op.to_owned(), name: name.to_owned(), file }
    };
    Ok(names.iter().map(whole).collect())
}

/// Each line once. Functions of one kernel that state a key differently keep the first line.
fn lines<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for line in texts.flat_map(str::lines) {
        let key = |line: &str| line.split('=').next().unwrap_or_default().to_owned();
        if !kept.iter().any(|known| key(known) == key(line)) {
            kept.push(line);
        }
    }
    kept.iter().map(|line| format!("{line}\n")).collect()
}

fn list<'a>(key: &str, texts: impl Iterator<Item = &'a &'static str>) -> String {
    let all: Vec<String> = texts.map(|text| quoted(text)).collect();
    format!("{key} = [{}]\n", all.join(", "))
}

/// A text between quotation marks, as TOML writes it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            _ if letter.is_control() => out += &format!("\\u{:04x}", u32::from(letter)),
            _ => out.push(letter),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const SINGLE: Kernel = Kernel {
        op: "scale",
        name: "fast",
        calls: &["scale_f32(x: *const f32) -> i32"],
        keys: "summary = \"one\"\n",
        promises: "cancels = true\n",
    };
    const HALF: Kernel = Kernel {
        calls: &["scale_bf16(x: *const bf16) -> i32"],
        keys: "summary = \"two\"\n",
        ..SINGLE
    };

    #[test]
    fn functions_of_one_name_are_one_kernel_with_several_calls() {
        let setup =
            Setup { op: "scale", kernel: "fast", calls: &["pack() -> i32"], packed_bytes: "4 * n" };
        let all = joined(&[&SINGLE, &HALF], &[&setup]).unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!(
            all[0].file,
            "call = [\"scale_f32(x: *const f32) -> i32\", \"scale_bf16(x: *const bf16) -> i32\"]\n\
             setup_call = [\"pack() -> i32\"]\npacked_bytes = \"4 * n\"\nsummary = \"one\"\n\
             [promises]\ncancels = true\n"
        );
    }

    #[test]
    fn a_setup_without_a_kernel_is_an_error() {
        let setup = Setup { op: "scale", kernel: "slow", calls: &[], packed_bytes: "1" };
        let error = joined(&[&SINGLE], &[&setup]).unwrap_err();
        assert!(error.contains("scale/slow"), "{error}");
    }

    #[test]
    fn quotation_marks_and_control_letters_are_escaped() {
        assert_eq!(quoted("a \"b\" \\ \n"), "\"a \\\"b\\\" \\\\ \\u000a\"");
    }
}
