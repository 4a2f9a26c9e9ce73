//! Lines of 64 numbers that never leave the registers: four by four by four.
//!
//! Idea: with sixteen lanes, 64 numbers are four pairs of vectors. A butterfly of four is taken
//! across the vectors, then four lanes change places with the vectors, twice. Of a number's place
//! the vectors hold the first digit to base four, lanes the other two; t is what comes in, k what
//! goes out:
//!
//! ```text
//! t2 | t1 t0   butterfly, factors   k0 | t1 t0   zips       t1 | t0 k0
//!              butterfly, factors   k1 | t0 k0   quarters   t0 | k1 k0
//!              butterfly            k2 | k1 k0
//! ```

use super::butterfly::{Pair, Turn, four, product};
use super::stage::{Pairs, Parts, Reads, Writes};
use proofmark_simd::{Body, Simd};

/// Numbers of such a line.
pub(super) const POINTS: usize = 64;

/// Lines one behind the other, for vectors of sixteen lanes.
#[derive(Debug)]
pub(super) struct InRegisters<'a> {
    /// Where the first is read.
    pub(super) from: *const f32,
    /// Where its transform goes.
    pub(super) to: *mut f32,
    /// How many.
    pub(super) lines: usize,
    /// The factors after the first and after the second butterfly: a pair of vectors for each of
    /// four, as [`Parts`] lie.
    pub(super) factors: &'a [f32],
    /// With positive exponents.
    pub(super) is_inverse: bool,
    /// What results are multiplied by.
    pub(super) scale: f32,
}

impl Body for InRegisters<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        assert!(S::LANES == 16 && self.factors.len() >= 4 * POINTS, "four by four by four");
        let turn = Turn::new(simd, self.is_inverse);
        let stride = 2 * S::LANES;
        let mut points = [(simd.zero(), simd.zero()); 4];
        for line in 0..self.lines {
            // SAFETY: whoever makes it vouches for the lines; the factors are there.
            unsafe {
                let first = self.from.add(2 * POINTS * line).cast_mut();
                let from = Pairs { first, stride, scale: 1.0 };
                for i in 0..4 {
                    points[i] = from.read(simd, i);
                }
                points = self.turned(simd, turn, points, 0);
                points = parts::<S>(zips(simd, re(points)), zips(simd, im(points)));
                points = self.turned(simd, turn, points, 4);
                let re = simd.turn_quarters(re(points));
                points = parts::<S>(re, simd.turn_quarters(im(points)));
                points = four(simd, turn, points);
                let first = self.to.add(2 * POINTS * line);
                let to = Pairs { first, stride, scale: self.scale };
                for i in 0..4 {
                    to.write(simd, i, points[i]);
                }
            }
        }
    }
}

impl InRegisters<'_> {
    /// A butterfly of four, and the factors from `row` on; the first of each four is 1.
    ///
    /// # Safety
    /// There are as many factors.
    #[inline(always)]
    unsafe fn turned<S: Simd>(
        &self,
        simd: S,
        turn: Turn<S>,
        points: [Pair<S>; 4],
        row: usize,
    ) -> [Pair<S>; 4] {
        let mut points = four(simd, turn, points);
        let factors = Parts(self.factors.as_ptr().cast_mut());
        for i in 1..4 {
            // SAFETY: as the caller vouches.
            points[i] = product(simd, points[i], unsafe { factors.read(simd, row + i) });
        }
        points
    }
}

#[inline(always)]
fn re<F: Copy>([a, b, c, d]: [(F, F); 4]) -> [F; 4] {
    [a.0, b.0, c.0, d.0]
}

#[inline(always)]
fn im<F: Copy>([a, b, c, d]: [(F, F); 4]) -> [F; 4] {
    [a.1, b.1, c.1, d.1]
}

#[inline(always)]
fn parts<S: Simd>(re: [S::F; 4], im: [S::F; 4]) -> [Pair<S>; 4] {
    [(re[0], im[0]), (re[1], im[1]), (re[2], im[2]), (re[3], im[3])]
}

/// The vector's digit becomes the last of the lane's, the lane's first that of the vector.
#[inline(always)]
fn zips<S: Simd>(simd: S, [a, b, c, d]: [S::F; 4]) -> [S::F; 4] {
    let ((a, c), (b, d)) = (simd.zip(a, c), simd.zip(b, d));
    let ((a, b), (c, d)) = (simd.zip(a, b), simd.zip(c, d));
    [a, b, c, d]
}
