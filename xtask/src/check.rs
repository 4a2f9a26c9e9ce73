//! The steps of CI, in the order in which a mistake is cheapest to find; what measures comes last.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::ahead::Ahead;
use crate::{
    Failure, arrows, bench, book, docs, exchange, library, mcp, metadata, own, smoke, tidy, triton,
    tutorial,
};

struct Step {
    name: &'static str,
    purpose: &'static str,
    run: fn(&Path, &mut Notes) -> Result<(), Failure>,
}

/// Lines worth repeating under the summary, where a reader of a long log looks.
pub(crate) type Notes = Vec<String>;

const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        purpose: "rustfmt has nothing to change",
        run: |root, _| cargo(root, &["fmt", "--all", "--check"], &[]),
    },
    Step {
        name: "clippy",
        purpose: "no warning in any target",
        run: |root, _| {
            cargo(root, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])
        },
    },
    Step {
        name: "arrows",
        purpose: "no forbidden dependency between crates, no circle of files",
        run: |root, _| arrows::run(root),
    },
    Step {
        name: "tidy",
        purpose: "sizes, names, headers, unsafe, dead files",
        run: |root, _| tidy::run(root),
    },
    Step {
        name: "peers",
        purpose: "the libraries that tests meet are there",
        run: |root, _| peers(root),
    },
    Step { name: "test", purpose: "every test, with nextest", run: nextest },
    Step {
        name: "history",
        purpose: "the history, which has a lock file of its own: no warning, every test",
        run: |root, _| history(root),
    },
    Step {
        name: "doctest",
        purpose: "every example in the docs",
        run: |root, _| cargo(root, &["test", "--doc", "--workspace", "--quiet"], &[]),
    },
    Step {
        name: "layer",
        purpose: "a layer of a transformer through the library is what its oracles say",
        run: |root, _| layer(root),
    },
    Step {
        name: "library",
        purpose: "a crate outside calls the ops, from the folder and from the package",
        run: library::run,
    },
    Step {
        name: "doc",
        purpose: "the docs build without a warning",
        run: |root, _| {
            cargo(root, &["doc", "--no-deps", "--workspace"], &[("RUSTDOCFLAGS", "-D warnings")])
        },
    },
    Step {
        name: "deny",
        purpose: "licences, banned crates, sources",
        run: |root, _| cargo(root, DENY, &[]),
    },
    Step {
        name: "docs",
        purpose: "tables and pages that are made from records and the program are fresh",
        run: |root, _| docs::check(root),
    },
    Step { name: "book", purpose: "no dead link; the book builds", run: book::run },
    Step {
        name: "own",
        purpose: "an op of a user: its reference, a right kernel, wrong ones",
        run: |root, _| own::run(root),
    },
    Step {
        name: "triton",
        purpose: "kernels in Triton: right ones proven, wrong ones refused, no time",
        run: |root, _| triton::some(root),
    },
    Step {
        name: "mcp",
        purpose: "the MCP server judges kernels for the official client",
        run: |root, _| mcp::run(root),
    },
    Step {
        name: "bench",
        purpose: "a crate outside proves and measures its kernels by `cargo bench`",
        run: bench::run,
    },
    Step {
        name: "tutorial",
        purpose: "every command of the typed pages ends as its page says",
        run: |root, _| tutorial::check(root),
    },
    Step { name: "smoke", purpose: "the program's main commands", run: |root, _| smoke::run(root) },
    Step {
        name: "exchange",
        purpose: "other tools read what is exported for them",
        run: exchange::run,
    },
];

/// Steps that measure, or whose tests are slower beside others: nothing else runs meanwhile.
const ALONE: &[&str] = &["test", "own", "triton", "mcp", "bench", "tutorial", "smoke", "exchange"];

/// What is made ahead: from the start of which step on, for which later step, by which commands.
const AHEAD: &[(&str, &str, Commands)] = &[
    ("fmt", "history", history_ahead),
    ("fmt", "deny", tools_ahead),
    ("history", "own", pytorch_ahead),
];

type Commands = fn(&Path) -> Result<Vec<Command>, Failure>;

/// Advisories need a database from the network: docs/ci/advisories.yml checks them.
const DENY: &[&str] = &["deny", "check", "bans", "licenses", "sources"];

/// Prints the names that `--only` takes.
pub(crate) fn list() {
    for step in STEPS {
        println!("{:8} {}", step.name, step.purpose);
    }
}

/// Runs the step called `name`.
pub(crate) fn run_one(root: &Path, name: &str) -> Result<(), Failure> {
    let step = STEPS
        .iter()
        .find(|step| step.name == name)
        .ok_or_else(|| format!("no step `{name}`; `check --list` names them"))?;
    run_steps(root, std::slice::from_ref(step))
}

