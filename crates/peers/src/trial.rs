//! Cases of the real ops, as adapters get them, for tests.

use crate::PEERS;
use proofmark_contract::{ExplicitCase, Op, check_case, complete_case, find};
use proofmark_ops::OPS;
use proofmark_schema::Case;

/// The case with all attributes of its op.
pub(crate) fn explicit(case: &Case) -> ExplicitCase {
    ExplicitCase::of(op(&case.op), case)
}

fn op(name: &str) -> &'static dyn Op {
    find(OPS, name).unwrap_or_else(|| panic!("there is no op `{name}`")).op
}

#[test]
fn no_adapter_reads_an_attribute_that_the_op_does_not_have() {
    for peer in PEERS {
        for op in peer.ops().iter().map(|name| op(name)) {
            for &dtype in op.dtypes() {
                let mut cases = op.proof_cases(dtype);
                cases.push(complete_case(op, &Case::new(op.name(), dtype)));
                for case in cases {
                    let case = ExplicitCase::of(op, &case);
                    let _ = peer.contract(&case);
                    if let Err(reason) = peer.supports(&case) {
                        let reason = reason.to_string();
                        assert!(!reason.contains("the adapter reads"), "{}: {reason}", peer.name());
                    }
                }
            }
        }
    }
}

#[test]
fn the_default_of_every_attribute_is_a_value_that_it_may_have() {
    for op in OPS.iter().map(|entry| entry.op) {
        let plain = complete_case(op, &Case::new(op.name(), op.dtypes()[0]));
        let explicit = ExplicitCase::of(op, &plain);
        assert_eq!(explicit.attrs.len(), op.attributes().len(), "{}", op.name());
        for (name, value) in &explicit.attrs {
            let case = plain.clone().attr(name, value.clone());
            check_case(op, &case).unwrap_or_else(|bad| panic!("{case}: {bad}"));
        }
    }
}
