//! A file's name says what is in it.

use super::{SourceFile, Violation};

const FORBIDDEN: &[&str] =
    &["utils", "util", "helpers", "common", "misc", "manager", "types", "old", "new"];

pub(super) fn check(file: &SourceFile) -> Vec<Violation> {
    let stem = file.name().strip_suffix(".rs");
    file.folders()
        .chain(stem)
        .filter(|name| FORBIDDEN.contains(name))
        .map(|name| {
            let hint = "name it after the one thing it holds, with a word of the glossary";
            Violation::new(&file.path, 1, format!("the name `{name}` says nothing"), hint)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(path: &str) -> bool {
        !check(&SourceFile::new(path, "")).is_empty()
    }

    #[test]
    fn refuses_a_drawer_as_file_or_folder() {
        assert!(is_refused("crates/gate/src/utils.rs"));
        assert!(is_refused("crates/gate/tests/common/mod.rs"));
        assert!(is_refused("peers/misc/runner.py"));
    }

    #[test]
    fn accepts_a_name_that_only_contains_one() {
        assert!(!is_refused("crates/schema/src/dtypes.rs"));
        assert!(!is_refused("docs/common.md"));
        assert!(!is_refused("crates/cli/src/renew.rs"));
    }
}
