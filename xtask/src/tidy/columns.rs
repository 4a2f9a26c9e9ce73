//! A line of Rust fits beside another file on the screen.

use super::rust_text::RustText;
use super::{SourceFile, Violation, numbered};

const LIMIT: usize = 100;

pub(super) fn check(file: &SourceFile) -> Vec<Violation> {
    if !file.is_rust() {
        return Vec::new();
    }
    let split = RustText::parse(&file.text);
    numbered(&file.text)
        .zip(split.code.lines().zip(split.comments.lines()))
        .filter_map(|((number, line), (code, comment))| {
            let width = line.chars().count();
            if width <= LIMIT {
                return None;
            }
            let hint = "break the line; rustfmt leaves comments and long expressions to you";
            let violation = Violation::new(&file.path, number, format!("{width} columns"), hint);
            // What is left out of both is inside a literal, which cannot always be broken.
            let outside = visible(code) + visible(comment);
            let is_unbreakable = line.contains("://") || outside < visible(line);
            Some(if is_unbreakable { violation.warning() } else { violation })
        })
        .collect()
}

/// How many letters of the line are not blank.
fn visible(line: &str) -> usize {
    line.chars().filter(|letter| !letter.is_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Vec<bool> {
        let file = SourceFile::new("a.rs", line);
        check(&file).iter().map(|violation| violation.is_warning).collect()
    }

    #[test]
    fn refuses_a_long_line() {
        assert_eq!(found(&format!("// {}", "x".repeat(98))), [false]);
        assert!(found(&format!("// {}", "x".repeat(97))).is_empty());
    }

    #[test]
    fn only_warns_where_the_line_cannot_be_broken() {
        assert_eq!(found(&format!("let x = \"{}\";", "x".repeat(98))), [true]);
        assert_eq!(found(&format!("// https://{}", "x".repeat(98))), [true]);
    }

    #[test]
    fn counts_letters_and_not_bytes() {
        assert!(found(&format!("// {}", "µ".repeat(90))).is_empty());
    }
}
