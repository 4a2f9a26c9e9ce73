//! What stands between a contender and the supervisor, and what a contender tried against it.

use crate::quantity::Interval;
use crate::race::CallInputs;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What stands between a contender and the supervisor. Later levels are stricter.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Isolation {
    /// Not stated, as in a flat record that was read back; its text is empty.
    #[default]
    #[serde(rename = "")]
    Unstated,
    /// A worker process with guarded operands, and no sandbox.
    T1,
    /// The same in a sandbox: see [`Layer`].
    T2,
    /// The same, and nothing that the worker reports is trusted: the supervisor's clock is the
    /// time, and every call is on inputs that the supervisor has written for it.
    T3,
}

impl Isolation {
    /// The levels that can be asked for.
    pub const ALL: [Isolation; 3] = [Isolation::T1, Isolation::T2, Isolation::T3];

    /// The word in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Isolation::Unstated => "",
            Isolation::T1 => "T1",
            Isolation::T2 => "T2",
            Isolation::T3 => "T3",
        }
    }
}

/// A text that is not a level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a level of isolation: write `t1`, `t2` or `t3`")]
pub struct ParseIsolationError(pub String);

impl FromStr for Isolation {
    type Err = ParseIsolationError;

    fn from_str(text: &str) -> Result<Isolation, ParseIsolationError> {
        let is_meant = |level: &Isolation| level.name().eq_ignore_ascii_case(text);
        let bad = || ParseIsolationError(text.to_owned());
        Isolation::ALL.into_iter().find(is_meant).ok_or_else(bad)
    }
}

/// One layer of a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Landlock: listed files only, no TCP, no signals to processes outside.
    Landlock,
    /// seccomp: listed system calls only; threads, and no processes, programs or sockets.
    SystemCalls,
    /// The worker of root runs as nobody.
    User,
    /// Memory that was writable never becomes code.
    Code,
    /// The environment has only what workers need.
    Environment,
}

impl Layer {
    /// The layer in a list of layers.
    pub fn word(self) -> &'static str {
        match self {
            Layer::Landlock => "Landlock",
            Layer::SystemCalls => "seccomp",
            Layer::User => "user nobody",
            Layer::Code => "no writable code",
            Layer::Environment => "clean environment",
        }
    }

    /// What a machine must have for the layer.
    pub fn describe(self) -> &'static str {
        match self {
            Layer::Landlock => "Landlock with signal scopes (Linux 6.12)",
            Layer::SystemCalls => "seccomp with a listener",
            other => other.word(),
        }
    }
}

/// Something that a contender tried and that the sandbox refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Attempt {
    /// The system call.
    pub call: String,
    /// The file or process that it was meant for, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// It was meant for another process, which no kernel has a use for.
    pub is_attack: bool,
    /// How often it was tried.
    pub times: u32,
}

impl Attempt {
    /// Whether this is the same call on another file of the same folder. An attack is reported
    /// alone.
    fn is_like(&self, other: &Attempt) -> bool {
        let folder = |attempt: &Attempt| {
            let target = attempt.target.as_deref()?;
            Some(target.rsplit_once('/')?.0.to_owned())
        };
        let are_attacks = self.is_attack || other.is_attack;
        !are_attacks
            && self.call == other.call
            && folder(self).is_some_and(|of_self| folder(other) == Some(of_self))
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.call)?;
        if let Some(target) = &self.target {
            write!(f, " on {target}")?;
        }
        match self.times {
            0 | 1 => Ok(()),
            times => write!(f, " ({times} times)"),
        }
    }
}

/// What became of one way out of the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriedEscape {
    /// Its name.
    pub name: String,
    /// What it does, in one sentence.
    pub what: String,
    /// Whether it is open in a worker without a sandbox.
    pub is_open_without: bool,
    /// Whether it is open in the sandbox.
    pub is_open: bool,
    /// The name under which the sandbox must report it.
    pub reported_as: String,
    /// What the sandbox reported.
    pub reports: Vec<Attempt>,
}

impl TriedEscape {
    /// Whether the sandbox reported it under its name.
    pub fn is_reported(&self) -> bool {
        self.reports.iter().any(|report| report.call == self.reported_as)
    }
}

