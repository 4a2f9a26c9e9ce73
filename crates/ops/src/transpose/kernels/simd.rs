//! Transposes tiles of 8 × 8 in registers, in an order that uses every cache line whole.
//!
//! Idea: a cache line of x holds a row of several tiles, and so does one of y. [`BLOCK`] rows of x
//! are processed from left to right, one cache line of each at a time. Their lines are used up at
//! once, and runs of BLOCK elements are written to each row of y. Every element is read and written
//! once; 8 registers of a tile and as many in between.

use crate::blocks::made::{Made, typed};
use crate::blocks::stored::Stored;
use crate::transpose::definition::Problem;
use proofmark_contract::{Call, KernelError};
use proofmark_simd::{Body, Simd, dispatch};
use proofmark_tensor::{Rows, RowsMut};
use proofmark_terms::Isa;

/// Rows and columns of a tile.
const TILE: usize = 8;
/// Rows of x in progress, few enough that their pages stay in the TLB.
const BLOCK: usize = 64;
/// Bytes of a cache line.
const LINE: usize = 64;

/// The kernel.
pub(crate) static SIMD: Made = Made::simd("tiles of 8 by 8 in registers, line by line", |call| {
    typed!(call.case.dtype, run(call))
})
.exact();

fn run<T: Stored>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let (x, y) = (call.inputs[0].rows::<T>()?, call.outputs[0].rows_mut::<T>()?);
    rows(call.isa, &problem, x, y, 0);
    Ok(())
}

/// The rows of y from number `first` on, of all matrices of x.
pub(super) fn rows<T: Stored>(
    isa: Isa,
    problem: &Problem,
    x: Rows<'_, T>,
    mut y: RowsMut<'_, T>,
    first: usize,
) {
    let Problem { m, n, .. } = *problem;
    let mut done = 0;
    while done < y.rows() {
        let (plane, column) = ((first + done) / n, (first + done) % n);
        let count = (n - column).min(y.rows() - done);
        let x = x.range(plane * m..(plane + 1) * m);
        dispatch(isa, Turned { x, y: y.range(done..done + count), column });
        done += count;
    }
}

/// Some columns of a matrix as rows.
struct Turned<'a, T> {
    x: Rows<'a, T>,
    y: RowsMut<'a, T>,
    /// The column of x that is the first row of y.
    column: usize,
}

impl<T: Stored> Body for Turned<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let (m, count) = (self.x.rows(), self.y.rows());
        let across = LINE / size_of::<T>();
        for top in (0..m).step_by(BLOCK) {
            let bottom = m.min(top + BLOCK);
            for left in (0..count).step_by(across) {
                let right = count.min(left + across);
                for i in (top..bottom).step_by(TILE) {
                    for j in (left..right).step_by(TILE) {
                        self.tile(simd, (i, bottom), (j, right));
                    }
                }
            }
        }
    }
}

impl<T: Stored> Turned<'_, T> {
    /// The tile at row `i` of x and row `j` of y, or what there is of it.
    #[inline(always)]
    fn tile<S: Simd>(&mut self, simd: S, (i, bottom): (usize, usize), (j, right): (usize, usize)) {
        if i + TILE > bottom || j + TILE > right {
            for i in i..bottom.min(i + TILE) {
                let x = self.x.row(i);
                for j in j..right.min(j + TILE) {
                    self.y.row_mut(j)[i] = x[self.column + j];
                }
            }
            return;
        }
        let from = self.x.range(i..i + TILE);
        let mut to = self.y.range(j..j + TILE);
        assert!(self.column + j + TILE <= from.cols() && i + TILE <= to.cols());
        let (source, target) = (from.as_ptr(), to.as_mut_ptr());
        let strides = (from.row_stride(), to.row_stride());
        // SAFETY: both views have 8 rows, and 8 columns from here on, as just checked; x is only
        // read and y borrowed alone, so they do not overlap. Any bits are an element.
        unsafe {
            let (source, target) = (source.add(self.column + j), target.add(i));
            if size_of::<T>() == size_of::<u32>() {
                simd.transpose_32((source.cast(), strides.0), (target.cast(), strides.1));
            } else {
                assert!(size_of::<T>() == size_of::<u16>());
                simd.transpose_16((source.cast(), strides.0), (target.cast(), strides.1));
            }
        }
    }
}
