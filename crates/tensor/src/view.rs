//! Strided views of rows: what kernels read and write.

use std::marker::PhantomData;
use std::ops::Range;
use std::slice;

/// Rows that may be read.
#[derive(Debug)]
pub struct Rows<'a, T> {
    pointer: *const T,
    rows: usize,
    cols: usize,
    row_stride: usize,
    lifetime: PhantomData<&'a [T]>,
}

/// Rows that may be written, through this view only, for `'a`.
#[derive(Debug)]
pub struct RowsMut<'a, T> {
    pointer: *mut T,
    rows: usize,
    cols: usize,
    row_stride: usize,
    lifetime: PhantomData<&'a mut [T]>,
}

/// Rows that several threads write, each its own range.
#[derive(Debug)]
pub struct SharedRows<'a, T> {
    pointer: *mut T,
    rows: usize,
    cols: usize,
    row_stride: usize,
    lifetime: PhantomData<&'a mut [T]>,
}

impl<T> Clone for Rows<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Rows<'_, T> {}
impl<T> Clone for SharedRows<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for SharedRows<'_, T> {}

// SAFETY: a `Rows` is a shared borrow of its elements, which is Send when T is Sync.
unsafe impl<T: Sync> Send for Rows<'_, T> {}
// SAFETY: as above; it hands out nothing but `&[T]`.
unsafe impl<T: Sync> Sync for Rows<'_, T> {}
// SAFETY: a `RowsMut` is the only borrow of its elements, which is Send when T is Send.
unsafe impl<T: Send> Send for RowsMut<'_, T> {}
// SAFETY: through `&RowsMut` elements can only be read, unless the unsafe `share` is called.
unsafe impl<T: Sync> Sync for RowsMut<'_, T> {}
// SAFETY: writing goes through the unsafe `range_mut`, whose caller keeps ranges apart.
unsafe impl<T: Send> Send for SharedRows<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for SharedRows<'_, T> {}

/// Where row `i` starts; wrapping, because rows without columns may count past any memory.
fn row_start<T>(pointer: *const T, row_stride: usize, i: usize) -> *const T {
    pointer.wrapping_add(i.wrapping_mul(row_stride))
}

fn check_range(range: &Range<usize>, rows: usize) {
    assert!(
        range.start <= range.end && range.end <= rows,
        "row range {range:?} is outside of {rows} rows"
    );
}

impl<'a, T> Rows<'a, T> {
    /// A view of raw memory.
    ///
    /// # Safety
    /// For `'a`, every row `pointer + i * row_stride .. + cols` is readable, initialised and
    /// not written; `pointer` is aligned and not null.
    pub unsafe fn from_raw(
        pointer: *const T,
        rows: usize,
        cols: usize,
        row_stride: usize,
    ) -> Rows<'a, T> {
        Rows { pointer, rows, cols, row_stride, lifetime: PhantomData }
    }

    /// A dense view of a slice.
    ///
    /// # Panics
    /// If the slice does not have `rows * cols` elements.
    pub fn from_slice(slice: &'a [T], rows: usize, cols: usize) -> Rows<'a, T> {
        assert_eq!(Some(slice.len()), rows.checked_mul(cols), "slice does not fit {rows}x{cols}");
        Rows { pointer: slice.as_ptr(), rows, cols, row_stride: cols, lifetime: PhantomData }
    }

    /// Number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Elements of a row.
    #[inline]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Elements from one row to the next.
    #[inline]
    pub fn row_stride(&self) -> usize {
        self.row_stride
    }

    /// Address of the first element.
    #[inline]
    pub fn as_ptr(&self) -> *const T {
        self.pointer
    }

    /// Row `i`.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn row(&self, i: usize) -> &'a [T] {
        assert!(i < self.rows, "row {i} of {}", self.rows);
        // SAFETY: the maker of the view promised every row below `rows` readable for 'a.
        unsafe { slice::from_raw_parts(row_start(self.pointer, self.row_stride, i), self.cols) }
    }

    /// All elements, if no padding lies between them.
    pub fn as_slice(&self) -> Option<&'a [T]> {
        let length = dense_length(self.rows, self.cols, self.row_stride)?;
        // SAFETY: the rows are readable for 'a and, being dense, one range of `length` elements.
        Some(unsafe { slice::from_raw_parts(self.pointer, length) })
    }

    /// The rows of a range.
    ///
    /// # Panics
    /// If the range leaves the view.
    pub fn range(&self, range: Range<usize>) -> Rows<'a, T> {
        check_range(&range, self.rows);
        let pointer = row_start(self.pointer, self.row_stride, range.start);
        Rows { pointer, rows: range.len(), ..*self }
    }
}

/// Elements of a view without padding between rows; `None` if there is some.
fn dense_length(rows: usize, cols: usize, row_stride: usize) -> Option<usize> {
    if rows == 0 || cols == 0 {
        return Some(0);
    }
    (row_stride == cols || rows == 1).then_some(rows * cols)
}

