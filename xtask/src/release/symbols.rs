//! Debug information in a file of its own: `profile` and gdb must find it.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::empty::Empty;
use super::program::SYMBOLS;
use super::tools::succeeded;
use super::{Release, at, copy};
use crate::Failure;

/// A case that takes moments to prove.
const CASE: &str = "softmax:f32[b=1,s=64,d=512]";

/// Where the lines of kernels begin.
const OURS: &str = "crates/ops/src/";

/// Part of the symbol of our `main`, however Rust decorates it.
const MAIN: &str = "9proofmark4main";

/// Profiles with the symbols beside the program, and without; asks gdb too.
pub(super) fn check(release: &Release) -> Result<String, Failure> {
    let empty = Empty::new("symbols")?;
    let program = empty.path("bin/proofmark");
    let symbols = empty.path("bin/.debug").join(SYMBOLS);
    copy(&release.program(), &program)?;
    if names_lines(&empty, &program)? {
        return Err("`profile` names lines without symbols: this check sees nothing".to_owned());
    }
    copy(&release.symbols(), &symbols)?;
    if !names_lines(&empty, &program)? {
        return Err(format!("`profile` names no line of {OURS} though {SYMBOLS} is there"));
    }
    let gdb = gdb(&empty, &program, &symbols)?;
    Ok(format!("`profile` names lines with {SYMBOLS} and none without; {gdb}"))
}

/// Whether `profile` knows from which lines of ours its samples are.
pub(super) fn names_lines(empty: &Empty, program: &Path) -> Result<bool, Failure> {
    let mut profile = empty.command(program);
    profile.args(["profile", "--case", CASE, "--seconds", "0.5", "--format", "json"]);
    let text = succeeded(&mut profile)?;
    let found: Value = serde_json::from_str(&text)
        .map_err(|error| format!("`profile` wrote no JSON: {error}\n{text}"))?;
    let functions = found["functions"].as_array().map_or(0, Vec::len);
    if functions == 0 {
        return Err("`profile` took no sample".to_owned());
    }
    let lines = found["lines"].as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(lines.iter().any(|line| line["name"].as_str().is_some_and(|name| name.starts_with(OURS))))
}

/// Asks gdb for the line of `main`, with the symbols and without.
fn gdb(empty: &Empty, program: &Path, symbols: &Path) -> Result<String, Failure> {
    if Command::new("gdb").arg("--version").output().is_err() {
        return Ok("gdb NOT ASKED, because it is not installed".to_owned());
    }
    let names = succeeded(Command::new("nm").arg(program))?;
    let main = names.lines().find(|line| line.contains(MAIN)).ok_or("nm does not know main")?;
    let question = format!("info line *0x{}", main.split(' ').next().unwrap_or_default());
    let ask = || {
        let mut gdb = empty.command("gdb");
        succeeded(gdb.args(["--batch", "--nx", "--ex", &question]).arg(program))
    };
    let is_line = |text: &str| text.contains("crates/cli/src/main.rs");
    let with = ask()?;
    fs::remove_file(symbols).map_err(at(symbols))?;
    match is_line(&with) && !is_line(&ask()?) {
        true => Ok("gdb does the same".to_owned()),
        false => Err(format!("gdb does not find the line of main by the symbols:\n{with}")),
    }
}
