//! Every op's folder holds the same files, so that a reader of one knows all.

use std::collections::{BTreeMap, BTreeSet};

use super::{SourceFile, Violation};

const OPS: &str = "crates/ops/src/";

/// Folders that are shared by ops and are none.
const SHARED: &[&str] = &["blocks", "exact", "library"];

const REQUIRED: &[&str] =
    &["mod.rs", "definition.rs", "judge.rs", "oracle.rs", "mutants.rs", "tests.rs", "suite.toml"];

/// A folder where kernels share nothing, a file where they are made from one description.
const KERNELS: &[&str] = &["kernels.rs", "kernels/mod.rs"];

pub(super) fn check(files: &[SourceFile]) -> Vec<Violation> {
    let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files {
        let inner = file.path.strip_prefix(OPS).and_then(|path| path.split_once('/'));
        if let Some((op, path)) = inner.filter(|(op, _)| !SHARED.contains(op)) {
            folders.entry(op).or_default().insert(path);
        }
    }
    folders.iter().flat_map(|(op, paths)| check_folder(op, paths)).collect()
}

/// A family whose members differ in their axes has a suite for each set of axes.
fn is_suite(path: &str) -> bool {
    path.starts_with("suite") && path.ends_with(".toml")
}

fn check_folder(op: &str, paths: &BTreeSet<&str>) -> Vec<Violation> {
    let lacking = REQUIRED.iter().copied().filter(|path| !paths.contains(path));
    let has_kernels = KERNELS.iter().any(|path| paths.contains(path));
    let lacking = lacking.chain((!has_kernels).then_some(KERNELS[0]));
    let missing = lacking.map(|path| {
        let hint = "every op's folder has the same files; compare with a finished op";
        Violation::new(&format!("{OPS}{op}"), 1, format!("lacks `{path}`"), hint)
    });
    let foreign = paths.iter().filter(|path| !path.ends_with(".rs") && !is_suite(path));
    let foreign = foreign.map(|path| {
        let hint = "an op's folder holds Rust files and suites; docs belong in mod.rs";
        Violation::new(&format!("{OPS}{op}/{path}"), 1, "has no place in an op's folder", hint)
    });
    missing.chain(foreign).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(paths: &[&str]) -> Vec<String> {
        let files: Vec<SourceFile> =
            paths.iter().map(|path| SourceFile::new(format!("{OPS}{path}"), "")).collect();
        check(&files).into_iter().map(|it| format!("{}: {}", it.path, it.message)).collect()
    }

    fn whole(op: &str) -> Vec<String> {
        REQUIRED.iter().chain(&KERNELS[..1]).map(|path| format!("{op}/{path}")).collect()
    }

    #[test]
    fn accepts_a_whole_folder_with_further_rust_files() {
        let mut paths = whole("silu");
        paths.push("silu/table.rs".to_owned());
        assert!(found(&paths.iter().map(String::as_str).collect::<Vec<_>>()).is_empty());
        paths.retain(|path| path != "silu/kernels.rs");
        paths.push("silu/kernels/mod.rs".to_owned());
        paths.push("silu/kernels/avx512_fused.rs".to_owned());
        assert!(found(&paths.iter().map(String::as_str).collect::<Vec<_>>()).is_empty());
    }

    #[test]
    fn names_each_file_that_is_missing() {
        let paths = whole("silu");
        for missing in &paths {
            let rest: Vec<&str> =
                paths.iter().filter(|path| *path != missing).map(String::as_str).collect();
            let file = missing.trim_start_matches("silu/");
            assert_eq!(found(&rest), [format!("{OPS}silu: lacks `{file}`")]);
        }
    }

    #[test]
    fn refuses_a_foreign_file() {
        let mut paths = whole("silu");
        paths.push("silu/notes.md".to_owned());
        assert_eq!(
            found(&paths.iter().map(String::as_str).collect::<Vec<_>>()),
            [format!("{OPS}silu/notes.md: has no place in an op's folder")]
        );
    }

    #[test]
    fn shared_folders_and_files_beside_them_are_no_ops() {
        assert!(found(&["blocks/row/mod.rs", "exact/mod.rs", "lib.rs"]).is_empty());
    }
}
