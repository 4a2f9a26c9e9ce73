//! A Rust file is short enough to be read in one sitting.

use super::{SourceFile, Violation};

const LIMIT: usize = 900;
const WARNING: usize = 500;

/// Tables and generated files, which nobody reads from top to bottom.
const EXCEPTIONS: &[&str] = &[];

pub(super) fn check(file: &SourceFile) -> Vec<Violation> {
    let lines = file.text.lines().count();
    if !file.is_rust() || lines <= WARNING || EXCEPTIONS.contains(&file.path.as_str()) {
        return Vec::new();
    }
    let hint = "give the part with its own purpose its own file; aim at 250 lines";
    let violation = Violation::new(&file.path, lines, format!("{lines} lines"), hint);
    vec![if lines > LIMIT { violation } else { violation.warning() }]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, lines: usize) -> Vec<bool> {
        let file = SourceFile::new(path, "x\n".repeat(lines));
        check(&file).iter().map(|violation| violation.is_warning).collect()
    }

    #[test]
    fn warns_of_a_long_file_and_refuses_a_very_long_one() {
        assert!(found("src/a.rs", 500).is_empty());
        assert_eq!(found("src/a.rs", 501), [true]);
        assert_eq!(found("src/a.rs", 900), [true]);
        assert_eq!(found("src/a.rs", 901), [false]);
        assert!(found("data.csv", 901).is_empty());
    }
}
