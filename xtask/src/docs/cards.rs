//! A page for each op: its card, as the program states it.

use std::path::Path;

use serde_json::Value;

use super::tables::{NOTHING, markdown};
use crate::Failure;
use crate::metadata::{array, text};

/// Where the pages are.
pub(super) const FOLDER: &str = "docs/ops";

const OPENING: &str = "<!-- Written by `cargo xtask docs` from `proofmark list --format json`. -->";

/// Every page with its path, from what `proofmark list --format json` prints.
pub(super) fn pages(root: &Path, listed: &Value) -> Result<Vec<(String, String)>, Failure> {
    let mut pages = Vec::new();
    for op in array(listed, "ops") {
        let name = text(op, "op");
        let stated: Vec<&str> = array(op, "edges").iter().filter_map(Value::as_str).collect();
        let edges = match stated.is_empty() {
            true => {
                let path = module(name);
                let source = std::fs::read_to_string(root.join(&path));
                edges_of(&source.map_err(|error| format!("{path}: {error}"))?, &path)
            }
            false => stated.iter().map(|edge| format!("- {}\n", cell(edge))).collect(),
        };
        pages.push((format!("{FOLDER}/{name}.md"), page(op, listed, &edges)?));
    }
    Ok(pages)
}

/// The file whose text states the rules for special values of an op that the program has none of.
fn module(op: &str) -> String {
    let folder = if op.contains("quantize_") { "quantize" } else { op };
    format!("crates/ops/src/{folder}/mod.rs")
}

/// The part on edges of a module's text, or where that text is.
fn edges_of(source: &str, path: &str) -> String {
    let text = source.lines().map_while(|line| line.strip_prefix("//!"));
    let text = text.map(|line| line.strip_prefix(' ').unwrap_or(line));
    let part =
        text.skip_while(|line| !line.starts_with("Edge")).take_while(|line| !line.is_empty());
    let part: Vec<&str> = part.collect();
    match part[..] {
        [] => format!("The text of [its module](../../{path}) states them.\n"),
        [title, ref rules @ ..] if title.ends_with(':') => rules.join("\n") + "\n",
        _ => {
            let part = part.join("\n");
            part.split_once(": ").map_or(part.as_str(), |(_, rules)| rules).to_owned() + "\n"
        }
    }
}

fn page(op: &Value, listed: &Value, edges: &str) -> Result<String, Failure> {
    let name = text(op, "op");
    let card = &op["card"];
    if !card.is_object() {
        return Err(format!("`{name}` has no card: its default sizes make no case"));
    }
    let mut page = format!("# {name}\n\n{OPENING}\n\n```text\n{}\n```\n", text(op, "summary"));
    page += &format!(
        "\nElement types: {}. Prove it with `proofmark prove {name}`, measure it with \
         `proofmark bench {name} --quick`.\n",
        words(array(op, "dtypes").iter().filter_map(Value::as_str)),
    );
    page += "\n## Axes and operands\n\n";
    let axes = array(op, "axes").iter().map(|axis| {
        vec![code(text(axis, "name")), cell(text(axis, "meaning")), axis["default"].to_string()]
    });
    page += &markdown(&["axis", "meaning", "default"], &axes.collect::<Vec<_>>());
    page += &format!("\nOperands of `{}`:\n\n", text(card, "case"));
    let operands = array(card, "operands").iter().map(|operand| {
        let shape: Vec<String> = array(operand, "shape").iter().map(Value::to_string).collect();
        vec![
            code(text(operand, "name")),
            text(operand, "role").to_owned(),
            text(operand, "dtype").to_owned(),
            shape.join(" × "),
        ]
    });
    page += &markdown(&["operand", "role", "element type", "shape"], &operands.collect::<Vec<_>>());
    page += &attributes(op, card);
    page += &work(card);
    page += &limits(name, edges, card);
    page += &kernels(op);
    page += &sizes(name, listed);
    page += "\nAll ops: [Ops](../ops.md). What the words mean: [Glossary](../GLOSSARY.md).\n";
    Ok(page)
}

