//! Starts the program and takes its answer.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Stdio;
use tokio::process::Command;
use tokio::sync::Mutex;

/// The variable that names the program.
const VARIABLE: &str = "PROOFMARK";

/// The program `proofmark`.
pub(crate) struct Program {
    path: PathBuf,
    /// One command runs at a time, because measurements disturb each other.
    turn: Mutex<()>,
}

impl Program {
    /// The program that `PROOFMARK` names, or the one beside this server.
    pub(crate) fn find() -> Result<Program, String> {
        #[expect(clippy::disallowed_methods, reason = "the server is a program of its own")]
        let stated = std::env::var_os(VARIABLE).map(PathBuf::from);
        let beside = || Some(std::env::current_exe().ok()?.with_file_name("proofmark"));
        let path = stated.or_else(beside).ok_or("cannot find this program")?;
        match path.is_file() {
            true => Ok(Program { path, turn: Mutex::new(()) }),
            false => Err(format!(
                "there is no {}: install `proofmark` beside this server, or name it with \
                 {VARIABLE}",
                path.display()
            )),
        }
    }

    /// Runs a command line. Its JSON is the answer, whatever the exit code: a kernel that is wrong
    /// is a result. Without JSON, its message is an error. A client that cancels the call ends the
    /// program.
    pub(crate) async fn run(&self, arguments: &[String]) -> CallToolResult {
        let _turn = self.turn.lock().await;
        let mut command = Command::new(&self.path);
        command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
        let output = match command.output().await {
            Ok(output) => output,
            Err(error) => return refused(format!("cannot start {}: {error}", self.path.display())),
        };
        match serde_json::from_slice::<Value>(&output.stdout) {
            Ok(answer) if answer.is_object() => CallToolResult::structured(answer),
            _ => {
                let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                let said = if said.is_empty() { "it said nothing".to_owned() } else { said };
                refused(format!("proofmark ended with {}: {said}", output.status))
            }
        }
    }
}

/// An error of a tool, which the client sees.
pub(crate) fn refused(message: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}
