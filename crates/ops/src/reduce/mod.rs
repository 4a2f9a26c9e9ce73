//! Reductions: an axis of x, or all of it, becomes one number; one generic body, one table.
//!
//! ```text
//! sum        y = Σ x              max        y = max x
//! mean       y = Σ x / n          argmax     y = first place of max x
//! variance   y = Σ (x − mean x)² / (n − correction)
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | sequences in the batch |
//! | `s` | positions of a sequence |
//! | `d` | elements of a row |
//!
//! Variants: `axis` = `d` (default), `s`, `b` or `all` is the axis that is reduced; y has the
//! others, or one element for `all`, and its rows lie without gaps. `correction` (variance) is
//! what is taken from the count, 0 or 1. Places count along the reduced axis; for `all` in the
//! order of rows.
//!
//! Everything is computed in f32 and rounded to the element type once; y of `argmax` is u32.
//!
//! Edges: each member's own, in its definition in `members.rs` and in `proofmark list --op`.
//!
//! A new member is a block in `members.rs`, its truth in `oracle.rs`, and a line here.

mod definition;
#[cfg(feature = "judge")]
mod judge;
mod kernels;
#[cfg(feature = "judge")]
mod laws;
mod members;
#[cfg(feature = "judge")]
mod mutants;
#[cfg(feature = "judge")]
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::stored::Stored;
use crate::library::{Context, Error, Given, Request};
use members::Member;
use proofmark_contract::Entry;
use proofmark_tensor::Element;

/// The members, each with everything that belongs to it.
macro_rules! entries {
    ($($name:ident: $member:ty, $k:literal, $op:literal;)*) => {
        $(
            #[doc = concat!("`", $op, "` with everything that belongs to it.")]
            pub static $name: Entry = Entry {
                op: const { &<$member as Member<$k>>::DEFINITION },
                kernels: kernels::all::<$member, $k>(),
                #[cfg(feature = "judge")]
                mutants: mutants::$name,
                #[cfg(feature = "judge")]
                suite: include_str!("suite.toml"),
            };
        )*
    };
}

entries! {
    SUM: members::Sum<false>, 1, "sum";
    MEAN: members::Sum<true>, 1, "mean";
    MAX: members::Max, 1, "max";
    ARGMAX: members::ArgMax, 2, "argmax";
    VARIANCE: members::Variance, 2, "variance";
}

/// The axis that is reduced, of `[b, s, d]` elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axis {
    /// The fastest, `d`: each row to one element.
    #[default]
    D,
    /// `s`: each column of a problem to one element.
    S,
    /// The slowest, `b`: the same place of all problems to one element.
    B,
    /// All three, to one element.
    All,
}

macro_rules! doors {
    ($($(#[$doc:meta])* $name:ident: $entry:ident;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Errors
            /// If the lengths do not fit the sizes.
            pub fn $name<T: Stored>(
                context: &Context,
                x: &[T],
                sizes: [usize; 3],
                axis: Axis,
                y: &mut [T],
            ) -> Result<(), Error> {
                request::<T>(&$entry, sizes, axis).run(context, &[x.into()], &mut [y.into()])
            }
        )*
    };
}

doors! {
    /// Writes the sums along an axis of `x`, of `[b, s, d]` elements, to `y`.
    ///
    /// ```
    /// use proofmark_ops::reduce::{Axis, sum};
    /// use proofmark_ops::Context;
    ///
    /// let x = [1.0f32, 5.0, 2.0, 7.0, -1.0, 7.0];
    /// let (mut rows, mut columns) = ([0.0f32; 2], [0.0f32; 3]);
    /// let context = Context::serial();
    /// sum(&context, &x, [1, 2, 3], Axis::D, &mut rows)?;
    /// sum(&context, &x, [1, 2, 3], Axis::S, &mut columns)?;
    /// assert_eq!((rows, columns), ([8.0, 13.0], [8.0, 4.0, 9.0]));
    /// # Ok::<(), proofmark_ops::Error>(())
    /// ```
    sum: SUM;
    /// Writes the means along an axis of `x`, of `[b, s, d]` elements, to `y`.
    mean: MEAN;
    /// Writes the greatest elements along an axis of `x`, of `[b, s, d]` elements, to `y`.
    max: MAX;
}

/// Writes the places of the greatest elements along an axis of `x`, of `[b, s, d]` elements, to
/// `y`.
///
/// # Errors
/// If the lengths do not fit the sizes.
pub fn argmax<T: Stored>(
    context: &Context,
    x: &[T],
    sizes: [usize; 3],
    axis: Axis,
    y: &mut [u32],
) -> Result<(), Error> {
    request::<T>(&ARGMAX, sizes, axis).run(context, &[x.into()], &mut [y.into()])
}

/// Writes the variances along an axis of `x`, of `[b, s, d]` elements, to `y`: sums of squares over
/// the number of terms less `correction`, which is 0 or 1.
///
/// # Errors
/// If the lengths do not fit the sizes, or `correction` is neither.
pub fn variance<T: Stored>(
    context: &Context,
    x: &[T],
    sizes: [usize; 3],
    axis: Axis,
    correction: u32,
    y: &mut [T],
) -> Result<(), Error> {
    let request = request::<T>(&VARIANCE, sizes, axis);
    let request = request.attr("correction", Given::Int(i64::from(correction)));
    request.run(context, &[x.into()], &mut [y.into()])
}

fn request<T: Element>(entry: &'static Entry, [b, s, d]: [usize; 3], axis: Axis) -> Request {
    let axis = match axis {
        Axis::D => "d",
        Axis::S => "s",
        Axis::B => "b",
        Axis::All => "all",
    };
    let request = Request::new(entry, T::DTYPE).axis("b", b).axis("s", s).axis("d", d);
    request.attr("axis", Given::Word(axis))
}
