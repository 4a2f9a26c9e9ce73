//! The kernels of the timing self-test with a planted effect, for any harness to call.
//!
//! An effect is planted as `proofmark selftest timing` plants it: the same kernel on a case with so
//! many per cent more rows. The tracks are the lines of `tracks.txt`, which `cargo xtask duel`
//! reads as well: class, kernel, case, the axis that grows, threads.

mod c_abi;

use std::hint::black_box;

use proofmark_contract::{BadCase, Call, Kernel, check_case};
use proofmark_schema::{Case, DType, Isa};
use proofmark_tensor::{AlignedBuffer, Fill, Pool, Tensor, encode};

const TRACKS: &str = include_str!("../tracks.txt");

/// Inputs are the same in every process, as a benchmark's usually are.
const SEED: u64 = 1;

/// Elements after which inputs repeat; a prime, so that rows differ.
const PERIOD: u64 = 1021;

/// Why an arm cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ArmError {
    /// The case is in no line of the table.
    #[error("no track `{0}`; duel/kernels/tracks.txt lists them")]
    NoTrack(String),
    /// The case does not fit its op.
    #[error(transparent)]
    Case(#[from] BadCase),
    /// An environment variable that names the arm is missing.
    #[error("the environment does not say {0}; `cargo xtask duel run` sets it")]
    Environment(&'static str),
}

/// One arm of a comparison: a kernel with its operands, ready to be called.
pub struct Arm {
    kernel: &'static dyn Kernel,
    isa: Isa,
    case: Case,
    threads: usize,
    pool: Pool,
    inputs: Vec<Tensor>,
    outputs: Vec<Tensor>,
    workspace: AlignedBuffer,
    /// What the tensors lie in.
    _memory: Vec<AlignedBuffer>,
}

impl Arm {
    /// The track of `case` with `percent` more rows.
    ///
    /// # Errors
    /// If no track has this case.
    pub fn new(case: &str, percent: u64) -> Result<Arm, ArmError> {
        let unknown = || ArmError::NoTrack(case.to_owned());
        let mut tracks = TRACKS.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let track = tracks.find(|words| words.get(2) == Some(&case)).ok_or_else(unknown)?;
        let [_, kernel, _, axis, threads] = track[..] else { return Err(unknown()) };
        let mut case: Case = case.parse().map_err(|_| unknown())?;
        for (name, size) in &mut case.axes {
            if name == axis {
                *size += *size * percent / 100;
            }
        }
        let entry = proofmark_ops::find(&case.op).ok_or_else(unknown)?;
        let kernel = entry.kernel(kernel).ok_or_else(unknown)?;
        let signature = check_case(entry.op, &case)?;
        let usable = |isa: &Isa| proofmark_simd::available(*isa);
        let isa = kernel.isas().iter().copied().filter(usable).max().ok_or_else(unknown)?;
        let threads = threads.parse().map_err(|_| unknown())?;
        // The fill of timed calls in the product.
        let filling = entry.op.portfolio(&case, &signature).zero_mean.swap_remove(0);
        let mut memory = Vec::new();
        let mut tensors = Vec::new();
        for (stream, (operand, fill)) in signature.operands().iter().zip(&filling.fills).enumerate()
        {
            let pattern = pattern(operand.dtype, fill, stream as u64);
            let mut buffer = AlignedBuffer::new(operand.len() * operand.dtype.size());
            // Outputs too, so that no page is touched for the first time by a timed call.
            for part in buffer.as_mut_slice().chunks_mut(pattern.len()) {
                part.copy_from_slice(&pattern[..part.len()]);
            }
            let base = buffer.as_mut_slice().as_mut_ptr();
            // SAFETY: the buffer has the operand's bytes, is kept beside the tensors for as long
            // as they live, and nothing else touches it.
            tensors.push(unsafe { Tensor::from_raw(base, operand.dtype, operand.layout(), true) });
            memory.push(buffer);
        }
        let outputs = tensors.split_off(signature.inputs().len());
        let workspace = AlignedBuffer::new(kernel.workspace_bytes(&case, isa, threads));
        let pool = Pool::new(threads);
        let inputs = tensors;
        Ok(Arm { kernel, isa, case, threads, pool, inputs, outputs, workspace, _memory: memory })
    }

    /// The arm that `DUEL_CASE` and `DUEL_PERCENT` name.
    ///
    /// # Errors
    /// If they are missing or name no track.
    pub fn of_environment() -> Result<Arm, ArmError> {
        let read = |name| std::env::var(name).map_err(|_| ArmError::Environment(name));
        let percent = read("DUEL_PERCENT")?;
        let percent = percent.parse().map_err(|_| ArmError::Environment("DUEL_PERCENT"))?;
        Arm::new(&read("DUEL_CASE")?, percent)
    }

    /// Calls the kernel once.
    ///
    /// # Panics
    /// If the kernel refuses operands that are of its own signature.
    #[inline]
    pub fn call(&mut self) {
        let mut call = Call {
            case: &self.case,
            isa: self.isa,
            threads: self.threads,
            pool: &self.pool,
            inputs: &self.inputs,
            outputs: &mut self.outputs,
            workspace: self.workspace.as_mut_slice(),
            prepared: &[],
        };
        black_box(self.kernel.run(black_box(&mut call))).expect("a track's kernel does its case");
    }
}

/// The first values of a fill, to be repeated: hyperfine times whole processes, and drawing every
/// element would take longer than the calls.
fn pattern(dtype: DType, fill: &Fill, stream: u64) -> Vec<u8> {
    let values: Vec<f64> =
        (0..PERIOD).map(|index| fill.value(dtype, SEED, stream, index, PERIOD as usize)).collect();
    let mut bytes = vec![0; values.len() * dtype.size()];
    encode(dtype, &values, &mut bytes);
    bytes
}
