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
mod kernels;
mod laws;
mod members;
mod mutants;
mod oracle;
#[cfg(test)]
mod tests;

use crate::blocks::stored::Stored;
use crate::library::{self, LibraryError, Slice};
use kernels::{Parallel, Scalar, Vector};
use members::Member;
use proofmark_contract::{Entry, Kernel};
use proofmark_schema::{AttrValue, Case, DType};
use proofmark_tensor::Pool;

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
        mutants: M::MUTANTS,
        suite: include_str!("suite.toml"),
    }
}

/// Writes `a + b` to `c`, element by element.
///
/// ```
/// use proofmark_ops::elementwise::add;
///
/// let mut c = [0.0; 3];
/// add(&[1.0, 2.0, -0.0], &[0.5, f32::INFINITY, -0.0], &mut c)?;
/// assert_eq!(c, [1.5, f32::INFINITY, 0.0]);
/// assert!(c[2].is_sign_negative());
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If the lengths differ.
pub fn add(a: &[f32], b: &[f32], c: &mut [f32]) -> Result<(), LibraryError> {
    binary(&ADD, a, b, c, &Pool::serial(), 1)
}

/// Writes `alpha · x + y` to `z`, with up to `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::elementwise::axpy;
/// use proofmark_tensor::Pool;
///
/// let mut z = [0.0f32; 2];
/// axpy(-0.5, &[4.0, 6.0], &[1.0, 10.0], &mut z, &Pool::serial(), 1)?;
/// assert_eq!(z, [-1.0, 7.0]);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If the lengths differ, or `alpha` is beyond ±1000.
pub fn axpy<T: Stored>(
    alpha: f32,
    x: &[T],
    y: &[T],
    z: &mut [T],
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let alpha = AttrValue::Real(f64::from(alpha));
    let case = row("axpy", T::DTYPE, x.len()).attr("alpha", alpha);
    library::run(&AXPY, &case, &[x.into(), y.into()], &mut [z.into()], pool, threads)
}

/// Applies one of this module's members of two operands to slices, with up to `threads` threads of
/// `pool`.
///
/// ```
/// use proofmark_ops::elementwise::{SWIGLU, binary};
/// use proofmark_tensor::Pool;
///
/// let mut y = [0.0f32; 2];
/// binary(&SWIGLU, &[0.0, 100.0], &[3.0, 3.0], &mut y, &Pool::serial(), 1)?;
/// assert_eq!(y, [0.0, 300.0]);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If the lengths differ, or the entry is not a member of two operands.
pub fn binary<T: Stored>(
    member: &Entry,
    a: &[T],
    b: &[T],
    c: &mut [T],
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    apply(member, &[a.into(), b.into()], c, pool, threads)
}

/// Applies one of this module's members of one operand to a slice, with up to `threads` threads of
/// `pool`.
///
/// ```
/// use proofmark_ops::elementwise::{GELU, unary};
/// use proofmark_tensor::Pool;
///
/// let mut y = [0.0f32; 2];
/// unary(&GELU, &[1.0, -10.0], &mut y, &Pool::serial(), 1)?;
/// assert!((y[0] - 0.841_344_75).abs() < 1e-6);
/// // The tail is relatively exact.
/// assert!((y[1] / -7.619_853e-23 - 1.0).abs() < 1e-6);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If the lengths differ, or the entry is not a member of one operand.
pub fn unary<T: Stored>(
    member: &Entry,
    x: &[T],
    y: &mut [T],
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    apply(member, &[x.into()], y, pool, threads)
}

/// Writes `x·σ(x)` to `y`, with up to `threads` threads of `pool`.
///
/// ```
/// use proofmark_ops::elementwise::silu;
/// use proofmark_tensor::Pool;
///
/// let mut y = [0.0f32; 3];
/// silu(&[0.0, 3f32.ln(), -3f32.ln()], &mut y, &Pool::serial(), 1)?;
/// // σ(ln 3) is 3/4 and σ(−ln 3) is 1/4.
/// assert_eq!(y[0], 0.0);
/// assert!((y[1] - 0.75 * 3f32.ln()).abs() < 1e-6);
/// assert!((y[2] + 0.25 * 3f32.ln()).abs() < 1e-6);
/// # Ok::<(), proofmark_ops::library::LibraryError>(())
/// ```
///
/// # Errors
/// If `y` is not as long as `x`.
pub fn silu<T: Stored>(
    x: &[T],
    y: &mut [T],
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    unary(&SILU, x, y, pool, threads)
}

fn apply<T: Stored>(
    member: &Entry,
    operands: &[Slice<'_>],
    output: &mut [T],
    pool: &Pool,
    threads: usize,
) -> Result<(), LibraryError> {
    let case = row(member.op.name(), T::DTYPE, operands[0].len());
    library::run(member, &case, operands, &mut [output.into()], pool, threads)
}

fn row(op: &str, dtype: DType, length: usize) -> Case {
    Case::new(op, dtype).axis("b", 1).axis("s", 1).axis("d", length as u64)
}
