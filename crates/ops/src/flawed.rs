//! The kit that mutants are made of: a computation in steps, of which each mutant replaces some.
//!
//! An op states its steps with [`steps`] and its wrong kernels with [`mutants`]. Flaws that kernels
//! of many ops can have are functions here.

use crate::blocks::made::typed;
use proofmark_contract::{Call, Kernel, KernelError, Mutant, Unsupported};
use proofmark_tensor::{Element, Layout, Tensor, bf16};
use proofmark_terms::{Case, DType, Isa};

/// A flaw on every element type.
pub(crate) const ALL: &[DType] = &[DType::F32, DType::Bf16, DType::F16];
/// A flaw that a type of fewer bits hides.
pub(crate) const FINE: &[DType] = &[DType::F32, DType::F16];
/// A flaw in rounding to fewer bits.
pub(crate) const NARROW: &[DType] = &[DType::Bf16, DType::F16];
/// A flaw in the last bits, or of an op that has only this type.
pub(crate) const SINGLE: &[DType] = &[DType::F32];
/// A flaw below the range of f16.
pub(crate) const WIDE: &[DType] = &[DType::F32, DType::Bf16];

/// A wrong kernel, for the gate to refuse.
pub(crate) struct Flawed {
    /// Its name.
    pub(crate) name: &'static str,
    /// The element types it does.
    pub(crate) dtypes: &'static [DType],
    /// The wrong computation.
    pub(crate) run: fn(&mut Call<'_>) -> Result<(), KernelError>,
}

impl Kernel for Flawed {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        "wrong on purpose"
    }

    fn isas(&self) -> &'static [Isa] {
        &[Isa::Scalar]
    }

    fn supports(&self, case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        if self.dtypes.contains(&case.dtype) {
            return Ok(());
        }
        Err(Unsupported(format!("this mutant does not do {}", case.dtype)))
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        (self.run)(call)
    }
}

