//! Kernels in Triton: right ones are proven in its interpreter, wrong ones are refused, and none
//! has a time.

use crate::own::{self, fresh};
use crate::{Failure, check};
use serde::Deserialize;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Ops whose kernels CI proves. The interpreter is slow: softmax takes three minutes.
const IN_CI: &[&str] = &["add"];

/// The right kernels of some ops and their wrong ones.
pub(crate) fn some(root: &Path) -> Result<(), Failure> {
    run(root, IN_CI, false)
}

/// The same for these ops, or for each that has a kernel in Triton, and in f16 where it has that.
pub(crate) fn all(root: &Path, ops: &[&str]) -> Result<(), Failure> {
    if !ops.is_empty() {
        return run(root, ops, true);
    }
    let entries = fs::read_dir(root.join(KERNELS)).map_err(|error| error.to_string())?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    run(root, &names.iter().map(String::as_str).collect::<Vec<_>>(), true)
}

const KERNELS: &str = "crates/own/tests/triton/ops";
const MUTANTS: &str = "crates/own/tests/triton/mutants.toml";

/// A wrong kernel: a text of the right one is replaced.
#[derive(Deserialize)]
struct Mutant {
    op: String,
    name: String,
    right: String,
    wrong: String,
}

#[derive(Deserialize)]
struct Mutants {
    mutant: Vec<Mutant>,
}

fn run(root: &Path, ops: &[&str], has_halves: bool) -> Result<(), Failure> {
    // Commands run in another folder.
    let root = &root.canonicalize().map_err(|error| error.to_string())?;
    let program = check::program(root)?;
    let peers = root.join(own::PEERS);
    check::add_peer(&peers, &program, "pytorch")?;
    let place = fresh(&root.join("target/triton"))?;
    let text = fs::read_to_string(root.join(MUTANTS)).map_err(|error| error.to_string())?;
    let Mutants { mutant } = toml::from_str(&text).map_err(|error| error.to_string())?;
    let (mut proven, mut refused) = (0, 0);
    for op in ops {
        let wrong: Vec<&Mutant> = mutant.iter().filter(|it| it.op == *op).collect();
        write(&root.join(KERNELS).join(op), &place.join("ops").join(op), &wrong)?;
        let line = format!("prove {op} --with own/* --dtype f32 --format json");
        let said = json(&program, &line, &place, &peers)?;
        proven += judged(op, &said, &wrong)?;
        refused += wrong.len();
        let kernel = root.join(KERNELS).join(op).join("kernels/triton.py");
        let text = fs::read_to_string(kernel).map_err(|error| error.to_string())?;
        if has_halves && text.contains("\"f16\"") {
            let line = format!("prove {op} --with own/triton --dtype f16 --format json");
            proven += judged(op, &json(&program, &line, &place, &peers)?, &[])?;
        }
    }
    if ops.contains(&"add") {
        untimed(&json(&program, BENCH, &place, &peers)?)?;
    }
    println!("{proven} proofs of right kernels, {refused} wrong ones refused, none has a time");
    Ok(())
}

/// Writes the kernel of an op, and its wrong ones beside it.
fn write(from: &Path, to: &Path, wrong: &[&Mutant]) -> Result<(), Failure> {
    let folder = to.join("kernels");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let right = fs::read_to_string(from.join("kernels/triton.py")).map_err(|e| e.to_string())?;
    let write = |name: &str, text: &str| {
        fs::write(folder.join(format!("{name}.py")), text).map_err(|error| error.to_string())
    };
    write("triton", &right)?;
    for Mutant { name, right: old, wrong: new, .. } in wrong {
        if right.matches(old.as_str()).count() != 1 {
            return Err(format!("`{name}`: its text is not once in the right kernel"));
        }
        write(name, &right.replace(old.as_str(), new))?;
    }
    Ok(())
}

/// The right kernel is proven in the interpreter, and the wrong ones are not proven.
fn judged(op: &str, said: &Value, wrong: &[&Mutant]) -> Result<usize, Failure> {
    let rows = said["results"].as_array().ok_or("there are no proofs")?;
    let row = |kernel: &str| {
        let name = format!("own/{kernel}");
        let found = rows.iter().find(|row| row["kernel"] == name.as_str());
        found.ok_or_else(|| format!("{op}: there is no row of {name}"))
    };
    let right = row("triton")?;
    if right["outcome"] != "PROVEN" || right["interpreted"] != true {
        return Err(format!("{op}: the right kernel is not proven: {right}"));
    }
    for mutant in wrong {
        let outcome = &row(&mutant.name)?["outcome"];
        if !["WRONG", "CRASHED", "CAUGHT"].iter().any(|it| outcome == it) {
            return Err(format!("{op}: `{}` is {outcome}", mutant.name));
        }
        println!("{op} {}: {outcome}", mutant.name);
    }
    println!("{op} triton: proven");
    Ok(1)
}

/// A run with an interpreted kernel beside one that is measured.
const BENCH: &str = "bench --case add:f32[b=1,s=1,d=1024] --with own/triton;native/simd --quick \
                     --threads 1 --format json";

/// The interpreted kernel has a record without a performance, and the other one has a time.
fn untimed(said: &Value) -> Result<(), Failure> {
    let records = said["records"].as_array().ok_or("there are no records")?;
    let time = |who: &str| {
        let is_it = |of: &&Value| of["contender"].as_str().is_some_and(|id| id.starts_with(who));
        records.iter().find(is_it).map(|record| !record["time_ms_low"].is_null())
    };
    match (time("own/triton"), time("native/simd")) {
        (Some(false), Some(true)) => Ok(()),
        (own, native) => Err(format!("times of own/triton: {own:?}, of native/simd: {native:?}")),
    }
}

/// Runs a command and reads what it prints. It may end with 3, for wrong kernels.
fn json(program: &Path, line: &str, place: &PathBuf, peers: &Path) -> Result<Value, Failure> {
    println!("$ proofmark {line}");
    let mut command = Command::new(program);
    // A blank within a pattern is written as a semicolon.
    command.args(line.split_whitespace().map(|word| word.replace(';', " ")));
    command.current_dir(place).env("PROOFMARK_PEERS", peers);
    let output = command.output().map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}
