//! Parts of a call: the rows of an op as calls of their own, on the same memory or on copies.

use proofmark_contract::{Attribute, Call, Entry, Kernel, KernelError};
use proofmark_opencl::Launcher;
use proofmark_schema::{Case, Isa};
use proofmark_tensor::{AlignedBuffer, Layout, Pool, Tensor, split};
use std::ops::Range;

/// The honest computation that a specimen wraps.
pub(super) struct Full {
    /// The kernel.
    pub(super) kernel: &'static dyn Kernel,
    /// Its op.
    pub(super) entry: &'static Entry,
    /// The path it is loaded on.
    pub(super) isa: Isa,
    /// The case it is loaded for.
    pub(super) case: Case,
}

impl Full {
    /// Computes the op.
    pub(super) fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        self.kernel.run(call)
    }

    /// An attribute of the op, if it has one of that name.
    pub(super) fn attribute(&self, name: &str) -> Option<&'static Attribute> {
        self.entry.op.attributes().iter().find(|attribute| attribute.name == name)
    }

    /// Whether the case has no attributes: what specimens with arithmetic of their own compute.
    pub(super) fn is_plain(&self) -> bool {
        self.case.attrs.is_empty() && self.case.size("b").is_none_or(|batches| batches == 1)
    }
}

/// A call of its own on some of the memory of another.
pub(super) struct Piece {
    kernel: &'static dyn Kernel,
    pub(super) case: Case,
    isa: Isa,
    pub(super) inputs: Vec<Tensor>,
    pub(super) outputs: Vec<Tensor>,
    workspace: AlignedBuffer,
    pub(super) prepared: AlignedBuffer,
    pool: Pool,
    /// What copies of operands lie in.
    copies: Vec<AlignedBuffer>,
}

impl Piece {
    /// The whole call, by some kernel of the op.
    pub(super) fn whole(full: &Full, call: &Call<'_>, kernel: &'static dyn Kernel) -> Piece {
        let inputs = call.inputs.iter().map(|tensor| view(tensor, None)).collect();
        let outputs = call.outputs.iter().map(|tensor| view(tensor, None)).collect();
        Piece::new(full, kernel, full.case.clone(), inputs, outputs)
    }

    fn new(
        full: &Full,
        kernel: &'static dyn Kernel,
        case: Case,
        inputs: Vec<Tensor>,
        outputs: Vec<Tensor>,
    ) -> Piece {
        let workspace = AlignedBuffer::new(kernel.workspace_bytes(&case, full.isa, 1));
        let prepared = AlignedBuffer::new(kernel.prepared_bytes(&case, full.isa));
        Piece {
            kernel,
            isa: full.isa,
            inputs,
            outputs,
            workspace,
            prepared,
            pool: Pool::serial(),
            copies: Vec::new(),
            case,
        }
    }

    /// Copies what a call was given into inputs of its own.
    pub(super) fn copy_inputs(&mut self, call: &Call<'_>) {
        copy_all(call.inputs, &mut self.inputs);
    }

    /// Copies results from outputs of its own to those of a call.
    pub(super) fn copy_outputs(&self, call: &mut Call<'_>) {
        copy_all(&self.outputs, call.outputs);
    }

    /// Packs the weights.
    pub(super) fn prepare(&mut self) -> Result<(), KernelError> {
        let mut prepared = std::mem::replace(&mut self.prepared, AlignedBuffer::new(0));
        let kernel = self.kernel;
        let done = kernel.prepare(&mut self.call(), prepared.as_mut_slice());
        self.prepared = prepared;
        done
    }

    /// Computes it on the calling thread.
    pub(super) fn run(&mut self) -> Result<(), KernelError> {
        let kernel = self.kernel;
        kernel.run(&mut self.call())
    }

    /// Puts it into a queue of a device, and does not wait.
    pub(super) fn start(&mut self, launcher: &mut Launcher) -> Result<(), KernelError> {
        launcher.start(&mut self.call()).map_err(KernelError::Refused)
    }

    fn call(&mut self) -> Call<'_> {
        Call {
            case: &self.case,
            isa: self.isa,
            threads: 1,
            pool: &self.pool,
            inputs: &self.inputs,
            outputs: &mut self.outputs,
            workspace: self.workspace.as_mut_slice(),
            prepared: self.prepared.as_slice(),
        }
    }
}

