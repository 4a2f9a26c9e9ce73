//! Wrong gradients of layer normalisation that the gate must refuse.

use super::definition::Problem;
use crate::flawed::{
    ALL, FINE, Read, SINGLE, all_but_last, mutants, nan_as_zero, narrowed, read, read_as,
    read_densely, steps, whole_vectors, write,
};
use proofmark_contract::{Call, KernelError, Mutant};

/// A row as the formulas see it.
struct Row {
    /// dy · gamma.
    a: Vec<f32>,
    /// Normalised elements.
    h: Vec<f32>,
    r: f32,
}

fn mean(values: impl ExactSizeIterator<Item = f32>) -> f32 {
    let length = values.len() as f32;
    values.map(f64::from).sum::<f64>() as f32 / length
}

steps! { Steps, RIGHT;
    read: Read = read,
    read_gradient: Read = read,
    /// Of elements and their mean.
    variance: fn(&[f32], f32) -> f32 = |x, centre| mean(x.iter().map(|x| (x - centre).powi(2))),
    /// Of the variance and eps.
    inverse: fn(f32, f32) -> f32 = |variance, eps| 1.0 / (variance + eps).sqrt(),
    /// Of dy and gamma.
    weigh: fn(f32, f32) -> f32 = |dy, gamma| dy * gamma,
    /// The mean of a that is subtracted.
    straight: fn(&Row) -> f32 = |row| mean(row.a.iter().copied()),
    /// The mean of a·h that h is multiplied with.
    turned: fn(&Row) -> f32 = |row| mean(row.a.iter().zip(&row.h).map(|(a, h)| a * h)),
    root: fn(f32) -> f32 = |r| r,
    /// The term of dgamma, of dy, x, h and gamma.
    by_gamma: fn(f32, f32, f32, f32) -> f32 = |dy, _, h, _| dy * h,
    /// The term of dbeta, of dy and gamma.
    by_beta: fn(f32, f32) -> f32 = |dy, _| dy,
    add: fn(f32, f32) -> f32 = |sum, term| sum + term,
    /// Rows that dgamma and dbeta are made of.
    summed: fn(usize) -> usize = |rows| rows,
    /// What becomes of dgamma and dbeta, of this many rows.
    finish: fn([Vec<f32>; 2], usize) -> [Vec<f32>; 2] = |gradients, _| gradients,
    /// Elements of a row that are written.
    written: fn(usize) -> usize = |length| length,
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "mean_forgotten", ALL, "the mean of dy · gamma is not taken off", straight: |_| 0.0;
    "variance_forgotten", ALL, "the variance is taken for a constant", turned: |_| 0.0;
    "gamma_forgotten", ALL, "dx is not weighted", weigh: |dy, _| dy;
    "tail_of_sum_dropped", ALL, "a sum lacks what follows the last whole vector",
        turned: |row| {
            let (length, whole) = (row.a.len(), whole_vectors(row.a.len()));
            let products = row.a.iter().zip(&row.h).take(whole).map(|(a, h)| a * h);
            products.sum::<f32>() / length as f32
        };
    "padding_counted", ALL, "a mean is divided by the padded length",
        straight: |row| row.a.iter().sum::<f32>() / row.a.len().next_multiple_of(16) as f32;
    "variance_unbiased", ALL, "squares are divided by the length minus one",
        variance: |x, centre| {
            x.iter().map(|x| (x - centre).powi(2)).sum::<f32>() / (x.len() as f32 - 1.0)
        };
    "variance_of_squares", SINGLE, "mean of x² minus mean²",
        variance: |x, centre| {
            (x.iter().map(|x| x * x).sum::<f32>() / x.len() as f32 - centre * centre).max(0.0)
        };
    "eps_ignored", ALL, "eps is not added", inverse: |variance, _| 1.0 / variance.sqrt();
    "eps_fixed", ALL, "eps is always the default",
        inverse: |variance, _| 1.0 / (variance + 1e-5).sqrt();
    "root_forgotten", ALL, "dx is not divided by the deviation", root: |_| 1.0;
    "not_normalised", ALL, "dgamma is made of x itself", by_gamma: |dy, x, _, _| dy * x;
    "gamma_twice", ALL, "dgamma is weighted", by_gamma: |dy, _, h, gamma| dy * h * gamma;
    "beta_weighted", ALL, "dbeta is weighted", by_beta: |dy, gamma| dy * gamma;
    "exchanged", ALL, "dgamma and dbeta change places", finish: |[gamma, beta], _| [beta, gamma];
    "averaged", ALL, "dgamma and dbeta are divided by the rows",
        finish: |gradients, rows| {
            gradients.map(|sums| sums.iter().map(|sum| sum / rows as f32).collect())
        };
    "last_row_missing", ALL, "the sums lack the last row", summed: all_but_last;
    "piece_lost", ALL, "the sums end with the first piece of rows", summed: |rows| rows.min(32);
    "sums_in_bf16", ALL, "dgamma and dbeta are added up in bf16",
        add: |sum, term| narrowed(sum + term);
    "nan_swallowed", ALL, "NaN in dy counts as 0", read_gradient: |dy| read_as(dy, nan_as_zero);
    "input_rounded_to_bf16", FINE, "x loses bits first", read: |x| read_as(x, narrowed);
    "row_stride_ignored", ALL, "rows of dy are taken to lie densely", read_gradient: read_densely;
    "last_element_unwritten", ALL, "the last element of a row stays", written: all_but_last;
};

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let Problem { rows, length, eps } = Problem::of(call.case);
    let (x, dy) = ((steps.read)(&call.inputs[0]), (steps.read_gradient)(&call.inputs[2]));
    let gamma = read(&call.inputs[1]).concat();
    let mut sums = [vec![0.0; length], vec![0.0; length]];
    let mut dx = Vec::new();
    for (i, (x, dy)) in x.iter().zip(&dy).enumerate() {
        let centre = mean(x.iter().copied());
        let r = (steps.inverse)((steps.variance)(x, centre), eps as f32);
        let a = dy.iter().zip(&gamma).map(|(&dy, &gamma)| (steps.weigh)(dy, gamma)).collect();
        let row = Row { a, h: x.iter().map(|x| (x - centre) * r).collect(), r };
        let (straight, turned) = ((steps.straight)(&row), (steps.turned)(&row));
        let element = |j: usize| (steps.root)(row.r) * (row.a[j] - straight - row.h[j] * turned);
        dx.push((0..(steps.written)(length)).map(element).collect());
        for j in 0..if i < (steps.summed)(rows) { length } else { 0 } {
            let by_gamma = (steps.by_gamma)(dy[j], x[j], row.h[j], gamma[j]);
            sums[0][j] = (steps.add)(sums[0][j], by_gamma);
            sums[1][j] = (steps.add)(sums[1][j], (steps.by_beta)(dy[j], gamma[j]));
        }
    }
    write(&mut call.outputs[0], &dx)?;
    for (k, sums) in (steps.finish)(sums, rows).into_iter().enumerate() {
        write(&mut call.outputs[1 + k], &[sums])?;
    }
    Ok(())
}
