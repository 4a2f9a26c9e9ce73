//! An MCP server over stdio. Each tool starts the program `proofmark` and returns its JSON.
//!
//! The server decides nothing: what a client asks for becomes a command line, and the program's
//! verdict or its error is the answer. A client cannot lower the isolation, choose the seed of a
//! judgement or have a command of a submission run; whoever starts the server can, by the
//! environment of the server.
#![forbid(unsafe_code)]

mod asked;
mod program;
mod server;

use program::Program;
use rmcp::ServiceExt;
use rmcp::transport::stdio;
use server::Server;
use std::io::Write;
use std::process::ExitCode;

/// The exit code of an environment that does not let the server run, as that of `proofmark`.
const ENVIRONMENT: u8 = 6;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let program = match Program::find() {
        Ok(program) => program,
        Err(error) => return failed(&error),
    };
    let served = async {
        let running = Server::new(program).serve(stdio()).await.map_err(|it| it.to_string())?;
        running.waiting().await.map_err(|it| it.to_string())
    };
    match served.await {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

/// Standard output belongs to the protocol.
fn failed(error: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr().lock(), "error: {error}");
    ExitCode::from(ENVIRONMENT)
}
