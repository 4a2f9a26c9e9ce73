//! Class I: results that do not repeat.

use super::kernel::Deed;
use crate::clock::monotonic_ns;
use proofmark_tensor::mix;

/// A deed that now and then changes one f32 of the first output.
fn now_and_then(one_in: u64, with: fn(f32) -> f32) -> Deed {
    let mut calls = 0u64;
    Deed::new(move |full, call| {
        full.run(call)?;
        calls += 1;
        let drawn = mix(monotonic_ns(), 5, calls);
        if !drawn.is_multiple_of(one_in) || call.outputs[0].layout.is_empty() {
            return Ok(());
        }
        let mut y = call.outputs[0].rows_mut::<f32>()?;
        let row = (drawn >> 20) as usize % y.rows();
        let row = y.row_mut(row);
        let at = (drawn >> 40) as usize % row.len();
        row[at] = with(row[at]);
        Ok(())
    })
}

pub(super) fn random_error() -> Deed {
    now_and_then(20, |value| value * 1.01 + 1e-3)
}

pub(super) fn undeclared_nondeterminism() -> Deed {
    now_and_then(2, |value| f32::from_bits(value.to_bits() ^ u32::from(value.is_normal())))
}
