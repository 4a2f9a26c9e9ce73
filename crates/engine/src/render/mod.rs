//! What is kept, in forms that other programs read: traces, tuned constants, rows to export.

mod constants;
mod exported;
mod trace;

pub use constants::{
    Constants, Emit, Tuned, TunedBlocks, TunedKernel, read_constants, set_constants, snippet, unit,
    write_constants,
};
pub use exported::{StoredRow, StoredRun, samples, stored_run};
pub use trace::{Traced, trace};
