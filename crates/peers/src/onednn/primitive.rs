//! A primitive of oneDNN: one computation on operands that lie in a certain way.

use super::library::{Handle, Library, done, make, text};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};

const INFERENCE: c_int = 96;
const IMPLEMENTATION_NAME: c_int = 8;
/// The role of the second source of the first operation that follows a formula. The role of each
/// later operation is this much further on.
const AFTER: c_int = 32768;
const SCALE_AND_SHIFT: c_uint = 6;

/// The library's numbers of algorithms.
pub(super) mod algorithm {
    use super::c_int;
    pub(crate) const RELU: c_int = 0x20;
    pub(crate) const TANH: c_int = 0x21;
    pub(crate) const LINEAR: c_int = 0x26;
    pub(crate) const LOGISTIC: c_int = 0x29;
    pub(crate) const EXP: c_int = 0x2a;
    pub(crate) const GELU_TANH: c_int = 0x2b;
    pub(crate) const SWISH: c_int = 0x2c;
    pub(crate) const GELU_ERF: c_int = 0x31;
    pub(crate) const ADD: c_int = 0x1fff0;
    pub(crate) const MUL: c_int = 0x1fff1;
    pub(crate) const DIV: c_int = 0x1fff4;
    pub(crate) const SUB: c_int = 0x1fff5;
    pub(crate) const REDUCE_MAX: c_int = 0x2fff2;
    pub(crate) const REDUCE_SUM: c_int = 0x2fff4;
    pub(crate) const REDUCE_MEAN: c_int = 0x2fff6;
    pub(crate) const SOFTMAX: c_int = 0x30000;
}

/// Direct convolution, by the library's number.
const DIRECT: c_int = 1;

/// The library's numbers of operands' roles.
pub(super) mod role {
    use super::c_int;
    pub(crate) const SOURCE: c_int = 1;
    pub(crate) const SECOND_SOURCE: c_int = 2;
    pub(crate) const RESULT: c_int = 17;
    pub(crate) const WEIGHTS: c_int = 33;
    pub(crate) const BIAS: c_int = 41;
    pub(crate) const SCALE: c_int = 51;
    pub(crate) const SHIFT: c_int = 52;
}

/// What a primitive computes, with the algorithm where the library has several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Formula {
    /// The source times the weights, plus the bias if there is one.
    Matmul,
    /// A softmax along the last axis.
    Softmax(c_int),
    /// An operation on two sources.
    Binary(c_int),
    /// A function of each element, with its parameter.
    Eltwise(c_int, f32),
    /// Layer normalisation along the last axis, with its epsilon.
    LayerNorm(f32),
    /// A reduction along each axis on which the result has one element.
    Reduction(c_int),
    /// The same elements in another order or type.
    Reorder,
    /// A convolution along one axis or two, and how its taps move.
    Convolution(Moves),
}

/// How the taps of a convolution move; along all axes alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moves {
    /// Elements from one result to the next.
    pub(super) stride: i64,
    /// Elements between two taps.
    pub(super) between: i64,
    /// Zeros on either side.
    pub(super) pad: i64,
}

/// What follows a formula in the same primitive, on its result.
#[derive(Debug)]
pub(super) enum After {
    /// A function of each element, with its parameter.
    Eltwise(c_int, f32),
    /// An operation with another operand.
    Binary(c_int, View),
}

/// A computation and its operands.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) formula: Formula,
    pub(super) views: Vec<View>,
    pub(super) after: Vec<After>,
}

impl Formula {
    /// The recipe of only this, on these operands.
    pub(super) fn of(self, views: Vec<View>) -> Recipe {
        Recipe { formula: self, views, after: Vec::new() }
    }
}

impl Recipe {
    /// The same, followed by another operation.
    pub(super) fn after(mut self, after: After) -> Recipe {
        self.after.push(after);
        self
    }
}

