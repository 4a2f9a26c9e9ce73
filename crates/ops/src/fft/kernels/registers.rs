//! Short lines that never leave the registers: `R` by four by four, `R` of 1, 2, 4, 8 or 16.
//!
//! Idea: with sixteen lanes, 64 numbers are four pairs of vectors. A butterfly of four is taken
//! across the vectors, then four lanes change places with the vectors, twice. A number's place has
//! three digits in base four: the vector is the first, and the lane is the other two. The digits t
//! are those of what comes in, k those of what goes out:
//!
//! ```text
//! t2 | t1 t0   butterfly, factors   k0 | t1 t0   zips       t1 | t0 k0
//!              butterfly, factors   k1 | t0 k0   quarters   t0 | k1 k0
//!              butterfly            k2 | k1 k0
//! ```
//!
//! The four vectors are of two lines of 32 numbers just as well, or of four of 16: the line is the
//! last digit of a vector's place, so that unzips part the lines in the end. 128 numbers are eight
//! vectors, of which those of even and of odd k0 go this way one after the other, and are zipped.
//! So are 256 with four such sets, which by then wait on the stack: sixteen vectors do not fit.

use super::butterfly::{Pair, Turn, butterfly, four, product};
use super::stage::{Pairs, Parts, Reads, Writes};
use proofmark_simd::{Body, Simd};

/// Whether lines of this many numbers stay in registers of this many lanes.
pub(super) fn stays(points: usize, lanes: usize) -> bool {
    lanes == 16 && matches!(points, 16 | 32 | 64 | 128 | 256)
}

/// Pairs of vectors of factors.
pub(super) const fn rows(first: usize) -> usize {
    first + 4 + if first == 16 { 16 } else { 0 }
}

/// Lines of 16·`R` numbers one behind the other, for vectors of sixteen lanes.
#[derive(Debug)]
pub(super) struct InRegisters<'a, const R: usize> {
    /// Where the first is read.
    pub(super) from: *const f32,
    /// Where its transform goes.
    pub(super) to: *mut f32,
    /// How many.
    pub(super) lines: usize,
    /// The factors after the first and after the second butterfly: a pair of vectors for each of
    /// `R` and for each of four, as [`Parts`] lie; where `R` is 16, those inside the first too.
    pub(super) factors: &'a [f32],
    /// With positive exponents.
    pub(super) is_inverse: bool,
    /// What results are multiplied by.
    pub(super) scale: f32,
}

/// Pairs of vectors: four, or all eight.
type Points<S> = [Pair<S>; 8];

impl<const R: usize> Body for InRegisters<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        assert!(S::LANES == 16 && self.factors.len() >= 2 * 16 * rows(R), "by four by four");
        let turn = Turn::new(simd, self.is_inverse);
        for line in (0..self.lines).step_by(Self::TOGETHER) {
            // SAFETY: the code that makes it vouches for the lines; the factors are there.
            unsafe {
                match R {
                    16 => self.sixteen(simd, turn, line),
                    _ => self.write(simd, line, self.up_to_eight(simd, turn, line)),
                }
            }
        }
    }
}

