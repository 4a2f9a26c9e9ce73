//! The same part of several rows.

use std::ops::Range;

/// The same terms of some rows. It does not use `map`, whose closure may stay outside a level's
/// code.
#[inline(always)]
pub(crate) fn cut<T, const N: usize>(mut rows: [&[T]; N], terms: Range<usize>) -> [&[T]; N] {
    for row in &mut rows {
        *row = &row[terms.clone()];
    }
    rows
}
