//! What the judge knows of matmul: work, limits, what the gate tries, laws.

use super::definition::{ACTIVATION, LEFT, Matmul, RIGHT, Shape, bias_of, output_dtype};
use super::{laws, oracle};
use proofmark_contract::{
    Filling, Law, Limits, Op, Portfolio, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{AttrValue, Case, DType};

/// Greatest sum of magnitudes of integers on which every order of summation is exact and the
/// result representable: 2^24 in f32, 2^8 in bf16.
fn exact_sum(case: &Case) -> f64 {
    2f64.powi(output_dtype(case).significand_bits() as i32)
}

impl Op for Matmul {
    fn work(&self, case: &Case) -> Work {
        let Shape { batches, m, n, k, .. } = Shape::of(case);
        let right = Shape::of(case).right_batches() * k * n;
        let (size, results) = (case.dtype.size(), batches * m * n);
        let bias = bias_of(case).map_or(0, |_| n);
        let has_exponential = !matches!(ACTIVATION.word(case), "none" | "relu");
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
        let is_exact = matches!(ACTIVATION.word(case), "none" | "relu");
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
        let is_plain = ACTIVATION.word(case) == "none" && bias_of(case).is_none();
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

/// Edge shapes: around vectors, register tiles (4 to 14 rows; 4, 16, 32 columns), tiles of 16 and
/// 32 rows, columns and terms, and blocks (1024 terms, 168 rows, 256 columns); few rows, and few
/// columns, which take ways of their own, and more; empty axes; each attribute's values.
fn proof_cases(dtype: DType) -> Vec<Case> {
    let plain = [
        [1, 1, 1, 1],
        [1, 2, 3, 7],
        [1, 3, 15, 16],
        [1, 7, 17, 31],
        [1, 13, 33, 32],
        [1, 16, 64, 63],
        [1, 24, 48, 300],
        [1, 18, 530, 530],
        [1, 260, 258, 40],
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
        [1, 131, 33, 70],
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
        cases.push(wide(nt(build([2, 20, 40, 1032]))));
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