impl<const R: usize> InRegisters<'_, R> {
    /// Lines that fill the vectors.
    const TOGETHER: usize = if R < 4 { 4 / R } else { 1 };
    /// Pairs of vectors in use.
    const VECTORS: usize = R * Self::TOGETHER;

    /// The transforms of the lines from `line` on, as they are written.
    ///
    /// # Safety
    /// The lines and the factors are there.
    #[inline(always)]
    unsafe fn up_to_eight<S: Simd>(&self, simd: S, turn: Turn<S>, line: usize) -> Points<S> {
        // SAFETY: as the caller vouches.
        unsafe {
            let points = self.first(simd, turn, self.read(simd, line));
            if R == 8 {
                let even = [points[0], points[2], points[4], points[6]];
                let odd = [points[1], points[3], points[5], points[7]];
                return zipped(simd, self.rest(simd, turn, even), self.rest(simd, turn, odd));
            }
            let points = [points[0], points[1], points[2], points[3]];
            parted::<S, R>(simd, self.rest(simd, turn, points))
        }
    }

    /// The vectors of the lines from `line` on, the line being the last digit of their places; the
    /// last line stands in for those behind it.
    ///
    /// # Safety
    /// The lines are there.
    #[inline(always)]
    unsafe fn read<S: Simd>(&self, simd: S, line: usize) -> Points<S> {
        let mut points = [(simd.zero(), simd.zero()); 8];
        for i in 0..Self::VECTORS {
            let line = (line + i % Self::TOGETHER).min(self.lines - 1);
            // SAFETY: as the caller vouches.
            unsafe {
                let first = self.from.add(2 * 16 * R * line).cast_mut();
                let from = Pairs { first, stride: 2 * S::LANES, scale: 1.0 };
                points[i] = from.read(simd, i / Self::TOGETHER);
            }
        }
        points
    }

    /// Writes the vectors of the lines from `line` on, a line's one after the other.
    ///
    /// # Safety
    /// The lines are there.
    #[inline(always)]
    unsafe fn write<S: Simd>(&self, simd: S, line: usize, points: Points<S>) {
        for i in 0..Self::VECTORS {
            let line = line + i / R;
            if Self::TOGETHER > 1 && line >= self.lines {
                return;
            }
            // SAFETY: as the caller vouches.
            unsafe {
                let first = self.to.add(2 * 16 * R * line);
                let to = Pairs { first, stride: 2 * S::LANES, scale: self.scale };
                to.write(simd, i % R, points[i]);
            }
        }
    }

    /// The butterflies across the vectors of each line, and their factors.
    ///
    /// # Safety
    /// The factors are there.
    #[inline(always)]
    unsafe fn first<S: Simd>(&self, simd: S, turn: Turn<S>, points: Points<S>) -> Points<S> {
        let (mut points, each) = (points, Self::TOGETHER);
        for line in 0..each {
            let mut across = [points[line]; R];
            for i in 1..R {
                across[i] = points[i * each + line];
            }
            // SAFETY: only odd numbers of more than one need roots.
            let across = unsafe { butterfly(simd, turn, across, std::ptr::null()) };
            points[line] = across[0];
            for i in 1..R {
                // SAFETY: as the caller vouches.
                let factor = unsafe { self.factor(simd, i) };
                points[i * each + line] = product(simd, across[i], factor);
            }
        }
        points
    }

    /// All that follows the first butterfly, of four vectors.
    ///
    /// # Safety
    /// The factors are there.
    #[inline(always)]
    unsafe fn rest<S: Simd>(&self, simd: S, turn: Turn<S>, points: [Pair<S>; 4]) -> [Pair<S>; 4] {
        let points = parts::<S>(zips(simd, re(points)), zips(simd, im(points)));
        let mut points = four(simd, turn, points);
        for i in 1..4 {
            // SAFETY: as the caller vouches.
            points[i] = product(simd, points[i], unsafe { self.factor(simd, R + i) });
        }
        let re = simd.turn_quarters(re(points));
        four(simd, turn, parts::<S>(re, simd.turn_quarters(im(points))))
    }

    /// A line of 256 numbers: the first butterfly is four by four.
    ///
    /// # Safety
    /// The line and the factors are there.
    #[inline(always)]
    unsafe fn sixteen<S: Simd>(&self, simd: S, turn: Turn<S>, line: usize) {
        let (at, stride) = (2 * 16 * R * line, 2 * S::LANES);
        let mut sets = [[(simd.zero(), simd.zero()); 4]; 4];
        // SAFETY: as the caller vouches.
        unsafe {
            let from = Pairs { first: self.from.add(at).cast_mut(), stride, scale: 1.0 };
            for i in 0..4 {
                let (a, b) = (from.read(simd, i), from.read(simd, 4 + i));
                let (c, d) = (from.read(simd, 8 + i), from.read(simd, 12 + i));
                let points = four(simd, turn, [a, b, c, d]);
                sets[0][i] = points[0];
                for j in 1..4 {
                    let factor = self.factor(simd, R + 4 + 4 * i + j);
                    sets[j][i] = product(simd, points[j], factor);
                }
            }
            for (j, set) in sets.iter_mut().enumerate() {
                let mut points = four(simd, turn, *set);
                for i in 0..4 {
                    points[i] = product(simd, points[i], self.factor(simd, 4 * i + j));
                }
                *set = self.rest(simd, turn, points);
            }
            let to = Pairs { first: self.to.add(at), stride, scale: self.scale };
            for i in 0..4 {
                let points = [sets[0][i], sets[1][i], sets[2][i], sets[3][i]];
                let points = parts::<S>(zips(simd, re(points)), zips(simd, im(points)));
                for j in 0..4 {
                    to.write(simd, 4 * i + j, points[j]);
                }
            }
        }
    }

    /// # Safety
    /// The factor is there.
    #[inline(always)]
    unsafe fn factor<S: Simd>(&self, simd: S, row: usize) -> Pair<S> {
        // SAFETY: as the caller vouches.
        unsafe { Parts(self.factors.as_ptr().cast_mut()).read(simd, row) }
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

/// The vectors of two lines, or of four, one line after the other.
#[inline(always)]
fn parted<S: Simd, const R: usize>(simd: S, [a, b, c, d]: [Pair<S>; 4]) -> Points<S> {
    let unzip = |a: Pair<S>, b: Pair<S>| {
        let (re, im) = (simd.unzip(a.0, b.0), simd.unzip(a.1, b.1));
        ((re.0, im.0), (re.1, im.1))
    };
    let points = match R {
        4 => [a, b, c, d],
        2 => {
            let ((a, c), (b, d)) = (unzip(a, b), unzip(c, d));
            [a, b, c, d]
        }
        _ => {
            let ((a, b), (c, d)) = (unzip(a, b), unzip(c, d));
            let ((a, c), (b, d)) = (unzip(a, c), unzip(b, d));
            [a, b, c, d]
        }
    };
    let mut all = [a; 8];
    all[..4].copy_from_slice(&points);
    all
}

/// Numbers of even and of odd places in turn.
#[inline(always)]
fn zipped<S: Simd>(simd: S, even: [Pair<S>; 4], odd: [Pair<S>; 4]) -> Points<S> {
    let mut points = [even[0]; 8];
    for i in 0..4 {
        let (re, im) = (simd.zip(even[i].0, odd[i].0), simd.zip(even[i].1, odd[i].1));
        (points[2 * i], points[2 * i + 1]) = ((re.0, im.0), (re.1, im.1));
    }
    points
}