/// The pieces of a call, made anew only where its operands have moved.
#[derive(Default)]
pub(super) struct Cut {
    /// Maximum number of pieces; 0 means one for each row.
    most: usize,
    has_own_inputs: bool,
    has_own_outputs: bool,
    bases: Vec<usize>,
    pieces: Vec<Piece>,
}

impl Cut {
    /// One piece for each row.
    pub(super) fn by_row() -> Cut {
        Cut::default()
    }

    /// At most this many pieces, of equally many rows.
    pub(super) fn into(most: usize) -> Cut {
        Cut { most, ..Cut::default() }
    }

    /// The same with inputs in memory of their own, which are filled by `copy_inputs`.
    pub(super) fn with_own_inputs(self) -> Cut {
        Cut { has_own_inputs: true, ..self }
    }

    /// The same with outputs in memory of their own, which `copy_outputs` copies from.
    pub(super) fn with_own_outputs(self) -> Cut {
        Cut { has_own_outputs: true, ..self }
    }

    /// Whether the pieces are of the operands of this call.
    pub(super) fn is_of(&self, call: &Call<'_>) -> bool {
        let tensors = || call.inputs.iter().chain(call.outputs.iter());
        self.bases.len() == tensors().count()
            && tensors().zip(&self.bases).all(|(tensor, &base)| tensor.base() as usize == base)
    }

    /// The pieces, in order; one where the op cannot be cut.
    pub(super) fn of(&mut self, full: &Full, call: &Call<'_>) -> &mut [Piece] {
        if !self.is_of(call) {
            let tensors = call.inputs.iter().chain(call.outputs.iter());
            self.bases = tensors.map(|tensor| tensor.base() as usize).collect();
            self.pieces = cut(full, call, self.most);
            for piece in &mut self.pieces {
                if self.has_own_inputs {
                    piece.inputs = own(&piece.inputs, &mut piece.copies);
                }
                if self.has_own_outputs {
                    piece.outputs = own(&piece.outputs, &mut piece.copies);
                }
            }
        }
        &mut self.pieces
    }

    /// The whole call as one piece.
    pub(super) fn whole(&mut self, full: &Full, call: &Call<'_>) -> &mut Piece {
        self.most = 1;
        &mut self.of(full, call)[0]
    }
}

fn cut(full: &Full, call: &Call<'_>, most: usize) -> Vec<Piece> {
    let cuttable = rows_of(full, call).filter(|_| most != 1);
    let Some((axis, rows)) = cuttable else {
        return vec![Piece::whole(full, call, full.kernel)];
    };
    let parts = if most == 0 { rows } else { most.min(rows) };
    let piece = |part: usize| {
        let range = split(rows, parts, part, 1);
        let mut case = full.case.clone();
        for (name, size) in &mut case.axes {
            if name == axis {
                *size = range.len() as u64;
            } else if name == "b" {
                *size = 1;
            }
        }
        let is_cut =
            |tensor: &Tensor| tensor.layout.shape.len() == 3 && tensor.layout.rows() == rows;
        // A square product has as many rows in its right operand, which every row needs.
        let is_right = |at: usize| axis == "m" && at == 1;
        let of = |(at, tensor): (usize, &Tensor)| {
            view(tensor, (is_cut(tensor) && !is_right(at)).then(|| range.clone()))
        };
        let inputs = call.inputs.iter().enumerate().map(of).collect();
        let outputs = call.outputs.iter().map(|tensor| of((0, tensor))).collect();
        Piece::new(full, full.kernel, case, inputs, outputs)
    };
    (0..parts).map(piece).collect()
}

/// The axis of the rows that an op can be cut into, and how many there are.
fn rows_of(full: &Full, call: &Call<'_>) -> Option<(&'static str, usize)> {
    let case = &full.case;
    let rows = call.outputs.first()?.layout.rows();
    let shape = &call.outputs[0].layout.shape;
    if rows < 2 || call.outputs[0].layout.is_empty() {
        return None;
    }
    if case.op == "matmul" && case.size("b") == Some(1) {
        return Some(("m", rows));
    }
    let names: Vec<&str> = case.axes.iter().map(|(name, _)| name.as_str()).collect();
    let is_alike = |tensor: &Tensor| {
        let own = &tensor.layout.shape;
        own == shape || own.len() == 1 && own.last() == shape.last()
    };
    let alike = call.inputs.iter().chain(call.outputs.iter()).all(is_alike);
    let sees_all = full.attribute("mask").is_none_or(|mask| mask.word(case) == "none");
    (names == ["b", "s", "d"] && alike && sees_all).then_some(("s", rows))
}

