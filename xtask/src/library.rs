//! The library as a stranger uses it: a crate outside the workspace that depends on `ops` alone,
//! first on its folder, then on what `cargo package` makes of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::check::Notes;
use crate::{Failure, check, metadata};

/// The crates that the library consists of; `ops` brings the others along.
const CRATES: &[&str] = &["terms", "schema", "simd", "tensor", "contract", "ops"];

/// The most crates of others that the library may need.
const MOST_EXTERNAL: usize = 8;

/// The program that the stranger writes.
const PROGRAM: &str = "crates/ops/examples/twelve_ops.rs";

/// Builds and runs the stranger's crate in both ways.
pub(crate) fn run(root: &Path, notes: &mut Notes) -> Result<(), Failure> {
    let home = std::env::temp_dir().join(format!("proofmark-library-{}", std::process::id()));
    let outcome = both(root, &home, notes);
    // What is left there costs disk and nothing else.
    let _ = fs::remove_dir_all(&home);
    outcome
}

fn both(root: &Path, home: &Path, notes: &mut Notes) -> Result<(), Failure> {
    let folder = root.join("crates/ops");
    let by_path = stranger(root, &home.join("by-path"), &folder, "")?;
    let external = external(&by_path)?;
    if external.len() > MOST_EXTERNAL {
        let names: Vec<&str> = external.iter().map(String::as_str).collect();
        return Err(format!("the library needs {} external crates: {names:?}", external.len()));
    }
    let begin = Instant::now();
    check::cargo(&by_path, &["run", "--quiet", "--release"], &[])?;
    notes.push(format!(
        "library: {} external crates, a release build of {:.0} s in a crate outside",
        external.len(),
        begin.elapsed().as_secs_f64()
    ));
    let packages = packaged(root, home)?;
    let patch: String = CRATES
        .iter()
        .map(|name| format!("proofmark-{name} = {{ path = {:?} }}\n", packages.join(name)))
        .collect();
    let patch = format!("\n[patch.crates-io]\n{patch}");
    let packaged = stranger(root, &home.join("packaged"), &packages.join("ops"), &patch)?;
    // The same crates at other places: checking them shows that no file is missing.
    check::cargo(&packaged, &["check", "--quiet"], &[])
}

/// Writes a crate whose only dependency is the library.
fn stranger(root: &Path, at: &Path, library: &Path, patch: &str) -> Result<PathBuf, Failure> {
    let manifest = format!(
        "[package]\nname = \"stranger\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nproofmark-ops = {{ path = {library:?} }}\n\n[workspace]\n{patch}"
    );
    let written = fs::create_dir_all(at.join("src"))
        .and_then(|()| fs::write(at.join("Cargo.toml"), manifest))
        .and_then(|()| fs::copy(root.join("rust-toolchain.toml"), at.join("rust-toolchain.toml")))
        .and_then(|_| fs::copy(root.join(PROGRAM), at.join("src/main.rs")));
    written.map(|_| at.to_path_buf()).map_err(|error| format!("{}: {error}", at.display()))
}

/// The crates of others that a build of this crate compiles.
pub(crate) fn external(krate: &Path) -> Result<BTreeSet<String>, Failure> {
    let platform = ["--filter-platform", "x86_64-unknown-linux-gnu"];
    let graph = metadata::read(krate, &platform)?;
    let is_external = |id: &&str| id.contains("registry+");
    let nodes = metadata::array(&graph["resolve"], "nodes");
    let ids = nodes.iter().map(|node| metadata::text(node, "id")).filter(is_external);
    Ok(ids.map(|id| id.rsplit('#').next().unwrap_or(id).to_owned()).collect())
}

/// Packages the crates of the library and unpacks them side by side.
fn packaged(root: &Path, home: &Path) -> Result<PathBuf, Failure> {
    let names: Vec<String> = CRATES.iter().map(|name| format!("proofmark-{name}")).collect();
    let mut args = vec!["package", "--quiet", "--no-verify", "--allow-dirty"];
    args.extend(names.iter().flat_map(|name| ["--package", name.as_str()]));
    check::cargo(root, &args, &[])?;
    let packages = home.join("packages");
    fs::create_dir_all(&packages).map_err(|error| format!("{}: {error}", packages.display()))?;
    let made = check::target(root)?.join("package");
    for name in CRATES {
        let base = format!("proofmark-{name}-{}", env!("CARGO_PKG_VERSION"));
        let file = made.join(format!("{base}.crate"));
        let status = Command::new("tar").arg("-xzf").arg(&file).arg("-C").arg(&packages).status();
        let is_unpacked = status.is_ok_and(|status| status.success());
        let renamed = fs::rename(packages.join(&base), packages.join(name));
        if !is_unpacked || renamed.is_err() {
            return Err(format!("{} cannot be unpacked", file.display()));
        }
    }
    Ok(packages)
}
