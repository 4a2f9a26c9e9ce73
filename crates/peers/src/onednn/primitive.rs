//! A primitive of oneDNN: one computation on operands that lie in a certain way.

use super::library::{Handle, Library, done, make, text};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};

const INFERENCE: c_int = 96;
const SWISH: c_int = 0x2c;
const ADD: c_int = 0x1fff0;
const SOFTMAX: c_int = 0x30000;
const IMPLEMENTATION_NAME: c_int = 8;

/// What a primitive computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Formula {
    /// The product of the first two operands.
    Matmul,
    /// Softmax along the last axis.
    Softmax,
    /// The sum of the first two operands.
    Add,
    /// `x / (1 + exp(-x))`.
    Swish,
}

/// An operand as a primitive sees it.
pub(super) struct View {
    /// The library's number of its role.
    pub(super) role: c_int,
    /// Its place among a call's operands, inputs first.
    pub(super) operand: usize,
    /// The library's number of its element type.
    pub(super) dtype: c_int,
    /// Sizes along each axis.
    pub(super) dims: Vec<i64>,
    /// Elements between neighbours along each axis.
    pub(super) strides: Vec<i64>,
}

#[repr(C)]
struct Argument {
    role: c_int,
    memory: Handle,
}

/// An object that ends with its owner.
struct Owned {
    handle: Handle,
    destroy: unsafe extern "C" fn(Handle) -> c_int,
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: made by the library, ended here once.
        unsafe { (self.destroy)(self.handle) };
    }
}

/// A computation that is ready to be called.
pub(super) struct Primitive {
    library: &'static Library,
    primitive: Owned,
    memories: Vec<Owned>,
    arguments: Vec<Argument>,
    /// The operand behind each argument.
    operands: Vec<usize>,
    execute: unsafe extern "C" fn(Handle, Handle, c_int, *const Argument) -> c_int,
    wait: unsafe extern "C" fn(Handle) -> c_int,
    set_address: unsafe extern "C" fn(Handle, *mut c_void) -> c_int,
    /// The library's name of the code that was chosen.
    pub(super) implementation: String,
}

impl Primitive {
    /// The library's best way to compute a formula, its last view being the result.
    pub(super) fn new(
        library: &'static Library,
        formula: Formula,
        views: &[View],
    ) -> Result<Primitive, String> {
        let describe = |view: &View| describe(library, view);
        let descriptions: Vec<Owned> = views.iter().map(describe).collect::<Result<_, _>>()?;
        let recipe = recipe(library, formula, &descriptions)?;
        let (mut name, mut handle): (*const c_char, Handle) = (null(), null_mut());
        // SAFETY: the documented types; the recipe and all that it was made of are alive.
        unsafe {
            make!(library.open, "dnnl_primitive_desc_query",
                recipe.handle => Handle, IMPLEMENTATION_NAME => c_int, 0 => c_int,
                (&raw mut name).cast() => *mut c_void)?;
            make!(library.open, "dnnl_primitive_create",
                &raw mut handle => *mut Handle, recipe.handle => Handle)?;
        }
        let primitive = own(library, handle, "dnnl_primitive_destroy")?;
        let memory = |description: &Owned| memory(library, description.handle);
        let memories: Vec<Owned> = descriptions.iter().map(memory).collect::<Result<_, _>>()?;
        let pairs = views.iter().zip(&memories);
        // SAFETY: the documented types.
        let (execute, wait, set_address) = unsafe {
            let open = &library.open;
            let set_address = open.get("dnnl_memory_set_data_handle")?;
            (open.get("dnnl_primitive_execute")?, open.get("dnnl_stream_wait")?, set_address)
        };
        Ok(Primitive {
            library,
            primitive,
            arguments: pairs
                .map(|(view, memory)| Argument { role: view.role, memory: memory.handle })
                .collect(),
            memories,
            operands: views.iter().map(|view| view.operand).collect(),
            execute,
            wait,
            set_address,
            implementation: text(name),
        })
    }

