//! Git as the engine asks it: a repository, its revisions and the files in them.

use crate::EngineError;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Output};

/// Words for the working tree as it is.
const WORKTREE: [&str; 2] = [".", "WORKTREE"];
/// Lines of a failed command that are shown.
const LAST_LINES: usize = 20;

/// Whether a revision means the working tree as it is.
pub(crate) fn is_worktree(revision: &str) -> bool {
    WORKTREE.contains(&revision)
}

/// The repository that a folder belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Repository {
    /// Its work tree.
    pub(crate) top: PathBuf,
    /// Where in it the folder lies.
    pub(crate) prefix: String,
}

impl Repository {
    /// Asks git about a folder.
    ///
    /// # Errors
    /// If it is in no repository.
    pub(crate) fn open(folder: &Path) -> Result<Repository, EngineError> {
        let ask = |what: &str| {
            let said = run(command("git", folder).args(["rev-parse", what]), "git rev-parse");
            said.map_err(|error| match error {
                EngineError::Command { said, .. } => {
                    EngineError::NoRepository { path: folder.to_owned(), said }
                }
                other => other,
            })
        };
        Ok(Repository { top: ask("--show-toplevel")?.into(), prefix: ask("--show-prefix")? })
    }

    /// What a git command prints in the work tree.
    pub(crate) fn git(&self, args: &[&str]) -> Result<String, EngineError> {
        run(command("git", &self.top).args(args), &format!("git {}", args[0]))
    }

    /// The commit of a revision.
    pub(crate) fn resolve(&self, revision: &str) -> Result<String, EngineError> {
        let wanted = format!("{revision}^{{commit}}");
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted];
        self.git(&args).map_err(|error| match error {
            EngineError::Command { .. } => {
                EngineError::NoRevision { revision: revision.to_owned(), top: self.top.clone() }
            }
            other => other,
        })
    }

    /// The first of these paths that is a file of the commit, with its text. A link has the text of
    /// the file that it leads to in the commit.
    pub(crate) fn first_file(
        &self,
        commit: &str,
        paths: &[PathBuf],
    ) -> Result<Option<(PathBuf, String)>, EngineError> {
        let blobs = self.blobs(commit, paths)?;
        let at = |path: &PathBuf| blobs.iter().find(|blob| blob.path == *path);
        let Some(first) = paths.iter().find_map(at) else { return Ok(None) };
        let text = |blob: &Blob| self.git(&["cat-file", "blob", &blob.hash]);
        let mut found = text(first)?;
        if first.is_link {
            let target = plain(&first.path.parent().unwrap_or(Path::new("")).join(&found));
            let target = self.blobs(commit, &[target])?.into_iter().find(|it| !it.is_link);
            found = target.as_ref().map_or(Ok(found), text)?;
        }
        Ok(Some((first.path.clone(), found)))
    }

    /// The paths among these that are files or links of a commit.
    fn blobs(&self, commit: &str, paths: &[PathBuf]) -> Result<Vec<Blob>, EngineError> {
        let mut list = command("git", &self.top);
        list.args(["--literal-pathspecs", "ls-tree", "--full-tree", "-z", commit, "--"]);
        let listed = run(list.args(paths), "git ls-tree")?;
        // Each is `100644 blob HASH<tab>PATH`.
        let blob = |line: &str| {
            let (facts, path) = line.split_once('\t')?;
            let [mode, "blob", hash] = facts.split(' ').collect::<Vec<_>>()[..] else {
                return None;
            };
            let is_link = mode.starts_with("12");
            Some(Blob { path: path.into(), hash: hash.to_owned(), is_link })
        };
        Ok(listed.split('\0').filter_map(blob).collect())
    }

    /// The paths below some pathspecs in which two states differ; without a second commit, the
    /// working tree is meant.
    pub(crate) fn changed(
        &self,
        base: &str,
        new: Option<&str>,
        below: &[&str],
    ) -> Result<Vec<PathBuf>, EngineError> {
        let mut diff = vec!["diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", base];
        diff.extend(new);
        diff.push("--");
        diff.extend(below);
        let mut all = self.git(&diff)?;
        if new.is_none() {
            let others = ["ls-files", "--others", "--exclude-standard", "-z", "--"];
            all += "\0";
            all += &self.git(&[&others[..], below].concat())?;
        }
        Ok(names(&all).collect())
    }

    /// Whether git ignores a path of the work tree, or what lies below it.
    pub(crate) fn is_ignored(&self, path: &Path) -> bool {
        let below = [path.to_owned(), path.join("any")];
        below.iter().any(|path| {
            let mut check = command("git", &self.top);
            check.args(["check-ignore", "--quiet", "--no-index", "--"]).arg(path);
            start(&mut check, "git check-ignore").is_ok_and(|output| output.status.success())
        })
    }

    /// A path relative to the work tree, if it lies in it.
    pub(crate) fn inside(&self, path: &Path) -> Option<PathBuf> {
        let top = real(&self.top);
        real(path).strip_prefix(top).ok().map(Path::to_owned)
    }

    /// A tracked entry by which a commit can change what lies at a path: at the path, below it, or
    /// a link or submodule on the way to it.
    pub(crate) fn tracked_at(&self, path: &Path) -> Result<Option<PathBuf>, EngineError> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let is_link = |at: &&Path| fs::symlink_metadata(at).is_ok_and(|facts| facts.is_symlink());
        let link = |at: &Path| Some(real(at.parent()?).join(at.file_name()?));
        let links = path.ancestors().filter(is_link).filter_map(link);
        for at in links.chain([real(&path)]) {
            let Ok(at) = at.strip_prefix(real(&self.top)) else { continue };
            let mut list = command("git", &self.top);
            list.args(["--literal-pathspecs", "ls-files", "-z", "--"]);
            let first = at.components().next().unwrap_or(Component::CurDir);
            list.arg(first.as_os_str());
            let is_it = |name: &PathBuf| name.starts_with(at) || at.starts_with(name);
            if let Some(first) = names(&run(&mut list, "git ls-files")?).find(is_it) {
                return Ok(Some(first));
            }
        }
        Ok(None)
    }
}

