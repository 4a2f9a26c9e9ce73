//! A Rust file opens with one sentence that says what it is for.

use super::{SourceFile, Violation};

pub(super) fn check(file: &SourceFile) -> Vec<Violation> {
    if !file.is_rust() {
        return Vec::new();
    }
    // The first paragraph: `//!` lines up to the first that is empty.
    let paragraph: Vec<&str> = file
        .text
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let complaint = match paragraph.last() {
        None => "does not open with a `//!` sentence",
        Some(last) if !last.ends_with(['.', ':', '?']) => "the opening sentence does not end",
        Some(_) => return Vec::new(),
    };
    let hint = "line 1 is `//! ` and a sentence: what the file is for, ended with a period";
    vec![Violation::new(&file.path, 1, complaint, hint)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(text: &str) -> bool {
        !check(&SourceFile::new("src/a.rs", text)).is_empty()
    }

    #[test]
    fn refuses_a_file_without_a_sentence() {
        assert!(is_refused(""));
        assert!(is_refused("use std::fs;\n"));
        assert!(is_refused("// Splits ranges.\n"));
        assert!(is_refused("//!\n//! Splits ranges.\n"));
        assert!(is_refused("//! split ranges\n\nfn f() {}\n"));
    }

    #[test]
    fn accepts_a_sentence_of_one_or_two_lines() {
        assert!(!is_refused("//! Splits ranges.\n"));
        assert!(!is_refused("//! Splits ranges\n//! evenly.\n//!\n//! more text\n"));
        assert!(check(&SourceFile::new("a.py", "import os\n")).is_empty());
    }
}
