//! The tables of a plan: roots of unity in f64, from exact fractions of a turn, rounded once.

use super::plan::{Column, first_column};
use super::registers::rows;
use std::f64::consts::TAU;

/// Tables under construction.
#[derive(Debug)]
pub(super) struct Tables {
    values: Vec<f32>,
    floats: usize,
    /// Only their length is wanted.
    is_counted: bool,
}

/// exp(−2πi·k/n).
pub(super) fn root(k: usize, n: usize) -> [f64; 2] {
    let k = k % n;
    // A quarter turn is exact, and the other three mirror the first.
    let (quarter, rest) = (4 * k / n, 4 * k % n);
    let (sin, cos) = (TAU / 4.0 * (rest as f64 / n as f64)).sin_cos();
    match quarter {
        0 => [cos, -sin],
        1 => [-sin, -cos],
        2 => [-cos, sin],
        _ => [sin, cos],
    }
}

/// As [`root`], or its conjugate.
fn turned(k: usize, n: usize, is_inverse: bool) -> [f64; 2] {
    let [re, im] = root(k, n);
    [re, if is_inverse { -im } else { im }]
}

fn product(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

/// A transform in f64, by the least factor first; for filters.
fn transform(x: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let n = x.len();
    let Some(p) = (2..=n).find(|p| n.is_multiple_of(*p)) else { return x.to_vec() };
    let part = |i: usize| x.iter().skip(i).step_by(p).copied().collect::<Vec<_>>();
    let parts: Vec<Vec<[f64; 2]>> = (0..p).map(|i| transform(&part(i))).collect();
    let term = |i: usize, k: usize| product(parts[i][k % (n / p)], root(i * k, n));
    let sum =
        |k: usize| (0..p).map(|i| term(i, k)).fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
    (0..n).map(sum).collect()
}

impl Tables {
    /// No tables yet; where they are only counted, none is ever filled.
    pub(super) fn new(is_counted: bool) -> Tables {
        Tables { values: Vec::new(), floats: 0, is_counted }
    }

    /// All tables.
    pub(super) fn values(&self) -> &[f32] {
        &self.values
    }

    /// Floats of all tables.
    pub(super) fn floats(&self) -> usize {
        self.floats
    }

    /// Room that begins on a cache line where the whole does.
    pub(super) fn reserve(&mut self, floats: usize) -> usize {
        let at = self.floats.next_multiple_of(16);
        self.floats = at + floats;
        if !self.is_counted {
            self.values.resize(self.floats, 0.0);
        }
        at
    }

    fn put(&mut self, at: usize, [re, im]: [f64; 2]) {
        self.values[at] = re as f32;
        self.values[at + 1] = im as f32;
    }

    /// The first `count` roots of order `n`.
    pub(super) fn roots(&mut self, at: usize, count: usize, n: usize) {
        let count = if self.is_counted { 0 } else { count };
        (0..count).for_each(|k| self.put(at + 2 * k, root(k, n)));
    }

    /// Roots and twiddles of a column's stages.
    pub(super) fn stages(&mut self, n: usize, radices: &[u8], is_inverse: bool) -> usize {
        let mut length = n;
        let sizes = radices.iter().map(|&radix| {
            length /= usize::from(radix);
            Column::floats(radix.into(), length)
        });
        let start = self.reserve(sizes.sum());
        if self.is_counted {
            return start;
        }
        let (mut at, mut length) = (start, n);
        for radix in radices.iter().map(|&radix| usize::from(radix)) {
            let roots = if radix.is_multiple_of(2) { 0 } else { radix };
            for k in 0..roots {
                self.put(at, turned(k, radix, is_inverse));
                at += 2;
            }
            for p in 1..length / radix {
                for j in 1..radix {
                    self.put(at, turned(p * j, length, is_inverse));
                    at += 2;
                }
            }
            length /= radix;
        }
        start
    }

    /// The factors between the columns of a matrix and those of the transposed one: for each group
    /// of columns, for each row, real parts and then imaginary parts.
    pub(super) fn between(
        &mut self,
        rows: usize,
        cols: usize,
        lanes: usize,
        is_inverse: bool,
    ) -> usize {
        let groups = cols.div_ceil(lanes);
        self.vectors(groups * rows, lanes, |index, lane| {
            let column = first_column(index / rows, cols, lanes) + lane;
            turned(index % rows * column, rows * cols, is_inverse)
        })
    }

    /// The factors of a line in registers, of which lanes have places of two digits to base four:
    /// by both digits after the first butterfly, by the first of them after the second. A first
    /// butterfly of sixteen has some inside it, the same in all lanes.
    pub(super) fn registers(&mut self, points: usize, is_inverse: bool) -> usize {
        let first = points / 16;
        self.vectors(rows(first), 16, |index, lane| match index.checked_sub(first) {
            None => turned(index * lane, points, is_inverse),
            Some(second @ 0..4) => turned(second * (lane / 4), 16, is_inverse),
            Some(inside) => turned((inside / 4 - 1) * (inside % 4), 16, is_inverse),
        })
    }

    /// This many vectors of real parts, each followed by one of imaginary parts.
    fn vectors(
        &mut self,
        count: usize,
        lanes: usize,
        number: impl Fn(usize, usize) -> [f64; 2],
    ) -> usize {
        let start = self.reserve(count * 2 * lanes);
        let count = if self.is_counted { 0 } else { count };
        for index in 0..count {
            for lane in 0..lanes {
                let [re, im] = number(index, lane);
                let at = start + index * 2 * lanes + lane;
                (self.values[at], self.values[at + lanes]) = (re as f32, im as f32);
            }
        }
        start
    }

    /// Bluestein's chirp exp(−πi·j²/n), and the transform of its mirrored conjugate over `m`.
    pub(super) fn chirp(&mut self, n: usize, m: usize) -> (usize, usize) {
        let chirp = |j: usize| root((j as u128 * j as u128 % (2 * n) as u128) as usize, 2 * n);
        let (start, filter) = (self.reserve(2 * n), self.reserve(2 * m));
        if self.is_counted {
            return (start, filter);
        }
        let mut mirrored = vec![[0.0; 2]; m];
        for j in 0..n {
            let [re, im] = chirp(j);
            self.put(start + 2 * j, [re, im]);
            mirrored[j] = [re, -im];
            mirrored[(m - j) % m] = [re, -im];
        }
        for (k, [re, im]) in transform(&mirrored).into_iter().enumerate() {
            self.put(filter + 2 * k, [re / m as f64, im / m as f64]);
        }
        (start, filter)
    }
}
