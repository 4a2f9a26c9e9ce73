//! Runs a kernel in this process, and says how far off its numbers are; for unit tests.
//!
//! Never a proof: a proof is made in a worker process, with guard pages.

use proofmark_contract::{
    Call, Entry, Filling, Kernel, Op, Role, Signature, Values, Want, check_case,
};
use proofmark_tensor::{AlignedBuffer, Layout, Pool, Tensor, round_to};
use proofmark_terms::{Case, DType, Isa};

/// Every byte that a kernel has not written.
const POISON: u8 = 0xff;

/// How one call is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    /// Instruction-set path.
    pub(crate) isa: Isa,
    /// Threads.
    pub(crate) threads: usize,
    /// Elements between rows.
    pub(crate) padding: usize,
}

impl Setup {
    /// Dense, on one thread.
    pub(crate) fn plain(isa: Isa) -> Setup {
        Setup { isa, threads: 1, padding: 0 }
    }
}

/// Calls the kernel once, with NaN in everything unwritten; gives the decoded outputs.
///
/// # Panics
/// If the kernel fails or writes between rows.
pub(crate) fn call(
    op: &dyn Op,
    kernel: &dyn Kernel,
    case: &Case,
    setup: Setup,
    inputs: &Values,
) -> Vec<Vec<f64>> {
    let signature = check_case(op, case).expect("the case fits");
    let mut memory = Vec::new();
    let mut tensors = Vec::new();
    for (i, operand) in signature.operands().iter().enumerate() {
        let cols = operand.layout().cols();
        let padding = if operand.free_row_stride { setup.padding } else { 0 };
        let layout = Layout::padded(operand.shape.as_slice(), cols + padding);
        let mut buffer = AlignedBuffer::new(layout.span() * operand.dtype.size());
        buffer.as_mut_slice().fill(POISON);
        let base = buffer.as_mut_slice().as_mut_ptr();
        // SAFETY: the buffer holds the layout's span, outlives the tensor and is used through it.
        let mut tensor = unsafe { Tensor::from_raw(base, operand.dtype, layout, true) };
        if operand.role != Role::Output {
            tensor.from_f64(inputs.of(i));
        }
        memory.push(buffer);
        tensors.push(tensor);
    }
    let mut outputs = tensors.split_off(signature.inputs().len());
    let bytes = kernel.workspace_bytes(case, setup.isa, setup.threads);
    let mut workspace = AlignedBuffer::new(bytes);
    workspace.as_mut_slice().fill(POISON);
    let pool = Pool::new(setup.threads);
    let mut call = Call {
        case,
        isa: setup.isa,
        threads: setup.threads,
        pool: &pool,
        inputs: &tensors,
        outputs: &mut outputs,
        workspace: workspace.as_mut_slice(),
        prepared: &[],
    };
    let mut prepared = AlignedBuffer::new(kernel.prepared_bytes(case, setup.isa));
    kernel.prepare(&mut call, prepared.as_mut_slice()).expect("the kernel packs the weights");
    call.prepared = prepared.as_slice();
    kernel.run(&mut call).expect("the kernel does the case");
    for output in &outputs {
        let written = output.layout.row_stride - output.layout.cols();
        assert!(written == 0 || padding_is_intact(output), "{case}: padding was written");
    }
    outputs.iter().map(Tensor::to_f64).collect()
}

fn padding_is_intact(tensor: &Tensor) -> bool {
    let (layout, size) = (&tensor.layout, tensor.dtype.size());
    (0..layout.rows().saturating_sub(1)).filter(|_| !layout.is_empty()).all(|row| {
        let start = (row * layout.row_stride + layout.cols()) * size;
        let end = (row + 1) * layout.row_stride * size;
        // SAFETY: bytes between two rows lie within the tensor's memory.
        (start..end).all(|at| unsafe { tensor.base().add(at).read() } == POISON)
    })
}

/// The values that a filling gives a case's operands.
pub(crate) fn fill(signature: &Signature, filling: &Filling, seed: u64) -> Values {
    let operands = signature.operands().iter().zip(&filling.fills).enumerate();
    let of = |(i, (operand, fill)): (usize, (&proofmark_contract::Operand, &_))| {
        let fill: &proofmark_tensor::Fill = fill;
        let cols = operand.layout().cols();
        let len = if operand.role == Role::Output { 0 } else { operand.len() };
        (0..len).map(|at| fill.value(operand.dtype, seed, i as u64, at as u64, cols)).collect()
    };
    Values { tensors: operands.map(of).collect() }
}

/// The same with the structure that some operands must have.
fn filled(op: &dyn Op, case: &Case, filling: &Filling, seed: u64) -> Values {
    let mut values = fill(&check_case(op, case).expect("the case fits"), filling, seed);
    op.structure(case, seed, &mut values);
    values
}

/// Greatest error of the first output in units of `u·scale`; infinite where a class is wrong.
pub(crate) fn greatest_q(op: &dyn Op, case: &Case, inputs: &Values, got: &[f64]) -> f64 {
    let dtype = check_case(op, case).expect("the case fits").outputs()[0].dtype;
    let truth = op.oracle(case, inputs, 0, &Want::all());
    assert_eq!(truth.value.len(), got.len());
    let q_at = |at: usize| q(dtype, truth.value[at], truth.scale[at], got[at]);
    (0..got.len()).map(q_at).fold(0.0, f64::max)
}

fn q(dtype: DType, want: f64, scale: f64, got: f64) -> f64 {
    let rounded = round_to(dtype, want);
    if want.is_nan() && got.is_nan() || rounded == got {
        return 0.0;
    }
    if want.is_nan() || got.is_nan() || want.is_infinite() || got.is_infinite() {
        return f64::INFINITY;
    }
    // Where the scale is 0 only the nearest number is right.
    let rounding = if scale == 0.0 { 0.0 } else { 0.5 * dtype.ulp(want) };
    let excess = ((got - want).abs() - rounding).max(0.0);
    excess / (DType::F32.unit() * scale + dtype.smallest())
}

/// Panics if the first output is beyond the limits of numbers around zero.
pub(crate) fn is_within_limits(entry: &Entry, kernel: &dyn Kernel, case: &Case, setup: Setup) {
    let signature = check_case(entry.op, case).expect("the case fits");
    let filling = Filling::uniform(&signature, &proofmark_tensor::Fill::Normal);
    let inputs = filled(entry.op, case, &filling, 7);
    let got = call(entry.op, kernel, case, setup, &inputs);
    let q = greatest_q(entry.op, case, &inputs, &got[0]);
    assert!(q <= entry.op.limits(case).q_max, "{case} by {}: q {q}", kernel.name());
}

/// Panics if `parallel` on one to four threads does not give the bits of `simd` on any path.
pub(crate) fn threads_change_nothing(entry: &Entry, case: &str) {
    let case: Case = case.parse().expect("a case");
    let signature = check_case(entry.op, &case).expect("the case fits");
    let filling = Filling::uniform(&signature, &proofmark_tensor::Fill::Normal);
    let inputs = filled(entry.op, &case, &filling, 3);
    for isa in Isa::ALL.into_iter().filter(|&isa| proofmark_simd::available(isa)) {
        let run = |name: &str, threads| {
            let kernel = entry.kernel(name).expect("the entry has it");
            call(entry.op, kernel, &case, Setup { isa, threads, padding: 0 }, &inputs)
        };
        let alone = run("simd", 1);
        for threads in 1..=4 {
            assert_eq!(run("parallel", threads), alone, "{threads} threads on {isa}");
        }
    }
}