impl<'a, T> RowsMut<'a, T> {
    /// A view of raw memory.
    ///
    /// # Safety
    /// For `'a`, every row `pointer + i * row_stride .. + cols` is initialised and accessed
    /// through this view only; `row_stride >= cols` where there are two rows or more; `pointer`
    /// is aligned and not null.
    pub unsafe fn from_raw(
        pointer: *mut T,
        rows: usize,
        cols: usize,
        row_stride: usize,
    ) -> RowsMut<'a, T> {
        RowsMut { pointer, rows, cols, row_stride, lifetime: PhantomData }
    }

    /// A dense view of a slice.
    ///
    /// # Panics
    /// If the slice does not have `rows * cols` elements.
    pub fn from_slice(slice: &'a mut [T], rows: usize, cols: usize) -> RowsMut<'a, T> {
        assert_eq!(Some(slice.len()), rows.checked_mul(cols), "slice does not fit {rows}x{cols}");
        RowsMut { pointer: slice.as_mut_ptr(), rows, cols, row_stride: cols, lifetime: PhantomData }
    }

    /// Number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Elements of a row.
    #[inline]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Elements from one row to the next.
    #[inline]
    pub fn row_stride(&self) -> usize {
        self.row_stride
    }

    /// Address of the first element, for writing.
    #[inline]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.pointer
    }

    /// Address of the first element.
    #[inline]
    pub fn as_ptr(&self) -> *const T {
        self.pointer
    }

    /// This view for reading.
    #[inline]
    pub fn as_rows(&self) -> Rows<'_, T> {
        let RowsMut { pointer, rows, cols, row_stride, .. } = *self;
        Rows { pointer, rows, cols, row_stride, lifetime: PhantomData }
    }

    /// Row `i` for reading.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn row(&self, i: usize) -> &[T] {
        self.as_rows().row(i)
    }

    /// Row `i` for writing.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn row_mut(&mut self, i: usize) -> &mut [T] {
        assert!(i < self.rows, "row {i} of {}", self.rows);
        let start = row_start(self.pointer, self.row_stride, i).cast_mut();
        // SAFETY: the row belongs to this view alone, and `&mut self` keeps other rows away.
        unsafe { slice::from_raw_parts_mut(start, self.cols) }
    }

    /// All elements for reading, if no padding lies between them.
    pub fn as_slice(&self) -> Option<&[T]> {
        self.as_rows().as_slice()
    }

    /// All elements for writing, if no padding lies between them.
    pub fn as_mut_slice(&mut self) -> Option<&mut [T]> {
        let length = dense_length(self.rows, self.cols, self.row_stride)?;
        // SAFETY: the elements belong to this view alone and, being dense, are one range.
        Some(unsafe { slice::from_raw_parts_mut(self.pointer, length) })
    }

    /// The same view for a shorter time.
    #[inline]
    pub fn reborrow(&mut self) -> RowsMut<'_, T> {
        RowsMut { lifetime: PhantomData, ..*self }
    }

    /// The rows before `at_row` and the rows from there on.
    ///
    /// # Panics
    /// If there are fewer rows.
    pub fn split(self, at_row: usize) -> (RowsMut<'a, T>, RowsMut<'a, T>) {
        check_range(&(0..at_row), self.rows);
        let below = row_start(self.pointer, self.row_stride, at_row).cast_mut();
        let rest = self.rows - at_row;
        (RowsMut { rows: at_row, ..self }, RowsMut { pointer: below, rows: rest, ..self })
    }

    /// The rows of a range.
    ///
    /// # Panics
    /// If the range leaves the view.
    pub fn range(&mut self, range: Range<usize>) -> RowsMut<'_, T> {
        check_range(&range, self.rows);
        let pointer = row_start(self.pointer, self.row_stride, range.start).cast_mut();
        RowsMut { pointer, rows: range.len(), lifetime: PhantomData, ..*self }
    }

    /// Some columns of every row.
    ///
    /// # Panics
    /// If they leave the view.
    pub fn columns(&mut self, columns: Range<usize>) -> RowsMut<'_, T> {
        check_range(&columns, self.cols);
        let pointer = self.pointer.wrapping_add(columns.start);
        RowsMut { pointer, cols: columns.len(), lifetime: PhantomData, ..*self }
    }

    /// A handle from which threads take disjoint ranges.
    ///
    /// # Safety
    /// While the handle or a range taken from it is in use, this view is not.
    pub unsafe fn share(&self) -> SharedRows<'a, T> {
        let RowsMut { pointer, rows, cols, row_stride, .. } = *self;
        SharedRows { pointer, rows, cols, row_stride, lifetime: PhantomData }
    }
}

impl<'a, T> SharedRows<'a, T> {
    /// Number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Elements of a row.
    #[inline]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Elements from one row to the next.
    #[inline]
    pub fn row_stride(&self) -> usize {
        self.row_stride
    }

