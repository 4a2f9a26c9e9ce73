//! matmul: `C[b,m,n] = activation(Σ_k A[b,m,k] · B[b,k,n] + bias[n])`.
//!
//! | axis | counts |
//! |---|---|
//! | `b` | independent products |
//! | `m` | rows of A and C |
//! | `n` | columns of B and C |
//! | `k` | terms of each sum |
//!
//! Variants: `layout=nt` stores B as `[n,k]` (a linear layer's weight), `out=f32` widens the result
//! of 16-bit inputs, `shared=true` uses one B without a batch axis for all batches, `bias=true`
//! adds an operand `[n]` to every row, `activation=relu|gelu|gelu_tanh|silu` comes last. All of
//! it is done on sums in f32 and rounded once. Every operand may have padded rows.
//!
//! Edge rules: no term (`k = 0`) gives what bias and activation make of zeros; empty results are
//! left alone. Terms are never skipped: `0 · NaN` and `0 · ∞` are NaN, a NaN in a row of A fills
//! that row of C, one in a column of B that column; every activation keeps NaN, and `gelu` and
//! `silu` of -infinity are NaN (`-infinity · 0`). Subnormals are kept, but by kernels on AMX, whose
//! contract says so. The sign of a zero result is not specified. The error of an activation is
//! judged by the magnitude of its sum.

mod definition;
#[cfg(feature = "judge")]
mod judge;
mod kernels;
#[cfg(feature = "judge")]
mod laws;
#[cfg(feature = "judge")]
mod mutants;
#[cfg(feature = "judge")]
mod oracle;
#[cfg(test)]
mod tests;

pub use crate::blocks::math::Activation;
use crate::blocks::operands::Unplaced;
use crate::blocks::stored::Stored;
use crate::library::{Chosen, Context, Error, Given, Mat, MatMut, Request};
use definition::{LEFT, RIGHT};
use proofmark_contract::{Call, Entry, Kernel, check_case};
use proofmark_tensor::{AlignedBuffer, Layout};
use proofmark_terms::{Case, DType, Isa};

pub use definition::Matmul;

/// matmul with everything that belongs to it.
pub static ENTRY: Entry = Entry {
    op: &Matmul,
    kernels: &[
        &kernels::amx::AMX_PREPACKED,
        &kernels::amx::AMX,
        &kernels::parallel::Parallel,
        &kernels::prepacked::Prepacked,
        &kernels::simd::Simd,
        &kernels::scalar::Scalar,
    ],
    #[cfg(feature = "judge")]
    mutants: mutants::MUTANTS,
    #[cfg(feature = "judge")]
    suite: include_str!("suite.toml"),
};

/// Multiply-adds of a case.
pub(crate) fn products(case: &Case) -> usize {
    let definition::Shape { batches, m, n, k, .. } = definition::Shape::of(case);
    batches * m * n * k
}

/// What else a product can do.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a, T> {
    /// Added to every row.
    pub bias: Option<&'a [T]>,
    /// Applied to every element.
    pub activation: Activation,
    /// Products of which the operands stand below each other.
    pub batches: usize,
    /// All products have the same right operand.
    pub shares_right: bool,
}

impl<T> Default for Options<'_, T> {
    /// One product and nothing else.
    fn default() -> Self {
        Options { bias: None, activation: Activation::None, batches: 1, shares_right: false }
    }
}

/// Writes `a · b` to `c`. Elements are f32, bf16 or f16; sums are f32, and `c` may be f32 too.
///
/// ```
/// use proofmark_ops::{Context, Mat, MatMut, matmul::matmul};
///
/// let (a, b) = ([1.0f32, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
/// let (a, b) = (Mat::new(&a, 2, 2), Mat::new(&b, 2, 2));
/// let mut c = [0.0f32; 4];
/// let context = Context::serial();
/// matmul(&context, a, b, MatMut::new(&mut c, 2, 2))?;
/// assert_eq!(c, [19.0, 22.0, 43.0, 50.0]);
/// // The transpose of `b`, as linear layers store their weights.
/// matmul(&context, a, b.transposed(), MatMut::new(&mut c, 2, 2))?;
/// assert_eq!(c, [17.0, 23.0, 39.0, 53.0]);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the sizes differ.
pub fn matmul<'b, T: Stored, U: Stored>(
    context: &Context,
    a: Mat<'_, T>,
    b: impl Into<Right<'b, T>>,
    c: MatMut<'_, U>,
) -> Result<(), Error> {
    Options::default().run(context, a, b, c)
}

/// The right operand of a product.
#[derive(Clone, Copy, Debug)]
pub enum Right<'a, T> {
    /// As it lies in memory.
    Plain(Mat<'a, T>),
    /// Packed before.
    Packed(&'a Packed<'a, T>),
}

impl<'a, T> From<Mat<'a, T>> for Right<'a, T> {
    fn from(b: Mat<'a, T>) -> Self {
        Right::Plain(b)
    }
}

impl<'a, T> From<&'a Packed<'a, T>> for Right<'a, T> {
    fn from(packed: &'a Packed<'a, T>) -> Self {
        Right::Packed(packed)
    }
}

