//! What the host and a script tell each other, in JSON.

use proofmark_contract::{ExplicitCase, Operand, Role};
use proofmark_schema::{AttrValue, Device};
use proofmark_tensor::Tensor;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a script says of its framework.
#[derive(Deserialize)]
pub(super) struct Introduced {
    pub(super) version: String,
    pub(super) build: String,
    pub(super) isa: String,
    pub(super) memory: String,
    /// Whether it uses more than one thread for the op.
    pub(super) parallel: bool,
    /// Whether it packs weights before calls.
    #[serde(default)]
    pub(super) packs: bool,
    /// The device that it runs on, if that is not the host.
    #[serde(default)]
    pub(super) on: Option<Device>,
}

/// What a script says of the clock of its device.
#[derive(Deserialize)]
pub(super) struct SaidTimes {
    pub(super) calls: u32,
    pub(super) kernel_ns: u64,
    pub(super) copy_ns: u64,
}

/// A case in the words of the scripts.
pub(super) fn words(case: &ExplicitCase) -> Value {
    let axes: BTreeMap<&str, u64> = case.axes.iter().map(|(name, size)| (&**name, *size)).collect();
    let value = |value: &AttrValue| match value {
        AttrValue::Flag(flag) => json!(flag),
        AttrValue::Int(number) => json!(number),
        AttrValue::Real(number) => json!(number),
        AttrValue::Word(word) => json!(word),
    };
    let attrs: BTreeMap<&str, Value> =
        case.attrs.iter().map(|(name, given)| (&**name, value(given))).collect();
    json!({
        "op": case.op,
        "dtype": case.dtype.to_string(),
        "axes": axes,
        "attrs": attrs,
    })
}

/// An operand as the op declares it.
pub(super) fn declared(operand: &Operand) -> Value {
    json!({
        "name": operand.name,
        "dtype": operand.dtype.to_string(),
        "shape": operand.shape,
        "is_weight": operand.role == Role::Weight,
        "is_written": operand.role.is_written(),
    })
}

/// An operand of a call.
pub(super) fn operand((tensor, operand): (&Tensor, &Operand)) -> Value {
    json!({
        "name": operand.name,
        "address": tensor.base() as usize,
        "dtype": tensor.dtype.to_string(),
        "item_bytes": tensor.dtype.size(),
        "shape": tensor.layout.shape,
        "row_stride": tensor.layout.row_stride,
    })
}