/// Another tensor over the same memory, or over some rows of it.
fn view(tensor: &Tensor, rows: Option<Range<usize>>) -> Tensor {
    let (layout, first) = match rows {
        None => (tensor.layout.clone(), 0),
        Some(rows) => {
            let shape = vec![1, rows.len(), tensor.layout.cols()];
            let row_stride = tensor.layout.row_stride;
            (Layout { shape, row_stride }, rows.start * row_stride * tensor.dtype.size())
        }
    };
    // SAFETY: the rows lie in the memory of the operand, which stays mapped until others are
    // attached, when pieces are cut anew. A specimen uses a piece in place of the call that it was
    // cut from; those that use one at other times do so as the fault that is planted.
    unsafe {
        let base = tensor.base().add(first);
        Tensor::from_raw(base, tensor.dtype, layout, tensor.is_writable())
    }
}

/// Tensors of the same shapes in memory of their own.
fn own(tensors: &[Tensor], copies: &mut Vec<AlignedBuffer>) -> Vec<Tensor> {
    let mut one = |tensor: &Tensor| {
        let layout = Layout::dense(tensor.layout.shape.clone());
        let mut copy = AlignedBuffer::new(layout.span() * tensor.dtype.size());
        let base = copy.as_mut_slice().as_mut_ptr();
        copies.push(copy);
        // SAFETY: the memory is the piece's own, lives on the heap as long as it, and is used
        // through this tensor only.
        unsafe { Tensor::from_raw(base, tensor.dtype, layout, true) }
    };
    tensors.iter().map(&mut one).collect()
}

/// The rows of a tensor as bytes.
pub(super) fn rows(tensor: &Tensor) -> impl Iterator<Item = &[u8]> + Clone {
    let Layout { row_stride, .. } = tensor.layout;
    let (size, cols) = (tensor.dtype.size(), tensor.layout.cols());
    let count = if tensor.layout.is_empty() { 0 } else { tensor.layout.rows() };
    (0..count).map(move |row| {
        // SAFETY: the row lies in the tensor's memory, which is readable.
        unsafe {
            std::slice::from_raw_parts(tensor.base().add(row * row_stride * size), cols * size)
        }
    })
}

/// The bytes of a tensor in runs that are as long as they can be: one where rows lie densely.
pub(super) fn runs(tensor: &Tensor) -> impl Iterator<Item = &[u8]> + Clone {
    let size = tensor.dtype.size();
    let is_dense = tensor.layout.is_dense() && !tensor.layout.is_empty();
    // SAFETY: rows without padding between them are one range of the tensor's memory.
    let whole = is_dense
        .then(|| unsafe { std::slice::from_raw_parts(tensor.base(), tensor.layout.len() * size) });
    whole.into_iter().chain(rows(tensor).filter(move |_| !is_dense))
}

/// The rows of a tensor as bytes, for writing.
pub(super) fn rows_mut(tensor: &mut Tensor) -> impl Iterator<Item = &mut [u8]> {
    let tensor = &*tensor;
    let Layout { row_stride, .. } = tensor.layout;
    let (size, cols) = (tensor.dtype.size(), tensor.layout.cols());
    let count = if tensor.layout.is_empty() { 0 } else { tensor.layout.rows() };
    (0..count).map(move |row| {
        let start = tensor.base().wrapping_add(row * row_stride * size);
        // SAFETY: the row lies in the tensor's memory, which is writable for outputs; rows do not
        // overlap, and the tensor is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(start, cols * size) }
    })
}

/// Copies the elements of tensors to others of the same shapes.
pub(super) fn copy_all(from: &[Tensor], to: &mut [Tensor]) {
    for (from, to) in from.iter().zip(to) {
        for (from, to) in rows(from).zip(rows_mut(to)) {
            to.copy_from_slice(from);
        }
    }
}
