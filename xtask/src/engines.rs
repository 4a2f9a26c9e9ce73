//! Asks the engines that people have the same questions about one history: `cargo xtask engines`.
//!
//! It fetches some 2 GB of engines and builds Ballista, so that it is no part of CI.

use crate::own::{expect, fresh};
use crate::{Failure, check};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The engines in Python, in an environment below the target folder.
const ENGINES: [&str; 7] = [
    "polars==2.1.0",
    "deltalake==1.6.6",
    "duckdb==1.5.5",
    "duckdb-extension-delta==1.5.5",
    "chdb==4.4.0",
    "pyspark==4.3.0",
    // DuckDB says times with a zone by it.
    "pytz==2026.6",
];

/// Series and runs of the table, of which the half is compacted before the rest is appended.
const SERIES: &str = "5000";
const RUNS: [&str; 2] = ["20", "40"];

/// Makes a history with two compactions and a removed file, and compares answers about it.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    // Commands run in other folders.
    let root = &root.canonicalize().map_err(|error| error.to_string())?;
    let history = root.join("crates/history");
    check::cargo(
        &history,
        &["build", "--workspace", "--example", "demo", "--bins", "--locked"],
        &[],
    )?;
    check::cargo(&root.join("engines"), &["build", "--locked"], &[])?;
    let programs = check::target(&history)?.join("debug");
    let place = fresh(&root.join("target/engines/history"))?;
    for runs in RUNS {
        expect(Command::new(programs.join("examples/demo")).arg(&place).args([SERIES, runs]), 0)?;
        let mut compact = Command::new(programs.join("proofmark-history"));
        expect(compact.arg("compact").arg(&place), 0)?;
    }
    let mut ask = Command::new(python(root)?);
    ask.arg(root.join("engines/engines.py")).arg(&place).arg(root.join("engines/queries.sql"));
    ask.arg(programs.join("proofmark-history-query"));
    ask.arg(check::target(&root.join("engines"))?.join("debug/proofmark-engines"));
    expect(&mut ask, 0)
}

/// The interpreter that has the engines.
fn python(root: &Path) -> Result<PathBuf, Failure> {
    let folder = root.join("target/engines/python");
    let python = folder.join("bin/python");
    let ready = folder.join("ready");
    if fs::read_to_string(&ready).is_ok_and(|known| known == ENGINES.join(" ")) {
        return Ok(python);
    }
    expect(Command::new("python3").args(["-m", "venv"]).arg(&folder), 0)?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    expect(install.args(ENGINES), 0)?;
    fs::write(&ready, ENGINES.join(" ")).map_err(|error| error.to_string())?;
    Ok(python)
}
