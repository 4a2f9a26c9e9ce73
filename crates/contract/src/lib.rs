//! What an op and a kernel are: the behaviour that every contender is held to. The SDK.
//!
//! An [`Op`] defines a computation: axes, operands, work, the oracle with its error scale, and
//! what the gate should try. A [`Kernel`] computes it. [`Call`] is the erased form in which a
//! kernel receives operands of any number and element type, attributes, workspace, packed
//! weights, random-number state and threads.
#![forbid(unsafe_code)]

mod call;
mod check;
mod entry;
mod kernel;
mod law;
mod op;
mod operand;
mod perturbation;
mod portfolio;
mod values;

pub use call::{Call, KernelError};
pub use check::{BadCase, MOST_OF_AXIS, MOST_OF_SIZES, check_case, check_sizes, complete_case};
pub use entry::{Entry, Mutant, find};
pub use kernel::{Kernel, Unsupported};
pub use law::{Law, Observed};
pub use op::{Attribute, AttributeKind, Axis, AxisRole, Limits, Op};
pub use operand::{Operand, Role, Signature};
pub use perturbation::{
    PATTERN_COLS, Pattern, Perturbation, Place, Step, changed, fixed_kinds, is_changeable,
};
pub use portfolio::{Filling, Portfolio, Specials};
pub use values::{Truth, Values, Want};
