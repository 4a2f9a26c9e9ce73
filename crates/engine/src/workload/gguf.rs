//! The header of a GGUF file: its keys and values, of which a few are a model's shape.

use super::facts::{Facts, hex};
use super::model::ModelError;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::{BufReader, Read, Take};

/// The first bytes of such a file.
pub(super) const MAGIC: &[u8; 4] = b"GGUF";

/// No header is longer: those of models with the greatest vocabularies have 20 MiB. A hundred
/// gigabytes of weights may follow it, and a broken header must not make the reader go through
/// them.
const LONGEST: u64 = 64 << 20;

/// Keys after the architecture's name, and what `config.json` calls them.
const NAMES: &[(&str, &str)] = &[
    ("block_count", "num_hidden_layers"),
    ("embedding_length", "hidden_size"),
    ("feed_forward_length", "intermediate_size"),
    ("attention.head_count", "num_attention_heads"),
    ("attention.head_count_kv", "num_key_value_heads"),
    ("attention.key_length", "head_dim"),
    ("attention.sliding_window", "sliding_window"),
    ("attention.layer_norm_rms_epsilon", "rms_norm_eps"),
    ("attention.layer_norm_epsilon", "layer_norm_eps"),
    ("rope.freq_base", "rope_theta"),
    ("vocab_size", "vocab_size"),
    ("expert_count", "num_experts"),
    ("expert_used_count", "num_experts_per_tok"),
    ("expert_feed_forward_length", "moe_intermediate_size"),
];

/// Reads what a header says of a model's shape, and the SHA-256 of the header.
///
/// # Errors
/// If it ends early or is not of the format.
pub(super) fn facts(file: impl Read) -> Result<(Facts, String), ModelError> {
    let reader = BufReader::new(file.take(LONGEST));
    let mut header = Header { reader, hash: Sha256::new() };
    if header.bytes::<4>()? != *MAGIC || !matches!(header.u32()?, 2 | 3) {
        return Err(ModelError::Header("it is of another version than 2 and 3"));
    }
    let _tensors = header.u64()?;
    let mut facts = Facts::default();
    let mut words = None;
    for _ in 0..header.u64()? {
        let key = header.text()?;
        let kind = header.u32()?;
        match header.value(kind)? {
            Found::Number(number) => note(&mut facts, &key, number),
            Found::Text(text) if key == "general.architecture" => facts.kind = text,
            Found::Text(text) if key == "general.name" => facts.name = Some(text),
            Found::List(length) if key == "tokenizer.ggml.tokens" => words = Some(length),
            Found::Text(_) | Found::List(_) => {}
        }
    }
    if let Some(words) = words {
        facts.values.entry("vocab_size".to_owned()).or_insert(words.into());
    }
    // The same family under another name.
    if facts.kind == "qwen3moe" {
        facts.kind = "qwen3_moe".to_owned();
    }
    Ok((facts, hex(&header.hash.finalize())))
}

fn note(facts: &mut Facts, key: &str, number: Value) {
    let Some((_, rest)) = key.split_once('.') else { return };
    if let Some((_, name)) = NAMES.iter().find(|(known, _)| *known == rest) {
        facts.values.insert((*name).to_owned(), number);
    }
}

/// A value. Lists are only counted.
enum Found {
    Number(Value),
    Text(String),
    List(u64),
}

fn number(number: impl Into<Value>) -> Found {
    Found::Number(number.into())
}

/// A number that is not finite stays as text, so that it can be reported.
fn real(number: f64) -> Found {
    let text = || Value::from(number.to_string());
    Found::Number(serde_json::Number::from_f64(number).map_or_else(text, Value::Number))
}

struct Header<R> {
    reader: BufReader<Take<R>>,
    hash: Sha256,
}

impl<R: Read> Header<R> {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), ModelError> {
        self.reader.read_exact(bytes).map_err(|_| match self.reader.get_ref().limit() {
            0 => ModelError::Header("it is longer than 64 MiB"),
            _ => ModelError::Header("it ends early"),
        })?;
        self.hash.update(&*bytes);
        Ok(())
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], ModelError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, ModelError> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    fn u64(&mut self) -> Result<u64, ModelError> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }

    fn text(&mut self) -> Result<String, ModelError> {
        let length = self.u64()?;
        if length > LONGEST {
            return Err(ModelError::Header("a text is longer than 64 MiB"));
        }
        let mut bytes = vec![0; length as usize];
        self.fill(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A value of the format's type of that number.
    fn value(&mut self, kind: u32) -> Result<Found, ModelError> {
        Ok(match kind {
            0 | 7 => number(u8::from_le_bytes(self.bytes()?)),
            1 => number(i8::from_le_bytes(self.bytes()?)),
            2 => number(u16::from_le_bytes(self.bytes()?)),
            3 => number(i16::from_le_bytes(self.bytes()?)),
            4 => number(self.u32()?),
            5 => number(i32::from_le_bytes(self.bytes()?)),
            6 => real(f32::from_le_bytes(self.bytes()?).into()),
            8 => Found::Text(self.text()?),
            9 => {
                let (inner, length) = (self.u32()?, self.u64()?);
                if inner == 9 {
                    return Err(ModelError::Header("a list of lists"));
                }
                for _ in 0..length {
                    self.value(inner)?;
                }
                Found::List(length)
            }
            10 => number(self.u64()?),
            11 => number(i64::from_le_bytes(self.bytes()?)),
            12 => real(f64::from_le_bytes(self.bytes()?)),
            _ => return Err(ModelError::Header("a value of a type that the format does not have")),
        })
    }
}
