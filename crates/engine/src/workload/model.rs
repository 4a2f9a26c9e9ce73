//! A transformer's shape, and the work of one of its steps as lines of a workload.

use std::fmt::Write as _;

/// What can be wrong with a model's description.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The file cannot be read.
    #[error("cannot read {path}: {reason}")]
    Unread {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// It is neither form.
    #[error("{0} is neither a config.json of a model nor a GGUF file")]
    Form(String),
    /// A number is missing.
    #[error("the description has no `{0}`: add it, or give the description of another model")]
    Missing(String),
    /// A number is none that a model can have.
    #[error("`{field}` is {value}: acceptable is {accepted}")]
    Size {
        /// Its name in `config.json`.
        field: &'static str,
        /// What the description says.
        value: String,
        /// What it may be.
        accepted: String,
    },
    /// The architecture is not one of those known here.
    #[error("no work is known of models of type `{0}` (known: {known})", known = KNOWN.join(", "))]
    Unknown(String),
    /// A GGUF header that ends early or is not of the format.
    #[error("the GGUF header is broken: {0}")]
    Header(&'static str),
}

/// Types of models whose work is known, as `config.json` and GGUF headers name them.
pub(super) const KNOWN: &[&str] = &[
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
    "mixtral",
    "qwen3_moe",
    "gemma3_text",
    "gemma3",
    "bert",
];

/// Experts, of which each token is routed to a few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Experts {
    /// How many there are.
    pub count: u64,
    /// How many a token is routed to.
    pub each: u64,
    /// Width of one.
    pub width: u64,
}

/// Which kind of block the layers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// RMS norms before both halves, rotary positions, a gate of silu.
    Llama,
    /// The same with norms after both halves too, a gate of gelu, and windows in most layers.
    Gemma,
    /// Layer norms after both halves, no gate, every token sees every other.
    Bert,
}

/// A transformer's shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Its name, for labels.
    pub name: String,
    /// What it was read from: a file's name and its SHA-256.
    pub source: String,
    /// The kind of its layers.
    pub block: Block,
    /// Layers.
    pub layers: u64,
    /// Width of the residual stream.
    pub hidden: u64,
    /// Heads of queries.
    pub heads: u64,
    /// Heads of keys and values.
    pub kv_heads: u64,
    /// Width of a head.
    pub head: u64,
    /// Width of the feed-forward part.
    pub feed_forward: u64,
    /// Words.
    pub vocabulary: u64,
    /// Queries and keys are normalised.
    pub has_qk_norm: bool,
    /// Projections of queries, keys and values have a bias.
    pub has_bias: bool,
    /// Keys that a local layer sees, and which layer of how many sees all.
    pub window: Option<(u64, u64)>,
    /// Every token sees every other, and no word is written.
    pub is_encoder: bool,
    /// Experts instead of one feed-forward part.
    pub experts: Option<Experts>,
    /// Base of the rotary angles.
    pub theta: f64,
    /// What norms add to the variance.
    pub eps: f64,
}

/// The greatest value of each size, by its name in `config.json`: a hundred times what models have,
/// and so small that no product of sizes, tokens and layers below comes near 2^64.
const LIMITS: &[(&str, u64)] = &[
    ("num_hidden_layers", 1 << 16),
    ("hidden_size", 1 << 24),
    ("num_attention_heads", 1 << 16),
    ("num_key_value_heads", 1 << 16),
    ("head_dim", 1 << 16),
    ("intermediate_size", 1 << 24),
    ("moe_intermediate_size", 1 << 24),
    ("vocab_size", 1 << 28),
    ("sliding_window", 1 << 32),
    ("sliding_window_pattern", 1 << 16),
    ("num_experts", 1 << 16),
    ("num_local_experts", 1 << 16),
    ("num_experts_per_tok", 1 << 16),
    (TOKENS, 1 << 20),
    (CONTEXT, 1 << 32),
];

/// What the sizes of a step are called; descriptions do not have them.
const TOKENS: &str = "tokens";
const CONTEXT: &str = "context";

