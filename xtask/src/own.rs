//! An op of a user from the first command on: its reference, a right kernel, wrong ones.

use crate::{Failure, check, metadata};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where PyTorch is kept, below the root. The tests do not meet it: they would take longer.
pub(crate) const PEERS: &str = "target/own-peers";

/// Wrong or idle kernels for the op that `new op` writes.
const CHEATS: &str = "xtask/fixtures/own/cheats.c";

/// Those that do the work where the calls of a race come slowly enough, or are few enough.
const HONEST_AT_TIMES: &[&str] = &[
    "computes_after_a_pause",
    "replays_calls_that_follow_at_once",
    "returns_while_its_result_stands",
    "is_honest_at_first",
];

/// Installs PyTorch as a user does, tests the modules that derive error scales, and walks through a
/// new op.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    // Commands run in other folders.
    let root = &root.canonicalize().map_err(|error| error.to_string())?;
    let program = check::program(root)?;
    let peers = root.join(PEERS);
    check::add_peer(&peers, &program, "pytorch")?;
    modules(root, &peers)?;
    walk(root, &program, &peers)
}

/// The unit tests of the modules that run beside a reference, in the interpreter of the peer.
fn modules(root: &Path, peers: &Path) -> Result<(), Failure> {
    let place = fresh(&root.join("target/own-reference"))?;
    for source in ["reference", "format"] {
        let source = root.join("crates/own/src").join(source);
        let files = fs::read_dir(&source).map_err(|error| error.to_string())?.flatten();
        for file in files.map(|file| file.path()) {
            if file.extension().is_some_and(|extension| extension == "py") {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                fs::copy(&file, place.join(format!("proofmark_{name}")))
                    .map_err(|error| error.to_string())?;
            }
        }
    }
    let mut tests = Command::new(peers.join("pytorch/venv/bin/python"));
    tests.args(["-m", "unittest", "discover", "--quiet", "--start-directory"]);
    tests.arg(root.join("crates/own/tests/reference")).env("PROOFMARK_REFERENCE", place);
    tests.env("PYTHONDONTWRITEBYTECODE", "1");
    expect(&mut tests, 0)
}

/// Commands as a user types them, with the exit code that each must have.
fn walk(root: &Path, program: &Path, peers: &Path) -> Result<(), Failure> {
    let place = fresh(&root.join("target/own-walk"))?;
    let run = |line: &str, code: i32| {
        let mut command = Command::new(program);
        command.args(line.split(' ')).current_dir(&place).env("PROOFMARK_PEERS", peers);
        expect(&mut command, code)
    };
    run("new op row_norm", 0)?;
    run("list ops", 0)?;
    run("prove row_norm", 0)?;
    run("bench row_norm --quick", 0)?;
    // One of the wrong kernels that `selftest gate` makes; all of them take minutes.
    let small = "repro row_norm:f32[rows=3,cols=5] --with mutant/output_0_zeros";
    run(small, 3)?;
    // Wrong kernels, beside the right one: one forgets the weight of the last column, and the other
    // loses a NaN where the weight is zero.
    let kernels = place.join("ops/row_norm/kernels");
    let text = |name: &str| fs::read_to_string(kernels.join(name)).map_err(|e| e.to_string());
    let right = "from[col] * scale * weight[col]";
    for (name, wrong) in [
        ("wrong", "from[col] * scale * (col + 1 < cols ? weight[col] : 1)"),
        ("skips_zeros", "(weight[col] == 0 ? 0 : from[col] * scale * weight[col])"),
    ] {
        let code = text("plain.c")?.replace(right, wrong);
        let described = text("plain.toml")?.replace("plain.", &format!("{name}."));
        for (extension, text) in [("c", code), ("toml", described)] {
            fs::write(kernels.join(format!("{name}.{extension}")), text)
                .map_err(|error| error.to_string())?;
        }
        run(&format!("prove row_norm --with own/{name}"), 3)?;
    }
    submissions(&place, &kernels, &run)?;
    cheats(root, program, peers, &place)?;
    formats(root, &run)?;
    // Its result is 0 whatever the inputs are: nothing can be proven, and nothing is refused.
    let mut blind = Command::new(program);
    blind.args(["prove", "nothing_8", "--with", "own/reference", "--format", "csv"]);
    blind.current_dir(&place).env("PROOFMARK_PEERS", peers);
    let told = blind.output().map_err(|error| error.to_string())?;
    let told = String::from_utf8_lossy(&told.stdout);
    if !told.contains("UNSUPPORTED") || told.contains("PROVEN") {
        return Err(format!("a problem that cannot tell is not UNSUPPORTED: {told}"));
    }
    traces(root, peers, &place.join("traces.jsonl"))
}

