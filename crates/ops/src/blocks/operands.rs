//! A caller's operands without their element types, and the tensors that they are for the length of
//! one call.

use crate::library::{Mat, MatMut};
use proofmark_tensor::{Element, Layout, Tensor};
use proofmark_terms::DType;
use std::marker::PhantomData;

/// How the elements of an operand lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One after the other.
    Dense,
    /// In rows that begin `stride` elements apart.
    Rows { rows: usize, cols: usize, stride: usize },
    /// As the transpose of what lies there.
    Transposed,
}

/// What is known of an operand without its address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    pub(crate) dtype: DType,
    /// Elements of the slice.
    pub(crate) len: usize,
    pub(crate) form: Form,
}

impl Passed {
    fn dense<T: Element>(data: &[T]) -> Passed {
        Passed { dtype: T::DTYPE, len: data.len(), form: Form::Dense }
    }

    /// Elements from one row to the next, where rows were given.
    pub(crate) fn stride(&self) -> Option<usize> {
        match self.form {
            Form::Dense | Form::Transposed => None,
            Form::Rows { stride, .. } => Some(stride),
        }
    }
}

/// An operand that is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a> {
    pub(crate) passed: Passed,
    base: *const u8,
    life: PhantomData<&'a [u8]>,
}

/// An operand that is written.
#[derive(Debug)]
pub(crate) struct Output<'a> {
    pub(crate) passed: Passed,
    base: *mut u8,
    life: PhantomData<&'a mut [u8]>,
}

impl<'a, T: Element> From<&'a [T]> for Input<'a> {
    fn from(data: &'a [T]) -> Self {
        let passed = Passed::dense(data);
        Input { passed, base: data.as_ptr().cast(), life: PhantomData }
    }
}

impl<'a, T: Element> From<Mat<'a, T>> for Input<'a> {
    fn from(mat: Mat<'a, T>) -> Self {
        let Mat { data, rows, cols, stride, is_transposed } = mat;
        let form = if is_transposed { Form::Transposed } else { Form::Rows { rows, cols, stride } };
        let dense = Input::from(data);
        Input { passed: Passed { form, ..dense.passed }, ..dense }
    }
}

impl<'a, T: Element> From<&'a mut [T]> for Output<'a> {
    fn from(data: &'a mut [T]) -> Self {
        let passed = Passed::dense(data);
        Output { passed, base: data.as_mut_ptr().cast(), life: PhantomData }
    }
}

impl<'a, T: Element> From<MatMut<'a, T>> for Output<'a> {
    fn from(mat: MatMut<'a, T>) -> Self {
        let MatMut { data, rows, cols, stride } = mat;
        let (form, dense) = (Form::Rows { rows, cols, stride }, Output::from(data));
        Output { passed: Passed { form, ..dense.passed }, ..dense }
    }
}

/// Tensors without addresses, which lie where a caller's operands lie during a call.
#[derive(Debug)]
pub(crate) struct Unplaced {
    inputs: Vec<Tensor>,
    outputs: Vec<Tensor>,
}

impl Unplaced {
    /// For operands of these element types and layouts.
    pub(crate) fn new(inputs: Vec<(DType, Layout)>, outputs: Vec<(DType, Layout)>) -> Unplaced {
        let tensor = |(dtype, layout): (DType, Layout), is_written: bool| {
            let base = std::ptr::NonNull::<u64>::dangling().as_ptr().cast();
            // SAFETY: it is not used before `with` has moved it to memory that a caller lends.
            unsafe { Tensor::from_raw(base, dtype, layout, is_written) }
        };
        let inputs = inputs.into_iter().map(|one| tensor(one, false)).collect();
        Unplaced { inputs, outputs: outputs.into_iter().map(|one| tensor(one, true)).collect() }
    }

    /// Runs `work` on the operands as tensors.
    ///
    /// # Panics
    /// If an element type differs, or an operand is shorter than its tensor.
    pub(crate) fn with<R>(
        &mut self,
        inputs: &[Input<'_>],
        outputs: &mut [Output<'_>],
        work: impl FnOnce(&[Tensor], &mut [Tensor]) -> R,
    ) -> R {
        assert_eq!((inputs.len(), outputs.len()), (self.inputs.len(), self.outputs.len()));
        let fits = |tensor: &Tensor, passed: &Passed| {
            let is_long_enough = tensor.layout.span() <= passed.len;
            assert!(tensor.dtype == passed.dtype && is_long_enough, "operand does not fit");
        };
        for (tensor, input) in self.inputs.iter_mut().zip(inputs) {
            fits(tensor, &input.passed);
            // SAFETY: the slice has the tensor's element type and at least its elements, as just
            // checked. It is borrowed for longer than `work` runs, and the tensor is moved again
            // before it is used again.
            unsafe { tensor.move_to(input.base.cast_mut()) };
        }
        for (tensor, output) in self.outputs.iter_mut().zip(outputs) {
            fits(tensor, &output.passed);
            // SAFETY: as above; the slice is borrowed exclusively.
            unsafe { tensor.move_to(output.base) };
        }
        work(&self.inputs, &mut self.outputs)
    }
}
