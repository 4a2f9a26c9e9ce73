//! The operands of a call as typed views that kernels walk row by row.

use super::super::definition::Variant;
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::{Element, Rows, RowsMut, SharedRows, Tensor};
use proofmark_terms::Case;
use std::marker::PhantomData;
use std::ops::Range;

/// The operands of a formula of `N`, or some of their rows.
///
/// In place the first operand is the output itself, and its view among the inputs is empty: two
/// views of the same memory must not exist.
pub(super) struct Operands<'a, T, const N: usize> {
    inputs: [Rows<'a, T>; N],
    output: RowsMut<'a, T>,
    in_place: bool,
    /// Logical index of the first element, for random bits that depend on it.
    first: usize,
}

impl<'a, T: Element, const N: usize> Operands<'a, T, N> {
    /// All operands of a call.
    pub(super) fn of(
        case: &Case,
        inputs: &'a [Tensor],
        outputs: &'a mut [Tensor],
    ) -> Result<Self, KernelError> {
        let in_place = Variant::of(case).in_place;
        let mut views = [none(); N];
        for (view, tensor) in views[usize::from(in_place)..].iter_mut().zip(inputs) {
            *view = tensor.rows()?;
        }
        Ok(Operands { inputs: views, output: outputs[0].rows_mut()?, in_place, first: 0 })
    }

    /// Number of rows.
    #[inline(always)]
    pub(super) fn rows(&self) -> usize {
        self.output.rows()
    }

    /// Elements of a row.
    pub(super) fn cols(&self) -> usize {
        self.output.cols()
    }

    /// Logical index of the first element of row `i`.
    pub(super) fn index(&self, i: usize) -> usize {
        self.first + i * self.cols()
    }

    /// Row `i` of each.
    #[inline(always)]
    pub(super) fn row(&mut self, i: usize) -> Row<'_, T, N> {
        let output = self.output.row_mut(i);
        let (y, len) = (output.as_mut_ptr(), output.len());
        let mut x = [y.cast_const(); N];
        for k in usize::from(self.in_place)..N {
            x[k] = self.inputs[k].row(i)[..len].as_ptr();
        }
        Row { x, y, len, life: PhantomData }
    }

    /// Whether no operand has padding between its rows.
    pub(super) fn is_dense(&self) -> bool {
        let is_dense = |view: &Rows<'_, T>| view.as_slice().is_some();
        self.inputs.iter().all(is_dense) && self.output.as_slice().is_some()
    }

    /// Dense operands as one row, so that there is one tail at most; others as they are.
    pub(super) fn merged(&mut self) -> Operands<'_, T, N> {
        let len = self.rows() * self.cols();
        if self.is_dense() { self.reshaped(1, len) } else { self.reborrow() }
    }

    /// Dense operands as rows of one element, so that any range of elements is a range of rows;
    /// others as they are.
    pub(super) fn divided(&mut self) -> Operands<'_, T, N> {
        let len = self.rows() * self.cols();
        if self.is_dense() { self.reshaped(len, 1) } else { self.reborrow() }
    }

    fn reborrow(&mut self) -> Operands<'_, T, N> {
        let Operands { inputs, in_place, first, .. } = *self;
        Operands { inputs, output: self.output.reborrow(), in_place, first }
    }

    fn reshaped(&mut self, rows: usize, cols: usize) -> Operands<'_, T, N> {
        let mut inputs = [none(); N];
        for k in usize::from(self.in_place)..N {
            let slice = self.inputs[k].as_slice().expect("dense operands are slices");
            inputs[k] = Rows::from_slice(slice, rows, cols);
        }
        let slice = self.output.as_mut_slice().expect("dense operands are slices");
        let output = RowsMut::from_slice(slice, rows, cols);
        Operands { inputs, output, in_place: self.in_place, first: self.first }
    }

    /// A handle from which threads take disjoint parts.
    pub(super) fn share(&mut self) -> Parts<'_, T, N> {
        // SAFETY: the handle borrows these operands mutably, so the view rests while it lives.
        let output = unsafe { self.output.share() };
        Parts { inputs: self.inputs, output, in_place: self.in_place, first: self.first }
    }
}

/// One row of each operand. In place the first operand and the output are the same elements, so
/// none of them is borrowed for longer than it takes to read or to write.
pub(super) struct Row<'a, T, const N: usize> {
    x: [*const T; N],
    y: *mut T,
    len: usize,
    life: PhantomData<&'a mut [T]>,
}

impl<T, const N: usize> Row<'_, T, N> {
    /// Elements.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Operand `k` from element `at` on.
    #[inline(always)]
    pub(super) fn operand(&self, k: usize, at: usize) -> &[T] {
        assert!(at <= self.len);
        // SAFETY: each pointer is the start of a row of `len` elements that outlives `self`; code
        // that writes one through `output` borrows `self` alone.
        unsafe { std::slice::from_raw_parts(self.x[k].add(at), self.len - at) }
    }

    /// The output from element `at` on.
    #[inline(always)]
    pub(super) fn output(&mut self, at: usize) -> &mut [T] {
        assert!(at <= self.len);
        // SAFETY: as above, and no operand is borrowed while `self` is.
        unsafe { std::slice::from_raw_parts_mut(self.y.add(at), self.len - at) }
    }
}

fn none<'a, T>() -> Rows<'a, T> {
    Rows::from_slice(&[], 0, 0)
}

/// Operands that several threads share, each with rows of its own.
pub(super) struct Parts<'a, T, const N: usize> {
    inputs: [Rows<'a, T>; N],
    output: SharedRows<'a, T>,
    in_place: bool,
    first: usize,
}

impl<'a, T: Element, const N: usize> Parts<'a, T, N> {
    /// The operands of these rows.
    ///
    /// # Safety
    /// No other part in use at the same time shares a row with this one.
    pub(super) unsafe fn part(&self, rows: Range<usize>) -> Operands<'a, T, N> {
        let first = self.first + rows.start * self.output.cols();
        let mut inputs = self.inputs;
        for view in &mut inputs[usize::from(self.in_place)..] {
            *view = view.range(rows.clone());
        }
        // SAFETY: the caller keeps the rows of parts apart.
        let output = unsafe { self.output.range_mut(rows) };
        Operands { inputs, output, in_place: self.in_place, first }
    }
}

/// The words of the operand `random` of a formula of `arity` operands.
pub(super) fn random_state(call: &Call<'_>, arity: usize) -> Result<[u32; 4], KernelError> {
    let missing = || KernelError::Refused("operand `random` is not four words".to_owned());
    let position = Variant::of(call.case).random(arity).ok_or_else(missing)?;
    let words = call.inputs.get(position).ok_or_else(missing)?.slice::<u32>()?;
    words.try_into().map_err(|_| missing())
}
