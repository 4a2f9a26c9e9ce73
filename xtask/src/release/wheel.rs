//! The wheel: maturin's, with the program that has its symbols elsewhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::empty::Empty;
use super::tools::succeeded;
use super::{OLDEST_GLIBC, Release, at, copy, megabytes};
use crate::{Failure, metadata};

/// The most that the wheel may weigh.
const MOST_MEGABYTES: f64 = 30.0;

/// The longest that installing the wheel and `proofmark doctor` may take together.
const MOST_SECONDS: f64 = 10.0;

/// Puts the shipped program into the wheel that maturin made.
pub(super) fn make(release: &Release) -> Result<(), Failure> {
    copy(&release.program(), &place_of_program(release)?)?;
    let mut pack = release.tools.command("wheel");
    pack.env("SOURCE_DATE_EPOCH", &release.epoch).arg("pack").arg(tree(release)?);
    succeeded(pack.arg("--dest-dir").arg(&release.out)).map(drop)
}

/// The only entry of a folder whose name ends so.
pub(super) fn only_file(folder: &Path, end: &str) -> Result<PathBuf, Failure> {
    let entries = fs::read_dir(folder).map_err(at(folder))?.flatten().map(|entry| entry.path());
    let found: Vec<PathBuf> =
        entries.filter(|path| path.to_string_lossy().ends_with(end)).collect();
    match &found[..] {
        [one] => Ok(one.clone()),
        _ => Err(format!("{}: {} files end with `{end}`, not 1", folder.display(), found.len())),
    }
}

/// The folder that the wheel was unpacked to.
fn tree(release: &Release) -> Result<PathBuf, Failure> {
    Ok(release.wheel_tree().join(format!("proofmark-{}", release.version)))
}

/// Where the program lies in the unpacked wheel.
pub(super) fn place_of_program(release: &Release) -> Result<PathBuf, Failure> {
    let data = format!("proofmark-{}.data/scripts/proofmark", release.version);
    Ok(tree(release)?.join(data))
}

/// Where the list of the program's crates lies in the unpacked wheel.
pub(super) fn place_of_sbom(release: &Release) -> Result<PathBuf, Failure> {
    let folder = format!("proofmark-{}.dist-info/sboms", release.version);
    only_file(&tree(release)?.join(folder), ".cyclonedx.json")
}

/// Installs the wheel as users do, and asks auditwheel which systems it is for.
pub(super) fn check(release: &Release) -> Result<String, Failure> {
    let wheel = only_file(&release.out, ".whl")?;
    let size = megabytes(&wheel)?;
    if size > MOST_MEGABYTES {
        return Err(format!("the wheel weighs {size:.1} MB, more than {MOST_MEGABYTES}"));
    }
    let empty = Empty::new("wheel")?;
    let environment = empty.path("environment");
    succeeded(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    let python = environment.join("bin/python");
    let begin = Instant::now();
    let mut pip = empty.command(&python);
    succeeded(pip.args(["-m", "pip", "install", "--quiet", "--no-index"]).arg(&wheel))?;
    let installed = begin.elapsed().as_secs_f64();
    doctor(&mut empty.command(environment.join("bin/proofmark")))?;
    let seconds = begin.elapsed().as_secs_f64();
    if seconds > MOST_SECONDS {
        return Err(format!("installing and `doctor` took {seconds:.1} s, not {MOST_SECONDS} s"));
    }
    let version = uvx(release, &empty, &wheel, &python)?;
    let tag = audited(release, &wheel)?;
    let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(format!(
        "{name}: {size:.1} MB; pip install {installed:.1} s, with doctor {seconds:.1} s; \
         uvx: {version}; auditwheel: {tag}"
    ))
}

/// Runs `proofmark doctor`, which may find the machine busy but must not fail.
pub(super) fn doctor(program: &mut Command) -> Result<(), Failure> {
    let text = succeeded(program.args(["doctor", "--format", "json"]))?;
    let found: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    match metadata::array(&found, "checks") {
        [] => Err(format!("`proofmark doctor` checks nothing:\n{text}")),
        _ => Ok(()),
    }
}

/// Runs the program by `uvx`, without a network.
fn uvx(release: &Release, empty: &Empty, wheel: &Path, python: &Path) -> Result<String, Failure> {
    let tool = release.tools.command("uvx");
    let mut uvx = empty.command(tool.get_program());
    uvx.args(["--offline", "--no-index", "--python"]).arg(python).arg("--from").arg(wheel);
    let version = succeeded(uvx.args(["proofmark", "-V"]))?.trim().to_owned();
    match version == format!("proofmark {}", release.version) {
        true => Ok(version),
        false => Err(format!("uvx started `{version}`, not version {}", release.version)),
    }
}

/// The systems that auditwheel finds the wheel to be for; they must be those of its name.
fn audited(release: &Release, wheel: &Path) -> Result<String, Failure> {
    let mut auditwheel = release.tools.command("auditwheel");
    let text = succeeded(auditwheel.args(["show", "--json"]).arg(wheel))?;
    let found: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| format!("auditwheel wrote no JSON: {error}\n{text}"))?;
    let tag = found["overall_tag"].as_str().unwrap_or_default().to_owned();
    let minor = |tag: &str| -> Option<u32> {
        tag.strip_prefix("manylinux_2_")?.split('_').next()?.parse().ok()
    };
    let most: Option<u32> = OLDEST_GLIBC.split('.').nth(1).and_then(|minor| minor.parse().ok());
    match minor(&tag).zip(most).is_some_and(|(found, most)| found <= most) {
        true => Ok(tag),
        false => Err(format!("auditwheel finds `{tag}`, newer than glibc {OLDEST_GLIBC}:\n{text}")),
    }
}
