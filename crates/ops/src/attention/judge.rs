//! What the judge knows of attention: work, limits, what the gate tries, laws.

use super::definition::{Attention, KEYS, Problem, QUERIES, VALUES};
use super::{laws, oracle};
use proofmark_contract::{
    Filling, Law, Limits, Op, Portfolio, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::Work;
use proofmark_tensor::Fill;
use proofmark_terms::{AttrValue, Case, DType};

impl Op for Attention {
    /// Two products of `d` terms for each pair of a query and a key that it sees; of the keys
    /// and values only those that some query sees must be read.
    fn work(&self, case: &Case) -> Work {
        let problem = Problem::of(case);
        let heads = problem.batches * problem.heads;
        let seen = problem.seen();
        let last = problem.queries.saturating_sub(1);
        let touched = problem.visible(last).end - problem.visible(0).start.min(problem.keys);
        let kv_rows = problem.batches * problem.kv_heads * touched;
        let row = problem.width * case.dtype.size();
        Work {
            flops: (4 * heads * seen * problem.width) as u64,
            bytes_read: ((problem.rows() + 2 * kv_rows) * row) as u64,
            bytes_written: (problem.rows() * row) as u64,
            transcendentals: (heads * seen) as u64,
        }
    }

    fn sums_products(&self) -> bool {
        true
    }

    fn reduction(&self, case: &Case) -> u64 {
        let problem = Problem::of(case);
        problem.keys.max(problem.width) as u64
    }

    fn oracle(&self, case: &Case, inputs: &Values, _output: usize, want: &Want) -> Truth {
        oracle::truth(&Problem::of(case), case.dtype, inputs, want)
    }

    /// The scale counts every rounding with its full size, and errors of many terms average out.
    /// Measured over all proof cases and element types, right kernels reach q = 0.6 and an rms of
    /// 0.13 on zero-mean data and 2 times the factor for length on structured data, where scores
    /// are sums of one sign. With limits of at most a fifth of the default ones, wrong kernels are
    /// refused in 16 bits, too.
    fn limits(&self, _case: &Case) -> Limits {
        Limits { q_max: 3.0, q_rms: 0.5, structured: 6.0, ..Limits::default() }
    }

    fn portfolio(&self, case: &Case, signature: &Signature) -> Portfolio {
        let mut portfolio = Portfolio::standard(signature);
        let normal = Filling::uniform(signature, &Fill::Normal);
        let mut add = |filling| portfolio.structured.push(filling);
        // Scores of ±100 and more: an exponential without the shift overflows or vanishes, and
        // the maximum moves by more than exp can bridge from one tile of keys to the next.
        let wide = Fill::Uniform { low: -16.0, high: 16.0 };
        add(normal.clone().with(QUERIES, wide.clone()).with(KEYS, wide));
        // Scores that rise or fall along the keys, so that the maximum moves with every tile.
        let one = Fill::Constant { value: 0.25 };
        add(normal.clone().with(QUERIES, one.clone()).with(KEYS, Fill::Ramp));
        add(normal.clone().with(QUERIES, Fill::Constant { value: -0.25 }).with(KEYS, Fill::Ramp));
        // Every score the same: the result is the mean of the values that are seen.
        add(normal.clone().with(QUERIES, one.clone()).with(KEYS, one));
        // Sinks, as the first token is in many models: one key in 16 takes nearly all the weight
        // and its value is 0, so that results are made of weights of about a millionth.
        let Problem { scale, width, .. } = Problem::of(case);
        let key = 14.0 / (scale * width.max(1) as f64);
        let sinks = |value, spread| Fill::Striped { every: 16, value, spread };
        let queries = normal.with(QUERIES, Fill::Constant { value: 1.0 });
        add(queries.with(KEYS, sinks(key, key / 4.0)).with(VALUES, sinks(0.0, 256.0)));
        portfolio
    }

    /// `2^60`: scores stay finite. What is not finite is left to laws, because NaN in an unseen
    /// value may go either way (see the card).
    fn specials(&self, case: &Case, _signature: &Signature) -> Specials {
        let largest = case.dtype.largest().min(2f64.powi(60));
        let mut specials = Specials::standard(&[QUERIES, KEYS, VALUES], case.dtype, largest);
        specials.values.retain(|value| value.is_finite());
        specials
    }

    fn laws(&self) -> &'static [Law] {
        laws::LAWS
    }

    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        proof_cases(dtype)
    }
}

/// Edge shapes: one key, one query; around vectors, tiles of keys (64, 128) and strips of queries
/// (16, 32); a window past the first tile; heads shared in several ways; every usual width; queries
/// before the first key; empty axes; each attribute's values.
fn proof_cases(dtype: DType) -> Vec<Case> {
    let build = |[b, h, kv, q, t, d]: [u64; 6]| {
        let case = Case::new("attention", dtype).axis("b", b).axis("h", h).axis("kv", kv);
        case.axis("q", q).axis("t", t).axis("d", d)
    };
    let mask = |case: Case, word: &str| case.attr("mask", AttrValue::Word(word.to_owned()));
    let causal = |axes| mask(build(axes), "causal");
    let window = |axes, keys| mask(build(axes), "window").attr("window", AttrValue::Int(keys));
    vec![
        build([1, 1, 1, 1, 1, 1]),
        build([1, 2, 1, 3, 2, 7]),
        causal([2, 2, 2, 5, 5, 16]),
        build([1, 4, 2, 1, 63, 64]),
        causal([1, 2, 1, 17, 17, 33]),
        window([1, 2, 1, 9, 40, 24], 7),
        build([1, 8, 2, 1, 300, 96]),
        causal([1, 4, 2, 33, 65, 40]),
        build([2, 3, 1, 16, 129, 32]),
        window([1, 2, 2, 70, 70, 20], 33),
        window([1, 2, 1, 20, 300, 48], 64),
        causal([1, 6, 2, 2, 131, 128]),
        build([1, 2, 1, 40, 64, 64]),
        causal([1, 1, 1, 130, 130, 65]),
        build([1, 8, 1, 1, 1100, 17]),
        causal([1, 4, 2, 2, 1029, 128]),
        window([1, 4, 1, 1, 90, 256], 64),
        build([1, 1, 1, 31, 257, 128]).attr("scale", AttrValue::Real(0.25)),
        causal([1, 2, 2, 9, 4, 8]),
        window([1, 1, 1, 40, 33, 31], 1),
        build([1, 2, 1, 3, 0, 8]),
        causal([1, 0, 1, 4, 4, 8]),
        build([1, 2, 2, 4, 5, 0]),
    ]
}
