//! The installer script: it holds the sums of the archives that it fetches.

use std::fs;

use super::archive::sum;
use super::empty::Empty;
use super::program::SYMBOLS;
use super::tools::succeeded;
use super::{OLDEST_GLIBC, Release, at, copy, wheel, write};
use crate::Failure;

const NAME: &str = "proofmark-installer.sh";

/// Where the files of this release are fetched from.
pub(super) fn address(release: &Release) -> String {
    format!("{}/releases/download/v{}", release.repository, release.version)
}

/// Fills in the template.
pub(super) fn make(release: &Release) -> Result<(), Failure> {
    let template = release.root.join("packaging/installer.sh");
    let mut text = fs::read_to_string(&template).map_err(at(&template))?;
    let (archive, symbols) = (release.archive_name(), release.symbols_archive_name());
    for (word, value) in [
        ("@VERSION@", release.version.clone()),
        ("@REPOSITORY@", release.repository.clone()),
        ("@ARCHIVE_SHA256@", sum(&release.file(&archive))?),
        ("@ARCHIVE@", archive),
        ("@SYMBOLS_SHA256@", sum(&release.file(&symbols))?),
        ("@SYMBOLS@", symbols),
        ("@OLDEST_GLIBC@", OLDEST_GLIBC.to_owned()),
    ] {
        if !text.contains(word) {
            return Err(format!("{} does not contain {word}", template.display()));
        }
        text = text.replace(word, &value);
    }
    write(&release.file(NAME), &text)
}

/// Installs from a folder into an empty home, with and without symbols; then changes one byte of
/// the archive, which must be refused.
pub(super) fn check(release: &Release) -> Result<String, Failure> {
    let script = release.file(NAME);
    succeeded(release.tools.command("shellcheck").arg(&script))?;
    let empty = Empty::new("installer")?;
    let served = Empty::new("served")?;
    for name in [release.archive_name(), release.symbols_archive_name()] {
        copy(&release.file(&name), &served.path(&name))?;
    }
    let url = format!("file://{}", served.path("").display());
    let install = |options: &[&str]| {
        let mut sh = empty.command("sh");
        sh.arg(&script).args(options).env("PROOFMARK_DOWNLOAD_URL", url.trim_end_matches('/'));
        succeeded(&mut sh)
    };
    install(&[])?;
    let folder = empty.path(".local/bin");
    wheel::doctor(&mut empty.command(folder.join("proofmark")))?;
    if folder.join(".debug").exists() {
        return Err("symbols were installed unasked".to_owned());
    }
    install(&["--symbols"])?;
    if !folder.join(".debug").join(SYMBOLS).exists() {
        return Err("`--symbols` does not install them".to_owned());
    }
    fs::remove_dir_all(empty.path(".local")).map_err(at(&folder))?;

    let archive = served.path(&release.archive_name());
    let mut bytes = fs::read(&archive).map_err(at(&archive))?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&archive, bytes).map_err(at(&archive))?;
    let Err(refusal) = install(&[]) else {
        return Err("an archive with one changed bit was installed".to_owned());
    };
    if !refusal.contains("SHA-256") || empty.path(".local").exists() {
        return Err(format!("a changed archive is not refused as it should be: {refusal}"));
    }
    let left = empty.names()?.into_iter().filter(|name| name != ".proofmark").count();
    Ok(format!(
        "installs in an empty home; an archive with one changed bit is refused, {left} files left"
    ))
}
