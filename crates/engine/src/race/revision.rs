//! From a git revision of the user's crate to a worker program, built once and kept.
//!
//! All revisions of a repository are built in one private worktree with one target folder, one
//! after the other: paths that the compiler writes into programs are then the same for both arms,
//! and a build only does what changed.

use crate::git::{Repository, command, is_worktree, last_lines, real, run, start};
use crate::{EngineError, Event, Listener};
use proofmark_schema::Artefact;
use proofmark_store::{Shelf, Store, StoreError};
use serde_json::Value;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The folders in which revisions are built and builds are kept.
pub(crate) struct Builds<'a> {
    /// The cache: outside of the repository, because a commit could forge what it holds.
    pub(crate) cache: &'a Store,
    /// The user's store, which is no part of the working tree.
    pub(crate) store: &'a Path,
    /// The folder of the crate.
    pub(crate) repo: &'a Path,
}

/// Builds the worker program of a revision, unless the cache has it: built from the same commit by
/// the same command and compiler, with the bytes that its record names.
///
/// # Errors
/// If the cache lies in the repository, git does not know the revision, the crate names no worker,
/// or it does not build.
pub(crate) fn build(
    builds: &Builds<'_>,
    revision: &str,
    listener: &dyn Listener,
) -> Result<Artefact, EngineError> {
    let workshop = Workshop::open(builds)?;
    let commit = workshop.resolve(revision)?;
    let name = format!("{commit}-{}", workshop.id);
    // The revision's own tree says which compiler is meant, and which program.
    workshop.check_out(&commit)?;
    let worker = workshop.worker()?;
    let rustc = run(command("rustc", &workshop.place()).arg("-V"), "rustc -V")?;
    let rustc = rustc.strip_prefix("rustc ").unwrap_or(&rustc).to_owned();
    let is_right = |known: &Artefact| {
        known.revision.as_deref() == Some(&commit)
            && known.rustc.as_deref() == Some(&rustc)
            && known.build == worker.build()
            && known.args == worker.args
            && known.contender == worker.contender
            && builds.cache.program(known).is_ok()
    };
    // A record that cannot be read is like none: the program is built again.
    let known = builds.cache.artefact(Shelf::Builds, &name).ok().flatten();
    if let Some(known) = known.filter(is_right) {
        return Ok(known);
    }
    listener.hear(&Event::Note(format!("building rev:{revision} ({})", &commit[..12])));
    let program = workshop.compile(&worker, revision)?;
    let mut artefact = builds.cache.keep_program(&program, &worker.args)?;
    if builds.cache.program(&artefact).is_err() {
        builds.cache.remove_program(&artefact)?;
        builds.cache.keep_program(&program, &worker.args)?;
    }
    artefact.revision = Some(commit);
    artefact.build = worker.build();
    artefact.contender = worker.contender;
    builds.cache.name_artefact(Shelf::Builds, &name, &artefact)?;
    Ok(artefact)
}

/// What `[package.metadata.proofmark]` of a crate says.
struct WorkerCard {
    package: String,
    program: String,
    args: Vec<String>,
    contender: Option<proofmark_schema::ContenderId>,
}

impl WorkerCard {
    /// The command that builds it.
    fn build(&self) -> Vec<String> {
        let words = ["cargo", "build", "--release", "--locked", "--package", &self.package];
        let words = words.into_iter().chain(["--bin", &self.program]);
        words.map(str::to_owned).collect()
    }
}

/// The place where the revisions of one repository are built, one at a time.
pub(super) struct Workshop {
    /// The user's repository, and where in it the crate lies.
    repository: Repository,
    /// Distinguishes repositories that share a cache.
    id: String,
    folder: PathBuf,
    /// The name of the tree in it.
    tree: String,
    store: PathBuf,
    /// Held while a process builds here.
    _lock: File,
}

impl Workshop {
    pub(super) fn open(builds: &Builds<'_>) -> Result<Workshop, EngineError> {
        let repository = Repository::open(builds.repo)?;
        let cache = builds.cache.root();
        if repository.inside(cache).is_some() {
            let (cache, top) = (cache.to_owned(), repository.top);
            return Err(EngineError::CacheInside { cache, top });
        }
        // FNV-1a is short and stable across versions.
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let place = format!("{}/{}", repository.top.display(), repository.prefix);
        let id = format!("{:016x}", place.bytes().fold(0xcbf2_9ce4_8422_2325, hash));
        let folder = cache.join("trees").join(&id);
        let made = fs::create_dir_all(&folder).and_then(|()| {
            let lock = File::create(folder.join("lock"))?;
            lock.lock()?;
            Ok((fs::canonicalize(&folder)?, lock))
        });
        let (folder, lock) = made.map_err(io_error("use", &folder))?;
        let tree = "tree".to_owned();
        Ok(Workshop { repository, id, folder, tree, store: real(builds.store), _lock: lock })
    }

