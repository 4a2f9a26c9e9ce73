//! Tuned constants as a file that programs read at start, and as source in other languages.

use crate::EngineError;
use proofmark_analyze::{Answer, Crossing};
use proofmark_ops::tuning;
use proofmark_schema::machine::MachineFacts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the file's form.
const FORMAT: u32 = 1;

/// A file of constants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Constants {
    /// Version of its form.
    pub format: u32,
    /// Fingerprint of the machine that they are of.
    pub machine: String,
    /// Its processor.
    pub processor: String,
    /// Version of proofmark.
    pub version: String,
    /// When they were written last.
    pub date: String,
    /// By op.
    pub ops: BTreeMap<String, Tuned>,
}

/// The constant of an op and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// The least size of one thread's part.
    pub parallel_from: usize,
    /// What that counts.
    pub unit: String,
    /// The first case that was shown to pay, or the last that was not.
    pub case: String,
    /// The axis that was followed.
    pub axis: String,
    /// The sizes between which the crossing lies, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<(u64, u64)>,
    /// The kernels.
    pub kernels: [String; 2],
    /// Threads.
    pub threads: usize,
    /// The run that keeps the races.
    pub run: String,
}

/// What the constant of an op counts.
pub fn unit(op: &str) -> &'static str {
    match op {
        "attention" | "matmul" | "matmul_int8" | "matmul_q8" => "multiply-adds",
        _ => "elements",
    }
}

impl Constants {
    /// Constants of this machine, without any yet.
    pub fn of(facts: &MachineFacts) -> Constants {
        Constants {
            format: FORMAT,
            machine: facts.fingerprint.clone(),
            processor: facts.cpu.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            date: date(proofmark_machine::unix_seconds()),
            ops: BTreeMap::new(),
        }
    }

    /// Adds what a crossing says, if it says anything.
    pub fn add(&mut self, crossing: &Crossing) {
        let Some(parallel_from) = crossing.constant else { return };
        let between = match &crossing.answer {
            Answer::Once { crossing } => Some((crossing.low, crossing.high)),
            _ => None,
        };
        let op = crossing.case.op.clone();
        let tuned = Tuned {
            parallel_from,
            unit: unit(&op).to_owned(),
            case: crossing.case.to_string(),
            axis: crossing.axis.clone(),
            between,
            kernels: crossing.between.clone().map(|who| who.to_string()),
            threads: crossing.threads,
            run: crossing.run.clone(),
        };
        self.ops.insert(op, tuned);
    }

    /// The constants in the form that [`tuning::set`] takes.
    pub fn pairs(&self) -> Vec<(String, usize)> {
        self.ops.iter().map(|(op, tuned)| (op.clone(), tuned.parallel_from)).collect()
    }
}

/// Puts constants in force in this process.
///
/// # Errors
/// If an op has no constant, or constants are in force already.
pub fn set_constants(pairs: Vec<(String, usize)>) -> Result<(), EngineError> {
    tuning::set(pairs).map_err(|error| EngineError::Tuning(error.to_string()))
}

/// Reads a file of constants.
///
/// # Errors
/// If the text is none, or of another version.
pub fn read_constants(text: &str) -> Result<Constants, EngineError> {
    let constants: Constants =
        toml::from_str(text).map_err(|error| EngineError::Tuning(error.to_string()))?;
    if constants.format != FORMAT {
        let format = constants.format;
        let why = format!("they have format {format}, this version reads {FORMAT}");
        return Err(EngineError::Tuning(why));
    }
    for (op, tuned) in &constants.ops {
        if !tuning::is_tunable(op) || tuned.parallel_from == 0 {
            let why = format!("`{op}` has no constant {}", tuned.parallel_from);
            return Err(EngineError::Tuning(why));
        }
    }
    Ok(constants)
}

/// The text of a file of constants.
pub fn write_constants(constants: &Constants) -> String {
    let body = toml::to_string(constants).expect("constants are tables of text and numbers");
    format!(
        "# Written by `proofmark tune`: from which size of a thread's part on a second thread is \
         woken.\n# In force with PROOFMARK_TUNING=<this file>, or proofmark_ops::tuning::set.\n\
         {body}"
    )
}

/// `2026-11-15T18:30:00Z`.
fn date(seconds: u64) -> String {
    jiff::Timestamp::from_second(seconds as i64).map_or_else(|_| String::new(), |at| at.to_string())
}

/// A language that constants are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    /// Rust.
    Rust,
    /// C.
    C,
    /// Go.
    Go,
}

/// The constants as source.
pub fn snippet(constants: &Constants, language: Emit) -> String {
    let head = format!(
        "{} ({}), proofmark {}, {}",
        constants.processor, constants.machine, constants.version, constants.date
    );
    // What the processor calls itself must not end a comment.
    let head = head.replace("*/", "* /").replace(['\n', '\r'], " ");
    let mut text = format!("// Tuned on {head}\n");
    for (op, tuned) in &constants.ops {
        let (upper, from) = (op.to_uppercase(), tuned.parallel_from);
        let camel: String = op.split('_').map(capital).collect();
        let says = format!(
            "{} of one thread's part; {}, {} against {}, {} threads",
            tuned.unit, tuned.case, tuned.kernels[1], tuned.kernels[0], tuned.threads
        );
        text += &match language {
            Emit::Rust => {
                format!("/// {says}.\npub const {upper}_PARALLEL_FROM: usize = {from};\n")
            }
            Emit::C => format!("/* {says} */\n#define {upper}_PARALLEL_FROM {from}u\n"),
            Emit::Go => {
                format!("// {camel}ParallelFrom: {says}.\nconst {camel}ParallelFrom = {from}\n")
            }
        };
    }
    text
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constants() -> Constants {
        let tuned = Tuned {
            parallel_from: 24_576,
            unit: "elements".to_owned(),
            case: "softmax:f32[b=1,s=48,d=512]".to_owned(),
            axis: "s".to_owned(),
            between: Some((40, 48)),
            kernels: ["native/simd@avx512".to_owned(), "native/parallel@avx512".to_owned()],
            threads: 2,
            run: "r".to_owned(),
        };
        let ops = [("log_softmax".to_owned(), tuned)].into();
        Constants { format: FORMAT, processor: "Z80 */".to_owned(), ops, ..Constants::default() }
    }

    #[test]
    fn a_file_reads_back_and_another_version_is_refused() {
        let constants = constants();
        let text = write_constants(&constants);
        assert_eq!(read_constants(&text).unwrap(), constants, "{text}");
        assert!(read_constants(&text.replace("format = 1", "format = 9")).is_err());
        assert!(read_constants(&text.replace("log_softmax", "log_softmaxx")).is_err());
        assert!(read_constants(&text.replace("24576", "0")).is_err());
        assert!(read_constants("nonsense").is_err());
        assert_eq!(constants.pairs(), [("log_softmax".to_owned(), 24_576)]);
    }

    #[test]
    fn snippets_are_constants_of_their_language() {
        let constants = constants();
        let rust = snippet(&constants, Emit::Rust);
        assert!(rust.contains("pub const LOG_SOFTMAX_PARALLEL_FROM: usize = 24576;"), "{rust}");
        let c = snippet(&constants, Emit::C);
        assert!(c.contains("#define LOG_SOFTMAX_PARALLEL_FROM 24576u"), "{c}");
        let go = snippet(&constants, Emit::Go);
        assert!(go.contains("const LogSoftmaxParallelFrom = 24576"), "{go}");
        assert!(!rust.contains("Z80 */"));
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01T00:00:00Z");
    }
}
