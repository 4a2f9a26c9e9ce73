//! The definition of matmul: axes, operands, work, limits, and what the gate should try.

use super::{laws, oracle};
use crate::blocks::math::Activation;
use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Filling, Law, Limits, Op, Operand,
    Portfolio, Role, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::{AttrValue, Case, DType, Work};
use proofmark_tensor::Fill;

/// The op.
#[derive(Clone, Copy, Debug)]
pub struct Matmul;

/// Positions of the operands in the signature.
pub(super) const LEFT: usize = 0;
pub(super) const RIGHT: usize = 1;

/// The sizes and attributes of a case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Products in the batch.
    pub(super) batches: usize,
    /// Rows of the result.
    pub(super) m: usize,
    /// Columns of the result.
    pub(super) n: usize,
    /// Terms of each sum.
    pub(super) k: usize,
    /// The right operand is stored `n × k`.
    pub(super) is_transposed: bool,
    /// One right operand serves every batch.
    pub(super) is_shared: bool,
}

impl Shape {
    pub(super) fn of(case: &Case) -> Shape {
        let size = |axis: &str| case.size(axis).unwrap_or(1) as usize;
        Shape {
            batches: size("b"),
            m: size("m"),
            n: size("n"),
            k: size("k"),
            is_transposed: case.word("layout", "nn") == "nt",
            is_shared: case.flag("shared", false),
        }
    }

    /// Rows of the right operand of one batch, as it is stored.
    pub(super) fn right_rows(&self) -> usize {
        if self.is_transposed { self.n } else { self.k }
    }

    /// Columns of the right operand, as it is stored.
    pub(super) fn right_cols(&self) -> usize {
        if self.is_transposed { self.k } else { self.n }
    }

    /// Right operands in memory.
    pub(super) fn right_batches(&self) -> usize {
        if self.is_shared { 1 } else { self.batches }
    }

    /// Position in the dense right operand of term `p` of column `j` in `batch`.
    pub(super) fn right_index(&self, batch: usize, p: usize, j: usize) -> usize {
        let batch = if self.is_shared { 0 } else { batch };
        let within = if self.is_transposed { j * self.k + p } else { p * self.n + j };
        batch * self.k * self.n + within
    }
}

/// Position of the bias, if the case has one.
pub(super) fn bias_of(case: &Case) -> Option<usize> {
    case.flag("bias", false).then_some(RIGHT + 1)
}

/// The element type of the result.
pub(super) fn output_dtype(case: &Case) -> DType {
    if case.word("out", "same") == "f32" { DType::F32 } else { case.dtype }
}

/// Greatest sum of magnitudes of integers on which every order of summation is exact and the
/// result representable: 2^24 in f32, 2^8 in bf16.
fn exact_sum(case: &Case) -> f64 {
    2f64.powi(output_dtype(case).significand_bits() as i32)
}