/// A size that the limit of its field allows, or what is wrong with it.
pub(super) fn sized(
    field: &'static str,
    size: Option<u64>,
    value: &dyn std::fmt::Display,
) -> Result<u64, ModelError> {
    let most = LIMITS.iter().find(|(name, _)| *name == field).map_or(0, |(_, most)| *most);
    size.filter(|size| (1..=most).contains(size)).ok_or_else(|| ModelError::Size {
        field,
        value: value.to_string(),
        accepted: format!("a whole number from 1 to {most}"),
    })
}

/// A line in the making: what the op is given, what the layer is called and how often it is.
struct Line {
    op: &'static str,
    given: String,
    layer: &'static str,
    times: u64,
}

impl Model {
    /// The work of steps of these numbers of tokens as lines, each with its multiplicity. A single
    /// token attends to `context` keys; several tokens are a prompt that attends to itself.
    ///
    /// # Errors
    /// If a size is none that a model or a step can have.
    pub fn lines(&self, dtypes: &str, tokens: &[u64], context: u64) -> Result<String, ModelError> {
        self.check()?;
        sized(CONTEXT, Some(context), &context)?;
        tokens.iter().try_for_each(|count| sized(TOKENS, Some(*count), count).map(drop))?;
        let mut text = format!("# {}, from {}\n", self.name, self.source);
        let _ = writeln!(
            text,
            "# {} layers, width {}, {} heads and {} of keys, each {}, feed-forward {}, {} words.",
            self.layers,
            self.hidden,
            self.heads,
            self.kv_heads,
            self.head,
            self.feed_forward,
            self.vocabulary
        );
        text.push_str("# Not here: looking up embeddings, and sampling.\n");
        for &count in tokens {
            let keys = if count == 1 { context } else { count };
            let _ = writeln!(text, "\n# A step of {count} of {keys} tokens.");
            for line in self.step(count, keys) {
                let Line { op, given, layer, times } = line;
                let _ =
                    writeln!(text, "{op}:{dtypes} {given} @{}:{count}/{layer} x{times}", self.name);
            }
        }
        Ok(text)
    }

    /// Whether every size is one that a model can have, so that no product of them overflows.
    ///
    /// # Errors
    /// The first that is not.
    pub(super) fn check(&self) -> Result<(), ModelError> {
        let mut sizes = vec![
            ("num_hidden_layers", self.layers),
            ("hidden_size", self.hidden),
            ("num_attention_heads", self.heads),
            ("num_key_value_heads", self.kv_heads),
            ("head_dim", self.head),
            ("intermediate_size", self.feed_forward),
            ("vocab_size", self.vocabulary),
        ];
        if let Some(Experts { count, each, width }) = self.experts {
            sizes.extend([("num_experts", count), ("num_experts_per_tok", each)]);
            sizes.push(("moe_intermediate_size", width));
        }
        if let Some((window, every)) = self.window {
            sizes.extend([("sliding_window", window), ("sliding_window_pattern", every)]);
        }
        sizes.iter().try_for_each(|(field, size)| sized(field, Some(*size), size).map(drop))
    }

    fn step(&self, tokens: u64, keys: u64) -> Vec<Line> {
        let mut lines = self.norms(tokens);
        let (own, all) = (self.heads * self.head, (self.heads + 2 * self.kv_heads) * self.head);
        let bias = if self.has_bias { " bias=true" } else { "" };
        lines.push(product("qkv", tokens, all, self.hidden, bias, self.layers));
        lines.push(product("output", tokens, self.hidden, own, "", self.layers));
        lines.extend(self.positions(tokens));
        lines.extend(self.attention(tokens, keys));
        lines.extend(self.feed_forward(tokens));
        if !self.is_encoder {
            // Only the last token needs logits.
            lines.push(product("words", 1, self.vocabulary, self.hidden, "", 1));
        }
        lines
    }

