//! Runs a kernel in this process and judges it as the gate's value stages do; for unit tests.
//!
//! Never a proof: a proof is made in a worker process, with guard pages.

use proofmark_contract::{
    Call, Entry, Filling, Kernel, Observed, Op, Role, Signature, Values, Want, check_case,
};
use proofmark_schema::{Case, DType, Isa};
use proofmark_tensor::{AlignedBuffer, Layout, Pool, Tensor, round_to};

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
    q_of_output(op, case, inputs, (0, got), false)
}

/// Greatest error of one output, by its own element type and by what may cancel.
fn q_of_output(
    op: &dyn Op,
    case: &Case,
    inputs: &Values,
    (k, got): (usize, &[f64]),
    cancels: bool,
) -> f64 {
    let dtype = check_case(op, case).expect("the case fits").outputs()[k].dtype;
    let truth = op.oracle(case, inputs, k, &Want::all());
    assert_eq!(truth.value.len(), got.len());
    let cancelled = |at: usize| truth.cancelled.get(at).filter(|_| cancels).unwrap_or(&0.0);
    let q_at = |at: usize| q(dtype, truth.value[at], truth.scale[at] + cancelled(at), got[at]);
    (0..got.len()).map(q_at).fold(0.0, f64::max)
}

/// Greatest error of all outputs.
fn q_of_all(
    op: &dyn Op,
    kernel: &dyn Kernel,
    case: &Case,
    inputs: &Values,
    got: &[Vec<f64>],
) -> f64 {
    let (each, cancels) = (got.iter().enumerate(), kernel.contract(case).cancels);
    each.map(|(k, got)| q_of_output(op, case, inputs, (k, got), cancels)).fold(0.0, f64::max)
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

/// Tries everything the op's definition names on one case; the first failure in words.
pub(crate) fn judge(
    entry: &Entry,
    kernel: &dyn Kernel,
    case: &Case,
    setup: Setup,
) -> Result<(), String> {
    let op = entry.op;
    let signature = check_case(op, case).expect("the case fits");
    let limits = op.limits(case);
    let longer = 1.0 + (op.reduction(case) as f64).sqrt() / 4.0;
    let portfolio = op.portfolio(case, &signature);
    let zero_mean = portfolio.zero_mean.iter().map(|filling| (filling, limits.q_max));
    let structured = portfolio.structured.iter();
    let structured = structured.map(|filling| (filling, limits.structured * longer));
    let exact = portfolio.exact.iter().map(|filling| (filling, 0.0));
    for (filling, limit) in exact.chain(zero_mean).chain(structured) {
        let inputs = filled(op, case, filling, 7);
        let got = call(op, kernel, case, setup, &inputs);
        let q = q_of_all(op, kernel, case, &inputs, &got);
        if q > limit {
            return Err(format!("{case} on {}: q {q} > {limit}", filling.describe(&signature)));
        }
    }
    let base = filled(op, case, &portfolio.zero_mean[0], 11);
    judge_specials(op, kernel, case, setup, &base, limits.structured * longer)?;
    judge_laws(op, kernel, case, setup, &base)
}

fn judge_specials(
    op: &dyn Op,
    kernel: &dyn Kernel,
    case: &Case,
    setup: Setup,
    base: &Values,
    limit: f64,
) -> Result<(), String> {
    let signature = check_case(op, case).expect("the case fits");
    let specials = op.specials(case, &signature);
    for &operand in &specials.operands {
        for (i, &value) in specials.values.iter().enumerate() {
            let mut inputs = base.clone();
            let len = inputs.of(operand).len();
            let value = round_to(signature.operands()[operand].dtype, value);
            for at in [0, len / 2 + i, len.saturating_sub(1 + i)] {
                if at < len {
                    inputs.tensors[operand][at] = value;
                }
            }
            let got = call(op, kernel, case, setup, &inputs);
            let q = q_of_all(op, kernel, case, &inputs, &got);
            if q > limit {
                return Err(format!("{case} with {value:e} in operand {operand}: q {q}"));
            }
            if specials.signed_zero {
                judge_signs(op, case, &inputs, &got[0])?;
            }
        }
    }
    Ok(())
}

fn judge_signs(op: &dyn Op, case: &Case, inputs: &Values, got: &[f64]) -> Result<(), String> {
    let truth = op.oracle(case, inputs, 0, &Want::all());
    let is_other = |(&want, &got): (&f64, &f64)| {
        want == 0.0 && got == 0.0 && want.is_sign_negative() != got.is_sign_negative()
    };
    match truth.value.iter().zip(got).position(is_other) {
        Some(i) => Err(format!("{case}: element {i} is a zero of the other sign")),
        None => Ok(()),
    }
}

fn judge_laws(
    op: &dyn Op,
    kernel: &dyn Kernel,
    case: &Case,
    setup: Setup,
    base: &Values,
) -> Result<(), String> {
    let signature = check_case(op, case).expect("the case fits");
    let outputs = call(op, kernel, case, setup, base);
    for law in op.laws() {
        let mut changed = base.clone();
        if !(law.change)(case, &mut changed, 5) {
            continue;
        }
        for (operand, tensor) in signature.operands().iter().zip(&mut changed.tensors) {
            tensor.iter_mut().for_each(|value| *value = round_to(operand.dtype, *value));
        }
        let after = call(op, kernel, case, setup, &changed);
        let before = Observed { inputs: base, outputs: &outputs };
        (law.holds)(case, before, Observed { inputs: &changed, outputs: &after })
            .map_err(|why| format!("{case}: law {}: {why}", law.name))?;
    }
    Ok(())
}

/// Panics unless every kernel passes every proof case on every path, dense and padded.
pub(crate) fn every_kernel_passes(entry: &Entry) {
    for kernel in entry.kernels {
        let paths = kernel.isas().iter().filter(|&&isa| proofmark_simd::available(isa));
        for &isa in paths {
            for &dtype in entry.op.dtypes() {
                for (i, case) in entry.op.proof_cases(dtype).iter().enumerate() {
                    if kernel.supports(case, isa).is_err() {
                        continue;
                    }
                    let threads = if kernel.is_parallel() { 1 + i % 3 } else { 1 };
                    let setup = Setup { isa, threads, padding: [0, 1, 17][i % 3] };
                    if let Err(why) = judge(entry, *kernel, case, setup) {
                        panic!("{}/{isa} with {setup:?}: {why}", kernel.name());
                    }
                }
            }
        }
    }
}

/// Panics if a mutant passes all proof cases of an element type it does.
pub(crate) fn every_mutant_fails(entry: &Entry) {
    for mutant in entry.mutants {
        for &dtype in entry.op.dtypes() {
            let cases = entry.op.proof_cases(dtype);
            if mutant.kernel.supports(&cases[0], Isa::Scalar).is_err() {
                continue;
            }
            let fails = cases.iter().any(|case| {
                let setup = Setup { padding: 3, ..Setup::plain(Isa::Scalar) };
                judge(entry, mutant.kernel, case, setup).is_err()
            });
            assert!(fails, "mutant {} passes in {dtype}", mutant.name);
        }
    }
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
