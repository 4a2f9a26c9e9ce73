//! Where the elements of a tensor lie: a shape whose rows may be padded.

/// A shape whose last axis is contiguous and whose rows lie `row_stride` elements apart.
///
/// A *row* is the last axis; the leading axes are flattened into a count of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Sizes along each axis; empty for a scalar.
    pub shape: Vec<usize>,
    /// Elements from the start of one row to the start of the next.
    pub row_stride: usize,
}

impl Layout {
    /// Rows packed one after the other.
    pub fn dense(shape: impl Into<Vec<usize>>) -> Layout {
        let shape = shape.into();
        let row_stride = shape.last().copied().unwrap_or(1);
        Layout { shape, row_stride }
    }

    /// Rows `row_stride` elements apart.
    ///
    /// # Panics
    /// If the stride is shorter than a row: rows would overlap.
    pub fn padded(shape: impl Into<Vec<usize>>, row_stride: usize) -> Layout {
        let layout = Layout { shape: shape.into(), row_stride };
        assert!(row_stride >= layout.cols(), "row stride {row_stride} is shorter than a row");
        layout
    }

    /// Number of rows: the product of the leading axes, 1 for rank 0 and 1.
    pub fn rows(&self) -> usize {
        let leading = self.shape.split_last().map_or(&[][..], |(_, leading)| leading);
        // Saturating, so that an absurd shape fails bounds checks instead of wrapping past them.
        leading.iter().fold(1, |rows: usize, &size| rows.saturating_mul(size))
    }

    /// Elements of a row: the last axis, 1 for rank 0.
    pub fn cols(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    /// Logical elements, padding not counted.
    pub fn len(&self) -> usize {
        self.rows().saturating_mul(self.cols())
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Elements from the first to the last, padding between rows counted; 0 if empty.
    pub fn span(&self) -> usize {
        self.span_of(self.rows())
    }

    /// The same, of this many rows.
    pub(crate) fn span_of(&self, rows: usize) -> usize {
        let cols = self.cols();
        if rows == 0 || cols == 0 {
            return 0;
        }
        (rows - 1).saturating_mul(self.row_stride).saturating_add(cols)
    }

    /// Whether no padding lies between the elements.
    pub fn is_dense(&self) -> bool {
        self.row_stride == self.cols() || self.rows() <= 1 || self.is_empty()
    }

    /// Element offset in memory of the logical element `flat` (row-major).
    ///
    /// # Panics
    /// If rows are empty: there is no such element.
    pub fn offset_of(&self, flat: usize) -> usize {
        let cols = self.cols();
        flat / cols * self.row_stride + flat % cols
    }

    /// Position along each axis of the logical element `flat` (row-major).
    ///
    /// # Panics
    /// If an axis has size 0: there is no such element.
    pub fn index_of(&self, flat: usize) -> Vec<usize> {
        let mut rest = flat;
        let mut index = vec![0; self.shape.len()];
        for (place, &size) in index.iter_mut().zip(&self.shape).rev() {
            *place = rest % size;
            rest /= size;
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_scalar_is_one_row_of_one() {
        let scalar = Layout::dense([]);
        assert_eq!((scalar.rows(), scalar.cols(), scalar.len(), scalar.span()), (1, 1, 1, 1));
        assert_eq!(scalar.index_of(0), Vec::<usize>::new());
    }

    #[test]
    fn padding_counts_in_the_span_but_not_after_the_last_row() {
        let layout = Layout::padded([2, 3, 5], 8);
        assert_eq!((layout.rows(), layout.cols(), layout.len()), (6, 5, 30));
        assert_eq!(layout.span(), 5 * 8 + 5);
        assert!(!layout.is_dense());
        assert!(Layout::padded([1, 5], 8).is_dense(), "one row has no padding inside");
    }

    #[test]
    fn empty_shapes_span_nothing() {
        for shape in [vec![0], vec![0, 4], vec![4, 0]] {
            let layout = Layout::dense(shape);
            assert_eq!((layout.len(), layout.span(), layout.is_empty()), (0, 0, true));
        }
    }

    #[test]
    #[should_panic(expected = "shorter than a row")]
    fn overlapping_rows_are_refused() {
        Layout::padded([2, 5], 4);
    }

    proptest! {
        #[test]
        fn offsets_and_indices_agree(
            shape in proptest::collection::vec(1usize..5, 1..4),
            pad in 0usize..4,
        ) {
            let cols = *shape.last().unwrap();
            let layout = Layout::padded(shape.clone(), cols + pad);
            let mut last = None;
            for flat in 0..layout.len() {
                let index = layout.index_of(flat);
                let row = index[..index.len() - 1].iter().zip(&shape)
                    .fold(0, |row, (&at, &size)| row * size + at);
                let offset = row * layout.row_stride + index[index.len() - 1];
                prop_assert_eq!(layout.offset_of(flat), offset);
                prop_assert!(last.is_none_or(|last| last < offset));
                last = Some(offset);
            }
            prop_assert_eq!(last.map(|last| last + 1), Some(layout.span()));
        }
    }
}
