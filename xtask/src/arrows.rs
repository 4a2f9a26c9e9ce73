//! Which crate may import which: the table of the design, as data, and its check.

use std::path::Path;

use crate::{Failure, circles, metadata};

/// For each crate, the crates it may import; a crate that is not here has no place yet.
const ALLOWED: &[(&str, &[&str])] = &[
    ("terms", &[]),
    ("schema", &["terms"]),
    ("stats", &[]),
    ("simd", &["terms", "schema"]),
    ("tensor", &["terms"]),
    ("machine", &["schema", "simd", "tensor"]),
    ("contract", &["terms", "schema", "tensor"]),
    ("ops", &["terms", "schema", "contract", "tensor", "simd"]),
    ("gate", &["schema", "contract", "tensor", "arena"]),
    ("sandbox", &["schema"]),
    ("arena", &["schema", "tensor", "sandbox"]),
    ("worker", &["schema", "contract", "tensor", "ops", "peers", "opencl", "own", "simd"]),
    ("peers", &["schema", "contract", "tensor"]),
    ("opencl", &["schema", "contract", "tensor", "peers"]),
    ("own", &["schema", "contract", "tensor", "peers", "opencl"]),
    ("measure", &["schema", "stats", "machine", "gate", "arena"]),
    ("programs", &["schema", "stats"]),
    ("store", &["schema"]),
    // A workspace of its own, which nothing here depends on; `cli` starts its program.
    ("history", &["schema", "stats", "store", "report"]),
    // A query engine over histories; the program of the history starts it.
    ("history-query", &["history"]),
    ("analyze", &["schema", "stats"]),
    (
        "engine",
        &[
            "schema", "stats", "simd", "tensor", "machine", "contract", "ops", "gate", "arena",
            "worker", "peers", "opencl", "own", "measure", "programs", "store", "analyze",
        ],
    ),
    ("report", &["schema", "analyze"]),
    ("server", &["engine", "report", "history"]),
    ("cli", &["engine", "report", "server", "worker", "schema"]),
    ("bench-macros", &[]),
    ("bench", &["bench-macros"]),
    // It starts the program and shares no code with it.
    ("mcp", &[]),
    ("xtask", &["stats"]),
];

/// What the tests of a crate may import beyond `ALLOWED`.
const ALLOWED_IN_TESTS: &[(&str, &[&str])] = &[
    ("ops", &["gate", "arena", "worker"]),
    // Runs are made up.
    ("history-query", &["schema"]),
    ("worker", &["gate", "arena", "ops"]),
    // Adapters are tried on the attributes that the real ops have.
    ("peers", &["ops"]),
    // Enough for a contender made up on the spot; never `ops`, nor `worker`, which brings it along.
    ("measure", &["contract", "tensor"]),
    ("cli", &[ANY]),
];

const ANY: &str = "*";

/// Arrows that no table entry may bring back, not even for tests: the judge does not know the
/// judged, and nothing builds on the command line.
const NEVER: &[(&str, &str)] = &[("gate", "ops"), ("measure", "ops"), (ANY, "cli")];

/// Test arrows that must exist: every op's tests pass through the real gate.
const REQUIRED_IN_TESTS: &[(&str, &str)] = &[("ops", "gate")];

/// One dependency of a workspace crate on another, by short name.
#[derive(Debug, PartialEq)]
struct Arrow {
    from: String,
    to: String,
    is_for_tests: bool,
}

/// Reads the workspace and fails on any arrow that the tables do not allow, and on any circle of
/// files.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let workspace = metadata::read(root, &["--no-deps"])?;
    let apart = metadata::read(&root.join("crates/history"), &["--no-deps"])?;
    let packages: Vec<_> = [&workspace, &apart]
        .into_iter()
        .flat_map(|workspace| metadata::array(workspace, "packages"))
        .collect();
    let crates: Vec<String> =
        packages.iter().map(|package| short_name(metadata::text(package, "name"))).collect();
    let arrows: Vec<Arrow> =
        packages.iter().flat_map(|package| arrows_of(package, &crates)).collect();

    let mut complaints = unknown_crates(&crates);
    complaints.extend(forbidden(&arrows));
    if has_op_folders(root) {
        complaints.extend(missing(&arrows));
    }
    complaints.extend(circles::check(root)?);
    for complaint in &complaints {
        println!("{complaint}");
    }
    if complaints.is_empty() {
        println!("{} crates, {} arrows, all allowed", crates.len(), arrows.len());
        return Ok(());
    }
    println!("hint: the allowed arrows are the tables in xtask/src/arrows.rs and circles.rs");
    Err(format!("arrows: {} broken", complaints.len()))
}

/// `gate` for `proofmark-gate`, `cli` for `proofmark`.
fn short_name(package: &str) -> String {
    match package {
        "proofmark" => "cli".to_owned(),
        _ => package.strip_prefix("proofmark-").unwrap_or(package).to_owned(),
    }
}

/// The dependencies of one package of `cargo metadata` on `crates`.
fn arrows_of(package: &serde_json::Value, crates: &[String]) -> Vec<Arrow> {
    let from = short_name(metadata::text(package, "name"));
    metadata::array(package, "dependencies")
        .iter()
        // A crate of the workspace is found by path; one of the same name elsewhere is not ours.
        .filter(|dependency| dependency["path"].is_string())
        .map(|dependency| Arrow {
            from: from.clone(),
            to: short_name(metadata::text(dependency, "name")),
            is_for_tests: metadata::text(dependency, "kind") == "dev",
        })
        // A crate that names itself turns on a feature for its own tests.
        .filter(|arrow| crates.contains(&arrow.to) && arrow.to != arrow.from)
        .collect()
}

