//! An oracle shares no code with the kernels it judges.

use super::rust_text::{RustText, line_of, words};
use super::{SourceFile, Violation};

pub(super) fn check(file: &SourceFile) -> Vec<Violation> {
    if file.name() != "oracle.rs" {
        return Vec::new();
    }
    let code = RustText::parse(&file.text).code;
    let hint = "an oracle is plain safe code over f64 or `exact`: repeat the formula instead";
    let complain =
        |at: usize, message: String| Violation::new(&file.path, line_of(&code, at), message, hint);
    let mut violations: Vec<Violation> =
        words(&code, "unsafe").map(|at| complain(at, "`unsafe` in an oracle".to_owned())).collect();
    for module in ["kernels", "blocks"] {
        violations.extend(
            words(&code, module)
                .filter(|&at| is_path(&code, at, module.len()))
                .map(|at| complain(at, format!("an oracle must not know `{module}`"))),
        );
    }
    violations
}

/// Whether the word is part of a path or an import, and not, say, a count of blocks.
fn is_path(code: &str, at: usize, length: usize) -> bool {
    let before = code[..at].trim_end();
    let after = code[at + length..].trim_start();
    let statement = before.rfind([';', '}']).map_or(before, |end| &before[end + 1..]);
    // The braces of `use a::{b, c}` hold commas, those of a block hold statements.
    let is_import = words(statement, "use").next().is_some();
    before.ends_with("::") || after.starts_with("::") || is_import
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        check(&SourceFile::new("crates/ops/src/rms_norm/oracle.rs", text)).len()
    }

    #[test]
    fn refuses_an_oracle_that_imports_what_it_judges() {
        assert_eq!(found("use super::kernels::scalar;\n"), 1);
        assert_eq!(found("use crate::{exact, blocks};\n"), 1);
        assert_eq!(found("fn f() { crate::blocks::math::exp(1.0); }\n"), 1);
        assert_eq!(found("use super::definition::Problem;\nuse super::kernels as k;\n"), 1);
    }

    #[test]
    fn refuses_an_unsafe_oracle() {
        assert_eq!(found("fn f() { unsafe { g() } }\n"), 1);
    }

    #[test]
    fn accepts_the_words_where_they_are_no_modules() {
        assert_eq!(found("//! Knows no kernels.\nuse crate::exact;\nlet blocks = n / 32;\n"), 0);
        assert_eq!(found("fn f(blocks: usize) -> usize { blocks }\n"), 0);
        let kernel = SourceFile::new("crates/ops/src/a/kernels/simd.rs", "use crate::blocks::row;");
        assert!(check(&kernel).is_empty());
    }
}
