//! Archives of the program and of its symbols, and the sums of all that is published.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::empty::Empty;
use super::program::SYMBOLS;
use super::tools::succeeded;
use super::{Release, TARGET, at, copy, megabytes, remake, wheel};
use crate::{Failure, metadata};

/// The file of sums, in the form that `sha256sum --check` reads.
pub(super) const SUMS: &str = "sha256.sum";

/// Files of the repository that go with the program.
const BESIDE: &[&str] = &["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

impl Release {
    pub(super) fn archive_name(&self) -> String {
        format!("{}.tar.gz", self.stem())
    }

    pub(super) fn symbols_archive_name(&self) -> String {
        format!("{}-symbols.tar.gz", self.stem())
    }
}

/// Packs both.
pub(super) fn make(release: &Release) -> Result<(), Failure> {
    let staged = release.work.join("archive");
    remake(&staged)?;
    let folder = staged.join(release.stem());
    copy(&release.program(), &folder.join("proofmark"))?;
    for name in BESIDE {
        copy(&release.root.join(name), &folder.join(name))?;
    }
    pack(release, &staged, &release.stem(), &release.archive_name())?;
    let name = format!("{}-symbols", release.stem());
    copy(&release.symbols(), &staged.join(&name).join(SYMBOLS))?;
    pack(release, &staged, &name, &release.symbols_archive_name())
}

/// The same files give the same bytes: order, owner and times are fixed.
fn pack(release: &Release, within: &Path, folder: &str, name: &str) -> Result<(), Failure> {
    let mut tar = Command::new("tar");
    tar.env("GZIP", "-n").current_dir(within);
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=go-w"]);
    tar.arg(format!("--mtime=@{}", release.epoch));
    tar.args(["--use-compress-program", "gzip -n -9", "--create", "--file"]);
    succeeded(tar.arg(release.file(name)).arg(folder)).map(drop)
}

/// Writes the sums of all files.
pub(super) fn sums(release: &Release) -> Result<(), Failure> {
    let names = names(release)?;
    let mut sha256sum = Command::new("sha256sum");
    let text = succeeded(sha256sum.current_dir(&release.out).arg("--").args(names))?;
    fs::write(release.file(SUMS), text).map_err(at(&release.out))
}

/// The files that are published, without the sums.
fn names(release: &Release) -> Result<Vec<String>, Failure> {
    let entries = fs::read_dir(&release.out).map_err(at(&release.out))?.flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name != SUMS).collect();
    names.sort();
    Ok(names)
}

/// The SHA-256 of one file.
pub(super) fn sum(path: &Path) -> Result<String, Failure> {
    let text = succeeded(Command::new("sha256sum").arg(path))?;
    Ok(text.split_whitespace().next().unwrap_or_default().to_owned())
}

/// Verifies the sums, unpacks the archive in an empty folder and runs the program there.
pub(super) fn check(release: &Release) -> Result<String, Failure> {
    let mut sha256sum = Command::new("sha256sum");
    let options = ["--check", "--strict", "--quiet", SUMS];
    succeeded(sha256sum.current_dir(&release.out).args(options))?;
    let text = fs::read_to_string(release.file(SUMS)).map_err(at(&release.out))?;
    let listed: Vec<&str> =
        text.lines().filter_map(|line| Some(line.split_once("  ")?.1)).collect();
    if listed != names(release)? {
        return Err(format!("{SUMS} does not list the files that are there: {listed:?}"));
    }
    let empty = Empty::new("archive")?;
    let archive = release.file(&release.archive_name());
    succeeded(empty.command("tar").arg("-xzf").arg(&archive))?;
    let program = empty.path(&release.stem()).join("proofmark");
    wheel::doctor(&mut empty.command(&program))?;
    let version = succeeded(empty.command(&program).arg("--version"))?;
    let commit = version.lines().find_map(|line| line.strip_prefix("commit: ")).map(str::trim);
    let is_commit = |text: &&str| text.len() == 40 && text.chars().all(|it| it.is_ascii_hexdigit());
    let Some(commit) = commit.filter(is_commit) else {
        return Err(format!("the program is not of one commit, unmodified:\n{version}"));
    };
    let symbols = megabytes(&release.file(&release.symbols_archive_name()))?;
    Ok(format!(
        "{} files in {SUMS}; archive {:.1} MB, program {:.1} MB, symbols {symbols:.1} MB; commit {commit}",
        listed.len(),
        megabytes(&archive)?,
        megabytes(&release.program())?,
    ))
}

/// Fills in the templates as cargo-binstall does.
pub(super) fn check_binstall(release: &Release) -> Result<String, Failure> {
    let workspace = metadata::read(&release.root, &["--no-deps"])?;
    let packages = metadata::array(&workspace, "packages");
    let tool = packages.iter().find(|package| package["name"] == "proofmark");
    let card = tool.map(|tool| &tool["metadata"]["binstall"]).ok_or("there is no tool")?;
    let filled = |key: &str| {
        let words = [
            ("{ repo }", release.repository.as_str()),
            ("{ version }", &release.version),
            ("{ name }", "proofmark"),
            ("{ target }", TARGET),
            ("{ bin }", "proofmark"),
            ("{ binary-ext }", ""),
        ];
        let template = metadata::text(card, key).to_owned();
        words.iter().fold(template, |text, (word, value)| text.replace(word, value))
    };
    let url = filled("pkg-url");
    let expected = format!("{}/{}", super::installer::address(release), release.archive_name());
    if url != expected {
        return Err(format!("pkg-url is {url}, but the installer fetches {expected}"));
    }
    let mut tar = Command::new("tar");
    let list = succeeded(tar.arg("-tzf").arg(release.file(&release.archive_name())))?;
    let member = filled("bin-dir");
    match list.lines().any(|line| line == member) {
        true => Ok(format!("{member} in {url}")),
        false => Err(format!("bin-dir is {member}, which is not in the archive:\n{list}")),
    }
}
