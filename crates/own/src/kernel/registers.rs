//! Passes arguments in registers: all of them are loaded, and the function reads those that it has.
//!
//! The calling conventions of x86-64 (System V) and AArch64 number the registers of whole numbers
//! and of floats apart, so that the order of the two kinds does not matter. The caller may load
//! more registers than the function has arguments.

use super::signature::Scalar;
use std::cell::Cell;
use std::ffi::c_void;

/// Registers for whole numbers and addresses on x86-64, which has the fewest.
const WHOLE: usize = 6;
/// Registers for floats.
const REAL: usize = 8;

/// The arguments of a function that fit into registers.
pub(super) struct Registers {
    whole: Vec<&'static Cell<u64>>,
    real: Vec<&'static Cell<u64>>,
}

type Whole = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64) -> u64;
#[rustfmt::skip]
type Both = unsafe extern "C" fn(
    u64, u64, u64, u64, u64, u64, f64, f64, f64, f64, f64, f64, f64, f64,
) -> u64;

impl Registers {
    /// Arguments with their types, in order. None if some must lie on the stack, or the processor
    /// is another one.
    pub(super) fn of(arguments: &[(&'static Cell<u64>, Scalar)]) -> Option<Registers> {
        let is_real = |scalar: Scalar| matches!(scalar, Scalar::F32 | Scalar::F64);
        let cells = |wants_real: bool| -> Vec<&'static Cell<u64>> {
            let wanted = arguments.iter().filter(|(_, scalar)| is_real(*scalar) == wants_real);
            wanted.map(|(cell, _)| *cell).collect()
        };
        let (whole, real) = (cells(false), cells(true));
        let is_known = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
        let fits = is_known && whole.len() <= WHOLE && real.len() <= REAL;
        fits.then_some(Registers { whole, real })
    }

    /// Calls a function with the arguments as they are; gives the register in which it returns.
    ///
    /// # Safety
    /// `code` is a function with these arguments.
    #[inline]
    pub(super) unsafe fn pass_to(&self, code: *const c_void) -> u64 {
        let mut whole = [0; WHOLE];
        whole.iter_mut().zip(&self.whole).for_each(|(bits, cell)| *bits = cell.get());
        let [a, b, c, d, e, f] = whole;
        if self.real.is_empty() {
            // SAFETY: the function reads the registers of its arguments and no others.
            return unsafe { std::mem::transmute::<*const c_void, Whole>(code)(a, b, c, d, e, f) };
        }
        let mut real = [0.0; REAL];
        // A float of 32 bits is the lower half of its register.
        real.iter_mut().zip(&self.real).for_each(|(x, cell)| *x = f64::from_bits(cell.get()));
        let [g, h, i, j, k, l, m, n] = real;
        // SAFETY: as above.
        unsafe {
            let function = std::mem::transmute::<*const c_void, Both>(code);
            function(a, b, c, d, e, f, g, h, i, j, k, l, m, n)
        }
    }
}