impl Op for Matmul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn summary(&self) -> &'static str {
        "C[b,m,n] = activation(sum over k of A[b,m,k] * B[b,k,n] + bias[n])"
    }

    fn axes(&self) -> &'static [Axis] {
        const AXES: [Axis; 4] = [
            Axis { name: "b", meaning: "independent products", role: AxisRole::Batch, default: 1 },
            Axis { name: "m", meaning: "rows of A and C", role: AxisRole::Sequence, default: 512 },
            Axis {
                name: "n",
                meaning: "columns of B and C",
                role: AxisRole::Dimension,
                default: 512,
            },
            Axis {
                name: "k",
                meaning: "terms of each sum",
                role: AxisRole::Dimension,
                default: 512,
            },
        ];
        &AXES
    }

    fn attributes(&self) -> &'static [Attribute] {
        const ATTRIBUTES: [Attribute; 5] = [
            Attribute {
                name: "activation",
                meaning: "applied to the sum and its bias, before the one rounding",
                kind: AttributeKind::Word(Activation::WORDS),
                default: "none",
            },
            Attribute {
                name: "bias",
                meaning: "an operand [n] after A and B is added to every row",
                kind: AttributeKind::Flag,
                default: "false",
            },
            Attribute {
                name: "layout",
                meaning: "nn: B is [k,n]; nt: B is [n,k], as linear layers store weights",
                kind: AttributeKind::Word(&["nn", "nt"]),
                default: "nn",
            },
            Attribute {
                name: "out",
                meaning: "element type of C: that of A and B, or f32",
                kind: AttributeKind::Word(&["same", "f32"]),
                default: "same",
            },
            Attribute {
                name: "shared",
                meaning: "B has no batch axis: one weight for all batches",
                kind: AttributeKind::Flag,
                default: "false",
            },
        ];
        &ATTRIBUTES
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32, DType::Bf16, DType::F16]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let shape = Shape::of(case);
        let right = match (shape.is_transposed, shape.is_shared) {
            (false, true) => vec![shape.k, shape.n],
            (true, true) => vec![shape.n, shape.k],
            (false, false) => vec![shape.batches, shape.k, shape.n],
            (true, false) => vec![shape.batches, shape.n, shape.k],
        };
        let mut operands = vec![
            Operand::new("a", Role::Input, case.dtype, &[shape.batches, shape.m, shape.k]),
            Operand::new("b", Role::Weight, case.dtype, &right),
        ];
        if bias_of(case).is_some() {
            operands.push(Operand::new("bias", Role::Weight, case.dtype, &[shape.n]));
        }
        let result = &[shape.batches, shape.m, shape.n];
        operands.push(Operand::new("c", Role::Output, output_dtype(case), result));
        Ok(Signature::new(operands))
    }

    fn work(&self, case: &Case) -> Work {
        let Shape { batches, m, n, k, .. } = Shape::of(case);
        let right = Shape::of(case).right_batches() * k * n;
        let (size, results) = (case.dtype.size(), batches * m * n);
        let bias = bias_of(case).map_or(0, |_| n);
        let has_exponential = !matches!(case.word("activation", "none"), "none" | "relu");
        Work {
            flops: (2 * results * k + if bias > 0 { results } else { 0 }) as u64,
            bytes_read: ((batches * m * k + right + bias) * size) as u64,
            bytes_written: (results * output_dtype(case).size()) as u64,
            transcendentals: if has_exponential { results as u64 } else { 0 },
        }
    }

    fn sums_products(&self) -> bool {
        true
    }

    fn reduction(&self, case: &Case) -> u64 {
        case.size("k").unwrap_or(1)
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        oracle::truth(case, inputs, want)
    }

    /// The scale is Σ|a||b|, so on zero-mean data the error of a sum in any order is a random
    /// walk whose steps `u·|partial sum|` grow as √k while the scale grows as k: q stays
    /// constant (greatest 3.2 and rms 0.48 over k = 64 to 16,384), a fifth of these limits.
    /// Structured data has one sign at worst; then steps grow as k and their random walk as √k
    /// against the scale, which is the factor the gate applies.
    fn limits(&self, _case: &Case) -> Limits {
        Limits::default()
    }

    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let is_exact = matches!(case.word("activation", "none"), "none" | "relu");
        let exact = if is_exact { exact_fillings(case, signature) } else { Vec::new() };
        Portfolio { exact, ..Portfolio::standard(signature) }
    }

    /// `2^60`: the product of two of them, and 128 such products, stay finite in f32.
    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let operands: Vec<usize> = [LEFT, RIGHT].into_iter().chain(bias_of(case)).collect();
        let largest = 2f64.powi(60).min(case.dtype.largest());
        Specials::standard(&operands, case.dtype, largest)
    }

    fn laws(&self) -> &'static [Law] {
        laws::LAWS
    }

    fn audit(
        &self,
        case: &Case,
        inputs: &Values,
        outputs: &[Vec<f64>],
        seed: u64,
    ) -> Option<Result<(), String>> {
        let is_plain = case.word("activation", "none") == "none" && bias_of(case).is_none();
        if is_plain { oracle::freivalds(Shape::of(case), inputs, &outputs[0], seed) } else { None }
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        proof_cases(dtype)
    }
}

