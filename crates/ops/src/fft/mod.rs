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
mod kernels;
mod laws;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::library::{LibraryError, Planned};
use proofmark_contract::Entry;
use proofmark_schema::{AttrValue, Case, DType};
use proofmark_tensor::Pool;
use std::collections::{HashMap, hash_map};

/// The op with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &definition::Fft,
    kernels: &[&kernels::PARALLEL, &kernels::SIMD, &kernels::SCALAR],
    mutants: mutants::MUTANTS,
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

impl Transform {
    fn case(self, [batch, x, y, z]: [usize; 4]) -> Case {
        let case = Case::new("fft", DType::F32)
            .axis("b", batch as u64)
            .axis("x", x as u64)
            .axis("y", y as u64)
            .axis("z", z as u64);
        let (name, word) = match self {
            Transform::Forward => return case,
            Transform::Inverse => ("direction", "inverse"),
            Transform::FromReal => ("kind", "r2c"),
            Transform::ToReal => ("kind", "c2r"),
        };
        case.attr(name, AttrValue::Word(word.to_owned()))
    }
}

/// Plans that were made, kept for the next call of the same kind.
///
/// ```
/// use proofmark_ops::fft::{Plans, Transform};
/// use proofmark_tensor::Pool;
///
/// let mut plans = Plans::default();
/// // 1, i, -1, -i: all of it at one frequency.
/// let x = [1.0f32, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, -1.0];
/// let (mut y, mut back) = ([0.0f32; 8], [0.0f32; 8]);
/// plans.run(Transform::Forward, [1, 1, 1, 4], &x, &mut y, &Pool::serial(), 1)?;
/// assert_eq!(y, [0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
/// plans.run(Transform::Inverse, [1, 1, 1, 4], &y, &mut back, &Pool::serial(), 1)?;
/// assert_eq!(back, x);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
#[derive(Debug, Default)]
pub struct Plans {
    made: HashMap<(Transform, [usize; 4], usize), Planned>,
}

impl Plans {
    /// Transforms `x` into `y`. The shape is the number of transforms and the points along x, y
    /// and z, the fastest; complex numbers are pairs. Uses up to `threads` threads of `pool`.
    ///
    /// # Errors
    /// If a slice has not the shape's length, or an axis has no point.
    pub fn run(
        &mut self,
        transform: Transform,
        shape: [usize; 4],
        x: &[f32],
        y: &mut [f32],
        pool: &Pool,
        threads: usize,
    ) -> Result<(), LibraryError> {
        let key = (transform, shape, threads);
        let planned = match self.made.entry(key) {
            hash_map::Entry::Occupied(known) => known.into_mut(),
            hash_map::Entry::Vacant(place) => {
                place.insert(Planned::new(&ENTRY, transform.case(shape), pool, threads)?)
            }
        };
        planned.run(&[x.into()], &mut [y.into()], pool)
    }
}
