//! What can go wrong between a run and the disk.

use crate::Damage;
use std::io;
use std::path::{Path, PathBuf};

/// Why the store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The text cannot name a run or a baseline.
    #[error("`{}` cannot name a run or a baseline", .0.escape_debug())]
    BadName(String),
    /// No run answers to the text.
    #[error("no run `{}` in {}", text.escape_debug(), root.display())]
    NotFound {
        /// What was asked for.
        text: String,
        /// Where it was looked for.
        root: PathBuf,
        /// The runs there are, newest first.
        known: Vec<String>,
    },
    /// No baseline has the name.
    #[error("there is no baseline `{}`", name.escape_debug())]
    NoBaseline {
        /// What was asked for.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// A program is not the one that was kept.
    #[error("{} has changed since it was kept: its SHA-256 is now {found}", path.display())]
    Changed {
        /// The program; its name is the hash it had.
        path: PathBuf,
        /// The hash it has.
        found: String,
    },
    /// Several runs answer to the text.
    #[error("`{text}` fits {} runs: {}", matches.len(), matches.join(", "))]
    Ambiguous {
        /// What was asked for.
        text: String,
        /// The runs that begin with it, newest first.
        matches: Vec<String>,
    },
    /// A run of this id is there already.
    #[error("run {0} exists already")]
    Exists(String),
    /// Another process writes this run.
    #[error("run {run} is being written by {}", writer_name(*pid))]
    Busy {
        /// The run.
        run: String,
        /// The writer, where the journal names it.
        pid: Option<u32>,
    },
    /// Another process holds the lock of a file that is to be changed.
    #[error("{} is still locked by another process after {seconds} s", path.display())]
    Locked {
        /// The lock.
        path: PathBuf,
        /// How long it was waited for.
        seconds: u64,
    },
    /// A program was removed before it got a name.
    #[error("the program of `{name}` is no longer kept: there is no {}", program.display())]
    Gone {
        /// The name that it was to get.
        name: String,
        /// Where it lay.
        program: PathBuf,
    },
    /// A sealed run is not the one that was sealed.
    #[error("the sealed run {} was changed: {}", folder.display(), altered(files))]
    Altered {
        /// Its folder.
        folder: PathBuf,
        /// The files that are not as they were.
        files: Vec<Damage>,
    },
    /// A run's folder does not have the run's name.
    #[error("{} holds run {run}, whose folder must be called so", folder.display())]
    Renamed {
        /// The folder.
        folder: PathBuf,
        /// The run in it.
        run: String,
    },
    /// A file is not what was once written.
    #[error("{} is damaged at byte {offset}: {reason}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The first byte that cannot be trusted.
        offset: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// A file was written by a later version.
    #[error("{} has format {format}; this version reads up to {}", file.display(), proofmark_schema::FORMAT_VERSION)]
    Newer {
        /// The file.
        file: PathBuf,
        /// Its format.
        format: u32,
    },
    /// An entry would not be readable again.
    #[error("the entry cannot be kept, because it would not read back: {0}")]
    Unreadable(String),
    /// An entry or a file is longer than any that is read.
    #[error("{bytes} bytes are more than the {limit} that are read")]
    TooLarge {
        /// Its length.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The item is not in the run's plan.
    #[error("item {item} is not in the plan of run {run}")]
    NotPlanned {
        /// The run.
        run: String,
        /// The item.
        item: u64,
    },
    /// The item was recorded before.
    #[error("item {item} of run {run} is recorded already")]
    Twice {
        /// The run.
        run: String,
        /// The item.
        item: u64,
    },
    /// A record names another run or item than the entry that holds it.
    #[error("a record of run {run}, item {item} stands in an entry of another")]
    Foreign {
        /// The run that the record names.
        run: String,
        /// The item that the record names.
        item: u64,
    },
    /// The run is sealed and takes no more entries.
    #[error("run {0} is sealed")]
    Sealed(String),
    /// The run lacks items of its plan and cannot be sealed.
    #[error("run {run} lacks {missing} items of its plan")]
    Incomplete {
        /// The run.
        run: String,
        /// How many.
        missing: usize,
    },
    /// An earlier write failed, so this writer writes no more.
    #[error("run {0} is no longer written after a failed write")]
    Stopped(String),
    /// The system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

fn altered(files: &[Damage]) -> String {
    let words: Vec<String> =
        files.iter().map(|damage| format!("{} ({})", damage.file, damage.reason)).collect();
    words.join(", ")
}

fn writer_name(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

impl StoreError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            StoreError::BadName(_) => {
                "use 1 to 64 letters, digits, `.`, `_` or `-`, not `.` first".to_owned()
            }
            StoreError::NotFound { known, .. } if known.is_empty() => {
                "there is none yet; make one: `proofmark bench rms_norm --quick`, or name another \
                 folder with `--store` or PROOFMARK_STORE"
                    .to_owned()
            }
            StoreError::NotFound { .. } => {
                "give `latest`, the number of a run, its day and op as `2026-11-17-softmax`, its id or \
                 the beginning of it, or a path"
                    .to_owned()
            }
            StoreError::NoBaseline { known, .. } if known.is_empty() => {
                "none is saved: `proofmark baseline save NAME` keeps this program".to_owned()
            }
            StoreError::NoBaseline { known, .. } => format!("baselines: {}", known.join(", ")),
            StoreError::Changed { .. } => {
                "nothing it does can be trusted: delete the file and save it again".to_owned()
            }
            StoreError::Ambiguous { .. } => "give more of the id".to_owned(),
            StoreError::Exists(run) => format!("continue it with `--resume {run}`"),
            StoreError::Busy { run, pid } => format!(
                "wait until {} has ended, or stop it, then use `--resume {run}`",
                writer_name(*pid)
            ),
            StoreError::Locked { path, .. } => format!(
                "wait until the other proofmark has ended, or stop it (`fuser {}` names it), then \
                 run this command again",
                path.display()
            ),
            StoreError::Gone { .. } => "another command removed it, because nothing else named \
                                        it: run this command again"
                .to_owned(),
            StoreError::Altered { .. } => "nothing it says can be trusted: restore the run from a \
                                           copy, or run its plan again"
                .to_owned(),
            StoreError::Renamed { folder, run } => format!(
                "nothing is damaged: give the folder its name back: mv '{}' '{}'",
                folder.display(),
                folder.with_file_name(run).display()
            ),
            StoreError::Damaged { .. } => {
                "restore the run from a copy, or run its plan again".to_owned()
            }
            StoreError::Newer { .. } => "install the version that wrote it".to_owned(),
            StoreError::Sealed(_) => "start a new run".to_owned(),
            StoreError::Incomplete { run, .. } => format!("finish it with `--resume {run}`"),
            StoreError::Stopped(run) => {
                format!("all acknowledged items are kept; continue with `--resume {run}`")
            }
            StoreError::Io { source, .. } => return io_hint(source),
            StoreError::Unreadable(_)
            | StoreError::TooLarge { .. }
            | StoreError::NotPlanned { .. }
            | StoreError::Twice { .. }
            | StoreError::Foreign { .. } => return None,
        })
    }

    /// Turns what the system said into an error that names the deed and the file.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_owned();
        move |source| StoreError::Io { action, path, source }
    }

    pub(crate) fn damaged(file: &Path, offset: u64, reason: impl Into<String>) -> StoreError {
        StoreError::Damaged { file: file.to_owned(), offset, reason: reason.into() }
    }
}

fn io_hint(source: &io::Error) -> Option<String> {
    let hint = match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, then use `--resume`; all acknowledged items are kept"
        }
        io::ErrorKind::PermissionDenied => "check who owns the directory",
        io::ErrorKind::ReadOnlyFilesystem => "choose a directory that can be written",
        _ => return None,
    };
    Some(hint.to_owned())
}
