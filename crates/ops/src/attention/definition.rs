//! The definition of attention: axes, attributes, operands and masks.

use proofmark_contract::{
    Attribute, AttributeKind, Axis, AxisRole, BadCase, Definition, Operand, Role, Signature,
};
use proofmark_terms::{Case, DType};
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
    /// This many up to its own position, including itself.
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
        let given = SCALE.real(case);
        Problem {
            batches: size("b"),
            heads: size("h"),
            kv_heads: size("kv"),
            queries: size("q"),
            keys: size("t"),
            width: size("d"),
            mask: match MASK.word(case) {
                "causal" => Mask::Causal,
                "window" => Mask::Window(WINDOW.int(case) as usize),
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
        // Each of the first `ends` positions sees itself and those before it, but at most `most`.
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

const AXES: &[Axis] = &[
    Axis { name: "b", meaning: "problems in the batch", role: AxisRole::Batch, default: 1 },
    Axis { name: "h", meaning: "heads of queries", role: AxisRole::Batch, default: 32 },
    Axis { name: "kv", meaning: "heads of keys and values", role: AxisRole::Dimension, default: 8 },
    Axis { name: "q", meaning: "queries of a head", role: AxisRole::Sequence, default: 128 },
    Axis { name: "t", meaning: "keys of a head", role: AxisRole::Dimension, default: 128 },
    Axis { name: "d", meaning: "elements of a head", role: AxisRole::Dimension, default: 128 },
];

const MASK: Attribute = Attribute {
    name: "mask",
    meaning: "causal: keys up to the query's position; window: only the last of them",
    kind: AttributeKind::Word { words: &["none", "causal", "window"], default: "none" },
};
/// The default is Gemma 3's window.
const WINDOW: Attribute = Attribute {
    name: "window",
    meaning: "keys that a query sees with mask=window, its own position counted",
    kind: AttributeKind::Int { low: 1, high: 1 << 31, default: 512 },
};
const SCALE: Attribute = Attribute {
    name: "scale",
    meaning: "what scores are multiplied by; 0: one over the root of d",
    kind: AttributeKind::Real { low: 0.0, high: 16.0, default: 0.0 },
};

const ATTRIBUTES: &[Attribute] = &[MASK, WINDOW, SCALE];

impl Definition for Attention {
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
}
