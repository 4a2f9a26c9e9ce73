//! Tuned constants as a file that programs read at start, and as source in other languages.

use crate::EngineError;
use proofmark_analyze::{Among, Answer, Choice, Crossing};
use proofmark_ops::tuning::{self, Blocks, Chosen, Settings};
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
    #[serde(default)]
    pub ops: BTreeMap<String, Tuned>,
    /// Blocks of products, where others than the built-in ones were chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<TunedBlocks>,
    /// Kernels of cases, where others than the built-in ones were chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<TunedKernel>,
}

/// Blocks and where they come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunedBlocks {
    /// Terms that are summed in registers.
    pub kc: usize,
    /// Rows of a packed block of the left operand.
    pub mc: usize,
    /// Columns of a packed block of the right operand.
    pub nc: usize,
    /// The case that they were searched on.
    pub case: String,
    /// Threads.
    pub threads: usize,
    /// The run that keeps the races.
    pub run: String,
}

/// The kernel of a case and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunedKernel {
    /// The case.
    pub case: String,
    /// Threads.
    pub threads: usize,
    /// The kernel's name.
    pub kernel: String,
    /// The run that keeps the races.
    pub run: String,
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
    tuning::unit(op).unwrap_or("elements")
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
            blocks: None,
            kernels: Vec::new(),
        }
    }

    /// Whether nothing was tuned.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty() && self.blocks.is_none() && self.kernels.is_empty()
    }

    /// Adds what a choice says, if it says anything; what it says against an older one holds.
    pub fn choose(&mut self, choice: &Choice) {
        let (case, threads, run) = (choice.case.to_string(), choice.threads, choice.run.clone());
        match choice.among {
            Among::Kernels => {
                self.kernels.retain(|old| (&old.case, old.threads) != (&case, threads));
                if choice.is_new() {
                    let kernel = choice.chosen.clone();
                    self.kernels.push(TunedKernel { case, threads, kernel, run });
                }
            }
            Among::Blocks => {
                let blocks = choice.chosen.parse().ok().filter(|_| choice.is_new());
                self.blocks = blocks.map(|Blocks { kc, mc, nc }| TunedBlocks {
                    kc,
                    mc,
                    nc,
                    case,
                    threads,
                    run,
                });
            }
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
    ///
    /// # Errors
    /// If a case cannot be read.
    pub fn settings(&self) -> Result<Settings, EngineError> {
        let chosen = |tuned: &TunedKernel| {
            let case = tuned.case.parse().map_err(EngineError::from)?;
            Ok(Chosen { case, threads: tuned.threads, kernel: tuned.kernel.clone() })
        };
        let blocks = self.blocks.as_ref();
        Ok(Settings {
            parts: self.ops.iter().map(|(op, tuned)| (op.clone(), tuned.parallel_from)).collect(),
            blocks: blocks.map(|&TunedBlocks { kc, mc, nc, .. }| Blocks { kc, mc, nc }),
            choices: self.kernels.iter().map(chosen).collect::<Result<_, EngineError>>()?,
        })
    }
}

/// Puts constants in force in this process.
///
/// # Errors
/// If a value means nothing here, or some are in force already.
pub fn set_constants(settings: Settings) -> Result<(), EngineError> {
    tuning::set(settings).map_err(|error| EngineError::Tuning(error.to_string()))
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
    tuning::check(&constants.settings()?)
        .map_err(|error| EngineError::Tuning(error.to_string()))?;
    Ok(constants)
}

/// The text of a file of constants.
pub fn write_constants(constants: &Constants) -> String {
    let body = toml::to_string(constants).expect("constants are tables of text and numbers");
    format!(
        "# Written by `proofmark tune` and `proofmark choose`: from which size of a thread's part on \
         a\n# second thread is woken, blocks of products, kernels of cases.\n# In force with PROOFMARK_TUNING=<this file>, or proofmark_ops::tuning::set.\n\
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
    if let Some(TunedBlocks { kc, mc, nc, case, threads, .. }) = &constants.blocks {
        let says = format!("Blocks of products; {case}, {threads} threads");
        let names = [("KC", "Kc", kc), ("MC", "Mc", mc), ("NC", "Nc", nc)];
        text += &names
            .map(|(upper, camel, size)| match language {
                Emit::Rust => format!("/// {says}.\npub const BLOCK_{upper}: usize = {size};\n"),
                Emit::C => format!("/* {says} */\n#define BLOCK_{upper} {size}u\n"),
                Emit::Go => format!("// Block{camel}: {says}.\nconst Block{camel} = {size}\n"),
            })
            .concat();
    }
    for TunedKernel { case, threads, kernel, .. } in &constants.kernels {
        text += &format!("// {case}, {threads} threads: {kernel}\n");
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
        let (run, threads) = ("r".to_owned(), 1);
        let case = "matmul:f32[b=1,m=64,n=64,k=64]".to_owned();
        let blocks = TunedBlocks { kc: 384, mc: 252, nc: 768, case, threads, run };
        let kernel = TunedKernel {
            case: "conv2d:f32[b=1,c=8]".to_owned(),
            threads,
            kernel: "winograd".to_owned(),
            run: "r".to_owned(),
        };
        Constants {
            format: FORMAT,
            processor: "Z80 */".to_owned(),
            ops: [("log_softmax".to_owned(), tuned)].into(),
            blocks: Some(blocks),
            kernels: vec![kernel],
            ..Constants::default()
        }
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
        assert!(read_constants(&text.replace("kc = 384", "kc = 3")).is_err());
        assert!(read_constants(&text.replace("winograd", "winograt")).is_err());
        assert!(read_constants(&text.replace("conv2d:f32", "conv2d:g32")).is_err());
        let settings = constants.settings().unwrap();
        assert_eq!(settings.parts, [("log_softmax".to_owned(), 24_576)]);
        assert_eq!(settings.blocks, Some(Blocks { kc: 384, mc: 252, nc: 768 }));
        assert_eq!(settings.choices[0].kernel, "winograd");
    }

    #[test]
    fn a_choice_replaces_the_older_one_and_the_built_in_one_needs_no_line() {
        let choice = |among, chosen: &str| Choice {
            case: "matmul:f32[b=1,m=64,n=64,k=64]".parse().unwrap(),
            threads: 1,
            among,
            built_in: "kc=256,mc=126,nc=768".to_owned(),
            chosen: chosen.to_owned(),
            search: Vec::new(),
            check: Vec::new(),
            refused: Vec::new(),
            alpha: 0.01,
            run: "r".to_owned(),
            made: 1,
            is_cached: false,
        };
        let mut constants = Constants::default();
        constants.choose(&choice(Among::Blocks, "kc=384,mc=126,nc=768"));
        assert_eq!(constants.blocks.as_ref().map(|blocks| blocks.kc), Some(384));
        constants.choose(&choice(Among::Blocks, "kc=256,mc=126,nc=768"));
        assert!(constants.is_empty());
        for kernel in ["simd", "scalar"] {
            constants.choose(&choice(Among::Kernels, kernel));
        }
        let kernels: Vec<&str> = constants.kernels.iter().map(|it| it.kernel.as_str()).collect();
        assert_eq!(kernels, ["scalar"]);
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
        assert!(rust.contains("pub const BLOCK_KC: usize = 384;"), "{rust}");
        assert!(
            c.contains("#define BLOCK_MC 252u") && go.contains("const BlockNc = 768"),
            "{c}{go}"
        );
        assert!(c.contains("// conv2d:f32[b=1,c=8], 1 threads: winograd"), "{c}");
        assert!(!rust.contains("Z80 */"));
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01T00:00:00Z");
    }
}
