//! The list of the program's crates, in CycloneDX: maturin writes it while it builds.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use super::tools::succeeded;
use super::{Release, TARGET, at, copy, wheel};
use crate::{Failure, metadata};

const NAME: &str = "proofmark.cyclonedx.json";

/// Publishes it beside the wheel too.
pub(super) fn make(release: &Release) -> Result<(), Failure> {
    copy(&wheel::place_of_sbom(release)?, &release.file(NAME))
}

/// Every crate that cargo compiles into the program must be in it.
pub(super) fn check(release: &Release) -> Result<String, Failure> {
    let path = release.file(NAME);
    let text = fs::read_to_string(&path).map_err(at(&path))?;
    let list: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if list["bomFormat"] != "CycloneDX" {
        return Err(format!("{NAME} is no CycloneDX list"));
    }
    let component = |it: &Value| {
        (metadata::text(it, "name").to_owned(), metadata::text(it, "version").to_owned())
    };
    let mut found: BTreeSet<(String, String)> =
        metadata::array(&list, "components").iter().map(component).collect();
    found.insert(component(&list["metadata"]["component"]));
    let mut tree = Command::new("cargo");
    tree.current_dir(&release.root).args(["tree", "--package", "proofmark", "--target", TARGET]);
    tree.args(["--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}"]);
    let text = succeeded(&mut tree)?;
    let crates: BTreeSet<(String, String)> = text.lines().filter_map(name_and_version).collect();
    let missing: Vec<String> =
        crates.difference(&found).map(|(name, version)| format!("{name} {version}")).collect();
    match missing.is_empty() && !crates.is_empty() {
        true => Ok(format!(
            "CycloneDX {}: {} components, among them all {} crates of the program",
            metadata::text(&list, "specVersion"),
            found.len(),
            crates.len()
        )),
        false => Err(format!("{NAME} does not list {}", missing.join(", "))),
    }
}

/// From a line of `cargo tree`, as `clap v4.6.7 (proc-macro)`.
fn name_and_version(line: &str) -> Option<(String, String)> {
    let mut words = line.split_whitespace();
    let (name, version) = (words.next()?, words.next()?);
    Some((name.to_owned(), version.strip_prefix('v')?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::name_and_version;

    #[test]
    fn lines_of_cargo_tree_are_read() {
        let found =
            |line| name_and_version(line).map(|(name, version)| format!("{name}@{version}"));
        assert_eq!(found("clap_derive v4.6.7 (proc-macro) (*)").unwrap(), "clap_derive@4.6.7");
        assert_eq!(found("proofmark v0.1.0 (crates/cli)").unwrap(), "proofmark@0.1.0");
        assert_eq!(found(""), None);
    }
}
