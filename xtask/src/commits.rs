//! The form of commits: `area: imperative` as subject, and records in commits of their own.

use std::path::Path;
use std::process::Command;

use crate::Failure;

/// The last commit that is not judged: the rules are younger than the history before it.
const SINCE: &str = "abaa72740ef823523bf8191107572d0cf81da653";

/// The longest subject, in characters.
const LONGEST: usize = 72;

/// Where records are.
const RECORDS: &str = "records/";

/// One commit of the history.
struct Commit {
    hash: String,
    subject: String,
    files: Vec<String>,
}

/// Judges every commit since the rules; a copy without that history has none.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let known = git(root, &["merge-base", "--is-ancestor", SINCE, "HEAD"]);
    if known.is_none() {
        println!("there is no history since {SINCE:.7} here: nothing to check");
        return Ok(());
    }
    let range = format!("{SINCE}..HEAD");
    let log = ["log", "--no-merges", "--name-only", "--format=%x01%h%x02%s%x02", &range];
    let log = git(root, &log).ok_or("`git log` failed")?;
    let commits = parse(&log);
    let complaints: Vec<String> = commits.iter().flat_map(complaints).collect();
    for complaint in &complaints {
        println!("{complaint}");
    }
    println!("{} commits, {} complaints", commits.len(), complaints.len());
    match complaints.len() {
        0 => Ok(()),
        count => Err(format!("commits: {count} complaints; docs/STYLE.md has the rules")),
    }
}

/// What git prints, if it succeeds.
fn git(root: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir(root).args(args).output().ok()?;
    let is_good = output.status.success();
    is_good.then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn parse(log: &str) -> Vec<Commit> {
    let commit = |text: &str| {
        let mut parts = text.splitn(3, '\u{2}').map(str::to_owned);
        let (hash, subject, files) = (parts.next()?, parts.next()?, parts.next()?);
        let files = files.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
        Some(Commit { hash, subject, files })
    };
    log.split('\u{1}').filter_map(commit).collect()
}

fn complaints(commit: &Commit) -> Vec<String> {
    let Commit { hash, subject, files } = commit;
    let mut complaints = Vec::new();
    if !has_form(subject) {
        complaints.push(format!("{hash}: the subject is not `area: imperative`: {subject}"));
    }
    let length = subject.chars().count();
    if length > LONGEST {
        complaints.push(format!("{hash}: the subject has {length} characters, over {LONGEST}"));
    }
    let records = files.iter().filter(|file| file.starts_with(RECORDS)).count();
    if records > 0 && records < files.len() {
        complaints.push(format!("{hash}: {records} records are in a commit with other files"));
    }
    complaints
}

/// Whether it is an area in lower case, a colon, and words that begin in lower case and end
/// without a full stop. That the first word is an imperative is left to readers.
fn has_form(subject: &str) -> bool {
    let Some((area, words)) = subject.split_once(": ") else { return false };
    let is_area = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    area.starts_with(|first: char| first.is_ascii_lowercase())
        && area.chars().all(|letter| is_area(letter) || "_-/".contains(letter))
        && words.starts_with(|first: char| first.is_ascii_lowercase())
        && !words.ends_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(subject: &str, files: &[&str]) -> Vec<String> {
        let files: String = files.iter().map(|file| format!("{file}\n")).collect();
        let commits = parse(&format!("\u{1}abc\u{2}{subject}\u{2}\n\n{files}"));
        assert_eq!(commits.len(), 1);
        complaints(&commits[0])
    }

    #[test]
    fn a_subject_has_an_area_and_is_short() {
        for good in ["ops: take the context first", "docs/ci: run advisories", "x86_64: add it"] {
            assert!(said(good, &["a.rs"]).is_empty(), "{good}");
        }
        for bad in ["Take the context first", "ops: Take it", "ops:take it", "ops: take it."] {
            assert_eq!(said(bad, &["a.rs"]).len(), 1, "{bad}");
        }
        let long = format!("ops: take {}", "x".repeat(LONGEST));
        assert!(said(&long, &[])[0].contains("characters, over 72"));
        assert!(said(&long[..LONGEST], &[]).is_empty());
    }

    #[test]
    fn records_are_in_commits_of_their_own() {
        assert!(said("records: add a race", &["records/a.json", "records/README.md"]).is_empty());
        assert_eq!(said("records: add a race", &["records/a.json", "docs/a.md"]).len(), 1);
    }
}
