//! What a project already has that can be raced, before anything is built.

use crate::git::{Repository, command, run};
use std::fs;
use std::path::{Path, PathBuf};

/// The benchmarks of a cargo project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundBenches {
    /// The names of its bench targets.
    pub targets: Vec<String>,
    /// Benchmarks that its sources name; those made in a loop count once.
    pub benchmarks: usize,
    /// The revision that a change is compared with.
    pub base: String,
}

/// What a source writes where it has a benchmark: criterion, divan, libtest.
const MARKS: [&str; 4] = [".bench_function(", ".bench_with_input(", "#[divan::bench", "#[bench]"];
/// The base of a repository without a branch.
const USUAL_BASE: &str = "origin/main";

/// The benchmarks of a folder; nothing if it is no cargo project or has none.
pub fn find_benches(folder: &Path) -> Option<FoundBenches> {
    let mut metadata = command("cargo", folder);
    metadata.args(["metadata", "--format-version", "1", "--no-deps", "--offline"]);
    let said = run(&mut metadata, "cargo metadata").ok()?;
    let targets = proofmark_programs::cargo::declared(&said);
    let sources = proofmark_programs::cargo::declared_sources(&said);
    let benchmarks = sources.iter().map(marks_in).sum::<usize>();
    let count = benchmarks.max(targets.len());
    (!targets.is_empty()).then(|| FoundBenches { targets, benchmarks: count, base: base(folder) })
}

/// How many benchmarks are named by a source and by the other sources in its folder.
fn marks_in(path: &PathBuf) -> usize {
    let text = fs::read_to_string(path).unwrap_or_default();
    MARKS.iter().map(|mark| text.matches(mark).count()).sum()
}

/// The branch that changes go to: that of the remote, else the one that is checked out.
fn base(folder: &Path) -> String {
    let Ok(repository) = Repository::open(folder) else { return USUAL_BASE.to_owned() };
    let ask = |name: &str| repository.git(&["symbolic-ref", "--quiet", "--short", name]).ok();
    ask("refs/remotes/origin/HEAD").or_else(|| ask("HEAD")).unwrap_or_else(|| USUAL_BASE.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benches_are_found_by_their_targets_and_counted_by_their_sources() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(find_benches(folder.path()), None);
        write(
            "Cargo.toml",
            "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
        );
        write("src/lib.rs", "");
        assert_eq!(find_benches(folder.path()), None);
        write("benches/a.rs", "c.bench_function(\"x\", f); g.bench_with_input(i);");
        let found = find_benches(folder.path()).unwrap();
        assert_eq!((found.targets, found.benchmarks), (vec!["a".to_owned()], 2));
        assert_eq!(found.base, USUAL_BASE);
    }
}
