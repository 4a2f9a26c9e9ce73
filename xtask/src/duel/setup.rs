//! Installs the other harnesses, builds them around our kernels, and builds the product.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::harness::{COMPARE, HYPERFINE_VERSION};
use super::rig::{PYTHON, Rig, output};
use crate::{Failure, check};

/// Debian's packages: Google Benchmark, its `compare.py`, and what that needs.
const PACKAGES: &[&str] = &["libbenchmark-dev", "libbenchmark-tools", "python3-scipy"];

/// Builds everything that `duel run` starts.
pub(super) fn run(root: &Path) -> Result<(), Failure> {
    let rig = Rig::new(root)?;
    let anchors = rig.anchors.to_str().ok_or("the target directory is not UTF-8")?;
    install_packages()?;
    let target = [("CARGO_TARGET_DIR", anchors)];
    check::cargo(&root.join("duel"), &["build", "--release", "--locked"], &target)?;
    let version = ["--version", HYPERFINE_VERSION, "--locked", "--root", anchors];
    check::cargo(root, &[&["install", "hyperfine"], &version[..]].concat(), &target)?;
    let script = welch_script()?;
    std::fs::copy(&script, rig.anchors.join("welch_ttest.py"))
        .map_err(|error| format!("{}: {error}", script.display()))?;
    let mut compile = Command::new("g++");
    compile
        .args(["-O2", "-std=c++17", "-o"])
        .arg(rig.program("duel-google"))
        .arg(root.join("duel/anchors/src/google.cpp"))
        .arg(rig.program("libduel_kernels.a"))
        .args(["-lbenchmark", "-lpthread", "-ldl", "-lm"]);
    println!("$ {compile:?}");
    output(&mut compile)?;
    check::cargo(root, &["build", "--release", "-p", "proofmark"], &[])
}

/// Installs what is missing; the package manager is asked only if something is.
fn install_packages() -> Result<(), Failure> {
    let has_scipy = output(Command::new(PYTHON).args(["-c", "import scipy"])).is_ok();
    let has_library = Path::new("/usr/include/benchmark/benchmark.h").exists();
    if has_scipy && has_library && Path::new(COMPARE).exists() {
        return Ok(());
    }
    let mut install = Command::new("apt-get");
    install.args(["install", "-y", "--no-install-recommends"]).args(PACKAGES);
    println!("$ {install:?}");
    let packages = PACKAGES.join(", ");
    output(&mut install)
        .map(|_| ())
        .map_err(|failure| format!("{failure}\nhint: install {packages} of Debian yourself"))
}

/// hyperfine's own script for Welch's test, in the source that Cargo unpacked.
fn welch_script() -> Result<PathBuf, Failure> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let sources = home.unwrap_or_default().join("registry/src");
    let inner = format!("hyperfine-{HYPERFINE_VERSION}/scripts/welch_ttest.py");
    let registries = std::fs::read_dir(&sources).into_iter().flatten().flatten();
    let mut scripts = registries.map(|registry| registry.path().join(&inner));
    scripts.find(|script| script.exists()).ok_or_else(|| {
        format!("no {inner} in {}; `cargo install --force` unpacks it", sources.display())
    })
}
