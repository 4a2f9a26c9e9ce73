//! Matrices in memory that the caller owns.

/// A matrix that is read: rows of equal length in a slice, one after the other or with gaps
/// between them. A slice is a matrix of one row.
///
/// Nothing is checked here. A call refuses a view that does not fit its slice or the op.
#[derive(Clone, Copy, Debug)]
pub struct Mat<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) stride: usize,
    pub(crate) is_transposed: bool,
}

impl<'a, T> Mat<'a, T> {
    /// `rows` rows of `cols` elements, one after the other.
    pub fn new(data: &'a [T], rows: usize, cols: usize) -> Mat<'a, T> {
        Mat { data, rows, cols, stride: cols, is_transposed: false }
    }

    /// The same with rows that begin `stride` elements apart.
    #[must_use]
    pub fn stride(self, stride: usize) -> Mat<'a, T> {
        Mat { stride, ..self }
    }

    /// The transpose, without moving an element: columns lie where rows lay. Only the right
    /// operand of a product may be one.
    #[must_use]
    pub fn transposed(self) -> Mat<'a, T> {
        Mat { is_transposed: !self.is_transposed, ..self }
    }

    /// Rows, as the matrix is meant.
    pub fn rows(&self) -> usize {
        if self.is_transposed { self.cols } else { self.rows }
    }

    /// Columns, as the matrix is meant.
    pub fn cols(&self) -> usize {
        if self.is_transposed { self.rows } else { self.cols }
    }
}

/// A matrix that is written.
#[derive(Debug)]
pub struct MatMut<'a, T> {
    pub(crate) data: &'a mut [T],
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) stride: usize,
}

impl<'a, T> MatMut<'a, T> {
    /// `rows` rows of `cols` elements, one after the other.
    pub fn new(data: &'a mut [T], rows: usize, cols: usize) -> MatMut<'a, T> {
        MatMut { data, rows, cols, stride: cols }
    }

    /// The same with rows that begin `stride` elements apart. What lies between them stays.
    #[must_use]
    pub fn stride(self, stride: usize) -> MatMut<'a, T> {
        MatMut { stride, ..self }
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns.
    pub fn cols(&self) -> usize {
        self.cols
    }
}

macro_rules! one_row {
    ($($from:ty $(, $count:ident)?;)*) => {
        $(
            impl<'a, T $(, const $count: usize)?> From<&'a $from> for Mat<'a, T> {
                fn from(data: &'a $from) -> Self {
                    Mat::new(data, 1, data.len())
                }
            }

            impl<'a, T $(, const $count: usize)?> From<&'a mut $from> for MatMut<'a, T> {
                fn from(data: &'a mut $from) -> Self {
                    let cols = data.len();
                    MatMut::new(data, 1, cols)
                }
            }
        )*
    };
}

one_row! {
    [T];
    Vec<T>;
    [T; N], N;
}
