//! oneDNN, by its C interface.

mod library;
mod primitive;
mod problem;

use crate::peer::{FLUSHED, PLAIN};
use crate::{Found, Peer, Ready, Source};
use library::Library;
use primitive::{Formula, Primitive};
use problem::{OPERANDS, Problem, RESULT, SOURCE, number, view};
use proofmark_contract::{Call, KernelError, Unsupported};
use proofmark_schema::{Case, DType, ErrorContract, Receipt};
use proofmark_tensor::Tensor;
use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::ptr::null_mut;
use std::rc::Rc;

/// oneDNN.
pub(crate) struct OneDnn;

impl Peer for OneDnn {
    fn name(&self) -> &'static str {
        "onednn"
    }

    fn summary(&self) -> &'static str {
        "oneDNN, Intel's primitives of neural networks; plain operands, packed inside the call"
    }

    /// RMS normalisation came with version 3.9, of which no build with OpenMP is packaged.
    fn ops(&self) -> &'static [&'static str] {
        &["matmul", "softmax", "silu", "add"]
    }

    fn source(&self) -> Source {
        Source::Wheels { packages: &["onednn-cpu-gomp"], library: "libdnnl.so" }
    }

    fn system_names(&self) -> &'static [&'static str] {
        &["libdnnl.so.3"]
    }

    fn supports(&self, case: &Case) -> Result<(), Unsupported> {
        let refused = |reason: &str| Err(Unsupported(reason.to_owned()));
        if number(case.dtype).is_none() {
            return refused("it has f32, bf16 and f16");
        }
        if case.word("rounding", "nearest") != "nearest" {
            return refused("it rounds to nearest only");
        }
        Ok(())
    }

    /// Its conversions of bf16 and its exponential lose subnormals.
    fn contract(&self, case: &Case) -> ErrorContract {
        if case.op == "matmul" { PLAIN } else { FLUSHED }
    }

    fn load(&self, found: &Found, case: &Case, threads: usize) -> Result<Ready, String> {
        // As long as the process, as the library itself.
        let library: &'static Library = Box::leak(Box::new(Library::open(&found.library)?));
        let ready = Rc::new(Contender {
            library,
            problem: Problem::of(case),
            threads: Cell::new(0),
            made: RefCell::new(None),
        });
        ready.set_threads(threads)?;
        let implementation = ready.made.borrow().as_ref().map(|made| made.name().to_owned());
        let isa = match implementation {
            Some(name) => format!("{}, by {name}", library.isa()?),
            None => library.isa()?,
        };
        let (told, called) = (Rc::clone(&ready), ready);
        let empty = nothing(library)?;
        Ok(Ready {
            receipt: Receipt {
                version: library.version.clone(),
                build: library.build.clone(),
                isa,
                device: "cpu".to_owned(),
                ..Receipt::default()
            },
            set_threads: library.set_threads.map(|_| -> Box<dyn Fn(usize)> {
                Box::new(move |threads| {
                    // A primitive that cannot be made is made again, and told of, by the call.
                    let _ = told.set_threads(threads);
                })
            }),
            run: Box::new(move |call| called.run(call).map_err(KernelError::Refused)),
            settle: None,
            empty: Some(Box::new(move || {
                // SAFETY: there is not one element to touch.
                let _ = unsafe { empty.run() };
            })),
        })
    }
}

/// A primitive on no elements.
fn nothing(library: &'static Library) -> Result<Primitive, String> {
    let view = |role, operand| view(role, operand, DType::F32, (1, [0, 1]), 1);
    let views = [view(SOURCE, 0), view(RESULT, 1)];
    let primitive = Primitive::new(library, Formula::Swish, &views)?;
    primitive.set_addresses(&[null_mut(); 2])?;
    Ok(primitive)
}

/// A case that is called.
struct Contender {
    library: &'static Library,
    problem: Problem,
    threads: Cell<usize>,
    made: RefCell<Option<Made>>,
}

/// The primitive for operands that lie so, and where they lie now.
struct Made {
    primitive: Primitive,
    row_strides: [usize; OPERANDS],
    addresses: [*mut u8; OPERANDS],
}

impl Made {
    fn name(&self) -> &str {
        &self.primitive.implementation
    }
}

impl Contender {
    /// Primitives are made for a number of threads.
    fn set_threads(&self, threads: usize) -> Result<(), String> {
        if self.threads.replace(threads) == threads {
            return Ok(());
        }
        if let Some(set) = self.library.set_threads {
            // SAFETY: a count of threads, from the one thread that calls.
            unsafe { set(c_int::try_from(threads).unwrap_or(c_int::MAX)) };
        }
        *self.made.borrow_mut() = None;
        // Even where there is nothing to do: whether the library has the formula is seen here.
        let problem = self.problem.inhabited();
        let made = self.make(&problem, problem.dense())?;
        *self.made.borrow_mut() = (!self.problem.is_empty()).then_some(made);
        Ok(())
    }

    fn make(&self, problem: &Problem, row_strides: [usize; OPERANDS]) -> Result<Made, String> {
        let primitive = Primitive::new(self.library, problem.formula, &problem.views(row_strides))?;
        Ok(Made { primitive, row_strides, addresses: [null_mut(); OPERANDS] })
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), String> {
        let mut row_strides = [0; OPERANDS];
        let mut addresses = [null_mut(); OPERANDS];
        let tensors = call.inputs.iter().chain(call.outputs.iter());
        for ((stride, address), tensor) in row_strides.iter_mut().zip(&mut addresses).zip(tensors) {
            // Strides of nothing are at least 1 too.
            *stride = tensor.layout.row_stride.max(1);
            *address = tensor.base();
        }
        let mut made = self.made.borrow_mut();
        let made = match &mut *made {
            Some(made) if made.row_strides == row_strides => made,
            other => {
                if self.problem.is_empty() {
                    clear(&call.outputs[0]);
                    return Ok(());
                }
                other.insert(self.make(&self.problem, row_strides)?)
            }
        };
        if made.addresses != addresses {
            made.primitive.set_addresses(&addresses)?;
            made.addresses = addresses;
        }
        // SAFETY: the views were made from the shapes of this case and these strides.
        unsafe { made.primitive.run() }
    }
}

/// Writes zeros: what sums of no terms are.
fn clear(result: &Tensor) {
    let (layout, size) = (&result.layout, result.dtype.size());
    for row in 0..layout.rows() {
        let at = result.base().wrapping_add(row * layout.row_stride * size);
        // SAFETY: a row of a tensor that the call has for writing.
        unsafe { at.write_bytes(0, layout.cols() * size) };
    }
}
