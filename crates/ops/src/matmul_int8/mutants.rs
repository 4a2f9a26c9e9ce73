//! Wrong products of bytes that the gate must refuse.

use super::definition::Problem;
use crate::flawed::{mutants, narrowed, neighbour, steps};
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_terms::DType;

/// The type of every mutant.
const BYTES: &[DType] = &[DType::I8];

steps! { Steps, RIGHT;
    sum: fn(&[i64], &[i64]) -> i64 = |a, b| products(a, b).sum(),
    byte: fn(f64) -> i64 = |code| code as i64,
    /// The rows of a and b that an element is made of.
    place: fn(&Problem, usize, usize) -> (usize, usize) = |_, i, j| (i, j),
    /// Of the sum and the scales of its row and column.
    scaled: fn(i64, f32, f32) -> f64 = |sum, left, right| f64::from(sum as f32 * left * right),
    /// Spoils the result, given what the memory held before.
    spoil: fn(&Problem, &mut [f64], &[f64]) = |_, _, _| {},
}

fn products(a: &[i64], b: &[i64]) -> impl Iterator<Item = i64> {
    a.iter().zip(b).map(|(a, b)| a * b)
}

/// Products of a as an unsigned byte.
fn raised(a: &[i64], b: &[i64]) -> impl Iterator<Item = i64> {
    a.iter().zip(b).map(|(a, b)| (a + 128) * b)
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "pairs_saturate", BYTES, "pairs of products are kept in 16 bits, as vpmaddubsw does",
        sum: |a, b| {
            let terms: Vec<i64> = raised(a, b).collect();
            let pairs = terms.chunks(2).map(|p| p.iter().sum::<i64>().clamp(-32768, 32767));
            pairs.sum::<i64>() - 128 * b.iter().sum::<i64>()
        };
    "offset_forgotten", BYTES, "the 128 that makes a unsigned is not taken off",
        sum: |a, b| raised(a, b).sum();
    "offset_without_tail", BYTES, "the sum of b that is taken off lacks its tail",
        sum: |a, b| raised(a, b).sum::<i64>() - 128 * b[..b.len() / 64 * 64].iter().sum::<i64>();
    // |a| by b with the sign of a, in bytes: −(−128) is −128 again.
    "sign_by_magnitude", BYTES, "the sign of a goes to b, where −128 has no opposite",
        sum: |a, b| {
            let signed = |a: i64, b: i64| i64::from((b * a.signum()) as i8);
            a.iter().zip(b).map(|(&a, &b)| a.abs() * signed(a, b)).sum()
        };
    "sums_in_sixteen_bits", BYTES, "four products are summed in 16 bits",
        sum: |a, b| {
            let quad = |(a, b): (&[i64], &[i64])| i64::from(products(a, b).sum::<i64>() as i16);
            a.chunks(4).zip(b.chunks(4)).map(quad).sum()
        };
    "sums_in_floats", BYTES, "sums are kept in f32",
        sum: |a, b| products(a, b).fold(0.0, |sum: f32, term| sum + term as f32) as i64;
    "tail_dropped", BYTES, "terms past the last whole four are left out",
        sum: |a, b| products(a, b).take(a.len() / 4 * 4).sum();
    "last_term_twice", BYTES, "the last product is added twice",
        sum: |a, b| products(a, b).chain(products(a, b).last()).sum();
    "least_code_clamped", BYTES, "−128 counts as −127", byte: |code| (code as i64).max(-127);
    "codes_unsigned", BYTES, "bytes are taken for unsigned",
        byte: |code| i64::from(code as i64 as u8);
    // The rows of a short last tile are taken from where a whole tile would end.
    "last_tile_row", BYTES, "a short last tile starts a row too early",
        place: |of, i, j| (if i >= of.m / 16 * 16 && of.m > 16 { i - 1 } else { i }, j);
    "columns_swapped", BYTES, "neighbouring columns change places",
        place: |of, i, j| (i, neighbour(j, of.n));
    "scale_forgotten", BYTES, "rows are not scaled",
        scaled: |sum, _, right| f64::from(sum as f32 * right);
    "scales_rounded", BYTES, "the product of the scales loses bits",
        scaled: |sum, left, right| f64::from(sum as f32 * narrowed(left * right));
    "nan_scale_dropped", BYTES, "a scale that is NaN gives 0",
        scaled: |sum, left, right| {
            if sum == 0 || left.is_nan() { 0.0 } else { f64::from(sum as f32 * left * right) }
        };
    "last_column_unwritten", BYTES, "the last column stays as it was",
        spoil: |of, c, before| {
            let is_last = |(at, _): &(usize, &mut f64)| at % of.n + 1 == of.n;
            c.iter_mut().enumerate().filter(is_last).for_each(|(at, c)| *c = before[at]);
        };
};

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let Problem { m, n, k, is_raw } = problem;
    let bytes = |operand: usize| -> Vec<i64> {
        call.inputs[operand].to_f64().into_iter().map(steps.byte).collect()
    };
    let (a, b) = (bytes(0), bytes(1));
    let scales =
        if is_raw { None } else { Some((call.inputs[2].to_f64(), call.inputs[3].to_f64())) };
    let mut c = Vec::with_capacity(m * n);
    for i in 0..m {
        for j in 0..n {
            let (row, column) = (steps.place)(&problem, i, j);
            let sum = (steps.sum)(&a[row * k..][..k], &b[column * k..][..k]);
            c.push(match &scales {
                None => sum as f64,
                Some((left, right)) => (steps.scaled)(sum, left[i] as f32, right[j] as f32),
            });
        }
    }
    (steps.spoil)(&problem, &mut c, &call.outputs[0].to_f64());
    call.outputs[0].from_f64(&c);
    Ok(())
}
