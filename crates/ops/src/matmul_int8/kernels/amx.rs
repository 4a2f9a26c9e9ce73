//! AMX tiles: weights packed once outside the timed part, columns shared out among threads.
//!
//! Idea: one instruction multiplies 16 rows by 16 columns over 64 terms. `prepare` packs b into
//! tiles; a call packs a, which each thread needs whole. Registers: 2 × 2 tiles of sums, 2 left,
//! 2 right. A step reads 4 KiB for 65536 products.

use super::{Operands, contract};
use crate::blocks::bytes::{PackedBytes, TileProducts, TileScratch, pack};
use crate::matmul_int8::definition::Problem;
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_simd::dispatch;
use proofmark_simd::tile::{Product, available};
use proofmark_tensor::{RowsMut, split};
use proofmark_terms::{Case, ErrorContract, Isa};

/// Columns that stay together: those of a packed panel.
const PANEL: usize = 32;

/// The kernel.
#[derive(Debug)]
pub(crate) struct Amx;

impl Kernel for Amx {
    fn name(&self) -> &'static str {
        "amx"
    }

    fn summary(&self) -> &'static str {
        "AMX tiles, weights packed once, columns shared out among threads"
    }

    fn isas(&self) -> &'static [Isa] {
        &[Isa::Avx512]
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn is_serial_twin(&self) -> bool {
        false
    }

    fn supports(&self, _case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        match available(Product::I8) {
            true => Ok(()),
            false => Err(Unsupported("this processor has no AMX tiles for bytes".to_owned())),
        }
    }

    fn contract(&self, _case: &Case) -> ErrorContract {
        contract()
    }

    fn workspace_bytes(&self, case: &Case, _isa: Isa, threads: usize) -> usize {
        threads.max(1) * scratch(&Problem::of(case), threads)
    }

    fn prepared_bytes(&self, case: &Case, _isa: Isa) -> usize {
        let Problem { n, k, .. } = Problem::of(case);
        PackedBytes::bytes(k, n)
    }

    fn prepare(&self, call: &mut Call<'_>, prepared: &mut [u8]) -> Result<(), KernelError> {
        let Problem { n, k, .. } = Problem::of(call.case);
        let (got, need) = (prepared.len(), PackedBytes::bytes(k, n));
        let too_small = KernelError::TooSmall { what: "packed weights", got, need };
        let to = prepared.get_mut(..need).ok_or(too_small)?;
        dispatch(call.isa, pack(call.inputs[1].rows::<i8>()?, to));
        Ok(())
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        let problem = Problem::of(call.case);
        let Problem { m, n, k, .. } = problem;
        let operands = Operands::of(&problem, call.inputs, call.outputs)?;
        let (threads, each) = (call.threads.max(1), scratch(&problem, call.threads));
        let (got, need) = (call.prepared.len(), PackedBytes::bytes(k, n));
        let right = PackedBytes {
            data: call.prepared.get(..need).ok_or(KernelError::TooSmall {
                what: "packed weights",
                got,
                need,
            })?,
            n,
        };
        let (got, need) = (call.workspace.len(), threads * each);
        let workspace = call.workspace.get_mut(..need).ok_or(KernelError::TooSmall {
            what: "workspace",
            got,
            need,
        })?;
        let workspace = RowsMut::from_slice(workspace, threads, each);
        call.pool.with_rows(workspace, |index, scratch| {
            let columns = split(n, threads, index, PANEL);
            if columns.is_empty() || m == 0 {
                return;
            }
            let first_column = columns.start;
            // SAFETY: the columns of different indices do not meet.
            let sums = unsafe { operands.block(0..m, columns) };
            TileProducts { left: operands.left, right, first_column, sums, scratch }.run();
        });
        Ok(())
    }
}

/// Bytes of scratch memory of each thread: whole cache lines, for the largest share.
fn scratch(problem: &Problem, threads: usize) -> usize {
    let Problem { m, n, k, .. } = *problem;
    let share = split(n, threads.max(1), 0, PANEL).len();
    TileScratch::of(m, share, k).bytes().next_multiple_of(64)
}