/// Runs every step and stops at the first that fails.
pub(crate) fn run_all(root: &Path) -> Result<(), Failure> {
    run_steps(root, STEPS)
}

fn run_steps(root: &Path, steps: &[Step]) -> Result<(), Failure> {
    let all = Instant::now();
    let mut summary = Vec::new();
    let mut notes = Notes::new();
    let mut failure = None;
    let mut ahead = Ahead::default();
    for step in steps {
        println!("--- {}: {}", step.name, step.purpose);
        if ALONE.contains(&step.name) && !ahead.is_empty() {
            let begin = Instant::now();
            notes.extend(ahead.wait());
            summary.push(row("(wait)", "ahead", begin));
        }
        let begin = Instant::now();
        let outcome = start_ahead(root, (step, steps), &mut ahead)
            .and_then(|()| (step.run)(root, &mut notes));
        let word = if outcome.is_ok() { "ok" } else { "FAILED" };
        summary.push(row(step.name, word, begin));
        if let Err(cause) = outcome {
            failure = Some(format!(
                "step `{name}` failed: {cause}\nhint: `cargo xtask check --only {name}` repeats it",
                name = step.name
            ));
            break;
        }
    }
    println!("--- summary");
    summary.push(row("(all)", "", all));
    for line in summary.iter().chain(&notes) {
        println!("{line}");
    }
    failure.map_or(Ok(()), Err)
}

/// A line of the summary.
fn row(name: &str, word: &str, begin: Instant) -> String {
    format!("{name:8} {word:6} {:7.1} s", begin.elapsed().as_secs_f64())
}

/// Starts what is made ahead from this step on, if the step that needs it comes.
fn start_ahead(
    root: &Path,
    (step, steps): (&Step, &[Step]),
    ahead: &mut Ahead,
) -> Result<(), Failure> {
    for (first, later, commands) in AHEAD {
        if *first == step.name && steps.iter().any(|step| step.name == *later) {
            ahead.start(later, commands(root)?, &target(root)?);
        }
    }
    Ok(())
}

const HISTORY: &str = "crates/history";
/// With the query engine, which is not a default member because it takes minutes to build.
const HISTORY_TESTS: &[&str] = &["nextest", "run", "--workspace", "--locked"];
const HISTORY_CLIPPY: &[&str] = &["clippy", "--all-targets", "--locked", "--", "-D", "warnings"];

/// Its own folder takes what is built, so that it can be built beside the rest.
fn history_ahead(root: &Path) -> Result<Vec<Command>, Failure> {
    let build: &[&str] = &[HISTORY_TESTS, &["--no-run"]].concat();
    let cargo = |args: &&[&str]| {
        let mut command = Command::new("cargo");
        command.current_dir(root.join(HISTORY)).args(*args);
        command
    };
    Ok([build, HISTORY_CLIPPY].iter().map(cargo).collect())
}

/// Programs that steps start, and how they are installed where they are missing. They run for
/// seconds: optimised, they would take minutes to build.
const TOOLS: &[(&str, &str, &str)] = &[
    ("cargo", "deny", "cargo-deny --version ~0.20"),
    ("mdbook", "build", "mdbook --version ~0.5 --no-default-features --features search"),
];

/// The tools that are missing; they share what is built for both.
fn tools_ahead(root: &Path) -> Result<Vec<Command>, Failure> {
    let is_here = |(program, word, _): &&(&str, &str, &str)| {
        let asked = Command::new(program).args([word, "--help"]).output();
        asked.is_ok_and(|output| output.status.success())
    };
    let built = target(root)?.join("tools");
    let install = |(_, _, package): &(&str, &str, &str)| {
        let mut command = Command::new("cargo");
        command.args(["install", "--locked", "--debug"]).args(package.split(' '));
        command.env("CARGO_TARGET_DIR", &built).env("CARGO_PROFILE_DEV_DEBUG", "false");
        command
    };
    Ok(TOOLS.iter().filter(|tool| !is_here(tool)).map(install).collect())
}

/// A download of gigabytes.
fn pytorch_ahead(root: &Path) -> Result<Vec<Command>, Failure> {
    let peers = root.join(own::PEERS);
    let program = program(root)?;
    Ok(missing_peer(&peers, &program, "pytorch").into_iter().collect())
}

/// Checks the workspace of the history as the others are checked.
fn history(root: &Path) -> Result<(), Failure> {
    let folder = root.join(HISTORY);
    cargo(&folder, &["fmt", "--all", "--check"], &[])?;
    cargo(&folder, HISTORY_CLIPPY, &[])?;
    cargo(&folder, &[&["deny", "--config", "../../deny.toml"], &DENY[1..]].concat(), &[])?;
    cargo(&folder, HISTORY_TESTS, &[])
}

