//! Debian packages of the program and of its symbols, made by dpkg alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::tools::succeeded;
use super::{OLDEST_GLIBC, Release, at, copy, glibc, megabytes, program, remake, write};
use super::{empty::Empty, wheel};
use crate::Failure;

/// The package that has a shared library, with the oldest version that will do.
const LIBRARIES: &[(&str, &str)] = &[
    ("libc.so.6", "libc6 (>= GLIBC)"),
    ("libm.so.6", "libc6 (>= GLIBC)"),
    ("libpthread.so.0", "libc6 (>= GLIBC)"),
    ("libdl.so.2", "libc6 (>= GLIBC)"),
    ("librt.so.1", "libc6 (>= GLIBC)"),
    ("ld-linux-x86-64.so.2", "libc6 (>= GLIBC)"),
    ("libgcc_s.so.1", "libgcc-s1 | libgcc1"),
];

/// Shells with the place of their completions.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "usr/share/bash-completion/completions/proofmark"),
    ("fish", "usr/share/fish/vendor_completions.d/proofmark.fish"),
    ("zsh", "usr/share/zsh/vendor-completions/_proofmark"),
];

/// Makes both packages.
pub(super) fn make(release: &Release) -> Result<(), Failure> {
    let folder = release.work.join("debian/proofmark");
    remake(&folder)?;
    copy(&release.program(), &folder.join("usr/bin/proofmark"))?;
    documents(release, &folder)?;
    manuals(release, &folder)?;
    let description = "proves compute kernels correct and measures them\n \
        Every kernel is proven against a reference with derived error limits before it is\n \
        measured. Contenders take turns in fresh processes, and the answer has an interval.";
    pack(release, &folder, "proofmark", &depends(release)?, description)?;

    let symbols = release.work.join("debian/proofmark-dbgsym");
    remake(&symbols)?;
    let id = build_id(&release.program())?;
    let (first, rest) = id.split_at(2);
    let place = format!("usr/lib/debug/.build-id/{first}/{rest}.debug");
    copy(&release.symbols(), &symbols.join(place))?;
    let depends = format!("proofmark (= {})", release.version);
    pack(release, &symbols, "proofmark-dbgsym", &depends, "debug symbols of proofmark")
}

/// Licence, changelog and README, where the policy of Debian wants them.
fn documents(release: &Release, folder: &Path) -> Result<(), Failure> {
    let documents = folder.join("usr/share/doc/proofmark");
    let licence = fs::read_to_string(release.root.join("LICENSE-MIT")).map_err(at(&documents))?;
    let head = "Licensed under the Apache License 2.0 (/usr/share/common-licenses/Apache-2.0) or \
                the MIT licence, at your option.";
    write(&documents.join("copyright"), &format!("{head}\n\n{licence}"))?;
    copy(&release.root.join("README.md"), &documents.join("README.md"))?;
    copy(&release.root.join("CHANGELOG.md"), &documents.join("changelog"))?;
    gzip(&documents.join("changelog"))
}

/// Manual pages and completions, written by the program itself.
fn manuals(release: &Release, folder: &Path) -> Result<(), Failure> {
    let pages = folder.join("usr/share/man/man1");
    fs::create_dir_all(&pages).map_err(at(&pages))?;
    succeeded(Command::new(release.program()).args(["man", "--out"]).arg(&pages))?;
    for page in fs::read_dir(&pages).map_err(at(&pages))?.flatten() {
        gzip(&page.path())?;
    }
    for (shell, place) in COMPLETIONS {
        let text = succeeded(Command::new(release.program()).args(["completions", shell]))?;
        write(&folder.join(place), &text)?;
    }
    Ok(())
}

fn gzip(path: &Path) -> Result<(), Failure> {
    succeeded(Command::new("gzip").args(["-n", "-9"]).arg(path)).map(drop)
}

/// The packages of the libraries that the program is linked to.
fn depends(release: &Release) -> Result<String, Failure> {
    let mut packages = Vec::new();
    for library in glibc::needed(release)? {
        let known = LIBRARIES.iter().find(|(name, _)| *name == library);
        let (_, package) = known.ok_or_else(|| {
            format!("no Debian package is known for {library}: add it to LIBRARIES in debian.rs")
        })?;
        packages.push(package.replace("GLIBC", OLDEST_GLIBC));
    }
    packages.sort();
    packages.dedup();
    Ok(packages.join(", "))
}

/// The build id of a program, in hexadecimal digits.
fn build_id(path: &Path) -> Result<String, Failure> {
    let text = succeeded(Command::new("readelf").args(["--notes", "--wide"]).arg(path))?;
    let id = text.split_once("Build ID: ").and_then(|(_, rest)| rest.split_whitespace().next());
    id.map(str::to_owned).ok_or_else(|| format!("{} has no build id", path.display()))
}