/// A right operand that is packed once for many products, such as the weight of a layer.
///
/// ```
/// use proofmark_ops::{Context, Mat, MatMut, matmul::{Activation, Options, Packed}};
///
/// let context = Context::serial();
/// let weight = [1.0f32, 0.0, 0.0, -1.0];
/// let packed = Packed::new(&context, Mat::new(&weight, 2, 2).transposed())?;
/// let bias = Some(&[0.5, 0.5][..]);
/// let layer = Options { bias, activation: Activation::Relu, ..Options::default() };
/// let mut y = [0.0f32; 2];
/// layer.run(&context, Mat::from(&[2.0, 3.0]), &packed, MatMut::from(&mut y))?;
/// assert_eq!(y, [2.5, 0.0]);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
#[derive(Debug)]
pub struct Packed<'a, T> {
    b: Mat<'a, T>,
    chosen: Chosen,
    bytes: AlignedBuffer,
}

impl<'a, T: Stored> Packed<'a, T> {
    /// Packs `b`.
    ///
    /// # Errors
    /// If `b` does not lie in its slice, or no kernel packs its element type.
    pub fn new(context: &Context, b: Mat<'a, T>) -> Result<Packed<'a, T>, Error> {
        // A product without rows checks `b`.
        let right = Mat { is_transposed: false, ..b };
        let sizes = (b.rows(), b.cols());
        let left = Mat::new(&[][..], 0, sizes.0);
        matmul(context, left, b, MatMut::<T>::new(&mut [], 0, sizes.1))?;
        let case = request::<T, T>(&Options::default(), 0, sizes, b.is_transposed).case();
        let chosen = packing(&case).ok_or(Error::NoKernel("matmul"))?;
        let Chosen(kernel, isa) = chosen;
        let mut bytes = AlignedBuffer::new(kernel.prepared_bytes(&case, isa));
        let signature = check_case(ENTRY.op, &case)?;
        let layout = |operand: usize, row_stride: usize| {
            (T::DTYPE, Layout { row_stride, ..signature.operands()[operand].layout() })
        };
        let layouts = vec![layout(LEFT, sizes.0), layout(RIGHT, right.stride)];
        let inputs = [left.into(), right.into()];
        Unplaced::new(layouts, Vec::new()).with(&inputs, &mut [], |inputs, outputs| {
            let mut call = Call {
                case: &case,
                isa,
                threads: context.threads(),
                pool: context.pool(),
                inputs,
                outputs,
                workspace: &mut [],
                prepared: &[],
            };
            kernel.prepare(&mut call, bytes.as_mut_slice())
        })?;
        Ok(Packed { b, chosen, bytes })
    }
}

/// The kernel that packs the right operand of a case.
fn packing(case: &Case) -> Option<Chosen> {
    let paths = |kernel: &'static dyn Kernel| {
        kernel.isas().iter().rev().map(move |&isa: &Isa| Chosen(kernel, isa))
    };
    let mut all = ENTRY.kernels.iter().flat_map(|&kernel| paths(kernel));
    all.find(|&Chosen(kernel, isa)| {
        proofmark_simd::available(isa)
            && kernel.supports(case, isa).is_ok()
            && kernel.prepared_bytes(case, isa) > 0
    })
}

impl<T: Stored> Options<'_, T> {
    /// As [`matmul`], with these options.
    ///
    /// # Errors
    /// As for [`matmul`], and if the rows cannot be divided among the products.
    pub fn run<'b, U: Stored>(
        &self,
        context: &Context,
        a: Mat<'_, T>,
        b: impl Into<Right<'b, T>>,
        c: MatMut<'_, U>,
    ) -> Result<(), Error>
    where
        T: 'b,
    {
        let (b, packed) = match b.into() {
            Right::Plain(b) => (b, None),
            Right::Packed(packed) => (packed.b, Some(packed)),
        };
        let each = if self.shares_right { 1 } else { self.batches };
        let divided = |rows: usize| rows.checked_div(each).unwrap_or(0);
        let sizes = match b.is_transposed {
            true => (b.cols, divided(b.rows)),
            false => (divided(b.rows), b.cols),
        };
        let request = request::<T, U>(self, a.rows, sizes, b.is_transposed);
        let (right, left) = (Mat { is_transposed: false, ..b }.into(), a.into());
        let plain = &[left, right][..];
        let with_bias = self.bias.map(|bias| [left, right, bias.into()]);
        let inputs = with_bias.as_ref().map_or(plain, |all| &all[..]);
        match packed {
            None => request.run(context, inputs, &mut [c.into()]),
            Some(Packed { chosen, bytes, .. }) => {
                let request = request.packed_for(*chosen);
                request.run_packed(context, inputs, &mut [c.into()], bytes.as_slice())
            }
        }
    }
}

/// A request for products of this many rows in all with right operands of `k × n`.
fn request<T: Stored, U: Stored>(
    options: &Options<'_, T>,
    rows: usize,
    (k, n): (usize, usize),
    is_transposed: bool,
) -> Request {
    let m = rows.checked_div(options.batches).unwrap_or(0);
    let mut request = Request::new(&ENTRY, T::DTYPE);
    request = request.axis("b", options.batches).axis("m", m).axis("n", n).axis("k", k);
    request = request.attr("activation", Given::Word(options.activation.word()));
    request = request.attr("bias", Given::Flag(options.bias.is_some()));
    request = request.attr("layout", Given::Word(if is_transposed { "nt" } else { "nn" }));
    request = request.attr("shared", Given::Flag(options.shares_right));
    let is_widened = U::DTYPE == DType::F32 && T::DTYPE != DType::F32;
    if is_widened { request.attr("out", Given::Word("f32")) } else { request }
}
