//! One call as a graph of the library over the operands' own memory.

use super::library::{Handle, InitParams, Library};
use super::ops;
use crate::rows::{Dense, operands};
use proofmark_contract::{Call, ExplicitCase, KernelError};
use proofmark_schema::DType;
use proofmark_tensor::{AlignedBuffer, Tensor};
use std::ffi::{CStr, c_int};

/// Tensors and nodes of a graph, more than any of ours has.
const MOST: usize = 16;
/// What the library wants a buffer's first address to be a multiple of.
const ALIGN: usize = 32;

/// What identifies an operand: its address and the distance of its rows.
type Place = (*mut u8, usize);

/// A graph bound to operands.
pub(super) struct Graph {
    places: Vec<Place>,
    handle: Handle,
    /// Operands without gaps: the library is given no others.
    dense: Dense,
    /// Memory of what lies between the operands.
    _kept: Vec<AlignedBuffer>,
}

impl Graph {
    /// Whether it was made for a call's operands.
    pub(super) fn is_for(&self, call: &Call<'_>) -> bool {
        self.places.iter().copied().eq(operands(call).map(place))
    }

    /// Makes the graph of a case over a call's operands.
    pub(super) fn new(
        library: &Library,
        case: &ExplicitCase,
        call: &Call<'_>,
    ) -> Result<Graph, KernelError> {
        let mut dense = Dense::default();
        let bases = dense.take(call).iter();
        let given: Vec<Bound> =
            operands(call).zip(bases).map(|(tensor, &base)| Bound::new(tensor, base)).collect();
        let mut maker = Maker::new(library)?;
        let last = ops::nodes(&mut maker, case, &given)?;
        let handle = maker.graph(&last);
        let places = operands(call).map(place).collect();
        Ok(Graph { places, handle, dense, _kept: maker.kept })
    }

    /// A graph without nodes.
    pub(super) fn of_nothing(library: &Library) -> Result<Graph, KernelError> {
        let handle = Maker::new(library)?.graph(&[]);
        Ok(Graph { places: Vec::new(), handle, dense: Dense::default(), _kept: Vec::new() })
    }

    /// Enters the library and returns, with nothing to compute.
    pub(super) fn compute_nothing(&self, library: &Library, backend: Handle) {
        // SAFETY: a graph without nodes.
        unsafe { (library.backend_graph_compute)(backend, self.handle) };
    }

    /// Computes it once.
    pub(super) fn compute(
        &mut self,
        library: &Library,
        backend: Handle,
        call: &Call<'_>,
    ) -> Result<(), KernelError> {
        self.dense.take(call);
        // SAFETY: a graph whose tensors lie in operands that are there during the call.
        let status = unsafe { (library.backend_graph_compute)(backend, self.handle) };
        if status != 0 {
            return Err(KernelError::Refused(format!("the graph ended with status {status}")));
        }
        self.dense.give(call);
        Ok(())
    }
}

fn place(tensor: &Tensor) -> Place {
    (tensor.base(), tensor.layout.row_stride)
}

/// Memory that becomes a tensor of the library.
#[derive(Clone, Copy)]
pub(super) struct Bound {
    base: *mut u8,
    bytes: usize,
    dtype: DType,
    /// The library names axes from the last to the first.
    pub(super) sizes: [usize; 4],
}

impl Bound {
    fn new(tensor: &Tensor, base: *mut u8) -> Bound {
        let mut sizes = [1; 4];
        let shape = tensor.layout.shape.iter().rev();
        sizes.iter_mut().zip(shape).for_each(|(size, &given)| *size = given);
        let bytes = tensor.layout.len() * tensor.dtype.size();
        Bound { base, bytes, dtype: tensor.dtype, sizes }
    }

    /// The same elements as matrices of one row each.
    pub(super) fn row_by_row(self) -> Bound {
        Bound { sizes: [self.sizes[0], 1, self.sizes[1..].iter().product(), 1], ..self }
    }
}

/// A context in which a graph is made. It is never freed, as the graph is not.
pub(super) struct Maker<'a> {
    library: &'a Library,
    pub(super) context: Handle,
    kept: Vec<AlignedBuffer>,
}

