//! An op, its operands and the folder of kernels, for tests.

use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Call, Definition, ExplicitCase, Kernel,
    KernelError, Operand, Role, Signature, check_case,
};
use proofmark_own::kernel::KernelFile;
use proofmark_schema::{Case, DType, Isa};
use proofmark_tensor::{AlignedBuffer, Layout, Pool, Tensor};
use std::path::Path;

/// Rows of x with a weight and one attribute of each kind; what y is, kernels decide.
pub(crate) struct Rows;

const AXES: &[Axis] = &[
    Axis { name: "rows", meaning: "rows", role: AxisRole::Batch, default: 3 },
    Axis { name: "cols", meaning: "columns", role: AxisRole::Dimension, default: 8 },
];

const fn attribute(name: &'static str, kind: AttributeKind) -> Attribute {
    Attribute { name, meaning: "", kind }
}

impl Definition for Rows {
    fn name(&self) -> &'static str {
        "rows"
    }
    fn summary(&self) -> &'static str {
        ""
    }
    fn axes(&self) -> &'static [Axis] {
        AXES
    }
    fn attributes(&self) -> &'static [Attribute] {
        const {
            &[
                attribute("g", AttributeKind::Int { low: -9, high: 9, default: 4 }),
                attribute("factor", AttributeKind::Real { low: 0.0, high: 9.0, default: 2.5 }),
                attribute("exact", AttributeKind::Flag { default: true }),
                attribute(
                    "mode",
                    AttributeKind::Word { words: &["fast", "slow"], default: "fast" },
                ),
            ]
        }
    }
    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32, DType::Bf16, DType::F16, DType::F64]
    }
    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let size = |name| case.size(name).unwrap_or(0) as usize;
        let (rows, cols) = (size("rows"), size("cols"));
        Ok(Signature::new(vec![
            Operand::new("x", Role::Input, case.dtype, &[rows, cols]),
            Operand::new("w", Role::Weight, case.dtype, &[cols, cols]),
            Operand::new("y", Role::Output, case.dtype, &[rows, cols]),
        ]))
    }
}

/// A case with all attributes, and its operands.
pub(crate) fn case(text: &str) -> (ExplicitCase, Signature) {
    let case = text.parse().unwrap();
    (ExplicitCase::of(&Rows, &case), check_case(&Rows, &case).unwrap())
}

/// A kernel's file from the folder of examples, in a folder where its library can be built.
pub(crate) fn example(name: &str) -> (tempfile::TempDir, KernelFile) {
    let folder = tempfile::tempdir().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/examples");
    for entry in std::fs::read_dir(examples).unwrap().flatten() {
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let kernel = KernelFile::read(&folder.path().join(name)).unwrap();
    (folder, kernel)
}

/// Operands of a case in f32, with memory of their own and padding between rows.
pub(crate) struct Operands {
    case: Case,
    inputs: Vec<Tensor>,
    outputs: Vec<Tensor>,
    pub(crate) workspace: AlignedBuffer,
    pub(crate) prepared: AlignedBuffer,
    pool: Pool,
    _memory: Vec<AlignedBuffer>,
}

impl Operands {
    /// `x` and `w` count up from 0.5 by 1, and `y` is NaN.
    pub(crate) fn new((case, signature): (&ExplicitCase, &Signature), padding: usize) -> Operands {
        let mut memory = Vec::new();
        let mut tensor = |operand: &Operand| {
            let cols = operand.layout().cols();
            let layout = Layout::padded(operand.shape.as_slice(), cols + padding);
            let mut buffer = AlignedBuffer::new(layout.span() * 4);
            let is_written = operand.role.is_written();
            // SAFETY: the buffer has as many bytes and is kept beside the tensor.
            let mut tensor = unsafe {
                Tensor::from_raw(buffer.as_mut_slice().as_mut_ptr(), DType::F32, layout, true)
            };
            memory.push(buffer);
            let start = if is_written { f64::NAN } else { 0.5 };
            let values: Vec<f64> = (0..operand.len()).map(|i| start + i as f64).collect();
            tensor.from_f64(&values);
            tensor
        };
        Operands {
            case: Case::clone(case),
            inputs: signature.inputs().iter().map(&mut tensor).collect(),
            outputs: signature.outputs().iter().map(&mut tensor).collect(),
            workspace: AlignedBuffer::new(0),
            prepared: AlignedBuffer::new(0),
            pool: Pool::serial(),
            _memory: memory,
        }
    }

    /// A call on them.
    pub(crate) fn call(&mut self, threads: usize) -> Call<'_> {
        Call {
            case: &self.case,
            isa: Isa::Scalar,
            threads,
            pool: &self.pool,
            inputs: &self.inputs,
            outputs: &mut self.outputs,
            workspace: self.workspace.as_mut_slice(),
            prepared: self.prepared.as_slice(),
        }
    }

    /// Gives a kernel the memory that it asks for, and lets it pack weights.
    pub(crate) fn prepare(
        &mut self,
        kernel: &dyn Kernel,
        threads: usize,
    ) -> Result<(), KernelError> {
        let bytes = kernel.workspace_bytes(&self.case, Isa::Scalar, threads);
        self.workspace = AlignedBuffer::new(bytes);
        let mut packed = AlignedBuffer::new(kernel.prepared_bytes(&self.case, Isa::Scalar));
        let prepared = kernel.prepare(&mut self.call(threads), packed.as_mut_slice());
        self.prepared = packed;
        prepared
    }

    /// What the output holds.
    pub(crate) fn y(&self) -> Vec<f64> {
        self.outputs[0].to_f64()
    }

    /// What the input holds.
    pub(crate) fn x(&self) -> Vec<f64> {
        self.inputs[0].to_f64()
    }

    /// What the weight holds.
    pub(crate) fn w(&self) -> Vec<f64> {
        self.inputs[1].to_f64()
    }

    /// Checks that the output is the softmax of groups of columns.
    pub(crate) fn check_softmax(&self, group: usize) {
        let x = self.x();
        for (i, y) in self.y().iter().enumerate() {
            let around = &x[i / group * group..][..group];
            let sum: f64 = around.iter().map(|x| (x - around[0]).exp()).sum();
            let expected = (x[i] - around[0]).exp() / sum;
            assert!((y - expected).abs() < 1e-6, "element {i}: {y}, not {expected}");
        }
    }
}
