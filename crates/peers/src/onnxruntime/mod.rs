//! ONNX Runtime, by its C interface: the case as a model of one op, run on its CPU kernels.

mod model;
mod session;

use crate::{Found, Peer, Ready, Source};
use proofmark_contract::{Call, KernelError, Unsupported};
use proofmark_schema::{Case, DType, Receipt};
use proofmark_tensor::{AlignedBuffer, Tensor};
use session::{Addresses, Runtime, Session};
use std::cell::RefCell;
use std::ptr::null_mut;
use std::rc::Rc;

/// ONNX Runtime.
pub(crate) struct OnnxRuntime;

impl Peer for OnnxRuntime {
    fn name(&self) -> &'static str {
        "onnxruntime"
    }

    fn summary(&self) -> &'static str {
        "ONNX Runtime on the CPU; weights are inputs, packed inside the call"
    }

    fn ops(&self) -> &'static [&'static str] {
        &["matmul", "softmax", "rms_norm", "silu", "add"]
    }

    fn source(&self) -> Source {
        Source::Wheels { packages: &["onnxruntime"], library: "libonnxruntime.so" }
    }

    fn system_names(&self) -> &'static [&'static str] {
        &["libonnxruntime.so", "libonnxruntime.so.1"]
    }

    fn supports(&self, case: &Case) -> Result<(), Unsupported> {
        let refused = |reason: &str| Err(Unsupported(reason.to_owned()));
        let is_norm = case.op == "rms_norm";
        match case.dtype {
            DType::F32 => {}
            DType::F16 | DType::Bf16 if is_norm => {}
            _ => return refused("its CPU kernels of this op are for f32"),
        }
        if case.flag("inplace", false) {
            return refused("it writes results beside its inputs");
        }
        if case.word("variant", "llama") != "llama" {
            return refused("it weights by w, not by 1 + w");
        }
        Ok(())
    }

    fn load(&self, found: &Found, case: &Case, threads: usize) -> Result<Ready, String> {
        // As long as the process, as the library itself.
        let runtime: &'static Runtime = Box::leak(Box::new(Runtime::open(&found.library)?));
        let session = runtime.session(&model::of(case), case.dtype, threads)?;
        let case = case.clone();
        let state = State { threads, session: Ok(session), scratch: Default::default() };
        let state = Rc::new(RefCell::new(state));
        let (told, called) = (Rc::clone(&state), state);
        let nothing = Case::new("add", DType::F32).axis("b", 1).axis("s", 1).axis("d", 0);
        let nothing = RefCell::new(runtime.session(&model::of(&nothing), DType::F32, 1)?);
        Ok(Ready {
            receipt: Receipt {
                version: runtime.version.clone(),
                build: runtime.build.clone(),
                isa: "not reported".to_owned(),
                device: "cpu".to_owned(),
                ..Receipt::default()
            },
            set_threads: Some(Box::new(move |threads| {
                let mut state = told.borrow_mut();
                if state.threads != threads {
                    // A session has its threads for life; what fails here is told by the call.
                    let session = runtime.session(&model::of(&case), case.dtype, threads);
                    (state.threads, state.session) = (threads, session);
                }
            })),
            run: Box::new(move |call| called.borrow_mut().run(call).map_err(KernelError::Refused)),
            settle: None,
            empty: Some(Box::new(move || {
                // SAFETY: there is not one element to touch.
                let _ = unsafe { nothing.borrow_mut().run(&[null_mut(); 3]) };
            })),
        })
    }
}

/// A case that is called.
struct State {
    threads: usize,
    session: Result<Session, String>,
    /// Operands without their padding: the library knows none.
    scratch: [Option<AlignedBuffer>; 3],
}

impl State {
    fn run(&mut self, call: &mut Call<'_>) -> Result<(), String> {
        if call.outputs[0].layout.is_empty() {
            // Its normalisation refuses rows without elements.
            return Ok(());
        }
        let session = self.session.as_mut().map_err(|error| error.clone())?;
        let mut addresses: Addresses = [null_mut(); 3];
        let tensors = call.inputs.iter().chain(call.outputs.iter());
        let places = addresses.iter_mut().zip(&mut self.scratch);
        for ((address, scratch), tensor) in places.zip(tensors) {
            *address = match tensor.layout.is_dense() {
                true => tensor.base(),
                false => without_padding(tensor, scratch),
            };
        }
        // SAFETY: operands of the case that the model was made of, none with padding.
        unsafe { session.run(&addresses)? };
        let result = &call.outputs[0];
        if !result.layout.is_dense() {
            let dense = addresses[call.inputs.len()];
            for (row, at, bytes) in rows(result) {
                // SAFETY: a row of an operand that the call has for writing, from our own memory.
                unsafe { row.copy_from_nonoverlapping(dense.add(at), bytes) };
            }
        }
        Ok(())
    }
}

/// A copy of a tensor with its rows side by side.
fn without_padding(tensor: &Tensor, scratch: &mut Option<AlignedBuffer>) -> *mut u8 {
    let bytes = tensor.layout.len() * tensor.dtype.size();
    let scratch = scratch.get_or_insert_with(|| AlignedBuffer::new(bytes));
    let dense = scratch.as_mut_slice().as_mut_ptr();
    for (row, at, bytes) in rows(tensor) {
        // SAFETY: a row of an operand, into memory that holds all of them; a case's sizes stay.
        unsafe { dense.add(at).copy_from_nonoverlapping(row, bytes) };
    }
    dense
}

/// Each row: where it lies, where it lies in a copy without padding, and its bytes.
fn rows(tensor: &Tensor) -> impl Iterator<Item = (*mut u8, usize, usize)> + use<'_> {
    let (layout, size) = (&tensor.layout, tensor.dtype.size());
    let (stride, bytes) = (layout.row_stride * size, layout.cols() * size);
    (0..layout.rows())
        .map(move |row| (tensor.base().wrapping_add(row * stride), row * bytes, bytes))
}
