//! Aligned buffers, views, dtype bits, named fills, guard pages and a thread pool.
//!
//! Everything that touches raw memory on behalf of kernels and their judges is here, so that the
//! unsafe facts (bounds, alignment, write access) are stated once.

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
pub use memory::{
    Access, AlignedBuffer, HUGE_BYTES, Mapping, Placement, Recycler, check_canary, memfd,
    write_canary,
};
pub use pool::{Pool, split};
pub use random::{mix, philox4x32};
pub use tensor::{Tensor, ViewError};
pub use view::{Rows, RowsMut, SharedRows};
