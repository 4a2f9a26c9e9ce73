//! Holds every dependency against deny.toml: licences, banned crates, sources.
//!
//! `cargo deny` takes minutes to compile, so that a new machine does not have it: the lists are
//! checked here, and by `cargo deny` as well where it is installed.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{Failure, check, metadata};

/// The lists of deny.toml.
struct Lists {
    targets: Vec<String>,
    licences: Vec<String>,
    banned: Vec<String>,
    registries: Vec<String>,
}

impl Lists {
    fn parse(text: &str) -> Result<Self, Failure> {
        let table: toml::Table = text.parse().map_err(|error| format!("deny.toml: {error}"))?;
        let list = |section: &str, key: &str| -> Result<Vec<String>, Failure> {
            let items = table.get(section).and_then(|section| section.get(key)?.as_array());
            let items = items.ok_or_else(|| format!("deny.toml: no list `{section}.{key}`"))?;
            let name = |item: &toml::Value| {
                let name = item.as_str().or_else(|| item.get("crate")?.as_str());
                name.map(str::to_owned)
                    .ok_or_else(|| format!("deny.toml: `{section}.{key}` holds `{item}`"))
            };
            items.iter().map(name).collect()
        };
        Ok(Self {
            targets: list("graph", "targets")?,
            licences: list("licenses", "allow")?,
            banned: list("bans", "deny")?,
            registries: list("sources", "allow-registry")?,
        })
    }
}

/// Checks the dependencies of every target that deny.toml names.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let text = std::fs::read_to_string(root.join("deny.toml"))
        .map_err(|error| format!("deny.toml: {error}"))?;
    let lists = Lists::parse(&text)?;
    let mut packages = BTreeMap::new();
    for target in &lists.targets {
        let workspace = metadata::read(root, &["--all-features", "--filter-platform", target])?;
        for package in metadata::array(&workspace, "packages") {
            packages.insert(metadata::text(package, "id").to_owned(), package.clone());
        }
    }
    let packages: Vec<Value> = packages.into_values().collect();
    for warning in duplicates(&packages) {
        println!("warning: {warning}");
    }
    let complaints: Vec<String> =
        packages.iter().flat_map(|package| complaints(package, &lists)).collect();
    for complaint in &complaints {
        println!("{complaint}");
    }
    if !complaints.is_empty() {
        println!("hint: choose another crate, or argue for it in deny.toml");
        return Err(format!("deny: {} refused", complaints.len()));
    }
    println!("{} packages, all allowed", packages.len());
    run_cargo_deny(root)
}

/// What deny.toml has against one package of `cargo metadata`.
fn complaints(package: &Value, lists: &Lists) -> Vec<String> {
    let name = metadata::text(package, "name");
    let who = format!("{name} {}", metadata::text(package, "version"));
    let mut complaints = Vec::new();
    if lists.banned.iter().any(|banned| banned == name) {
        complaints.push(format!("banned crate: {who}"));
    }
    let licence = metadata::text(package, "license");
    if !is_licence_allowed(licence, &lists.licences) {
        complaints.push(format!("licence not allowed: {who} has `{licence}`"));
    }
    // A path dependency has no source and lies in this repository.
    if let Some(source) = package["source"].as_str() {
        let registry = source.strip_prefix("registry+");
        if !registry.is_some_and(|registry| lists.registries.iter().any(|known| known == registry))
        {
            complaints.push(format!("source not allowed: {who} comes from `{source}`"));
        }
    }
    complaints
}

/// Packages that are in the graph with more than one version.
fn duplicates(packages: &[Value]) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        let name = metadata::text(package, "name");
        versions.entry(name).or_default().push(metadata::text(package, "version"));
    }
    versions.retain(|_, versions| versions.len() > 1);
    versions
        .iter()
        .map(|(name, versions)| format!("{name} has versions {}", versions.join(", ")))
        .collect()
}

