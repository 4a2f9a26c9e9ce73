//! The rules that judge a change: those of the revision that it starts from, never its own.

use super::edits::edits;
use super::{Arm, PROJECT_FILE, Project, Source};
use crate::EngineError;
use crate::git::{Repository, Tree, is_worktree};
use proofmark_analyze::policy::{Edit, Origin};
use std::fs;
use std::path::{Path, PathBuf};

/// Where services keep what they run. A file there that names proofmark runs the check, or names
/// the people who review it.
const CI_FILES: &[&str] = &[
    ".github",
    ".gitlab-ci.yml",
    ".gitlab",
    ".circleci",
    ".buildkite",
    ".woodpecker",
    ".woodpecker.yml",
    ".drone.yml",
    ".travis.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "Jenkinsfile",
    "CODEOWNERS",
    "ci",
    ".ci",
];
/// The word by which such a file is known.
const CI_WORD: &str = "proofmark";

/// What is known before the rules are read.
#[derive(Clone, Debug)]
pub struct RulesRequest<'a> {
    /// The file that the command line names.
    pub config: Option<&'a Path>,
    /// The folder from which the nearest file is looked for.
    pub from: &'a Path,
    /// The folder of the crate; that of the file where none is given.
    pub repo: Option<&'a Path>,
    /// The side that the command line compares with.
    pub base: Option<&'a Arm>,
    /// The other side, as the command line names it.
    pub new: Option<&'a Arm>,
    /// The revision whose rules judge; the base where none is given.
    pub rules: Option<&'a str>,
}

/// The rules of a check.
#[derive(Clone, Debug)]
pub struct Ruled {
    /// The contents of the file whose rules judge.
    pub project: Project,
    /// The side that is compared with, if it is known.
    pub base: Option<Arm>,
    /// The folder of the crate.
    pub repo: PathBuf,
    /// Where the rules come from, if the base is a revision.
    pub origin: Option<Origin>,
    /// The commit that the rules come from, if they come from one. Its files count, not those of
    /// the change.
    pub tree: Option<Tree>,
}

/// Reads the rules of a check. If the base is a revision, they come from its tree, or from a file
/// outside of the repository that the command line names.
///
/// # Errors
/// If there is no file, one is not of the form, or git does not know a revision.
pub fn read_rules(request: &RulesRequest<'_>) -> Result<Ruled, EngineError> {
    let near = request.config.map(Path::to_owned).or_else(|| Project::find(request.from));
    let read = || match &near {
        Some(path) => Project::read(path),
        None => Err(EngineError::NoProject { from: request.from.to_owned() }),
    };
    let base = match request.base {
        Some(base) => Some(base.clone()),
        None => read()?.baseline,
    };
    let folder = |path: &Path| match path.parent() {
        Some(above) if above.as_os_str().is_empty() => PathBuf::from("."),
        Some(above) => above.to_owned(),
        None => request.from.to_owned(),
    };
    let beside = near.as_deref().map_or_else(|| request.from.to_owned(), folder);
    let repo = request.repo.map_or(beside, Path::to_owned);
    let revision = match base.as_ref().map(|base| &base.source) {
        Some(Source::Revision(revision)) if !is_worktree(revision) => Some(revision),
        _ => None,
    };
    let Some(revision) = revision else {
        return Ok(Ruled { project: read()?, base, repo, origin: None, tree: None });
    };
    let side = Change::open(&repo, revision, request, near.as_deref())?;
    let rules = request.rules.unwrap_or(revision);
    let commit = side.repository.resolve(rules)?;
    let file = side.file(&commit)?;
    let tree = file.is_some().then(|| Tree { repository: side.repository.clone(), commit });
    let (project, place) = match file {
        Some((path, text)) => {
            let place = format!("{} of rev:{rules}", path.display());
            let project = Project::parse(&text, Path::new(&place))?;
            (Project { path: side.repository.top.join(path), ..project }, place)
        }
        // The base has no rules: those of the change are the first, or come from outside.
        None => {
            let project = read()?;
            let place = project.path.display().to_string();
            (project, place)
        }
    };
    let new = request.new.or(project.new.as_ref()).map(|new| &new.source);
    let new = match new {
        Some(Source::Revision(name)) if !is_worktree(name) => Some(side.repository.resolve(name)?),
        _ => None,
    };
    let suite = project.suite.as_ref().map(|suite| request.from.join(suite));
    let suite = suite.and_then(|suite| side.repository.inside(&suite));
    let edits = side.edits(new.as_deref(), suite.as_deref())?;
    Ok(Ruled { project, base, repo, origin: Some(Origin { place, edits }), tree })
}

