//! bf16 and f16 on AMX tiles, with sums in f32, split among threads; B packed within each call or
//! before.
//!
//! Idea: 2 × 2 tiles of 16 × 16 sums take 32 terms of 32 rows and columns a step, four tile
//! loads for four products (see `blocks::gemm`). A term costs 2 flops; A is copied once. B is
//! packed once, or not at all if it is stored as its transpose and there are at most 128 rows.
//! Tiles of bf16 take subnormals as zeros, on the way in and out, and the contract says so; those
//! of f16 do not. Tiles: 4 of sums, 2 of A, 2 of B.

use super::super::definition::{Shape, output_dtype};
use super::blocked::{self, Source};
use super::portion::{self, Part, Portion};
use crate::blocks::gemm::{
    PackTiles, PackedTiles, TURNED_ROWS, TileGemm, TileRight, TileScratch, TileTerm, TurnedTiles,
    tiles, turned_bytes,
};
use crate::blocks::scratch::{elements, elements_mut};
use crate::blocks::stored::Stored;
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_simd::{dispatch, tile};
use proofmark_tensor::{bf16, f16};
use proofmark_terms::{Case, DType, ErrorContract, Isa, Underflow};

/// The kernel that packs B within each call.
pub(crate) static AMX: Amx = Amx {
    name: "amx",
    summary: "16-bit tiles on AMX, split among threads",
    source: Source::Operand,
};
/// The kernel that packs B before.
pub(crate) static AMX_PREPACKED: Amx = Amx {
    name: "amx_prepacked",
    summary: "as amx, but B is packed once outside the timed part",
    source: Source::Prepared,
};

/// Rows and columns of a block of tiles.
const BLOCK: (usize, usize) = (2 * tile::ROWS, 2 * tile::ROWS);

/// The kernel, of either source.
#[derive(Debug)]
pub(crate) struct Amx {
    name: &'static str,
    summary: &'static str,
    source: Source,
}

impl Amx {
    /// Whether B is read as it is stored; a matter of the case alone, so that every thread count
    /// gives the same bits.
    fn is_turned(&self, shape: Shape) -> bool {
        let is_few = (1..=TURNED_ROWS).contains(&shape.m) && shape.k > 0;
        self.source == Source::Operand && shape.is_transposed && is_few
    }

    fn scratch(&self, case: &Case, threads: usize) -> usize {
        let shape = Shape::of(case);
        if self.is_turned(shape) {
            return turned_bytes(shape.m, shape.k);
        }
        let part = Part::of(shape, BLOCK, threads, 0);
        let is_packed = self.source == Source::Prepared;
        TileScratch::of(part.rows.len(), part.columns.len(), shape.k, is_packed).bytes()
    }

    fn product<T: TileTerm, U: Stored>(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        let (shape, threads) = (Shape::of(call.case), call.threads);
        let packed = match self.source {
            Source::Operand => None,
            Source::Prepared => {
                let count = PackedTiles::elements(shape.k, shape.n);
                let data = elements(call.prepared, count, "packed weights")?;
                Some(PackedTiles { data, n: shape.n })
            }
        };
        let isa = call.isa;
        let each = self.scratch(call.case, threads);
        portion::run(call, threads, BLOCK, each, &|portion: Portion<'_, T, U>| {
            let Portion { left, right, first_column, output, epilogue, scratch } = portion;
            if self.is_turned(shape) {
                let product = TurnedTiles { left, right, first_column, output, epilogue, scratch };
                return dispatch(isa, product);
            }
            let right = match packed {
                Some(packed) => TileRight::Packed(packed),
                None => TileRight::Stored { rows: right, transposed: shape.is_transposed },
            };
            dispatch(isa, TileGemm { left, right, first_column, output, epilogue, scratch });
        })
    }
}

impl Kernel for Amx {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
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

    fn supports(&self, case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        tiles::supports(case.dtype)?;
        match self.source {
            Source::Operand => Ok(()),
            Source::Prepared => blocked::has_one_weight(case),
        }
    }

    fn contract(&self, case: &Case) -> ErrorContract {
        match case.dtype {
            DType::Bf16 => ErrorContract { underflow: Underflow::Flushed, ..blocked::contract() },
            _ => blocked::contract(),
        }
    }

    fn workspace_bytes(&self, case: &Case, _isa: Isa, threads: usize) -> usize {
        let threads = threads.max(1);
        portion::workspace_bytes(threads, self.scratch(case, threads))
    }

    fn prepared_bytes(&self, case: &Case, _isa: Isa) -> usize {
        let shape = Shape::of(case);
        match self.source {
            Source::Operand => 0,
            Source::Prepared => PackedTiles::elements(shape.k, shape.n) * size_of::<bf16>(),
        }
    }

    fn prepare(&self, call: &mut Call<'_>, prepared: &mut [u8]) -> Result<(), KernelError> {
        if self.source == Source::Operand {
            return Ok(());
        }
        let shape = Shape::of(call.case);
        let to = elements_mut(prepared, PackedTiles::elements(shape.k, shape.n), "packed weights")?;
        match call.case.dtype {
            DType::F16 => pack::<f16>(call, shape.is_transposed, to),
            _ => pack::<bf16>(call, shape.is_transposed, to),
        }
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        match (call.case.dtype, output_dtype(call.case)) {
            (DType::F16, DType::F16) => self.product::<f16, f16>(call),
            (DType::F16, _) => self.product::<f16, f32>(call),
            (_, DType::Bf16) => self.product::<bf16, bf16>(call),
            _ => self.product::<bf16, f32>(call),
        }
    }
}

fn pack<T: TileTerm>(
    call: &Call<'_>,
    transposed: bool,
    to: &mut [bf16],
) -> Result<(), KernelError> {
    dispatch(call.isa, PackTiles { rows: portion::weight::<T>(call)?, transposed, to });
    Ok(())
}
