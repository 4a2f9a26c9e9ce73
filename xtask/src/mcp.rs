//! The MCP server, driven by the official client as an agent drives it.

use crate::own::{self, expect, fresh};
use crate::{Failure, check};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The official client, in an environment below the target folder.
const CLIENT: &str = "mcp==2.3.0";

/// Writes a new op with a right and a wrong submission, and has the client ask for verdicts.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    // Commands run in other folders.
    let root = &root.canonicalize().map_err(|error| error.to_string())?;
    let program = check::program(root)?;
    check::cargo(root, &["build", "--quiet", "--workspace", "--bin", "proofmark-mcp"], &[])?;
    let peers = root.join(own::PEERS);
    check::add_peer(&peers, &program, "pytorch")?;
    let place = fresh(&root.join("target/mcp-walk"))?;
    contest(&program, &place)?;
    let mut client = Command::new(client(root)?);
    client.arg(root.join("xtask/fixtures/mcp/client.py"));
    client.arg(program.with_file_name("proofmark-mcp")).arg(&place);
    client.arg(format!("PROOFMARK_PEERS={}", peers.display())).arg("PROOFMARK_ISOLATION=t2");
    expect(&mut client, 0)
}

/// An op with submissions outside of its folder.
fn contest(program: &Path, place: &Path) -> Result<(), Failure> {
    let mut new = Command::new(program);
    expect(new.args(["new", "op", "row_norm"]).current_dir(place), 0)?;
    let kernels = place.join("ops/row_norm/kernels");
    let submissions = place.join("submissions");
    let text = |name: &str| fs::read_to_string(kernels.join(name)).map_err(|e| e.to_string());
    let (code, file) = (text("plain.c")?, text("plain.toml")?);
    fs::create_dir_all(&submissions).map_err(|error| error.to_string())?;
    let write = |name: String, text: &str| {
        fs::write(submissions.join(name), text).map_err(|error| error.to_string())
    };
    // The wrong one forgets the weight of the last column.
    let wrong = code.replace("* weight[col]", "* (col + 1 < cols ? weight[col] : 1)");
    for (name, code) in [("right", &code), ("wrong", &wrong)] {
        write(format!("{name}.c"), code)?;
        write(format!("{name}.toml"), &file.replace("plain.", &format!("{name}.")))?;
        let mut compiler = Command::new("cc");
        compiler.args(["-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC", "-o"]);
        compiler.args([format!("{name}.so"), format!("{name}.c"), "-lm".to_owned()]);
        expect(compiler.current_dir(&submissions), 0)?;
    }
    write("typo.toml".to_owned(), &file.replace("library", "libary"))
}

/// The interpreter that has the client.
fn client(root: &Path) -> Result<PathBuf, Failure> {
    let folder = root.join("target/mcp-client");
    let python = folder.join("bin/python");
    let ready = folder.join("ready");
    if !ready.exists() {
        expect(Command::new("python3").args(["-m", "venv"]).arg(&folder), 0)?;
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", CLIENT];
        expect(Command::new(&python).args(install), 0)?;
        fs::write(&ready, "").map_err(|error| error.to_string())?;
    }
    Ok(python)
}