/// An operand as a primitive sees it.
#[derive(Clone, Debug)]
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
    /// The library's best way to compute a recipe.
    pub(super) fn new(library: &'static Library, recipe: Recipe) -> Result<Primitive, String> {
        let Recipe { formula, mut views, after } = recipe;
        let mut extra = Attributes::new(library)?;
        for (place, after) in after.into_iter().enumerate() {
            extra.append(library, &after)?;
            if let After::Binary(_, view) = after {
                let role = (AFTER * (place as c_int + 1)) | role::SECOND_SOURCE;
                views.push(View { role, ..view });
            }
        }
        let describe = |view: &View| describe(library, view);
        let descriptions: Vec<Owned> = views.iter().map(describe).collect::<Result<_, _>>()?;
        let of = |role: c_int| {
            let place = views.iter().position(|view| view.role == role);
            place.map_or(null_mut(), |place| descriptions[place].handle)
        };
        let recipe = describe_formula(library, formula, &of, extra.finish(library)?.handle)?;
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

/// How the library computes a formula on operands of these roles.
fn describe_formula(
    library: &Library,
    formula: Formula,
    of: &dyn Fn(c_int) -> Handle,
    extra: Handle,
) -> Result<Owned, String> {
    let Library { open, engine, .. } = library;
    let (engine, source, result) = (*engine, of(role::SOURCE), of(role::RESULT));
    let mut handle = null_mut();
    let out = &raw mut handle;
    // SAFETY: the documented type of each; descriptions are alive, those that may be null are.
    unsafe {
        match formula {
            Formula::Matmul => make!(open, "dnnl_matmul_primitive_desc_create",
                out => *mut Handle, engine => Handle, source => Handle,
                of(role::WEIGHTS) => Handle, of(role::BIAS) => Handle, result => Handle,
                extra => Handle),
            Formula::Binary(kind) => make!(open, "dnnl_binary_primitive_desc_create",
                out => *mut Handle, engine => Handle, kind => c_int, source => Handle,
                of(role::SECOND_SOURCE) => Handle, result => Handle, extra => Handle),
            Formula::Softmax(kind) => make!(open, "dnnl_softmax_forward_primitive_desc_create",
                out => *mut Handle, engine => Handle, INFERENCE => c_int, kind => c_int,
                source => Handle, result => Handle, 1 => c_int, extra => Handle),
            Formula::Eltwise(kind, alpha) => {
                make!(open, "dnnl_eltwise_forward_primitive_desc_create",
                    out => *mut Handle, engine => Handle, INFERENCE => c_int, kind => c_int,
                    source => Handle, result => Handle, alpha => f32, 0.0 => f32,
                    extra => Handle)
            }
            Formula::LayerNorm(eps) => {
                make!(open, "dnnl_layer_normalization_forward_primitive_desc_create",
                    out => *mut Handle, engine => Handle, INFERENCE => c_int, source => Handle,
                    result => Handle, null_mut() => Handle, eps => f32,
                    SCALE_AND_SHIFT => c_uint, extra => Handle)
            }
            Formula::Reduction(kind) => make!(open, "dnnl_reduction_primitive_desc_create",
                out => *mut Handle, engine => Handle, kind => c_int, source => Handle,
                result => Handle, 0.0 => f32, 0.0 => f32, extra => Handle),
            Formula::Convolution(Moves { stride, between, pad }) => {
                let [stride, between, pad] = [[stride; 2], [between; 2], [pad; 2]];
                make!(open, "dnnl_convolution_forward_primitive_desc_create",
                    out => *mut Handle, engine => Handle, INFERENCE => c_int, DIRECT => c_int,
                    source => Handle, of(role::WEIGHTS) => Handle, of(role::BIAS) => Handle,
                    result => Handle, stride.as_ptr() => *const i64,
                    between.as_ptr() => *const i64, pad.as_ptr() => *const i64,
                    pad.as_ptr() => *const i64, extra => Handle)
            }
            Formula::Reorder => make!(open, "dnnl_reorder_primitive_desc_create",
                out => *mut Handle, source => Handle, engine => Handle, result => Handle,
                engine => Handle, extra => Handle),
        }?;
    }
    own(library, handle, "dnnl_primitive_desc_destroy")
}

/// What follows a formula, as the library's list of it.
struct Attributes(Owned);

impl Attributes {
    fn new(library: &Library) -> Result<Attributes, String> {
        let mut handle = null_mut();
        // SAFETY: the documented type.
        unsafe { make!(library.open, "dnnl_post_ops_create", &raw mut handle => *mut Handle)? };
        Ok(Attributes(own(library, handle, "dnnl_post_ops_destroy")?))
    }

    fn append(&mut self, library: &Library, after: &After) -> Result<(), String> {
        let list = self.0.handle;
        // SAFETY: the documented types; a description is copied.
        unsafe {
            match after {
                After::Eltwise(kind, alpha) => make!(library.open, "dnnl_post_ops_append_eltwise",
                    list => Handle, *kind => c_int, *alpha => f32, 0.0 => f32),
                After::Binary(kind, view) => {
                    let second = describe(library, view)?;
                    make!(library.open, "dnnl_post_ops_append_binary",
                        list => Handle, *kind => c_int, second.handle => Handle)
                }
            }
        }
    }

    fn finish(self, library: &Library) -> Result<Owned, String> {
        let mut handle = null_mut();
        // SAFETY: the documented types; the list is copied.
        unsafe {
            make!(library.open, "dnnl_primitive_attr_create", &raw mut handle => *mut Handle)?;
            make!(library.open, "dnnl_primitive_attr_set_post_ops",
                handle => Handle, self.0.handle => Handle)?;
        }
        own(library, handle, "dnnl_primitive_attr_destroy")
    }
}

fn own(library: &Library, handle: Handle, destroy: &str) -> Result<Owned, String> {
    // SAFETY: the documented type of the functions that end objects.
    Ok(Owned { handle, destroy: unsafe { library.open.get(destroy)? } })
}
