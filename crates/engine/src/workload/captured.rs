//! Ops captured from a program, a JSON object a line.
//!
//! ```text
//! {"op":"matmul","dtype":"f32","axes":{"m":1,"n":4096,"k":1024},"attrs":{"layout":"nt"}}
//! ```
//!
//! `model`, `tokens`, `layer` and `times` may follow; a call that was seen twice is on two lines.

use super::wanted::Wanted;
use crate::{EngineError, find_op};
use proofmark_contract::{check_case, complete_case};
use proofmark_schema::plan::Use;
use proofmark_schema::{AttrValue, Case, DType};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Captured {
    op: String,
    dtype: String,
    axes: BTreeMap<String, u64>,
    #[serde(default)]
    attrs: Map<String, Value>,
    #[serde(default = "captured")]
    model: String,
    #[serde(default = "once")]
    tokens: u64,
    #[serde(default)]
    layer: String,
    #[serde(default = "once")]
    times: u64,
}

fn captured() -> String {
    "captured".to_owned()
}

fn once() -> u64 {
    1
}

/// The case of a line.
pub(super) fn of_line(line: &str) -> Result<Wanted, EngineError> {
    let bad = |reason: String| EngineError::Unfit(format!("not a captured call: {reason}"));
    let call: Captured = serde_json::from_str(line).map_err(|error| bad(error.to_string()))?;
    let entry = find_op(&call.op)?;
    let dtype: DType =
        call.dtype.parse().map_err(|_| bad(format!("no element type is `{}`", call.dtype)))?;
    let mut attrs = Vec::new();
    for (name, value) in call.attrs {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let value = AttrValue::parse(&text).ok_or_else(|| bad(format!("`{name}` is {text}")))?;
        attrs.push((name, value));
    }
    // This restores the op's order, because a map has no order of its own.
    let known = entry
        .op
        .axes()
        .iter()
        .filter_map(|axis| call.axes.get(axis.name).map(|&size| (axis.name.to_owned(), size)));
    let axes: Vec<(String, u64)> = known.collect();
    if let Some(name) = call.axes.keys().find(|name| axes.iter().all(|(known, _)| known != *name)) {
        return Err(bad(format!("`{}` has no axis `{name}`", call.op)));
    }
    let case = complete_case(entry.op, &Case { op: call.op, dtype, axes, attrs });
    check_case(entry.op, &case)
        .map_err(|reason| EngineError::Case { case: case.to_string(), reason })?;
    let layer = if call.layer.is_empty() { case.op.clone() } else { call.layer };
    let used = Use { model: call.model, tokens: call.tokens.max(1), layer, times: call.times };
    Ok(Wanted { entry, case, uses: vec![used] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_captured_call_is_a_case_with_its_use() {
        let line = r#"{"op":"matmul","dtype":"bf16","axes":{"k":64,"m":1,"n":32},
            "attrs":{"layout":"nt","bias":true},"layer":"q","times":3}"#;
        let wanted = of_line(line).unwrap();
        let text = "matmul:bf16[b=1,m=1,n=32,k=64;bias=true,layout=nt]";
        assert_eq!(wanted.case.to_string(), text);
        assert_eq!((wanted.uses[0].layer.as_str(), wanted.uses[0].times), ("q", 3));
        assert_eq!((wanted.uses[0].model.as_str(), wanted.uses[0].tokens), ("captured", 1));
    }

    #[test]
    fn what_is_wrong_in_a_captured_call_is_told() {
        let told = |line: &str| of_line(line).err().unwrap().to_string();
        assert!(told("{").contains("not a captured call"));
        let with = |axes: &str| format!(r#"{{"op":"add","dtype":"f32","axes":{axes}}}"#);
        assert!(told(&with(r#"{"q":1}"#)).contains("no axis `q`"));
        assert!(told(&with(r#"{"s":1}"#).replace("f32", "f99")).contains("f99"));
        assert!(told(&with(r#"{"s":1}"#).replace("add", "sum_of")).contains("sum_of"));
    }
}
