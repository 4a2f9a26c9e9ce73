//! What a judged process may do, enforced by the kernel.
//!
//! The supervisor prepares a [`Sandbox`] for each worker. The child enters it between `fork` and
//! `exec`, so the program that follows need not be trusted. Each layer closes one way out:
//!
//! | layer | what it closes |
//! |---|---|
//! | Landlock (`files`) | files that are not listed, TCP, signals and abstract sockets outside |
//! | seccomp (`calls`) | processes, programs, sockets, tracing, other processes' memory |
//! | user (`enter`) | what root may do |
//! | no writable code (`enter`) | code written at run time, unless the contender has a JIT |
//!
//! A system call that is not on the list stops the caller until the [`Warden`] answers: a thread of
//! the supervisor that the kernel tells which call it is. The warden refuses the call and keeps its
//! name, so that a report can say what a contender has tried. The worker cannot forge this record,
//! because the worker has no part in it.

mod calls;
mod enter;
mod files;
mod layers;
mod permit;
mod scratch;
mod warden;

pub use enter::{Sandbox, SandboxError};
pub use layers::missing;
pub use permit::Permit;
pub use scratch::clear_scratch;
pub use warden::Warden;