/// Whether the SPDX expression can be satisfied with allowed licences only.
fn is_licence_allowed(expression: &str, allowed: &[String]) -> bool {
    // Old manifests write `MIT/Apache-2.0`.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let verdict = any_of(&mut words, allowed);
    verdict && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any_of(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut verdict = all_of(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        verdict |= all_of(words, allowed);
    }
    verdict
}

fn all_of(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut verdict = single(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        verdict &= single(words, allowed);
    }
    verdict
}

fn single(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let Some(word) = words.next() else { return false };
    if word == "(" {
        let verdict = any_of(words, allowed);
        return verdict && words.next() == Some(")");
    }
    // As for `cargo deny`, a licence with an exception is a licence of its own.
    let licence = if words.next_if_eq(&"WITH").is_some() {
        format!("{word} WITH {}", words.next().unwrap_or_default())
    } else {
        word.to_owned()
    };
    allowed.contains(&licence)
}

/// `cargo deny` sees more (advisories above all), but only some machines have it.
fn run_cargo_deny(root: &Path) -> Result<(), Failure> {
    let answers = |args: &[&str]| {
        let output = Command::new("cargo").current_dir(root).arg("deny").args(args).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !answers(&["--version"]) {
        println!("cargo-deny is not installed: advisories were not checked");
        return Ok(());
    }
    check::cargo(root, &["deny", "check", "bans", "licenses", "sources"], &[])?;
    if answers(&["fetch", "db"]) {
        check::cargo(root, &["deny", "check", "advisories"], &[])
    } else {
        println!("the advisory database cannot be reached: advisories were not checked");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DENY: &str = r#"
        graph.targets = ["x86_64-unknown-linux-gnu"]
        licenses.allow = ["MIT", "Apache-2.0", "Unicode-3.0"]
        bans.deny = [{ crate = "openssl-sys", reason = "system library" }, "native-tls"]
        sources.allow-registry = ["https://registry.example/index"]
    "#;

    fn refused(package: &Value) -> Vec<String> {
        complaints(package, &Lists::parse(DENY).expect("the lists of the test"))
    }

    #[test]
    fn licences_are_judged_as_expressions() {
        let allowed = ["MIT", "Apache-2.0", "Unicode-3.0"].map(str::to_owned);
        for good in [
            "MIT",
            "MIT OR LGPL-2.1-or-later",
            "MIT/GPL-3.0",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR MIT",
        ] {
            assert!(is_licence_allowed(good, &allowed), "{good}");
        }
        for bad in [
            "",
            "MPL-2.0",
            "MIT AND MPL-2.0",
            "Apache-2.0 WITH LLVM-exception",
            "MIT WITH",
            "(MIT OR Apache-2.0) AND (MPL-2.0 OR GPL-3.0)",
            "(MIT",
            "MIT Apache-2.0",
        ] {
            assert!(!is_licence_allowed(bad, &allowed), "{bad}");
        }
    }

    #[test]
    fn refuses_a_banned_crate_in_either_spelling() {
        for name in ["openssl-sys", "native-tls"] {
            let package = json!({ "name": name, "version": "0.9.1", "license": "MIT" });
            assert_eq!(refused(&package), [format!("banned crate: {name} 0.9.1")]);
        }
    }

    #[test]
    fn refuses_a_package_from_git_or_another_registry() {
        for source in ["git+https://forge.example/a", "registry+https://other.example/index"] {
            let package =
                json!({ "name": "a", "version": "1.0.0", "license": "MIT", "source": source });
            let expected = format!("source not allowed: a 1.0.0 comes from `{source}`");
            assert_eq!(refused(&package), [expected]);
        }
    }

    #[test]
    fn accepts_the_listed_registry_and_the_crates_of_the_workspace() {
        let source = "registry+https://registry.example/index";
        let ours = json!({ "name": "a", "version": "1.0.0", "license": "MIT", "source": null });
        let theirs = json!({ "name": "b", "version": "1.0.0", "license": "MIT", "source": source });
        assert!(refused(&ours).is_empty() && refused(&theirs).is_empty());
    }

    #[test]
    fn warns_of_two_versions_of_one_crate() {
        let packages = [
            json!({ "name": "a", "version": "1.0.0" }),
            json!({ "name": "b", "version": "1.0.0" }),
            json!({ "name": "a", "version": "2.0.0" }),
        ];
        assert_eq!(duplicates(&packages), ["a has versions 1.0.0, 2.0.0"]);
    }

    #[test]
    fn refuses_lists_that_are_incomplete() {
        let error = Lists::parse("graph.targets = []").err();
        assert_eq!(error.as_deref(), Some("deny.toml: no list `licenses.allow`"));
    }
}
