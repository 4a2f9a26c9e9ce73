//! What the judge knows of quantisation and its reverse: work, limits, what the gate tries, laws.

use super::definition::{Plan, Quantize};
use super::laws::{BACKWARD_LAWS, FORWARD_LAWS};
use super::oracle;
use proofmark_contract::{
    Definition, Filling, Law, Limits, Op, Portfolio, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{AttrValue, Case, DType};

impl Op for Quantize {
    /// Forward: the range, a product, a rounding; back: a product.
    fn work(&self, case: &Case) -> Work {
        let plan = Plan::of(case);
        let count = (plan.rows * plan.cols) as u64;
        let elements = count * case.dtype.size() as u64;
        let shared = if plan.is_symmetric { 4 } else { 8 } * u64::from(!plan.is_unit);
        let coded = count + plan.groups() as u64 * shared;
        let (bytes_read, bytes_written) =
            if self.is_forward { (elements, coded) } else { (coded, elements) };
        let flops = count * if self.is_forward { 3 } else { 1 };
        Work { flops, bytes_read, bytes_written, transcendentals: 0 }
    }

    /// No sum has an order that kernels may choose.
    fn reduction(&self, _case: &Case) -> u64 {
        1
    }

    fn oracle(&self, case: &Case, inputs: &Values, output: usize, want: &Want) -> Truth {
        let plan = Plan::of(case);
        if !self.is_forward {
            let indices = want.indices(plan.rows, plan.cols);
            let scales = if plan.is_unit { &[][..] } else { inputs.of(1) };
            let zeros = (!plan.is_symmetric).then(|| inputs.of(2));
            return oracle::values(&plan, inputs.of(0), scales, zeros, &indices);
        }
        if output == 0 {
            return oracle::codes(&plan, inputs.of(0), &want.indices(plan.rows, plan.cols));
        }
        let shared = oracle::shared(&plan, inputs.of(0));
        let signature = self.signature(case).expect("the case was accepted");
        let layout = signature.outputs()[output].layout();
        let mut truth = Truth::default();
        for at in want.indices(layout.rows(), layout.cols()) {
            let of = if output == 1 { shared[at].scale } else { shared[at].zero + 0.0 };
            truth.push(f64::from(of), 0.0);
        }
        truth
    }

    /// Forward every bit is defined. Back, a product that is rounded once to f32 lies within the
    /// half unit in the last place that q forgives everyone, and what rounding it again to 16
    /// bits adds is at most `u·|y|`. Errors may have a bias, because codes are few and share a
    /// scale, and the same roundings repeat all over the result.
    fn limits(&self, case: &Case) -> Limits {
        let q = if self.is_forward || case.dtype == DType::F32 { 0.0 } else { 1.0 };
        Limits { q_max: q, q_rms: q, bias: f64::INFINITY, structured: q }
    }

    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let plan = Plan::of(case);
        if self.is_forward {
            return self.forward_portfolio(&plan, signature);
        }
        let codes = |fill: Fill, scales: Fill| {
            let filling = Filling::uniform(signature, &scales).with(0, fill);
            if plan.is_symmetric {
                return filling;
            }
            filling.with(2, Fill::Uniform { low: -128.0, high: 127.0 })
        };
        let all = || Fill::Uniform { low: -128.49, high: 127.49 };
        let scales = || Fill::Uniform { low: 0.001, high: 0.1 };
        Portfolio {
            exact: vec![codes(
                Fill::Ints { magnitude: 127, density: 1.0 },
                Fill::PowersOfTwo { reach: 8 },
            )],
            zero_mean: vec![codes(Fill::Normal, Fill::Normal), codes(all(), scales())],
            structured: vec![
                codes(all(), Fill::Graded { decades: 4.0 }),
                codes(Fill::Graded { decades: 4.0 }, scales()),
                codes(all(), Fill::Subnormal),
                codes(all(), Fill::NearOverflow { fraction: 1.0 }),
                codes(Fill::NearOverflow { fraction: 1.0 }, scales()),
                codes(Fill::Subnormal, Fill::Normal),
            ],
        }
    }

    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let plan = Plan::of(case);
        let operands: &[usize] = match (self.is_forward, self.is_fp8, plan.is_unit) {
            (true, ..) | (false, true, true) => &[0],
            // As a code of int8, minus infinity is −128, which fills do not reach.
            (false, ..) => &[0, 1],
        };
        let dtype = if self.is_forward { case.dtype } else { DType::F32 };
        let standard = Specials::standard(operands, dtype, dtype.largest());
        Specials { signed_zero: self.is_fp8, ..standard }
    }

    /// What dequantising gives back, next to the original elements.
    fn fidelity(
        &self,
        case: &Case,
        inputs: &Values,
        outputs: &[Vec<f64>],
    ) -> Option<[Vec<f64>; 2]> {
        let plan = Plan::of(case);
        if !self.is_forward || inputs.of(0).is_empty() {
            return None;
        }
        let one = vec![1.0];
        let scales = outputs.get(1).unwrap_or(&one);
        let indices: Vec<usize> = (0..plan.rows * plan.cols).collect();
        let zeros = outputs.get(2).map(Vec::as_slice);
        let kept = oracle::values(&plan, &outputs[0], scales, zeros, &indices).value;
        Some([inputs.of(0).to_vec(), kept])
    }

    fn laws(&self) -> &'static [Law] {
        if self.is_forward { FORWARD_LAWS } else { BACKWARD_LAWS }
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        if self.is_fp8 { self.fp8_cases(dtype) } else { self.int8_cases(dtype) }
    }
}

