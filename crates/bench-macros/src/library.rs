//! Builds the program that is being compiled a second time, as a shared library.
//!
//! A program cannot be loaded into another process, and a shared library can. This macro runs
//! inside the compiler, so that the arguments of its process are those that cargo chose: features,
//! profile, target and flags. The compiler is started once more with the same arguments and another
//! kind of crate. The library lies beside the program.

use proc_macro2::TokenStream;
use quote::quote;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Says to the macros of the second compilation that it is the second.
const SECOND: &str = "PROOFMARK_BENCH_SECOND";

/// The name of the library's file, or why there is none. A mistake in the bench fails both
/// compilations: the program tells of it only if the first one passes.
pub(crate) fn library() -> TokenStream {
    let name = arguments().and_then(|arguments| match Wanted::of(&arguments) {
        Some(wanted) if !is_second() => compile(&wanted).map(|()| wanted.file),
        // As in `cargo check`.
        _ => Err("no program was made".to_owned()),
    });
    match name {
        Ok(name) => quote!(::core::result::Result::Ok(#name)),
        Err(reason) => quote!(::core::result::Result::Err(#reason)),
    }
}

#[expect(clippy::disallowed_methods, reason = "the compiler is told apart from the second one")]
fn is_second() -> bool {
    std::env::var_os(SECOND).is_some()
}

/// The arguments of this compiler. Cargo puts long ones into a file.
fn arguments() -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for argument in std::env::args().skip(1) {
        match argument.strip_prefix('@') {
            Some(path) => {
                let text = std::fs::read_to_string(path);
                let text =
                    text.map_err(|error| format!("the compiler's arguments in {path}: {error}"))?;
                all.extend(text.lines().map(str::to_owned));
            }
            None => all.push(argument),
        }
    }
    Ok(all)
}

/// What is compiled the second time.
#[derive(Debug, PartialEq)]
struct Wanted {
    arguments: Vec<String>,
    file: String,
}

impl Wanted {
    /// The arguments for a library instead of a program; none if no program is made.
    fn of(arguments: &[String]) -> Option<Wanted> {
        let mut kept = Vec::new();
        let (mut name, mut suffix, mut is_linked, mut is_program) = (None, "", false, true);
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            // `--crate-type bin`, `--crate-type=bin`, `-C incremental=…` and `-Cincremental=…`.
            let (key, value) = match argument {
                "--crate-type" | "--crate-name" | "--emit" | "--error-format" | "--json"
                | "--diagnostic-width" | "-C" => (argument, rest.next()?),
                _ if argument.starts_with("-C") => argument.split_at(2),
                _ => argument.split_once('=').unwrap_or((argument, "")),
            };
            match (key, value.split_once('=').unwrap_or((value, ""))) {
                // A program has this type, or none is stated.
                ("--crate-type", _) => is_program = value == "bin",
                ("--emit", _) => is_linked |= value.split(',').any(|kind| kind == "link"),
                // Cargo reads these; the second compilation is read by people.
                ("--error-format" | "--json" | "--diagnostic-width", _) => {}
                // Both compilations would write there.
                ("-C", ("incremental", _)) => {}
                ("-C", (option, set)) => {
                    suffix = if option == "extra-filename" { set } else { suffix };
                    kept.extend(["-C".to_owned(), value.to_owned()]);
                }
                ("--crate-name", _) => {
                    name = Some(value);
                    kept.extend([key.to_owned(), value.to_owned()]);
                }
                _ => kept.push(argument.to_owned()),
            }
        }
        if !(is_linked && is_program) {
            return None;
        }
        let more = ["--crate-type=cdylib", "--emit=link", "--cap-lints=allow"];
        kept.extend(more.map(str::to_owned));
        Some(Wanted { arguments: kept, file: format!("lib{}{suffix}.so", name?) })
    }
}

/// Starts the compiler again and waits for it.
#[expect(clippy::disallowed_methods, reason = "the same compiler, with the same arguments")]
fn compile(wanted: &Wanted) -> Result<(), String> {
    let compiler =
        std::env::current_exe().map_err(|error| format!("the compiler is lost: {error}"))?;
    let mut command = Command::new(&compiler);
    command.args(wanted.arguments.iter().map(OsString::from)).env(SECOND, "1");
    // The second compiler does not hold the pipe by which cargo limits its jobs.
    for limits in ["CARGO_MAKEFLAGS", "MAKEFLAGS", "MFLAGS"] {
        command.env_remove(limits);
    }
    let output = command.output().map_err(|error| failed_to(&compiler, &error.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed_to(&compiler, String::from_utf8_lossy(&output.stderr).trim_end())),
    }
}

fn failed_to(compiler: &Path, reason: &str) -> String {
    let compiler = compiler.display();
    format!("the kernels cannot be compiled as a shared library by {compiler}:\n{reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(line: &str) -> Option<Wanted> {
        Wanted::of(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_program_is_compiled_as_a_library_with_the_same_flags() {
        let line = "--crate-name kernels --edition=2024 benches/kernels.rs --error-format=json \
                    --json=artifacts --emit=dep-info,link -C opt-level=3 \
                    --cfg feature=\"fast\" -C incremental=target/x -C extra-filename=-1f \
                    -Ctarget-cpu=native --out-dir target/release/deps";
        let found = wanted(line).expect("a program");
        assert_eq!(found.file, "libkernels-1f.so");
        assert_eq!(
            found.arguments.join(" "),
            "--crate-name kernels --edition=2024 benches/kernels.rs -C opt-level=3 --cfg \
             feature=\"fast\" -C extra-filename=-1f -C target-cpu=native --out-dir \
             target/release/deps --crate-type=cdylib --emit=link --cap-lints=allow"
        );
    }

    #[test]
    fn nothing_is_compiled_where_no_program_is_made() {
        assert_eq!(wanted("--crate-name kernels --crate-type bin --emit=dep-info,metadata"), None);
        assert_eq!(wanted("--crate-name kernels --crate-type lib --emit=link"), None);
        assert!(wanted("--crate-name kernels --crate-type bin --emit=link").is_some());
        assert_eq!(wanted(""), None);
    }
}
