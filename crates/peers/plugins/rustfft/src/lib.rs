//! The crate `rustfft` as a peer, with `realfft` for reals.

#[path = "../../abi.rs"]
mod abi;

use abi::{Call, Info, Operand, Peer};
use realfft::{ComplexToReal, FftError, RealFftPlanner, RealToComplex};
use rustfft::num_complex::Complex32;
use rustfft::{Fft, FftDirection, FftPlanner, FftPlannerAvx, FftPlannerNeon, FftPlannerSse};
use std::cell::RefCell;
use std::ffi::CStr;
use std::slice::{from_raw_parts, from_raw_parts_mut};
use std::sync::{Arc, LazyLock};

static INFO: LazyLock<Info> =
    LazyLock::new(|| abi::info::<RustFft>(concat!(env!("CARGO_PKG_VERSION"), "\0")));

thread_local! {
    /// Made where the case is taken and not in a timed call.
    static TAKEN: RefCell<Option<Taken>> = const { RefCell::new(None) };
}

/// Everything that calls on a case need.
struct Taken {
    plan: Plan,
    scratch: Vec<Complex32>,
    /// What results are multiplied by: neither crate scales.
    scale: Option<f32>,
}

/// A plan for one line. Those of reals overwrite what they read, so they are given a copy.
enum Plan {
    Complex(Arc<dyn Fft<f32>>),
    FromReal(Arc<dyn RealToComplex<f32>>, Vec<f32>),
    ToReal(Arc<dyn ComplexToReal<f32>>, Vec<Complex32>),
}

struct RustFft;

impl Peer for RustFft {
    const BUILD: &CStr = c"cargo release, features default, no target-cpu; inverses scaled by a \
        pass of their own; reals by realfft 3.5.1, which is given a copy of each line";
    const HAS_THREADS: bool = false;

    /// What its planner picks, in its order.
    fn isa() -> &'static CStr {
        if FftPlannerAvx::<f32>::new().is_ok() {
            c"avx fma"
        } else if FftPlannerSse::<f32>::new().is_ok() {
            c"sse4.1"
        } else if FftPlannerNeon::<f32>::new().is_ok() {
            c"neon"
        } else {
            c"of the target"
        }
    }

    fn supports(call: &Call) -> Result<(), String> {
        match (call.op(), call.dtype()) {
            ("fft", "f32") => {}
            ("fft", other) => return Err(format!("its adapter has no {other}")),
            (other, _) => return Err(format!("it has no `{other}`")),
        }
        if call.size("x") * call.size("y") > 1 {
            return Err("its transforms are along one axis".to_owned());
        }
        let length = call.size("z");
        let taken = match call.attribute("kind")? {
            "r2c" => from_real(length),
            "c2r" => to_real(length),
            _ => complex(length, call.attribute("direction")? == "inverse"),
        };
        TAKEN.set(Some(taken));
        Ok(())
    }

    fn run(call: &Call) -> Result<(), String> {
        let ([from], [to]) = (call.inputs(), call.outputs()) else {
            return Err("a transform has one input and a result".to_owned());
        };
        if to.shape().contains(&0) {
            return Ok(());
        }
        TAKEN.with_borrow_mut(|taken| {
            taken
                .as_mut()
                .ok_or("no case was taken")?
                .run(from, to)
                .map_err(|error| error.to_string())
        })
    }
}

fn complex(length: usize, is_inverse: bool) -> Taken {
    let direction = if is_inverse { FftDirection::Inverse } else { FftDirection::Forward };
    let fft = FftPlanner::new().plan_fft(length, direction);
    Taken {
        scratch: vec![Complex32::ZERO; fft.get_immutable_scratch_len()],
        scale: is_inverse.then(|| 1.0 / length as f32),
        plan: Plan::Complex(fft),
    }
}

fn from_real(length: usize) -> Taken {
    let fft = RealFftPlanner::new().plan_fft_forward(length);
    let (scratch, copy) = (fft.make_scratch_vec(), fft.make_input_vec());
    Taken { plan: Plan::FromReal(fft, copy), scratch, scale: None }
}

fn to_real(length: usize) -> Taken {
    let fft = RealFftPlanner::new().plan_fft_inverse(length);
    let (scratch, copy) = (fft.make_scratch_vec(), fft.make_input_vec());
    Taken { plan: Plan::ToReal(fft, copy), scratch, scale: Some(1.0 / length as f32) }
}

impl Taken {
    fn run(&mut self, from: &Operand, to: &Operand) -> Result<(), FftError> {
        let scratch = &mut self.scratch;
        match &mut self.plan {
            Plan::Complex(fft) => {
                fft.process_immutable_with_scratch(read(from), written(to), scratch);
            }
            Plan::FromReal(fft, copy) => {
                let lines = written(to).chunks_exact_mut(fft.complex_len());
                for (from, to) in read(from).chunks_exact(fft.len()).zip(lines) {
                    copy.copy_from_slice(from);
                    fft.process_with_scratch(copy, to, scratch)?;
                }
            }
            Plan::ToReal(fft, copy) => {
                let lines = written(to).chunks_exact_mut(fft.len());
                for (from, to) in read(from).chunks_exact(fft.complex_len()).zip(lines) {
                    copy.copy_from_slice(from);
                    match fft.process_with_scratch(copy, to, scratch) {
                        // It took the parts that count for nothing as zeros, as the op has it.
                        Ok(()) | Err(FftError::InputValues(..)) => {}
                        Err(other) => return Err(other),
                    }
                }
            }
        }
        if let Some(scale) = self.scale {
            written::<f32>(to).iter_mut().for_each(|number| *number *= scale);
        }
        Ok(())
    }
}

/// Reals or complex numbers, of which an operand of f32 without gaps holds so many.
fn count<T>(operand: &Operand) -> usize {
    let (rows, length) = operand.rows();
    rows * length * size_of::<f32>() / size_of::<T>()
}

fn read<'a, T>(operand: &Operand) -> &'a [T] {
    // SAFETY: so many numbers lie there, aligned as f32 is, and nothing writes during the call.
    unsafe { from_raw_parts(operand.data.cast(), count::<T>(operand)) }
}

fn written<'a, T>(operand: &Operand) -> &'a mut [T] {
    // SAFETY: as above; an output overlaps no input, and each view ends before the next is made.
    unsafe { from_raw_parts_mut(operand.data.cast(), count::<T>(operand)) }
}

/// The interface's one export.
#[unsafe(no_mangle)]
pub extern "C" fn proofmark_peer() -> *const Info {
    &raw const *INFO
}
