//! Wrong products that the gate must refuse: the plain loops with one slip each.

use super::definition::{Shape, bias_of, output_dtype};
use crate::blocks::math::Activation;
use crate::flawed::mutant;
use proofmark_contract::{Call, KernelError, Mutant};
use proofmark_simd::Scalar;
use proofmark_tensor::{Rows, RowsMut, bf16, f16};
use proofmark_terms::DType;

const F32: &[DType] = &[DType::F32];
const FINE: &[DType] = &[DType::F32, DType::F16];
const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];

/// One line for each mutant: its name, its flaw, the types it does, the wrong function.
macro_rules! mutants {
    ($($name:ident, $dtypes:expr, $flaw:literal;)*) => {
        /// Every mutant.
        pub(super) static MUTANTS: &[Mutant] =
            &[$(mutant!(stringify!($name), $dtypes, $flaw, $name)),*];
    };
}

mutants! {
    drop_last_k, ALL, "the last term is not added";
    drop_tail, ALL, "terms past the last multiple of 16 are not added";
    count_one_k_twice, ALL, "the middle term is added twice";
    one_wrong_element, ALL, "the middle element of each product is off by one";
    transposed_8x8_tile, ALL, "the first tile of 8x8 is written transposed";
    stale_last_row, ALL, "the last row repeats the one before it";
    last_column_unwritten, ALL, "the last column is not written";
    inputs_bf16, FINE, "inputs are rounded to bf16";
    inputs_tf32, F32, "inputs are rounded to tf32";
    accumulator_bf16, ALL, "the sum is rounded to bf16 after each term";
    accumulator_tf32, ALL, "the sum is rounded to tf32 after each term";
    result_times_1_001, ALL, "the result is 0.1 % too large";
    skip_16_block_of_k, ALL, "the second block of 16 terms is not added";
    ignores_row_stride, ALL, "rows of A are taken to lie densely";
    wrong_batch, ALL, "every batch uses the B of the first";
    layout_swapped, ALL, "a square transposed B is read as if it were not";
    zero_skips_nan, ALL, "terms with a zero in A are skipped, and a NaN in B with them";
    bias_forgotten, ALL, "the bias is not added";
    bias_by_row, ALL, "the bias of a row's number is added, not of its column's";
    bias_of_the_neighbour, ALL, "the bias of the column before is added";
    bias_twice_in_blocks, ALL, "the bias is added again with the second block of 16 terms";
    bias_after_activation, ALL, "the activation is applied before the bias is added";
    bias_of_the_first_batch_only, ALL, "batches but the first get no bias";
    activation_forgotten, ALL, "the sum is not activated";
    activation_of_another_name, ALL, "gelu and silu are taken for each other, gelu_tanh for relu";
    activation_in_each_block, ALL, "the activation is applied to each block of 16 terms";
    relu_loses_nan, ALL, "relu makes 0 of NaN";
}

