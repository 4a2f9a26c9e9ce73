//! What is in the tree is finished; what is not is an issue.

use super::rust_text::{RustText, line_of, words};
use super::{SourceFile, Violation};

const MARKS: &[&str] = &["TODO", "FIXME", "XXX"];
const MACROS: &[&str] = &["todo", "unimplemented"];

/// Other sources, in which comments are not told from code.
const OTHER_SOURCES: &[&str] = &[".toml", ".py", ".sh", ".c", ".cpp", ".h", ".js", ".css", ".html"];

pub(super) fn check(file: &SourceFile) -> Vec<Violation> {
    let hint = "finish it, or open an issue and delete the mark";
    let complain = |text: &str, at: usize, mark: &str| {
        Violation::new(&file.path, line_of(text, at), format!("`{mark}`"), hint)
    };
    let marks_in = |text: &str| -> Vec<Violation> {
        let found = MARKS.iter().flat_map(|mark| words(text, mark).map(|at| (at, *mark)));
        found.map(|(at, mark)| complain(text, at, mark)).collect()
    };
    if file.is_rust() {
        let split = RustText::parse(&file.text);
        let mut violations = marks_in(&split.comments);
        for name in MACROS {
            let calls = words(&split.code, name)
                .filter(|at| split.code[at + name.len()..].trim_start().starts_with('!'));
            violations.extend(calls.map(|at| complain(&split.code, at, &format!("{name}!"))));
        }
        violations
    } else if OTHER_SOURCES.iter().any(|ending| file.path.ends_with(ending)) {
        marks_in(&file.text)
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&SourceFile::new(path, text)).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn refuses_marks_and_macros_of_unfinished_work() {
        assert_eq!(lines("a.rs", "fn f() {\n    todo!()\n}\n"), [2]);
        assert_eq!(lines("a.rs", "// TODO: faster\nfn f() {}\n/* FIXME */\n"), [1, 3]);
        assert_eq!(lines("peers/x/runner.py", "x = 1  # XXX\n"), [1]);
    }

    #[test]
    fn accepts_the_words_elsewhere() {
        assert!(lines("a.rs", "let mark = \"TODO\"; let todo = 1;\n").is_empty());
        assert!(lines("a.rs", "// A todo list, XXXL.\n").is_empty());
        assert!(lines("docs/STYLE.md", "No TODO in code.\n").is_empty());
    }
}