/// A file or link of a commit.
struct Blob {
    path: PathBuf,
    hash: String,
    is_link: bool,
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// The files of a commit. They are used where the change may have edited those of the working tree.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The repository.
    pub(crate) repository: Repository,
    /// The commit.
    pub(crate) commit: String,
}

impl Tree {
    /// The text of a file of the commit, or `Some(None)` if the commit has no such file. `None` if
    /// git does not know the file, so that no change can bring it.
    pub(crate) fn read(&self, path: &Path) -> Result<Option<Option<String>>, EngineError> {
        let Some(inside) = self.repository.inside(path) else { return Ok(None) };
        match self.repository.first_file(&self.commit, &[inside])? {
            Some((_, text)) => Ok(Some(Some(text))),
            None => Ok(self.repository.tracked_at(path)?.map(|_| None)),
        }
    }
}

/// The names of a list in which a zero byte ends each name.
fn names(list: &str) -> impl Iterator<Item = PathBuf> {
    list.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from)
}

/// The path without links, even if its last parts do not exist yet.
pub(crate) fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for above in path.ancestors() {
        if let Ok(found) = fs::canonicalize(above) {
            let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
    }
    path
}

/// A command in a folder. Variables that git hooks set are removed, because they would lead git to
/// another repository.
#[expect(clippy::disallowed_methods, reason = "git and cargo are asked here, no contender runs")]
pub(crate) fn command(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(std::process::Stdio::null());
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    command
}

/// Runs a command to its end.
pub(crate) fn start(command: &mut Command, what: &str) -> Result<Output, EngineError> {
    command.output().map_err(|error| {
        let folder = command.get_current_dir().unwrap_or(Path::new(".")).display();
        EngineError::Start { what: what.to_owned(), said: format!("{error} (in {folder})") }
    })
}

/// What a command that succeeds prints, without the end of its line.
pub(crate) fn run(command: &mut Command, what: &str) -> Result<String, EngineError> {
    let output = start(command, what)?;
    if !output.status.success() {
        let said = last_lines(&output.stderr);
        return Err(EngineError::Command { what: what.to_owned(), said });
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// The last lines of a command's output.
pub(crate) fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}
