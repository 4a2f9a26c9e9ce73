//! What a mutant is made of: a name, the element types it does, and a wrong function.

use proofmark_contract::{Call, Kernel, KernelError, Unsupported};
use proofmark_tensor::{Layout, Tensor};
use proofmark_terms::{Case, DType, Isa};

/// A wrong kernel, for the gate to refuse.
pub(crate) struct Flawed {
    /// Its name.
    pub(crate) name: &'static str,
    /// The element types it does.
    pub(crate) dtypes: &'static [DType],
    /// The wrong computation.
    pub(crate) run: fn(&mut Call<'_>) -> Result<(), KernelError>,
}

impl Kernel for Flawed {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        "wrong on purpose"
    }

    fn isas(&self) -> &'static [Isa] {
        &[Isa::Scalar]
    }

    fn supports(&self, case: &Case, _isa: Isa) -> Result<(), Unsupported> {
        if self.dtypes.contains(&case.dtype) {
            return Ok(());
        }
        Err(Unsupported(format!("this mutant does not do {}", case.dtype)))
    }

    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        (self.run)(call)
    }
}

/// Makes `MUTANTS` of lines `Slip DTYPES, "name": "flaw";`, where `run::<Slip>` is the mutant;
/// where all do the same element types, these are given once: `all DTYPES; Slip "name": "flaw";`.
macro_rules! mutants {
    ($($slip:ident $dtypes:expr, $name:literal: $flaw:literal;)*) => {
        /// Every mutant of this op.
        pub(super) static MUTANTS: &[proofmark_contract::Mutant] =
            &[$($crate::flawed::mutant!($name, $dtypes, $flaw, run::<$slip>)),*];
    };
    (all $dtypes:expr; $($slip:ident $name:literal: $flaw:literal;)*) => {
        $crate::flawed::mutants! { $($slip $dtypes, $name: $flaw;)* }
    };
}

/// A list of mutants of lines `"name", DTYPES, "flaw", steps;`, where `run(call, steps)` is the
/// mutant.
macro_rules! stepped {
    ($run:path; $($name:literal, $dtypes:expr, $flaw:literal, $steps:expr;)*) => {
        &[$($crate::flawed::mutant!($name, $dtypes, $flaw, |call| $run(call, $steps))),*]
    };
}

/// One mutant.
macro_rules! mutant {
    ($name:expr, $dtypes:expr, $flaw:expr, $run:expr) => {
        proofmark_contract::Mutant {
            name: $name,
            flaw: $flaw,
            kernel: &$crate::flawed::Flawed { name: $name, dtypes: $dtypes, run: $run },
        }
    };
}

pub(crate) use {mutant, mutants, stepped};

/// The rows of an operand of any element type.
pub(crate) fn read(tensor: &Tensor) -> Vec<Vec<f32>> {
    let (values, layout) = (tensor.to_f64(), &tensor.layout);
    let row = |i: usize| &values[i * layout.cols()..][..layout.cols()];
    (0..layout.rows()).map(|i| row(i).iter().map(|&value| value as f32).collect()).collect()
}

/// The rows of an operand, read as if they lay densely.
pub(crate) fn read_densely(tensor: &Tensor) -> Vec<Vec<f32>> {
    let layout = Layout::dense(tensor.layout.shape.as_slice());
    // SAFETY: as many rows at a smaller or equal stride end before the last row of the tensor
    // does; what lies between rows is initialised memory of the same operand.
    read(&unsafe { Tensor::from_raw(tensor.base(), tensor.dtype, layout, false) })
}

/// Writes rows, each value rounded once; what rows lack stays as it was.
pub(crate) fn write(tensor: &mut Tensor, rows: &[Vec<f32>]) {
    let (mut values, cols) = (tensor.to_f64(), tensor.layout.cols());
    for (values, row) in values.chunks_mut(cols.max(1)).zip(rows) {
        values.iter_mut().zip(row).for_each(|(value, &new)| *value = f64::from(new));
    }
    tensor.from_f64(&values);
}
