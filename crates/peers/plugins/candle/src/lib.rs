//! The crates `candle-core` and `candle-nn` as a peer.

#[path = "../../abi.rs"]
mod abi;

use abi::{Call, Info, Operand, Peer};
use candle_core::op::BackpropOp;
use candle_core::{CpuStorage, Shape, Storage, Tensor, WithDType};
use half::{bf16, f16};
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::LazyLock;

static INFO: LazyLock<Info> =
    LazyLock::new(|| abi::info::<Candle>(concat!(env!("CARGO_PKG_VERSION"), "\0")));

thread_local! {
    static STATE: RefCell<State> = const {
        RefCell::new(State { formula: Formula::Add, bound: Vec::new(), last: None })
    };
}

struct State {
    formula: Formula,
    /// Tensors of the operands that were met, by their addresses.
    bound: Vec<Bound>,
    /// What the last call returned.
    last: Option<Tensor>,
}

/// Tensors whose memory is the operands': never dropped, for it is not theirs to free.
struct Bound {
    addresses: Vec<*mut u8>,
    inputs: ManuallyDrop<Vec<Tensor>>,
}

#[derive(Clone, Copy)]
enum Formula {
    Matmul { is_transposed: bool, is_shared: bool },
    Softmax,
    RmsNorm { eps: f32 },
    Silu,
    Add,
}

struct Candle;

impl Peer for Candle {
    const BUILD: &std::ffi::CStr =
        c"cargo release, features default (gemm without x86-v4), target-cpu=native";
    const HAS_AVX512: bool = false;
    const MEMORY: Option<&'static std::ffi::CStr> = Some(c"new memory for each result");

    fn supports(call: &Call) -> Result<(), String> {
        let formula = Formula::of(call)?;
        STATE.with_borrow_mut(|state| {
            *state = State { formula, bound: Vec::new(), last: None };
        });
        Ok(())
    }

    fn run(call: &Call) -> Result<(), String> {
        STATE.with_borrow_mut(|state| {
            let formula = state.formula;
            if call.outputs()[0].shape().contains(&0) {
                return Ok(());
            }
            let result = if call.inputs().iter().all(Operand::is_dense) {
                formula.apply(state.tensors(call))
            } else {
                let inputs: Vec<Tensor> = call.inputs().iter().map(copy_in).collect();
                formula.apply(&inputs)
            };
            state.last = Some(result.map_err(|error| error.to_string())?);
            Ok(())
        })
    }

    /// Both the crate and rayon read the variable when they are first used: a process has the
    /// number that it was loaded with.
    fn set_threads(threads: usize) {
        // SAFETY: called by the one thread of a process that has started no other yet, or later,
        // when what reads it is this thread.
        unsafe { std::env::set_var("RAYON_NUM_THREADS", threads.to_string()) };
    }

    fn settle(call: &Call) -> Result<(), String> {
        STATE.with_borrow(|state| match &state.last {
            Some(last) => copy_out(last, &call.outputs()[0]).map_err(|error| error.to_string()),
            None => Ok(()),
        })
    }
}

impl Formula {
    fn of(call: &Call) -> Result<Formula, String> {
        if call.has("inplace", "true") {
            return Err("its results are new tensors: it has nothing in place".to_owned());
        }
        match call.op() {
            "softmax" | "rms_norm" | "silu" if call.dtype() != "f32" => {
                Err(format!("it rounds to {} after each step of it, not once", call.dtype()))
            }
            "matmul" if call.attribute("out")? == "f32" && call.dtype() != "f32" => {
                Err("its products have the type of their factors".to_owned())
            }
            "matmul" => Ok(Formula::Matmul {
                is_transposed: call.attribute("layout")? == "nt",
                is_shared: call.attribute("shared")? == "true",
            }),
            "rms_norm" if call.attribute("variant")? == "gemma" => {
                Err("it has no weight of 1 + w".to_owned())
            }
            "rms_norm" => {
                let eps = call.attribute("eps")?.parse().map_err(|_| "eps is no number")?;
                Ok(Formula::RmsNorm { eps })
            }
            "add" if call.attribute("rounding")? != "nearest" => {
                Err("it rounds to the nearest".to_owned())
            }
            "add" => Ok(Formula::Add),
            "softmax" => Ok(Formula::Softmax),
            "silu" => Ok(Formula::Silu),
            other => Err(format!("it has no `{other}`")),
        }
    }

