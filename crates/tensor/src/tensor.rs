//! A tensor whose element type is known at run time: what an operand is before a kernel types it.

use crate::bits::{Element, decode, encode};
use crate::{Layout, Rows, RowsMut};
use proofmark_terms::DType;
use std::fmt;
use std::slice;

/// Why a tensor has no view of the wanted kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewError {
    /// The elements have another type.
    WrongDType {
        /// Type of the elements.
        have: DType,
        /// Type asked for.
        want: DType,
    },
    /// A view for writing of an operand that is only read.
    ReadOnly,
    /// The first element does not lie on a multiple of the element's alignment.
    Misaligned {
        /// Address of the first element.
        address: usize,
        /// Alignment of the type.
        align: usize,
    },
    /// A slice of a tensor with padding between its rows.
    NotDense {
        /// Elements of a row.
        cols: usize,
        /// Elements from one row to the next.
        row_stride: usize,
    },
    /// The layout was changed to one that its memory does not hold.
    OutOfBounds {
        /// Sizes along each axis.
        shape: Vec<usize>,
        /// Elements from one row to the next.
        row_stride: usize,
        /// Bytes the tensor was made with.
        bytes: usize,
    },
}

impl fmt::Display for ViewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ViewError::WrongDType { have, want } => write!(f, "tensor holds {have}, not {want}"),
            ViewError::ReadOnly => f.write_str("tensor is read-only"),
            ViewError::Misaligned { address, align } => {
                write!(f, "address {address:#x} is no multiple of the alignment {align}")
            }
            ViewError::NotDense { cols, row_stride } => {
                write!(f, "rows of {cols} lie {row_stride} apart: not one slice")
            }
            ViewError::OutOfBounds { shape, row_stride, bytes } => write!(
                f,
                "layout {shape:?} with row stride {row_stride} does not fit {bytes} bytes"
            ),
        }
    }
}

impl std::error::Error for ViewError {}

/// A tensor in memory that it does not own.
#[derive(Debug)]
pub struct Tensor {
    /// Type of the elements.
    pub dtype: DType,
    /// Shape and row stride.
    pub layout: Layout,
    base: *mut u8,
    /// Bytes promised at construction. Public fields may change, but this bounds every view.
    bytes: usize,
    writable: bool,
}

// SAFETY: the maker of the tensor promised memory that every thread may use; `&Tensor` only reads.
unsafe impl Send for Tensor {}
// SAFETY: as above.
unsafe impl Sync for Tensor {}

impl Tensor {
    /// A tensor over raw memory.
    ///
    /// # Safety
    /// While the tensor is in use, `layout.span()` elements of `dtype` from `base` on are readable
    /// from any thread and, if `writable`, writable and used through this tensor only; if not
    /// `writable`, nothing writes them. `base` is not null; it need not be aligned.
    ///
    /// # Panics
    /// If the layout's rows overlap.
    pub unsafe fn from_raw(base: *mut u8, dtype: DType, layout: Layout, writable: bool) -> Tensor {
        assert!(
            layout.row_stride >= layout.cols() || layout.rows() <= 1,
            "rows of {} overlap at stride {}",
            layout.cols(),
            layout.row_stride
        );
        let bytes = layout.span().saturating_mul(dtype.size());
        Tensor { dtype, layout, base, bytes, writable }
    }

    /// Moves the tensor to other memory.
    ///
    /// # Safety
    /// As for [`Tensor::from_raw`], for the layout that the tensor was made with.
    pub unsafe fn move_to(&mut self, base: *mut u8) {
        self.base = base;
    }

