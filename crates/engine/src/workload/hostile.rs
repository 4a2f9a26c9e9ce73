//! Descriptions and workloads that no honest program writes: each ends with a message.

use super::*;
use serde_json::Value;

/// Values that a size should not have, and a few that it may have.
const ODD: [&str; 15] = [
    "0",
    "1",
    "2147483648",
    "4294967296",
    "9007199254740992",
    "9223372036854775808",
    "18446744073709551615",
    "-1",
    "0.5",
    "1e19",
    "1e300",
    "\"many\"",
    "null",
    "[1]",
    "true",
];

const LLAMA: &str = r#"{
    "model_type": "llama", "num_hidden_layers": 16, "hidden_size": 2048,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 8192,
    "vocab_size": 128256, "rope_theta": 500000.0, "rms_norm_eps": 1e-05
}"#;

const MIXTRAL: &str = r#"{
    "model_type": "mixtral", "num_hidden_layers": 32, "hidden_size": 4096,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
    "intermediate_size": 14336, "vocab_size": 32000, "num_local_experts": 8,
    "num_experts_per_tok": 2, "moe_intermediate_size": 14336, "rope_theta": 1e6,
    "rms_norm_eps": 1e-05
}"#;

const GEMMA: &str = r#"{
    "model_type": "gemma3_text", "num_hidden_layers": 26, "hidden_size": 1152,
    "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256,
    "intermediate_size": 6912, "vocab_size": 262144, "sliding_window": 512,
    "sliding_window_pattern": 6, "rope_theta": 1e6, "rms_norm_eps": 1e-06
}"#;

fn read(bytes: &[u8]) -> Result<Model, ModelError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    std::fs::write(&path, bytes).unwrap();
    read_config(&path, None)
}

/// Reads a config and writes its work, or says what is wrong with it.
fn tried(config: &Value) -> Result<String, String> {
    let model = read(config.to_string().as_bytes()).map_err(|error| error.to_string())?;
    model.lines("f32", &[1, 128, 1 << 20], 1 << 20).map_err(|error| error.to_string())
}

/// The names of the fields that are numbers.
fn numbers(config: &Value) -> Vec<String> {
    let fields = config.as_object().unwrap().iter().filter(|(_, value)| value.is_number());
    fields.map(|(name, _)| name.clone()).collect()
}

