//! A kernel as data: what differs between one kernel and another.

use proofmark_contract::{Call, Kernel, KernelError, PartUnit, Unsupported};
use proofmark_terms::{Case, ErrorContract, Isa, Reproducibility, Underflow};

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
    /// Whether on one thread it is another kernel of its op.
    pub(crate) is_serial_twin: bool,
    /// What its tuned constant counts, if it has one.
    pub(crate) part_unit: Option<PartUnit>,
    /// How far its bits repeat.
    pub(crate) reproducibility: Reproducibility,
    /// What it does near zero in a case.
    pub(crate) underflow: fn(&Case) -> Underflow,
    /// Whether larger terms than a result's own cancel in its formula for a case.
    pub(crate) cancels: fn(&Case) -> bool,
    /// Whether it does a case on a path.
    pub(crate) supports: fn(&Case, Isa) -> Result<(), Unsupported>,
    /// Bytes of scratch memory, for a number of threads.
    pub(crate) workspace: fn(&Case, Isa, usize) -> usize,
    /// Bytes of what is made once for many calls.
    pub(crate) prepared: fn(&Case, Isa) -> usize,
    /// Makes it.
    pub(crate) prepare: Prepare,
    /// The computation.
    pub(crate) run: Run,
}

type Prepare = fn(&mut Call<'_>, &mut [u8]) -> Result<(), KernelError>;

type Run = fn(&mut Call<'_>) -> Result<(), KernelError>;

impl Made {
    /// One element at a time: does every case, and has one path.
    pub(crate) const fn scalar(summary: &'static str, run: Run) -> Made {
        Made {
            name: "scalar",
            isas: &[Isa::Scalar],
            reproducibility: Reproducibility::IsaInvariant,
            ..Made::simd(summary, run)
        }
    }

    /// In vectors, with or without a fused multiplication: bits differ between paths.
    pub(crate) const fn simd(summary: &'static str, run: Run) -> Made {
        Made {
            name: "simd",
            summary,
            isas: &Isa::ALL,
            is_parallel: false,
            is_serial_twin: false,
            part_unit: None,
            reproducibility: Reproducibility::ThreadInvariant,
            underflow: |_| Underflow::Gradual,
            cancels: |_| false,
            supports: |_, _| Ok(()),
            workspace: |_, _, _| 0,
            prepared: |_, _| 0,
            prepare: |_, _| Ok(()),
            run,
        }
    }

    /// In vectors on several threads, whose number changes no bit.
    pub(crate) const fn parallel(summary: &'static str, run: Run) -> Made {
        let simd = Made::simd(summary, run);
        Made { name: "parallel", is_parallel: true, is_serial_twin: true, ..simd }
    }

    /// The same with a tuned constant that counts these.
    pub(crate) const fn tuned(self, unit: PartUnit) -> Made {
        Made { part_unit: Some(unit), ..self }
    }

    /// The same with results that every path gives to the bit.
    pub(crate) const fn exact(self) -> Made {
        Made { reproducibility: Reproducibility::IsaInvariant, ..self }
    }
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

    fn is_serial_twin(&self) -> bool {
        self.is_serial_twin
    }

    fn part_unit(&self) -> Option<PartUnit> {
        self.part_unit
    }

    fn supports(&self, case: &Case, isa: Isa) -> Result<(), Unsupported> {
        (self.supports)(case, isa)
    }

    fn contract(&self, case: &Case) -> ErrorContract {
        let reproducibility = self.reproducibility;
        let (underflow, cancels) = ((self.underflow)(case), (self.cancels)(case));
        ErrorContract { reproducibility, underflow, cancels, ..ErrorContract::default() }
    }

    fn workspace_bytes(&self, case: &Case, isa: Isa, threads: usize) -> usize {
        (self.workspace)(case, isa, threads)
    }

    fn prepared_bytes(&self, case: &Case, isa: Isa) -> usize {
        (self.prepared)(case, isa)
    }

    fn prepare(&self, call: &mut Call<'_>, prepared: &mut [u8]) -> Result<(), KernelError> {
        (self.prepare)(call, prepared)
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        (self.run)(call)
    }
}

/// Calls a function with the element type that a `DType` names: f32, bf16 or f16.
macro_rules! typed {
    ($dtype:expr, $function:ident $(::<$($more:ty),*>)? ($($argument:expr),*)) => {
        match $dtype {
            proofmark_terms::DType::F32 => $function::<$($($more,)*)? f32>($($argument),*),
            proofmark_terms::DType::Bf16 => {
                $function::<$($($more,)*)? proofmark_tensor::bf16>($($argument),*)
            }
            proofmark_terms::DType::F16 => {
                $function::<$($($more,)*)? proofmark_tensor::f16>($($argument),*)
            }
            other => Err(proofmark_contract::KernelError::Refused(format!(
                "element type {other} is not done"
            ))),
        }
    };
}
pub(crate) use typed;
