//! Notes what the program is made of, for `proofmark --version`.

#![expect(clippy::disallowed_methods, reason = "a build script asks git and the compiler")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the commit where git cannot: a build from an archive, or one that must not depend on it.
const COMMIT: &str = "PROOFMARK_COMMIT";

fn main() {
    let folder = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={COMMIT}");
    let commit = match std::env::var(COMMIT) {
        Ok(commit) if commit.is_empty() => None,
        Ok(commit) => Some(commit),
        Err(_) => packaged(&folder).or_else(|| from_git(&folder)),
    };
    let compiler = output(Command::new(variable("RUSTC")).arg("--version"));
    println!("cargo::rustc-env=PROOFMARK_BUILD_COMMIT={}", commit.unwrap_or("unknown".to_owned()));
    let compiler = compiler.unwrap_or("unknown".to_owned());
    println!("cargo::rustc-env=PROOFMARK_BUILD_COMPILER={compiler}");
    println!("cargo::rustc-env=PROOFMARK_BUILD_TARGET={}", variable("TARGET"));
    println!("cargo::rustc-env=PROOFMARK_BUILD_PROFILE={}", variable("PROFILE"));
    // Symbols in a file of their own are found by it. Not every linker writes one unasked.
    if variable("CARGO_CFG_TARGET_OS") == "linux" {
        println!("cargo::rustc-link-arg-bins=-Wl,--build-id=sha1");
    }
}

/// The commit that `cargo package` wrote beside the manifest.
fn packaged(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.join(".cargo_vcs_info.json")).ok()?;
    let (_, rest) = text.split_once("\"sha1\": \"")?;
    let commit = rest.split_once('"')?.0.to_owned();
    Some(marked(commit, text.contains("\"dirty\": true")))
}

/// The commit of the working tree, if this crate is a part of it.
fn from_git(folder: &Path) -> Option<String> {
    let git = |words: &[&str]| {
        // Without this option `status` may write the index, and so disturb a parallel command.
        output(Command::new("git").current_dir(folder).arg("--no-optional-locks").args(words))
    };
    // A package that was unpacked inside some other repository is no part of that.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let root = PathBuf::from(git(&["rev-parse", "--show-toplevel"])?);
    // The log of HEAD grows with every commit and checkout; files change the mark.
    let log = folder.join(git(&["rev-parse", "--git-path", "logs/HEAD"])?);
    // Folders of crates by their parts that git knows: builds and tests write beside those.
    let listed = git(&["ls-files", "--full-name", "--", ":/crates"])?;
    let part = |file: &str| file.splitn(4, '/').take(3).collect::<PathBuf>();
    let parts: BTreeSet<PathBuf> = listed.lines().map(part).collect();
    let watched = parts.into_iter().chain(["Cargo.toml", "Cargo.lock"].map(PathBuf::from));
    let watched = watched.map(|path| root.join(path)).chain([log]);
    for path in watched.filter(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let commit = git(&["rev-parse", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(marked(commit, !changes.is_empty()))
}

fn marked(commit: String, is_modified: bool) -> String {
    if is_modified { commit + " (modified)" } else { commit }
}

/// A variable that Cargo always sets.
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// What a command prints, if it ends well.
fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
