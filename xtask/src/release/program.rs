//! Builds the program once, against an old C library, and takes its debug information off.
//!
//! The names of functions stay in the program: `asm` and backtraces need them, and they are small.
//! Lines and inlined functions go to a file of their own, which names and build id lead to.

use std::path::PathBuf;
use std::process::Command;

use super::tools::{shown, succeeded};
use super::{OLDEST_GLIBC, Release, TARGET, remake, wheel};
use crate::Failure;

/// The name of the file with the debug information, which the program links to.
pub(super) const SYMBOLS: &str = "proofmark.debug";

impl Release {
    /// The program as it is shipped.
    pub(super) fn program(&self) -> PathBuf {
        self.work.join("program/proofmark")
    }

    /// Its debug information.
    pub(super) fn symbols(&self) -> PathBuf {
        self.work.join("program").join(SYMBOLS)
    }

    /// The wheel that maturin made, unpacked.
    pub(super) fn wheel_tree(&self) -> PathBuf {
        self.work.join("wheel")
    }
}

/// Builds the wheel, which builds the program, and splits the program.
pub(super) fn make(release: &Release) -> Result<(), Failure> {
    let raw = release.work.join("raw-wheel");
    remake(&raw)?;
    let tag = format!("manylinux_{}", OLDEST_GLIBC.replace('.', "_"));
    let mut maturin = release.tools.command("maturin");
    maturin.current_dir(&release.root).env("SOURCE_DATE_EPOCH", &release.epoch);
    maturin.args(["build", "--release", "--zig", "--compatibility", &tag, "--target", TARGET]);
    shown(maturin.args(["--strip", "false", "--out"]).arg(&raw))?;

    remake(&release.wheel_tree())?;
    let mut unpack = release.tools.command("wheel");
    unpack.arg("unpack").arg(wheel::only_file(&raw, ".whl")?);
    succeeded(unpack.arg("--dest").arg(release.wheel_tree()))?;

    remake(&release.work.join("program"))?;
    let built = wheel::place_of_program(release)?;
    let (program, symbols) = (release.program(), release.symbols());
    let mut objcopy = Command::new("objcopy");
    succeeded(objcopy.arg("--only-keep-debug").arg(&built).arg(&symbols))?;
    let link = format!("--add-gnu-debuglink={}", symbols.display());
    let mut objcopy = Command::new("objcopy");
    succeeded(objcopy.args(["--strip-debug", &link]).arg(&built).arg(&program)).map(drop)
}