/// What a level costs: the same kernel at T1 and at that level in one race. T1 against itself is
/// the control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SandboxCost {
    /// The case.
    pub case: String,
    /// Threads.
    pub threads: usize,
    /// The level.
    pub level: Isolation,
    /// Time at that level over time at T1, with its interval.
    pub ratio: Interval,
    /// Trials of the race.
    pub trials: u32,
    /// What calls found in their inputs. Calls on fresh inputs are timed alone, so calls of several
    /// threads pay for waking these up; older records do not say.
    #[serde(default)]
    pub inputs: CallInputs,
}

/// How long a worker takes to start, in milliseconds: medians of starts that took turns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartCost {
    /// Without a sandbox.
    pub t1_ms: f64,
    /// In one.
    pub t2_ms: f64,
}

/// How a contender was confined while it was proven.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// The level.
    pub level: Isolation,
    /// The layers of its sandbox.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
    /// What it tried and the sandbox refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
}

impl Confinement {
    /// The level with its layers, as a note under a table has it.
    pub fn describe(&self) -> String {
        let layers: Vec<&str> = self.layers.iter().map(|layer| layer.word()).collect();
        match layers.is_empty() {
            true => self.level.name().to_owned(),
            false => format!("{} ({})", self.level.name(), layers.join(", ")),
        }
    }

    /// What it tried, in one line; none where it tried nothing. Attempts on several files of a
    /// folder are reported once, because some libraries try one name after the other.
    pub fn tried(&self) -> Option<String> {
        let mut told: Vec<(&Attempt, usize)> = Vec::new();
        for attempt in &self.attempts {
            let alike = told.iter_mut().find(|(first, _)| attempt.is_like(first));
            match alike {
                Some((_, others)) => *others += 1,
                None => told.push((attempt, 0)),
            }
        }
        let told: Vec<String> = told
            .into_iter()
            .map(|(attempt, others)| match others {
                0 => attempt.to_string(),
                1 => format!("{attempt} and on another file there"),
                _ => format!("{attempt} and on {others} other files there"),
            })
            .collect();
        (!told.is_empty()).then(|| told.join(", "))
    }

    /// The first thing that it tried on another process.
    pub fn attack(&self) -> Option<&Attempt> {
        self.attempts.iter().find(|attempt| attempt.is_attack)
    }

    /// Whether the proof is older than levels of isolation.
    pub fn is_unstated(&self) -> bool {
        self.level == Isolation::Unstated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn isolation_is_the_text_that_older_records_have() {
        for isolation in Isolation::ALL.into_iter().chain([Isolation::Unstated]) {
            assert_eq!(serde_json::to_value(isolation).unwrap(), isolation.name());
        }
        assert_eq!(serde_json::from_str::<Isolation>("\"T1\"").unwrap(), Isolation::T1);
    }

    #[test]
    fn levels_are_read_in_any_case_and_later_ones_are_stricter() {
        assert_eq!("t2".parse(), Ok(Isolation::T2));
        assert_eq!("T1".parse(), Ok(Isolation::T1));
        assert!("".parse::<Isolation>().is_err() && "t9".parse::<Isolation>().is_err());
        assert!(Isolation::T1 < Isolation::T2 && Isolation::T2 < Isolation::T3);
    }

    #[test]
    fn attempts_are_told_in_few_words() {
        let mut tried = Attempt {
            call: "openat".to_owned(),
            target: Some("/etc/passwd".to_owned()),
            is_attack: false,
            times: 3,
        };
        assert_eq!(tried.to_string(), "openat on /etc/passwd (3 times)");
        tried = Attempt { target: None, times: 1, ..tried };
        assert_eq!(tried.to_string(), "openat");
    }

    #[test]
    fn attempts_on_files_of_a_folder_are_told_once() {
        let on = |call: &str, target: &str, is_attack| Attempt {
            call: call.to_owned(),
            target: Some(target.to_owned()),
            is_attack,
            times: 1,
        };
        let attempts = vec![
            on("write", "/dev/shm/sem.a", false),
            on("write", "/dev/shm/sem.b", false),
            on("read", "/dev/shm/sem.c", false),
            on("write", "/dev/null", false),
            on("write", "/dev/shm/sem.d", false),
            on("write", "/dev/shm/sem.e", true),
        ];
        let told = Confinement { attempts, ..Confinement::default() }.tried();
        let expected = "write on /dev/shm/sem.a and on 2 other files there, read on \
                        /dev/shm/sem.c, write on /dev/null, write on /dev/shm/sem.e";
        assert_eq!(told.as_deref(), Some(expected));
    }
}
