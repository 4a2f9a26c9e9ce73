//! One call as a graph of the library over the operands' own memory.

use super::library::{Handle, InitParams, Library};
use proofmark_contract::{Call, KernelError};
use proofmark_schema::{Case, DType};
use proofmark_tensor::{AlignedBuffer, Tensor};
use std::ffi::c_int;

/// Tensors and nodes of a graph, more than any of ours has.
const MOST: usize = 8;
/// What the library wants a buffer's first address to be a multiple of.
const ALIGN: usize = 32;

/// What identifies an operand: its address and the distance of its rows.
type Place = (*mut u8, usize);

/// A graph bound to operands.
pub(super) struct Graph {
    places: Vec<Place>,
    handle: Handle,
    /// Dense copies, for operands whose rows lie apart.
    copies: Vec<Option<AlignedBuffer>>,
}

impl Graph {
    /// Whether it was made for a call's operands.
    pub(super) fn is_for(&self, call: &Call<'_>) -> bool {
        self.places.iter().copied().eq(operands(call).map(place))
    }

    /// Makes the graph of a case over a call's operands.
    pub(super) fn new(
        library: &Library,
        case: &Case,
        call: &Call<'_>,
    ) -> Result<Graph, KernelError> {
        let mut copies: Vec<Option<AlignedBuffer>> = operands(call)
            .map(|tensor| {
                let bytes = tensor.layout.len() * tensor.dtype.size();
                (!tensor.layout.is_dense()).then(|| AlignedBuffer::new(bytes))
            })
            .collect();
        let maker = Maker::new(library)?;
        let tensors: Vec<Bound> = operands(call)
            .zip(&mut copies)
            .map(|(tensor, copy)| Bound {
                base: copy.as_mut().map_or(tensor.base(), |copy| copy.as_mut_slice().as_mut_ptr()),
                bytes: tensor.layout.len() * tensor.dtype.size(),
                shape: &tensor.layout.shape,
                dtype: tensor.dtype,
            })
            .collect();
        let handle = maker.graph(case, &tensors)?;
        Ok(Graph { places: operands(call).map(place).collect(), handle, copies })
    }

    /// A graph without nodes.
    pub(super) fn of_nothing(library: &Library) -> Result<Graph, KernelError> {
        let maker = Maker::new(library)?;
        // SAFETY: a context with room for it.
        let handle = unsafe { (library.new_graph_custom)(maker.context, MOST, false) };
        Ok(Graph { places: Vec::new(), handle, copies: Vec::new() })
    }

    /// The way into the library and back.
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
        for (tensor, copy) in operands(call).zip(&mut self.copies) {
            if let Some(copy) = copy {
                each_row(tensor, copy, |row, copied, bytes| {
                    // SAFETY: a row of the operand, and its place in the copy.
                    unsafe { row.copy_to_nonoverlapping(copied, bytes) };
                });
            }
        }
        // SAFETY: a graph whose tensors lie in operands that are there during the call.
        let status = unsafe { (library.backend_graph_compute)(backend, self.handle) };
        if status != 0 {
            return Err(KernelError::Refused(format!("the graph ended with status {status}")));
        }
        let written = self.copies.iter_mut().skip(call.inputs.len());
        for (tensor, copy) in call.outputs.iter().zip(written) {
            if let Some(copy) = copy {
                each_row(tensor, copy, |row, copied, bytes| {
                    // SAFETY: a row of the operand, which may be written, and its place.
                    unsafe { row.copy_from_nonoverlapping(copied, bytes) };
                });
            }
        }
        Ok(())
    }
}

fn operands<'a>(call: &'a Call<'_>) -> impl Iterator<Item = &'a Tensor> {
    call.inputs.iter().chain(call.outputs.iter())
}

fn place(tensor: &Tensor) -> Place {
    (tensor.base(), tensor.layout.row_stride)
}

fn each_row(tensor: &Tensor, copy: &mut AlignedBuffer, visit: impl Fn(*mut u8, *mut u8, usize)) {
    let size = tensor.dtype.size();
    let bytes = tensor.layout.cols() * size;
    for row in 0..tensor.layout.rows() {
        let first = tensor.base().wrapping_add(row * tensor.layout.row_stride * size);
        visit(first, copy.as_mut_slice()[row * bytes..].as_mut_ptr(), bytes);
    }
}

/// Memory that becomes a tensor of the library.
struct Bound<'a> {
    base: *mut u8,
    bytes: usize,
    shape: &'a [usize],
    dtype: DType,
}

/// A context in which a graph is made. It is never freed, as the graph is not.
struct Maker<'a> {
    library: &'a Library,
    context: Handle,
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
        Ok(Maker { library, context })
    }

    /// The graph of a case; operands as its op orders them.
    fn graph(&self, case: &Case, operands: &[Bound<'_>]) -> Result<Handle, KernelError> {
        let (library, context) = (self.library, self.context);
        let in_place = case.flag("inplace", false);
        // SAFETY: tensors of this context with shapes that the functions take.
        let last = unsafe {
            match (case.op.as_str(), operands) {
                ("matmul", [left, right, result]) => {
                    let product =
                        (library.mul_mat)(context, self.tensor(right)?, self.tensor(left)?);
                    self.lay(product, result)?
                }
                ("rms_norm", [x, w, y]) => {
                    let eps = case.real("eps", 1e-6) as f32;
                    let normal = (library.rms_norm)(context, self.tensor(x)?, eps);
                    // In place, as the library's allocator of graphs lays it out.
                    (library.mul_inplace)(context, self.lay(normal, y)?, self.tensor(w)?)
                }
                ("softmax", [x]) => (library.soft_max_inplace)(context, self.tensor(x)?),
                ("softmax", [x, y]) => self.lay((library.soft_max)(context, self.tensor(x)?), y)?,
                ("silu", [x, y]) => self.lay((library.silu)(context, self.tensor(x)?), y)?,
                ("add", [b, a]) if in_place => {
                    (library.add_inplace)(context, self.tensor(a)?, self.tensor(b)?)
                }
                ("add", [a, b, c]) => {
                    self.lay((library.add)(context, self.tensor(a)?, self.tensor(b)?), c)?
                }
                (op, operands) => {
                    let message = format!("it has no `{op}` of {} operands", operands.len());
                    return Err(KernelError::Refused(message));
                }
            }
        };
        // SAFETY: a graph of this context, and its last node.
        unsafe {
            let graph = (library.new_graph_custom)(context, MOST, false);
            (library.build_forward_expand)(graph, last);
            Ok(graph)
        }
    }

    /// A tensor over an operand; the library names axes from the last to the first.
    fn tensor(&self, bound: &Bound<'_>) -> Result<Handle, KernelError> {
        let size = |axis: usize| {
            let place = bound.shape.len().checked_sub(axis + 1);
            place.map_or(1, |place| bound.shape[place] as i64)
        };
        let dtype = type_number(bound.dtype);
        // SAFETY: a context with room for it.
        let tensor =
            unsafe { (self.library.new_tensor_3d)(self.context, dtype, size(0), size(1), size(2)) };
        self.lay(tensor, bound)
    }

    /// Lays a tensor that has no memory into an operand's.
    fn lay(&self, tensor: Handle, bound: &Bound<'_>) -> Result<Handle, KernelError> {
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

/// The library's number of an element type.
fn type_number(dtype: DType) -> c_int {
    match dtype {
        DType::F16 => 1,
        DType::Bf16 => 30,
        _ => 0,
    }
}
