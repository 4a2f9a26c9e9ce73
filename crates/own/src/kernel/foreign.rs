//! Calls a function of a shared library by its signature.
//!
//! Arguments are laid out once for a case. Before a call the addresses of its operands are written
//! in place, so that a warm call allocates nothing. Arguments that fit into registers are passed by
//! [`registers`](super::registers), the others by libffi, which takes 100 ns longer.

use super::arguments::{Passes, Plan, Scene, Source, whole_bits};
use super::manifest::{LibraryCode, Threads};
use super::registers::Registers;
use super::signature::Scalar;
use crate::Expression;
use libffi::middle::{Arg, Cif, CodePtr, Ret, Type};
use proofmark_contract::{Call, ExplicitCase, KernelError, Signature, Unsupported};
use proofmark_peers::{CallMemory, NotLoaded, Open, Packing, Ready};
use proofmark_schema::Receipt;
use proofmark_tensor::Tensor;
use std::cell::Cell;
use std::ffi::c_void;
use std::rc::Rc;

/// Opens the library and lays out the calls of a case.
///
/// # Errors
/// Why the library does not open, or the kernel does not do the case.
pub(super) fn load(
    code: &LibraryCode,
    (case, signature): (&ExplicitCase, &Signature),
    threads: usize,
    receipt: Receipt,
) -> Result<Ready, NotLoaded> {
    let kept =
        Rc::new(Kept { code: code.clone(), case: case.clone(), signature: signature.clone() });
    let scene = kept.scene();
    let unsupported = |reason: Unsupported| NotLoaded::Unsupported(reason.to_string());
    let (call, setup) = (scene.call().map_err(unsupported)?, scene.setup().map_err(unsupported)?);
    let workspace_bytes = scene.workspace_bytes(threads).map_err(unsupported)?;
    if !code.library.is_file() {
        let path = code.library.display();
        let reason = format!("its library {path} is not there: build it, or let `build` say how");
        return Err(NotLoaded::Broken(reason));
    }
    proofmark_peers::set_environment(&[]);
    let library = Open::at(&code.library, false).map_err(NotLoaded::Broken)?;
    let foreign =
        |plan: &Plan<'_>| Foreign::new(&library, plan, signature).map_err(NotLoaded::Broken);
    let function = Rc::new(foreign(&call)?);
    function.set_threads(&scene, threads);
    let packing = match setup {
        Some((plan, bytes)) => {
            let setup = foreign(&plan)?;
            setup.set_threads(&scene, 1);
            Some(packing(setup, bytes))
        }
        None => None,
    };
    let (need, least_packed) =
        (Rc::new(Cell::new(workspace_bytes)), packing.as_ref().map_or(0, |it| it.bytes));
    let (empty, told, needed, asked) =
        (Rc::clone(&function), Rc::clone(&function), Rc::clone(&need), Rc::clone(&kept));
    let workspace_bytes: Box<dyn Fn(usize) -> usize> = Box::new(move |threads| {
        let bytes = asked.scene().workspace_bytes(threads);
        needed.set(bytes.unwrap_or_else(|reason| panic!("{reason}")));
        needed.get()
    });
    Ok(Ready {
        device_times: None,
        place: None,
        receipt,
        set_threads: (code.threads != Threads::One).then(|| -> Box<dyn Fn(usize)> {
            Box::new(move |threads| told.set_threads(&kept.scene(), threads))
        }),
        run: Box::new(move |call| {
            check_bytes("the workspace", call.workspace.len(), need.get())?;
            check_bytes("the packed weights", call.prepared.len(), least_packed)?;
            let memory = Memory {
                packed: call.prepared.as_ptr().cast_mut(),
                workspace: call.workspace.as_mut_ptr(),
            };
            function.run(call, &memory)
        }),
        settle: None,
        empty: Some(Box::new(move || empty.call_nothing())),
        memory: CallMemory { workspace_bytes: Some(workspace_bytes), packing },
    })
}

fn packing(function: Foreign, bytes: usize) -> Packing {
    Packing {
        bytes,
        pack: Box::new(move |call, prepared| {
            check_bytes("the memory for packed weights", prepared.len(), bytes)?;
            let packed = prepared.as_mut_ptr();
            let memory = Memory { packed, workspace: call.workspace.as_mut_ptr() };
            function.run(call, &memory)
        }),
    }
}

fn check_bytes(what: &'static str, got: usize, need: usize) -> Result<(), KernelError> {
    if got < need { Err(KernelError::TooSmall { what, got, need }) } else { Ok(()) }
}

/// What is needed to lay out calls for another number of threads.
struct Kept {
    code: LibraryCode,
    case: ExplicitCase,
    signature: Signature,
}

impl Kept {
    fn scene(&self) -> Scene<'_> {
        Scene { code: &self.code, case: &self.case, signature: &self.signature }
    }
}

/// Memory of a call in addition to its operands.
struct Memory {
    packed: *mut u8,
    workspace: *mut u8,
}

