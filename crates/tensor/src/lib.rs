//! Aligned buffers, views, dtype bits, named fills, guard pages and a thread pool.
//!
//! Everything that touches raw memory on behalf of kernels and their judges is here, so that the
//! unsafe facts (bounds, alignment, write access) are stated once. What only a judge needs is
//! behind the feature `judge`.

mod bits;
mod fill;
mod layout;
mod memory;
mod pool;
mod random;
mod tensor;
mod view;

pub use bits::{Element, F8E4m3, F8E5m2, Overflow, decode, encode, round_all, round_to};
pub use fill::{Fill, ParseFillError};
pub use half::{bf16, f16};
pub use layout::Layout;
#[cfg(feature = "judge")]
pub use memory::{Access, HUGE_BYTES, Mapping, Placement, check_canary, memfd, write_canary};
pub use memory::{AlignedBuffer, Recycler};
pub use pool::{Pool, split};
pub use random::{mix, philox4x32};
pub use tensor::{Tensor, ViewError};
pub use view::{Rows, RowsMut, SharedRows};