    fn norms(&self, tokens: u64) -> Vec<Line> {
        let rows = |more: &str| format!("s={tokens} d={}{more}", self.hidden);
        let line = |op, given, layer, times| Line { op, given, layer, times };
        let eps = format!(" eps={:e}", self.eps);
        match self.block {
            Block::Llama => vec![
                line("rms_norm", rows(&eps), "first_norm", 1),
                line("add_rms_norm", rows(&eps), "norm", 2 * self.layers),
            ],
            Block::Gemma => vec![
                line(
                    "rms_norm",
                    rows(&format!("{eps} variant=gemma")),
                    "norm",
                    4 * self.layers + 1,
                ),
                line("add", rows(""), "residual", 2 * self.layers),
            ],
            Block::Bert => vec![
                line("layer_norm", rows(&eps), "norm", 2 * self.layers + 1),
                line("add", rows(""), "residual", 2 * self.layers),
            ],
        }
    }

    fn positions(&self, tokens: u64) -> Vec<Line> {
        let Model { heads, kv_heads, head, layers, .. } = *self;
        let mut lines = Vec::new();
        if self.has_qk_norm {
            let given = format!("s={tokens} h={heads} kv={kv_heads} d={head} eps={:e}", self.eps);
            lines.push(Line { op: "qk_norm", given, layer: "qk_norm", times: layers });
        }
        if self.block != Block::Bert {
            let given = format!("s={tokens} h={} d={head} theta={}", heads + kv_heads, self.theta);
            lines.push(Line { op: "rope", given, layer: "rope", times: layers });
        }
        lines
    }

    fn attention(&self, tokens: u64, keys: u64) -> Vec<Line> {
        let Model { heads, kv_heads, head, layers, .. } = *self;
        let line = |keys: u64, mask: &str, layer, times| Line {
            op: "attention",
            given: format!("h={heads} kv={kv_heads} q={tokens} t={keys} d={head} mask={mask}"),
            layer,
            times,
        };
        match self.window {
            _ if self.is_encoder => vec![line(keys, "none", "attention", layers)],
            // Keys before the window are not kept.
            Some((window, every)) if window < keys => {
                let all = layers / every;
                let local = match tokens {
                    1 => line(window, "causal", "local_attention", layers - all),
                    _ => line(
                        keys,
                        &format!("window window={window}"),
                        "local_attention",
                        layers - all,
                    ),
                };
                let both = [local, line(keys, "causal", "attention", all)];
                both.into_iter().filter(|line| line.times > 0).collect()
            }
            _ => vec![line(keys, "causal", "attention", layers)],
        }
    }

    fn feed_forward(&self, tokens: u64) -> Vec<Line> {
        let Model { layers, hidden, feed_forward: wide, .. } = *self;
        let gate = |op, rows: u64, wide: u64, times| Line {
            op,
            given: format!("s={rows} d={wide}"),
            layer: "gate",
            times,
        };
        if let Some(Experts { count, each, width }) = self.experts {
            // The estimate assumes that tokens are spread evenly over experts: each expert gets the
            // same number of rows, and there are no more experts than pairs.
            let pairs = tokens * each;
            let met = pairs.min(count);
            let (rows, times) = (pairs.div_ceil(met), met * layers);
            return vec![
                product("router", tokens, count, hidden, "", layers),
                product("gate_up", rows, 2 * width, hidden, "", times),
                gate("swiglu", rows, width, times),
                product("down", rows, hidden, width, "", times),
            ];
        }
        match self.block {
            Block::Bert => vec![
                product("up", tokens, wide, hidden, " bias=true activation=gelu", layers),
                product("down", tokens, hidden, wide, " bias=true", layers),
            ],
            Block::Llama | Block::Gemma => {
                let op = if self.block == Block::Gemma { "geglu" } else { "swiglu" };
                vec![
                    product("gate_up", tokens, 2 * wide, hidden, "", layers),
                    gate(op, tokens, wide, layers),
                    product("down", tokens, hidden, wide, "", layers),
                ]
            }
        }
    }
}

/// A linear layer, weights [outputs, inputs].
fn product(layer: &'static str, m: u64, n: u64, k: u64, more: &str, times: u64) -> Line {
    Line { op: "matmul", given: format!("m={m} n={n} k={k} layout=nt{more}"), layer, times }
}

