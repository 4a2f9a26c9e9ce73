//! A model's shape from its `config.json` or the header of its GGUF file.

use super::facts::{Facts, hex};
use super::gguf;
use super::model::{Model, ModelError};
use crate::bounded::read_text;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Longest `config.json` that is read; those of models have a few kilobytes, some with the names of
/// thousands of classes.
const LONGEST_MIB: u64 = 16;

/// Reads a model's shape.
///
/// # Errors
/// If the file cannot be read, is too long or of neither form, lacks a number or has one that no
/// model can have, or the kind of model is not known.
pub fn read_config(path: &Path, name: Option<&str>) -> Result<Model, ModelError> {
    let shown = path.display().to_string();
    let unread = |error: std::io::Error| ModelError::Unread {
        path: shown.clone(),
        reason: error.to_string(),
    };
    let mut file = File::open(path).map_err(unread)?;
    let mut magic = [0; 4];
    let is_gguf = file.read_exact(&mut magic).is_ok() && magic == *gguf::MAGIC;
    file.seek(SeekFrom::Start(0)).map_err(unread)?;
    let (facts, hash) = if is_gguf {
        gguf::facts(file)?
    } else {
        let text = read_text(file, LONGEST_MIB).map_err(unread)?;
        let config: Value =
            serde_json::from_str(&text).map_err(|_| ModelError::Form(shown.clone()))?;
        (of_json(&config), hex(&Sha256::digest(text.as_bytes())))
    };
    let part = if is_gguf { "its header's SHA-256" } else { "SHA-256" };
    let file_name = path.file_name().map_or(shown.clone(), |name| name.display().to_string());
    let stem = path.file_stem().map_or("model".to_owned(), |stem| stem.display().to_string());
    let name = name.map(str::to_owned).or_else(|| facts.name.clone()).unwrap_or(stem);
    let mut model = facts.model()?;
    model.name = label(&name);
    model.source = format!("{file_name}, {part} {hash}");
    Ok(model)
}

/// The models that are always here, a config of each on a line, with its source.
const MODELS: &str = include_str!("../../suites/models.jsonl");

/// The models that are always here.
///
/// # Panics
/// Never: each is read by a test.
pub(crate) fn models() -> Vec<Model> {
    let read = |line: &str| {
        let config: Value = serde_json::from_str(line).expect("a line is a config");
        let facts = of_json(&config);
        let mut model = facts.model().expect("a config here is whole");
        model.name = label(facts.name.as_deref().unwrap_or("model"));
        let source = config.get("source").and_then(Value::as_str).unwrap_or_default();
        model.source = format!("{source}, SHA-256 of its line {}", hex(&Sha256::digest(line)));
        model
    };
    MODELS.lines().map(read).collect()
}

/// A name without what lines are split at.
fn label(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    let kept = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '-' };
    last.to_ascii_lowercase().chars().map(kept).collect()
}

