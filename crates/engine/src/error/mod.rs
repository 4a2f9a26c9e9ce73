//! What can go wrong before and around a run, with what to do about it.

mod hint;

use crate::{BisectError, SubmissionError};
use proofmark_contract::{BadCase, NoTruth};
use proofmark_schema::case::ParseCaseError;
use proofmark_schema::finding::Severity;
use proofmark_schema::proof::Proof;
use proofmark_schema::{Cache, Case, ContenderId, FORMAT_VERSION, Isolation, Layer};
use proofmark_store::StoreError;
use std::path::PathBuf;

/// Why a request cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// There is no such op.
    #[error("there is no op `{name}`")]
    UnknownOp {
        /// What was asked for.
        name: String,
        /// The nearest op.
        nearest: Option<String>,
        /// All ops.
        known: String,
    },
    /// An op has no such kernel.
    #[error("`{op}` has no kernel `{name}`")]
    UnknownKernel {
        /// The op.
        op: String,
        /// What was asked for.
        name: String,
        /// The nearest kernel.
        nearest: Option<String>,
        /// All kernels of the op.
        known: String,
    },
    /// A pattern of `--with` matches no contender.
    #[error("{}", unmatched(pattern, *is_elsewhere))]
    UnknownContender {
        /// The pattern.
        pattern: String,
        /// Whether it names a peer that has none of the ops asked for.
        is_elsewhere: bool,
        /// The nearest contender.
        nearest: Option<String>,
    },
    /// A file of an op's folder is not of its form.
    #[error(transparent)]
    Own(#[from] proofmark_own::FileError),
    /// The reference of an own op does not give the truth.
    #[error("`{op}`: {reason}")]
    NoTruth {
        /// The op.
        op: String,
        /// Why.
        reason: NoTruth,
    },
    /// A folder defines an op of a name that another has.
    #[error("{}: there is already an op `{name}`", .folder.display())]
    SameOp {
        /// The name.
        name: String,
        /// The folder.
        folder: PathBuf,
    },
    /// A submitted kernel is not judged.
    #[error(transparent)]
    Submission(#[from] SubmissionError),
    /// A search for the first slower candidate finds none.
    #[error(transparent)]
    Bisect(#[from] BisectError),
    /// There is no such peer.
    #[error("there is no peer `{name}`")]
    UnknownPeer {
        /// What was asked for.
        name: String,
        /// The nearest peer.
        nearest: Option<String>,
        /// All peers.
        known: String,
    },
    /// The peer is not on this machine.
    #[error("ABSENT: {name} is not on this machine")]
    AbsentPeer {
        /// Its name.
        name: String,
        /// How to get it.
        hint: String,
    },
    /// A contender runs on a device that was not asked for.
    #[error("{who} runs on {device}, and `--device {asked}` leaves that out")]
    OtherDevice {
        /// The contender.
        who: String,
        /// Its device.
        device: &'static str,
        /// What was asked for.
        asked: String,
    },
    /// A peer's library does not open.
    #[error("BROKEN: the library of peer/{name} cannot be used: {why}")]
    BrokenPeer {
        /// Its name.
        name: String,
        /// Why.
        why: String,
    },
    /// The level of isolation needs what this machine does not have.
    #[error("isolation {} is not possible here: no {}", .level.name(), layers(.missing))]
    NoSandbox {
        /// The level.
        level: Isolation,
        /// What it lacks.
        missing: Vec<Layer>,
    },
    /// A level cannot measure in this state of the caches.
    #[error("isolation T3 cannot measure with caches `{}`: every call has new operands", .0.name())]
    OnlyRotated(Cache),
    /// A device could not be probed.
    #[error("the devices of OpenCL cannot be probed: {0}")]
    DeviceProbe(String),
    /// A part of the tool's own test did not run.
    #[error("the self-test cannot run `{what}`: {said}")]
    SelfTest {
        /// The part.
        what: String,
        /// Why not.
        said: String,
    },
    /// A sweep cannot be read.
    #[error("`{part}` is not a sweep: {expected}")]
    Sweep {
        /// The part that cannot be read.
        part: String,
        /// What would be.
        expected: &'static str,
    },
    /// A suite file cannot be read.
    #[error("the suite of {op} is broken: {reason}")]
    Suite {
        /// The op.
        op: String,
        /// Why.
        reason: String,
    },
    /// A workload cannot be read.
    #[error("workload {name}, line {line}: {reason}")]
    Workload {
        /// Its name or path.
        name: String,
        /// The line, from 1; 0 is the whole file.
        line: usize,
        /// Why.
        reason: String,
    },
    /// A case cannot be read.
    #[error(transparent)]
    ParseCase(#[from] ParseCaseError),
    /// A case does not fit its op.
    #[error("{case}: {reason}")]
    Case {
        /// The case.
        case: String,
        /// Why.
        reason: BadCase,
    },
    /// No sweep, workload, model or file has this name.
    #[error("there is no sweep, workload, model or file `{name}`")]
    UnknownSuite {
        /// What was asked for.
        name: String,
        /// A name near to it.
        nearest: Option<String>,
    },
    /// A case does not fit the memory that is free.
    #[error("{case} {sizes}")]
    NoRoom {
        /// The case.
        case: String,
        /// What it needs and what there is, in words.
        sizes: String,
    },
    /// No contender of the request can run here.
    #[error("no contender can run: {0}")]
    NoField(String),
    /// What was asked for cannot be done as it was asked. The text says why and what can be done.
    #[error("{0}")]
    Unfit(String),
    /// A contender that a command needs is refused.
    #[error("{contender} is refused on {case}: {reason}")]
    Refused {
        /// The contender.
        contender: String,
        /// The case.
        case: String,
        /// Why.
        reason: String,
    },
    /// A contender failed while it ran.
    #[error("{contender} failed on {case}: {said}")]
    Failed {
        /// The contender.
        contender: String,
        /// The case.
        case: String,
        /// What happened.
        said: String,
    },
    /// `PROOFMARK_ISA` names a level that does not exist or that the processor lacks.
    #[error("{0}")]
    Isa(String),
    /// A text is no side of a comparison.
    #[error("`{text}` is no arm of a comparison")]
    Arm {
        /// What was written.
        text: String,
        /// The prefix that may be meant.
        nearest: Option<String>,
    },
    /// The arm does not say which contender is meant.
    #[error("{0} does not say which contender is meant")]
    NoContender(String),
    /// Stored numbers cannot be run.
    #[error("{0} has numbers only: there is no program to run again")]
    OnlyNumbers(String),
    /// A run of `compare`, `scale` or `tune` cannot be resumed as a table.
    #[error("run {0} is no table: `bench` cannot go on with it")]
    NotABench(String),
    /// The folder belongs to no git repository.
    #[error("{} is in no git repository: {said}", path.display())]
    NoRepository {
        /// The folder.
        path: PathBuf,
        /// What git said.
        said: String,
    },
    /// Git does not know the revision.
    #[error("there is no revision `{revision}` in {}", top.display())]
    NoRevision {
        /// What was asked for.
        revision: String,
        /// The repository.
        top: PathBuf,
    },
    /// The user has no folder for what can be made again.
    #[error("there is no folder to keep builds of revisions in")]
    NoCache,
    /// Builds of revisions would be kept where a commit of the same repository can put them.
    #[error(
        "the build cache {} lies in the work tree of {}, where the change that is checked can \
         commit a forged build",
        cache.display(),
        top.display()
    )]
    CacheInside {
        /// The cache.
        cache: PathBuf,
        /// The work tree.
        top: PathBuf,
    },
    /// Git tracks files of a place that a check relies on.
    #[error(
        "{place} {} has the file {} that git tracks, so the change that is checked can forge it",
        path.display(),
        file.display()
    )]
    Committed {
        /// What lies there.
        place: TrustedPlace,
        /// Where.
        path: PathBuf,
        /// A tracked file, from the top of the work tree.
        file: PathBuf,
    },
    /// No package, or several, say which program is the worker.
    #[error("{} in {} says which program is its worker", said_by(packages), top.display())]
    NoWorker {
        /// The repository.
        top: PathBuf,
        /// The packages that say so.
        packages: Vec<String>,
    },
    /// No project file from a folder upwards.
    #[error("there is no proofmark.toml in {} or above", from.display())]
    NoProject {
        /// The folder.
        from: PathBuf,
    },
    /// A project file cannot be read.
    #[error("{}{}: {reason}", path.display(), at_line(*line))]
    Project {
        /// The file.
        path: PathBuf,
        /// The line, from 1; 0 is the whole file.
        line: usize,
        /// Why.
        reason: String,
        /// A key near to one that is not known.
        nearest: Option<String>,
    },
    /// A revision does not build.
    #[error("rev:{revision} does not build:\n{said}")]
    Build {
        /// The revision.
        revision: String,
        /// The last lines of cargo's output.
        said: String,
    },
    /// A command meets an arm that is none.
    #[error("`{0}` is a command, which only another command can be compared with")]
    OnlyPrograms(String),
    /// The text of a command cannot be read.
    #[error(transparent)]
    Program(#[from] proofmark_programs::CommandError),
    /// A command names a program that cannot be read.
    #[error("cannot read the program `{program}`: {said}")]
    NoProgram {
        /// The program.
        program: String,
        /// Why.
        said: String,
    },
    /// No benchmark is left to race.
    #[error("there is no benchmark to race in {place}{why}")]
    NoBenches {
        /// The sides that were asked.
        place: String,
        /// What was left out, with a space before it.
        why: String,
    },
    /// A program does not do what a worker does first.
    #[error("the program of {arm} is no worker that speaks format {FORMAT_VERSION}: {said}")]
    NoGreeting {
        /// The arm.
        arm: String,
        /// What happened instead.
        said: String,
    },
    /// An artefact speaks another format.
    #[error("the program of {arm} speaks format {format}; this version speaks {FORMAT_VERSION}")]
    OtherFormat {
        /// The arm.
        arm: String,
        /// Its format.
        format: u32,
    },
    /// Git or cargo refused.
    #[error("`{what}` failed: {said}")]
    Command {
        /// What was run.
        what: String,
        /// The last lines of what it said.
        said: String,
    },
    /// Git or cargo could not be started.
    #[error("cannot start `{what}`: {said}")]
    Start {
        /// What was to be run.
        what: String,
        /// What the system said.
        said: String,
    },
    /// A text is no shard.
    #[error("`{0}` is no shard")]
    Shard(String),
    /// Runs cannot become one.
    #[error("cannot merge: {message}")]
    Merge {
        /// Why.
        message: String,
        /// What to do about it.
        hint: String,
    },
    /// A folder of references has none for an op.
    #[error("{} has no own op `{op}`", folder.display())]
    NoReference {
        /// The op.
        op: String,
        /// The folder.
        folder: PathBuf,
    },
    /// Another tool's file cannot be read.
    #[error("cannot import {file}: {reason}")]
    Import {
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// Nothing was imported under that name.
    #[error("there is no import `{name}`")]
    UnknownImport {
        /// What was asked for.
        name: String,
        /// The nearest import.
        nearest: Option<String>,
        /// All imports.
        known: String,
    },
    /// A worker cannot be sampled.
    #[error("cannot sample the worker: {0}")]
    Sampling(String),
    /// The kernel does not let a worker be sampled by its clock event.
    #[error("the kernel refuses to sample the worker (perf_event_open): {0}")]
    Perf(#[source] std::io::Error),
    /// Tuned constants cannot be read or used.
    #[error("tuned constants: {0}")]
    Tuning(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a check relies on besides the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustedPlace {
    /// Runs, proofs, baselines and programs.
    Store,
    /// Libraries of peers.
    Peers,
    /// The running program.
    Program,
}

impl std::fmt::Display for TrustedPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            TrustedPlace::Store => "the store",
            TrustedPlace::Peers => "the folder of peers",
            TrustedPlace::Program => "this program",
        })
    }
}

