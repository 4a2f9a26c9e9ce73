//! The tools of the server.

use crate::asked::{Bench, Compare, Explain, Judge, Prove};
use crate::program::{Program, refused};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolResult;
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use std::path::PathBuf;

/// The server.
pub(crate) struct Server {
    program: Program,
    tool_router: ToolRouter<Server>,
}

impl Server {
    /// Runs a command line, unless a parameter is wrong.
    async fn answer(&self, arguments: Result<Vec<String>, String>) -> CallToolResult {
        match arguments {
            Ok(arguments) => self.program.run(&arguments).await,
            Err(message) => refused(message),
        }
    }
}

#[tool_router]
impl Server {
    pub(crate) fn new(program: Program) -> Server {
        Server { program, tool_router: Server::tool_router() }
    }

    #[tool(description = "Prove kernels of ops correct against a reference in f64. Gives the \
                          outcome of each kernel, with the worst element of a wrong one.")]
    async fn prove(&self, Parameters(asked): Parameters<Prove>) -> CallToolResult {
        self.answer(asked.arguments()).await
    }

    #[tool(description = "Prove the contenders of an op and measure them side by side. Gives \
                          times with intervals, only of contenders that are proven.")]
    async fn bench(&self, Parameters(asked): Parameters<Bench>) -> CallToolResult {
        self.answer(asked.arguments()).await
    }

    #[tool(description = "Decide for each case which of two contenders is faster, or that they \
                          are equal.")]
    async fn compare(&self, Parameters(asked): Parameters<Compare>) -> CallToolResult {
        self.answer(asked.arguments()).await
    }

    #[tool(description = "Judge a kernel file: proven on shown and held-out cases in a sandbox, \
                          raced against a baseline. Gives the outcome, the first wrong element, \
                          the speed-up with its interval, and as reward its lower bound.")]
    async fn judge(&self, Parameters(asked): Parameters<Judge>) -> CallToolResult {
        let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        self.answer(asked.arguments(&folder)).await
    }

    #[tool(
        description = "Explain a stored run: the fastest contenders, what limits them, what was \
                       refused and why, and what to optimise first.",
        annotations(read_only_hint = true)
    )]
    async fn explain(&self, Parameters(asked): Parameters<Explain>) -> CallToolResult {
        self.answer(asked.arguments()).await
    }
}

#[tool_handler(
    router = self.tool_router,
    name = "proofmark",
    instructions = "Proves compute kernels correct, then measures them. Paths are relative to the \
                    working directory of the server. Calls run one after the other."
)]
impl ServerHandler for Server {}