fn of_json(config: &Value) -> Facts {
    // Vision models nest the language model's config.
    let text = config.get("text_config").filter(|inner| inner.is_object()).unwrap_or(config);
    let word = |key: &str| text.get(key).or_else(|| config.get(key)).and_then(Value::as_str);
    let given = text.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let values = given.map(|(key, value)| (key.clone(), value.clone())).collect();
    Facts {
        kind: word("model_type").unwrap_or_default().to_owned(),
        name: word("_name_or_path").filter(|name| !name.is_empty()).map(str::to_owned),
        values,
        has_bias: text.get("attention_bias").and_then(Value::as_bool),
        is_encoder: text.get("use_bidirectional_attention").and_then(Value::as_bool) == Some(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Llama-3.2-1B's shape, as its page gives it.
    const LLAMA: &str = r#"{
        "model_type": "llama", "_name_or_path": "meta-llama/Llama-3.2-1B",
        "num_hidden_layers": 16, "hidden_size": 2048, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 8192,
        "vocab_size": 128256, "rope_theta": 500000.0, "rms_norm_eps": 1e-05,
        "attention_bias": false, "rope_scaling": {"factor": 32.0}
    }"#;

    fn written(bytes: &[u8], name: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    fn products(model: &Model) -> Vec<String> {
        let text = model.lines("f32", &[1], 1024).unwrap();
        let lines = text.lines().filter(|line| line.starts_with("matmul"));
        lines.map(|line| line.split(" layout").next().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_config_gives_the_products_of_its_model() {
        let (_folder, path) = written(LLAMA.as_bytes(), "config.json");
        let model = read_config(&path, None).unwrap();
        assert_eq!(model.name, "llama-3.2-1b");
        assert!(model.source.starts_with("config.json, SHA-256 ") && model.source.len() > 80);
        assert_eq!(
            products(&model),
            [
                "matmul:f32 m=1 n=3072 k=2048",
                "matmul:f32 m=1 n=2048 k=2048",
                "matmul:f32 m=1 n=16384 k=2048",
                "matmul:f32 m=1 n=2048 k=8192",
                "matmul:f32 m=1 n=128256 k=2048",
            ]
        );
        assert_eq!(read_config(&path, Some("My Model")).unwrap().name, "my-model");
    }

    /// A header of these keys and values, as a converter writes it.
    fn header(values: &[(&str, u32, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(3u32.to_le_bytes());
        bytes.extend(0u64.to_le_bytes());
        bytes.extend((values.len() as u64).to_le_bytes());
        for (key, kind, value) in values {
            bytes.extend((key.len() as u64).to_le_bytes());
            bytes.extend(key.as_bytes());
            bytes.extend(kind.to_le_bytes());
            bytes.extend(value);
        }
        bytes
    }

    fn text(word: &str) -> Vec<u8> {
        let mut bytes = (word.len() as u64).to_le_bytes().to_vec();
        bytes.extend(word.as_bytes());
        bytes
    }

    fn qwen() -> Vec<u8> {
        let mut words = 8u32.to_le_bytes().to_vec();
        words.extend(3u64.to_le_bytes());
        ["a", "b", "c"].iter().for_each(|word| words.extend(text(word)));
        let count = |number: u32| number.to_le_bytes().to_vec();
        header(&[
            ("general.architecture", 8, text("qwen3")),
            ("general.name", 8, text("Qwen3 0.6B")),
            ("qwen3.block_count", 4, count(28)),
            ("qwen3.embedding_length", 4, count(1024)),
            ("qwen3.feed_forward_length", 4, count(3072)),
            ("qwen3.attention.head_count", 4, count(16)),
            ("qwen3.attention.head_count_kv", 4, count(8)),
            ("qwen3.attention.key_length", 4, count(128)),
            ("qwen3.rope.freq_base", 6, 1e6f32.to_le_bytes().to_vec()),
            ("tokenizer.ggml.tokens", 9, words),
        ])
    }

    #[test]
    fn a_gguf_header_gives_the_products_of_its_model() {
        let (_folder, path) = written(&qwen(), "model.gguf");
        let model = read_config(&path, None).unwrap();
        assert_eq!(model.name, "qwen3-0.6b");
        assert!(model.has_qk_norm && model.theta > 999_999.0);
        assert_eq!(
            products(&model),
            [
                "matmul:f32 m=1 n=4096 k=1024",
                "matmul:f32 m=1 n=1024 k=2048",
                "matmul:f32 m=1 n=6144 k=1024",
                "matmul:f32 m=1 n=1024 k=3072",
                "matmul:f32 m=1 n=3 k=1024",
            ]
        );
    }

    #[test]
    fn a_header_that_ends_anywhere_is_an_error_and_not_a_panic() {
        let whole = qwen();
        for end in 4..whole.len() {
            let (_folder, path) = written(&whole[..end], "model.gguf");
            assert!(matches!(read_config(&path, None), Err(ModelError::Header(_))), "at {end}");
        }
        let endless = header(&[("a", 8, u64::MAX.to_le_bytes().to_vec())]);
        let (_folder, path) = written(&endless, "model.gguf");
        assert!(read_config(&path, None).is_err());
    }

    #[test]
    fn what_a_config_lacks_is_named() {
        let told = |text: &str| {
            let (_folder, path) = written(text.as_bytes(), "config.json");
            read_config(&path, None).unwrap_err().to_string()
        };
        assert!(told("not json").contains("neither"));
        assert!(told("{}").contains("known: llama"));
        assert!(told(r#"{"model_type":"llama"}"#).contains("hidden_size"));
        assert!(told(&LLAMA.replace("128256", "0.5")).contains("vocab_size"));
        let missing = read_config(Path::new("nowhere.json"), None).unwrap_err().to_string();
        assert!(missing.contains("nowhere.json"), "{missing}");
    }
}
