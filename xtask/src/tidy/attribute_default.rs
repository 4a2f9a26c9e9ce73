//! A peer reads attributes without defaults: the definition of the op has them.

use super::rust_text::{RustText, line_of};
use super::{SourceFile, Violation, numbered};

/// The script that hands cases to the others; its `has` asks whether the op has an attribute.
const BRIDGE: &str = "crates/peers/src/python/bridge.py";

/// What reads an attribute in Rust.
const READS: &[&str] = &[".word(", ".flag(", ".int(", ".real(", ".attribute("];

const HINT: &str = "the case has every attribute of its op: read it with `?`, or with `attrs[…]`";

pub(super) fn check(file: &SourceFile) -> Vec<Violation> {
    match file.path.starts_with("crates/peers/") {
        true if file.is_rust() => check_rust(file),
        true if file.path.ends_with(".py") && file.path != BRIDGE => check_script(file),
        _ => Vec::new(),
    }
}

/// Refuses a default behind a read.
fn check_rust(file: &SourceFile) -> Vec<Violation> {
    let code = RustText::parse(&file.text).code;
    let has_default = |end: usize| {
        let after = code[end..].trim_start();
        after.starts_with(".unwrap_or") || after.starts_with(".ok()")
    };
    let ends = READS.iter().flat_map(|read| {
        code.match_indices(read).filter_map(|(at, _)| Some(at + code[at..].find(')')? + 1))
    });
    ends.filter(|&end| has_default(end)).map(|end| complain(file, line_of(&code, end))).collect()
}

/// Refuses everything but `attrs[…]`: a `get`, or another name for the attributes.
fn check_script(file: &SourceFile) -> Vec<Violation> {
    let is_other = |line: &str| line.split("attrs").skip(1).any(|after| !after.starts_with('['));
    let others = numbered(&file.text).filter(|(_, line)| is_other(line));
    others.map(|(number, _)| complain(file, number)).collect()
}

fn complain(file: &SourceFile, line: usize) -> Violation {
    Violation::new(&file.path, line, "an attribute is read with a default of its own", HINT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&SourceFile::new(path, text)).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn refuses_a_default_in_a_script() {
        let script = |text| lines("crates/peers/src/python/numpy.py", text);
        assert_eq!(script("a = 1\nb = case.attrs.get(\"eps\", 1e-5)\n"), [2]);
        assert_eq!(script("given = case.attrs\n"), [1]);
        assert!(script("case.attrs[\"eps\"], case.attrs[\"mask\"]\n").is_empty());
    }

    #[test]
    fn refuses_a_default_in_an_adapter() {
        let adapter = |text| lines("crates/peers/src/blas.rs", text);
        assert_eq!(adapter("let a = case.real(\"eps\").unwrap_or(1e-6);\n"), [1]);
        assert_eq!(adapter("let a = case\n    .word(\"mask\")\n    .unwrap_or(\"none\");\n"), [2]);
        assert_eq!(adapter("let a = case.flag(\"bias\").ok() == Some(true);\n"), [1]);
        assert!(adapter("let a = case.real(\"eps\")?; // .unwrap_or(1)\n").is_empty());
        let plugin = "call.attribute(\"kind\").unwrap_or(\"c2c\")";
        assert_eq!(lines("crates/peers/plugins/candle/src/lib.rs", plugin), [1]);
    }

    #[test]
    fn leaves_other_crates_alone() {
        assert!(lines("crates/engine/src/plan.rs", "case.real(\"eps\").unwrap_or(1.0)").is_empty());
    }
}