    fn apply(self, inputs: &[Tensor]) -> candle_core::Result<Tensor> {
        match (self, inputs) {
            (Formula::Matmul { is_transposed, is_shared }, [left, right]) => {
                let right = if is_transposed { &right.t()? } else { right };
                if is_shared { left.broadcast_matmul(right) } else { left.matmul(right) }
            }
            (Formula::RmsNorm { eps }, [x, w]) => candle_nn::ops::rms_norm(x, w, eps),
            (Formula::Softmax, [x]) => candle_nn::ops::softmax_last_dim(x),
            (Formula::Silu, [x]) => x.silu(),
            (Formula::Add, [a, b]) => a + b,
            (_, inputs) => candle_core::bail!("{} operands", inputs.len()),
        }
    }
}

impl State {
    /// The tensors of a call's operands, made when they are first met.
    fn tensors(&mut self, call: &Call) -> &[Tensor] {
        let inputs = call.inputs();
        let is_same = |bound: &Bound| {
            bound.addresses.iter().zip(inputs).all(|(&known, operand)| known == operand.data)
        };
        let place = self.bound.iter().position(is_same).unwrap_or_else(|| {
            self.bound.push(Bound {
                addresses: inputs.iter().map(|operand| operand.data).collect(),
                inputs: ManuallyDrop::new(inputs.iter().map(over).collect()),
            });
            self.bound.len() - 1
        });
        &self.bound[place].inputs
    }
}

/// A tensor of these elements.
fn tensor<T: WithDType>(elements: Vec<T>, operand: &Operand) -> Tensor {
    let storage = Storage::Cpu(T::to_cpu_storage_owned(elements));
    Tensor::from_storage(storage, Shape::from_dims(operand.shape()), BackpropOp::none(), false)
}

/// A tensor over a dense operand's own memory.
fn over(operand: &Operand) -> Tensor {
    fn at<T: WithDType>(operand: &Operand) -> Tensor {
        let (rows, length) = operand.rows();
        // SAFETY: so many elements lie there, aligned. The vector is read only, never grows and
        // is never dropped, so that no allocator hears of it.
        let elements =
            unsafe { Vec::from_raw_parts(operand.data.cast::<T>(), rows * length, rows * length) };
        tensor(elements, operand)
    }
    match operand.dtype() {
        "bf16" => at::<bf16>(operand),
        "f16" => at::<f16>(operand),
        _ => at::<f32>(operand),
    }
}

/// A tensor with a copy of an operand whose rows lie apart, which the crate has no tensor for.
fn copy_in(operand: &Operand) -> Tensor {
    fn from<T: WithDType>(operand: &Operand) -> Tensor {
        let (rows, length) = operand.rows();
        let elements = (0..rows).flat_map(|row| {
            let first = operand.data.cast::<T>().wrapping_add(row * operand.row_stride);
            // SAFETY: the elements of a row of the operand, aligned.
            unsafe { std::slice::from_raw_parts(first, length) }.iter().copied()
        });
        tensor(elements.collect(), operand)
    }
    match operand.dtype() {
        "bf16" => from::<bf16>(operand),
        "f16" => from::<f16>(operand),
        _ => from::<f32>(operand),
    }
}

/// Copies a result into an operand.
fn copy_out(result: &Tensor, operand: &Operand) -> candle_core::Result<()> {
    fn into<T: WithDType>(elements: &[T], operand: &Operand) {
        let (_, length) = operand.rows();
        for (row, elements) in elements.chunks_exact(length).enumerate() {
            let first = operand.data.cast::<T>().wrapping_add(row * operand.row_stride);
            // SAFETY: a row of the operand has so many elements; the tensor's lie elsewhere.
            unsafe { first.copy_from_nonoverlapping(elements.as_ptr(), length) };
        }
    }
    let result = result.contiguous()?;
    let (storage, layout) = result.storage_and_layout();
    let Storage::Cpu(storage) = &*storage else { candle_core::bail!("it is on a device") };
    let (start, end) = (layout.start_offset(), layout.start_offset() + layout.shape().elem_count());
    match storage {
        CpuStorage::F32(elements) => into(&elements[start..end], operand),
        CpuStorage::BF16(elements) => into(&elements[start..end], operand),
        CpuStorage::F16(elements) => into(&elements[start..end], operand),
        _ => candle_core::bail!("a result of another type"),
    }
    Ok(())
}

/// The interface's one export.
#[unsafe(no_mangle)]
pub extern "C" fn proofmark_peer() -> *const Info {
    &raw const *INFO
}
