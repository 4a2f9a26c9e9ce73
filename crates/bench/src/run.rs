//! The `main` of a bench program: it selects kernels and lets `proofmark` judge them.

use crate::flags::{Asked, Baseline, HELP, Mode};
use crate::place::{Place, Placed};
use crate::registry::{kernels, ops};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The variable that names the program, if it is not the `proofmark` of `PATH`.
const PROGRAM: &str = "PROOFMARK";

/// The variable by which the program finds the kernels of this build beside those of folders.
const BENCHES: &str = "PROOFMARK_BENCHES";

/// Exit codes of `proofmark` that are told here too.
const USAGE: u8 = 2;
const ENVIRONMENT: u8 = 6;

/// What the macro `main!` knows of the program.
#[derive(Debug, Clone, Copy)]
pub struct Built {
    /// The file of the shared library with the same functions, or why there is none.
    pub library: Result<&'static str, &'static str>,
    /// The package.
    pub package: &'static str,
    /// The bench.
    pub bench: &'static str,
}

/// A reason to end, with its exit code.
struct Failure {
    code: u8,
    reason: String,
}

impl Failure {
    fn usage(reason: String) -> Failure {
        Failure { code: USAGE, reason }
    }

    fn environment(reason: String) -> Failure {
        Failure { code: ENVIRONMENT, reason }
    }
}

/// Does what the arguments of the program ask for.
pub fn main(built: &Built) -> ExitCode {
    match run(built, std::env::args().skip(1)) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            tell(&format!("error: {}", failure.reason));
            ExitCode::from(failure.code)
        }
    }
}

fn run(built: &Built, arguments: impl Iterator<Item = String>) -> Result<u8, Failure> {
    let asked = Asked::parse(arguments).map_err(Failure::usage)?;
    if asked.mode == Mode::Help {
        print(HELP);
        return Ok(0);
    }
    let of_build = kernels().map_err(Failure::usage)?;
    if asked.mode == Mode::List {
        let listed = of_build.iter().filter(|kernel| !kernel.is_reference());
        let names = listed.map(|kernel| kernel.path()).filter(|name| asked.means(name));
        list(&names.collect::<Vec<_>>(), asked.is_terse);
        return Ok(0);
    }
    for note in &asked.notes {
        tell(&format!("note: {note}"));
    }
    let library = library(built)?;
    let place = Place::of(&library, &format!("{}-{}", built.package, built.bench));
    let here =
        of_build.iter().map(|kernel| Placed { kernel: kernel.clone(), library: library.clone() });
    let mut placed = match &asked.load {
        Some(name) => place.kept(name).map_err(Failure::usage)?,
        None => here.collect(),
    };
    if let Some(baseline) = &asked.baseline {
        add_baseline(&mut placed, &place, baseline)?;
    }
    let failed =
        |error: std::io::Error| Failure::environment(format!("{}: {error}", place.ops().display()));
    let ops: Vec<_> = ops().iter().map(|op| (op.name.to_owned(), op.file(&library))).collect();
    place.write(&ops, &placed).map_err(failed)?;
    let code = judge(&asked, &placed, &place)?;
    if let (Some(name), 0) = (&asked.save, code) {
        let kept: Vec<_> =
            of_build.iter().filter(|kernel| !kernel.is_reference()).cloned().collect();
        place.save(name, &kept, &library).map_err(failed)?;
        tell(&format!(
            "kept as baseline `{name}`: `cargo bench -- --baseline {name}` compares with it"
        ));
    }
    Ok(code)
}

/// The shared library of this program: beside it.
fn library(built: &Built) -> Result<PathBuf, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::environment(format!("this program is lost: {error}")))?;
    let file = built.library.map_err(|reason| Failure::environment(reason.to_owned()))?;
    let library = program.with_file_name(file);
    match library.is_file() {
        true => Ok(library),
        false => Err(Failure::environment(format!(
            "there is no {}, which was built with this program: build it again after `cargo clean -p {}`",
            library.display(),
            built.package
        ))),
    }
}