fn package_file(release: &Release, name: &str) -> PathBuf {
    release.file(&format!("{name}_{}_amd64.deb", release.version))
}

fn pack(
    release: &Release,
    folder: &Path,
    name: &str,
    depends: &str,
    description: &str,
) -> Result<(), Failure> {
    let size = succeeded(Command::new("du").args(["-sk", "--apparent-size"]).arg(folder))?;
    let size = size.split_whitespace().next().unwrap_or("0").to_owned();
    let host = release.repository.split('/').nth(2).unwrap_or_default();
    // Symbols are large, and xz takes minutes to make them a little smaller.
    let (section, compression) =
        if name.ends_with("dbgsym") { ("debug", "-Zgzip") } else { ("devel", "-Zxz") };
    let control = format!(
        "Package: {name}\nVersion: {version}\nArchitecture: amd64\nSection: {section}\n\
         Priority: optional\nMaintainer: The Proofmark maintainers <maintainers@{host}>\n\
         Installed-Size: {size}\nDepends: {depends}\nHomepage: {home}\n\
         Description: {description}\n",
        version = release.version,
        home = release.repository,
    );
    write(&folder.join("DEBIAN/control"), &control)?;
    succeeded(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(folder))?;
    let mut build = Command::new("dpkg-deb");
    build.env("SOURCE_DATE_EPOCH", &release.epoch).args([
        "--root-owner-group",
        compression,
        "--build",
    ]);
    succeeded(build.arg(folder).arg(package_file(release, name))).map(drop)
}

/// Installs both packages in this system, runs the program, removes them and looks for remains.
pub(super) fn check(release: &Release) -> Result<String, Failure> {
    let (tool, symbols) =
        (package_file(release, "proofmark"), package_file(release, "proofmark-dbgsym"));
    let installed = Command::new("dpkg").args(["--status", "proofmark"]).output();
    if installed.is_ok_and(|output| output.status.success()) {
        return Err("proofmark is installed here already: run this on a clean system".to_owned());
    }
    if !rustix::process::geteuid().is_root() {
        return Err(
            "dpkg installs as root only: run this check as root on a clean system".to_owned()
        );
    }
    let before = [paths(&tool)?, paths(&symbols)?].concat();
    succeeded(Command::new("dpkg").arg("--install").arg(&tool).arg(&symbols))?;
    let outcome = inspect();
    // They are removed whatever came out.
    succeeded(Command::new("dpkg").args(["--purge", "proofmark-dbgsym", "proofmark"]))?;
    outcome?;
    let after = [paths(&tool)?, paths(&symbols)?].concat();
    let differ = before.iter().zip(&after).filter(|(old, new)| old != new);
    let differ: Vec<String> = differ.map(|(old, _)| old.0.display().to_string()).collect();
    if !differ.is_empty() {
        return Err(format!("removal leaves or takes what it should not: {}", differ.join(" ")));
    }
    Ok(format!(
        "{:.1} MB and {:.1} MB of symbols; of {} paths none is left after removal",
        megabytes(&tool)?,
        megabytes(&symbols)?,
        before.iter().filter(|(_, existed)| !existed).count(),
    ))
}

/// Runs the installed program, and looks at its manual page, completions and symbols.
fn inspect() -> Result<(), Failure> {
    let empty = Empty::new("debian")?;
    wheel::doctor(&mut empty.command("/usr/bin/proofmark"))?;
    for (_, place) in COMPLETIONS {
        fs::metadata(Path::new("/").join(place)).map_err(at(Path::new(place)))?;
    }
    let page = Path::new("/usr/share/man/man1/proofmark.1.gz");
    fs::metadata(page).map_err(at(page))?;
    super::symbols::names_lines(&empty, Path::new("/usr/bin/proofmark"))?
        .then_some(())
        .ok_or_else(|| format!("the build id does not lead to {}", program::SYMBOLS))
}

/// The paths that a package holds, and whether each exists in this system.
fn paths(package: &Path) -> Result<Vec<(PathBuf, bool)>, Failure> {
    let mut sh = Command::new("sh");
    sh.args(["-c", "dpkg-deb --fsys-tarfile \"$0\" | tar --list"]).arg(package);
    let text = succeeded(&mut sh)?;
    let path = |line: &str| Path::new("/").join(line.trim_start_matches("./"));
    Ok(text.lines().map(path).map(|path| (path.clone(), path.exists())).collect())
}
