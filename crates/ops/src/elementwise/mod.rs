//! Elementwise ops: one formula applied to every element; one generic body, one table of members.
//!
//! ```text
//! add         c = a + b               exp         y = e^x
//! sub         c = a − b               tanh        y = tanh x
//! mul         c = a · b               sigmoid     y = 1 / (1 + e^−x)
//! div         c = a / b               silu        y = x · σ(x)
//! axpy        z = alpha · x + y       gelu        y = x · Φ(x) = x · (1 + erf(x/√2)) / 2
//! relu        y = max(x, 0)           gelu_tanh   y = x · (1 + tanh(√(2/π)(x + 0.044715 x³))) / 2
//! swiglu      y = silu(gate) · up     gelu_quick  y = x · σ(1.702 x)
//! geglu       y = gelu_tanh(gate) · up
//! ```
//!
//! | axis | meaning |
//! |---|---|
//! | `b` | sequences in the batch |
//! | `s` | positions of a sequence |
//! | `d` | elements of a row |
//!
//! Variants:
//! - `inplace`: the first operand is overwritten with the result.
//! - `alpha` (axpy): the factor of x, rounded to f32.
//! - `rounding=stochastic` (add, bf16): the f32 result is rounded up in magnitude with a
//!   probability equal to the fraction that truncation would drop, as training updates want it. The
//!   random bits are a function of the element's logical index and of the operand `random`, so the
//!   result is defined to the bit, whatever the threads and strides:
//!   `out = top 16 bits of (bits(s) + r)`, `r` = low 16 bits of word 0 of Philox4x32-10 with
//!   counter `[index, index >> 32, random[2], random[3]]` and key `[random[0], random[1]]`.
//!
//! 16-bit elements are computed in f32 and rounded once, to nearest even where nothing else is
//! said. An empty axis writes nothing.
//!
//! Edges: each member's own, in its definition below `members/` and in `proofmark list --op`.
//! Relative accuracy holds in the tails too: `gelu` of -10 is -7.6e-23. A contender whose formula
//! cancels there (`1 + erf`, `1 + tanh`) may say so in its contract; it is then held to the error
//! of that formula, and no other slip is forgiven.
//!
//! A new member is a block in `members/`, its truth in `oracle.rs`, and a line here.

#[cfg(test)]
mod add_tests;
mod definition;
#[cfg(test)]
mod edge_tests;
#[cfg(feature = "judge")]
mod judge;
mod kernels;
#[cfg(feature = "judge")]
mod laws;
mod members;
#[cfg(feature = "judge")]
mod mutants;
#[cfg(feature = "judge")]
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::stored::Stored;
use crate::library::{Context, Error, Given, Mat, MatMut, Request};
use kernels::{Parallel, Scalar, Vector};
use members::Member;
use proofmark_contract::{Entry, Kernel};

/// The members, each with everything that belongs to it.
macro_rules! entries {
    ($($name:ident: $member:ident<$n:literal>, $op:literal;)*) => {
        $(
            #[doc = concat!("`", $op, "` with everything that belongs to it.")]
            pub static $name: Entry = entry::<members::$member, $n>();
        )*
    };
}

entries! {
    ADD: Add<2>, "add";
    AXPY: Axpy<2>, "axpy";
    DIV: Div<2>, "div";
    EXP: Exp<1>, "exp";
    GEGLU: Geglu<2>, "geglu";
    GELU: Gelu<1>, "gelu";
    GELU_QUICK: GeluQuick<1>, "gelu_quick";
    GELU_TANH: GeluTanh<1>, "gelu_tanh";
    MUL: Mul<2>, "mul";
    RELU: Relu<1>, "relu";
    SIGMOID: Sigmoid<1>, "sigmoid";
    SILU: Silu<1>, "silu";
    SUB: Sub<2>, "sub";
    SWIGLU: Swiglu<2>, "swiglu";
    TANH: Tanh<1>, "tanh";
}

/// A member with the family's kernels.
const fn entry<M: Member<N>, const N: usize>() -> Entry {
    Entry {
        op: const { &M::DEFINITION },
        kernels: const {
            &[
                &Parallel::<M, N>::NEW as &dyn Kernel,
                &Vector::<M, N>::NEW as &dyn Kernel,
                &Scalar::<M, N>::NEW as &dyn Kernel,
            ]
        },
        #[cfg(feature = "judge")]
        mutants: M::MUTANTS,
        #[cfg(feature = "judge")]
        suite: include_str!("suite.toml"),
    }
}

