//! Tiles of keys with a running softmax, on one thread.
//!
//! Idea: no row of scores is ever whole; each tile of keys corrects the maximum, total and sums
//! of the rows that see it. Few rows a head of keys stream past the keys ([`super::thin`]), many
//! go in strips of one lane a row ([`super::strip`]); both say their flops, bytes and registers.

use super::tiled;
use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_schema::{Case, ErrorContract, Isa};

/// The kernel.
#[derive(Debug)]
pub(crate) struct Simd;

impl Kernel for Simd {
    fn name(&self) -> &'static str {
        "simd"
    }

    fn summary(&self) -> &'static str {
        "tiles of keys with a running softmax, in vectors"
    }

    fn isas(&self) -> &'static [Isa] {
        &Isa::ALL
    }

    fn supports(&self, case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        tiled::supports(case)
    }

    fn contract(&self, _case: &Case) -> ErrorContract {
        tiled::contract()
    }

    fn workspace_bytes(&self, case: &Case, isa: Isa, _threads: usize) -> usize {
        tiled::workspace_bytes(case, isa, 1)
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        tiled::run(call, 1)
    }
}
