//! The Fourier transform along one, two or three axes, of complex numbers or of reals.
//!
//! ```text
//! forward   X[k] = Σⱼ x[j] · exp(−2πi·j·k/n)
//! inverse   x[j] = 1/n · Σₖ X[k] · exp(+2πi·j·k/n)
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | transforms |
//! | `x` | points along the slowest axis |
//! | `y` | points along the axis between |
//! | `z` | points along the fastest axis; of reals, as many reals |
//!
//! Always along all three axes; one of a single point changes nothing, so that `x=1,y=1` is the
//! transform of lines. Complex numbers are pairs of f32 without gaps. Any length: powers of
//! primes up to 13 by butterflies, others by Bluestein's convolution. `kind=r2c` takes reals and
//! gives bins 0 to z/2 along z, of which the others are conjugates; `kind=c2r` is its inverse,
//! and does not read the imaginary parts of bins that are real. `direction` is that of `c2c`.
//! Roots are made in f64 and rounded once; the plan is made in `prepare`.
//!
//! Edges: NaN or an infinity makes numbers of its own transform non-finite, any or all of them,
//! and touches no other transform. Magnitudes up to 2^64 are within the error bound; beyond, sums
//! inside may overflow. Subnormal numbers count. The sign of a zero is free.

mod definition;
#[cfg(feature = "judge")]
mod judge;
mod kernels;
#[cfg(feature = "judge")]
mod laws;
#[cfg(feature = "judge")]
mod mutants;
#[cfg(feature = "judge")]
mod oracle;
#[cfg(test)]
mod tests;

use crate::library::{Context, Error, Given, Request};
use proofmark_contract::Entry;
use proofmark_terms::DType;

/// The op with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &definition::Fft,
    kernels: &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR],
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// Which transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transform {
    /// Of complex numbers, with negative exponents.
    Forward,
    /// Of complex numbers, with positive exponents and divided by the number of points.
    Inverse,
    /// Of reals into bins 0 to z/2.
    FromReal,
    /// Of bins 0 to z/2 into reals: the inverse of the one before.
    ToReal,
}

/// Transforms `x` into `y`. The sizes are the number of transforms and the points along x, y and z.
/// A complex number is two elements. The first call of a thread with given sizes makes the plan,
/// and later ones use it.
///
/// ```
/// use proofmark_ops::fft::{Transform, fft};
/// use proofmark_ops::Context;
///
/// // 1, i, -1, -i: all of it at one frequency.
/// let x = [1.0f32, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, -1.0];
/// let (mut y, mut back) = ([0.0f32; 8], [0.0f32; 8]);
/// let context = Context::serial();
/// fft(&context, Transform::Forward, [1, 1, 1, 4], &x, &mut y)?;
/// assert_eq!(y, [0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
/// fft(&context, Transform::Inverse, [1, 1, 1, 4], &y, &mut back)?;
/// assert_eq!(back, x);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the lengths do not fit the sizes.
pub fn fft(
    context: &Context,
    transform: Transform,
    [batch, x_points, y_points, z_points]: [usize; 4],
    x: &[f32],
    y: &mut [f32],
) -> Result<(), Error> {
    let request = Request::new(&ENTRY, DType::F32)
        .axis("b", batch)
        .axis("x", x_points)
        .axis("y", y_points)
        .axis("z", z_points)
        .prepared();
    let request = match transform {
        Transform::Forward => request,
        Transform::Inverse => request.attr("direction", Given::Word("inverse")),
        Transform::FromReal => request.attr("kind", Given::Word("r2c")),
        Transform::ToReal => request.attr("kind", Given::Word("c2r")),
    };
    request.run(context, &[x.into()], &mut [y.into()])
}