#[cfg(test)]
mod tests {
    use super::super::line::of_line;
    use super::*;

    fn qwen() -> Model {
        Model {
            name: "qwen3-0.6b".to_owned(),
            source: "a test".to_owned(),
            block: Block::Llama,
            layers: 28,
            hidden: 1024,
            heads: 16,
            kv_heads: 8,
            head: 128,
            feed_forward: 3072,
            vocabulary: 151_936,
            has_qk_norm: true,
            has_bias: false,
            window: None,
            is_encoder: false,
            experts: None,
            theta: 1e6,
            eps: 1e-6,
        }
    }

    /// The lines of a step that have an op, without their places.
    fn given(model: &Model, tokens: u64, op: &str) -> Vec<String> {
        let text = model.lines("f32", &[tokens], 1024).unwrap();
        let of_op = text.lines().filter(|line| line.starts_with(&format!("{op}:")));
        of_op.map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
    }

    #[test]
    fn every_line_is_a_case_that_an_op_has() {
        let local = Some((512, 6));
        let experts = Some(Experts { count: 128, each: 8, width: 768 });
        let models = [
            qwen(),
            Model { experts, ..qwen() },
            Model { block: Block::Gemma, window: local, ..qwen() },
            Model {
                block: Block::Bert,
                has_qk_norm: false,
                has_bias: true,
                is_encoder: true,
                ..qwen()
            },
        ];
        for model in models {
            for line in model.lines("f32,bf16", &[1, 128, 2048], 1024).unwrap().lines() {
                if !line.is_empty() && !line.starts_with('#') {
                    let wanted = of_line(line).unwrap_or_else(|error| panic!("{line}: {error}"));
                    assert!(wanted.iter().all(|one| one.uses.len() == 1), "{line}");
                }
            }
        }
    }

    #[test]
    fn the_products_of_qwen3_are_those_of_its_paper() {
        let products = given(&qwen(), 1, "matmul");
        assert_eq!(
            products,
            [
                "m=1 n=4096 k=1024 layout=nt @qwen3-0.6b:1/qkv x28",
                "m=1 n=1024 k=2048 layout=nt @qwen3-0.6b:1/output x28",
                "m=1 n=6144 k=1024 layout=nt @qwen3-0.6b:1/gate_up x28",
                "m=1 n=1024 k=3072 layout=nt @qwen3-0.6b:1/down x28",
                "m=1 n=151936 k=1024 layout=nt @qwen3-0.6b:1/words x1",
            ]
        );
        let prompt = given(&qwen(), 128, "matmul");
        assert!(prompt[0].starts_with("m=128 ") && prompt[4].starts_with("m=1 "), "{prompt:?}");
    }

    #[test]
    fn one_token_meets_the_context_and_a_prompt_itself() {
        assert!(given(&qwen(), 1, "attention")[0].contains("q=1 t=1024"));
        assert!(given(&qwen(), 128, "attention")[0].contains("q=128 t=128"));
    }

    #[test]
    fn local_layers_see_a_window_and_the_others_all() {
        let gemma = Model { layers: 26, window: Some((512, 6)), ..qwen() };
        let step = given(&gemma, 1, "attention");
        assert!(step[0].contains("t=512") && step[0].ends_with("x22"), "{step:?}");
        assert!(step[1].contains("t=1024") && step[1].ends_with("x4"), "{step:?}");
        assert_eq!(given(&gemma, 128, "attention").len(), 1, "a short prompt fits the window");
    }

    #[test]
    fn experts_are_met_by_all_pairs_of_tokens_and_experts() {
        let experts = Some(Experts { count: 128, each: 8, width: 768 });
        let model = Model { experts, layers: 48, ..qwen() };
        let one = given(&model, 1, "matmul");
        assert!(one.iter().any(|line| line.contains("m=1 n=1536") && line.ends_with("x384")));
        let many = given(&model, 512, "matmul");
        assert!(many.iter().any(|line| line.contains("m=32 n=1536") && line.ends_with("x6144")));
    }
}
