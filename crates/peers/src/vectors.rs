//! What libraries with the C interface of BLAS have for rows: `dot` and `axpy`.

use crate::Called;
use crate::blas::CalledAndEmpty;
use crate::open::Open;
use crate::rows::rows;
use proofmark_contract::{ExplicitCase, KernelError};

/// Length, then the vectors with their steps.
type Dot<I> = unsafe extern "C" fn(I, *const f32, I, *const f32, I) -> f32;
type Axpy<I> = unsafe extern "C" fn(I, f32, *const f32, I, *mut f32, I);
type Copy<I> = unsafe extern "C" fn(I, *const f32, I, *mut f32, I);

/// The call of a case and an empty call; `name` gives the library's name of a routine.
///
/// # Errors
/// If the library lacks a routine, or the op an attribute.
pub(crate) fn by<I: TryFrom<usize> + std::marker::Copy + 'static>(
    library: &Open,
    case: &ExplicitCase,
    name: &dyn Fn(&str) -> String,
) -> Result<CalledAndEmpty, String> {
    let too_long = || KernelError::Refused("a row is too long for its integers".to_owned());
    let length = move |bytes: usize| I::try_from(bytes / size_of::<f32>()).map_err(|_| too_long());
    let (one, none) = (length(size_of::<f32>()), length(0));
    let (Ok(one), Ok(none)) = (one, none) else { return Err(too_long().to_string()) };
    if case.op == "dot" {
        // SAFETY: the documented type.
        let dot: Dot<I> = unsafe { library.get(&name("sdot"))? };
        let called: Called = Box::new(move |call| {
            let ([x, y], [result]) = (call.inputs, &mut *call.outputs) else {
                return Err(KernelError::Refused("dot has two inputs and a result".to_owned()));
            };
            let mut pairs = rows(x).zip(rows(y));
            let mut results = result.rows_mut::<f32>()?;
            for row in 0..results.rows() {
                for (to, ((x, _, bytes), (y, _, _))) in
                    results.row_mut(row).iter_mut().zip(pairs.by_ref())
                {
                    // SAFETY: rows of so many bytes.
                    *to = unsafe { dot(length(bytes)?, x.cast(), one, y.cast(), one) };
                }
            }
            Ok(())
        });
        let empty = [0f32; 1];
        return Ok((
            called,
            Box::new(move || {
                // SAFETY: no element is read.
                unsafe { dot(none, empty.as_ptr(), one, empty.as_ptr(), one) };
            }),
        ));
    }
    // SAFETY: the documented types.
    let (axpy, copy): (Axpy<I>, Copy<I>) =
        unsafe { (library.get(&name("saxpy"))?, library.get(&name("scopy"))?) };
    let alpha = case.real("alpha")? as f32;
    let called: Called = Box::new(move |call| {
        let ([x, y], [result]) = (call.inputs, &*call.outputs) else {
            return Err(KernelError::Refused("axpy has two inputs and a result".to_owned()));
        };
        for ((x, y), z) in rows(x).zip(rows(y)).zip(rows(result)) {
            let count = length(x.2)?;
            // SAFETY: rows of so many bytes; the last is of an operand for writing.
            unsafe {
                copy(count, y.0.cast(), one, z.0.cast(), one);
                axpy(count, alpha, x.0.cast(), one, z.0.cast(), one);
            }
        }
        Ok(())
    });
    Ok((
        called,
        Box::new(move || {
            let mut empty = [0f32; 1];
            // SAFETY: no element is read or written.
            unsafe { axpy(none, alpha, [0f32; 1].as_ptr(), one, empty.as_mut_ptr(), one) };
        }),
    ))
}