/// Elements of an input, whatever its type.
#[derive(Clone, Copy)]
enum Source<'a> {
    F32(Rows<'a, f32>),
    Bf16(Rows<'a, bf16>),
    F16(Rows<'a, f16>),
}

impl Source<'_> {
    fn at(&self, row: usize, column: usize) -> f32 {
        match self {
            Source::F32(rows) => rows.row(row)[column],
            Source::Bf16(rows) => rows.row(row)[column].to_f32(),
            Source::F16(rows) => rows.row(row)[column].to_f32(),
        }
    }

    fn row_stride(&self) -> usize {
        match self {
            Source::F32(rows) => rows.row_stride(),
            Source::Bf16(rows) => rows.row_stride(),
            Source::F16(rows) => rows.row_stride(),
        }
    }
}

/// Elements of the result, whatever their type.
enum Target<'a> {
    F32(RowsMut<'a, f32>),
    Bf16(RowsMut<'a, bf16>),
    F16(RowsMut<'a, f16>),
}

impl Target<'_> {
    fn set(&mut self, row: usize, column: usize, value: f32) {
        match self {
            Target::F32(rows) => rows.row_mut(row)[column] = value,
            Target::Bf16(rows) => rows.row_mut(row)[column] = bf16::from_f32(value),
            Target::F16(rows) => rows.row_mut(row)[column] = f16::from_f32(value),
        }
    }
}

/// The inputs of one product of the batch.
struct Product<'a> {
    shape: Shape,
    batch: usize,
    a: Source<'a>,
    b: Source<'a>,
    bias: Option<Source<'a>>,
    activation: Activation,
}

impl Product<'_> {
    fn a(&self, i: usize, p: usize) -> f32 {
        self.a.at(self.batch * self.shape.m + i, p)
    }

    fn b(&self, p: usize, j: usize) -> f32 {
        self.b_of(self.batch, p, j)
    }

    fn b_of(&self, batch: usize, p: usize, j: usize) -> f32 {
        let first = if self.shape.is_shared { 0 } else { batch * self.shape.right_rows() };
        let (row, column) = if self.shape.is_transposed { (j, p) } else { (p, j) };
        self.b.at(first + row, column)
    }

    fn bias(&self, j: usize) -> f32 {
        self.bias.map_or(0.0, |bias| bias.at(0, j))
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
}

/// Ends and writes what `sum` gives for each row and column; `None` leaves the element unwritten.
fn fill(
    call: &mut Call<'_>,
    sum: impl Fn(&Product<'_>, usize, usize) -> Option<f32>,
) -> Result<(), KernelError> {
    write(call, |x, i, j| sum(x, i, j).map(|sum| x.end(sum, j)))
}

/// Writes what `element` gives for each row and column; `None` leaves the element unwritten.
fn write(
    call: &mut Call<'_>,
    element: impl Fn(&Product<'_>, usize, usize) -> Option<f32>,
) -> Result<(), KernelError> {
    let shape = Shape::of(call.case);
    let source = |index: usize| -> Result<Source<'_>, KernelError> {
        Ok(match call.case.dtype {
            DType::Bf16 => Source::Bf16(call.inputs[index].rows()?),
            DType::F16 => Source::F16(call.inputs[index].rows()?),
            _ => Source::F32(call.inputs[index].rows()?),
        })
    };
    let (a, b) = (source(0)?, source(1)?);
    let bias = bias_of(call.case).map(source).transpose()?;
    let activation = Activation::of(call.case.word("activation", "none"));
    let mut target = match output_dtype(call.case) {
        DType::Bf16 => Target::Bf16(call.outputs[0].rows_mut()?),
        DType::F16 => Target::F16(call.outputs[0].rows_mut()?),
        _ => Target::F32(call.outputs[0].rows_mut()?),
    };
    for batch in 0..shape.batches {
        let product = Product { shape, batch, a, b, bias, activation };
        for i in 0..shape.m {
            for j in 0..shape.n {
                if let Some(value) = element(&product, i, j) {
                    target.set(batch * shape.m + i, j, value);
                }
            }
        }
    }
    Ok(())
}

fn drop_last_k(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |x, i, j| Some(x.sum(i, j, 0..x.shape.k.saturating_sub(1))))
}

fn drop_tail(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |x, i, j| Some(x.sum(i, j, 0..x.shape.k - x.shape.k % 16)))
}

fn count_one_k_twice(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |x, i, j| {
        let middle = x.shape.k / 2;
        Some(x.whole(i, j) + x.sum(i, j, middle..x.shape.k.min(middle + 1)))
    })
}

fn one_wrong_element(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |x, i, j| {
        let is_middle = (i, j) == (x.shape.m / 2, x.shape.n / 2);
        Some(x.whole(i, j) + if is_middle { 1.0 } else { 0.0 })
    })
}

fn transposed_8x8_tile(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |x, i, j| {
        let has_tile = x.shape.m >= 8 && x.shape.n >= 8;
        Some(if has_tile && i < 8 && j < 8 { x.whole(j, i) } else { x.whole(i, j) })
    })
}

fn stale_last_row(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |x, i, j| {
        let is_last = i > 0 && i + 1 == x.shape.m;
        Some(x.whole(if is_last { i - 1 } else { i }, j))
    })
}

fn last_column_unwritten(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |x, i, j| (j + 1 < x.shape.n).then(|| x.whole(i, j)))
}

fn inputs_bf16(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |x, i, j| Some(rounded_sum(x, i, j, to_bf16, |sum| sum)))
}

fn inputs_tf32(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |x, i, j| Some(rounded_sum(x, i, j, to_tf32, |sum| sum)))
}

fn accumulator_bf16(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |x, i, j| Some(rounded_sum(x, i, j, |value| value, to_bf16)))
}

fn accumulator_tf32(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |x, i, j| Some(rounded_sum(x, i, j, |value| value, to_tf32)))
}

fn result_times_1_001(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |x, i, j| Some(x.whole(i, j) * 1.001))
}

fn skip_16_block_of_k(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |x, i, j| Some(x.sum(i, j, (0..x.shape.k).filter(|p| p / 16 != 1))))
}

