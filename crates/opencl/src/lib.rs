//! Devices of OpenCL: what they are, kernels of our own for them, and how a kernel is launched.
//!
//! A kernel of OpenCL enters as a library of others does, as a [`Peer`](proofmark_peers::Peer), so
//! that the gate, races and audits treat it as they treat any contender. Operands stay in the
//! arena's guarded memory and become buffers there ([`Launcher`]); a call is done when the queue is
//! empty, so that no work escapes the clock. Nothing links OpenCL: the system's loader is opened at
//! run time, in the worker.

mod contender;
mod device;
mod launch;
mod launcher;
mod mutants;
mod plans;
mod probe;
mod session;
mod steps;

pub use contender::{kernels, launch_of, usual};
pub use device::{Absent, devices, found, name_of_first, set_environment};
pub use launch::{Argument, Launch, ready};
pub use launcher::Launcher;
pub use mutants::mutants_of;
pub use probe::probe;
pub use steps::{DeviceCopy, Marker};
