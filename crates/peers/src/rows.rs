//! Operands whose rows lie apart, and calls with nothing to compute, for libraries that take
//! neither.

use proofmark_contract::Call;
use proofmark_tensor::{AlignedBuffer, Tensor};

/// A call's operands, those that are only read first.
pub(crate) fn operands<'a>(call: &'a Call<'_>) -> impl Iterator<Item = &'a Tensor> {
    call.inputs.iter().chain(call.outputs.iter())
}

/// Whether a call writes nothing.
pub(crate) fn is_of_nothing(call: &Call<'_>) -> bool {
    call.outputs.iter().all(|tensor| tensor.layout.is_empty())
}

/// Completes calls with empty axes for a library that has none: there is nothing to write, or only
/// zeros, which are the sums of no terms. Returns whether it was such a call.
pub(crate) fn is_settled(call: &Call<'_>) -> bool {
    let is_zero = call.inputs.iter().any(|tensor| tensor.layout.is_empty());
    if is_zero {
        for (row, _, bytes) in call.outputs.iter().flat_map(rows) {
            // SAFETY: a row of a tensor that the call has for writing.
            unsafe { row.write_bytes(0, bytes) };
        }
    }
    is_zero || is_of_nothing(call)
}

/// The operands of calls with their rows side by side: where they lie, or in copies.
#[derive(Default)]
pub(crate) struct Dense {
    addresses: Vec<*mut u8>,
    copies: Vec<Option<AlignedBuffer>>,
}

impl Dense {
    /// Where the operands of a call lie densely, copied if need be. Calls are all of one case.
    pub(crate) fn take(&mut self, call: &Call<'_>) -> &[*mut u8] {
        self.copies.resize_with(call.inputs.len() + call.outputs.len(), || None);
        self.addresses.clear();
        for (tensor, copy) in operands(call).zip(&mut self.copies) {
            self.addresses.push(match tensor.layout.is_dense() {
                true => tensor.base(),
                false => copied(tensor, copy),
            });
        }
        &self.addresses
    }

    /// Brings results from their copies into a call's operands.
    pub(crate) fn give(&self, call: &Call<'_>) {
        let written = self.addresses.iter().skip(call.inputs.len());
        for (tensor, &dense) in call.outputs.iter().zip(written) {
            if tensor.layout.is_dense() {
                continue;
            }
            for (row, at, bytes) in rows(tensor) {
                // SAFETY: a row of an operand that the call has for writing, from our own memory.
                unsafe { row.copy_from_nonoverlapping(dense.add(at), bytes) };
            }
        }
    }
}

/// A copy of a tensor with its rows side by side.
fn copied(tensor: &Tensor, copy: &mut Option<AlignedBuffer>) -> *mut u8 {
    let bytes = tensor.layout.len() * tensor.dtype.size();
    let copy = copy.get_or_insert_with(|| AlignedBuffer::new(bytes));
    let dense = copy.as_mut_slice().as_mut_ptr();
    for (row, at, bytes) in rows(tensor) {
        // SAFETY: a row of an operand, into memory that holds all of them; a case's sizes stay.
        unsafe { dense.add(at).copy_from_nonoverlapping(row, bytes) };
    }
    dense
}

/// Each row: where it lies, where it lies in a copy without padding, and its bytes.
pub(crate) fn rows(tensor: &Tensor) -> impl Iterator<Item = (*mut u8, usize, usize)> + use<'_> {
    let (layout, size) = (&tensor.layout, tensor.dtype.size());
    let (stride, bytes) = (layout.row_stride * size, layout.cols() * size);
    (0..layout.rows())
        .map(move |row| (tensor.base().wrapping_add(row * stride), row * bytes, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_schema::{Case, DType, Isa};
    use proofmark_tensor::{Layout, Pool};

    fn tensor(memory: &mut [u8], layout: Layout) -> Tensor {
        // SAFETY: the tests' memory holds the layout and outlives the tensor.
        unsafe { Tensor::from_raw(memory.as_mut_ptr(), DType::U8, layout, true) }
    }

    fn with(inputs: &[Tensor], outputs: &mut [Tensor], deed: impl FnOnce(&mut Call<'_>)) {
        let (case, pool) = (Case::new("any", DType::U8), Pool::serial());
        let isa = Isa::Scalar;
        let (workspace, prepared) = (&mut [][..], &[][..]);
        let threads = 1;
        let case = &case;
        let pool = &pool;
        deed(&mut Call { case, isa, threads, pool, inputs, outputs, workspace, prepared });
    }

    #[test]
    fn rows_that_lie_apart_are_brought_side_by_side_and_back() {
        let (mut source, mut result) = ([1, 2, 9, 3, 4, 9], [7; 8]);
        let inputs = [tensor(&mut source, Layout::padded([2, 2], 3))];
        let mut outputs = [tensor(&mut result, Layout::padded([2, 2], 4))];
        with(&inputs, &mut outputs, |call| {
            let mut dense = Dense::default();
            let addresses = dense.take(call).to_vec();
            // SAFETY: both lie in copies of four bytes.
            unsafe {
                assert_eq!(std::slice::from_raw_parts(addresses[0], 4), [1, 2, 3, 4]);
                addresses[1].copy_from_nonoverlapping(addresses[0], 4);
            }
            dense.give(call);
        });
        assert_eq!(result, [1, 2, 7, 7, 3, 4, 7, 7], "gaps stay");
    }

    #[test]
    fn sums_of_no_terms_are_zeros() {
        let (mut source, mut result) = ([0; 1], [7; 3]);
        let inputs = [tensor(&mut source, Layout::dense([2, 0]))];
        let mut outputs = [tensor(&mut result, Layout::padded([2, 1], 2))];
        with(&inputs, &mut outputs, |call| {
            assert!(!is_of_nothing(call));
            assert!(is_settled(call));
        });
        assert_eq!(result, [0, 7, 0]);
    }
}
