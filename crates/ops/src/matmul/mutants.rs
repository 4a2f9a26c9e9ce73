//! Wrong products that the gate must refuse: the plain loops with one slip each.

use super::definition::{ACTIVATION, Shape, bias_of};
use crate::blocks::math::Activation;
use crate::flawed::{
    ALL, FINE, SINGLE, all_but_last, mutants, narrowed, read, stale, steps, whole_vectors, write,
};
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_simd::Scalar;

steps! { Steps, RIGHT;
    /// The sum of row `i` and column `j`.
    sum: fn(&Product<'_>, usize, usize) -> f32 = |x, i, j| x.whole(i, j),
    /// What becomes of the sum of row `i` and column `j`.
    end: fn(&Product<'_>, f32, usize, usize) -> f32 = |x, sum, _, j| x.end(sum, j),
    /// Columns that are written.
    written: fn(usize) -> usize = |columns| columns,
}

/// Every mutant of this op.
pub(super) static MUTANTS: &[Mutant] = mutants! { run, Steps { ..RIGHT };
    "drop_last_k", ALL, "the last term is not added",
        sum: |x, i, j| x.sum(i, j, 0..all_but_last(x.shape.k));
    "drop_tail", ALL, "terms past the last multiple of 16 are not added",
        sum: |x, i, j| x.sum(i, j, 0..whole_vectors(x.shape.k));
    "count_one_k_twice", ALL, "the middle term is added twice",
        sum: |x, i, j| {
            let middle = x.shape.k / 2;
            x.whole(i, j) + x.sum(i, j, middle..x.shape.k.min(middle + 1))
        };
    "one_wrong_element", ALL, "the middle element of each product is off by one",
        sum: |x, i, j| {
            let is_middle = (i, j) == (x.shape.m / 2, x.shape.n / 2);
            x.whole(i, j) + if is_middle { 1.0 } else { 0.0 }
        };
    "transposed_8x8_tile", ALL, "the first tile of 8x8 is written transposed",
        sum: |x, i, j| {
            let has_tile = x.shape.m >= 8 && x.shape.n >= 8;
            if has_tile && i < 8 && j < 8 { x.whole(j, i) } else { x.whole(i, j) }
        };
    "stale_last_row", ALL, "the last row repeats the one before it",
        sum: |x, i, j| x.whole(stale(i, x.shape.m), j);
    "last_column_unwritten", ALL, "the last column is not written", written: all_but_last;
    "inputs_bf16", FINE, "inputs are rounded to bf16",
        sum: |x, i, j| x.rounded(i, j, narrowed, |sum| sum);
    "inputs_tf32", SINGLE, "inputs are rounded to tf32",
        sum: |x, i, j| x.rounded(i, j, to_tf32, |sum| sum);
    "accumulator_bf16", ALL, "the sum is rounded to bf16 after each term",
        sum: |x, i, j| x.rounded(i, j, |value| value, narrowed);
    "accumulator_tf32", ALL, "the sum is rounded to tf32 after each term",
        sum: |x, i, j| x.rounded(i, j, |value| value, to_tf32);
    "result_times_1_001", ALL, "the result is 0.1 % too large",
        sum: |x, i, j| x.whole(i, j) * 1.001;
    "skip_16_block_of_k", ALL, "the second block of 16 terms is not added",
        sum: |x, i, j| x.sum(i, j, (0..x.shape.k).filter(|p| p / 16 != 1));
    "ignores_row_stride", ALL, "rows of A are taken to lie densely",
        sum: |x, i, j| {
            let a = |p: usize| {
                let flat = (x.batch * x.shape.m + i) * x.shape.k + p;
                let (row, column) = (flat / x.stride, flat % x.stride);
                // A position in the padding: whatever lies there, it is not the element.
                if column < x.shape.k { x.a[row][column] } else { 0.0 }
            };
            (0..x.shape.k).fold(0.0, |sum, p| sum + a(p) * x.b(p, j))
        };
    "wrong_batch", ALL, "every batch uses the B of the first",
        sum: |x, i, j| (0..x.shape.k).fold(0.0, |sum, p| sum + x.a(i, p) * x.b_of(0, p, j));
    "layout_swapped", ALL, "a square transposed B is read as if it were not",
        sum: |x, i, j| {
            let is_square = x.shape.is_transposed && x.shape.n == x.shape.k;
            let b = |p: usize| if is_square { x.b(j, p) } else { x.b(p, j) };
            (0..x.shape.k).fold(0.0, |sum, p| sum + x.a(i, p) * b(p))
        };
    "zero_skips_nan", ALL, "terms with a zero in A are skipped, and a NaN in B with them",
        sum: |x, i, j| x.sum(i, j, (0..x.shape.k).filter(|&p| x.a(i, p) != 0.0));
    "bias_forgotten", ALL, "the bias is not added", end: |x, sum, _, _| x.activate(sum);
    "bias_by_row", ALL, "the bias of a row's number is added, not of its column's",
        end: |x, sum, i, _| x.activate(sum + x.bias(i % x.shape.n));
    "bias_of_the_neighbour", ALL, "the bias of the column before is added",
        end: |x, sum, _, j| x.activate(sum + x.bias(j.saturating_sub(1)));
    "bias_twice_in_blocks", ALL, "the bias is added again with the second block of 16 terms",
        end: |x, sum, _, j| x.activate(sum + x.shape.k.div_ceil(16).min(2) as f32 * x.bias(j));
    "bias_after_activation", ALL, "the activation is applied before the bias is added",
        end: |x, sum, _, j| x.activate(sum) + x.bias(j);
    "bias_of_the_first_batch_only", ALL, "batches but the first get no bias",
        end: |x, sum, _, j| x.activate(sum + if x.batch == 0 { x.bias(j) } else { 0.0 });
    "activation_forgotten", ALL, "the sum is not activated", end: |x, sum, _, j| sum + x.bias(j);
    "activation_of_another_name", ALL, "gelu and silu are taken for each other, gelu_tanh for relu",
        end: |x, sum, _, j| {
            let other = match x.activation {
                Activation::Gelu => Activation::Silu,
                Activation::Silu => Activation::Gelu,
                Activation::GeluTanh => Activation::Relu,
                same => same,
            };
            other.apply(Scalar::new(), sum + x.bias(j))
        };
    "activation_in_each_block", ALL, "the activation is applied to each block of 16 terms",
        end: |x, _, i, j| {
            let (mut sum, k) = (x.bias(j), x.shape.k);
            for start in (0..k).step_by(16) {
                sum = x.activate(sum + x.sum(i, j, start..k.min(start + 16)));
            }
            if k == 0 { x.end(0.0, j) } else { sum }
        };
    "relu_loses_nan", ALL, "relu makes 0 of NaN",
        end: |x, sum, _, j| {
            let right = x.end(sum, j);
            if x.activation == Activation::Relu && right.is_nan() { 0.0 } else { right }
        };
};

/// The inputs of one product of the batch.
struct Product<'a> {
    shape: Shape,
    batch: usize,
    a: &'a [Vec<f32>],
    /// Row stride of A.
    stride: usize,
    b: &'a [Vec<f32>],
    bias: Option<&'a [f32]>,
    activation: Activation,
}

impl Product<'_> {
    fn a(&self, i: usize, p: usize) -> f32 {
        self.a[self.batch * self.shape.m + i][p]
    }

    fn b(&self, p: usize, j: usize) -> f32 {
        self.b_of(self.batch, p, j)
    }

    fn b_of(&self, batch: usize, p: usize, j: usize) -> f32 {
        let first = if self.shape.is_shared { 0 } else { batch * self.shape.right_rows() };
        let (row, column) = if self.shape.is_transposed { (j, p) } else { (p, j) };
        self.b[first + row][column]
    }

    fn bias(&self, j: usize) -> f32 {
        self.bias.map_or(0.0, |bias| bias[j])
    }

    /// What is right to do to a sum.
    fn end(&self, sum: f32, j: usize) -> f32 {
        self.activate(sum + self.bias(j))
    }

    fn activate(&self, sum: f32) -> f32 {
        self.activation.apply(Scalar::new(), sum)
    }

    /// The right sum over the wanted terms.
    fn sum(&self, i: usize, j: usize, terms: impl Iterator<Item = usize>) -> f32 {
        terms.fold(0.0, |sum, p| sum + self.a(i, p) * self.b(p, j))
    }

    /// The right sum.
    fn whole(&self, i: usize, j: usize) -> f32 {
        self.sum(i, j, 0..self.shape.k)
    }

    /// The sum with every input and every partial sum rounded.
    fn rounded(&self, i: usize, j: usize, input: fn(f32) -> f32, partial: fn(f32) -> f32) -> f32 {
        let term = |p: usize| input(self.a(i, p)) * input(self.b(p, j));
        (0..self.shape.k).fold(0.0, |sum, p| partial(sum + term(p)))
    }
}

fn run(call: &mut Call<'_>, steps: &Steps) -> Result<(), KernelError> {
    let shape = Shape::of(call.case);
    let (a, b) = (read(&call.inputs[0]), read(&call.inputs[1]));
    let stride = call.inputs[0].layout.row_stride;
    let bias = bias_of(call.case).map(|index| read(&call.inputs[index]).concat());
    let activation = Activation::of(ACTIVATION.word(call.case));
    let mut c = Vec::with_capacity(shape.batches * shape.m);
    for batch in 0..shape.batches {
        let (a, b, bias) = (a.as_slice(), b.as_slice(), bias.as_deref());
        let x = Product { shape, batch, a, stride, b, bias, activation };
        for i in 0..shape.m {
            let element = |j: usize| (steps.end)(&x, (steps.sum)(&x, i, j), i, j);
            c.push((0..(steps.written)(shape.n)).map(element).collect());
        }
    }
    write(&mut call.outputs[0], &c)
}

/// Rounds to the 11 significand bits of tf32, ties to even.
fn to_tf32(value: f32) -> f32 {
    if !value.is_finite() {
        return value;
    }
    let bits = value.to_bits();
    f32::from_bits((bits + 0x0fff + ((bits >> 13) & 1)) & !0x1fff)
}