#[test]
fn no_value_of_any_field_panics_and_a_refusal_names_the_field() {
    let mut refused = 0;
    for base in [LLAMA, MIXTRAL, GEMMA] {
        let base: Value = serde_json::from_str(base).unwrap();
        tried(&base).unwrap();
        for field in numbers(&base) {
            for value in ODD {
                let mut config = base.clone();
                config[&field] = serde_json::from_str(value).unwrap();
                if let Err(told) = tried(&config) {
                    assert!(told.contains(&field), "{field}={value}: {told}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 200, "only {refused} were refused");
}

#[test]
fn no_values_of_all_fields_together_panic() {
    let base: Value = serde_json::from_str(MIXTRAL).unwrap();
    let fields = numbers(&base);
    // Mostly values near the limits: many configs are accepted, and their products are great.
    let near = ["1", "2", "3", "4096", "65536", "1048576", "16777216"];
    let (mut state, mut accepted) = (1u64, 0);
    for _ in 0..2000 {
        let mut config = base.clone();
        for field in &fields {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (draw, is_odd) = ((state >> 40) as usize, (state >> 33).is_multiple_of(40));
            let value = if is_odd { ODD[draw % ODD.len()] } else { near[draw % near.len()] };
            config[field] = serde_json::from_str(value).unwrap();
        }
        accepted += u32::from(tried(&config).is_ok());
    }
    assert!(accepted > 0, "none was accepted");
}

#[test]
fn a_size_that_is_refused_is_told_with_its_value_and_what_is_accepted() {
    let told = |from: &str, to: &str| {
        assert!(MIXTRAL.contains(from));
        read(MIXTRAL.replace(from, to).as_bytes()).unwrap_err().to_string()
    };
    let each = told("per_tok\": 2", "per_tok\": 9223372036854775808");
    for word in ["`num_experts_per_tok`", "9223372036854775808", "1 to "] {
        assert!(each.contains(word), "{each}");
    }
    let text = told("\"hidden_size\": 4096", "\"hidden_size\": \"wide\"");
    assert!(text.contains("`hidden_size`") && text.contains("wide"), "{text}");
    // Heads of no width: neither number is wrong by itself.
    let narrow = LLAMA.replace("\"hidden_size\": 2048", "\"hidden_size\": 16");
    let told = read(narrow.as_bytes()).unwrap_err().to_string();
    assert!(told.contains("`head_dim`"), "{told}");
}

#[test]
fn a_file_that_is_too_long_for_a_description_is_refused() {
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(20 << 20));
    let told = read(long.as_bytes()).unwrap_err().to_string();
    assert!(told.contains("16 MiB"), "{told}");
    // A list that claims to be as long as the file, which may be a hundred gigabytes.
    let mut header = b"GGUF".to_vec();
    header.extend(3u32.to_le_bytes());
    header.extend(0u64.to_le_bytes());
    header.extend(1u64.to_le_bytes());
    header.extend(1u64.to_le_bytes());
    header.extend(b"a");
    header.extend(9u32.to_le_bytes());
    header.extend(0u32.to_le_bytes());
    header.extend((70u64 << 20).to_le_bytes());
    header.resize(71 << 20, 0);
    let told = read(&header).unwrap_err().to_string();
    assert!(told.contains("64 MiB"), "{told}");
}

/// All cases of a workload.
fn all_of(text: &str) -> Result<Vec<Wanted>, EngineError> {
    cases("here", text, &[], &[], None)
}

/// What is wrong with a workload of these files, of which the first is read.
fn told_of(files: &[(&str, String)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    for (name, text) in files {
        let text = text.replace("include ", &format!("include {}/", folder.path().display()));
        std::fs::write(place(name), text).unwrap();
    }
    let text = find(&place(files[0].0)).map(|text| text.unwrap());
    let cases = text.and_then(|text| all_of(&text));
    cases.err().expect("a hostile workload is refused").to_string()
}

#[test]
fn includes_that_fan_out_are_stopped_with_a_message() {
    // Seven levels of 20 includes each would be more than a thousand million files.
    let names: Vec<String> = (0..7).map(|level| format!("level{level}.txt")).collect();
    let text = |level: usize| match names.get(level + 1) {
        Some(next) => format!("include {next}\n").repeat(20),
        None => "add:f32 d=8\n".to_owned(),
    };
    let files: Vec<(&str, String)> =
        (0..7).map(|level| (names[level].as_str(), text(level))).collect();
    let told = told_of(&files);
    assert!(told.contains("1,000 files"), "{told}");
}

#[test]
fn a_workload_that_includes_itself_is_told_apart_from_one_that_is_missing() {
    let told = told_of(&[("a.txt", "include a.txt".to_owned())]);
    assert!(told.contains("includes itself"), "{told}");
    let told = told_of(&[("a.txt", "include b.txt".to_owned())]);
    assert!(told.contains("no workload or file") && !told.contains("itself"), "{told}");
}

#[test]
fn too_many_lines_or_cases_are_stopped_with_a_message() {
    let told = told_of(&[("a.txt", "\n".repeat(1_000_001))]);
    assert!(told.contains("1,000,000 lines"), "{told}");
    let told = told_of(&[("a.txt", "add:f32 d=1:60000\n".repeat(2))]);
    assert!(told.contains("100,000 cases"), "{told}");
    let told = told_of(&[("a.txt", format!("add:{}f32 d=1:60000", "f32,".repeat(100)))]);
    assert!(told.contains("100,000 cases"), "{told}");
    let told = told_of(&[("a.txt", format!("# {}", "x".repeat(17 << 20)))]);
    assert!(told.contains("16 MiB"), "{told}");
}

#[test]
fn a_workload_of_many_different_cases_is_read() {
    let text = "add:f32 d=1:50000\n".repeat(2);
    assert_eq!(all_of(&text).unwrap().len(), 50_000);
}

#[test]
fn counts_and_sizes_of_a_workload_do_not_overflow() {
    let line = format!("add:f32 d=8 @m:1/l x{}\n", u64::MAX);
    let all = all_of(&line.repeat(2)).unwrap();
    assert_eq!(all[0].uses[0].times, u64::MAX);
    for size in [1u64 << 31, 1 << 32, 1 << 53, 1 << 63, u64::MAX] {
        for line in [
            format!("add:f32 b={size} s={size} d={size}"),
            format!("matmul:f32 m={size} n={size} k={size}"),
            format!(r#"{{"op":"matmul","dtype":"f32","axes":{{"m":{size},"n":{size},"k":3}}}}"#),
            format!("attention:f32 h={size} kv=1 q={size} t={size} d={size} mask=causal"),
        ] {
            // Either answer is right; a panic is not.
            let _ = all_of(&line);
        }
    }
}
