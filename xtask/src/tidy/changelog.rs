//! What changes for a user is written down beside the change.

use super::{SourceFile, Violation};

const CHANGELOG: &str = "CHANGELOG.md";

pub(super) fn check(files: &[SourceFile]) -> Vec<Violation> {
    let is_there = files.iter().any(|file| file.path == CHANGELOG && !file.text.trim().is_empty());
    if is_there {
        return Vec::new();
    }
    let hint = "one line for each change that a user can see, in the same commit";
    vec![Violation::new(CHANGELOG, 1, "is missing or empty", hint)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_a_tree_without_a_changelog() {
        assert_eq!(check(&[SourceFile::new("docs/CHANGELOG.md", "text")]).len(), 1);
        assert_eq!(check(&[SourceFile::new(CHANGELOG, "\n")]).len(), 1);
        assert!(check(&[SourceFile::new(CHANGELOG, "# Changelog\n")]).is_empty());
    }
}
