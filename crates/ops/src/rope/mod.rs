//! Rotary embedding: pairs of each head's elements are turned by an angle that grows with the
//! position.
//!
//! ```text
//! y₁ = x₁·cos a − x₂·sin a        y₂ = x₂·cos a + x₁·sin a        a = position[s] · f[i]
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | sequences in the batch |
//! | `s` | positions of a sequence |
//! | `h` | heads of a position |
//! | `d` | elements of a head |
//!
//! Pair i is elements i and i + part/2 (`pairing=neox`) or 2i and 2i + 1 (`gptj`) of the first
//! `part` elements (0: all); the others are copied. With `angles=table` cosines and sines are
//! read, f32 `[s, part/2]`. With `angles=exact` positions are read, u32 `[s]` up to 131071 in any
//! order, and the angle is what f64 gives of `position · f[i]` with `f[i] = theta^(−2i/part)`,
//! which `scaling` changes: `linear` divides it by `factor`; `llama3` does so where the
//! wavelength 2π/f is over 8192, keeps it where it is under 2048, and in between weighs the two
//! by `(8192·f/2π − 1)/3`. Products and sums are f32, rounded to the element type once. The flag
//! `inplace` makes one operand of x and y.
//!
//! Edges, as IEEE arithmetic gives them:
//! - NaN or an infinity touches its pair only. At position 0 the sine is 0, so that an infinity
//!   makes NaN of its partner.
//! - The sign of a zero result is not specified. Subnormal elements count and subnormal results
//!   are kept.
//! - Empty axes write nothing.

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
use definition::Rope;
use proofmark_contract::Entry;

/// Rotary embedding with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &Rope,
    kernels: RowKernel::<Rope>::ALL,
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// Which elements of a head make a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pairing {
    /// Elements half of the turned part apart.
    #[default]
    NeoX,
    /// Neighbours.
    GptJ,
}

/// How frequencies are changed for positions beyond those of the training.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Scaling {
    /// Not at all.
    #[default]
    None,
    /// All are divided by this.
    Linear(f64),
    /// Low ones are divided by this, high ones stay; see the module's page.
    Llama3(f64),
}

/// How heads are turned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The base of the frequencies.
    pub theta: f64,
    /// Which elements make a pair.
    pub pairing: Pairing,
    /// How frequencies are changed.
    pub scaling: Scaling,
    /// Elements of a head that are turned, from the first on; 0 means all.
    pub part: usize,
}

impl Default for Options {
    /// Whole heads, pairs half a head apart, a base of 10000, no scaling.
    fn default() -> Options {
        Options { theta: 10000.0, pairing: Pairing::NeoX, scaling: Scaling::None, part: 0 }
    }
}

/// Turns the heads of `x` in place by the angles of their positions. A row is a head; the heads of
/// a position stand below each other.
///
/// ```
/// use proofmark_ops::{Context, MatMut, rope::in_place};
///
/// let mut x = [1.0f32, 0.0, 1.0, 0.0];
/// in_place(&Context::serial(), &[0, 1], MatMut::new(&mut x, 2, 2))?;
/// // A head of one pair turns by one radian a position.
/// assert_eq!(x[..2], [1.0, 0.0]);
/// assert!((x[2] - 1f32.cos()).abs() < 1e-6 && (x[3] - 1f32.sin()).abs() < 1e-6);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If there is not the same number of heads for each position, or the length of a head is odd.
pub fn in_place<T: Stored>(
    context: &Context,
    positions: &[u32],
    x: MatMut<'_, T>,
) -> Result<(), Error> {
    Options::default().run_in_place(context, positions, x)
}

/// As [`in_place`], from `x` to `y`.
///
/// # Errors
/// As for [`in_place`], and if the sizes differ.
pub fn rope<T: Stored>(
    context: &Context,
    positions: &[u32],
    x: Mat<'_, T>,
    y: MatMut<'_, T>,
) -> Result<(), Error> {
    Options::default().run(context, positions, x, y)
}

impl Options {
    /// As [`rope`], with these options.
    ///
    /// # Errors
    /// As for [`rope`], and if an option is out of range.
    pub fn run<T: Stored>(
        &self,
        context: &Context,
        positions: &[u32],
        x: Mat<'_, T>,
        y: MatMut<'_, T>,
    ) -> Result<(), Error> {
        let request = self.request::<T>(positions.len(), x.rows, x.cols, "exact");
        request.run(context, &[x.into(), positions.into()], &mut [y.into()])
    }

    /// As [`in_place`], with these options.
    ///
    /// # Errors
    /// As for [`in_place`], and if an option is out of range.
    pub fn run_in_place<T: Stored>(
        &self,
        context: &Context,
        positions: &[u32],
        x: MatMut<'_, T>,
    ) -> Result<(), Error> {
        let request = self.request::<T>(positions.len(), x.rows, x.cols, "exact");
        let request = request.attr("inplace", Given::Flag(true));
        request.run(context, &[positions.into()], &mut [x.into()])
    }

    /// As [`rope`], by cosines and sines that were computed before: a row of each for each
    /// position, as long as there are pairs. The base and the scaling do not matter.
    ///
    /// # Errors
    /// If the sizes differ.
    pub fn run_with_table<T: Stored>(
        &self,
        context: &Context,
        [cosines, sines]: [Mat<'_, f32>; 2],
        x: Mat<'_, T>,
        y: MatMut<'_, T>,
    ) -> Result<(), Error> {
        let request = self.request::<T>(cosines.rows, x.rows, x.cols, "table");
        request.run(context, &[x.into(), cosines.into(), sines.into()], &mut [y.into()])
    }

    fn request<T: Stored>(
        &self,
        positions: usize,
        rows: usize,
        length: usize,
        angles: &'static str,
    ) -> Request {
        let pairing = match self.pairing {
            Pairing::NeoX => "neox",
            Pairing::GptJ => "gptj",
        };
        let (scaling, factor) = match self.scaling {
            Scaling::None => ("none", 8.0),
            Scaling::Linear(factor) => ("linear", factor),
            Scaling::Llama3(factor) => ("llama3", factor),
        };
        Request::new(&ENTRY, T::DTYPE)
            .axis("b", 1)
            .axis("s", positions)
            .axis("h", rows.checked_div(positions).unwrap_or(0))
            .axis("d", length)
            .attr("angles", Given::Word(angles))
            .attr("pairing", Given::Word(pairing))
            .attr("part", Given::Int(self.part as i64))
            .attr("theta", Given::Real(self.theta))
            .attr("scaling", Given::Word(scaling))
            .attr("factor", Given::Real(factor))
    }
}
