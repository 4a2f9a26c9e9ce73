//! The program `proofmark-history`, which `proofmark history` starts.

mod program;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = program::Arguments::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            program::say_failure(&format!("cannot start threads: {error}"));
            return ExitCode::from(6);
        }
    };
    // A bug must not look like a verdict: panics end with a code of their own.
    let run = std::panic::AssertUnwindSafe(|| runtime.block_on(arguments.run()));
    ExitCode::from(std::panic::catch_unwind(run).unwrap_or(70))
}
