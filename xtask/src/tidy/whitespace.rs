//! No line ends in blanks.

use super::{SourceFile, Violation, numbered};

/// Recorded output is kept as it was written.
const RECORDED: &[&str] = &[".snap", ".csv", ".patch", ".jsonl"];

pub(super) fn check(file: &SourceFile) -> Vec<Violation> {
    if RECORDED.iter().any(|ending| file.path.ends_with(ending)) {
        return Vec::new();
    }
    numbered(&file.text)
        .filter(|(_, line)| line.ends_with(char::is_whitespace))
        .map(|(number, _)| {
            Violation::new(&file.path, number, "the line ends in blanks", "remove them")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_blanks_at_the_end_of_a_line() {
        let file = SourceFile::new("README.md", "good\nbad \n\t\ngood\n");
        let lines: Vec<usize> = check(&file).iter().map(|violation| violation.line).collect();
        assert_eq!(lines, [2, 3]);
    }

    #[test]
    fn recorded_output_is_left_alone() {
        assert!(check(&SourceFile::new("tests/a.snap", "x \n")).is_empty());
    }
}
