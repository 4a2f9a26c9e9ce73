//! What a description says of a model, and the model that follows.

use super::model::{Block, Experts, KNOWN, Model, ModelError, sized};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a `config.json` or the header of a GGUF file says, by the names of `config.json`.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) kind: String,
    pub(super) name: Option<String>,
    /// All values that are there. One that is not a number is reported with its name.
    pub(super) values: BTreeMap<String, Value>,
    pub(super) has_bias: Option<bool>,
    pub(super) is_encoder: bool,
}

impl Facts {
    /// A size, if the description has it and it is not 0, which is how some say that a model has
    /// none of these.
    fn count(&self, field: &'static str) -> Result<Option<u64>, ModelError> {
        match self.values.get(field) {
            Some(value) if whole(value) != Some(0) => {
                sized(field, whole(value), &shown(value)).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn need(&self, field: &'static str) -> Result<u64, ModelError> {
        let value = self.values.get(field).ok_or_else(|| ModelError::Missing(field.to_owned()))?;
        sized(field, whole(value), &shown(value))
    }

    /// A number that is not a size, of the first of these fields that is there.
    fn number(&self, fields: &[&'static str], least: f64, default: f64) -> Result<f64, ModelError> {
        let given = fields.iter().find_map(|field| Some((*field, self.values.get(*field)?)));
        let Some((field, value)) = given else { return Ok(default) };
        let number = value.as_f64().filter(|number| (least..=GREATEST).contains(number));
        number.ok_or_else(|| ModelError::Size {
            field,
            value: shown(value),
            accepted: format!("a number from {least:e} to {GREATEST:e}"),
        })
    }

    /// The model that has this shape; it has no name yet.
    pub(super) fn model(&self) -> Result<Model, ModelError> {
        let kind = self.kind.as_str();
        if !KNOWN.contains(&kind) {
            return Err(ModelError::Unknown(self.kind.clone()));
        }
        let block = match kind {
            "bert" => Block::Bert,
            "gemma3" | "gemma3_text" => Block::Gemma,
            _ => Block::Llama,
        };
        let (hidden, heads) = (self.need("hidden_size")?, self.need("num_attention_heads")?);
        let experts = match self.count("num_experts")? {
            None => self.count("num_local_experts")?,
            found => found,
        };
        let feed_forward = self.need("intermediate_size")?;
        let experts = match experts {
            Some(count) => Some(Experts {
                count,
                each: self.need("num_experts_per_tok")?,
                width: self.count("moe_intermediate_size")?.unwrap_or(feed_forward),
            }),
            None => None,
        };
        let head = match self.count("head_dim")? {
            Some(head) => head,
            None => {
                let words = format!("`hidden_size` {hidden} / `num_attention_heads` {heads}");
                sized("head_dim", Some(hidden / heads), &words)?
            }
        };
        // Gemma has windows in five of six layers. The other models of this list use none.
        let window = match block {
            Block::Gemma => self.count("sliding_window")?,
            Block::Llama | Block::Bert => None,
        };
        let every = match window {
            Some(_) => self.count("sliding_window_pattern")?.unwrap_or(6),
            None => 6,
        };
        let model = Model {
            name: String::new(),
            source: String::new(),
            block,
            layers: self.need("num_hidden_layers")?,
            hidden,
            heads,
            kv_heads: self.count("num_key_value_heads")?.unwrap_or(heads),
            head,
            feed_forward,
            vocabulary: self.need("vocab_size")?,
            has_qk_norm: matches!(kind, "qwen3" | "qwen3_moe" | "gemma3" | "gemma3_text"),
            has_bias: self.has_bias.unwrap_or(matches!(kind, "qwen2" | "bert")),
            window: window.map(|window| (window, every)),
            is_encoder: self.is_encoder || block == Block::Bert,
            experts,
            theta: self.number(&["rope_theta"], 1e-6, 10_000.0)?,
            eps: self.number(&["rms_norm_eps", "layer_norm_eps"], 0.0, 1e-6)?,
        };
        model.check()?;
        Ok(model)
    }
}

/// Greatest number that is not a size: rotary bases and epsilons are far below it.
const GREATEST: f64 = 1e30;

/// A whole number, also one that is written with a point.
fn whole(value: &Value) -> Option<u64> {
    // Above this, not every whole number is an f64.
    let exact = 0.0..=9e15;
    let rounded =
        || value.as_f64().filter(|number| exact.contains(number) && number.fract() == 0.0);
    value.as_u64().or_else(|| rounded().map(|number| number as u64))
}

/// A value as the description has it, short enough for a message.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Bytes as two digits each.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
