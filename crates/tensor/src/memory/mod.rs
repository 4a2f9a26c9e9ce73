//! Memory for operands: guarded mappings, placements inside them, canaries, aligned buffers.

mod buffer;
#[cfg(feature = "judge")]
mod canary;
#[cfg(feature = "judge")]
mod mapping;
#[cfg(feature = "judge")]
mod placement;
mod recycler;

pub use buffer::AlignedBuffer;
#[cfg(feature = "judge")]
pub use canary::{check_canary, write_canary};
#[cfg(feature = "judge")]
pub use mapping::{Access, HUGE_BYTES, Mapping, memfd};
#[cfg(feature = "judge")]
pub use placement::Placement;
pub use recycler::Recycler;

/// Bytes of a page on this machine.
#[cfg(feature = "judge")]
fn page_bytes() -> usize {
    rustix::param::page_size()
}
