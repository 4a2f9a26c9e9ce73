//! Workloads: lines of cases over several ops, by name or from a file.
//!
//! ```text
//! # Llama-3-8B, the output projection
//! matmul:f32,bf16 m=1,512 n=4096 k=4096 layout=nt
//! ```
//!
//! A line is an op, its element types, and `name=value` for axes (as in sweeps) and attributes.

use crate::{EngineError, Request, Sweep, find_op};
use proofmark_contract::{Entry, check_case, complete_case};
use proofmark_schema::{AttrValue, Case, DType};
use std::path::Path;

/// The workloads that are always here.
pub const WORKLOADS: &[(&str, &str)] =
    &[("transformer", include_str!("../../../suites/transformer.txt"))];

/// The workload of that name, else the file of that path; nothing if neither exists.
///
/// # Errors
/// If a file exists and cannot be read.
pub(crate) fn find(name: &str) -> Result<Option<String>, EngineError> {
    if let Some((_, text)) = WORKLOADS.iter().find(|(known, _)| *known == name) {
        return Ok(Some((*text).to_owned()));
    }
    let path = Path::new(name);
    if !path.is_file() {
        return Ok(None);
    }
    let unread = |error: std::io::Error| broken(name, 0, error.to_string());
    std::fs::read_to_string(path).map(Some).map_err(unread)
}

/// The cases of a workload, of the ops and element types that are asked for.
///
/// # Errors
/// The first line that is not of the form, or whose case an op does not have.
pub(crate) fn cases(
    request: &Request,
    text: &str,
) -> Result<Vec<(&'static Entry, Case)>, EngineError> {
    let mut all = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        all.extend(of_line(line).map_err(|error| broken(&request.suite, number, words(&error)))?);
    }
    let is_wanted = |case: &Case| {
        let by_op = request.ops.is_empty() || request.ops.contains(&case.op);
        by_op && (request.dtypes.is_empty() || request.dtypes.contains(&case.dtype))
    };
    all.retain(|(_, case)| is_wanted(case));
    Ok(all)
}

/// An error with what to do about it.
fn words(error: &EngineError) -> String {
    error.hint().map_or_else(|| error.to_string(), |hint| format!("{error} ({hint})"))
}

fn broken(name: &str, line: usize, reason: String) -> EngineError {
    EngineError::Workload { name: name.to_owned(), line, reason }
}

fn of_line(line: &str) -> Result<Vec<(&'static Entry, Case)>, EngineError> {
    let (head, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let form = || EngineError::Nothing(format!("`{head}` is not of the form `op:f32,bf16`"));
    let (op, dtypes) = head.split_once(':').ok_or_else(form)?;
    let entry = find_op(op)?;
    let dtypes: Vec<DType> =
        dtypes.split(',').map(str::parse).collect::<Result<_, _>>().map_err(|_| form())?;
    let is_axis = |part: &&str| {
        let name = part.split('=').next();
        entry.op.axes().iter().any(|axis| Some(axis.name) == name)
    };
    let (axes, attrs): (Vec<&str>, Vec<&str>) = rest.split_whitespace().partition(is_axis);
    let sweep: Sweep = axes.join(" ").parse()?;
    let attribute = |part: &str| -> Option<(String, AttrValue)> {
        let (name, value) = part.split_once('=')?;
        Some((name.to_owned(), AttrValue::parse(value)?))
    };
    let mut given = Vec::new();
    for part in attrs {
        let bad = || EngineError::Nothing(format!("`{part}` is not of the form `name=value`"));
        given.push(attribute(part).ok_or_else(bad)?);
    }
    let mut cases = Vec::new();
    for dtype in dtypes {
        for axes in sweep.combinations() {
            let case = Case { op: op.to_owned(), dtype, axes, attrs: given.clone() };
            let case = complete_case(entry.op, &case);
            check_case(entry.op, &case)
                .map_err(|reason| EngineError::Case { case: case.to_string(), reason })?;
            cases.push((entry, case));
        }
    }
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_ops_types_axes_and_attributes_in_any_order() {
        let cases = of_line("matmul:f32,bf16 layout=nt m=1,8 n=64 k=32").unwrap();
        let texts: Vec<String> = cases.iter().map(|(_, case)| case.to_string()).collect();
        assert_eq!(texts[0], "matmul:f32[b=1,m=1,n=64,k=32;layout=nt]");
        assert_eq!(texts[3], "matmul:bf16[b=1,m=8,n=64,k=32;layout=nt]");
        assert_eq!(texts.len(), 4);
    }

    #[test]
    fn what_is_wrong_in_a_line_is_told() {
        let told = |line| words(&of_line(line).err().unwrap());
        assert!(told("matmul m=1").contains("op:f32,bf16"));
        assert!(told("matmul:f99 m=1").contains("op:f32,bf16"));
        assert!(told("matnul:f32 m=1").contains("matmul"));
        assert!(told("matmul:f32 mm=1").contains("mm"));
        assert!(told("matmul:f32 m=x").contains("sizes are"));
    }

    #[test]
    fn every_workload_here_is_whole() {
        for (name, text) in WORKLOADS {
            for line in text.lines().map(|line| line.split('#').next().unwrap().trim()) {
                if !line.is_empty() {
                    of_line(line).unwrap_or_else(|error| panic!("{name}: {line}: {error}"));
                }
            }
        }
    }
}
