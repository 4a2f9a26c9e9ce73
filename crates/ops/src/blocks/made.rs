//! A kernel as data: what differs between kernels that take every case of their op.

use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_schema::{Case, ErrorContract, Isa, Reproducibility};

/// A kernel made of a name and a function.
pub(crate) struct Made {
    /// Its name.
    pub(crate) name: &'static str,
    /// How it works.
    pub(crate) summary: &'static str,
    /// Its paths.
    pub(crate) isas: &'static [Isa],
    /// Whether it uses more than one thread.
    pub(crate) is_parallel: bool,
    /// How far its bits repeat.
    pub(crate) reproducibility: Reproducibility,
    /// Bytes of scratch memory.
    pub(crate) workspace: fn(&Case) -> usize,
    /// The computation.
    pub(crate) run: fn(&mut Call<'_>) -> Result<(), KernelError>,
}

impl Kernel for Made {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn isas(&self) -> &'static [Isa] {
        self.isas
    }

    fn is_parallel(&self) -> bool {
        self.is_parallel
    }

    fn supports(&self, _case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        Ok(())
    }

    fn contract(&self, _case: &Case) -> ErrorContract {
        ErrorContract { reproducibility: self.reproducibility, ..ErrorContract::default() }
    }

    fn workspace_bytes(&self, case: &Case, _isa: Isa, _threads: usize) -> usize {
        (self.workspace)(case)
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        (self.run)(call)
    }
}

/// Calls a function with the element type that a `DType` names: f32, bf16 or f16.
macro_rules! typed {
    ($dtype:expr, $function:ident $(::<$($more:ty),*>)? ($($argument:expr),*)) => {
        match $dtype {
            proofmark_schema::DType::F32 => $function::<$($($more,)*)? f32>($($argument),*),
            proofmark_schema::DType::Bf16 => {
                $function::<$($($more,)*)? proofmark_tensor::bf16>($($argument),*)
            }
            proofmark_schema::DType::F16 => {
                $function::<$($($more,)*)? proofmark_tensor::f16>($($argument),*)
            }
            other => Err(proofmark_contract::KernelError::Refused(format!(
                "element type {other} is not done"
            ))),
        }
    };
}
pub(crate) use typed;
