//! The plan of a transform: lengths, radices and tables, made once for many calls.
//!
//! A plan lies in the memory that `prepare` fills: its own words first, then every table as f32.
//! All tables are computed in f64 from angles reduced exactly, and rounded once.

use super::registers::stays;
use super::tables::Tables;
use crate::fft::definition::{Kind, Problem};

/// Prime factors that have a butterfly; a length with another goes Bluestein's way.
const PRIMES: [usize; 6] = [2, 3, 5, 7, 11, 13];

/// More stages than any length that fits an address needs.
const STAGES: usize = 40;

/// A transform along columns, one for each lane of a vector.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Column {
    /// Points.
    pub(super) n: usize,
    /// Stages.
    pub(super) count: usize,
    /// The radix of each.
    pub(super) radices: [u8; STAGES],
    /// With positive exponents.
    pub(super) is_inverse: bool,
    /// Where its roots and twiddles are: for each stage the roots of an odd radix, then the
    /// factors of all butterflies but the first.
    pub(super) table: usize,
}

/// A transform of contiguous points: columns of a matrix, factors, columns of the transposed
/// matrix.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Line {
    /// Points.
    pub(super) n: usize,
    /// Points of the transform that is made: `n`, or the length of Bluestein's convolution.
    pub(super) m: usize,
    /// Down the rows of the matrix; 1 point where there is but one row.
    pub(super) first: Column,
    /// Down the rows of the transposed matrix.
    pub(super) second: Column,
    /// Factors between the two, a group of columns after the other; of a line in registers all
    /// that it has.
    pub(super) between: usize,
    /// Bluestein's chirp.
    pub(super) chirp: usize,
    /// The transform of Bluestein's filter.
    pub(super) filter: usize,
}

/// A transform with everything it needs but memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Plan {
    /// Along z: of half the points where two reals make a complex number.
    pub(super) z: Line,
    /// Along y and x: as columns where the length allows it.
    pub(super) across: [Line; 2],
    /// Roots that part two transforms of reals made as one.
    pub(super) fold: usize,
    /// Floats of all tables.
    pub(super) floats: usize,
}

impl Plan {
    /// The plan of a problem for vectors of this many lanes.
    pub(super) fn new(problem: &Problem, lanes: usize, tables: &mut Tables) -> Plan {
        let is_folded = is_folded(problem);
        let is_inverse = problem.is_inverse;
        let points = if is_folded { problem.z / 2 } else { problem.z };
        let z = Line::new(points, is_inverse, lanes, tables);
        let across = [problem.y, problem.x].map(|n| Line::across(n, is_inverse, lanes, tables));
        let fold = tables.reserve(if is_folded { 2 * (points / 2 + 1) } else { 0 });
        if is_folded {
            tables.roots(fold, points / 2 + 1, problem.z);
        }
        Plan { z, across, fold, floats: tables.floats() }
    }
}

/// Whether pairs of reals are taken for complex numbers.
pub(super) fn is_folded(problem: &Problem) -> bool {
    problem.kind != Kind::Complex && problem.z.is_multiple_of(2)
}

/// The radix of every stage, and how many there are.
fn radices(n: usize) -> ([u8; STAGES], usize) {
    let (mut radices, mut count) = ([0; STAGES], 0);
    let mut push = |radix: usize, times: usize| {
        radices[count..count + times].fill(radix as u8);
        count += times;
    };
    // Radix 8 comes first, but two fours replace an eight and a two. Sixteen points and their
    // intermediate results do not fit the registers, and radix 16 lost to four by four.
    let twos = n.trailing_zeros() as usize;
    match (twos / 3, twos % 3) {
        (0, rest) => push(1 << rest, rest.min(1)),
        (eights, 0) => push(8, eights),
        (eights, rest) => {
            push(8, eights + rest - 2);
            push(4, 3 - rest);
        }
    }
    let mut left = n >> twos;
    for prime in PRIMES.into_iter().skip(1) {
        while left.is_multiple_of(prime) {
            left /= prime;
            push(prime, 1);
        }
    }
    (radices, count)
}