impl EngineError {
    /// The refusal of a contender that a command needs.
    pub(crate) fn refused(who: &ContenderId, case: &Case, proof: &Proof) -> EngineError {
        let reason = proof.refusal.as_ref().map_or_else(String::new, |it| it.reason.clone());
        EngineError::Refused { contender: who.to_string(), case: case.to_string(), reason }
    }

    /// The severity of a failure that is not the command's fault; `None` if the command was wrong.
    pub fn severity(&self) -> Option<Severity> {
        match self {
            EngineError::Store(StoreError::Changed { .. } | StoreError::Altered { .. }) => {
                Some(Severity::Integrity)
            }
            EngineError::CacheInside { .. } | EngineError::Committed { .. } => {
                Some(Severity::Integrity)
            }
            EngineError::Submission(error) => error.severity(),
            EngineError::Bisect(error) => error.severity(),
            EngineError::Store(StoreError::BadName(_) | StoreError::Renamed { .. }) => None,
            EngineError::Build { .. }
            | EngineError::NoGreeting { .. }
            | EngineError::Failed { .. } => Some(Severity::Crashed),
            EngineError::NoTruth { reason: NoTruth::Absent(_), .. }
            | EngineError::Store(_)
            | EngineError::AbsentPeer { .. }
            | EngineError::BrokenPeer { .. }
            | EngineError::NoSandbox { .. }
            | EngineError::DeviceProbe(_)
            | EngineError::SelfTest { .. }
            | EngineError::NoRoom { .. }
            | EngineError::Suite { .. }
            | EngineError::Sampling(_)
            | EngineError::Perf(_)
            | EngineError::OtherFormat { .. }
            | EngineError::NoCache
            | EngineError::Command { .. }
            | EngineError::Start { .. } => Some(Severity::Environment),
            _ => None,
        }
    }
}

fn at_line(line: usize) -> String {
    if line == 0 { String::new() } else { format!(", line {line}") }
}

fn unmatched(pattern: &str, is_elsewhere: bool) -> String {
    if is_elsewhere {
        format!("{pattern} has none of these ops")
    } else {
        format!("no contender matches `{pattern}`")
    }
}

fn said_by(packages: &[String]) -> String {
    match packages {
        [] => "no package".to_owned(),
        some => format!("more than one package ({})", some.join(", ")),
    }
}

/// Layers of a sandbox as words.
fn layers(missing: &[Layer]) -> String {
    missing.iter().map(|layer| layer.describe()).collect::<Vec<_>>().join(" and no ")
}
