//! Softmax: every row becomes a distribution, `e` to its elements over their sum.
//!
//! ```text
//! y[b,s,i] = exp(x[b,s,i] − m[b,s]) / Σ_j exp(x[b,s,j] − m[b,s])        m[b,s] = max_j x[b,s,j]
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | problems in the batch |
//! | `s` | rows of a problem |
//! | `d` | elements of a row, over which the sum is taken |
//!
//! Everything is computed in f32 and rounded to the element type once. The flag `inplace` makes
//! one operand of x and y. The word `mask=causal` lets row `i` of a problem see columns 0 to
//! `d − s + i` only, so that the last row sees all; the others count as -infinity, whatever they
//! hold.
//!
//! Edges, as IEEE arithmetic gives them:
//! - NaN or +infinity anywhere in a row makes the whole row NaN.
//! - -infinity gives 0, as a mask does; a row of nothing else is NaN (0 / 0), so is
//!   one that a causal mask hides whole (`s > d`).
//! - Finite elements of any size are right: the shift by the maximum rules overflow out.
//! - Subnormal results are kept. Results are never negative.
//! - `d = 0` and empty batches write nothing.

mod definition;
#[cfg(feature = "judge")]
mod judge;
mod kernels;
#[cfg(feature = "judge")]
mod mutants;
#[cfg(feature = "judge")]
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::row::RowKernel;
use crate::blocks::stored::Stored;
use crate::library::{Context, Error, Given, Mat, MatMut, Request};
use definition::Softmax;
use proofmark_contract::Entry;

/// Softmax with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &Softmax,
    kernels: RowKernel::<Softmax>::ALL,
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// What else softmax can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Row `i` of a problem sees the columns up to `cols - rows + i` only.
    pub is_causal: bool,
    /// Problems that the rows are divided among; a causal mask begins anew in each.
    pub batches: usize,
}

impl Default for Options {
    /// No mask, one problem.
    fn default() -> Options {
        Options { is_causal: false, batches: 1 }
    }
}

/// Writes the softmax of each row of `x` to `y`.
///
/// ```
/// use proofmark_ops::{Context, Mat, MatMut, softmax::softmax};
///
/// let x = [1000.0f32, 1000.0, 0.0, f32::NEG_INFINITY];
/// let mut y = [0.0f32; 4];
/// softmax(&Context::serial(), Mat::new(&x, 2, 2), MatMut::new(&mut y, 2, 2))?;
/// assert_eq!(y, [0.5, 0.5, 1.0, 0.0]);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the sizes differ, or the element type is none of f32, bf16 and f16.
pub fn softmax<'a, T: Stored>(
    context: &Context,
    x: impl Into<Mat<'a, T>>,
    y: impl Into<MatMut<'a, T>>,
) -> Result<(), Error> {
    Options::default().run(context, x, y)
}

/// As [`softmax`], in place.
///
/// # Errors
/// As for [`softmax`].
pub fn in_place<'a, T: Stored>(
    context: &Context,
    x: impl Into<MatMut<'a, T>>,
) -> Result<(), Error> {
    Options::default().run_in_place(context, x)
}

impl Options {
    /// As [`softmax`], with these options.
    ///
    /// # Errors
    /// As for [`softmax`], and if the rows cannot be divided among the problems.
    pub fn run<'a, T: Stored>(
        &self,
        context: &Context,
        x: impl Into<Mat<'a, T>>,
        y: impl Into<MatMut<'a, T>>,
    ) -> Result<(), Error> {
        let (x, y) = (x.into(), y.into());
        let request = self.request::<T>(x.rows, x.cols);
        request.run(context, &[x.into()], &mut [y.into()])
    }

    /// As [`in_place`], with these options.
    ///
    /// # Errors
    /// As for [`Options::run`].
    pub fn run_in_place<'a, T: Stored>(
        &self,
        context: &Context,
        x: impl Into<MatMut<'a, T>>,
    ) -> Result<(), Error> {
        let x = x.into();
        let request = self.request::<T>(x.rows, x.cols).attr("inplace", Given::Flag(true));
        request.run(context, &[], &mut [x.into()])
    }

    fn request<T: Stored>(&self, rows: usize, cols: usize) -> Request {
        let each = rows.checked_div(self.batches).unwrap_or(0);
        let request = Request::new(&ENTRY, T::DTYPE);
        let request = request.axis("b", self.batches).axis("s", each).axis("d", cols);
        if self.is_causal { request.attr("mask", Given::Word("causal")) } else { request }
    }
}
