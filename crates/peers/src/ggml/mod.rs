//! ggml, the library under llama.cpp: graphs computed by the variant that suits the processor.

mod graph;
mod library;

use crate::peer::{FLUSHED, PLAIN};
use crate::{Found, Peer, Ready, Source};
use graph::Graph;
use library::Library;
use proofmark_contract::{Call, KernelError, Unsupported};
use proofmark_schema::{Case, DType, ErrorContract, Receipt};
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
        &["matmul", "rms_norm", "softmax", "silu", "add"]
    }

    fn source(&self) -> Source {
        Source::Npm { package: "@node-llama-cpp/linux-x64", library: "libggml-base.so" }
    }

    fn supports(&self, case: &Case) -> Result<(), Unsupported> {
        let has = |dtypes: &[DType]| match dtypes.contains(&case.dtype) {
            true => Ok(()),
            false => Err(Unsupported(format!("its {} has no {}", case.op, case.dtype))),
        };
        let unless = |is_other: bool, words: &str| match is_other {
            true => Err(Unsupported(words.to_owned())),
            false => Ok(()),
        };
        match case.op.as_str() {
            "matmul" => {
                unless(
                    case.word("layout", "nn") != "nt",
                    "it has weights of [n,k] only: --attr layout=nt",
                )?;
                unless(
                    case.dtype != DType::F32 && case.word("out", "same") != "f32",
                    "its products are f32: --attr out=f32",
                )
            }
            "rms_norm" => {
                unless(case.word("variant", "llama") != "llama", "it has no weight of 1 + w")?;
                has(&[DType::F32])
            }
            "softmax" => has(&[DType::F32]),
            "silu" => has(&[DType::F32, DType::F16]),
            _ => unless(case.word("rounding", "nearest") != "nearest", "it rounds to the nearest"),
        }
    }

    /// Its exponential overflows where the result is not zero yet.
    fn contract(&self, case: &Case) -> ErrorContract {
        if case.op == "silu" { FLUSHED } else { PLAIN }
    }

    fn load(&self, found: &Found, case: &Case, threads: usize) -> Result<Ready, String> {
        let library = Rc::new(Library::open(&found.library)?);
        let backend = library.backend()?;
        let pool = Cell::new(library.pool(backend, std::ptr::null_mut(), threads)?);
        let (run_by, nothing_by) = (Rc::clone(&library), Rc::clone(&library));
        let receipt = Receipt {
            version: library.version.clone(),
            build: format!("libggml-cpu-{}.so, idle threads sleep (poll 0)", library.variant),
            isa: library.variant.clone(),
            device: "cpu".to_owned(),
            ..Receipt::default()
        };
        let nothing = Graph::of_nothing(&library).map_err(|error| error.to_string())?;
        let graphs = RefCell::new(Graphs { case: case.clone(), made: Vec::new(), last: 0 });
        Ok(Ready {
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
            settle: None,
            empty: Some(Box::new(move || nothing.compute_nothing(&nothing_by, backend))),
        })
    }
}

/// Results that the library is not asked for: its tensors have no empty axes.
fn is_settled(call: &mut Call<'_>) -> bool {
    let is_empty = call.outputs.iter().all(|tensor| tensor.layout.is_empty());
    // Sums of no terms.
    let is_zero = !is_empty && call.inputs.iter().any(|tensor| tensor.layout.is_empty());
    if is_zero {
        for tensor in call.outputs.iter_mut() {
            let zeros = vec![0.0; tensor.layout.len()];
            tensor.from_f64(&zeros);
        }
    }
    is_empty || is_zero
}

/// The graphs of a case, one for each set of operands that was met.
struct Graphs {
    case: Case,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_without_an_equal_are_refused_with_what_would_do() {
        let refused = |case: &str| {
            let refused = Ggml.supports(&case.parse().unwrap());
            refused.err().map_or(String::new(), |reason| reason.to_string())
        };
        assert!(refused("matmul:f32[m=2,n=2,k=2]").contains("--attr layout=nt"));
        assert_eq!(refused("matmul:f32[m=2,n=2,k=2;layout=nt]"), "");
        assert!(refused("matmul:bf16[m=2,n=2,k=2;layout=nt]").contains("--attr out=f32"));
        assert_eq!(refused("matmul:bf16[m=2,n=2,k=2;layout=nt,out=f32]"), "");
        assert_eq!(refused("softmax:bf16[d=8]"), "its softmax has no bf16");
        assert_eq!(refused("add:bf16[d=8;inplace=true]"), "");
    }
}
