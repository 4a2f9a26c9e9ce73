//! Wrong products of bytes that the gate must refuse.

use super::definition::Problem;
use crate::flawed::mutants;
use proofmark_contract::{Call, KernelError};
use proofmark_tensor::bf16;
use proofmark_terms::DType;

/// The right computation in steps; each mutant gets one of them wrong.
trait Slip {
    fn sum(a: &[i64], b: &[i64]) -> i64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    fn byte(code: f64) -> i64 {
        code as i64
    }

    /// The rows of a and b that element `i`, `j` is made of.
    fn place(_problem: &Problem, i: usize, j: usize) -> (usize, usize) {
        (i, j)
    }

    fn scaled(sum: i64, left: f32, right: f32) -> f64 {
        f64::from(sum as f32 * left * right)
    }

    fn raw(sum: i64) -> f64 {
        sum as f64
    }

    /// Spoils the result, given what the memory held before.
    fn spoil(_problem: &Problem, _c: &mut [f64], _before: &[f64]) {}
}

fn run<M: Slip>(call: &mut Call<'_>) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let Problem { m, n, k, is_raw } = problem;
    let bytes = |operand: usize| -> Vec<i64> {
        call.inputs[operand].to_f64().into_iter().map(M::byte).collect()
    };
    let (a, b) = (bytes(0), bytes(1));
    let scales =
        if is_raw { None } else { Some((call.inputs[2].to_f64(), call.inputs[3].to_f64())) };
    let mut c = Vec::with_capacity(m * n);
    for i in 0..m {
        for j in 0..n {
            let (row, column) = M::place(&problem, i, j);
            let sum = M::sum(&a[row * k..][..k], &b[column * k..][..k]);
            c.push(match &scales {
                None => M::raw(sum),
                Some((left, right)) => M::scaled(sum, left[i] as f32, right[j] as f32),
            });
        }
    }
    let before = call.outputs[0].to_f64();
    M::spoil(&problem, &mut c, &before);
    call.outputs[0].from_f64(&c);
    Ok(())
}

struct PairsSaturate;
impl Slip for PairsSaturate {
    fn sum(a: &[i64], b: &[i64]) -> i64 {
        let terms: Vec<i64> = a.iter().zip(b).map(|(a, b)| (a + 128) * b).collect();
        let pairs: i64 = terms.chunks(2).map(|p| p.iter().sum::<i64>().clamp(-32768, 32767)).sum();
        pairs - 128 * b.iter().sum::<i64>()
    }
}

struct OffsetForgotten;
impl Slip for OffsetForgotten {
    fn sum(a: &[i64], b: &[i64]) -> i64 {
        a.iter().zip(b).map(|(a, b)| (a + 128) * b).sum()
    }
}

struct OffsetWithoutTail;
impl Slip for OffsetWithoutTail {
    fn sum(a: &[i64], b: &[i64]) -> i64 {
        let whole = b.len() / 64 * 64;
        let raised: i64 = a.iter().zip(b).map(|(a, b)| (a + 128) * b).sum();
        raised - 128 * b[..whole].iter().sum::<i64>()
    }
}

struct SignByMagnitude;
impl Slip for SignByMagnitude {
    fn sum(a: &[i64], b: &[i64]) -> i64 {
        // |a| by b with the sign of a, in bytes: −(−128) is −128 again.
        let signed = |a: i64, b: i64| i64::from((b * a.signum()) as i8);
        a.iter().zip(b).map(|(&a, &b)| a.abs() * signed(a, b)).sum()
    }
}

struct SumsInSixteenBits;
impl Slip for SumsInSixteenBits {
    fn sum(a: &[i64], b: &[i64]) -> i64 {
        let quad = |(a, b): (&[i64], &[i64])| a.iter().zip(b).map(|(a, b)| a * b).sum::<i64>();
        a.chunks(4).zip(b.chunks(4)).map(|pair| i64::from(quad(pair) as i16)).sum()
    }
}

struct SumsInFloats;
impl Slip for SumsInFloats {
    fn sum(a: &[i64], b: &[i64]) -> i64 {
        let add = |sum: f32, (a, b): (&i64, &i64)| sum + (a * b) as f32;
        a.iter().zip(b).fold(0.0, add) as i64
    }
}

