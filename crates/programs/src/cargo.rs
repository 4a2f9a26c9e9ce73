//! The bench targets of a cargo project, from what cargo says while it builds them.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// A bench target that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchTarget {
    /// Its name in `Cargo.toml`.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// The folder of its package, in which `cargo bench` runs it.
    pub folder: PathBuf,
}

/// The arguments by which cargo builds all bench targets and says where they are.
pub fn build_args(is_locked: bool) -> Vec<&'static str> {
    let mut args = vec!["bench", "--no-run", "--benches", "--workspace"];
    args.extend(is_locked.then_some("--locked"));
    args.extend(["--message-format", "json-render-diagnostics"]);
    args
}

/// The bench targets among cargo's messages. Libraries and programs of a package, which cargo
/// builds as benches too, have none unless they use `#[bench]`, and are left out.
pub fn built(messages: &str) -> Vec<BenchTarget> {
    let lines = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let target = |message: Value| {
        let is_bench = message["target"]["kind"].as_array()?.iter().any(|kind| kind == "bench");
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
        is_bench.then_some(BenchTarget {
            name: message["target"]["name"].as_str()?.to_owned(),
            program: message["executable"].as_str()?.into(),
            folder,
        })
    };
    lines.filter_map(target).collect()
}

/// The names of the bench targets of all packages, from `cargo metadata --no-deps`.
pub fn declared(metadata: &str) -> Vec<String> {
    members(metadata, "name")
}

/// The sources of the same targets.
pub fn declared_sources(metadata: &str) -> Vec<PathBuf> {
    members(metadata, "src_path").into_iter().map(PathBuf::from).collect()
}

fn members(metadata: &str, member: &str) -> Vec<String> {
    let data: Value = serde_json::from_str(metadata).unwrap_or_default();
    let packages = data["packages"].as_array().cloned().unwrap_or_default();
    let targets = packages.iter().filter_map(|package| package["targets"].as_array()).flatten();
    let is_bench = |target: &&Value| {
        target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "bench"))
    };
    let text = |target: &Value| target[member].as_str().map(str::to_owned);
    targets.filter(is_bench).filter_map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bench_targets_are_taken_from_what_cargo_says() {
        let said = concat!(
            r#"{"reason":"compiler-artifact","manifest_path":"/p/Cargo.toml","target":{"kind":["lib"],"name":"p"},"executable":"/t/p-1"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","manifest_path":"/p/Cargo.toml","target":{"kind":["bench"],"name":"speed"},"executable":"/t/speed-1"}"#,
            "\nno JSON\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        let target = BenchTarget {
            name: "speed".to_owned(),
            program: "/t/speed-1".into(),
            folder: "/p".into(),
        };
        assert_eq!(built(said), [target]);
    }

    #[test]
    fn declared_targets_are_found_without_a_build() {
        let said = r#"{"packages":[{"targets":[{"kind":["lib"],"name":"p"},{"kind":["bench"],"name":"b"}]}]}"#;
        assert_eq!(declared(said), ["b"]);
        assert!(declared("no JSON").is_empty());
    }
}