    /// Address of the first element; for tiles that are not whole rows.
    #[inline]
    pub fn as_mut_ptr(&self) -> *mut T {
        self.pointer
    }

    /// The rows of a range, for the one thread that takes them.
    ///
    /// # Safety
    /// No other range in use at the same time shares a row with this one.
    ///
    /// # Panics
    /// If the range leaves the view.
    #[inline]
    pub unsafe fn range_mut(&self, range: Range<usize>) -> RowsMut<'a, T> {
        check_range(&range, self.rows);
        let pointer = row_start(self.pointer, self.row_stride, range.start).cast_mut();
        let SharedRows { cols, row_stride, .. } = *self;
        RowsMut { pointer, rows: range.len(), cols, row_stride, lifetime: PhantomData }
    }

    /// Some columns of the rows of a range, for the one thread that takes them.
    ///
    /// # Safety
    /// No other block in use at the same time shares an element with this one.
    ///
    /// # Panics
    /// If the block leaves the view.
    #[inline]
    pub unsafe fn block_mut(&self, rows: Range<usize>, columns: Range<usize>) -> RowsMut<'a, T> {
        check_range(&columns, self.cols);
        // SAFETY: as the caller promises of this block; no other row of the range is touched.
        let block = unsafe { self.range_mut(rows) };
        let pointer = block.pointer.wrapping_add(columns.start);
        RowsMut { pointer, cols: columns.len(), ..block }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3 rows of 2 with one element of padding after each.
    fn padded(values: &mut [i32; 9]) -> RowsMut<'_, i32> {
        // SAFETY: rows of 2 at stride 3 lie inside the array, which is borrowed for the view.
        unsafe { RowsMut::from_raw(values.as_mut_ptr(), 3, 2, 3) }
    }

    #[test]
    fn a_block_has_its_rows_and_columns_and_no_others() {
        let mut values = [0; 9];
        let view = padded(&mut values);
        // SAFETY: the view is not used again, and the blocks do not meet.
        let (mut left, mut right) = unsafe {
            let shared = view.share();
            (shared.block_mut(1..3, 0..1), shared.block_mut(0..2, 1..2))
        };
        (0..2).for_each(|i| left.row_mut(i).fill(1));
        (0..2).for_each(|i| right.row_mut(i).fill(2));
        assert_eq!(values, [0, 2, 0, 1, 2, 0, 1, 0, 0]);
        padded(&mut values).columns(1..2).row_mut(2).fill(3);
        assert_eq!(values[7], 3);
        let beyond = std::panic::catch_unwind(|| padded(&mut [0; 9]).columns(1..3).cols());
        assert!(beyond.is_err(), "there is no third column");
    }

    #[test]
    fn writing_every_row_leaves_the_padding() {
        let mut values = [0; 9];
        let mut view = padded(&mut values);
        for i in 0..3 {
            view.row_mut(i).fill(i as i32 + 1);
        }
        assert!(view.as_mut_slice().is_none(), "padded rows are no slice");
        assert_eq!(view.row(1), [2, 2]);
        assert_eq!(values, [1, 1, 0, 2, 2, 0, 3, 3, 0]);
    }

    #[test]
    fn split_parts_and_ranges_are_the_right_rows() {
        let mut values = [1, 2, 0, 3, 4, 0, 5, 6, 0];
        let mut view = padded(&mut values);
        assert_eq!(view.range(1..2).row(0), [3, 4]);
        assert_eq!(view.as_rows().range(1..3).row(1), [5, 6]);
        let (top, bottom) = view.split(1);
        assert_eq!((top.rows(), bottom.rows()), (1, 2));
        assert_eq!((top.row(0), bottom.row(1)), (&[1, 2][..], &[5, 6][..]));
        assert_eq!(top.as_slice(), Some(&[1, 2][..]), "one row is dense");
    }

    #[test]
    fn threads_write_disjoint_ranges_of_shared_rows() {
        let mut values = vec![0u32; 12];
        let view = RowsMut::from_slice(&mut values, 6, 2);
        // SAFETY: `view` is not used while the threads run.
        let shared = unsafe { view.share() };
        std::thread::scope(|scope| {
            for part in 0..3 {
                scope.spawn(move || {
                    // SAFETY: parts are two rows each and do not meet.
                    let mut own = unsafe { shared.range_mut(2 * part..2 * part + 2) };
                    own.as_mut_slice().unwrap().fill(part as u32);
                });
            }
        });
        assert_eq!(values, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
    }

    #[test]
    fn rows_without_columns_are_empty_slices() {
        let view = Rows::<f32>::from_slice(&[], 1000, 0);
        assert_eq!(view.row(999), [0f32; 0]);
        assert_eq!(view.as_slice(), Some(&[][..]));
    }

    #[test]
    #[should_panic(expected = "outside of 2 rows")]
    fn a_range_past_the_end_is_refused() {
        let _ = Rows::from_slice(&[1, 2], 2, 1).range(1..3);
    }
}