/// A function with its arguments laid out.
struct Foreign {
    symbol: String,
    code: CodePtr,
    passing: Passing,
    returns: Option<Scalar>,
    /// The bits of each argument, or of what it refers to.
    bits: &'static [Cell<u64>],
    /// Numbers that are passed by reference. The function may write them, so that they are copied
    /// from `bits` before each call.
    referred: &'static [Cell<u64>],
    references: Vec<usize>,
    /// Arguments that change from call to call, with their places.
    moving: Vec<(usize, Moving)>,
    /// Arguments that depend on the number of threads, with their places.
    by_threads: Vec<(usize, Expression, Scalar)>,
    /// Operands that must lie densely, because the function takes no stride of them.
    dense: Vec<(usize, &'static str)>,
}

/// How the arguments reach the function.
enum Passing {
    /// All of them fit into registers.
    Registers(Registers),
    /// Some lie on the stack. libffi reads the address of each.
    Libffi { cif: Cif, arguments: Vec<Arg<'static>> },
}

impl Passing {
    fn libffi(plan: &Plan<'_>, passed: &[(&'static Cell<u64>, Scalar)]) -> Result<Passing, String> {
        let types: Vec<Type> = plan.arguments.iter().map(|it| type_of(it.passes)).collect();
        let result = plan.function.prototype.returns.map_or_else(Type::void, scalar_type);
        let cif = Cif::try_new(types, result).map_err(|error| {
            let symbol = &plan.function.symbol;
            format!("`{symbol}` cannot be called by its signature: {error:?}")
        })?;
        let arguments = passed.iter().map(|(cell, _)| Arg::new(*cell)).collect();
        Ok(Passing::Libffi { cif, arguments })
    }
}

/// What an argument is in each call.
enum Moving {
    Operand(usize),
    Stride(usize, Scalar),
    Span(usize, Scalar),
    Packed,
    Workspace,
}

