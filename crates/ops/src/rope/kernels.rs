//! The kernels of rotary embedding: each head is turned by the angles of its position.
//!
//! In vectors, a head is widened into scratch memory, which frees its place for the result, and
//! turned from there; neighbours are swapped in scratch memory too, because vectors have no
//! shuffle. Exact angles are made once for each position a thread meets: whole turns are removed in
//! f64, sine and cosine in f32. 3 flops an element; memory is the limit, and the angles where there
//! are few heads.

use super::definition::{Problem, Rope, Scaling};
use crate::blocks::math::sin_cos;
use crate::blocks::row::{Part, RowOp, vectors};
use crate::blocks::stored::Stored;
use proofmark_contract::KernelError;
use proofmark_simd::Simd;
use proofmark_tensor::Rows;
use proofmark_terms::Case;
use std::f64::consts::TAU;

impl RowOp for Rope {
    const SCALAR: &'static str = "one pair at a time, exact angles with the standard library";
    const SIMD: &'static str = "vectors of pairs, exact angles once for each position";
    const GRAIN: usize = 4096;

    /// Turns a position, sines and cosines; a head, its swapped pairs, and the angles of pairs.
    fn scratch(case: &Case) -> usize {
        6 * Problem::of(case).part
    }

    fn scalar<T: Stored>(mut part: Part<'_>) -> Result<(), KernelError> {
        let problem = Problem::of(part.case);
        let source = Source::<T>::of(&part, &problem)?;
        let first = part.range(0).start;
        let mut y = part.output::<T>(0)?;
        let half = problem.part / 2;
        for i in 0..y.rows() {
            let row = y.row_mut(i);
            if let Some(x) = source.x {
                row.copy_from_slice(x.row(i));
            }
            let position = (first + i) / problem.heads % problem.positions;
            for pair in 0..half {
                let (cos, sin) = match source.positions {
                    Some(positions) => {
                        let angle = f64::from(positions[position]) * frequency(&problem, pair);
                        (angle.cos() as f32, angle.sin() as f32)
                    }
                    None => {
                        (source.of_table(0, position)[pair], source.of_table(1, position)[pair])
                    }
                };
                let step = if problem.is_interleaved { 1 } else { half };
                let at = if problem.is_interleaved { 2 * pair } else { pair };
                let (a, b) = (row[at].widen(), row[at + step].widen());
                row[at] = T::narrow(a * cos - b * sin);
                row[at + step] = T::narrow(b * cos + a * sin);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn simd<S: Simd, T: Stored>(simd: S, mut part: Part<'_>) -> Result<(), KernelError> {
        let problem = Problem::of(part.case);
        let source = Source::<T>::of(&part, &problem)?;
        let first = part.range(0).start;
        let mut y = part.output::<T>(0)?;
        let (turns, rest) = part.scratch[..6 * problem.part].split_at_mut(problem.part);
        let (cosines, rest) = rest.split_at_mut(problem.part / 2);
        let (sines, rest) = rest.split_at_mut(problem.part / 2);
        let (a, rest) = rest.split_at_mut(problem.part);
        let (b, rest) = rest.split_at_mut(problem.part);
        let (c, s) = rest.split_at_mut(problem.part);
        let turns = as_doubles(turns);
        if source.positions.is_some() {
            let each = turns.iter_mut().enumerate();
            each.for_each(|(pair, turns)| *turns = frequency(&problem, pair) / TAU);
        }
        let mut made_for = usize::MAX;
        for i in 0..y.rows() {
            let row = y.row_mut(i);
            let position = (first + i) / problem.heads % problem.positions;
            let is_new = position != made_for;
            made_for = position;
            let (cos, sin): (&[f32], &[f32]) = match source.positions {
                Some(positions) => {
                    if is_new {
                        angles(simd, positions[position], turns, cosines, sines);
                    }
                    (cosines, sines)
                }
                None => (source.of_table(0, position), source.of_table(1, position)),
            };
            match source.x {
                Some(x) => {
                    let (turned, rest) = x.row(i).split_at(problem.part);
                    row[problem.part..].copy_from_slice(rest);
                    vectors!(S, simd, [x: T in turned] => a: f32 in a, x);
                }
                None => vectors!(S, simd, [x: T in row[..problem.part]] => a: f32 in a, x),
            }
            let row = &mut row[..problem.part];
            if problem.is_interleaved {
                if is_new {
                    double(cos, sin, c, s);
                }
                swap_pairs(a, b);
                vectors!(S, simd,
                    [a: f32 in a, b: f32 in b, c: f32 in c, s: f32 in s] => y: T in row,
                    simd.fma(b, s, simd.mul(a, c))
                );
                continue;
            }
            let (low, high) = row.split_at_mut(problem.part / 2);
            let (a, b) = a.split_at(problem.part / 2);
            vectors!(S, simd,
                [a: f32 in a, b: f32 in b, c: f32 in cos, s: f32 in sin] => y: T in low,
                simd.sub(simd.mul(a, c), simd.mul(b, s))
            );
            vectors!(S, simd,
                [a: f32 in a, b: f32 in b, c: f32 in cos, s: f32 in sin] => y: T in high,
                simd.fma(a, s, simd.mul(b, c))
            );
        }
        Ok(())
    }
}

/// What heads are turned by, and where they are read.
struct Source<'a, T> {
    /// The part's rows; `None`: those that are written.
    x: Option<Rows<'a, T>>,
    positions: Option<&'a [u32]>,
    table: Option<[Rows<'a, f32>; 2]>,
}

impl<'a, T: Stored> Source<'a, T> {
    fn of(part: &Part<'a>, problem: &Problem) -> Result<Source<'a, T>, KernelError> {
        let x = if problem.is_in_place { None } else { Some(part.input_for(0, 0)?) };
        let first = usize::from(x.is_some());
        if problem.is_exact {
            return Ok(Source { x, positions: Some(part.vector(first)?), table: None });
        }
        let table = Some([part.input(first)?, part.input(first + 1)?]);
        Ok(Source { x, positions: None, table })
    }

    /// Cosines or sines of a table's row.
    fn of_table(&self, which: usize, position: usize) -> &'a [f32] {
        self.table.map_or(&[], |table| table[which].row(position))
    }
}

/// Radians that a pair turns with each position.
fn frequency(problem: &Problem, pair: usize) -> f64 {
    let plain = problem.theta.powf(-((2 * pair) as f64) / problem.part as f64);
    let stretched = plain / problem.factor;
    // Wavelengths in positions: those that a model has seen whole at least four times are kept,
    // those that it has seen less than once are stretched, and those between are stretched in
    // proportion.
    let seen = 8192.0 / (TAU / plain);
    match problem.scaling {
        Scaling::None => plain,
        Scaling::Linear => stretched,
        Scaling::Llama3 if seen > 4.0 => plain,
        Scaling::Llama3 if seen < 1.0 => stretched,
        Scaling::Llama3 => {
            let smooth = (seen - 1.0) / 3.0;
            (1.0 - smooth) * stretched + smooth * plain
        }
    }
}

/// The cosines and sines of a position, of which `turns` are those of a step.
#[inline(always)]
fn angles<S: Simd>(simd: S, position: u32, turns: &[f64], cos: &mut [f32], sin: &mut [f32]) {
    /// Adding and subtracting it rounds to whole numbers, in vectors at every level.
    const WHOLE: f64 = 1.5 * (1u64 << 52) as f64;
    for (turns, left) in turns.iter().zip(&mut *cos) {
        let turned = f64::from(position) * turns;
        *left = (turned - ((turned + WHOLE) - WHOLE)) as f32;
    }
    for (cos, sin) in cos.chunks_mut(S::LANES).zip(sin.chunks_mut(S::LANES)) {
        let (s, c) = sin_cos(simd, simd.load_partial(cos, 0.0));
        simd.store_partial(c, cos);
        simd.store_partial(s, sin);
    }
}

/// The angles of pairs for each of their two elements, the first sine negated.
#[inline(always)]
fn double(cos: &[f32], sin: &[f32], c: &mut [f32], s: &mut [f32]) {
    let pairs = c.chunks_exact_mut(2).zip(s.chunks_exact_mut(2));
    for ((cos, sin), (c, s)) in cos.iter().zip(sin).zip(pairs) {
        c.fill(*cos);
        (s[0], s[1]) = (-sin, *sin);
    }
}

/// The elements of `from` with neighbours swapped.
#[inline(always)]
fn swap_pairs(from: &[f32], to: &mut [f32]) {
    for (from, to) in from.chunks_exact(2).zip(to.chunks_exact_mut(2)) {
        (to[0], to[1]) = (from[1], from[0]);
    }
}

/// Scratch memory as half as many doubles.
fn as_doubles(scratch: &mut [f32]) -> &mut [f64] {
    // SAFETY: any bits are an f64, and `align_to_mut` keeps to what is aligned.
    let (before, doubles, _) = unsafe { scratch.align_to_mut::<f64>() };
    assert!(before.is_empty(), "scratch memory starts on a cache line");
    doubles
}