/// The repository of a change, the commit it starts from, and the paths that its rules may have.
struct Change<'a> {
    repository: Repository,
    base: String,
    /// From the nearest to the top; none if the rules lie outside of the repository.
    paths: Vec<PathBuf>,
    near: Option<&'a Path>,
}

impl<'a> Change<'a> {
    fn open(
        repo: &Path,
        base: &str,
        request: &RulesRequest<'_>,
        near: Option<&'a Path>,
    ) -> Result<Change<'a>, EngineError> {
        let repository = Repository::open(repo)?;
        let base = repository.resolve(base)?;
        let named = request.config.map(|config| repository.inside(config));
        let paths = match named {
            Some(None) => Vec::new(),
            // A file that only the change has does not hide the one that the base has.
            _ => {
                let from = repository.inside(request.from);
                let above = from.iter().flat_map(|from| from.ancestors());
                let usual = above.map(|folder| folder.join(PROJECT_FILE));
                named.flatten().into_iter().chain(usual).collect()
            }
        };
        Ok(Change { repository, base, paths, near })
    }

    /// The file of rules of a commit.
    fn file(&self, commit: &str) -> Result<Option<(PathBuf, String)>, EngineError> {
        if self.paths.is_empty() {
            return Ok(None);
        }
        self.repository.first_file(commit, &self.paths)
    }

    /// The file of rules of the working tree.
    fn file_here(&self) -> Option<(PathBuf, String)> {
        let path = self.near.and_then(|near| self.repository.inside(near))?;
        let text = fs::read_to_string(self.repository.top.join(&path)).ok()?;
        Some((path, text))
    }

    /// What the change edits in its rules and in what runs the check. Without a commit the working
    /// tree is the change.
    fn edits(&self, new: Option<&str>, suite: Option<&Path>) -> Result<Vec<Edit>, EngineError> {
        let before = self.file(&self.base)?;
        let after = match new {
            Some(commit) => self.file(commit)?,
            None => self.file_here(),
        };
        let mut all = Vec::new();
        let path = |file: &Option<(PathBuf, String)>| {
            file.as_ref().map(|(path, _)| path.display().to_string())
        };
        if path(&before) != path(&after) {
            let (what, loosens) = ("the file of rules".to_owned(), before.is_some());
            all.push(Edit { what, before: path(&before), after: path(&after), loosens });
        }
        if let (Some((_, before)), Some((path, after))) = (&before, &after) {
            // A file that the next check could not read must not land.
            Project::parse(after, path)?;
            all.extend(edits(before, after));
        }
        if before.is_some() || self.paths.is_empty() {
            all.extend(self.file_edits(new, suite)?);
        }
        Ok(all)
    }

    /// Edits of files that run the check, and of the file of cases.
    fn file_edits(
        &self,
        new: Option<&str>,
        suite: Option<&Path>,
    ) -> Result<Vec<Edit>, EngineError> {
        let mut all = Vec::new();
        let below: Vec<&str> =
            CI_FILES.iter().copied().chain(suite.and_then(Path::to_str)).collect();
        for path in self.repository.changed(&self.base, new, &below)? {
            let one = std::slice::from_ref(&path);
            let text = |found: Option<(PathBuf, String)>| found.map(|(_, text)| text);
            let before = text(self.repository.first_file(&self.base, one)?);
            let after = match new {
                Some(commit) => text(self.repository.first_file(commit, one)?),
                None => fs::read_to_string(self.repository.top.join(&path)).ok(),
            };
            let names =
                |text: &Option<String>| text.as_ref().is_some_and(|it| it.contains(CI_WORD));
            if suite != Some(&path) && !names(&before) && !names(&after) {
                continue;
            }
            let side = |text: Option<String>, word: &str| text.map(|_| word.to_owned());
            all.push(Edit {
                what: path.display().to_string(),
                before: side(before, "as in the base"),
                after: side(after, "edited"),
                loosens: true,
            });
        }
        Ok(all)
    }
}