/// Declares the steps of a computation, then the right ones: `Steps, RIGHT;` and a line
/// `step: type = right,` for each.
macro_rules! steps {
    (
        $visible:vis $steps:ident, $right:ident;
        $($(#[$doc:meta])* $step:ident: $type:ty = $value:expr,)*
    ) => {
        /// The steps of the computation; a mutant replaces some.
        #[derive(Clone, Copy)]
        $visible struct $steps { $($(#[$doc])* $visible $step: $type,)* }

        /// No flaw.
        $visible const $right: $steps = $steps { $($step: $value,)* };
    };
}

/// A list of mutants of the computation `run(call, &steps)`. After the right steps,
/// `run, Steps { ..RIGHT };`, a line for each mutant: `"name", DTYPES, "flaw", step: wrong, …;`.
/// The list goes on from another one after `after OTHER;`.
macro_rules! mutants {
    (after $before:expr; $($own:tt)*) => {{
        const BEFORE: &[proofmark_contract::Mutant] = $before;
        const OWN: &[proofmark_contract::Mutant] = $crate::flawed::mutants! { $($own)* };
        const JOINED: [proofmark_contract::Mutant; BEFORE.len() + OWN.len()] =
            $crate::flawed::joined(BEFORE, OWN);
        &JOINED
    }};
    (
        $run:expr, $steps:ident { ..$right:expr };
        $($name:literal, $dtypes:expr, $flaw:literal, $($step:ident: $wrong:expr),+;)*
    ) => {
        &[$(proofmark_contract::Mutant {
            name: $name,
            flaw: $flaw,
            kernel: &$crate::flawed::Flawed {
                name: $name,
                dtypes: $dtypes,
                run: |call| $run(call, &$steps { $($step: $wrong,)+ ..$right }),
            },
        }),*]
    };
}

pub(crate) use {mutants, steps};

/// The mutants of one list and then of the other; `N` is the number of both.
pub(crate) const fn joined<const N: usize>(first: &[Mutant], second: &[Mutant]) -> [Mutant; N] {
    let mut all = [second[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < first.len() { first[at] } else { second[at - first.len()] };
        at += 1;
    }
    all
}

/// A step that reads the rows of an operand.
pub(crate) type Read = fn(&Tensor) -> Vec<Vec<f32>>;

/// The rows of an operand of any element type.
pub(crate) fn read(tensor: &Tensor) -> Vec<Vec<f32>> {
    read_as(tensor, |value| value)
}

/// The rows of an operand, with what `change` makes of its elements.
pub(crate) fn read_as(tensor: &Tensor, change: impl Fn(f32) -> f32) -> Vec<Vec<f32>> {
    let (values, layout) = (tensor.to_f64(), &tensor.layout);
    let row = |i: usize| &values[i * layout.cols()..][..layout.cols()];
    let changed = |i: usize| row(i).iter().map(|&value| change(value as f32)).collect();
    (0..layout.rows()).map(changed).collect()
}

/// The rows of an operand, read as if they lay densely.
pub(crate) fn read_densely(tensor: &Tensor) -> Vec<Vec<f32>> {
    let layout = Layout::dense(tensor.layout.shape.as_slice());
    // SAFETY: as many rows at a smaller or equal stride end before the last row of the tensor
    // does; what lies between rows is initialised memory of the same operand.
    read(&unsafe { Tensor::from_raw(tensor.base(), tensor.dtype, layout, false) })
}

/// Writes rows, each value rounded once; what rows lack stays as it was.
pub(crate) fn write(tensor: &mut Tensor, rows: &[Vec<f32>]) -> Result<(), KernelError> {
    typed!(tensor.dtype, write_rows(tensor, rows))
}

fn write_rows<T: Element>(tensor: &mut Tensor, rows: &[Vec<f32>]) -> Result<(), KernelError> {
    let mut to = tensor.rows_mut::<T>()?;
    for (i, row) in rows.iter().enumerate().take(to.rows()) {
        for (to, &value) in to.row_mut(i).iter_mut().zip(row) {
            *to = T::from_f64(f64::from(value));
        }
    }
    Ok(())
}

/// The last element stays as it was before.
pub(crate) fn keep_last(result: &mut [f64], before: &[f64]) {
    if let (Some(last), Some(&held)) = (result.last_mut(), before.last()) {
        *last = held;
    }
}

/// The last row comes from the one before.
pub(crate) fn stale(row: usize, rows: usize) -> usize {
    if row > 0 && row + 1 == rows { row - 1 } else { row }
}

/// The loop ends one early.
pub(crate) fn all_but_last(count: usize) -> usize {
    count.saturating_sub(1)
}

/// The tail past the last whole vector of 16 is dropped.
pub(crate) fn whole_vectors(count: usize) -> usize {
    count / 16 * 16
}

/// Even and odd elements change places.
pub(crate) fn neighbour(at: usize, count: usize) -> usize {
    if at ^ 1 < count { at ^ 1 } else { at }
}

/// Row and column that are read if rows are taken to lie densely.
pub(crate) fn as_if_dense(row: usize, col: usize, cols: usize, stride: usize) -> (usize, usize) {
    let offset = row * cols + col;
    // Padding cannot be read through a view of rows; any other element is as wrong.
    (offset / stride, (offset % stride).min(cols - 1))
}

/// Rounded to the 8 bits of bf16.
pub(crate) fn narrowed(value: f32) -> f32 {
    bf16::from_f32(value).to_f32()
}

/// The sum is kept in bf16.
pub(crate) fn sum_in_bf16(terms: impl Iterator<Item = f32>) -> f32 {
    terms.fold(0.0, |sum, term| narrowed(sum + term))
}

/// Cut to the 12 bits that the estimating instructions give.
pub(crate) fn estimate(value: f32) -> f32 {
    f32::from_bits(value.to_bits() & 0xffff_f000)
}

/// NaN becomes 0.
pub(crate) fn nan_as_zero(value: f32) -> f32 {
    if value.is_nan() { 0.0 } else { value }
}

/// Terms that are NaN are left out.
pub(crate) fn add_numbers(sum: f32, term: f32) -> f32 {
    if term.is_nan() { sum } else { sum + term }
}

/// Subnormal numbers of the element type become 0.
pub(crate) fn flush(dtype: DType, value: f32) -> f32 {
    let border = 2f32.powi(dtype.min_exponent());
    if value.abs() < border { 0f32.copysign(value) } else { value }
}

/// A result beyond the largest number becomes the largest number.
pub(crate) fn saturate(dtype: DType, value: f32) -> f32 {
    let largest = dtype.largest() as f32;
    value.clamp(-largest, largest)
}

/// Bits that the element type lacks are dropped.
pub(crate) fn truncate(dtype: DType, value: f32) -> f32 {
    let dropped = 24 - dtype.significand_bits();
    let kept = f32::from_bits(value.to_bits() >> dropped << dropped);
    if value.is_finite() { kept } else { value }
}

/// The largest of numbers: what is right for rows of softmax.
pub(crate) fn largest(x: &[f32]) -> f32 {
    x.iter().copied().fold(f32::NEG_INFINITY, f32::max)
}

/// Schraudolph's exponential: the integer's bits are a float whose exponent is x / ln 2.
pub(crate) fn exp_by_bits(x: f32) -> f32 {
    f32::from_bits((x.max(-87.0) * 12_102_203.0 + 1_064_866_805.0) as u32)
}
