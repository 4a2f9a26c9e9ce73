//! What the gate should try on an op: fills for each stage, and special values.

use crate::Signature;
use proofmark_tensor::Fill;
use proofmark_terms::DType;

/// One way to fill all operands of a signature.
#[derive(Clone, Debug, PartialEq)]
pub struct Filling {
    /// One fill for each operand; an output's is ignored.
    pub fills: Vec<Fill>,
}

impl Filling {
    /// The same fill for every operand that takes any reals.
    pub fn uniform(signature: &Signature, fill: &Fill) -> Filling {
        let of = |operand: &crate::Operand| operand.only.clone().unwrap_or_else(|| fill.clone());
        Filling { fills: signature.operands().iter().map(of).collect() }
    }

    /// This filling with another fill for one operand.
    #[must_use]
    pub fn with(mut self, operand: usize, fill: Fill) -> Filling {
        self.fills[operand] = fill;
        self
    }

    /// `x=normal w=uniform(-1,1)`, for messages.
    pub fn describe(&self, signature: &Signature) -> String {
        let read = signature.operands().iter().zip(&self.fills);
        let words: Vec<String> = read
            .filter(|(operand, _)| operand.role.is_read())
            .map(|(operand, fill)| format!("{}={fill}", operand.name))
            .collect();
        words.join(" ")
    }
}

/// The fills for the three value stages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Portfolio {
    /// Stage C: fills on which every right kernel gives the exact result, whatever its order of
    /// summation. Empty where the op has no such inputs.
    pub exact: Vec<Filling>,
    /// Stage D: zero-mean fills with constant limits.
    pub zero_mean: Vec<Filling>,
    /// Stage E: offset, graded, cancelling, needle and other structured fills.
    pub structured: Vec<Filling>,
}

impl Portfolio {
    /// The fills that suit any op of reals: both zero-mean ones and every structured one.
    pub fn standard(signature: &Signature) -> Portfolio {
        let zero_mean = [Fill::Normal, Fill::Uniform { low: -1.0, high: 1.0 }];
        let structured = [
            Fill::Uniform { low: 0.0, high: 1.0 },
            Fill::Offset { mean: 10.0 },
            Fill::Graded { decades: 4.0 },
            Fill::Alternating,
            Fill::HeavyTail,
            Fill::Sparse { density: 0.1 },
            Fill::Constant { value: 1.0 },
            Fill::Cancel,
            Fill::Needle,
        ];
        let all = |fills: &[Fill]| {
            fills.iter().map(|fill| Filling::uniform(signature, fill)).collect::<Vec<_>>()
        };
        Portfolio { exact: Vec::new(), zero_mean: all(&zero_mean), structured: all(&structured) }
    }
}

/// Stage F: which special values go where, and which rules hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Specials {
    /// Operands (by position in the signature) that special values are planted in.
    pub operands: Vec<usize>,
    /// The values to plant.
    pub values: Vec<f64>,
    /// NaN and infinity are also planted where all of another operand is zero, so that a kernel
    /// that skips terms with a zero shows.
    pub beside_zeros: bool,
    /// The sign of a zero output matters.
    pub signed_zero: bool,
    /// Subnormal results may come out as zero.
    pub may_flush_subnormals: bool,
}

impl Specials {
    /// These values in these operands. The sign of a zero output does not matter, and subnormal
    /// results are kept.
    pub fn new(operands: Vec<usize>, values: Vec<f64>) -> Specials {
        Specials {
            operands,
            values,
            beside_zeros: false,
            signed_zero: false,
            may_flush_subnormals: false,
        }
    }

    /// NaN, infinities, zeros, the subnormal and normal borders, and `largest` with both signs.
    pub fn standard(operands: &[usize], dtype: DType, largest: f64) -> Specials {
        let border = 2f64.powi(dtype.min_exponent());
        let values = vec![
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            0.0,
            -0.0,
            dtype.smallest(),
            -dtype.smallest(),
            border,
            -border,
            largest,
            -largest,
        ];
        Specials::new(operands.to_vec(), values)
    }

    /// Nothing is planted.
    pub fn none() -> Specials {
        Specials { may_flush_subnormals: true, ..Specials::new(Vec::new(), Vec::new()) }
    }
}
