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
mod kernels;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::row::RowKernel;
use crate::blocks::stored::Stored;
use crate::library::{self, LibraryError};
use definition::Rope;
use proofmark_contract::Entry;
use proofmark_schema::{AttrValue, Case};
use proofmark_tensor::Pool;

/// Rotary embedding with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &Rope,
    kernels: RowKernel::<Rope>::ALL,
    mutants: mutants::MUTANTS,
    suite: include_str!("suite.toml"),
};

/// Turns the heads of `x` in place, `length` elements each, by the angles of their positions: x
/// holds the heads of the first position, then those of the next. Pairs are half a head apart.
/// Uses up to `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::rope::rope_in_place;
/// use proofmark_tensor::Pool;
///
/// let mut x = [1.0f32, 0.0, 1.0, 0.0];
/// rope_in_place(&mut x, 2, &[0, 1], 10000.0, &Pool::serial(), 1)?;
/// // A head of one pair turns by one radian a position.
/// assert_eq!(x[..2], [1.0, 0.0]);
/// assert!((x[2] - 1f32.cos()).abs() < 1e-6 && (x[3] - 1f32.sin()).abs() < 1e-6);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If `x` is not a whole number of heads for each position, or `length` is odd.
pub fn rope_in_place<T: Stored>(
    x: &mut [T],
    length: usize,
    positions: &[u32],
    theta: f64,
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let heads = x.len().checked_div(positions.len() * length).unwrap_or(0);
    let case = Case::new("rope", T::DTYPE)
        .axis("b", 1)
        .axis("s", positions.len() as u64)
        .axis("h", heads as u64)
        .axis("d", length as u64)
        .attr("angles", AttrValue::Word("exact".to_owned()))
        .attr("theta", AttrValue::Real(theta))
        .attr("inplace", AttrValue::Flag(true));
    library::run(&ENTRY, &case, &[positions.into()], &mut [x.into()], pool, threads)
}
