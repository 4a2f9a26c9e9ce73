//! Columns shared out among threads, with the vector idea that suits the number of rows.
//!
//! Idea: a thread reads and decodes its own weights; activations are decoded by all threads first.
//! Terms are not split, so the bits do not depend on the number of threads.

/// From so many rows on a panel of weights is worth being dequantised: a weight then is decoded
/// once instead of once for every 6 rows.
pub(super) const MANY_ROWS: usize = 12;