impl Quantize {
    fn forward_portfolio(&self, plan: &Plan, signature: &Signature) -> Portfolio {
        let all = |fill: Fill| Filling::uniform(signature, &fill);
        let mut portfolio = Portfolio::standard(signature);
        // Where the range is met, every second odd integer is a tie that goes down to even.
        let steps = plan.steps() as u32;
        portfolio.exact.push(all(Fill::Ints { magnitude: 2 * steps.min(448), density: 1.0 }));
        portfolio.exact.push(all(Fill::Ints { magnitude: 8, density: 0.5 }));
        for fill in [
            Fill::Zero,
            Fill::Subnormal,
            Fill::PowersOfTwo { reach: 8 },
            Fill::NearOverflow { fraction: 0.4 },
            Fill::NearOverflow { fraction: 1.0 },
            Fill::Offset { mean: -1000.0 },
            Fill::Uniform { low: -1e-36, high: 1e-36 },
            Fill::Uniform { low: -500.0, high: 500.0 },
            Fill::Uniform { low: -70000.0, high: 70000.0 },
        ] {
            portfolio.structured.push(all(fill));
        }
        portfolio
    }

    fn int8_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |[b, s, d]: [u64; 3]| {
            Case::new(self.name, dtype).axis("b", b).axis("s", s).axis("d", d)
        };
        let scheme = |case: Case, word: &str| case.attr("scheme", AttrValue::Word(word.to_owned()));
        let group =
            |size: i64, shape| scheme(case(shape), "group").attr("group", AttrValue::Int(size));
        let affine = |case: Case| case.attr("symmetric", AttrValue::Flag(false));
        let mut cases: Vec<Case> = CHANNEL_SHAPES.iter().copied().map(case).collect();
        cases.extend([
            group(32, [1, 3, 32]),
            group(32, [2, 2, 33]),
            group(32, [1, 3, 1]),
            group(32, [1, 9, 256]),
            group(64, [1, 2, 130]),
            group(128, [2, 3, 300]),
            scheme(case([2, 3, 17]), "tensor"),
            scheme(case([1, 40, 257]), "tensor"),
            scheme(case([1, 2, 0]), "tensor"),
            scheme(case([1, 1, 4097]), "tensor"),
            affine(case([2, 3, 65])),
            affine(case([1, 37, 509])),
            affine(group(32, [2, 3, 100])),
            affine(scheme(case([3, 7, 31]), "tensor")),
        ]);
        cases
    }

    fn fp8_cases(&self, dtype: DType) -> Vec<Case> {
        let case = |m: u64, n: u64| Case::new(self.name, dtype).axis("m", m).axis("n", n);
        let word = |case: Case, name, word: &str| case.attr(name, AttrValue::Word(word.to_owned()));
        let mut cases = Vec::new();
        for format in ["e4m3", "e5m2"] {
            let block = |m, n, name: &str| word(word(case(m, n), "format", format), "block", name);
            cases.extend([
                block(1, 1, "tensor"),
                block(3, 17, "tensor"),
                block(41, 259, "tensor"),
                block(0, 5, "tensor"),
                block(3, 128, "1x128"),
                block(5, 129, "1x128"),
                block(2, 300, "1x128"),
                block(7, 31, "1x128"),
                block(128, 128, "128x128"),
                block(130, 257, "128x128"),
                block(9, 63, "128x128"),
                block(3, 0, "128x128"),
                block(5, 65, "unit"),
                word(block(4, 127, "unit"), "overflow", "nan"),
                word(block(3, 33, "tensor"), "overflow", "nan"),
            ]);
        }
        cases
    }
}

const CHANNEL_SHAPES: &[[u64; 3]] = &[
    [1, 1, 1],
    [2, 3, 2],
    [1, 3, 7],
    [2, 2, 15],
    [1, 4, 16],
    [2, 2, 17],
    [1, 3, 31],
    [1, 5, 63],
    [1, 3, 64],
    [5, 1, 65],
    [1, 37, 129],
    [1, 3, 4097],
    [1, 3, 0],
    [0, 4, 16],
];
