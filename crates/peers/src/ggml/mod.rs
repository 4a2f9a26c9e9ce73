//! ggml, the library under llama.cpp: graphs computed by the variant that suits the processor.

mod graph;
mod library;
mod ops;

use crate::peer::{FLUSHED, PLAIN, names};
use crate::rows::is_settled;
use crate::{CallMemory, Found, Peer, Ready, Source};
use graph::Graph;
use library::Library;
use proofmark_contract::{Call, ExplicitCase, KernelError, Signature, Unsupported};
use proofmark_schema::{DType, ErrorContract, Receipt};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The peer.
pub(crate) struct Ggml;

impl Peer for Ggml {
    fn name(&self) -> &'static str {
        "ggml"
    }

    fn summary(&self) -> &'static str {
        "ggml, the tensor library of llama.cpp (rms_norm: its rms_norm, then its mul)"
    }

    fn ops(&self) -> &'static [&'static str] {
        const { &names::<_, { ops::OPS.len() }>(ops::OPS) }
    }

    fn source(&self) -> Source {
        let lock = include_str!("../../locks/ggml.json");
        Source::Npm { package: "@node-llama-cpp/linux-x64", lock, library: "libggml-base.so" }
    }

    fn supports(&self, case: &ExplicitCase) -> Result<(), Unsupported> {
        ops::supports(case).map_err(Unsupported)
    }

    /// Its exponential overflows where the result is not zero yet, and a value gated by it is lost
    /// with the gate. Its gelu uses the textbook formula, with `1 + erf`. Its relu returns 0 for
    /// NaN, and its attention follows no rule for scores that are not finite. The processor's
    /// products of bf16 treat subnormals as 0.
    fn contract(&self, case: &ExplicitCase) -> ErrorContract {
        let op = case.op.as_str();
        let is_flushed = match op {
            "silu" | "swiglu" | "sigmoid" => true,
            "dot" => case.dtype == DType::Bf16,
            _ => false,
        };
        ErrorContract {
            finite_only: matches!(op, "relu" | "attention"),
            cancels: matches!(op, "gelu" | "swiglu"),
            ..if is_flushed { FLUSHED } else { PLAIN }
        }
    }

    fn load(
        &self,
        found: &Found,
        case: &ExplicitCase,
        _: &Signature,
        threads: usize,
    ) -> Result<Ready, String> {
        let library = Rc::new(Library::open(&found.library)?);
        let backend = library.backend()?;
        let pool = Rc::new(Cell::new(library.pool(backend, std::ptr::null_mut(), threads)?));
        let (rest_by, resting) = (Rc::clone(&library), Rc::clone(&pool));
        let (run_by, nothing_by) = (Rc::clone(&library), Rc::clone(&library));
        let receipt = Receipt {
            version: library.version.clone(),
            build: format!("libggml-cpu-{}.so, default polling", library.variant),
            isa: library.variant.clone(),
            device: "cpu".to_owned(),
            ..Receipt::default()
        };
        let nothing = Graph::of_nothing(&library).map_err(|error| error.to_string())?;
        let graphs = RefCell::new(Graphs { case: case.clone(), made: Vec::new(), last: 0 });
        Ok(Ready {
            device_times: None,
            place: None,
            memory: CallMemory::default(),
            receipt,
            set_threads: Some(Box::new(move |threads| {
                // The same call has succeeded for another number.
                if let Ok(new) = library.pool(backend, pool.get(), threads) {
                    pool.set(new);
                }
            })),
            run: Box::new(move |call| {
                if is_settled(call) {
                    return Ok(());
                }
                let mut graphs = graphs.borrow_mut();
                graphs.of(&run_by, call)?.compute(&run_by, backend, call)
            }),
            // Otherwise the library's threads look for more work for longer than a turn lasts.
            settle: Some(Box::new(move |_| {
                rest_by.rest(resting.get());
                Ok(())
            })),
            empty: Some(Box::new(move || nothing.compute_nothing(&nothing_by, backend))),
        })
    }
}

/// The graphs of a case, one for each set of operands that was met.
struct Graphs {
    case: ExplicitCase,
    made: Vec<Graph>,
    last: usize,
}

impl Graphs {
    /// The graph over a call's operands: most often the last one, or the one made after it.
    fn of(&mut self, library: &Library, call: &Call<'_>) -> Result<&mut Graph, KernelError> {
        let count = self.made.len();
        let mut places = (0..count).map(|step| (self.last + step) % count);
        match places.find(|&place| self.made[place].is_for(call)) {
            Some(place) => self.last = place,
            None => {
                self.made.push(Graph::new(library, &self.case, call)?);
                self.last = count;
            }
        }
        Ok(&mut self.made[self.last])
    }
}
