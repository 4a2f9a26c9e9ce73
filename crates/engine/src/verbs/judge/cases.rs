//! The cases that specimens are judged on: small and fixed.

use crate::{EngineError, Suite};
use proofmark_contract::Entry;
use proofmark_schema::{AttrValue, Case, DType};
use proofmark_worker::corpus::Size;

/// The case of an op for a size. Ops that are not in the table have the small case of their suite
/// for every size.
pub(super) fn of(entry: &'static Entry, size: Size) -> Result<Case, EngineError> {
    let op = entry.op.name();
    let axes = match (op, size) {
        ("softmax", Size::Usual | Size::InPlace) => "b=1,s=64,d=256",
        ("softmax", Size::Short) => "b=1,s=16,d=64",
        ("rms_norm", Size::Usual | Size::InPlace) => "b=1,s=64,d=512",
        ("rms_norm", Size::Short) => "b=1,s=16,d=128",
        ("softmax" | "rms_norm", Size::Near) => "b=1,s=32,d=128",
        ("softmax" | "rms_norm", Size::Tiny) => "b=1,s=1,d=16",
        ("softmax" | "rms_norm", Size::Large) => "b=1,s=1024,d=1024",
        ("matmul", Size::Usual | Size::Near | Size::InPlace) => "b=1,m=64,n=64,k=64",
        ("matmul", Size::Short) => "b=1,m=16,n=32,k=32",
        ("matmul", Size::Tiny) => "b=1,m=4,n=4,k=4",
        ("matmul", Size::Large) => "b=1,m=256,n=256,k=256",
        _ => return smallest(entry),
    };
    let case: Case = format!("{op}:f32[{axes}]").parse()?;
    Ok(match size {
        Size::InPlace => case.attr("inplace", AttrValue::Flag(true)),
        _ => case,
    })
}

fn smallest(entry: &'static Entry) -> Result<Case, EngineError> {
    let dtypes = entry.op.dtypes();
    let dtype = if dtypes.contains(&DType::F32) { DType::F32 } else { dtypes[0] };
    let suite = Suite::of(entry)?;
    let mut case = Case::new(entry.op.name(), dtype);
    for axis in entry.op.axes() {
        let size = suite.sizes.get("small").and_then(|sizes| sizes.get(axis.name));
        case = case.axis(axis.name, size.copied().unwrap_or(axis.default));
    }
    Ok(case)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_op_has_a_case_that_fits_it() {
        for entry in crate::ops() {
            for size in [Size::Usual, Size::Tiny, Size::Short, Size::Near, Size::Large] {
                let case = of(entry, size).unwrap();
                assert!(proofmark_contract::check_case(entry.op, &case).is_ok(), "{case}");
            }
        }
        let in_place = of(crate::find_op("softmax").unwrap(), Size::InPlace).unwrap();
        assert_eq!(in_place.get("inplace"), Some(&AttrValue::Flag(true)));
    }
}