/// A problem of each format: the reference and a right answer are proven, a wrong one is refused.
fn formats(root: &Path, run: &dyn Fn(&str, i32) -> Result<(), Failure>) -> Result<(), Failure> {
    let place = root.join("crates/own/tests/formats");
    let place = place.display();
    let made = |line: String| run(&line, 0);
    made(format!(
        "new op --from {place}/kernelbench/7_Scaled_Rows.py --bytes 65536 --answer \
         {place}/kernelbench/right.py --answer {place}/kernelbench/wrong.py"
    ))?;
    made(format!("new op --from {place}/kernelbench/8_Nothing.py"))?;
    made(format!(
        "new op --from {place}/flashinfer/definition.json --workloads \
         {place}/flashinfer/workloads.jsonl --answer {place}/flashinfer/right.json --answer \
         {place}/flashinfer/wrong.json"
    ))?;
    made(format!(
        "new op --from {place}/gpu_mode/row_sums --answer {place}/gpu_mode/right.py --answer \
         {place}/gpu_mode/wrong.py"
    ))?;
    let right = [("scaled_rows_7", "right"), ("scaled_gather", "right_v1"), ("row_sums", "right")];
    for (op, kernel) in right {
        run(&format!("prove {op} --with own/reference"), 0)?;
        run(&format!("prove {op} --with own/{kernel}"), 0)?;
        run(&format!("prove {op} --with own/{}", kernel.replace("right", "wrong")), 3)?;
    }
    run("bench scaled_gather --quick", 3)?;
    run("export latest --to flashinfer-trace --out traces.jsonl", 0)
}

/// The traces are what flashinfer-bench itself reads, and have no field that it does not know.
fn traces(root: &Path, peers: &Path, file: &Path) -> Result<(), Failure> {
    let place = fresh(&root.join("target/own-flashinfer"))?;
    let python = peers.join("pytorch/venv/bin/python");
    let mut venv = Command::new(&python);
    venv.args(["-m", "venv"]).arg(&place);
    expect(&mut venv, 0)?;
    // Its other dependencies are for GPUs; the models of its data need pydantic alone.
    for packages in [["--no-deps", "flashinfer-bench==0.1.2"], ["--quiet", "pydantic"]] {
        let mut install = Command::new(place.join("bin/python"));
        install.args(["-m", "pip", "install", "--quiet"]).args(packages);
        expect(&mut install, 0)?;
    }
    let mut check = Command::new(place.join("bin/python"));
    check.arg(root.join("crates/own/tests/formats/flashinfer/validate.py")).arg(file);
    expect(&mut check, 0)
}

/// The kernels of the walk as submissions: a right one, one in Python, a wrong one.
fn submissions(
    place: &Path,
    kernels: &Path,
    run: &dyn Fn(&str, i32) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // Their libraries lie beside them, because nothing of a submission is built.
    let submissions = place.join("submissions");
    fs::create_dir_all(&submissions).map_err(|error| error.to_string())?;
    for (from, to) in [
        ("plain.toml", "fast.toml"),
        ("plain.so", "plain.so"),
        ("plain.c", "plain.c"),
        ("wrong.toml", "slow.toml"),
        ("wrong.so", "wrong.so"),
    ] {
        fs::copy(kernels.join(from), submissions.join(to)).map_err(|error| error.to_string())?;
    }
    let arrays = "import numpy as np\n\ndef run(x, weight, y, eps):\n    scale = 1 / np.sqrt(\
        np.square(x, dtype=np.float64).mean(axis=-1, keepdims=True) + eps)\n    \
        np.multiply(x * scale.astype(np.float32), weight, out=y)\n";
    fs::write(submissions.join("arrays.py"), arrays).map_err(|error| error.to_string())?;
    let rules = "--quick --settle 0 --quiet --format table --case row_norm:f32[rows=32,cols=256]";
    run(&format!("judge row_norm submissions/fast.toml --held-out 0 {rules}"), 0)?;
    let in_python = "judge row_norm submissions/arrays.py --against own/plain --held-out 1";
    run(&format!("{in_python} {rules} --isolation t2"), 0)?;
    run(&format!("judge row_norm submissions/slow.toml {rules}"), 3)
}

