//! Memory for operands: guarded mappings, placements inside them, canaries, aligned buffers.

mod buffer;
mod canary;
mod mapping;
mod placement;
mod recycler;

pub use buffer::AlignedBuffer;
pub use canary::{check_canary, write_canary};
pub use mapping::{Access, HUGE_BYTES, Mapping, memfd};
pub use placement::Placement;
pub use recycler::Recycler;

/// Bytes of a page on this machine.
fn page_bytes() -> usize {
    rustix::param::page_size()
}
