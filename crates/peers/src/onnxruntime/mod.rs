//! ONNX Runtime, by its C interface: the case as a small model, run on its CPU kernels.

mod message;
mod model;
mod ops;
mod session;

use crate::peer::{FLUSHED, PLAIN, names};
use crate::rows::{Dense, is_of_nothing};
use crate::{CallMemory, Found, Peer, Ready, Source};
use model::{Graph, Model};
use ops::OPS;
use proofmark_contract::{Call, ExplicitCase, KernelError, Operand, Role, Signature, Unsupported};
use proofmark_schema::{DType, ErrorContract, Receipt};
use session::{Runtime, Session};
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
        const { &names::<_, { OPS.len() }>(OPS) }
    }

    fn source(&self) -> Source {
        let lock = include_str!("../../locks/onnxruntime.txt");
        Source::Wheels { packages: &["onnxruntime"], lock, library: "libonnxruntime.so" }
    }

    fn system_names(&self) -> &'static [&'static str] {
        &["libonnxruntime.so", "libonnxruntime.so.1"]
    }

    /// Its max ignores NaN, and so do its recurrent layers, whose gates are clipped. Its gelus use
    /// the textbook formulas, with `1 + erf` and `1 + tanh`. Its tanh is a quotient of polynomials
    /// whose terms in x lose the digits of subnormals. Its sigmoid, `1/2` plus such a quotient, is
    /// 0 from -18 down, where e^x is not. No contract allows that, so it is refused, with silu,
    /// swiglu and gelu_quick. In the gates of a recurrent layer it loses no more than the textbook
    /// formula loses next to 1.
    fn contract(&self, case: &ExplicitCase) -> ErrorContract {
        let is_recurrent = matches!(case.op.as_str(), "lstm" | "gru");
        let is_gelu = matches!(case.op.as_str(), "gelu" | "gelu_tanh" | "geglu");
        ErrorContract {
            finite_only: is_recurrent || case.op == "max",
            cancels: is_recurrent || is_gelu,
            ..if case.op == "tanh" { FLUSHED } else { PLAIN }
        }
    }

    /// Its environment starts with the first session.
    fn opens_ms(&self) -> u32 {
        100
    }

    /// A session is made for each case.
    fn prepares_ms(&self) -> u32 {
        25
    }

    fn supports(&self, case: &ExplicitCase) -> Result<(), Unsupported> {
        ops::graph(case).map(drop).map_err(Unsupported)
    }

    fn load(
        &self,
        found: &Found,
        case: &ExplicitCase,
        signature: &Signature,
        threads: usize,
    ) -> Result<Ready, String> {
        // Leaked, so that it lives as long as the process, as the library itself does.
        let runtime: &'static Runtime = Box::leak(Box::new(Runtime::open(&found.library)?));
        let model = Model::new(&ops::graph(case)?, signature)?;
        let session = runtime.session(&model, threads)?;
        let state = State { threads, session: Ok(session), dense: Dense::default() };
        let state = Rc::new(RefCell::new(state));
        let (told, called) = (Rc::clone(&state), state);
        let nothing = RefCell::new(runtime.session(&nothing()?, 1)?);
        Ok(Ready {
            device_times: None,
            place: None,
            memory: CallMemory::default(),
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
                    // A session has its threads for life, so a new one is made. The call reports a
                    // failure.
                    (state.threads, state.session) = (threads, runtime.session(&model, threads));
                }
            })),
            run: Box::new(move |call| called.borrow_mut().run(call).map_err(KernelError::Refused)),
            settle: None,
            empty: Some(Box::new(move || {
                // SAFETY: there is not one element to touch.
                let _ = unsafe { nothing.borrow_mut().run(&[null_mut(); 2]) };
            })),
        })
    }
}

/// A model on no elements.
fn nothing() -> Result<Model, String> {
    let operand = |name, role| Operand::new(name, role, DType::F32, &[1, 0]);
    let operands = vec![operand("x", Role::Input), operand("y", Role::Output)];
    Model::new(&Graph::from("y0 = Relu(x0)".to_owned()), &Signature::new(operands))
}

/// A case that is called.
struct State {
    threads: usize,
    session: Result<Session, String>,
    /// Operands without their padding, which the library does not support.
    dense: Dense,
}

impl State {
    fn run(&mut self, call: &mut Call<'_>) -> Result<(), String> {
        if is_of_nothing(call) {
            // Its normalisation refuses rows without elements.
            return Ok(());
        }
        let session = self.session.as_mut().map_err(|error| error.clone())?;
        // SAFETY: operands of the case that the model was made of, none with padding.
        unsafe { session.run(self.dense.take(call))? };
        self.dense.give(call);
        Ok(())
    }
}
