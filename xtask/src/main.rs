//! The repository's own commands: `cargo xtask check` is what CI runs.

#![expect(clippy::disallowed_methods, reason = "xtask starts cargo, times its steps and exits")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "xtask talks to a person")]

mod ahead;
mod arrows;
mod bench;
mod book;
mod check;
mod circles;
mod commits;
mod docs;
mod duel;
mod engines;
mod exchange;
mod imports;
mod levels;
mod library;
mod locks;
mod mcp;
mod metadata;
mod own;
mod release;
mod smoke;
mod tidy;
mod tree;
mod triton;
mod tutorial;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

commands:
  check               run every step that CI runs, stop at the first failure
  check --only NAME   run one step
  check --list        list the steps
  long                what is too long for CI: every proof at every cap, all inputs of functions
  levels              fail if the release program leaves code of a level outside it; part of long
  arrows              fail on a dependency between crates that the table does not allow, a circle
                      of files, or a phase of the engine that imports a later one
  tidy                fail on a broken house rule (sizes, names, headers, unsafe, dead files)
  commits             fail on a commit whose subject or files break the rules
  docs                write the tables of the documents from the records and the program
  docs --check        fail if one of them is stale
  locks               choose the newest versions of peers and write their hashes; needs a network
  book                check the links of all pages and build the book in target/book/book
  tutorial [PAGE]     type the commands of the typed pages and record what they print
  tutorial --check    type them and fail if one ends otherwise than the page says
  triton [OP...]      prove every kernel in Triton, in f16 too, and refuse the wrong ones; CI does
                      it for one op
  engines             ask six engines the same questions about one history; no part of CI
  release             make what is published in target/release-artefacts, and try each of it in an
                      empty environment; no part of CI
  release --check     try what is there again; with a NAME, only that
  duel ...            compare with other harnesses; `cargo xtask duel` says how; no part of CI
";

/// Why a command failed, as a message to print; details are printed where they were found.
type Failure = String;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = workspace_root();
    let outcome = match words[..] {
        ["check"] => check::run_all(&root),
        ["check", "--list"] => {
            check::list();
            Ok(())
        }
        ["check", "--only", name] => check::run_one(&root, name),
        ["long"] => smoke::long(&root),
        ["levels"] => levels::run(&root).map(drop),
        ["arrows"] => arrows::run(&root),
        ["tidy"] => tidy::run(&root),
        ["commits"] => commits::run(&root),
        ["docs"] => docs::write(&root),
        ["docs", "--check"] => docs::check(&root),
        ["locks"] => locks::run(&root),
        ["book"] => check::run_one(&root, "book"),
        ["tutorial"] => tutorial::write(&root, None),
        ["tutorial", "--check"] => tutorial::check(&root),
        ["tutorial", page] => tutorial::write(&root, Some(page)),
        ["triton", ref ops @ ..] => triton::all(&root, ops),
        ["engines"] => engines::run(&root),
        ["release", ref rest @ ..] => release::run(&root, rest),
        ["duel", ref rest @ ..] => duel::run(&root, rest),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// The folder above xtask's own, which Cargo names when it starts xtask.
fn workspace_root() -> PathBuf {
    let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    match manifest_dir.as_deref().and_then(Path::parent) {
        Some(root) => root.to_path_buf(),
        None => PathBuf::from("."),
    }
}