struct TailDropped;
impl Slip for TailDropped {
    fn sum(a: &[i64], b: &[i64]) -> i64 {
        let whole = a.len() / 4 * 4;
        a[..whole].iter().zip(b).map(|(a, b)| a * b).sum()
    }
}

struct LastTermTwice;
impl Slip for LastTermTwice {
    fn sum(a: &[i64], b: &[i64]) -> i64 {
        let terms = a.iter().zip(b).chain(a.last().zip(b.last()));
        terms.map(|(a, b)| a * b).sum()
    }
}

struct LeastCodeClamped;
impl Slip for LeastCodeClamped {
    fn byte(code: f64) -> i64 {
        (code as i64).max(-127)
    }
}

struct CodesUnsigned;
impl Slip for CodesUnsigned {
    fn byte(code: f64) -> i64 {
        i64::from(code as i64 as u8)
    }
}

struct LastTileRow;
impl Slip for LastTileRow {
    fn place(problem: &Problem, i: usize, j: usize) -> (usize, usize) {
        // The rows of a short last tile are taken from where a whole tile would end.
        let short = i >= problem.m / 16 * 16 && problem.m > 16;
        (if short { i - 1 } else { i }, j)
    }
}

struct ColumnsOfTileSwapped;
impl Slip for ColumnsOfTileSwapped {
    fn place(problem: &Problem, i: usize, j: usize) -> (usize, usize) {
        let other = j ^ 1;
        (i, if other < problem.n { other } else { j })
    }
}

struct ScaleLeftForgotten;
impl Slip for ScaleLeftForgotten {
    fn scaled(sum: i64, _left: f32, right: f32) -> f64 {
        f64::from(sum as f32 * right)
    }
}

struct ScalesRounded;
impl Slip for ScalesRounded {
    fn scaled(sum: i64, left: f32, right: f32) -> f64 {
        f64::from(sum as f32 * bf16::from_f32(left * right).to_f32())
    }
}

struct NanScaleDropped;
impl Slip for NanScaleDropped {
    fn scaled(sum: i64, left: f32, right: f32) -> f64 {
        if sum == 0 || left.is_nan() { 0.0 } else { f64::from(sum as f32 * left * right) }
    }
}

struct LastColumnUnwritten;
impl Slip for LastColumnUnwritten {
    fn spoil(problem: &Problem, c: &mut [f64], before: &[f64]) {
        for (at, c) in c.iter_mut().enumerate().filter(|(at, _)| at % problem.n + 1 == problem.n) {
            *c = before[at];
        }
    }
}

mutants! {
    all &[DType::I8];
    PairsSaturate "pairs_saturate": "pairs of products are kept in 16 bits, as vpmaddubsw does";
    OffsetForgotten "offset_forgotten": "the 128 that makes a unsigned is not taken off";
    OffsetWithoutTail "offset_without_tail": "the sum of b that is taken off lacks its tail";
    SignByMagnitude "sign_by_magnitude": "the sign of a goes to b, where −128 has no opposite";
    SumsInSixteenBits "sums_in_sixteen_bits": "four products are summed in 16 bits";
    SumsInFloats "sums_in_floats": "sums are kept in f32";
    TailDropped "tail_dropped": "terms past the last whole four are left out";
    LastTermTwice "last_term_twice": "the last product is added twice";
    LeastCodeClamped "least_code_clamped": "−128 counts as −127";
    CodesUnsigned "codes_unsigned": "bytes are taken for unsigned";
    LastTileRow "last_tile_row": "a short last tile starts a row too early";
    ColumnsOfTileSwapped "columns_swapped": "neighbouring columns change places";
    ScaleLeftForgotten "scale_forgotten": "rows are not scaled";
    ScalesRounded "scales_rounded": "the product of the scales loses bits";
    NanScaleDropped "nan_scale_dropped": "a scale that is NaN gives 0";
    LastColumnUnwritten "last_column_unwritten": "the last column stays as it was";
}
