//! oneDNN, by its C interface.

mod library;
mod primitive;
mod recipe;

use crate::peer::{FLUSHED, PLAIN, names};
use crate::rows::{Dense, is_settled, operands};
use crate::{CallMemory, Found, Needs, Peer, Ready, Source};
use library::Library;
use primitive::Primitive;
use proofmark_contract::{Call, ExplicitCase, KernelError, Operand, Role, Signature, Unsupported};
use proofmark_schema::{DType, ErrorContract, Receipt};
use proofmark_tensor::Tensor;
use recipe::{Lay, OPS, number, recipe, relu};
use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::ptr::null_mut;
use std::rc::Rc;

/// oneDNN.
pub(crate) struct OneDnn;

/// Ops that do not carry NaN or infinities as their definitions say: they return 0 for NaN, or NaN
/// for an infinity.
const FINITE_ONLY: &[&str] = &["relu", "exp", "gelu_tanh", "geglu", "max", "softmax", "layer_norm"];

impl Peer for OneDnn {
    fn name(&self) -> &'static str {
        "onednn"
    }

    fn summary(&self) -> &'static str {
        "oneDNN, Intel's primitives of neural networks; plain operands, packed inside the call"
    }

    fn needs(&self) -> Needs {
        Needs { jit: true, ..Needs::default() }
    }

    /// RMS normalisation came with version 3.9, of which no build with OpenMP is packaged.
    fn ops(&self) -> &'static [&'static str] {
        const { &names::<_, { OPS.len() }>(OPS) }
    }

    fn source(&self) -> Source {
        let lock = include_str!("../../locks/onednn.txt");
        Source::Wheels { packages: &["onednn-cpu-gomp"], lock, library: "libdnnl.so" }
    }

    fn system_names(&self) -> &'static [&'static str] {
        &["libdnnl.so.3"]
    }

    fn supports(&self, case: &ExplicitCase) -> Result<(), Unsupported> {
        let refused = |reason: &str| Err(Unsupported(reason.to_owned()));
        if number(case.dtype).is_none() {
            return refused("it has f32, bf16 and f16");
        }
        if case.is("rounding", "stochastic") {
            return refused("it rounds to nearest only");
        }
        let has_epilogue = match case.op.as_str() {
            "matmul" => case.flag("bias")? || case.word("activation")? != "none",
            "matmul_int8" => case.word("out")? == "f32",
            _ => false,
        };
        if has_epilogue && case.size("k") == Some(0) {
            return refused("it does not define what follows a product of no terms");
        }
        match case.op.as_str() {
            "softmax" if case.word("mask")? != "none" => {
                return refused("it has no mask inside its softmax");
            }
            "sum" | "mean" | "max" if case.axes.iter().any(|(_, size)| *size == 0) => {
                return refused("it does not reduce what is empty");
            }
            "conv1d" | "conv2d" if case.size("c") == Some(0) => {
                return refused("it does not define a convolution without channels");
            }
            "layer_norm" if case.dtype != DType::F32 => {
                return refused("scale and shift of its layer norm are f32");
            }
            "dequantize_int8" if !case.flag("symmetric")? => {
                return refused("its product of codes and scales has no zero points");
            }
            "dequantize_int8" if has_short_group(case)? => {
                return refused("it broadcasts scales over whole groups only");
            }
            "softmax" if case.dtype != DType::F32 => {
                return refused("it rounds exponentials before it divides by their sum");
            }
            _ => {}
        }
        Ok(())
    }

    /// Its conversions of bf16, its exponential and products of bf16 in AMX tiles lose subnormals,
    /// and a value gated by them is lost with the gate. Its relu returns 0 for NaN, its gelu
    /// returns NaN for infinity, and its softmax and norms follow no rule for them either.
    fn contract(&self, case: &ExplicitCase) -> ErrorContract {
        let is_exact = match case.op.as_str() {
            "matmul" => case.dtype != DType::Bf16,
            op => ["matmul_int8", "transpose", "conv1d", "conv2d"].contains(&op),
        };
        let finite_only = match case.op.as_str() {
            "matmul" => ["relu", "gelu"].iter().any(|word| case.is("activation", word)),
            op => FINITE_ONLY.contains(&op),
        };
        let cancels = matches!(case.op.as_str(), "gelu_tanh" | "swiglu" | "geglu");
        ErrorContract { finite_only, cancels, ..if is_exact { PLAIN } else { FLUSHED } }
    }

    fn load(
        &self,
        found: &Found,
        case: &ExplicitCase,
        signature: &Signature,
        threads: usize,
    ) -> Result<Ready, String> {
        // Leaked, so that it lives as long as the process, as the library itself does.
        let library: &'static Library = Box::leak(Box::new(Library::open(&found.library)?));
        let ready = Rc::new(Contender {
            library,
            case: case.clone(),
            expected: signature.operands().iter().map(Lay::inhabited).collect(),
            is_empty: signature.operands().iter().any(Operand::is_empty),
            threads: Cell::new(0),
            dense: (case.op == "layer_norm").then(RefCell::default),
            made: RefCell::new(None),
        });
        ready.set_threads(threads)?;
        let implementation = ready.made.borrow().as_ref().map(|made| made.name().to_owned());
        if let Some(name) = implementation.as_deref().filter(|name| rounds_sums(case, name)) {
            return Err(format!("`{name}` brings sums of i32 through f32: k of at most 1024"));
        }
        let isa = match implementation {
            Some(name) => format!("{}, by {name}", library.isa()?),
            None => library.isa()?,
        };
        let (told, called) = (Rc::clone(&ready), ready);
        let empty = nothing(library)?;
        Ok(Ready {
            device_times: None,
            place: None,
            memory: CallMemory::default(),
            receipt: Receipt {
                version: library.version.clone(),
                build: library.build.clone(),
                isa,
                device: "cpu".to_owned(),
                ..Receipt::default()
            },
            set_threads: library.set_threads.map(|_| -> Box<dyn Fn(usize)> {
                Box::new(move |threads| {
                    // If the primitive cannot be made, the next call tries again and reports the
                    // error.
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

/// Whether the last of several groups of a row has fewer elements than the others.
fn has_short_group(case: &ExplicitCase) -> Result<bool, Unsupported> {
    let (group, length) = (case.int("group")?.max(1) as u64, case.size("d").unwrap_or(0));
    let is_grouped = case.word("scheme")? == "group";
    Ok(is_grouped && length > group && !length.is_multiple_of(group))
}

/// Whether sums that are asked for as i32 are rounded on the way: this implementation multiplies
/// signed bytes as unsigned ones and corrects the sum in f32, which is exact up to 2^24, that is
/// for 1024 products. Seen with oneDNN 3.2; on AMX sums are exact.
fn rounds_sums(case: &ExplicitCase, implementation: &str) -> bool {
    let is_raw = case.op == "matmul_int8" && case.is("out", "i32");
    is_raw && case.size("k") > Some(1024) && implementation.ends_with("avx512_core_vnni")
}

/// A primitive on no elements.
fn nothing(library: &'static Library) -> Result<Primitive, String> {
    let operand = |name, role| Operand::new(name, role, DType::F32, &[1]);
    let lays = [operand("x", Role::Input), operand("y", Role::Output)];
    let mut recipe = relu(&lays.each_ref().map(Lay::inhabited));
    recipe.views.iter_mut().for_each(|view| view.dims[0] = 0);
    let primitive = Primitive::new(library, recipe)?;
    primitive.set_addresses(&[null_mut(); 2])?;
    Ok(primitive)
}

/// A case that is called.
struct Contender {
    library: &'static Library,
    case: ExplicitCase,
    /// How its operands lie without padding.
    expected: Vec<Lay>,
    /// An operand has no elements, which the library does not define.
    is_empty: bool,
    threads: Cell<usize>,
    /// Unpadded operands for layer norm, which takes the padding of one operand for that of all.
    dense: Option<RefCell<Dense>>,
    made: RefCell<Option<Made>>,
}

/// The primitive for operands with these row strides, and their current addresses.
struct Made {
    primitive: Primitive,
    row_strides: Vec<usize>,
    addresses: Vec<*mut u8>,
}

impl Made {
    fn name(&self) -> &str {
        &self.primitive.implementation
    }

    fn is_for(&self, call: &Call<'_>) -> bool {
        self.row_strides.iter().copied().eq(operands(call).map(row_stride))
    }
}

fn row_stride(tensor: &Tensor) -> usize {
    tensor.layout.row_stride
}

impl Contender {
    /// Sets the number of threads and makes the primitive again, since it is made for that number.
    fn set_threads(&self, threads: usize) -> Result<(), String> {
        if self.threads.replace(threads) == threads {
            return Ok(());
        }
        if let Some(set) = self.library.set_threads {
            // SAFETY: a count of threads, from the one thread that calls.
            unsafe { set(c_int::try_from(threads).unwrap_or(c_int::MAX)) };
        }
        *self.made.borrow_mut() = None;
        // Made here, so that a formula that the library lacks fails now and not in the first call.
        *self.made.borrow_mut() = Some(self.make(&self.expected, Vec::new())?);
        Ok(())
    }

    fn make(&self, lays: &[Lay], row_strides: Vec<usize>) -> Result<Made, String> {
        let primitive = Primitive::new(self.library, recipe(&self.case, lays)?)?;
        Ok(Made { primitive, row_strides, addresses: Vec::new() })
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), String> {
        if self.is_empty && is_settled(call) {
            return Ok(());
        }
        let mut made = self.made.borrow_mut();
        if let (Some(dense), Some(made)) = (&self.dense, &mut *made) {
            let mut dense = dense.borrow_mut();
            made.primitive.set_addresses(dense.take(call))?;
            // SAFETY: the views were made from the shapes of this case, without padding.
            unsafe { made.primitive.run()? };
            dense.give(call);
            return Ok(());
        }
        let made = match &mut *made {
            Some(made) if made.is_for(call) => made,
            other => {
                let lays: Vec<Lay> = operands(call).map(Lay::of).collect();
                other.insert(self.make(&lays, operands(call).map(row_stride).collect())?)
            }
        };
        if !made.addresses.iter().copied().eq(operands(call).map(Tensor::base)) {
            made.addresses.clear();
            made.addresses.extend(operands(call).map(Tensor::base));
            made.primitive.set_addresses(&made.addresses)?;
        }
        // SAFETY: the views were made from the shapes of this case and these strides.
        unsafe { made.primitive.run() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::explicit;
    use proofmark_schema::Underflow;

    #[test]
    fn what_it_does_not_define_or_rounds_elsewhere_is_refused() {
        let refused = |case: &str| match OneDnn.supports(&explicit(&case.parse().unwrap())) {
            Ok(()) => String::new(),
            Err(Unsupported(reason)) => reason,
        };
        assert!(refused("dequantize_int8:f32[b=2,d=33;scheme=group]").contains("whole groups"));
        assert_eq!(refused("dequantize_int8:f32[b=2,d=64;scheme=group]"), "");
        assert_eq!(refused("dequantize_int8:f32[b=2,d=5;scheme=group]"), "", "one group");
        assert_eq!(refused("dequantize_int8:f32[b=2,d=33;scheme=channel]"), "");
        assert!(refused("matmul_int8:i8[m=5,n=9,k=0]").contains("no terms"));
        assert_eq!(refused("matmul_int8:i8[m=5,n=9,k=0;out=i32]"), "");
        assert!(refused("softmax:bf16[d=8]").contains("before it divides"));
        assert!(refused("softmax:f16[d=8]").contains("before it divides"));
        assert_eq!(refused("softmax:f32[d=8]"), "");
    }

    #[test]
    fn products_in_bf16_may_lose_subnormals() {
        let underflow = |case: &str| OneDnn.contract(&explicit(&case.parse().unwrap())).underflow;
        assert_eq!(underflow("matmul:bf16[b=1,m=2,n=2,k=2]"), Underflow::Flushed);
        assert_eq!(underflow("matmul:f32[b=1,m=2,n=2,k=2]"), Underflow::Gradual);
    }

    #[test]
    fn sums_are_asked_for_as_i32_where_they_stay_exact() {
        let rounds = |case: &str, name| rounds_sums(&explicit(&case.parse().unwrap()), name);
        let (long, vnni) = ("matmul_int8:i8[m=2,n=3,k=1025;out=i32]", "brg:avx512_core_vnni");
        assert!(rounds(long, vnni));
        assert!(!rounds(long, "brg:avx512_core_amx"));
        assert!(!rounds("matmul_int8:i8[m=2,n=3,k=1024;out=i32]", vnni));
        assert!(!rounds("matmul_int8:i8[m=2,n=3,k=1025]", vnni), "f32 is what is asked for");
    }
}