/// Adds kernels of a baseline beside those of the same name.
fn add_baseline(
    placed: &mut Vec<Placed>,
    place: &Place,
    baseline: &Baseline,
) -> Result<(), Failure> {
    match place.kept(&baseline.name) {
        Ok(kept) => placed.extend(kept),
        Err(_) if baseline.is_lenient => {}
        Err(reason) => return Err(Failure::usage(reason)),
    }
    Ok(())
}

/// Lets the program judge the kernels of each op; the code of the first op that fails.
fn judge(asked: &Asked, placed: &[Placed], place: &Place) -> Result<u8, Failure> {
    let is_meant = |it: &&Placed| !it.kernel.is_reference() && asked.means(&it.kernel.path());
    let meant: Vec<&Placed> = placed.iter().filter(is_meant).collect();
    let mut ops: Vec<&str> = meant.iter().map(|it| it.kernel.op.as_str()).collect();
    ops.sort_unstable();
    ops.dedup();
    let mut worst = 0;
    for op in ops {
        let names = meant.iter().filter(|it| it.kernel.op == op);
        let own: Vec<String> = names.map(|it| format!("own/{}", it.kernel.name)).collect();
        let is_own = is_own(op);
        let code = start(&command_line(asked, op, is_own, &own.join(" ")), place)?;
        worst = if worst == 0 { code } else { worst };
    }
    Ok(worst)
}

/// Whether an op is defined by this program, or by a folder of the project.
fn is_own(op: &str) -> bool {
    let here = std::env::current_dir().unwrap_or_default();
    let is_folder = || here.ancestors().any(|it| it.join("ops").join(op).join("op.toml").is_file());
    ops().iter().any(|own| own.name == op) || is_folder()
}

/// The arguments of the program for the kernels of an op.
fn command_line(asked: &Asked, op: &str, is_own: bool, own: &str) -> Vec<String> {
    let mut line = match asked.mode {
        // A built-in op has native kernels, and an own one a reference that can be measured.
        Mode::Bench => {
            let others = if is_own { "own/reference*" } else { "native/*" };
            let with = format!("{others} {own}");
            vec!["bench".to_owned(), op.to_owned(), "--with".to_owned(), with]
        }
        _ => vec!["prove".to_owned(), op.to_owned(), "--with".to_owned(), own.to_owned()],
    };
    if asked.is_quiet {
        line.push("--quiet".to_owned());
    }
    match asked.mode {
        Mode::Bench => {
            line.extend(asked.is_quick.then(|| "--quick".to_owned()));
            line.extend(asked.for_bench.iter().cloned());
        }
        _ => line.extend(asked.for_prove.iter().cloned()),
    }
    line
}

/// Runs the program and gives its exit code.
#[expect(clippy::disallowed_methods, reason = "a bench program is a door, as the command line is")]
fn start(line: &[String], place: &Place) -> Result<u8, Failure> {
    let program = std::env::var_os(PROGRAM).unwrap_or_else(|| "proofmark".into());
    let mut command = Command::new(&program);
    command.args(line).env(BENCHES, place.ops());
    let status = command.status().map_err(|error| {
        let program = Path::new(&program).display();
        Failure::environment(format!(
            "`{program}` cannot be started: {error}; install it with `cargo install proofmark`, or \
             set {PROGRAM} to its path"
        ))
    })?;
    // A program that a signal ended has no code.
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(ENVIRONMENT))
}

/// Names as libtest lists them.
fn list(names: &[String], is_terse: bool) {
    for name in names {
        print(&format!("{name}: benchmark"));
    }
    if !is_terse {
        print(&format!("\n0 tests, {} benchmarks", names.len()));
    }
}

fn print(line: &str) {
    // Nothing can be done about a closed pipe here.
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
