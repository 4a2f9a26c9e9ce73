//! Locks of the peers that come from package registries: exact versions and hashes of all that
//! `proofmark peers add` installs. `cargo xtask locks` makes them again, with the newest versions.
//!
//! The first line of a lock says what it is of, so that a lock is made again from itself. Versions
//! are those that the oldest Python of [`PYTHONS`] gets; hashes are those of its files and of the
//! files that later ones get of the same versions.

use crate::Failure;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The Pythons whose files are in the locks; versions are chosen with the first.
const PYTHONS: [&str; 3] = ["3.11", "3.12", "3.13"];

/// How the first line of a lock begins: packages by themselves, or with their dependencies.
const ALONE: &str = "# alone: ";
const WITH_ALL: &str = "# with all that they need: ";

/// Hashes by name and version.
type Locked = BTreeMap<(String, String), BTreeSet<String>>;

/// Makes every lock again.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let folder = root.join("crates/peers/locks");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{error}"))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort_unstable();
    for path in paths {
        let old = std::fs::read_to_string(&path).map_err(|error| format!("{error}"))?;
        let is_npm = path.extension().is_some_and(|end| end == "json");
        let made = if is_npm { npm(&old) } else { pip(&old) };
        let text = made.map_err(|failure| format!("{}: {failure}", path.display()))?;
        println!("{}: {}", path.display(), if text == old { "as it was" } else { "made again" });
        std::fs::write(&path, text).map_err(|error| format!("{error}"))?;
    }
    Ok(())
}

/// A lock for `pip`.
fn pip(old: &str) -> Result<String, Failure> {
    let first = old.lines().next().unwrap_or_default();
    let (packages, is_alone) = match (first.strip_prefix(ALONE), first.strip_prefix(WITH_ALL)) {
        (Some(packages), _) => (packages, true),
        (_, Some(packages)) => (packages, false),
        _ => return Err("its first line does not say what it is of".to_owned()),
    };
    let packages: Vec<&str> = packages.split(' ').collect();
    let python = format!("python{}", PYTHONS[0]);
    let mut locked = Locked::new();
    let more: &[&str] = if is_alone { &["--no-deps"] } else { &[] };
    report(&python, more, &packages, &mut locked)?;
    let pinned: Vec<String> =
        locked.keys().map(|(name, version)| format!("{name}=={version}")).collect();
    for version in &PYTHONS[1..] {
        for package in &pinned {
            let args = other_python(version);
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            // A package that has no file for a later Python leaves that one without a lock.
            if let Err(failure) = report(&python, &args, &[package], &mut locked) {
                println!("no {package} for Python {version}: {failure}");
            }
        }
    }
    Ok(written(first, &locked))
}

/// What makes `pip` choose files for another Python.
fn other_python(version: &str) -> Vec<String> {
    let mut args: Vec<String> =
        ["--no-deps", "--implementation", "cp", "--target", "unused"].map(str::to_owned).to_vec();
    args.extend(["--python-version".to_owned(), version.to_owned()]);
    for minor in (5..=28).rev() {
        args.extend(["--platform".to_owned(), format!("manylinux_2_{minor}_x86_64")]);
    }
    for old in ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64"] {
        args.extend(["--platform".to_owned(), old.to_owned()]);
    }
    args
}

/// Adds what `pip` would install.
fn report(
    python: &str,
    more: &[&str],
    packages: &[&str],
    locked: &mut Locked,
) -> Result<(), Failure> {
    let mut args = vec!["-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"];
    args.extend(["--disable-pip-version-check", "--only-binary", ":all:", "--report", "-"]);
    args.extend(more);
    args.extend(packages);
    let said: Value = serde_json::from_str(&output(python, &args, Path::new("."))?)
        .map_err(|error| format!("what pip says cannot be read: {error}"))?;
    for one in said["install"].as_array().into_iter().flatten() {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let about = &one["metadata"];
        // One name for all spellings, so that a package has one line.
        let name = text(&about["name"]).to_lowercase().replace(['_', '.'], "-");
        let hash = text(&one["download_info"]["archive_info"]["hashes"]["sha256"]);
        if hash.len() != 64 {
            return Err(format!("there is no SHA-256 of {name}"));
        }
        locked.entry((name, text(&about["version"]))).or_default().insert(hash);
    }
    Ok(())
}

/// The file, in the form of hash-checking mode.
fn written(first: &str, locked: &Locked) -> String {
    let mut text = format!(
        "{first}\n# Made by `cargo xtask locks` for Python {} to {} on Linux x86-64.\n",
        PYTHONS[0],
        PYTHONS[PYTHONS.len() - 1]
    );
    for ((name, version), hashes) in locked {
        text += &format!("{name}=={version}");
        for hash in hashes {
            text += &format!(" \\\n    --hash=sha256:{hash}");
        }
        text.push('\n');
    }
    text
}

/// A lock for `npm`, which does not say which registry it was made with.
fn npm(old: &str) -> Result<String, Failure> {
    let old: Value = serde_json::from_str(old).map_err(|error| error.to_string())?;
    let known = old["packages"][""]["dependencies"].as_object();
    let packages: Vec<&str> =
        known.into_iter().flat_map(|known| known.keys()).map(String::as_str).collect();
    let folder = std::env::temp_dir().join(format!("proofmark-lock-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let mut args = vec!["install", "--package-lock-only", "--omit-lockfile-registry-resolved"];
    args.extend(["--ignore-scripts", "--no-audit", "--no-fund", "--save-exact"]);
    args.extend(&packages);
    let made = output("npm", &args, &folder)
        .and_then(|_| read(&folder.join("package-lock.json")))
        .and_then(|text| serde_json::from_str::<Value>(&text).map_err(|error| error.to_string()));
    // The folder holds nothing that is needed; the error of the installer is the one to tell.
    let _ = std::fs::remove_dir_all(&folder);
    let made = made?;
    // The name is that of the temporary folder.
    let lock = json!({
        "lockfileVersion": made["lockfileVersion"],
        "requires": made["requires"],
        "packages": made["packages"],
    });
    serde_json::to_string_pretty(&lock).map(|text| text + "\n").map_err(|error| error.to_string())
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// What a program prints; what it complains of goes to the terminal.
fn output(program: &str, args: &[&str], folder: &Path) -> Result<String, Failure> {
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| format!("`{program}`: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("`{program} {}` failed", args.join(" "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_has_a_line_for_each_package_with_all_of_its_hashes() {
        let mut locked = Locked::new();
        for (name, hash) in [("numpy", "bb"), ("jax", "cc"), ("numpy", "aa")] {
            let hashes = locked.entry((name.to_owned(), "1.0".to_owned())).or_default();
            hashes.insert(hash.to_owned());
        }
        let text = written("# alone: jax numpy", &locked);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "# alone: jax numpy");
        assert!(lines[1].contains("cargo xtask locks"), "{text}");
        assert_eq!(lines[2..4], ["jax==1.0 \\", "    --hash=sha256:cc"]);
        assert_eq!(
            lines[4..],
            ["numpy==1.0 \\", "    --hash=sha256:aa \\", "    --hash=sha256:bb"]
        );
    }
}
