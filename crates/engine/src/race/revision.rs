//! From a git revision of the user's crate to a worker program, built once and kept.
//!
//! All revisions of a repository are built in one private worktree with one target folder, one
//! after the other: paths that the compiler writes into programs are then the same for both arms,
//! and a build only does what changed.

use crate::{EngineError, Event, Listener};
use proofmark_schema::Artefact;
use proofmark_store::{Shelf, Store, StoreError};
use serde_json::Value;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Words for the working tree as it is.
const WORKTREE: [&str; 2] = [".", "WORKTREE"];
/// Lines of a failed build that are shown.
const LAST_LINES: usize = 20;

/// Builds the worker program of a revision, unless it was built before by the same compiler.
///
/// # Errors
/// If git does not know the revision, the crate names no worker, or it does not build.
pub(crate) fn build(
    store: &Store,
    repo: &Path,
    revision: &str,
    listener: &dyn Listener,
) -> Result<Artefact, EngineError> {
    let workshop = Workshop::open(store, repo)?;
    let commit = workshop.resolve(revision)?;
    let name = format!("{commit}-{}", workshop.id);
    let rustc = run(Command::args(&mut command("rustc", repo), ["-V"]), "rustc -V")?;
    let rustc = rustc.strip_prefix("rustc ").unwrap_or(&rustc).to_owned();
    if let Some(known) = store.artefact(Shelf::Builds, &name)?
        && known.rustc.as_deref() == Some(&rustc)
        && store.program(&known).is_ok()
    {
        return Ok(known);
    }
    listener.hear(&Event::Note(format!("building rev:{revision} ({})", &commit[..12])));
    workshop.check_out(&commit)?;
    let worker = workshop.worker()?;
    let program = workshop.compile(&worker, revision)?;
    let mut artefact = store.keep_program(&program, &worker.args)?;
    artefact.revision = Some(commit);
    artefact.contender = worker.contender;
    store.name_artefact(Shelf::Builds, &name, &artefact)?;
    Ok(artefact)
}

/// What `[package.metadata.proofmark]` of a crate says.
struct WorkerCard {
    package: String,
    program: String,
    args: Vec<String>,
    contender: Option<proofmark_schema::ContenderId>,
}

/// The place where the revisions of one repository are built, one at a time.
struct Workshop {
    /// The user's repository.
    top: PathBuf,
    /// Where in it the crate lies.
    prefix: String,
    /// Tells repositories that share a store apart.
    id: String,
    folder: PathBuf,
    store_root: PathBuf,
    /// Held while a process builds here.
    _lock: File,
}

impl Workshop {
    fn open(store: &Store, repo: &Path) -> Result<Workshop, EngineError> {
        let ask = |what: &str| {
            let said = run(command("git", repo).args(["rev-parse", what]), "git rev-parse");
            said.map_err(|error| match error {
                EngineError::Command { said, .. } => {
                    EngineError::NoRepository { path: repo.to_owned(), said }
                }
                other => other,
            })
        };
        let (top, prefix) = (ask("--show-toplevel")?, ask("--show-prefix")?);
        // FNV-1a is short and stable across versions.
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let id = format!("{top}/{prefix}").bytes().fold(0xcbf2_9ce4_8422_2325, hash);
        let id = format!("{id:016x}");
        let folder = store.root().join("cache").join(&id);
        let made = fs::create_dir_all(&folder).and_then(|()| {
            let lock = File::create(folder.join("lock"))?;
            lock.lock()?;
            Ok((fs::canonicalize(&folder)?, fs::canonicalize(store.root())?, lock))
        });
        let (folder, store_root, lock) = made.map_err(io_error("use", &folder))?;
        Ok(Workshop { top: top.into(), prefix, id, folder, store_root, _lock: lock })
    }

    fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    fn git(&self, args: &[&str]) -> Result<String, EngineError> {
        run(command("git", &self.top).args(args), &format!("git {}", args[0]))
    }