    /// The same with a tree of its own for one side.
    pub(super) fn on_side(self, side: usize) -> Workshop {
        Workshop { tree: format!("side-{side}"), ..self }
    }

    /// A file that says what the tree of a side was built from.
    pub(super) fn marker(&self) -> PathBuf {
        self.folder.join(format!("{}.built", self.tree))
    }

    fn tree(&self) -> PathBuf {
        self.folder.join(&self.tree)
    }

    /// The folder that it has to itself, outside of the repository.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The crate in the tree.
    pub(super) fn place(&self) -> PathBuf {
        self.tree().join(&self.repository.prefix)
    }

    /// The commit of a revision.
    pub(super) fn resolve(&self, revision: &str) -> Result<String, EngineError> {
        if is_worktree(revision) { self.snapshot() } else { self.repository.resolve(revision) }
    }

    /// The working tree as a commit that is on no branch. It contains all files that git does not
    /// ignore, tracked or not. The user's index is left alone.
    fn snapshot(&self) -> Result<String, EngineError> {
        let index = self.folder.join("index");
        let theirs =
            self.repository.top.join(self.repository.git(&["rev-parse", "--git-path", "index"])?);
        match fs::copy(&theirs, &index) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error("copy", &theirs)(error));
            }
            _ => {}
        }
        let mut add = command("git", &self.repository.top);
        add.env("GIT_INDEX_FILE", &index).args(["add", "--all", "--", ":/"]);
        // Git leaves out what it ignores, and refuses to exclude such a path explicitly.
        if let Ok(inside) = self.store.strip_prefix(&self.repository.top)
            && !self.repository.is_ignored(inside)
        {
            add.arg(format!(":(top,exclude){}", inside.display()));
        }
        run(&mut add, "git add")?;
        let mut write = command("git", &self.repository.top);
        let tree = run(write.env("GIT_INDEX_FILE", &index).arg("write-tree"), "git write-tree")?;
        // The same tree is the same commit: no clock, no name.
        let mut commit = command("git", &self.repository.top);
        for who in ["AUTHOR", "COMMITTER"] {
            commit.env(format!("GIT_{who}_NAME"), "proofmark");
            commit.env(format!("GIT_{who}_EMAIL"), "proofmark@localhost");
            commit.env(format!("GIT_{who}_DATE"), "2000-01-01T00:00:00Z");
        }
        run(commit.args(["commit-tree", &tree, "-m", "working tree"]), "git commit-tree")
    }

    pub(super) fn check_out(&self, commit: &str) -> Result<(), EngineError> {
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
        self.repository.git(&["worktree", "prune"])?;
        self.repository
            .git(&["worktree", "add", "--quiet", "--force", "--detach", &path, commit])?;
        Ok(())
    }

    /// The crate that says which of its programs is a worker.
    fn worker(&self) -> Result<WorkerCard, EngineError> {
        let mut metadata = command("cargo", &self.place());
        metadata.args(["metadata", "--format-version", "1", "--no-deps"]);
        let text = run(&mut metadata, "cargo metadata")?;
        let data: Value = serde_json::from_str(&text).unwrap_or_default();
        let packages = data["packages"].as_array().cloned().unwrap_or_default();
        let cards: Vec<WorkerCard> = packages.iter().filter_map(card).collect();
        let names = cards.iter().map(|card| card.package.clone()).collect();
        match <[WorkerCard; 1]>::try_from(cards) {
            Ok([only]) => Ok(only),
            Err(_) => {
                Err(EngineError::NoWorker { top: self.repository.top.clone(), packages: names })
            }
        }
    }

    fn compile(&self, worker: &WorkerCard, revision: &str) -> Result<PathBuf, EngineError> {
        let words = worker.build();
        let mut cargo = command(&words[0], &self.place());
        cargo.args(&words[1..]).args(["--message-format", "json-render-diagnostics"]);
        cargo.arg("--target-dir").arg(self.folder.join("target"));
        // Our own program names its commit, unless this is set: without it two revisions with the
        // same code are the same program, byte for byte.
        cargo.env("PROOFMARK_COMMIT", "");
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

/// An error of reading or writing a path, as one of the store.
pub(crate) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> EngineError {
    let path = path.to_owned();
    move |source| StoreError::Io { action, path, source }.into()
}