fn attributes(op: &Value, card: &Value) -> String {
    let stated = array(op, "attributes").iter().filter_map(Value::as_str);
    let rows = stated.zip(array(card, "attributes")).map(|(stated, meant)| {
        // As `name=default (values)`.
        let (_, rest) = stated.split_once('=').unwrap_or_default();
        let (default, values) = rest.split_once(" (").unwrap_or((rest, ""));
        vec![
            code(text(meant, "name")),
            cell(text(meant, "meaning")),
            code(default),
            code(values.trim_end_matches(')')),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    let table = markdown(&["attribute", "meaning", "default", "values"], &rows);
    format!("\n## Attributes\n\n{table}")
}

fn work(card: &Value) -> String {
    let of = |key: &str| grouped(card["work"][key].as_u64().unwrap_or_default());
    format!(
        "\n## Work\n\nOne call of `{}` takes {} operations (a multiply-add counts two) and {} \
         transcendental functions. It reads at least {} bytes and writes at least {}.\n\n{}\n",
        text(card, "case"),
        of("flops"),
        of("transcendentals"),
        of("bytes_read"),
        of("bytes_written"),
        text(card, "analysis").trim(),
    )
}

fn limits(name: &str, edges: &str, card: &Value) -> String {
    let limit = |key: &str| card["limits"][key].as_f64().unwrap_or_default();
    let mut part = format!(
        "\n## Correctness\n\nLimits of the [error measure q](../METHOD.md#the-error-measure-q) on that \
         case: {} at most and {} in the root mean square on data with mean 0; {} on structured data, \
         times the [factor for the length of sums](../METHOD.md#why-limits-do-not-grow-with-length).\n",
        limit("q_max"),
        limit("q_rms"),
        limit("structured"),
    );
    part += &format!("\nSpecial values:\n\n{edges}");
    let wrong = array(card, "wrong_kernels");
    let rows = wrong.iter().map(|one| vec![code(text(one, "name")), cell(text(one, "meaning"))]);
    part += &format!(
        "\nThe gate must refuse {} wrong kernels of this op (`proofmark selftest gate {name}`):\n\n{}",
        wrong.len(),
        markdown(&["wrong kernel", "flaw"], &rows.collect::<Vec<_>>()),
    );
    part
}

fn kernels(op: &Value) -> String {
    let rows = array(op, "kernels").iter().map(|kernel| {
        let paths = array(kernel, "isas").iter().filter_map(Value::as_str);
        vec![format!("`native/{}`", text(kernel, "name")), words(paths)]
    });
    format!(
        "\n## Contenders\n\n{}\nPeers that compute the same: {}.\n",
        markdown(&["kernel", "instruction sets"], &rows.collect::<Vec<_>>()),
        words(array(op, "peers").iter().filter_map(Value::as_str)),
    )
}

fn sizes(name: &str, listed: &Value) -> String {
    let begin = format!("{name}[");
    let row = |size: &Value| {
        let mut cases = array(size, "cases").iter().filter_map(Value::as_str);
        let case = cases.find(|case| case.starts_with(&begin))?;
        Some(vec![code(text(size, "name")), text(size, "summary").to_owned(), code(case)])
    };
    let rows: Vec<Vec<String>> = array(listed, "sizes").iter().filter_map(row).collect();
    format!("\n## Sizes\n\n{}", markdown(&["size", "for", "case"], &rows))
}

/// A number with a comma at every third digit.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Words as code, or the sign for none.
fn words<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.map(code).collect();
    if words.is_empty() { NOTHING.to_owned() } else { words.join(", ") }
}

/// Code within a table.
fn code(text: &str) -> String {
    if text.is_empty() { NOTHING.to_owned() } else { format!("`{}`", text.replace('|', "\\|")) }
}

/// Text within a table, shown as it stands.
fn cell(text: &str) -> String {
    let escape = |letter| match letter {
        '|' | '*' | '_' | '[' | ']' => format!("\\{letter}"),
        '<' => "&lt;".to_owned(),
        _ => letter.to_string(),
    };
    let parts = text.split('`').enumerate().map(|(index, part)| match index % 2 {
        0 => part.chars().map(escape).collect::<String>(),
        _ => part.replace('|', "\\|"),
    });
    parts.collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn op() -> Value {
        json!({
            "op": "scale", "summary": "y = a · x", "dtypes": ["f32"], "peers": [],
            "edges": ["NaN stays where |x| is"],
            "axes": [{ "name": "d", "meaning": "elements", "default": 4096 }],
            "attributes": ["mode=a (a|b)"],
            "kernels": [{ "name": "simd", "isas": ["avx2"] }],
            "card": {
                "case": "scale:f32[d=4096]",
                "operands": [{ "name": "x", "role": "input", "dtype": "f32", "shape": [1, 4096] }],
                "attributes": [{ "name": "mode", "meaning": "what is scaled" }],
                "work": { "flops": 4096, "transcendentals": 0, "bytes_read": 16384, "bytes_written": 1 },
                "limits": { "q_max": 16.0, "q_rms": 2.0, "structured": 16.5 },
                "analysis": "Memory limits it.",
                "wrong_kernels": [{ "name": "stale", "meaning": "the last row stays" }],
            },
        })
    }

    #[test]
    fn a_card_states_what_the_program_states() {
        let sizes =
            json!([{ "name": "small", "summary": "fits", "cases": ["scale[d=8]", "sub[d=1]"] }]);
        let pages = pages(Path::new(""), &json!({ "ops": [op()], "sizes": sizes })).expect("pages");
        let [(path, page)] = &pages[..] else { panic!("one page") };
        assert_eq!(path, "docs/ops/scale.md");
        for part in [
            "| `d` | elements | 4096 |",
            "| `x` | input | f32 | 1 × 4096 |",
            "| `mode` | what is scaled | `a` | `a\\|b` |",
            "takes 4,096 operations",
            "at least 16,384 bytes",
            "16 at most and 2 in the root mean square",
            "16.5 on structured data",
            "- NaN stays where \\|x\\| is",
            "must refuse 1 wrong kernels",
            "| `stale` | the last row stays |",
            "| `native/simd` | `avx2` |",
            "compute the same: –.",
            "| `small` | fits | `scale[d=8]` |",
        ] {
            assert!(page.contains(part), "{part} in\n{page}");
        }
    }

    #[test]
    fn an_op_without_a_card_is_refused() {
        let mut op = op();
        op["card"] = Value::Null;
        assert!(pages(Path::new(""), &json!({ "ops": [op] })).is_err());
    }

    #[test]
    fn rules_that_only_the_module_states_are_read_there() {
        let listed = "//! A\n//!\n//! Edges, of IEEE:\n//! - NaN\n//!   stays.\n\nmod a;\n";
        assert_eq!(edges_of(listed, "a.rs"), "- NaN\n  stays.\n");
        assert_eq!(
            edges_of("//! Edge rules: NaN\n//! stays.\n//!\n//! B\n", "a.rs"),
            "NaN\nstays.\n"
        );
        assert!(edges_of("//! A\nfn f() {} // Edges\n", "a.rs").contains("(../../a.rs)"));
        assert_eq!(module("dequantize_fp8"), "crates/ops/src/quantize/mod.rs");
    }
}
