//! The table of ops, as the program lists them.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::tables::{NOTHING, markdown};
use crate::metadata::{array, text};
use crate::{Failure, check};

/// Kernels that are not named: every op has them.
const USUAL: &[&str] = &["parallel", "simd", "scalar"];

/// Builds the program as the tests do, and gives what it prints.
pub(super) fn said(root: &Path, args: &[&str]) -> Result<String, Failure> {
    let program = check::program(root)?;
    let output = Command::new(&program)
        .args(args)
        .current_dir(root)
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let line = format!("`proofmark {}`", args.join(" "));
    if !output.status.success() {
        return Err(format!("{line} ended with {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{line}: {error}"))
}

/// What the program lists: ops and sizes.
pub(super) fn listed(root: &Path) -> Result<Value, Failure> {
    let listed = said(root, &["list", "--format", "json"])?;
    serde_json::from_str(&listed)
        .map_err(|error| format!("`proofmark list --format json`: {error}"))
}

/// The table of all ops.
pub(super) fn table(root: &Path) -> Result<String, Failure> {
    rendered(&listed(root)?)
}

fn rendered(listed: &Value) -> Result<String, Failure> {
    let ops = array(listed, "ops");
    let mut rows = Vec::new();
    for op in ops {
        let name = text(op, "op");
        let kernels: Vec<&str> =
            array(op, "kernels").iter().map(|kernel| text(kernel, "name")).collect();
        if let Some(usual) = USUAL.iter().find(|usual| !kernels.contains(usual)) {
            return Err(format!("op `{name}` has no kernel `{usual}`, as the table says"));
        }
        let others = kernels.into_iter().filter(|kernel| !USUAL.contains(kernel));
        // An attribute is listed as `name=default` and its values.
        let attributes = array(op, "attributes").iter().filter_map(Value::as_str);
        let attributes = attributes.map(|words| words.split('=').next().unwrap_or_default());
        let dtypes: Vec<&str> = array(op, "dtypes").iter().filter_map(Value::as_str).collect();
        rows.push(vec![
            format!("[`{name}`](ops/{name}.md)"),
            text(op, "summary").replace('|', "\\|"),
            dtypes.join(" "),
            quoted(others),
            quoted(attributes),
            array(op, "peers").len().to_string(),
        ]);
    }
    let head = ["op", "formula", "element types", "more kernels", "attributes", "peers"];
    Ok(format!("There are {} ops.\n\n{}", ops.len(), markdown(&head, &rows)))
}

fn quoted<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    if words.is_empty() { NOTHING.to_owned() } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_names_what_an_op_has_beyond_the_usual() {
        let op = json!({
            "op": "matmul", "summary": "c = a·b", "dtypes": ["f32", "bf16"],
            "attributes": ["layout=nn (nn|nt)", "bias=false (true|false)"],
            "kernels": [{"name": "amx"}, {"name": "parallel"}, {"name": "simd"},
                        {"name": "scalar"}],
            "peers": ["mkl", "openblas"],
        });
        let table = rendered(&json!({ "ops": [op] })).expect("a table");
        let row =
            "| [`matmul`](ops/matmul.md) | c = a·b | f32 bf16 | `amx` | `layout`, `bias` | 2 |";
        assert!(table.contains(row), "{table}");
    }

    #[test]
    fn an_op_without_a_usual_kernel_is_refused() {
        let op = json!({ "op": "add", "kernels": [{"name": "simd"}] });
        assert!(rendered(&json!({ "ops": [op] })).is_err());
    }
}
