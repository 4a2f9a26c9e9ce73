//! How a worker ended before its work was done: cause, place and phase.

use crate::wire;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Why a worker ended. In files it is the text that [`fmt::Display`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Cause {
    /// The process exited with this code: `exit 3`.
    Exit(i32),
    /// A signal of this number ended the process: `SIGSEGV`, or `signal 34` if it has no name here.
    Signal(i32),
    /// It needed more memory than the limit: `memory`.
    Memory,
    /// It used more processor time than the limit: `cpu time`.
    CpuTime,
    /// It took longer than the limit: `wall time`.
    WallTime,
    /// It stopped making calls: `no progress`.
    NoProgress,
    /// It closed its socket: `no answer`.
    NoAnswer,
    /// Its answer is not a message: `unreadable answer`.
    UnreadableAnswer,
    /// Its answer does not belong to the question: `answer to another question`.
    OtherAnswer,
}

/// The causes whose text is fixed.
const FIXED: [Cause; 7] = [
    Cause::Memory,
    Cause::CpuTime,
    Cause::WallTime,
    Cause::NoProgress,
    Cause::NoAnswer,
    Cause::UnreadableAnswer,
    Cause::OtherAnswer,
];

/// The signals that end a process by a fault or a limit, with their numbers on Linux.
const SIGNALS: [(i32, &str); 12] = [
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (15, "SIGTERM"),
    (24, "SIGXCPU"),
    (25, "SIGXFSZ"),
    (31, "SIGSYS"),
];

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::Exit(code) => return write!(f, "exit {code}"),
            Cause::Signal(number) => match SIGNALS.iter().find(|(known, _)| known == number) {
                Some((_, name)) => name,
                None => return write!(f, "signal {number}"),
            },
            Cause::Memory => "memory",
            Cause::CpuTime => "cpu time",
            Cause::WallTime => "wall time",
            Cause::NoProgress => "no progress",
            Cause::NoAnswer => "no answer",
            Cause::UnreadableAnswer => "unreadable answer",
            Cause::OtherAnswer => "answer to another question",
        })
    }
}

/// A text that is no cause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no cause of a crash")]
pub struct ParseCauseError(pub String);

impl FromStr for Cause {
    type Err = ParseCauseError;

    fn from_str(text: &str) -> Result<Cause, ParseCauseError> {
        let fixed = FIXED.into_iter().find(|cause| cause.to_string() == text);
        let named = || SIGNALS.iter().find(|(_, name)| *name == text).map(|&(of, _)| of);
        let numbered = |word: &str| text.strip_prefix(word)?.strip_prefix(' ')?.parse().ok();
        fixed
            .or_else(|| named().or_else(|| numbered("signal")).map(Cause::Signal))
            .or_else(|| numbered("exit").map(Cause::Exit))
            .ok_or_else(|| ParseCauseError(text.to_owned()))
    }
}

impl From<Cause> for String {
    fn from(cause: Cause) -> String {
        cause.to_string()
    }
}

impl TryFrom<String> for Cause {
    type Error = ParseCauseError;

    fn try_from(text: String) -> Result<Cause, ParseCauseError> {
        text.parse()
    }
}

/// What a worker did when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It waited for the next command. Older records have `rest` too, for the wait after a batch.
    #[serde(alias = "rest")]
    Idle,
    /// It loaded the contender.
    Load,
    /// It packed weights.
    Prepare,
    /// It was inside the kernel.
    Call,
    /// The clock had stopped, and results that lie elsewhere came into the outputs.
    Settle,
}

impl Phase {
    /// The phase of a number on the hand-over page; a number that means nothing is `Idle`.
    pub fn of(number: u32) -> Phase {
        match number {
            wire::phase::LOAD => Phase::Load,
            wire::phase::PREPARE => Phase::Prepare,
            wire::phase::CALL => Phase::Call,
            wire::phase::SETTLE => Phase::Settle,
            _ => Phase::Idle,
        }
    }

    /// The word in crash reports.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Idle => "idle",
            Phase::Load => "load",
            Phase::Prepare => "prepare",
            Phase::Call => "call",
            Phase::Settle => "settle",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How a worker died, with the fault address named as a tensor and an offset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crash {
    /// Why it ended.
    pub cause: Cause,
    /// `c+16384 (first byte past the end)`, where the address lies in or next to an operand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The raw fault address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    /// What it did at that moment.
    pub phase: Phase,
    /// Which call of the batch, from 0.
    pub call: u32,
    /// The end of what the worker printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_is_the_text_that_older_records_have_and_parses_back() {
        for (text, cause) in [
            ("memory", Cause::Memory),
            ("cpu time", Cause::CpuTime),
            ("wall time", Cause::WallTime),
            ("no progress", Cause::NoProgress),
            ("no answer", Cause::NoAnswer),
            ("unreadable answer", Cause::UnreadableAnswer),
            ("answer to another question", Cause::OtherAnswer),
            ("exit 3", Cause::Exit(3)),
            ("SIGSEGV", Cause::Signal(11)),
            ("SIGBUS", Cause::Signal(7)),
            ("signal 34", Cause::Signal(34)),
        ] {
            assert_eq!(cause.to_string(), text);
            assert_eq!(text.parse(), Ok(cause));
        }
        for text in ["", "SIGSEGVx", "exit", "exit three", "signal", "cpu  time"] {
            assert!(text.parse::<Cause>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_crash_of_an_older_record_is_read_and_written_alike() {
        let old = r#"{"cause":"cpu time","phase":"call","call":3,"output":"x"}"#;
        let crash: Crash = serde_json::from_str(old).unwrap();
        assert_eq!((crash.cause, crash.phase, crash.call), (Cause::CpuTime, Phase::Call, 3));
        assert_eq!(serde_json::to_string(&crash).unwrap(), old);
        let rested: Crash = serde_json::from_str(&old.replace("call\",", "rest\",")).unwrap();
        assert_eq!(rested.phase, Phase::Idle);
        for phase in [Phase::Idle, Phase::Load, Phase::Prepare, Phase::Call, Phase::Settle] {
            assert_eq!(serde_json::to_value(phase).unwrap(), phase.name());
        }
    }
}