    /// The commit of a revision.
    fn resolve(&self, revision: &str) -> Result<String, EngineError> {
        if WORKTREE.contains(&revision) {
            return self.snapshot();
        }
        let wanted = format!("{revision}^{{commit}}");
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted];
        self.git(&args).map_err(|error| match error {
            EngineError::Command { .. } => {
                EngineError::NoRevision { revision: revision.to_owned(), top: self.top.clone() }
            }
            other => other,
        })
    }

    /// The working tree as a commit of its own, which no branch knows: what git does not ignore,
    /// tracked or not. The user's index is left alone.
    fn snapshot(&self) -> Result<String, EngineError> {
        let index = self.folder.join("index");
        let theirs = self.top.join(self.git(&["rev-parse", "--git-path", "index"])?);
        match fs::copy(&theirs, &index) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error("copy", &theirs)(error));
            }
            _ => {}
        }
        let mut add = command("git", &self.top);
        add.env("GIT_INDEX_FILE", &index).args(["add", "--all", "--", ":/"]);
        if let Ok(inside) = self.store_root.strip_prefix(&self.top) {
            add.arg(format!(":(top,exclude){}", inside.display()));
        }
        run(&mut add, "git add")?;
        let mut write = command("git", &self.top);
        let tree = run(write.env("GIT_INDEX_FILE", &index).arg("write-tree"), "git write-tree")?;
        // The same tree is the same commit: no clock, no name.
        let mut commit = command("git", &self.top);
        for who in ["AUTHOR", "COMMITTER"] {
            commit.env(format!("GIT_{who}_NAME"), "proofmark");
            commit.env(format!("GIT_{who}_EMAIL"), "proofmark@localhost");
            commit.env(format!("GIT_{who}_DATE"), "2000-01-01T00:00:00Z");
        }
        run(commit.args(["commit-tree", &tree, "-m", "working tree"]), "git commit-tree")
    }

    fn check_out(&self, commit: &str) -> Result<(), EngineError> {
        let tree = self.tree();
        let path = tree.display().to_string();
        let moved = tree.is_dir()
            && [&["checkout", "--quiet", "--force", "--detach", commit][..], &["clean", "-ffdxq"]]
                .iter()
                .all(|args| {
                    let mut again = command("git", &tree);
                    run(again.args(*args), "git checkout").is_ok()
                });
        if moved {
            return Ok(());
        }
        // There is no worktree yet, or git has forgotten it.
        if tree.exists() {
            fs::remove_dir_all(&tree).map_err(io_error("remove", &tree))?;
        }
        self.git(&["worktree", "prune"])?;
        self.git(&["worktree", "add", "--quiet", "--force", "--detach", &path, commit])?;
        Ok(())
    }

    /// The crate that says which of its programs is a worker.
    fn worker(&self) -> Result<WorkerCard, EngineError> {
        let place = self.tree().join(&self.prefix);
        let mut metadata = command("cargo", &place);
        metadata.args(["metadata", "--format-version", "1", "--no-deps"]);
        let text = run(&mut metadata, "cargo metadata")?;
        let data: Value = serde_json::from_str(&text).unwrap_or_default();
        let packages = data["packages"].as_array().cloned().unwrap_or_default();
        let cards: Vec<WorkerCard> = packages.iter().filter_map(card).collect();
        let names = cards.iter().map(|card| card.package.clone()).collect();
        match <[WorkerCard; 1]>::try_from(cards) {
            Ok([only]) => Ok(only),
            Err(_) => Err(EngineError::NoWorker { top: self.top.clone(), packages: names }),
        }
    }

    fn compile(&self, worker: &WorkerCard, revision: &str) -> Result<PathBuf, EngineError> {
        let mut cargo = command("cargo", &self.tree().join(&self.prefix));
        cargo.args(["build", "--release", "--locked", "--package", &worker.package]);
        cargo.args(["--bin", &worker.program, "--message-format", "json-render-diagnostics"]);
        cargo.arg("--target-dir").arg(self.folder.join("target"));
        let failed = |said: String| EngineError::Build { revision: revision.to_owned(), said };
        let output = start(&mut cargo, "cargo build")?;
        if !output.status.success() {
            return Err(failed(last_lines(&output.stderr)));
        }
        let built = String::from_utf8_lossy(&output.stdout);
        let messages = built.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let program = |message: Value| {
            let is_it = message["target"]["name"] == worker.program.as_str();
            is_it.then(|| message["executable"].as_str().map(PathBuf::from))?
        };
        messages
            .filter_map(program)
            .next_back()
            .ok_or_else(|| failed("no program came out".to_owned()))
    }
}

/// The card of a package, if it has one.
fn card(package: &Value) -> Option<WorkerCard> {
    let said = &package["metadata"]["proofmark"];
    let args = said["args"].as_array();
    Some(WorkerCard {
        package: package["name"].as_str()?.to_owned(),
        program: said["worker"].as_str()?.to_owned(),
        args: args
            .into_iter()
            .flatten()
            .filter_map(|arg| arg.as_str())
            .map(str::to_owned)
            .collect(),
        contender: said["contender"].as_str().and_then(|text| text.parse().ok()),
    })
}

/// A command in a folder. Variables that git hooks set are removed, because they would lead git to
/// another repository.
#[expect(clippy::disallowed_methods, reason = "git and cargo are asked here, no contender runs")]
fn command(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(std::process::Stdio::null());
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    command
}

fn start(command: &mut Command, what: &str) -> Result<Output, EngineError> {
    command.output().map_err(|error| {
        let folder = command.get_current_dir().unwrap_or(Path::new(".")).display();
        EngineError::Start { what: what.to_owned(), said: format!("{error} (in {folder})") }
    })
}

/// What a command that succeeds prints, without the end of its line.
fn run(command: &mut Command, what: &str) -> Result<String, EngineError> {
    let output = start(command, what)?;
    if !output.status.success() {
        let said = last_lines(&output.stderr);
        return Err(EngineError::Command { what: what.to_owned(), said });
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> EngineError {
    let path = path.to_owned();
    move |source| StoreError::Io { action, path, source }.into()
}
