//! The process that runs a reference: questions in, answers out, arrays in two memory files.

use super::{Python, SERVE_REFERENCE};
use proofmark_contract::NoTruth;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The modules that run in the process. They reach it by its standard input, so that no file has
/// to be written.
pub(crate) const MODULES: &[(&str, &str)] = &[
    ("proofmark_arrays", include_str!("arrays.py")),
    ("proofmark_batch", include_str!("batch.py")),
    ("proofmark_call", include_str!("call.py")),
    ("proofmark_carry", include_str!("carry.py")),
    ("proofmark_facts", include_str!("facts.py")),
    ("proofmark_flaws", include_str!("flaws.py")),
    ("proofmark_flashinfer", include_str!("../format/flashinfer.py")),
    ("proofmark_gate", include_str!("gate.py")),
    ("proofmark_gpu_mode", include_str!("../format/gpu_mode.py")),
    ("proofmark_kernelbench", include_str!("../format/kernelbench.py")),
    ("proofmark_mutate", include_str!("mutate.py")),
    ("proofmark_rules", include_str!("rules.py")),
    ("proofmark_serve", include_str!("serve.py")),
    ("proofmark_sizes", include_str!("../format/sizes.py")),
    ("proofmark_textbook", include_str!("textbook.py")),
];

/// Makes modules of the first line of the standard input, then serves the lines that follow.
const BOOTSTRAP: &str = concat!(include_str!("finder.py"), include_str!("bootstrap.py"));

/// A running reference.
pub(crate) struct Process {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    given: File,
    results: File,
    is_dead: bool,
}

/// An answer: its words, and the numbers in the result file.
pub(super) struct Answer {
    pub(super) json: Value,
    pub(super) values: Vec<f64>,
}

impl Process {
    /// What a problem of another format is: its sizes, operands and results.
    pub(crate) fn describe(python: &Python, question: &Value) -> Result<Value, NoTruth> {
        Process::of_python(python)?.ask(question, &[], 0).map(|answer| answer.json)
    }

    /// Starts an interpreter that knows the modules.
    #[expect(clippy::disallowed_methods, reason = "the reference is no contender: it is the truth")]
    pub(super) fn of_python(python: &Python) -> Result<Process, NoTruth> {
        let mut command = Command::new(&python.program);
        command.arg("-c").arg(BOOTSTRAP);
        command.env("PYTHONDONTWRITEBYTECODE", "1").env("OMP_NUM_THREADS", "1");
        if !python.packages.is_empty() {
            let folders = std::env::join_paths(&python.packages);
            command.env("PYTHONPATH", folders.map_err(|error| failed("packages", &error))?);
        }
        let mut process = Process::start(command)?;
        let modules: Value =
            MODULES.iter().map(|(name, text)| ((*name).to_owned(), json!(text))).collect();
        process.say(&modules)?;
        Ok(process)
    }

    /// Starts this program once more, to open a library.
    #[expect(clippy::disallowed_methods, reason = "the reference is no contender: it is the truth")]
    pub(super) fn of_library() -> Result<Process, NoTruth> {
        let program = std::env::current_exe().map_err(|error| failed("this program", &error))?;
        let mut command = Command::new(program);
        command.arg(SERVE_REFERENCE);
        Process::start(command)
    }

    /// Starts a command with two memory files.
    fn start(mut command: Command) -> Result<Process, NoTruth> {
        let memory = |name: &str| -> Result<OwnedFd, NoTruth> {
            // It outlives the start of the process on purpose.
            memfd_create(name, MemfdFlags::empty()).map_err(|error| failed("memory", &error))
        };
        let (given, results) = (memory("proofmark-inputs")?, memory("proofmark-results")?);
        let path = |file: &OwnedFd| format!("/proc/self/fd/{}", file.as_raw_fd());
        command.arg("--input").arg(path(&given)).arg("--output").arg(path(&results));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child =
            command.spawn().map_err(|error| NoTruth::Absent(format!("{program}: {error}")))?;
        let (Some(questions), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(NoTruth::Failed("its process has no pipes".to_owned()));
        };
        let answers = BufReader::new(answers);
        let (given, results) = (File::from(given), File::from(results));
        Ok(Process { child, questions, answers, given, results, is_dead: false })
    }

    /// Lets it open the reference.
    pub(super) fn open(mut self, opening: &Value) -> Result<Process, NoTruth> {
        self.ask(opening, &[], 0)?;
        Ok(self)
    }

    /// Whether it can answer no more.
    pub(super) fn is_dead(&self) -> bool {
        self.is_dead
    }

    /// Asks a question about these inputs, whose answer has at most this many numbers.
    pub(super) fn ask(
        &mut self,
        question: &Value,
        inputs: &[&[f64]],
        room: usize,
    ) -> Result<Answer, NoTruth> {
        self.hand_over(inputs, room)
            .map_err(|error| NoTruth::Failed(format!("sharing its operands: {error}")))?;
        self.say(question)?;
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        if !matches!(read, Ok(bytes) if bytes > 0) {
            return Err(self.died());
        }
        let json: Value = serde_json::from_str(&line).map_err(|error| {
            self.is_dead = true;
            NoTruth::Failed(format!("its process gave an answer that is no JSON: {error}"))
        })?;
        if let Some(error) = json.get("error") {
            return Err(told(error));
        }
        let mut bytes = vec![0; 8 * room];
        let all = self.results.read_exact_at(&mut bytes, 0);
        all.map_err(|error| NoTruth::Failed(format!("reading its results: {error}")))?;
        let number = |chunk: &[u8]| f64::from_le_bytes(chunk.try_into().unwrap_or_default());
        Ok(Answer { json, values: bytes.chunks_exact(8).map(number).collect() })
    }

    fn hand_over(&mut self, inputs: &[&[f64]], room: usize) -> std::io::Result<()> {
        self.given.write_all_at(&bytes_of(inputs), 0)?;
        ftruncate(&self.results, 8 * room as u64)?;
        Ok(())
    }

    fn say(&mut self, words: &Value) -> Result<(), NoTruth> {
        let line = format!("{words}\n");
        match self.questions.write_all(line.as_bytes()).and_then(|()| self.questions.flush()) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.died()),
        }
    }

    fn died(&mut self) -> NoTruth {
        self.is_dead = true;
        match self.child.wait() {
            Ok(status) => NoTruth::Failed(format!(
                "its process ended with {status}; its own messages are above"
            )),
            Err(error) => NoTruth::Failed(format!("its process is lost: {error}")),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be busy with a question that nothing waits for any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn failed(what: &str, error: &dyn std::fmt::Display) -> NoTruth {
    NoTruth::Failed(format!("{what}: {error}"))
}

/// The numbers one after the other, as the process reads them.
pub(super) fn bytes_of(tensors: &[&[f64]]) -> Vec<u8> {
    let mut bytes = vec![0; 8 * tensors.iter().map(|tensor| tensor.len()).sum::<usize>()];
    let values = tensors.iter().flat_map(|tensor| tensor.iter());
    for (place, value) in bytes.chunks_exact_mut(8).zip(values) {
        place.copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

/// What an error of the process means.
fn told(error: &Value) -> NoTruth {
    let text = error["text"].as_str().unwrap_or("it gave no reason").to_owned();
    match error["kind"].as_str() {
        Some("unknown_primitive") => NoTruth::Underivable(text),
        Some("absent") => NoTruth::Absent(text),
        _ => NoTruth::Failed(text),
    }
}
