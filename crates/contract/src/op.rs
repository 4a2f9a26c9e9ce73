//! What the judge knows of an op: its work, its truth, and what the gate should try.

use crate::{
    AxisRole, Definition, Law, NoTruth, Portfolio, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::Work;
use proofmark_schema::imported::ImportedFrom;
use proofmark_schema::record::ShapeRoles;
use proofmark_terms::{Case, DType};

/// The limits of the error measure q, in units of `u·scale`.
///
/// For zero-mean data the normalised error of correct kernels does not grow with the length of
/// the sums, so the first three are constants (measured for f32 matmul at K = 64 to 16,384:
/// greatest 3.2, rms 0.48). `structured` is multiplied by `1 + √n/4` for sums of n terms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Greatest q on zero-mean data.
    pub q_max: f64,
    /// Root mean square of q on zero-mean data.
    pub q_rms: f64,
    /// Sigmas that the mean signed error may lie off centre on zero-mean data.
    pub bias: f64,
    /// Greatest q on structured data, before the factor for length.
    pub structured: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { q_max: 16.0, q_rms: 2.0, bias: 6.0, structured: 16.0 }
    }
}

/// An op as the gate and the records see it; nothing about kernels.
///
/// Its methods are called only with cases that [`Definition::signature`] accepted.
pub trait Op: Definition {
    /// Arithmetic and traffic of one call.
    fn work(&self, case: &Case) -> Work;

    /// Terms in the longest sum of one output element.
    fn reduction(&self, case: &Case) -> u64;

    /// How many independent sequences the rows of outputs make up, one after the other, if the
    /// truth about a row needs all rows before it in its sequence; 0 if each element stands alone.
    fn sequences(&self, case: &Case) -> usize {
        let _ = case;
        0
    }

    /// Whether the arithmetic is sums of products, for which a processor has dedicated units.
    fn sums_products(&self) -> bool {
        false
    }

    /// Whether a truth costs so much more than its inputs that it is worth keeping for the next
    /// contender.
    fn has_costly_truth(&self) -> bool {
        self.sums_products()
    }

    /// The truth about the wanted elements of the written operand number `output`.
    fn oracle(&self, case: &Case, inputs: &Values, output: usize, want: &Want) -> Truth;

    /// The same for any op, including one whose oracle is a program of the user that may fail. The
    /// gate calls only this method.
    ///
    /// # Errors
    /// Why there is no truth about this case or these inputs.
    fn truth(
        &self,
        case: &Case,
        inputs: &Values,
        output: usize,
        want: &Want,
    ) -> Result<Truth, NoTruth> {
        Ok(self.oracle(case, inputs, output, want))
    }

    /// Where it came from, if it was read from another project's format; records keep it.
    fn imported(&self, case: &Case) -> Option<ImportedFrom> {
        let _ = case;
        None
    }

    /// The limits of q.
    fn limits(&self, case: &Case) -> Limits {
        let _ = case;
        Limits::default()
    }

    /// What to fill the operands with.
    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let _ = case;
        Portfolio::standard(signature)
    }

    /// Writes the values of operands that must have structure (row pointers, indices). It is called
    /// after every filling, which has left the values of their own fill in them.
    fn structure(&self, case: &Case, seed: u64, inputs: &mut Values) {
        let _ = (case, seed, inputs);
    }

    /// Which special values are planted.
    fn specials(&self, case: &Case, signature: &Signature) -> Specials;

    /// The laws that outputs obey.
    fn laws(&self) -> &'static [Law] {
        &[]
    }

    /// A cheap check of a whole output that sampling would miss (Freivalds' for products), on
    /// inputs from the exact portfolio. `None`: the op has none.
    fn audit(
        &self,
        case: &Case,
        inputs: &Values,
        outputs: &[Vec<f64>],
        seed: u64,
    ) -> Option<Result<(), String>> {
        let _ = (case, inputs, outputs, seed);
        None
    }

    /// For ops that give up precision on purpose: what was wanted, and what the outputs stand for
    /// instead, element by element. It is reported as fidelity and never decides the verdict.
    fn fidelity(
        &self,
        case: &Case,
        inputs: &Values,
        outputs: &[Vec<f64>],
    ) -> Option<[Vec<f64>; 2]> {
        let _ = (case, inputs, outputs);
        None
    }

    /// The cases a proof of this element type covers: edge shapes and every attribute's values.
    fn proof_cases(&self, dtype: DType) -> Vec<Case>;

    /// Sizes by the roles of flat tables: products over the axes of each role.
    fn shape_roles(&self, case: &Case) -> ShapeRoles {
        let product = |role: AxisRole| {
            let axes = self.axes().iter().filter(|axis| axis.role == role);
            axes.filter_map(|axis| case.size(axis.name)).product()
        };
        ShapeRoles {
            batch_size: product(AxisRole::Batch),
            sequence_length: product(AxisRole::Sequence),
            tensor_dimension: product(AxisRole::Dimension),
        }
    }
}
