//! The program `proofmark-history-query`, which `proofmark history query` starts.

use clap::Parser;
use proofmark_history::output::{Format, continued, print, rendered, say};
use proofmark_history::{HistoryError, Place, Snapshot, exit};
use proofmark_history_query::{QueryError, Session};
use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;

/// Asks a history a question in SQL
#[derive(Parser)]
#[command(name = "proofmark history query", bin_name = "proofmark history query", version)]
#[command(after_help = AFTER_HELP)]
struct Arguments {
    /// The question; `-` reads it from standard input
    sql: String,
    /// The history: a folder or `s3://bucket/prefix`
    #[arg(long, value_name = "PLACE", env = "PROOFMARK_HISTORY", hide_env = true)]
    from: String,
    /// How the answer is written. `jsonl` and `csv` are written as it is found
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const AFTER_HELP: &str = "\
The tables are points, runs, series and events; `describe points` lists the columns of one. The
dialect is that of Apache DataFusion, and only questions are answered: nothing can be changed. Texts
stand in single quotes.

Exit codes: 0 pass, 2 usage, 4 the history is damaged, 6 environment.

Examples:
  proofmark history query --from results 'describe points'
  proofmark history query --from results \\
    \"select op, contender, count(*), median(value) from points where metric = 'time' group by all\"
  proofmark history query --from results --format csv \\
    'select r.commit, p.value from points p join runs r using (run) order by r.started'";

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            say(&format!("error: cannot start threads: {error}"));
            return ExitCode::from(exit::ENVIRONMENT);
        }
    };
    // A bug must not look like an answer: panics end with a code of their own.
    let run = std::panic::AssertUnwindSafe(|| runtime.block_on(arguments.run()));
    ExitCode::from(match std::panic::catch_unwind(run) {
        Ok(Ok(())) => exit::PASS,
        Ok(Err(error)) => {
            say(&format!("error: {error}"));
            error.exit_code()
        }
        Err(_) => 70,
    })
}

impl Arguments {
    async fn run(self) -> Result<(), QueryError> {
        let sql = match self.sql.as_str() {
            "-" => standard_input()?,
            sql => sql.to_owned(),
        };
        let snapshot = Snapshot::load(&Place::parse(&self.from)?).await?;
        for damage in snapshot.damaged().await? {
            say(&format!("warning: {damage}"));
        }
        let session = Session::new(Arc::new(snapshot))?;
        let mut answer = session.ask(&sql).await?;
        match self.format {
            Format::Table | Format::Json => {
                print(&rendered(self.format, &answer.all().await?)?)?;
            }
            // Each batch is written as it comes, so that an answer may be larger than memory.
            Format::Jsonl | Format::Csv => {
                write(&rendered(self.format, &[answer.columns()])?)?;
                while let Some(batch) = answer.next().await? {
                    write(&continued(self.format, &batch)?)?;
                }
            }
        }
        Ok(())
    }
}

fn write(lines: &str) -> Result<(), HistoryError> {
    if lines.is_empty() { Ok(()) } else { print(lines) }
}

fn standard_input() -> Result<String, QueryError> {
    let mut sql = String::new();
    match std::io::stdin().read_to_string(&mut sql) {
        Ok(_) => Ok(sql),
        Err(error) => Err(HistoryError::Usage(format!("cannot read the question: {error}")).into()),
    }
}
