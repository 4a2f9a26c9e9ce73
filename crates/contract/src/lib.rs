//! What an op and a kernel are: the behaviour that every contender is held to. The SDK.
//!
//! A [`Definition`] states a computation: axes, attributes, operands. A [`Kernel`] computes it.
//! [`Call`] is the erased form in which a kernel receives operands of any number and element type,
//! attributes, workspace, packed weights, random-number state and threads.
//!
//! With the feature `judge`, an `Op` is a definition with its work, its oracle with the error
//! scale, and what the gate should try. A program that only calls kernels does not need it.
#![forbid(unsafe_code)]

mod call;
mod check;
mod definition;
mod entry;
mod explicit;
mod kernel;
mod operand;

#[cfg(feature = "judge")]
mod law;
#[cfg(feature = "judge")]
mod op;
#[cfg(feature = "judge")]
mod perturbation;
#[cfg(feature = "judge")]
mod portfolio;
#[cfg(feature = "judge")]
mod values;

pub use call::{Call, KernelError};
pub use check::{BadCase, MOST_OF_AXIS, MOST_OF_SIZES, check_case, check_sizes, complete_case};
pub use definition::{Attribute, AttributeKind, Axis, AxisRole, Definition};
#[cfg(feature = "judge")]
pub use entry::Mutant;
pub use entry::{Entry, find};
pub use explicit::ExplicitCase;
pub use kernel::{DeviceTimes, Kernel, PartUnit, Unsupported};
pub use operand::{Operand, Role, Signature};

#[cfg(feature = "judge")]
pub use law::{Law, Observed};
#[cfg(feature = "judge")]
pub use op::{Limits, Op};
#[cfg(feature = "judge")]
pub use perturbation::{
    PATTERN_COLS, Pattern, Perturbation, Place, Step, changed, fixed_kinds, is_changeable,
};
#[cfg(feature = "judge")]
pub use portfolio::{Filling, Portfolio, Specials};
#[cfg(feature = "judge")]
pub use values::{NoTruth, Truth, Values, Want};