impl Maker<'_> {
    fn new(library: &Library) -> Result<Maker<'_>, KernelError> {
        // SAFETY: the sizes of the library's own records, and a context of that size.
        let context = unsafe {
            let mem_size =
                MOST * (library.tensor_overhead)() + (library.graph_overhead_custom)(MOST, false);
            let mem_buffer = std::ptr::null_mut();
            (library.init)(InitParams { mem_size, mem_buffer, no_alloc: true })
        };
        if context.is_null() {
            return Err(KernelError::Refused("it gives no context".to_owned()));
        }
        Ok(Maker { library, context, kept: Vec::new() })
    }

    /// A graph that ends in these nodes.
    fn graph(&self, last: &[Handle]) -> Handle {
        let library = self.library;
        // SAFETY: a graph of this context, and nodes of it.
        unsafe {
            let graph = (library.new_graph_custom)(self.context, MOST, false);
            last.iter().for_each(|&node| (library.build_forward_expand)(graph, node));
            graph
        }
    }

    /// A function of the library that makes a node.
    ///
    /// The caller vouches for the type.
    pub(super) fn function<F: Copy>(&self, name: &CStr) -> Result<F, KernelError> {
        let name = name.to_string_lossy();
        // SAFETY: the caller's word.
        unsafe { self.library.base.get(&name) }.map_err(KernelError::Refused)
    }

    /// A node of one tensor.
    pub(super) fn unary(&self, name: &CStr, x: Handle) -> Result<Handle, KernelError> {
        let make: unsafe extern "C" fn(Handle, Handle) -> Handle = self.function(name)?;
        // SAFETY: the declared type of those that take one tensor, of this context.
        Ok(unsafe { make(self.context, x) })
    }

    /// A node of two tensors.
    pub(super) fn binary(&self, name: &CStr, a: Handle, b: Handle) -> Result<Handle, KernelError> {
        let make: unsafe extern "C" fn(Handle, Handle, Handle) -> Handle = self.function(name)?;
        // SAFETY: the declared type of those that take two tensors, of this context.
        Ok(unsafe { make(self.context, a, b) })
    }

    /// A tensor over an operand.
    pub(super) fn tensor(&self, bound: Bound) -> Result<Handle, KernelError> {
        let [a, b, c, d] = bound.sizes.map(|size| size as i64);
        let dtype = type_number(bound.dtype)?;
        // SAFETY: a context with room for it.
        let tensor = unsafe { (self.library.new_tensor_4d)(self.context, dtype, a, b, c, d) };
        self.lay(tensor, bound)
    }

    /// A tensor that always holds these bytes.
    pub(super) fn constant(
        &mut self,
        dtype: DType,
        sizes: [usize; 4],
        bytes: &[u8],
    ) -> Result<Handle, KernelError> {
        let mut memory = AlignedBuffer::new(bytes.len());
        memory.as_mut_slice().copy_from_slice(bytes);
        let base = memory.as_mut_slice().as_mut_ptr();
        self.kept.push(memory);
        self.tensor(Bound { base, bytes: bytes.len(), dtype, sizes })
    }

    /// Gives a tensor that is no operand memory of its own.
    pub(super) fn keep(&mut self, tensor: Handle, bytes: usize) -> Result<Handle, KernelError> {
        let mut memory = AlignedBuffer::new(bytes);
        let base = memory.as_mut_slice().as_mut_ptr();
        self.kept.push(memory);
        self.lay(tensor, Bound { base, bytes, dtype: DType::U8, sizes: [bytes, 1, 1, 1] })
    }

    /// Lays a tensor that has no memory into an operand's.
    pub(super) fn lay(&self, tensor: Handle, bound: Bound) -> Result<Handle, KernelError> {
        // A buffer is only a note of where memory lies, so it may begin before the operand.
        let before = bound.base.addr() % ALIGN;
        let start = bound.base.wrapping_sub(before);
        // SAFETY: the tensor has the operand's size and no memory yet.
        let status = unsafe {
            let buffer = (self.library.backend_cpu_buffer_from_ptr)(start, before + bound.bytes);
            (self.library.backend_tensor_alloc)(buffer, tensor, bound.base)
        };
        match status {
            0 => Ok(tensor),
            _ => Err(KernelError::Refused(format!("a tensor has status {status}"))),
        }
    }
}

/// The library's number of an element type; unsigned whole numbers have the bits of signed ones.
fn type_number(dtype: DType) -> Result<c_int, KernelError> {
    match dtype {
        DType::F32 => Ok(0),
        DType::F16 => Ok(1),
        DType::I32 | DType::U32 => Ok(26),
        DType::Bf16 => Ok(30),
        other => Err(KernelError::Refused(format!("it has no tensors of {other}"))),
    }
}
