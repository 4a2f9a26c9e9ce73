//! The kernels of block-scaled fp8 products: one frame, and an idea each for the product itself.

mod activations;
mod amx;
mod parallel;
mod partial;
mod scalar;
mod simd;

pub(super) use scalar::SCALAR;

use super::definition::Problem;
use crate::blocks::gemm::dequantised_scratch;
use crate::blocks::scratch::elements_mut;
use crate::blocks::stored::Stored;
use activations::activate;
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_simd::tile;
use proofmark_tensor::{F8E4m3, Rows, RowsMut, bf16};
use proofmark_terms::{Case, DType, ErrorContract, Isa, Reproducibility};
use std::ops::Range;

/// How products are computed once activations are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Idea {
    /// Scales are folded into both operands as they are decoded.
    Folded,
    /// Scales are applied to the partial sums of a block.
    Partial,
    /// A panel of weights is dequantised, then multiplied by all rows.
    Dequantised,
    /// Codes as bf16 on AMX tiles, scales applied to the partial sums of a block.
    Amx,
    /// Folded for few rows, dequantised for many.
    Best,
}

/// A kernel of this frame.
#[derive(Debug)]
pub(super) struct Framed {
    name: &'static str,
    summary: &'static str,
    idea: Idea,
    is_parallel: bool,
}

/// Scales folded into the operands; see `simd.rs`.
pub(super) const SIMD: Framed = Framed {
    name: "simd",
    summary: "rows against rows in vectors, scales folded into decoded elements",
    idea: Idea::Folded,
    is_parallel: false,
};

/// Scales applied to partial sums; see `partial.rs`.
pub(super) const PARTIAL: Framed = Framed {
    name: "partial",
    summary: "rows against rows in vectors, scales applied to the sums of a block",
    idea: Idea::Partial,
    is_parallel: false,
};

/// Panels dequantised first; see `simd.rs`.
pub(super) const DEQUANTISED: Framed = Framed {
    name: "dequantised",
    summary: "a panel of weights is dequantised to f32, then multiplied by all rows",
    idea: Idea::Dequantised,
    is_parallel: false,
};

/// The best of the vector ideas on all threads; see `parallel.rs`.
pub(super) const PARALLEL: Framed = Framed {
    name: "parallel",
    summary: "columns shared out: folded for few rows, dequantised panels for many",
    idea: Idea::Best,
    is_parallel: true,
};

/// AMX tiles on all threads; see `amx.rs`.
pub(super) const AMX: Framed = Framed {
    name: "amx",
    summary: "codes as bf16 on AMX tiles, weights packed once, scales applied to partial sums",
    idea: Idea::Amx,
    is_parallel: true,
};

/// What one thread multiplies.
#[derive(Clone, Copy)]
struct Job<'a> {
    isa: Isa,
    problem: Problem,
    /// Decoded activations, folded or not.
    left: Rows<'a, f32>,
    /// Their scales, a row each.
    left_scales: &'a [f32],
    right: Rows<'a, F8E4m3>,
    right_scales: &'a [f32],
    prepared: &'a [u8],
}

impl Kernel for Framed {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn isas(&self) -> &'static [Isa] {
        if self.idea == Idea::Amx { &[Isa::Avx512] } else { &Isa::ALL }
    }

    fn is_parallel(&self) -> bool {
        self.is_parallel
    }

    /// Even on one thread `Best` chooses between the ideas.
    fn is_serial_twin(&self) -> bool {
        false
    }

    fn supports(&self, _case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        if self.idea == Idea::Amx && !tile::available(tile::Product::Bf16) {
            return Err(Unsupported("this processor has no AMX tiles for bf16".to_owned()));
        }
        Ok(())
    }

    fn contract(&self, _case: &Case) -> ErrorContract {
        ErrorContract {
            reproducibility: Reproducibility::ThreadInvariant,
            ..ErrorContract::default()
        }
    }

    fn workspace_bytes(&self, case: &Case, isa: Isa, threads: usize) -> usize {
        let problem = Problem::of(case);
        let threads = if self.is_parallel { threads.max(1) } else { 1 };
        let each = self.idea.scratch(&problem, isa, case.dtype);
        (decoded(&problem) + problem.m * problem.across() + threads * each) * size_of::<f32>()
    }

    fn prepared_bytes(&self, case: &Case, _isa: Isa) -> usize {
        if self.idea == Idea::Amx { amx::packed_bytes(&Problem::of(case)) } else { 0 }
    }

    fn prepare(&self, call: &mut Call<'_>, prepared: &mut [u8]) -> Result<(), KernelError> {
        if self.idea != Idea::Amx {
            return Ok(());
        }
        let problem = Problem::of(call.case);
        amx::pack(call.isa, &problem, call.inputs[problem.right()].rows::<F8E4m3>()?, prepared)
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        match call.case.dtype {
            DType::Bf16 => self.product::<bf16>(call),
            _ => self.product::<f32>(call),
        }
    }
}