/// Peers that CI tests for real; others are tested where they are installed.
const PEERS: &str = "openblas,onednn,onnxruntime,numpy,matrixmultiply";

/// Where they are kept, below the root.
const PEERS_FOLDER: &str = "target/peers";

/// Gets the peers, as a user would.
fn peers(root: &Path) -> Result<(), Failure> {
    let program = program(root)?;
    let folder = root.join(PEERS_FOLDER);
    PEERS.split(',').try_for_each(|name| add_peer(&folder, &program, name))
}

/// Gets a peer into a folder, unless it is there.
pub(crate) fn add_peer(folder: &Path, program: &Path, name: &str) -> Result<(), Failure> {
    let Some(mut command) = missing_peer(folder, program, name) else { return Ok(()) };
    let line = format!("proofmark peers add {name}");
    println!("$ {line}");
    let status = command.status().map_err(|error| format!("`{line}` did not start: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("`{line}` failed")),
    }
}

/// The command that gets a peer into a folder; nothing if it is there.
fn missing_peer(folder: &Path, program: &Path, name: &str) -> Option<Command> {
    if folder.join(name).join("peer.json").exists() {
        return None;
    }
    let mut command = Command::new(program);
    command.args(["peers", "add", name]).env("PROOFMARK_PEERS", folder);
    Some(command)
}

/// Builds all that tests need, with their features and so only once; gives the program.
pub(crate) fn program(root: &Path) -> Result<PathBuf, Failure> {
    cargo(root, &["nextest", "run", "--workspace", "--no-run"], &[])?;
    Ok(target(root)?.join("debug/proofmark"))
}

/// Where cargo puts what it builds.
pub(crate) fn target(root: &Path) -> Result<PathBuf, Failure> {
    let workspace = metadata::read(root, &["--no-deps"])?;
    Ok(PathBuf::from(metadata::text(&workspace, "target_directory")))
}

/// Builds the example with the features that the tests were built with, and runs it.
fn layer(root: &Path) -> Result<(), Failure> {
    cargo(root, &["build", "--quiet", "--workspace", "--examples"], &[])?;
    let example = target(root)?.join("debug/examples/transformer_layer");
    let status = Command::new(&example).args(["--threads", "2"]).status();
    match status.map_err(|error| format!("{}: {error}", example.display()))?.success() {
        true => Ok(()),
        false => Err("the layer of the example differs from its oracles".to_owned()),
    }
}

/// Runs the tests and notes what nextest says from its summary line on.
fn nextest(root: &Path, notes: &mut Notes) -> Result<(), Failure> {
    let line = "cargo nextest run --workspace --profile ci";
    println!("$ {line}");
    let peers = root.join(PEERS_FOLDER);
    // Without that step the tests of peers say what is missing; with it, none may be.
    let required = if peers.exists() { PEERS } else { "" };
    let mut child = Command::new("cargo")
        .current_dir(root)
        .env("PROOFMARK_PEERS", peers)
        .env("PROOFMARK_REQUIRE_PEERS", required)
        // Here a snapshot is compared and never accepted, whatever the shell says.
        .env("INSTA_UPDATE", "no")
        .args(line.split(' ').skip(1))
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("`{line}` did not start: {error}"))?;
    if let Some(stderr) = child.stderr.take() {
        let mut has_ended = false;
        for text in BufReader::new(stderr).lines().map_while(Result::ok) {
            eprintln!("{text}");
            has_ended |= is_summary(&text);
            if has_ended {
                notes.push(text);
            }
        }
    }
    let status = child.wait().map_err(|error| format!("`{line}`: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{line}` ended with {status}")) }
}

fn is_summary(line: &str) -> bool {
    line.trim_start().starts_with("Summary [")
}

/// Runs `cargo` with `args` and the extra environment `env`; its output goes straight through.
pub(crate) fn cargo(root: &Path, args: &[&str], env: &[(&str, &str)]) -> Result<(), Failure> {
    let line = format!("cargo {}", args.join(" "));
    println!("$ {line}");
    let status = Command::new("cargo")
        .current_dir(root)
        .args(args)
        .envs(env.iter().copied())
        .status()
        .map_err(|error| format!("`{line}` did not start: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{line}` ended with {status}")) }
}

#[cfg(test)]
mod tests {
    use super::is_summary;

    #[test]
    fn the_summary_of_nextest_is_told_from_its_other_lines() {
        assert!(is_summary("     Summary [   0.010s] 3 tests run: 3 passed, 0 skipped"));
        assert!(!is_summary("        PASS [   0.004s] xtask check::tests::summary"));
    }
}