/// The first column of a group: the last group overlaps the one before where there is room.
#[inline(always)]
pub(super) fn first_column(group: usize, columns: usize, lanes: usize) -> usize {
    (group * lanes).min(columns.saturating_sub(lanes))
}

impl Column {
    fn new(n: usize, is_inverse: bool, tables: &mut Tables) -> Column {
        let (radices, count) = radices(n);
        let table = tables.stages(n, &radices[..count], is_inverse);
        Column { n, count, radices, is_inverse, table }
    }

    /// Where a stage's roots and twiddles begin, given those of the stage before.
    pub(super) fn floats(radix: usize, butterflies: usize) -> usize {
        let roots = if radix.is_multiple_of(2) { 0 } else { 2 * radix };
        roots + 2 * (butterflies - 1) * (radix - 1)
    }
}

/// Whether a length has butterflies for all its prime factors.
fn is_smooth(n: usize) -> bool {
    let divided = |mut left: usize, prime: usize| {
        while left.is_multiple_of(prime) {
            left /= prime;
        }
        left
    };
    PRIMES.into_iter().fold(n, divided) == 1
}

/// The least length of at least `least` points that is cheap.
fn convolution(least: usize) -> usize {
    let up = |odd: usize| {
        let twos = least.div_ceil(odd).next_power_of_two();
        odd * twos
    };
    [1, 3, 5, 9, 15].into_iter().map(up).min().unwrap_or(least)
}

impl Line {
    fn new(n: usize, is_inverse: bool, lanes: usize, tables: &mut Tables) -> Line {
        if is_smooth(n) {
            return Line::direct(n, is_inverse, lanes, tables);
        }
        // Forward both ways: its products swap real and imaginary parts.
        let mut line = Line::direct(convolution(2 * n - 1), false, lanes, tables);
        (line.chirp, line.filter) = tables.chirp(n, line.m);
        Line { n, ..line }
    }

    /// Down columns that lie in memory as such: no matrix is made of them where all factors have
    /// butterflies.
    fn across(n: usize, is_inverse: bool, lanes: usize, tables: &mut Tables) -> Line {
        if !is_smooth(n) {
            return Line::new(n, is_inverse, lanes, tables);
        }
        Line::of([1, n], is_inverse, lanes, tables)
    }

    fn direct(n: usize, is_inverse: bool, lanes: usize, tables: &mut Tables) -> Line {
        if stays(n, lanes) {
            let between = tables.registers(n, is_inverse);
            return Line { between, ..Line::of([1, n], is_inverse, lanes, tables) };
        }
        // Vectors that pass through the columns of both matrices; one row needs no matrix.
        let cost = |rows: usize| match rows {
            1 => n,
            rows => (n / rows).div_ceil(lanes) * rows + rows.div_ceil(lanes) * (n / rows),
        };
        let divisors = (1..).take_while(|d| d * d <= n).filter(|d| n.is_multiple_of(*d));
        let rows = divisors.min_by_key(|&d| (cost(d), usize::MAX - d)).unwrap_or(1);
        Line::of([rows, n / rows], is_inverse, lanes, tables)
    }

    fn of([rows, cols]: [usize; 2], is_inverse: bool, lanes: usize, tables: &mut Tables) -> Line {
        let (n, [first, second]) =
            (rows * cols, [rows, cols].map(|n| Column::new(n, is_inverse, tables)));
        let between = if rows > 1 { tables.between(rows, cols, lanes, is_inverse) } else { 0 };
        Line { n, m: n, first, second, between, chirp: 0, filter: 0 }
    }

    /// Whether it is a line that stays in registers.
    pub(super) fn is_in_registers(&self, lanes: usize) -> bool {
        stays(self.m, lanes)
    }

    /// Whether it goes Bluestein's way.
    pub(super) fn is_convolved(&self) -> bool {
        self.m != self.n
    }

    /// Floats of the transposed matrix.
    pub(super) fn middle(&self, lanes: usize) -> usize {
        match self.first.n {
            1 => 0,
            rows => 2 * rows.next_multiple_of(lanes) * self.second.n.next_multiple_of(lanes),
        }
    }

    /// The longest column.
    pub(super) fn longest(&self) -> usize {
        self.first.n.max(self.second.n)
    }
}
