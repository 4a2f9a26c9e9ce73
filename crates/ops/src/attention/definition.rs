//! The definition of attention: operands, masks, work, limits, and what the gate tries.

use super::{laws, oracle};
use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Filling, Law, Limits, Op, Operand,
    Portfolio, Role, Signature, Specials, Truth, Values, Want,
};
use proofmark_schema::{AttrValue, Case, DType, Work};
use proofmark_tensor::Fill;
use std::ops::Range;

/// The op.
#[derive(Debug)]
pub(crate) struct Attention;

/// Positions of the operands in the signature.
pub(super) const QUERIES: usize = 0;
pub(super) const KEYS: usize = 1;
pub(super) const VALUES: usize = 2;

/// Which keys a query sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mask {
    /// All.
    None,
    /// Those up to its own position.
    Causal,
    /// So many up to its own position, itself counted.
    Window(usize),
}

/// A case's sizes and attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem {
    /// Problems in the batch.
    pub(crate) batches: usize,
    /// Heads of queries.
    pub(crate) heads: usize,
    /// Heads of keys and values.
    pub(crate) kv_heads: usize,
    /// Queries of a head.
    pub(crate) queries: usize,
    /// Keys of a head.
    pub(crate) keys: usize,
    /// Elements of a query, a key, a value.
    pub(crate) width: usize,
    /// Which keys a query sees.
    pub(crate) mask: Mask,
    /// What scores are multiplied by.
    pub(crate) scale: f64,
}

impl Problem {
    /// Reads a case that the op's signature accepted.
    pub(crate) fn of(case: &Case) -> Problem {
        let size = |axis| case.size(axis).unwrap_or(0) as usize;
        let window = match case.get("window") {
            Some(AttrValue::Int(window)) => *window as usize,
            _ => DEFAULT_WINDOW,
        };
        let given = case.real("scale", 0.0);
        Problem {
            batches: size("b"),
            heads: size("h"),
            kv_heads: size("kv"),
            queries: size("q"),
            keys: size("t"),
            width: size("d"),
            mask: match case.word("mask", "none") {
                "causal" => Mask::Causal,
                "window" => Mask::Window(window),
                _ => Mask::None,
            },
            scale: if given == 0.0 { 1.0 / (size("d").max(1) as f64).sqrt() } else { given },
        }
    }

    /// Heads of queries that share a head of keys.
    pub(crate) fn group(&self) -> usize {
        self.heads / self.kv_heads.max(1)
    }

    /// Rows of the queries and of the output.
    pub(crate) fn rows(&self) -> usize {
        self.batches * self.heads * self.queries
    }

    /// The keys that a query of a head sees; empty where its position is before the first key.
    pub(crate) fn visible(&self, query: usize) -> Range<usize> {
        let end = (self.keys + query + 1).saturating_sub(self.queries);
        match self.mask {
            Mask::None => 0..self.keys,
            Mask::Causal => 0..end,
            Mask::Window(window) => end.saturating_sub(window)..end,
        }
    }

    /// Pairs of a query of a head and a key that it sees.
    pub(crate) fn seen(&self) -> usize {
        // Each of the first `ends` positions sees itself and those before it, up to so many.
        let up_to = |ends: usize, most: usize| {
            let (ends, rising) = (ends as u128, ends.min(most) as u128);
            rising * (rising + 1) / 2 + (ends - rising) * most as u128
        };
        let most = match self.mask {
            Mask::None => return self.queries * self.keys,
            Mask::Causal => self.keys,
            Mask::Window(window) => window,
        };
        let before = self.keys.saturating_sub(self.queries);
        (up_to(self.keys, most) - up_to(before, most)) as usize
    }

    /// The query of its head, and the first row of the keys, that belong to a row.
    pub(crate) fn place(&self, row: usize) -> (usize, usize) {
        let head = row / self.queries;
        (row % self.queries, head / self.group() * self.keys)
    }
}

/// Gemma 3's window.
const DEFAULT_WINDOW: usize = 512;

const AXES: &[Axis] = &[
    Axis { name: "b", meaning: "problems in the batch", role: AxisRole::Batch, default: 1 },
    Axis { name: "h", meaning: "heads of queries", role: AxisRole::Batch, default: 32 },
    Axis { name: "kv", meaning: "heads of keys and values", role: AxisRole::Dimension, default: 8 },
    Axis { name: "q", meaning: "queries of a head", role: AxisRole::Sequence, default: 128 },
    Axis { name: "t", meaning: "keys of a head", role: AxisRole::Dimension, default: 128 },
    Axis { name: "d", meaning: "elements of a head", role: AxisRole::Dimension, default: 128 },
];

const ATTRIBUTES: &[Attribute] = &[
    Attribute {
        name: "mask",
        meaning: "causal: keys up to the query's position; window: only the last of them",
        kind: AttributeKind::Word(&["none", "causal", "window"]),
        default: "none",
    },
    Attribute {
        name: "window",
        meaning: "keys that a query sees with mask=window, its own position counted",
        kind: AttributeKind::Int { low: 1, high: 1 << 31 },
        default: "512",
    },
    Attribute {
        name: "scale",
        meaning: "what scores are multiplied by; 0: one over the root of d",
        kind: AttributeKind::Real { low: 0.0, high: 16.0 },
        default: "0",
    },
];

impl Op for Attention {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn summary(&self) -> &'static str {
        "o = softmax(scale · q kᵀ, masked) v for each head"
    }

    fn axes(&self) -> &'static [Axis] {
        AXES
    }

    fn attributes(&self) -> &'static [Attribute] {
        ATTRIBUTES
    }

    fn dtypes(&self) -> &'static [DType] {
        &[DType::F32, DType::Bf16, DType::F16]
    }

    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        let Problem { batches, heads, kv_heads, queries, keys, width, .. } = Problem::of(case);
        if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
            let message =
                format!("{heads} heads of queries do not share {kv_heads} of keys evenly");
            return Err(BadCase::Contradiction(message));
        }
        let of_query = [batches, heads, queries, width];
        let of_key = [batches, kv_heads, keys, width];
        Ok(Signature::new(vec![
            Operand::new("q", Role::Input, case.dtype, &of_query),
            Operand::new("k", Role::Input, case.dtype, &of_key),
            Operand::new("v", Role::Input, case.dtype, &of_key),
            Operand::new("o", Role::Output, case.dtype, &of_query),
        ]))
    }

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
    /// are sums of one sign. Limits of a fifth or less of the default ones keep sight of wrong
    /// kernels in 16 bits, too.
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
