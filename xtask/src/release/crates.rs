//! Packages of the crates, built as a registry's user builds them.

use std::collections::BTreeSet;
use std::process::Command;

use super::Release;
use super::tools::shown;
use crate::{Failure, metadata};

/// Packages everything that is published, and builds each crate from its package alone.
pub(super) fn check(release: &Release) -> Result<String, Failure> {
    let names = published(release)?;
    for must in ["proofmark", "proofmark-ops", "proofmark-bench"] {
        if !names.contains(must) {
            return Err(format!("{must} is not published"));
        }
    }
    let mut package = Command::new("cargo");
    package.current_dir(&release.root).args(["package", "--locked", "--quiet"]);
    // It is built to see that it builds: optimised, it would take many times as long.
    package.env("CARGO_PROFILE_DEV_DEBUG", "false");
    package.args(names.iter().flat_map(|name| ["--package", name.as_str()]));
    shown(&mut package)?;
    Ok(format!("{} crates are packaged, and build from their packages", names.len()))
}

/// The crates of the workspace that a registry may have.
fn published(release: &Release) -> Result<BTreeSet<String>, Failure> {
    let workspace = metadata::read(&release.root, &["--no-deps"])?;
    let packages = metadata::array(&workspace, "packages").iter();
    // `publish = false` is an empty list of registries.
    let is_published = |package: &&serde_json::Value| package["publish"].is_null();
    Ok(packages.filter(is_published).map(|it| metadata::text(it, "name").to_owned()).collect())
}