fn ignores_row_stride(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |x, i, j| {
        let a = |p: usize| {
            let flat = (x.batch * x.shape.m + i) * x.shape.k + p;
            let (row, column) = (flat / x.a.row_stride(), flat % x.a.row_stride());
            // A position in the padding: whatever lies there, it is not the element.
            if column < x.shape.k { x.a.at(row, column) } else { 0.0 }
        };
        Some((0..x.shape.k).fold(0.0, |sum, p| sum + a(p) * x.b(p, j)))
    })
}

fn wrong_batch(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |x, i, j| Some((0..x.shape.k).fold(0.0, |sum, p| sum + x.a(i, p) * x.b_of(0, p, j))))
}

fn layout_swapped(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |x, i, j| {
        let is_square = x.shape.is_transposed && x.shape.n == x.shape.k;
        let b = |p: usize| if is_square { x.b(j, p) } else { x.b(p, j) };
        Some((0..x.shape.k).fold(0.0, |sum, p| sum + x.a(i, p) * b(p)))
    })
}

fn zero_skips_nan(call: &mut Call<'_>) -> Result<(), KernelError> {
    fill(call, |x, i, j| Some(x.sum(i, j, (0..x.shape.k).filter(|&p| x.a(i, p) != 0.0))))
}

fn bias_forgotten(call: &mut Call<'_>) -> Result<(), KernelError> {
    write(call, |x, i, j| Some(x.activate(x.whole(i, j))))
}

fn bias_by_row(call: &mut Call<'_>) -> Result<(), KernelError> {
    write(call, |x, i, j| Some(x.activate(x.whole(i, j) + x.bias(i % x.shape.n))))
}

fn bias_of_the_neighbour(call: &mut Call<'_>) -> Result<(), KernelError> {
    write(call, |x, i, j| Some(x.activate(x.whole(i, j) + x.bias(j.saturating_sub(1)))))
}

fn bias_twice_in_blocks(call: &mut Call<'_>) -> Result<(), KernelError> {
    let times = |x: &Product<'_>| x.shape.k.div_ceil(16).min(2) as f32;
    write(call, |x, i, j| Some(x.activate(x.whole(i, j) + times(x) * x.bias(j))))
}

fn bias_after_activation(call: &mut Call<'_>) -> Result<(), KernelError> {
    write(call, |x, i, j| Some(x.activate(x.whole(i, j)) + x.bias(j)))
}

fn bias_of_the_first_batch_only(call: &mut Call<'_>) -> Result<(), KernelError> {
    let bias = |x: &Product<'_>, j| if x.batch == 0 { x.bias(j) } else { 0.0 };
    write(call, |x, i, j| Some(x.activate(x.whole(i, j) + bias(x, j))))
}

fn activation_forgotten(call: &mut Call<'_>) -> Result<(), KernelError> {
    write(call, |x, i, j| Some(x.whole(i, j) + x.bias(j)))
}

fn activation_of_another_name(call: &mut Call<'_>) -> Result<(), KernelError> {
    write(call, |x, i, j| {
        let other = match x.activation {
            Activation::Gelu => Activation::Silu,
            Activation::Silu => Activation::Gelu,
            Activation::GeluTanh => Activation::Relu,
            same => same,
        };
        Some(other.apply(Scalar::new(), x.whole(i, j) + x.bias(j)))
    })
}

fn activation_in_each_block(call: &mut Call<'_>) -> Result<(), KernelError> {
    write(call, |x, i, j| {
        let (mut sum, k) = (x.bias(j), x.shape.k);
        for start in (0..k).step_by(16) {
            sum = x.activate(sum + x.sum(i, j, start..k.min(start + 16)));
        }
        Some(if k == 0 { x.end(0.0, j) } else { sum })
    })
}

fn relu_loses_nan(call: &mut Call<'_>) -> Result<(), KernelError> {
    write(call, |x, i, j| {
        let right = x.end(x.whole(i, j), j);
        let is_lost = x.activation == Activation::Relu && right.is_nan();
        Some(if is_lost { 0.0 } else { right })
    })
}

/// The sum with every input and every partial sum rounded.
fn rounded_sum(
    x: &Product<'_>,
    i: usize,
    j: usize,
    input: fn(f32) -> f32,
    partial: fn(f32) -> f32,
) -> f32 {
    (0..x.shape.k).fold(0.0, |sum, p| partial(sum + input(x.a(i, p)) * input(x.b(p, j))))
}

fn to_bf16(value: f32) -> f32 {
    bf16::from_f32(value).to_f32()
}

/// Rounds to the 11 significand bits of tf32, ties to even.
fn to_tf32(value: f32) -> f32 {
    if !value.is_finite() {
        return value;
    }
    let bits = value.to_bits();
    f32::from_bits((bits + 0x0fff + ((bits >> 13) & 1)) & !0x1fff)
}
