//! Runs `cargo metadata` and hands back its JSON.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::Failure;

/// The workspace as Cargo sees it; `extra` are further arguments of `cargo metadata`.
pub(crate) fn read(root: &Path, extra: &[&str]) -> Result<Value, Failure> {
    let output = Command::new("cargo")
        .current_dir(root)
        .args(["metadata", "--format-version", "1"])
        .args(extra)
        .output()
        .map_err(|error| format!("cargo metadata did not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata wrote JSON that does not parse: {error}"))
}

/// The elements of the array at `key`, none if it is missing.
pub(crate) fn array<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// The text at `key`, empty if it is missing.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}
