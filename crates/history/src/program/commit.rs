//! Which commit a run measured, as the user says it.

use clap::Args;
use proofmark_history::{CommitOf, HistoryError};
use std::path::PathBuf;

/// What is said about the commit.
#[derive(Args, Debug)]
pub(crate) struct Commit {
    /// The commit that the run measured: a hash, or a name that git knows in `--repo`
    #[arg(long, value_name = "REV")]
    commit: Option<String>,
    /// When it was made, as `2026-11-18T10:00:00Z`; git is asked if this is left out
    #[arg(long, value_name = "TIME")]
    commit_time: Option<jiff::Timestamp>,
    /// The branch that it is on
    #[arg(long)]
    branch: Option<String>,
    /// Folder of the repository that is asked
    #[arg(long, value_name = "PATH", default_value = ".")]
    repo: PathBuf,
}

impl Commit {
    /// The commit with its time.
    pub(crate) fn resolve(&self) -> Result<CommitOf, HistoryError> {
        let time = self.commit_time.map(|time| time.as_microsecond());
        let known =
            |commit: Option<String>, time| CommitOf { commit, time, branch: self.branch.clone() };
        match &self.commit {
            None => Ok(known(None, time)),
            Some(commit) if time.is_some() => Ok(known(Some(commit.clone()), time)),
            Some(commit) => {
                let (hash, seconds) = self.ask_git(commit)?;
                Ok(known(Some(hash), Some(1_000_000 * seconds)))
            }
        }
    }

    #[expect(clippy::disallowed_methods, reason = "git is asked for the time of a commit")]
    fn ask_git(&self, commit: &str) -> Result<(String, i64), HistoryError> {
        let repo = self.repo.display();
        let unknown = |why: &str| {
            HistoryError::Usage(format!(
                "git does not know commit `{commit}` in {repo}: {why}; give `--repo`, or \
                 `--commit-time` with the time of the commit"
            ))
        };
        let output = std::process::Command::new("git")
            .arg("-C")
            .arg(&self.repo)
            .args(["show", "-s", "--format=%H %ct", "--end-of-options"])
            .arg(format!("{commit}^{{commit}}"))
            .output()
            .map_err(|error| unknown(&error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let parsed = text
            .trim()
            .split_once(' ')
            .and_then(|(hash, seconds)| Some((hash.to_owned(), seconds.parse().ok()?)));
        parsed.ok_or_else(|| unknown(String::from_utf8_lossy(&output.stderr).trim()))
    }
}
