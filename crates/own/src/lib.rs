//! Ops and kernels of the user: a folder becomes an op, a signature becomes a kernel.
//!
//! An op's folder has an `op.toml` (axes, operands, attributes, work), a reference in Python, and a
//! folder `kernels` with one file for each kernel. The reference runs in f64 in a process of its
//! own; the error scale, by which kernels are judged, is derived from its primitives.

mod cases;
mod contender;
mod expression;
mod folder;
mod format;
mod interpreter;
pub mod kernel;
mod manifest;
mod op;
mod page;
mod reference;
mod shelf;
mod submission;
mod suggest;
mod template;

pub use contender::{added_kernels, kernels, reference_id, warm};
pub use expression::{Expression, ExpressionError};
pub use folder::{
    OPS, adds_kernels, benches_from, entry, entry_for, entry_with_mutants, folders_at,
    folders_from, load,
};
pub use format::{BYTES, ImportedOp, Source, import_op};
pub use interpreter::{Interpreter, OwnHome};
pub use manifest::MANIFEST;
pub use op::OwnOp;
pub use page::{FileError, Page};
pub use reference::{Python, Reference, SERVE_REFERENCE, Traced, serve_reference};
pub use shelf::{OwnPlace, OwnShelf};
pub use submission::SubmittedFile;
pub use suggest::nearest;
pub use template::{Language, NewOpError, write_op};