    /// Names the operands' addresses, for the calls that follow.
    pub(super) fn set_addresses(&self, addresses: &[*mut u8]) -> Result<(), String> {
        for (memory, &operand) in self.memories.iter().zip(&self.operands) {
            // SAFETY: a memory of this primitive; nothing is read until it is executed.
            let status = unsafe { (self.set_address)(memory.handle, addresses[operand].cast()) };
            done(status, "dnnl_memory_set_data_handle")?;
        }
        Ok(())
    }

    /// Computes once.
    ///
    /// # Safety
    /// The addresses last named are those of operands that lie as the views said.
    pub(super) unsafe fn run(&self) -> Result<(), String> {
        let count = self.arguments.len() as c_int;
        let (of, stream) = (self.primitive.handle, self.library.stream);
        // SAFETY: the documented types, and the caller's promise.
        unsafe {
            done((self.execute)(of, stream, count, self.arguments.as_ptr()), "executing")?;
            done((self.wait)(stream), "waiting for the result")
        }
    }
}

fn describe(library: &Library, view: &View) -> Result<Owned, String> {
    let mut handle = null_mut();
    // SAFETY: the documented type; as many sizes and strides as are said.
    unsafe {
        make!(library.open, "dnnl_memory_desc_create_with_strides",
            &raw mut handle => *mut Handle, view.dims.len() as c_int => c_int,
            view.dims.as_ptr() => *const i64, view.dtype => c_int,
            view.strides.as_ptr() => *const i64)?;
    }
    own(library, handle, "dnnl_memory_desc_destroy")
}

/// An operand that has no address yet.
fn memory(library: &Library, description: Handle) -> Result<Owned, String> {
    let mut handle = null_mut();
    // SAFETY: the documented type.
    unsafe {
        make!(library.open, "dnnl_memory_create",
            &raw mut handle => *mut Handle, description => Handle, library.engine => Handle,
            null_mut() => *mut c_void)?;
    }
    own(library, handle, "dnnl_memory_destroy")
}

/// How the library computes a formula.
fn recipe(library: &Library, formula: Formula, descriptions: &[Owned]) -> Result<Owned, String> {
    let Library { open, engine, .. } = library;
    let of = |place: usize| descriptions[place].handle;
    let (engine, result, none) = (*engine, of(descriptions.len() - 1), null_mut());
    let mut handle = null_mut();
    let out = &raw mut handle;
    // SAFETY: the documented type of each; descriptions are alive, attributes may be null.
    unsafe {
        match formula {
            Formula::Matmul => make!(open, "dnnl_matmul_primitive_desc_create",
                out => *mut Handle, engine => Handle, of(0) => Handle, of(1) => Handle,
                none => Handle, result => Handle, none => Handle),
            Formula::Add => make!(open, "dnnl_binary_primitive_desc_create",
                out => *mut Handle, engine => Handle, ADD => c_int, of(0) => Handle,
                of(1) => Handle, result => Handle, none => Handle),
            Formula::Softmax => make!(open, "dnnl_softmax_forward_primitive_desc_create",
                out => *mut Handle, engine => Handle, INFERENCE => c_int, SOFTMAX => c_int,
                of(0) => Handle, result => Handle, 1 => c_int, none => Handle),
            Formula::Swish => make!(open, "dnnl_eltwise_forward_primitive_desc_create",
                out => *mut Handle, engine => Handle, INFERENCE => c_int, SWISH => c_int,
                of(0) => Handle, result => Handle, 1.0 => f32, 0.0 => f32, none => Handle),
        }?;
    }
    own(library, handle, "dnnl_primitive_desc_destroy")
}

fn own(library: &Library, handle: Handle, destroy: &str) -> Result<Owned, String> {
    // SAFETY: the documented type of the functions that end objects.
    Ok(Owned { handle, destroy: unsafe { library.open.get(destroy)? } })
}
