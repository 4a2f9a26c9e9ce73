//! A program's slices as erased operands, for the length of one call.

use proofmark_contract::Signature;
use proofmark_schema::DType;
use proofmark_tensor::{Element, Tensor};
use std::marker::PhantomData;

/// A dense operand that is read.
#[derive(Clone, Copy, Debug)]
pub struct Slice<'a> {
    dtype: DType,
    base: *const u8,
    len: usize,
    life: PhantomData<&'a [u8]>,
}

impl<'a, T: Element> From<&'a [T]> for Slice<'a> {
    fn from(slice: &'a [T]) -> Self {
        Slice { dtype: T::DTYPE, base: slice.as_ptr().cast(), len: slice.len(), life: PhantomData }
    }
}

/// A dense operand that is written.
#[derive(Debug)]
pub struct SliceMut<'a> {
    dtype: DType,
    base: *mut u8,
    len: usize,
    life: PhantomData<&'a mut [u8]>,
}

impl<'a, T: Element> From<&'a mut [T]> for SliceMut<'a> {
    fn from(slice: &'a mut [T]) -> Self {
        SliceMut {
            dtype: T::DTYPE,
            base: slice.as_mut_ptr().cast(),
            len: slice.len(),
            life: PhantomData,
        }
    }
}

impl Slice<'_> {
    /// Its element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl SliceMut<'_> {
    /// Its element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Runs `work` on the slices as the tensors that a signature's operands are.
///
/// # Panics
/// If counts, element types or lengths differ from the signature's.
pub(crate) fn with_tensors<R>(
    signature: &Signature,
    inputs: &[Slice<'_>],
    outputs: &mut [SliceMut<'_>],
    work: impl FnOnce(&[Tensor], &mut [Tensor]) -> R,
) -> R {
    assert_eq!(inputs.len(), signature.inputs().len(), "one slice for each operand");
    assert_eq!(outputs.len(), signature.outputs().len(), "one slice for each operand");
    let tensor = |operand: &proofmark_contract::Operand, base, dtype, len, writable| {
        assert_eq!((operand.dtype, operand.len()), (dtype, len), "operand {}", operand.name);
        // SAFETY: the slice is borrowed for longer than `work` runs, exclusively where the tensor
        // is writable, and has the operand's type and length, as just checked.
        unsafe { Tensor::from_raw(base, dtype, operand.layout(), writable) }
    };
    let reads: Vec<Tensor> = signature
        .inputs()
        .iter()
        .zip(inputs)
        .map(|(operand, slice)| {
            tensor(operand, slice.base.cast_mut(), slice.dtype, slice.len, false)
        })
        .collect();
    let mut writes: Vec<Tensor> = signature
        .outputs()
        .iter()
        .zip(outputs)
        .map(|(operand, slice)| tensor(operand, slice.base, slice.dtype, slice.len, true))
        .collect();
    work(&reads, &mut writes)
}