fn has_op_folders(root: &Path) -> bool {
    let shared = ["blocks", "exact", "library"];
    std::fs::read_dir(root.join("crates/ops/src")).is_ok_and(|entries| {
        entries.flatten().any(|entry| {
            entry.path().is_dir() && !shared.iter().any(|name| entry.file_name() == *name)
        })
    })
}

fn unknown_crates(crates: &[String]) -> Vec<String> {
    crates
        .iter()
        .filter(|name| !ALLOWED.iter().any(|(known, _)| known == name))
        .map(|name| format!("unknown crate: {name} has no line in the table"))
        .collect()
}

fn forbidden(arrows: &[Arrow]) -> Vec<String> {
    arrows
        .iter()
        .filter(|arrow| !is_allowed(arrow))
        .map(|arrow| {
            let note = if arrow.is_for_tests { " (dev-dependency)" } else { "" };
            format!("forbidden arrow: {} -> {}{note}", arrow.from, arrow.to)
        })
        .collect()
}

fn is_allowed(arrow: &Arrow) -> bool {
    let never =
        NEVER.iter().any(|(from, to)| (*from == ANY || *from == arrow.from) && *to == arrow.to);
    !never && (holds(ALLOWED, arrow) || (arrow.is_for_tests && holds(ALLOWED_IN_TESTS, arrow)))
}

fn holds(table: &[(&str, &[&str])], arrow: &Arrow) -> bool {
    table
        .iter()
        .filter(|(from, _)| *from == arrow.from)
        .any(|(_, allowed)| allowed.iter().any(|to| *to == ANY || *to == arrow.to))
}

fn missing(arrows: &[Arrow]) -> Vec<String> {
    REQUIRED_IN_TESTS
        .iter()
        .filter(|(from, to)| {
            !arrows.iter().any(|arrow| arrow.from == *from && arrow.to == *to && arrow.is_for_tests)
        })
        .map(|(from, to)| format!("missing arrow: {from} -> {to} (dev-dependency)"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrow(from: &str, to: &str) -> Arrow {
        Arrow { from: from.to_owned(), to: to.to_owned(), is_for_tests: false }
    }

    fn test_arrow(from: &str, to: &str) -> Arrow {
        Arrow { is_for_tests: true, ..arrow(from, to) }
    }

    #[test]
    fn refuses_the_judge_that_knows_the_judged() {
        assert_eq!(forbidden(&[arrow("gate", "ops")]), ["forbidden arrow: gate -> ops"]);
        assert_eq!(
            forbidden(&[test_arrow("gate", "ops"), test_arrow("measure", "ops")]),
            [
                "forbidden arrow: gate -> ops (dev-dependency)",
                "forbidden arrow: measure -> ops (dev-dependency)"
            ]
        );
    }

    #[test]
    fn refuses_anything_that_builds_on_the_command_line() {
        assert_eq!(forbidden(&[test_arrow("engine", "cli")]).len(), 1);
        assert_eq!(forbidden(&[test_arrow("cli", "cli")]).len(), 1);
    }

    #[test]
    fn allows_a_test_arrow_only_for_tests() {
        assert!(forbidden(&[test_arrow("ops", "gate")]).is_empty());
        assert_eq!(forbidden(&[arrow("ops", "gate")]), ["forbidden arrow: ops -> gate"]);
        assert!(forbidden(&[test_arrow("cli", "stats")]).is_empty());
        assert_eq!(forbidden(&[arrow("cli", "stats")]).len(), 1);
    }

    #[test]
    fn asks_for_the_arrow_from_the_ops_tests_to_the_gate() {
        assert_eq!(
            missing(&[arrow("ops", "gate")]),
            ["missing arrow: ops -> gate (dev-dependency)"]
        );
        assert!(missing(&[test_arrow("ops", "gate")]).is_empty());
    }

    #[test]
    fn refuses_a_crate_without_a_line_in_the_table() {
        let crates = ["schema".to_owned(), "drawer".to_owned()];
        assert_eq!(unknown_crates(&crates), ["unknown crate: drawer has no line in the table"]);
    }

    #[test]
    fn tables_name_only_crates_that_have_a_line_and_never_themselves() {
        for (from, allowed) in ALLOWED.iter().chain(ALLOWED_IN_TESTS) {
            assert!(ALLOWED.iter().any(|(known, _)| known == from), "{from}");
            for to in allowed.iter().filter(|to| **to != ANY) {
                assert!(ALLOWED.iter().any(|(known, _)| known == to), "{from} -> {to}");
                assert_ne!(from, to);
            }
        }
    }

    #[test]
    fn allowed_arrows_have_no_cycle() {
        let mut placed: Vec<&str> = Vec::new();
        while placed.len() < ALLOWED.len() {
            let next = ALLOWED.iter().find(|(name, allowed)| {
                !placed.contains(name) && allowed.iter().all(|to| placed.contains(to))
            });
            placed.push(next.expect("a crate whose imports are all placed").0);
        }
    }

    #[test]
    fn reads_the_kinds_of_dependencies_from_metadata() {
        let package = serde_json::json!({
            "name": "proofmark-ops",
            "dependencies": [
                { "name": "proofmark-schema", "kind": null, "path": "crates/schema" },
                { "name": "proofmark-gate", "kind": "dev", "path": "crates/gate" },
                { "name": "half", "kind": null },
            ],
        });
        let crates = ["ops", "schema", "gate", "half"].map(str::to_owned);
        assert_eq!(
            arrows_of(&package, &crates),
            [arrow("ops", "schema"), test_arrow("ops", "gate")]
        );
    }
}