    /// Address of the first element.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// Whether it may be written.
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// The rows, for reading.
    pub fn rows<T: Element>(&self) -> Result<Rows<'_, T>, ViewError> {
        let (base, rows) = self.check::<T>()?;
        let Layout { row_stride, .. } = self.layout;
        // SAFETY: `from_raw` promised the memory; `check` saw that the layout lies within it, that
        // T is the element type and that it is aligned; any bits are a valid `Element`.
        Ok(unsafe { Rows::from_raw(base, rows, self.layout.cols(), row_stride) })
    }

    /// The rows, for writing.
    pub fn rows_mut<T: Element>(&mut self) -> Result<RowsMut<'_, T>, ViewError> {
        let (base, rows) = self.check::<T>()?;
        if !self.writable {
            return Err(ViewError::ReadOnly);
        }
        let Layout { row_stride, .. } = self.layout;
        // SAFETY: as for `rows`; the tensor is writable and borrowed mutably.
        Ok(unsafe { RowsMut::from_raw(base, rows, self.layout.cols(), row_stride) })
    }

    /// All elements, for reading, of a tensor without padding.
    pub fn slice<T: Element>(&self) -> Result<&[T], ViewError> {
        let not_dense = self.not_dense();
        self.rows::<T>()?.as_slice().ok_or(not_dense)
    }

    /// All elements, for writing, of a tensor without padding.
    pub fn slice_mut<T: Element>(&mut self) -> Result<&mut [T], ViewError> {
        let not_dense = self.not_dense();
        let mut rows = self.rows_mut::<T>()?;
        let length = rows.as_slice().ok_or(not_dense)?.len();
        // SAFETY: the rows are this tensor's alone while it is borrowed, and dense: one range.
        Ok(unsafe { slice::from_raw_parts_mut(rows.as_mut_ptr(), length) })
    }

    /// The values in logical order; works for any address.
    ///
    /// # Panics
    /// If the layout was changed to one that the memory does not hold.
    pub fn to_f64(&self) -> Vec<f64> {
        let mut values = Vec::with_capacity(self.layout.len());
        self.read_rows(|bytes| values.extend(decode(self.dtype, bytes)));
        values
    }

    /// One value, by its row and column; works for any address.
    ///
    /// # Panics
    /// If there is no such element, or the layout was changed to one that the memory does not hold.
    pub fn element(&self, row: usize, col: usize) -> f64 {
        self.check_bounds().expect("layout fits its memory");
        assert!(row < self.byte_rows() && col < self.layout.cols(), "element {row}, {col}");
        let start = self.row_address(row).wrapping_add(col * self.dtype.size());
        // SAFETY: the element lies within the memory promised to `from_raw`, as just checked.
        decode(self.dtype, unsafe { slice::from_raw_parts(start, self.dtype.size()) })[0]
    }

    /// The elements' bytes in logical order; works for any address.
    ///
    /// # Panics
    /// If the layout was changed to one that the memory does not hold.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.layout.len() * self.dtype.size());
        self.read_rows(|row| bytes.extend_from_slice(row));
        bytes
    }

    /// Calls `read` with every row's bytes in order.
    fn read_rows(&self, mut read: impl FnMut(&[u8])) {
        self.check_bounds().expect("layout fits its memory");
        let row_bytes = self.layout.cols() * self.dtype.size();
        for row in 0..self.byte_rows() {
            let start = self.row_address(row);
            // SAFETY: the row lies within the memory promised to `from_raw`, as just checked.
            read(unsafe { slice::from_raw_parts(start, row_bytes) });
        }
    }

    /// Writes values in logical order, each rounded to the element type; padding stays.
    ///
    /// # Panics
    /// If the tensor is read-only, the count differs, or the layout was changed to one that the
    /// memory does not hold.
    #[allow(clippy::wrong_self_convention, reason = "the counterpart of `to_f64`, in place")]
    pub fn from_f64(&mut self, values: &[f64]) {
        assert_eq!(values.len(), self.layout.len(), "values for shape {:?}", self.layout.shape);
        let (dtype, cols) = (self.dtype, self.layout.cols());
        self.for_each_row(|row, bytes| encode(dtype, &values[row * cols..][..cols], bytes));
    }

    /// Calls `write` with every row's number and bytes.
    ///
    /// # Panics
    /// If the tensor is read-only or its layout was changed past its memory.
    pub(crate) fn for_each_row(&mut self, mut write: impl FnMut(usize, &mut [u8])) {
        assert!(self.writable, "tensor is read-only");
        self.check_bounds().expect("layout fits its memory");
        let row_bytes = self.layout.cols() * self.dtype.size();
        for row in 0..self.byte_rows() {
            let start = self.row_address(row);
            // SAFETY: the row lies within the memory promised to `from_raw`, is writable and, while
            // `self` is borrowed mutably, used by no other code.
            write(row, unsafe { slice::from_raw_parts_mut(start, row_bytes) });
        }
    }

    /// Rows that hold bytes: none if a row is empty.
    fn byte_rows(&self) -> usize {
        if self.layout.is_empty() { 0 } else { self.layout.rows() }
    }

    fn row_address(&self, row: usize) -> *mut u8 {
        self.base.wrapping_add(row * self.layout.row_stride * self.dtype.size())
    }

    fn not_dense(&self) -> ViewError {
        ViewError::NotDense { cols: self.layout.cols(), row_stride: self.layout.row_stride }
    }

    /// The number of rows, after checking that the memory holds them.
    fn check_bounds(&self) -> Result<usize, ViewError> {
        let layout = &self.layout;
        let rows = layout.rows();
        let fits = layout.span_of(rows).saturating_mul(self.dtype.size()) <= self.bytes;
        let apart = layout.row_stride >= layout.cols() || rows <= 1;
        if fits && apart {
            return Ok(rows);
        }
        let (shape, row_stride) = (layout.shape.clone(), layout.row_stride);
        Err(ViewError::OutOfBounds { shape, row_stride, bytes: self.bytes })
    }

    fn check<T: Element>(&self) -> Result<(*mut T, usize), ViewError> {
        if T::DTYPE != self.dtype {
            return Err(ViewError::WrongDType { have: self.dtype, want: T::DTYPE });
        }
        let rows = self.check_bounds()?;
        let base = self.base.cast::<T>();
        if !base.is_aligned() {
            let (address, align) = (self.base as usize, align_of::<T>());
            return Err(ViewError::Misaligned { address, align });
        }
        Ok((base, rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AlignedBuffer;

    fn over(buffer: &mut AlignedBuffer, at: usize, dtype: DType, layout: Layout) -> Tensor {
        assert!(at + layout.span() * dtype.size() <= buffer.as_slice().len());
        // SAFETY: just checked to lie in the buffer, which the tests use through the tensor only.
        unsafe { Tensor::from_raw(buffer.as_mut_slice().as_mut_ptr().add(at), dtype, layout, true) }
    }

    #[test]
    fn values_go_in_and_out_in_logical_order_around_padding() {
        for dtype in DType::ALL {
            for at in [0, 1, 8] {
                let mut buffer = AlignedBuffer::new(256);
                buffer.as_mut_slice().fill(0xa5);
                let mut tensor = over(&mut buffer, at, dtype, Layout::padded([2, 3], 5));
                let values = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
                tensor.from_f64(&values);
                assert_eq!(tensor.to_f64(), values, "{dtype} at {at}");
                let size = dtype.size();
                let padding = &buffer.as_slice()[at + 3 * size..at + 5 * size];
                assert!(padding.iter().all(|&byte| byte == 0xa5), "{dtype} padding");
            }
        }
    }

    #[test]
    fn wrong_types_and_addresses_are_refused() {
        let mut buffer = AlignedBuffer::new(64);
        let mut tensor = over(&mut buffer, 0, DType::F32, Layout::dense([2, 2]));
        assert_eq!(
            tensor.rows::<f64>().unwrap_err(),
            ViewError::WrongDType { have: DType::F32, want: DType::F64 }
        );
        tensor.rows_mut::<f32>().unwrap().row_mut(1).fill(2.0);
        assert_eq!(tensor.slice::<f32>().unwrap(), [0.0, 0.0, 2.0, 2.0]);
        let odd = over(&mut buffer, 2, DType::F32, Layout::dense([2]));
        assert!(matches!(odd.rows::<f32>(), Err(ViewError::Misaligned { align: 4, .. })));
        let mut padded = over(&mut buffer, 0, DType::F32, Layout::padded([2, 2], 3));
        assert!(matches!(padded.slice::<f32>(), Err(ViewError::NotDense { .. })));
        assert!(matches!(padded.slice_mut::<f32>(), Err(ViewError::NotDense { .. })));
    }

    #[test]
    fn read_only_tensors_give_no_mutable_view() {
        let mut buffer = AlignedBuffer::new(64);
        let base = buffer.as_mut_slice().as_mut_ptr();
        // SAFETY: 16 bytes of the buffer, read only.
        let mut tensor = unsafe { Tensor::from_raw(base, DType::F32, Layout::dense([4]), false) };
        assert_eq!(tensor.rows_mut::<f32>().unwrap_err(), ViewError::ReadOnly);
        assert!(tensor.rows::<f32>().is_ok());
    }

    #[test]
    fn a_layout_grown_past_its_memory_is_refused() {
        let mut buffer = AlignedBuffer::new(64);
        let mut tensor = over(&mut buffer, 0, DType::U8, Layout::dense([2, 2]));
        for layout in [
            Layout::dense([2, 3]),
            Layout { shape: vec![2, 2], row_stride: 1 },
            Layout { shape: vec![usize::MAX, 2, 2], row_stride: 2 },
        ] {
            tensor.layout = layout;
            assert!(matches!(tensor.rows::<u8>(), Err(ViewError::OutOfBounds { .. })));
        }
    }
}
