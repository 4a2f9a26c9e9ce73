//! Words in, words out, exit codes.

mod cmd;
mod exit;
mod front;
mod output;
mod progress;

use clap::{FromArgMatches, Parser, Subcommand};
use proofmark_engine::own::SERVE_REFERENCE;
use std::process::ExitCode;

/// Allocations of native kernels are counted, so that a record can say how many a call makes.
#[global_allocator]
static ALLOCATOR: proofmark_worker::CountingAllocator = proofmark_worker::CountingAllocator;

/// Proves compute kernels correct, then measures them side by side.
#[derive(Parser)]
#[command(name = "proofmark", version, long_version = BUILT_FROM, after_help = AFTER_HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// What `--version` prints; `-V` prints its first line. The build script knows the rest.
const BUILT_FROM: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit:   ",
    env!("PROOFMARK_BUILD_COMMIT"),
    "\ncompiler: ",
    env!("PROOFMARK_BUILD_COMPILER"),
    "\ntarget:   ",
    env!("PROOFMARK_BUILD_TARGET"),
    ", ",
    env!("PROOFMARK_BUILD_PROFILE"),
);

const AFTER_HELP: &str = "\
Exit codes: 0 pass, 1 regression, 2 usage, 3 incorrect kernel, 4 integrity, 5 undecided,
6 environment, 7 contender crashed, timed out or did not build, 70 our bug.

First steps:
  proofmark doctor                   may I trust this tool on this machine?
  proofmark prove rms_norm           are the kernels right?
  proofmark bench rms_norm --quick   which is faster, by how much?";

/// One line a command; each is a file in `cmd/`.
#[derive(Subcommand)]
enum Command {
    /// Say what a kernel's machine code is made of, and whether it keeps its promise
    Asm(cmd::asm::Asm),
    /// Keep a worker program, to compare with it later
    Baseline(cmd::baseline::Baseline),
    /// Measure proven contenders side by side
    Bench(Box<cmd::bench::Bench>),
    /// Find the first revision or version that is slower
    Bisect(Box<cmd::bisect::Bisect>),
    /// Hold a change against the rules in proofmark.toml
    Check(Box<cmd::check::Check>),
    /// Find the fastest kernel of each case, or the fastest blocks of products
    Choose(Box<cmd::choose::Choose>),
    /// Decide which of two contenders, revisions or baselines is faster
    Compare(Box<cmd::compare::Compare>),
    /// Print what a shell reads to complete words
    Completions(cmd::completions::Completions),
    /// Measure what the runtime itself costs, beside targets
    Costs(cmd::costs::Costs),
    /// Say whether this machine can be measured on
    Doctor(cmd::doctor::Doctor),
    /// Write a run in the format of another tool
    Export(cmd::export::Export),
    /// Keep the history of runs in a folder or a bucket, and ask it
    History(cmd::history::History),
    /// Read another tool's numbers and keep them beside the runs
    Import(cmd::import::Import),
    /// Write a proofmark.toml, and a workflow or script for CI
    Init(cmd::init::Init),
    /// Judge a kernel that was submitted: one verdict, for contests and agents
    Judge(Box<cmd::judge::Judge>),
    /// List ops with their axes, attributes, kernels and sizes
    List(cmd::list::List),
    /// Say what this machine is
    Machine(cmd::machine::Machine),
    /// Write manual pages
    Man(cmd::man::ManPages),
    /// Make one run of the shards of a plan
    Merge(cmd::merge::Merge),
    /// Say where the time of a contender goes
    Profile(cmd::profile::Profile),
    /// Prove kernels correct
    Prove(cmd::prove::Prove),
    /// Compute every number of a stored run again from its slices
    Replay(cmd::replay::Replay),
    /// Write the folder of an op of your own
    New(cmd::new_op::New),
    /// Show a run: the fastest contenders, what limits them, what to look at next
    Report(cmd::report::Report),
    /// Examine one contender on one case again, as a refusal's last line says
    Repro(cmd::repro::Repro),
    /// List other libraries, or get one to be measured beside
    Peers(cmd::peers::Peers),
    /// Tell how speed grows with threads, and what ends it
    Scale(Box<cmd::scale::Scale>),
    /// Let the tool prove itself on this machine
    Selftest(cmd::selftest::Selftest),
    /// Write the slices of a run as a trace for a browser's viewer
    Trace(cmd::trace::Trace),
    /// Find where one contender starts to pay, as a constant
    Tune(Box<cmd::tune::Tune>),
    /// List workloads, or make one from a model's description
    Workload(cmd::workload::Workload),
    /// Run a reference on command; started by the other commands
    #[command(name = SERVE_REFERENCE, hide = true)]
    Reference(cmd::reference::Reference),
    /// Run kernels on command; started by the other commands
    #[command(name = "__worker", hide = true)]
    Worker(cmd::worker::Worker),
}

fn main() -> ExitCode {
    if std::env::args_os().len() < 2 {
        front::welcome();
        return ExitCode::from(exit::USAGE);
    }
    let parsed = front::command().try_get_matches();
    let arguments = match parsed.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => {
            let is_asked_for = !error.use_stderr();
            // Nothing can be done about a closed pipe here.
            let _ = error.print();
            return ExitCode::from(if is_asked_for { exit::PASS } else { exit::USAGE });
        }
    };
    let is_worker = matches!(arguments.command, Command::Worker(_) | Command::Reference(_));
    if !is_worker {
        cmd::own::load();
    }
    // A bug must not look like a verdict: panics end with a code of their own.
    let run = std::panic::catch_unwind(|| match arguments.command {
        Command::Asm(command) => command.run(),
        Command::Baseline(command) => command.run(),
        Command::Bench(command) => command.run(),
        Command::Bisect(command) => command.run(),
        Command::Check(command) => command.run(),
        Command::Choose(command) => command.run(),
        Command::Compare(command) => command.run(),
        Command::Completions(command) => command.run(),
        Command::Costs(command) => command.run(),
        Command::Doctor(command) => command.run(),
        Command::Export(command) => command.run(),
        Command::History(command) => command.run(),
        Command::Import(command) => command.run(),
        Command::Init(command) => command.run(),
        Command::Judge(command) => command.run(),
        Command::List(command) => command.run(),
        Command::Machine(command) => command.run(),
        Command::Man(command) => command.run(),
        Command::Merge(command) => command.run(),
        Command::New(command) => command.run(),
        Command::Peers(command) => command.run(),
        Command::Profile(command) => command.run(),
        Command::Prove(command) => command.run(),
        Command::Reference(command) => command.run(),
        Command::Replay(command) => command.run(),
        Command::Report(command) => command.run(),
        Command::Repro(command) => command.run(),
        Command::Scale(command) => command.run(),
        Command::Selftest(command) => command.run(),
        Command::Trace(command) => command.run(),
        Command::Tune(command) => command.run(),
        Command::Worker(command) => command.run(),
        Command::Workload(command) => command.run(),
    });
    if !is_worker {
        proofmark_engine::clear_scratch();
    }
    match run {
        Ok(Ok(code)) => ExitCode::from(code),
        Ok(Err(failure)) => {
            output::say_failure(&failure);
            ExitCode::from(failure.code)
        }
        Err(_) => ExitCode::from(exit::BUG),
    }
}