/// Integers whose products sum exactly in every order, after benchdnn's rule: dense ones, and
/// nearly one-hot rows of A, whose results name the index of any misplaced term.
fn exact_fillings(case: &Case, signature: &Signature) -> Vec<Filling> {
    let terms = Shape::of(case).k.max(1) as f64;
    // Room for a bias of 4.
    let limit = exact_sum(case) - bias_of(case).map_or(0.0, |_| 4.0);
    let magnitude = [4u32, 2, 1].into_iter().find(|&side| f64::from(side * side) * terms <= limit);
    let dense = match magnitude {
        Some(magnitude) => Fill::Ints { magnitude, density: 1.0 },
        // Each term is ±1 with probability (2/3)²·density²: half the limit then lies many
        // standard deviations above the mean of the sum of magnitudes.
        None => Fill::Ints { magnitude: 1, density: (0.5 * limit / terms).sqrt().min(1.0) },
    };
    let probe = Fill::Ints { magnitude: 4, density: (4.0 / terms).min(1.0) };
    // Where rows are too short to be sparse, 16 terms of 4·4 are what bf16 holds.
    let probed = Fill::Ints { magnitude: 4, density: 1.0 };
    let small = Fill::Ints { magnitude: 4, density: 1.0 };
    let mut fillings = vec![
        Filling::uniform(signature, &dense),
        Filling::uniform(signature, &probed).with(LEFT, probe),
    ];
    if let Some(bias) = bias_of(case) {
        fillings = fillings.into_iter().map(|filling| filling.with(bias, small.clone())).collect();
    }
    fillings
}

/// Edge shapes: around vectors, register tiles (4, 6, 14 rows; 4, 16, 32 columns), tiles of 16 and
/// 32 rows, columns and terms, and blocks (256 and 512 terms, 120 and 126 rows, 512 and 768
/// columns); few rows, and few columns, which take ways of their own, and more; empty axes; each
/// attribute's values.
fn proof_cases(dtype: DType) -> Vec<Case> {
    let plain = [
        [1, 1, 1, 1],
        [1, 2, 3, 7],
        [1, 3, 15, 16],
        [1, 7, 17, 31],
        [1, 13, 33, 32],
        [1, 16, 64, 63],
        [1, 24, 48, 300],
        [1, 18, 530, 70],
        [1, 131, 258, 270],
        [1, 18, 178, 1500],
        [2, 31, 32, 129],
        [1, 131, 2, 61],
        [1, 3, 1021, 5],
        [1, 2, 3, 4097],
        [1, 5, 9, 0],
        [1, 0, 5, 3],
        [1, 3, 0, 4],
    ];
    let transposed = [
        [1, 8, 16, 33],
        [1, 40, 40, 40],
        [1, 1, 129, 256],
        [2, 9, 24, 40],
        [1, 14, 33, 1100],
        [1, 33, 49, 545],
    ];
    let shared = [[3, 5, 17, 20], [2, 15, 31, 257]];
    let build = |[b, m, n, k]: [u64; 4]| {
        Case::new("matmul", dtype).axis("b", b).axis("m", m).axis("n", n).axis("k", k)
    };
    let word = |text: &str| AttrValue::Word(text.to_owned());
    let nt = |case: Case| case.attr("layout", word("nt"));
    let wide = |case: Case| case.attr("out", word("f32"));
    let mut cases: Vec<Case> = plain.into_iter().map(build).collect();
    cases.extend(transposed.into_iter().map(|axes| nt(build(axes))));
    cases.extend(shared.into_iter().map(|axes| build(axes).attr("shared", AttrValue::Flag(true))));
    cases.push(nt(build([2, 6, 11, 19])).attr("shared", AttrValue::Flag(true)));
    cases.push(wide(build([1, 17, 65, 65])));
    if dtype != DType::F32 {
        cases.push(wide(nt(build([2, 20, 40, 520]))));
    }
    let ended = |axes, bias, activation| {
        let case = build(axes).attr("activation", word(activation));
        if bias { case.attr("bias", AttrValue::Flag(true)) } else { case }
    };
    cases.extend([
        build([1, 5, 18, 33]).attr("bias", AttrValue::Flag(true)),
        nt(ended([2, 19, 37, 40], true, "relu")),
        ended([1, 23, 35, 300], false, "silu"),
        nt(ended([1, 1, 40, 64], true, "silu")),
        ended([3, 20, 17, 20], true, "gelu").attr("shared", AttrValue::Flag(true)),
        nt(ended([1, 3, 33, 70], true, "gelu_tanh")),
        wide(ended([1, 34, 33, 66], true, "gelu")),
        ended([1, 4, 7, 0], true, "relu"),
    ]);
    cases
}
