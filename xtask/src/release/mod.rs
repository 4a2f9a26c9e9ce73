//! Makes what a release publishes, and tries each of it in an empty environment.

mod archive;
mod crates;
mod debian;
mod docker;
mod empty;
mod glibc;
mod installer;
mod program;
mod sbom;
mod symbols;
mod tools;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::{Failure, metadata};
use tools::{Tools, succeeded};

/// What the program is built for.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The oldest C library that the program starts on: that of RHEL 8 and Debian 10.
const OLDEST_GLIBC: &str = "2.28";

/// The names and places of one release.
struct Release {
    root: PathBuf,
    /// What is published.
    out: PathBuf,
    /// What is not: the program with its symbols, staging folders.
    work: PathBuf,
    version: String,
    /// The address of the project, from the manifest of the workspace.
    repository: String,
    /// Seconds since 1970 of the commit: the time of every file in an archive.
    epoch: String,
    tools: Tools,
}

/// Makes an artefact.
type Make = fn(&Release) -> Result<(), Failure>;

/// What is made, in this order: each needs some before it.
const PARTS: &[(&str, Make)] = &[
    ("program", program::make),
    ("wheel", wheel::make),
    ("sbom", sbom::make),
    ("archives", archive::make),
    ("installer", installer::make),
    ("Debian packages", debian::make),
    ("sums", archive::sums),
];

/// One artefact and its test.
struct Check {
    name: &'static str,
    purpose: &'static str,
    /// The figures to report.
    run: fn(&Release) -> Result<String, Failure>,
}

const CHECKS: &[Check] = &[
    Check {
        name: "glibc",
        purpose: "the program needs no symbol of a C library that is newer than 2.28",
        run: glibc::check,
    },
    Check {
        name: "wheel",
        purpose: "pip and uvx install it, and `doctor` runs",
        run: wheel::check,
    },
    Check {
        name: "archive",
        purpose: "the sums are right, and the program runs where it is unpacked",
        run: archive::check,
    },
    Check {
        name: "binstall",
        purpose: "cargo-binstall finds the archive and the program in it",
        run: archive::check_binstall,
    },
    Check {
        name: "installer",
        purpose: "it installs from a folder, and refuses an archive that was changed",
        run: installer::check,
    },
    Check {
        name: "debian",
        purpose: "dpkg installs it, it runs, and nothing is left when it is removed",
        run: debian::check,
    },
    Check {
        name: "symbols",
        purpose: "`profile` and gdb find them; without them there are no lines",
        run: symbols::check,
    },
    Check { name: "sbom", purpose: "it lists every crate of the program", run: sbom::check },
    Check {
        name: "docker",
        purpose: "hadolint has nothing to say; built where a daemon answers",
        run: docker::check,
    },
    Check {
        name: "crates",
        purpose: "cargo package builds the library and the tool from their packages",
        run: crates::check,
    },
];

/// Makes the artefacts and tries them; with `--check` tries those that are there.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), Failure> {
    let (is_made, only) = match words {
        [] => (true, None),
        ["--check"] => (false, None),
        ["--check", name] => (false, Some(*name)),
        _ => return Err("usage: cargo xtask release [--check [NAME]]".to_owned()),
    };
    let release = Release::open(root)?;
    if is_made {
        release.make()?;
    }
    release.check(only)
}

impl Release {
    fn open(root: &Path) -> Result<Release, Failure> {
        let workspace = metadata::read(root, &["--no-deps"])?;
        let packages = metadata::array(&workspace, "packages");
        let tool = packages.iter().find(|package| package["name"] == "proofmark");
        let tool = tool.ok_or("the workspace has no package `proofmark`")?;
        let target = PathBuf::from(metadata::text(&workspace, "target_directory"));
        let mut git = Command::new("git");
        let epoch = git.current_dir(root).args(["log", "-1", "--format=%ct"]);
        Ok(Release {
            root: root.to_path_buf(),
            out: target.join("release-artefacts"),
            work: target.join("release-work"),
            version: metadata::text(tool, "version").to_owned(),
            repository: metadata::text(tool, "repository").to_owned(),
            epoch: succeeded(epoch)?.trim().to_owned(),
            tools: Tools::at(&target.join("release-tools")),
        })
    }

    fn make(&self) -> Result<(), Failure> {
        self.tools.install()?;
        // A file of an earlier version would be published with this one.
        remake(&self.out)?;
        for (name, make) in PARTS {
            println!("--- make: {name}");
            let begin = Instant::now();
            make(self)?;
            println!("{:.1} s", begin.elapsed().as_secs_f64());
        }
        Ok(())
    }

    /// Runs every check, also after one that fails: a release is repaired once.
    fn check(&self, only: Option<&str>) -> Result<(), Failure> {
        if !self.out.exists() {
            return Err("there are no artefacts: run `cargo xtask release` first".to_owned());
        }
        self.tools.install()?;
        let is_meant = |check: &&Check| only.is_none_or(|name| name == check.name);
        let checks: Vec<&Check> = CHECKS.iter().filter(is_meant).collect();
        if checks.is_empty() {
            let names: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
            return Err(format!("no such check; there are: {}", names.join(", ")));
        }
        let mut lines = Vec::new();
        let mut failed = Vec::new();
        for check in checks {
            println!("--- check: {}: {}", check.name, check.purpose);
            let begin = Instant::now();
            let (word, text) = match (check.run)(self) {
                Ok(figures) => ("ok", figures),
                Err(failure) => {
                    failed.push(check.name);
                    ("FAILED", failure)
                }
            };
            let seconds = begin.elapsed().as_secs_f64();
            println!("{word}: {text}");
            lines.push(format!("{:10} {word:6} {seconds:6.1} s  {text}", check.name));
        }
        println!("--- summary: {}", self.out.display());
        lines.iter().for_each(|line| println!("{line}"));
        match failed[..] {
            [] => Ok(()),
            _ => Err(format!("these artefacts must not be published: {}", failed.join(", "))),
        }
    }

    /// The name of an archive, and of the folder in it.
    fn stem(&self) -> String {
        format!("proofmark-{TARGET}")
    }

    /// A path of a published file.
    fn file(&self, name: &str) -> PathBuf {
        self.out.join(name)
    }
}

/// Makes a folder that is empty.
fn remake(folder: &Path) -> Result<(), Failure> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(at(folder))?;
    }
    fs::create_dir_all(folder).map_err(at(folder))
}

/// Copies a file and makes the folders above it.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    to.parent().map_or(Ok(()), fs::create_dir_all).map_err(at(to))?;
    fs::copy(from, to).map(drop).map_err(at(from))
}

/// Writes a text and makes the folders above it.
fn write(to: &Path, text: &str) -> Result<(), Failure> {
    to.parent().map_or(Ok(()), fs::create_dir_all).map_err(at(to))?;
    fs::write(to, text).map_err(at(to))
}

/// Says which path an error is about.
fn at(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    let path = path.display().to_string();
    move |error| format!("{path}: {error}")
}

/// The size of a file in megabytes of 10⁶ bytes.
fn megabytes(path: &Path) -> Result<f64, Failure> {
    Ok(fs::metadata(path).map_err(at(path))?.len() as f64 / 1e6)
}