/// Floats of decoded activations: whole cache lines, so that scratch memory is aligned.
fn decoded(problem: &Problem) -> usize {
    (problem.m * problem.k).next_multiple_of(16)
}

impl Framed {
    fn product<C: Stored>(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        let problem = Problem::of(call.case);
        let Problem { m, k, .. } = problem;
        let threads = if self.is_parallel { call.threads.max(1) } else { 1 };
        let each = self.idea.scratch(&problem, call.isa, C::DTYPE);
        let scales = problem.m * problem.across();
        let count = decoded(&problem) + scales + threads * each;
        let workspace = elements_mut::<f32>(call.workspace, count, "workspace")?;
        let (codes, rest) = workspace.split_at_mut(decoded(&problem));
        // Scratch memory first: what tiles are loaded from keeps its alignment.
        let (scratch, scales) = rest.split_at_mut(threads * each);
        let codes = RowsMut::from_slice(&mut codes[..m * k], m, k);
        let scales = RowsMut::from_slice(scales, m, problem.across());
        let folds = self.idea.folds(&problem);
        let activations = (folds, codes, scales);
        let (left, left_scales) =
            activate(&problem, call.isa, call.inputs, call.pool, threads, activations)?;
        let right = call.inputs[problem.right()].rows::<F8E4m3>()?;
        let right_scales = call.inputs[problem.right() + 1].slice::<f32>()?;
        let mut output = call.outputs[0].rows_mut::<C>()?;
        check(&problem, &right, right_scales, (output.rows(), output.cols()))?;
        let (isa, prepared) = (call.isa, call.prepared);
        let job = Job { isa, problem, left, left_scales, right, right_scales, prepared };
        let mut scratch = RowsMut::from_slice(scratch, threads, each);
        parallel::share_out(self.idea, &job, call.pool, &mut scratch, &mut output);
        Ok(())
    }
}

/// Columns that stay together: those of a packed panel.
const PANEL: usize = 32;

impl Idea {
    /// Whether activations are multiplied by their scales as they are decoded.
    fn folds(self, problem: &Problem) -> bool {
        matches!(self.choose(problem), Idea::Folded | Idea::Dequantised)
    }

    fn choose(self, problem: &Problem) -> Idea {
        match self {
            Idea::Best if problem.m < parallel::MANY_ROWS => Idea::Folded,
            Idea::Best => Idea::Dequantised,
            own => own,
        }
    }

    /// Floats of scratch memory that a thread needs; whole cache lines.
    fn scratch(self, problem: &Problem, isa: Isa, output: DType) -> usize {
        let Problem { m, n, k, .. } = *problem;
        let floats = match self.choose(problem) {
            Idea::Dequantised => dequantised_scratch(isa, [m, n, k], output),
            Idea::Amx => amx::scratch(problem),
            _ => 0,
        };
        floats.next_multiple_of(16)
    }

    fn multiply<C: Stored>(
        self,
        job: &Job<'_>,
        columns: Range<usize>,
        output: RowsMut<'_, C>,
        scratch: &mut [f32],
    ) {
        match self.choose(&job.problem) {
            Idea::Partial => partial::multiply(job, columns, output),
            Idea::Dequantised => simd::dequantised(job, columns, output, scratch),
            Idea::Amx => amx::multiply(job, columns, output, scratch),
            _ => simd::folded(job, columns, output),
        }
    }
}

fn check(
    problem: &Problem,
    right: &Rows<'_, F8E4m3>,
    right_scales: &[f32],
    output: (usize, usize),
) -> Result<(), KernelError> {
    let Problem { m, n, k, block, .. } = *problem;
    let fits = (right.rows(), right.cols()) == (n, k) && output == (m, n);
    if fits && right_scales.len() == n.div_ceil(block) * problem.across() {
        return Ok(());
    }
    Err(KernelError::Refused("operands do not have the shapes of the case".to_owned()))
}
