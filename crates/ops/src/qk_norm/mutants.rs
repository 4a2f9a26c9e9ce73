//! Wrong normalisations of queries and keys that the gate must refuse.

use super::definition::Problem;
use crate::flawed::{
    ALL, Read, all_but_last, estimate, mutants, nan_as_zero, narrowed, read, read_as, read_densely,
    stale, steps, whole_vectors, write,
};
use proofmark_contract::{Call, KernelError, Mutant};

steps! { Steps, RIGHT;
    read: Read = read,
    /// Which operand's weight operand `n` of `count` gets.
    weight_of: fn(usize, usize) -> usize = |n, _| n,
    /// The heads whose mean square normalises head `i`: the first of them, and how many. Also given
    /// is the number of heads of a position.
    mean_over: fn(usize, usize) -> (usize, usize) = |i, _| (i, 1),
    /// The head that head `i` is computed from, of all heads and those of a position.
    source: fn(usize, usize, usize) -> usize = |i, _, _| i,
    /// How many elements of a head are summed.
    summed: fn(usize) -> usize = |length| length,
    add: fn(f32, f32) -> f32 = |sum, square| sum + square,
    /// Of the mean and eps.
    inverse: fn(f32, f32) -> f32 = |mean, eps| 1.0 / (mean + eps).sqrt(),
    /// Of an element, the inverse root, the weights and the column.
    weigh: fn(f32, f32, &[f32], usize) -> f32 = |x, r, w, j| x * r * w[j],
    /// Elements of a head that are written.
    written: fn(usize) -> usize = |length| length,
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "weights_swapped", ALL, "queries get the keys' weights, and the reverse",
        weight_of: |n, count| count - 1 - n;
    "weight_of_first", ALL, "keys get the queries' weights", weight_of: |_, _| 0;
    "mean_over_all_heads", ALL, "one mean square for all heads of a position",
        mean_over: |i, heads| (i / heads * heads, heads);
    "mean_of_first_head", ALL, "the first head's mean square for all",
        mean_over: |i, heads| (i / heads * heads, 1);
    "last_head_stale", ALL, "the last head repeats the one before",
        source: |i, rows, _| stale(i, rows);
    "first_head_repeated", ALL, "every head is the first of its position",
        source: |i, _, heads| i / heads * heads;
    "heads_and_positions_swapped", ALL, "read as [b, h, s, d]",
        source: |i, rows, heads| {
            let positions = rows / heads;
            i % positions * heads + i / positions
        };
    "tail_dropped_from_sum", ALL, "only whole vectors of 16 are summed", summed: whole_vectors;
    "bf16_accumulate", ALL, "the sum is kept in bf16", add: |sum, square| narrowed(sum + square);
    "eps_ignored", ALL, "eps is not added", inverse: |mean, _| 1.0 / mean.sqrt();
    "eps_outside_root", ALL, "eps is added to the root, not to the mean",
        inverse: |mean, eps| 1.0 / (mean.sqrt() + eps);
    "eps_fixed", ALL, "eps is always the default", inverse: |mean, _| 1.0 / (mean + 1e-6).sqrt();
    "root_estimate", ALL, "the inverse root has 12 bits",
        inverse: |mean, eps| estimate(1.0 / (mean + eps).sqrt());
    "weight_ignored", ALL, "results are not weighted", weigh: |x, r, _, _| x * r;
    "weight_plus_one", ALL, "weighted by 1 + w", weigh: |x, r, w, j| x * r * (1.0 + w[j]);
    "weight_off_by_one", ALL, "each element gets its neighbour's weight",
        weigh: |x, r, w, j| x * r * w[(j + 1) % w.len()];
    "nan_swallowed", ALL, "NaN counts as 0", read: |x| read_as(x, nan_as_zero);
    "row_stride_ignored", ALL, "heads are taken to lie densely", read: read_densely;
    "last_element_unwritten", ALL, "the last element of a head stays", written: all_but_last;
};

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let problem = Problem::of(call.case);
    let count = problem.present.len();
    for n in 0..count {
        let heads = problem.heads[problem.present[n]];
        let x = (steps.read)(&call.inputs[n]);
        let w = read(&call.inputs[count + (steps.weight_of)(n, count)]).remove(0);
        let row = |i: usize| {
            let source = (steps.source)(i, x.len(), heads);
            let (first, many) = (steps.mean_over)(source, heads);
            let of = x[first..first + many].iter();
            let terms = of.flat_map(|x| &x[..(steps.summed)(x.len())]);
            let squares = terms.fold(0.0, |sum, x| (steps.add)(sum, x * x));
            let r = (steps.inverse)(squares / (many * problem.length) as f32, problem.eps as f32);
            let element = |j: usize| (steps.weigh)(x[source][j], r, &w, j);
            (0..(steps.written)(problem.length)).map(element).collect()
        };
        let y: Vec<Vec<f32>> = (0..x.len()).map(row).collect();
        write(&mut call.outputs[n], &y)?;
    }
    Ok(())
}