macro_rules! doors {
    ($($(#[$doc:meta])* $name:ident($($input:ident),+): $entry:ident;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Errors
            /// If the sizes differ.
            pub fn $name<'a, T: Stored>(
                context: &Context,
                $($input: impl Into<Mat<'a, T>>,)+
                out: impl Into<MatMut<'a, T>>,
            ) -> Result<(), Error> {
                apply(&$entry, context, [$($input.into()),+], out.into())
            }
        )*
    };
}

doors! {
    /// Writes `a + b` to `out`.
    ///
    /// ```
    /// use proofmark_ops::{Context, elementwise::add};
    ///
    /// let mut c = [0.0f32; 3];
    /// add(&Context::serial(), &[1.0, 2.0, -0.0], &[0.5, f32::INFINITY, -0.0], &mut c)?;
    /// assert_eq!(c, [1.5, f32::INFINITY, 0.0]);
    /// assert!(c[2].is_sign_negative());
    /// # Ok::<(), proofmark_ops::Error>(())
    /// ```
    add(a, b): ADD;
    /// Writes `a - b` to `out`.
    sub(a, b): SUB;
    /// Writes `a * b` to `out`.
    mul(a, b): MUL;
    /// Writes `a / b` to `out`.
    div(a, b): DIV;
    /// Writes `exp(x)` to `out`.
    exp(x): EXP;
    /// Writes the hyperbolic tangent of `x` to `out`.
    tanh(x): TANH;
    /// Writes `1 / (1 + exp(-x))` to `out`.
    sigmoid(x): SIGMOID;
    /// Writes `x` where it is positive, else 0, to `out`.
    relu(x): RELU;
    /// Writes `x` times the normal distribution function of `x` to `out`.
    ///
    /// ```
    /// use proofmark_ops::{Context, elementwise::gelu};
    ///
    /// let mut y = [0.0f32; 2];
    /// gelu(&Context::serial(), &[1.0, -10.0], &mut y)?;
    /// assert!((y[0] - 0.841_344_75).abs() < 1e-6);
    /// // The tail is relatively exact.
    /// assert!((y[1] / -7.619_853e-23 - 1.0).abs() < 1e-6);
    /// # Ok::<(), proofmark_ops::Error>(())
    /// ```
    gelu(x): GELU;
    /// Writes the approximation of [`gelu`] by a hyperbolic tangent to `out`.
    gelu_tanh(x): GELU_TANH;
    /// Writes the approximation of [`gelu`] by a sigmoid to `out`.
    gelu_quick(x): GELU_QUICK;
    /// Writes `x * sigmoid(x)` to `out`.
    silu(x): SILU;
    /// Writes `silu(gate) * up` to `out`.
    ///
    /// ```
    /// use proofmark_ops::{Context, elementwise::swiglu};
    ///
    /// let mut y = [0.0f32; 2];
    /// swiglu(&Context::serial(), &[0.0, 100.0], &[3.0, 3.0], &mut y)?;
    /// assert_eq!(y, [0.0, 300.0]);
    /// # Ok::<(), proofmark_ops::Error>(())
    /// ```
    swiglu(gate, up): SWIGLU;
    /// Writes `gelu(gate) * up` to `out`.
    geglu(gate, up): GEGLU;
}

/// The same ops with their first operand as the output too.
pub mod in_place {
    use super::{ADD, DIV, EXP, GEGLU, GELU, GELU_QUICK, GELU_TANH, MUL};
    use super::{Context, Error, Given, Mat, MatMut, Request, Stored};
    use super::{RELU, SIGMOID, SILU, SUB, SWIGLU, TANH};

    macro_rules! doors {
        ($($name:ident($($more:ident)?): $entry:ident;)*) => {
            $(
                #[doc = concat!("[`", stringify!($name), "`](super::", stringify!($name), "()), ")]
                /// written to its first operand.
                ///
                /// # Errors
                /// If the sizes differ.
                pub fn $name<'a, T: Stored>(
                    context: &Context,
                    x: impl Into<MatMut<'a, T>>,
                    $($more: impl Into<Mat<'a, T>>,)?
                ) -> Result<(), Error> {
                    let x = x.into();
                    let request = Request::rows(&$entry, T::DTYPE, (x.rows, x.cols));
                    let request = request.attr("inplace", Given::Flag(true));
                    request.run(context, &[$($more.into().into())?], &mut [x.into()])
                }
            )*
        };
    }

    doors! {
        add(b): ADD;
        sub(b): SUB;
        mul(b): MUL;
        div(b): DIV;
        exp(): EXP;
        tanh(): TANH;
        sigmoid(): SIGMOID;
        relu(): RELU;
        gelu(): GELU;
        gelu_tanh(): GELU_TANH;
        gelu_quick(): GELU_QUICK;
        silu(): SILU;
        swiglu(up): SWIGLU;
        geglu(up): GEGLU;
    }
}

/// Writes `alpha * x + y` to `z`.
///
/// ```
/// use proofmark_ops::{Context, elementwise::axpy};
///
/// let mut z = [0.0f32; 2];
/// axpy(&Context::serial(), -0.5, &[4.0, 6.0], &[1.0, 10.0], &mut z)?;
/// assert_eq!(z, [-1.0, 7.0]);
/// # Ok::<(), proofmark_ops::Error>(())
/// ```
///
/// # Errors
/// If the sizes differ, or `alpha` is beyond ±1000.
pub fn axpy<'a, T: Stored>(
    context: &Context,
    alpha: f32,
    x: impl Into<Mat<'a, T>>,
    y: impl Into<Mat<'a, T>>,
    z: impl Into<MatMut<'a, T>>,
) -> Result<(), Error> {
    let (x, y, z) = (x.into(), y.into(), z.into());
    let request = Request::rows(&AXPY, T::DTYPE, (x.rows, x.cols));
    let request = request.attr("alpha", Given::Real(f64::from(alpha)));
    request.run(context, &[x.into(), y.into()], &mut [z.into()])
}

fn apply<T: Stored, const N: usize>(
    entry: &'static Entry,
    context: &Context,
    inputs: [Mat<'_, T>; N],
    out: MatMut<'_, T>,
) -> Result<(), Error> {
    let request = Request::rows(entry, T::DTYPE, (out.rows, out.cols));
    request.run(context, &inputs.map(Into::into), &mut [out.into()])
}
