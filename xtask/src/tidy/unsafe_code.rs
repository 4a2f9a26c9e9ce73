//! `unsafe` stands only where the house allows it, and always beside the fact it relies on.

use super::rust_text::{RustText, line_of, words};
use super::{SourceFile, Violation};

/// Crates that touch memory, processors or other processes for everybody else.
const CRATES: &[&str] = &[
    "simd",
    "tensor",
    "machine",
    "sandbox",
    "arena",
    "worker",
    "peers",
    "opencl",
    "own",
    "programs",
    "bench",
    "bench-macros",
];

/// How far above the keyword a comment still belongs to it, where code stands between.
const REACH: usize = 6;

/// Every `unsafe` stands in a place where the house allows it.
pub(super) fn check_places(file: &SourceFile) -> Vec<Violation> {
    if !file.is_rust() || is_place(file) {
        return Vec::new();
    }
    let code = RustText::parse(&file.text).code;
    let hint = "use the safe face of simd, tensor or arena; kernels and blocks may be unsafe";
    words(&code, "unsafe")
        .map(|at| {
            Violation::new(&file.path, line_of(&code, at), "`unsafe` has no place here", hint)
        })
        .collect()
}

fn is_place(file: &SourceFile) -> bool {
    let folders: Vec<&str> = file.folders().collect();
    match folders[..] {
        ["crates", _, "tests", ..] | ["duel", "kernels", ..] => true,
        ["crates", name, ..] if CRATES.contains(&name) => true,
        ["crates", "ops", "src", ref inner @ ..] => {
            inner.first() == Some(&"blocks")
                || inner.contains(&"kernels")
                || inner.contains(&"tests")
                || matches!(file.name(), "kernels.rs" | "flawed.rs" | "tests.rs")
        }
        _ => false,
    }
}

/// Every unsafe block, impl, trait and function names the fact that it relies on or asks for.
pub(super) fn check_comments(file: &SourceFile) -> Vec<Violation> {
    if !file.is_rust() {
        return Vec::new();
    }
    let split = RustText::parse(&file.text);
    let code_lines: Vec<&str> = split.code.lines().collect();
    let comment_lines: Vec<&str> = split.comments.lines().collect();
    let hint = "write `// SAFETY:` and the fact above it; above a function, a `# Safety` section";
    words(&split.code, "unsafe")
        .filter(|&at| is_site(&split.code[at + "unsafe".len()..]))
        .filter(|&at| !is_method_of_trait(&split.code, at))
        .map(|at| line_of(&split.code, at))
        .filter(|&line| !is_explained(line - 1, &code_lines, &comment_lines))
        .map(|line| Violation::new(&file.path, line, "`unsafe` without its reason", hint))
        .collect()
}

/// Whether what follows `unsafe` is a block or an item, and not a type or an attribute.
fn is_site(rest: &str) -> bool {
    let rest = rest.trim_start();
    // The name of the ABI is a literal and already blank.
    let rest = rest.strip_prefix("extern").map_or(rest, str::trim_start);
    match rest.strip_prefix("fn") {
        Some(after) => !after.trim_start().starts_with('('),
        None => ["{", "impl", "trait"].iter().any(|word| rest.starts_with(word)),
    }
}

/// Whether an `unsafe fn` fills in a trait, whose own docs then say what the caller vouches for.
fn is_method_of_trait(code: &str, at: usize) -> bool {
    if !code[at + "unsafe".len()..].trim_start().starts_with("fn") {
        return false;
    }
    let mut depth = 0;
    let opening = code[..at].char_indices().rev().find(|(_, letter)| {
        depth += match letter {
            '}' => 1,
            '{' => -1,
            _ => 0,
        };
        depth < 0
    });
    let before = opening.map_or("", |(brace, _)| &code[..brace]);
    let header = before.rfind([';', '}', '{']).map_or(before, |end| &before[end + 1..]);
    words(header, "impl").next().is_some() && words(header, "for").next().is_some()
}