impl Foreign {
    fn new(library: &Open, plan: &Plan<'_>, signature: &Signature) -> Result<Foreign, String> {
        let symbol = plan.function.symbol.clone();
        // SAFETY: only the address is taken here.
        let code = unsafe { library.get::<*const c_void>(&symbol) }.map_err(|error| {
            format!("{error}: is the function exported, and in C++ declared `extern \"C\"`?")
        })?;
        let returns = plan.function.prototype.returns;
        // Leaked: a kernel stays as long as its process, and libffi reads the cells by address.
        let count = plan.arguments.len();
        let cells = || -> &'static [Cell<u64>] { Vec::leak(vec![Cell::new(0); count]) };
        let (bits, referred, addresses) = (cells(), cells(), cells());
        let passed = plan.arguments.iter().enumerate().map(|(place, argument)| {
            if let Passes::Reference(_) = argument.passes {
                addresses[place].set((&raw const referred[place]).expose_provenance() as u64);
            }
            match argument.passes {
                Passes::Value(scalar) => (&bits[place], scalar),
                Passes::Address => (&bits[place], Scalar::U64),
                Passes::Reference(_) => (&addresses[place], Scalar::U64),
            }
        });
        let passed: Vec<(&'static Cell<u64>, Scalar)> = passed.collect();
        let passing = match Registers::of(&passed) {
            Some(registers) => Passing::Registers(registers),
            None => Passing::libffi(plan, &passed)?,
        };
        let mut foreign = Foreign {
            symbol,
            code: CodePtr::from_ptr(code),
            passing,
            returns,
            bits,
            referred,
            references: Vec::new(),
            moving: Vec::new(),
            by_threads: Vec::new(),
            dense: Vec::new(),
        };
        for (place, argument) in plan.arguments.iter().enumerate() {
            let scalar = match argument.passes {
                Passes::Value(scalar) | Passes::Reference(scalar) => scalar,
                Passes::Address => Scalar::U64,
            };
            if let Passes::Reference(_) = argument.passes {
                foreign.references.push(place);
            }
            foreign.add(place, &argument.source, scalar);
        }
        let strided = |operand: &usize| {
            let is_it =
                |it: &(usize, Moving)| matches!(it.1, Moving::Stride(of, _) if of == *operand);
            foreign.moving.iter().any(is_it)
        };
        let taken = foreign.moving.iter().filter_map(|(_, moving)| match moving {
            Moving::Operand(operand) => Some(*operand),
            _ => None,
        });
        let dense = taken.filter(|operand| !strided(operand));
        foreign.dense =
            dense.map(|operand| (operand, signature.operands()[operand].name)).collect();
        Ok(foreign)
    }

    fn add(&mut self, place: usize, source: &Source, scalar: Scalar) {
        let moving = match source {
            Source::Operand(operand) => Moving::Operand(*operand),
            Source::Stride(operand) => Moving::Stride(*operand, scalar),
            Source::Span(operand) => Moving::Span(*operand, scalar),
            Source::Packed => Moving::Packed,
            Source::Workspace => Moving::Workspace,
            Source::Word(word) => {
                let word: &'static _ = Box::leak(word.clone().into_boxed_c_str());
                self.bits[place].set(word.as_ptr().expose_provenance() as u64);
                return;
            }
            Source::Fixed(bits) => return self.bits[place].set(*bits),
            Source::Formula(formula) => {
                return self.by_threads.push((place, formula.clone(), scalar));
            }
        };
        self.moving.push((place, moving));
    }

    /// Lays out the arguments that depend on the number of threads.
    ///
    /// # Panics
    /// If one does not fit its type; the worker tells its supervisor.
    fn set_threads(&self, scene: &Scene<'_>, threads: usize) {
        for (place, formula, scalar) in &self.by_threads {
            let bits = scene.bits(formula, *scalar, threads);
            self.bits[*place].set(bits.unwrap_or_else(|reason| panic!("{reason}")));
        }
    }

    fn run(&self, call: &Call<'_>, memory: &Memory) -> Result<(), KernelError> {
        for &(operand, name) in &self.dense {
            let layout = &operand_of(call, operand).layout;
            if !layout.is_dense() {
                return Err(KernelError::Refused(format!(
                    "rows of `{name}` lie {} elements apart, and `{}` takes no `{name}_stride`",
                    layout.row_stride, self.symbol
                )));
            }
        }
        for (place, moving) in &self.moving {
            let bits = match moving {
                Moving::Operand(operand) => address(operand_of(call, *operand).base()),
                Moving::Stride(operand, scalar) => {
                    fitting(operand_of(call, *operand).layout.row_stride, *scalar)?
                }
                Moving::Span(operand, scalar) => {
                    fitting(operand_of(call, *operand).layout.span(), *scalar)?
                }
                Moving::Packed => address(memory.packed),
                Moving::Workspace => address(memory.workspace),
            };
            self.bits[*place].set(bits);
        }
        match self.pass_to(self.code) {
            0 => Ok(()),
            returned => Err(KernelError::Refused(format!(
                "`{}` returned {}, which means that it cannot do the call",
                self.symbol,
                self.said(returned)
            ))),
        }
    }

    /// Calls a function that does nothing in the same way.
    fn call_nothing(&self) {
        self.pass_to(CodePtr::from_ptr(nothing as *const c_void));
    }

    /// Calls a function with the arguments as they are; the code that it returns.
    #[inline]
    fn pass_to(&self, code: CodePtr) -> u64 {
        for &place in &self.references {
            self.referred[place].set(self.bits[place].get());
        }
        // SAFETY: the arguments point to cells of 8 bytes, as many as the function has by its
        // signature; the result has at most 8 bytes. That the function has this signature is what
        // the user's file says: this process is a worker, and what breaks here ends with it.
        let returned = unsafe {
            match &self.passing {
                Passing::Registers(registers) => registers.pass_to(code.0),
                Passing::Libffi { cif, arguments } => {
                    let mut returned = 0u64;
                    cif.call_return_into(code, arguments, Ret::new(&mut returned));
                    returned
                }
            }
        };
        match self.returns {
            None => 0,
            // The rest of the register is not part of the result.
            Some(Scalar::I32 | Scalar::U32) => u64::from(returned as u32),
            Some(Scalar::Bool) => u64::from(returned as u8),
            Some(_) => returned,
        }
    }

    /// A returned code as the function means it.
    fn said(&self, returned: u64) -> i128 {
        match self.returns {
            Some(Scalar::I32) => i128::from(returned as u32 as i32),
            Some(Scalar::I64) => i128::from(returned.cast_signed()),
            _ => i128::from(returned),
        }
    }
}

/// The function that an empty call calls. It reads no argument and returns 0.
extern "C" fn nothing() -> u64 {
    0
}

#[inline]
fn operand_of<'c>(call: &'c Call<'_>, place: usize) -> &'c Tensor {
    match place.checked_sub(call.inputs.len()) {
        Some(written) => &call.outputs[written],
        None => &call.inputs[place],
    }
}

/// The bits of a number of elements.
#[inline]
fn fitting(elements: usize, scalar: Scalar) -> Result<u64, KernelError> {
    let bits = i64::try_from(elements).ok().and_then(|it| whole_bits(scalar, it));
    bits.ok_or_else(|| {
        let kind = scalar.name();
        KernelError::Refused(format!("a stride or span of {elements} does not fit {kind}"))
    })
}

#[inline]
fn address(base: *mut u8) -> u64 {
    base.expose_provenance() as u64
}

fn type_of(passes: Passes) -> Type {
    match passes {
        Passes::Value(scalar) => scalar_type(scalar),
        Passes::Address | Passes::Reference(_) => Type::pointer(),
    }
}

fn scalar_type(scalar: Scalar) -> Type {
    match scalar {
        Scalar::I32 => Type::i32(),
        Scalar::U32 => Type::u32(),
        Scalar::I64 => Type::i64(),
        Scalar::U64 => Type::u64(),
        Scalar::F32 => Type::f32(),
        Scalar::F64 => Type::f64(),
        Scalar::Bool => Type::u8(),
    }
}