/// Kernels that earn a number without the work beside the right one, in one race: none is proven,
/// or it did the work in this race and took its time.
fn cheats(root: &Path, program: &Path, peers: &Path, place: &Path) -> Result<(), Failure> {
    let text =
        fs::read_to_string(root.join(CHEATS)).map_err(|error| format!("{CHEATS}: {error}"))?;
    let kernels = place.join("ops/row_norm/kernels");
    let mut library = Command::new("cc");
    library.args(["-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC", "-I"]);
    library.arg(&kernels).arg("-o");
    expect(library.arg(kernels.join("cheats.so")).arg(root.join(CHEATS)).arg("-lm"), 0)?;
    let name =
        |line: &'_ str| Some(line.strip_prefix("void ")?.strip_suffix("(OPERANDS)")?.to_owned());
    let names: Vec<String> = text.lines().filter_map(name).collect();
    if names.is_empty() {
        return Err(format!("{CHEATS} has no line `void NAME(OPERANDS)`"));
    }
    let described = fs::read_to_string(kernels.join("plain.toml")).map_err(|e| e.to_string())?;
    let call = described.lines().find(|line| line.starts_with("call = "));
    let call = call.ok_or("the first kernel of a new op has no line `call = `")?;
    for name in &names {
        let text = format!("library = \"cheats.so\"\nsymbol = \"{name}\"\n{call}\n");
        fs::write(kernels.join(format!("{name}.toml")), text).map_err(|error| error.to_string())?;
    }
    let mut bench = Command::new(program);
    bench.current_dir(place).env("PROOFMARK_PEERS", peers);
    bench.args(["bench", "row_norm", "--sweep", "rows=32 cols=256", "--with", "own/*"]);
    bench.args(["--quick", "--settle", "0", "--threads", "1", "--quiet", "--format", "json"]);
    println!("$ {bench:?}");
    let said = bench.output().map_err(|error| error.to_string())?;
    let said: Value = serde_json::from_slice(&said.stdout).map_err(|error| error.to_string())?;
    let records = metadata::array(&said, "records");
    let time_of = |name: &str| {
        let own = format!("own/{name}");
        let record = records.iter().find(|record| record["contender"] == own.as_str())?;
        record["time_ms"].as_f64().filter(|_| record["outcome"] == "PROVEN")
    };
    let plain = time_of("plain").ok_or_else(|| format!("own/plain is not proven:\n{said}"))?;
    for name in &names {
        let Some(time) = time_of(name) else { continue };
        println!("{name} is proven, at {:.2} of the time of the right kernel", time / plain);
        if !HONEST_AT_TIMES.contains(&name.as_str()) || time < 0.9 * plain {
            return Err(format!("own/{name} must not be proven:\n{said}"));
        }
    }
    println!("{} wrong or idle kernels, none has gained anything", names.len());
    Ok(())
}

/// An empty folder.
pub(crate) fn fresh(place: &Path) -> Result<PathBuf, Failure> {
    if place.exists() {
        fs::remove_dir_all(place).map_err(|error| error.to_string())?;
    }
    fs::create_dir_all(place).map_err(|error| error.to_string())?;
    Ok(place.to_owned())
}

/// Runs a command, which must end with a code.
pub(crate) fn expect(command: &mut Command, code: i32) -> Result<(), Failure> {
    println!("$ {command:?}");
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    match status.code() == Some(code) {
        true => Ok(()),
        false => Err(format!("{command:?} ended with {status}, not with {code}")),
    }
}