/// Whether a comment on the line, near above it, or in the comment block above it says why.
fn is_explained(line: usize, code: &[&str], comments: &[&str]) -> bool {
    let says_why = |index: usize| {
        let comment = comments.get(index).copied().unwrap_or_default();
        comment.contains("SAFETY:") || comment.contains("# Safety")
    };
    // A `# Safety` section may be long: the whole block of comments and attributes counts.
    let is_block = |index: &usize| {
        let code = code.get(*index).copied().unwrap_or_default().trim();
        let comment = comments.get(*index).copied().unwrap_or_default().trim();
        code.starts_with("#[") || (code.is_empty() && !comment.is_empty())
    };
    (line.saturating_sub(REACH)..=line).any(says_why)
        || (0..line).rev().take_while(is_block).any(says_why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unexplained(text: &str) -> Vec<usize> {
        let file = SourceFile::new("crates/simd/src/a.rs", text);
        check_comments(&file).iter().map(|violation| violation.line).collect()
    }

    fn is_refused_at(path: &str) -> bool {
        !check_places(&SourceFile::new(path, "fn f() { unsafe { g() } }")).is_empty()
    }

    #[test]
    fn refuses_unsafe_without_a_reason() {
        assert_eq!(unexplained("fn f() {\n    unsafe { g() }\n}\n"), [2]);
        assert_eq!(unexplained("/// Sends.\nunsafe impl Send for A {}\n"), [2]);
        assert_eq!(unexplained("/// Loads.\npub unsafe fn load() {}\n"), [2]);
        assert_eq!(unexplained("unsafe extern \"C\" {\n    fn g();\n}\n"), [1]);
        assert_eq!(unexplained("let why = \"SAFETY: no\";\nunsafe { g() }\n"), [2]);
    }

    #[test]
    fn accepts_a_reason_near_above_or_in_the_docs() {
        assert!(
            unexplained("// SAFETY: `g` has no precondition.\nlet x =\n    unsafe { g() };")
                .is_empty()
        );
        let docs =
            format!("/// # Safety\n{}#[inline]\nunsafe fn f() {{}}\n", "/// long\n".repeat(9));
        assert!(unexplained(&docs).is_empty());
    }

    #[test]
    fn a_reason_far_above_is_the_reason_of_something_else() {
        let far = format!("// SAFETY: of another.\n{}unsafe {{ g() }}\n", "let x = 1;\n".repeat(9));
        assert_eq!(unexplained(&far), [11]);
    }

    #[test]
    fn a_method_of_a_trait_is_explained_by_the_trait() {
        let method = "fn a() { b() }\n    unsafe fn load() {}\n}\n";
        assert!(unexplained(&format!("impl Load for Lane {{\n{method}")).is_empty());
        assert_eq!(unexplained(&format!("impl Lane {{\n{method}")), [3]);
        assert_eq!(unexplained(&format!("trait Load {{\n{method}")), [3]);
        assert_eq!(unexplained("impl Load for Lane {\n    fn f() { unsafe { g() } }\n}"), [2]);
    }

    #[test]
    fn types_and_attributes_need_no_reason() {
        assert!(unexplained("type F = unsafe fn(u8);\n").is_empty());
        assert!(unexplained("type F = unsafe extern \"C\" fn(u8);\n").is_empty());
        assert!(unexplained("#[unsafe(no_mangle)]\nfn f() {}\n").is_empty());
        assert!(unexplained("#![forbid(unsafe_code)]\n").is_empty());
    }

    #[test]
    fn refuses_unsafe_outside_its_places() {
        assert!(is_refused_at("crates/gate/src/prove.rs"));
        assert!(is_refused_at("crates/ops/src/rms_norm/definition.rs"));
        assert!(is_refused_at("crates/ops/src/rms_norm/mutants.rs"));
        assert!(is_refused_at("xtask/src/main.rs"));
    }

    #[test]
    fn accepts_unsafe_in_its_places() {
        assert!(!is_refused_at("crates/simd/src/x86/avx2.rs"));
        assert!(!is_refused_at("crates/ops/src/matmul/kernels/simd.rs"));
        assert!(!is_refused_at("crates/ops/src/rms_norm/kernels.rs"));
        assert!(!is_refused_at("crates/ops/src/blocks/gemm/pack.rs"));
        assert!(!is_refused_at("crates/ops/src/flawed.rs"));
        assert!(!is_refused_at("crates/gate/tests/saboteurs.rs"));
    }
}
