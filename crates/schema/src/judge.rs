//! What `selftest judge` plants, and what became of it.

use crate::Isolation;
use serde::{Deserialize, Serialize};

/// What a specimen does that a right kernel does not; the letters are those of the fault matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A: it leaves outputs out, stale or made up.
    Output,
    /// B: it replays results instead of computing them.
    Replay,
    /// C: it works while the clock stands still, or on processors that are not its own.
    Time,
    /// D: it looks at the harness.
    Harness,
    /// E: it computes with less precision than it promises.
    Numerics,
    /// F: it touches memory that is not its own.
    Memory,
    /// G: it leaves the state of the processor or of the process changed.
    State,
    /// H: it crashes, hangs or takes all there is.
    Resource,
    /// I: its results do not repeat.
    Determinism,
    /// Nothing: it is honest.
    Honest,
}

impl Class {
    /// The word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Class::Output => "output",
            Class::Replay => "replay",
            Class::Time => "time",
            Class::Harness => "harness",
            Class::Numerics => "numerics",
            Class::Memory => "memory",
            Class::State => "state",
            Class::Resource => "resource",
            Class::Determinism => "determinism",
            Class::Honest => "honest",
        }
    }
}

/// What a specimen is planted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It looks faster than its honest twin by not doing the work. No cheat may win.
    Cheat {
        /// Whether it reads or changes what the harness keeps in the worker's own process. The race
        /// promises to hold against that only at T3. At lower levels such a cheat is shown and not
        /// counted.
        attacks: bool,
    },
    /// It is broken in a way that must be named; it has no gain that could win.
    Fault,
    /// It is unusual and right, and must not be accused.
    Honest,
}

/// What a run of a specimen amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// A cheat: a clean outcome, and more than a tenth faster than its twin.
    Win,
    /// A cheat or a fault was refused, caught, crashed, timed out, or published with a note.
    Named,
    /// A cheat has a clean outcome and gains nothing by what it does.
    NoGain,
    /// A fault has a clean outcome.
    Unnamed,
    /// An honest kernel was proven and raced.
    Passed,
    /// An honest kernel was refused or caught.
    Accused,
    /// The race of an honest kernel ended undecided.
    Undecided,
}

impl Mark {
    /// The word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Mark::Win => "WINS",
            Mark::Named => "named",
            Mark::NoGain => "no gain",
            Mark::Unnamed => "unnamed",
            Mark::Passed => "passed",
            Mark::Accused => "ACCUSED",
            Mark::Undecided => "undecided",
        }
    }

    /// How much it matters, greatest first.
    pub fn rank(self) -> u8 {
        match self {
            Mark::Win => 4,
            Mark::Accused => 3,
            Mark::Undecided => 2,
            Mark::Unnamed => 1,
            Mark::NoGain | Mark::Named | Mark::Passed => 0,
        }
    }
}

/// One run of a specimen through the gate and a race with its twin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedRun {
    /// The op.
    pub op: String,
    /// The specimen, or the id of a shipped kernel or peer.
    pub specimen: String,
    /// What it does.
    pub class: Class,
    /// What it is planted for.
    pub kind: Kind,
    /// The case.
    pub case: String,
    /// Threads it was given.
    pub threads: usize,
    /// Which of the runs of its kind, from 0.
    pub run: usize,
    /// Busy threads during it.
    pub load: usize,
    /// The level of isolation; older records do not say.
    #[serde(default)]
    pub isolation: Isolation,
    /// What it amounts to.
    pub mark: Mark,
    /// The outcome in a word: that of the gate, or of the race.
    pub outcome: String,
    /// Time of its twin over its own; none where no race ended.
    pub ratio: Option<f64>,
    /// What named it, in words; empty if nothing did.
    pub words: String,
    /// Seconds that proof and race took.
    pub seconds: f64,
}

impl JudgedRun {
    /// Whether it counts: the race promises to hold against it.
    pub fn is_counted(&self) -> bool {
        self.kind != Kind::Cheat { attacks: true } || self.isolation == Isolation::T3
    }
}

/// Counts over the runs of cheats and faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheatCounts {
    /// Specimens that were planted, each counted once for each op.
    pub planted: usize,
    /// Runs.
    pub runs: usize,
    /// Runs that a cheat won.
    pub wins: usize,
    /// Runs in which it was named.
    pub named: usize,
}

/// Counts over the runs of honest kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HonestCounts {
    /// Kernels, each counted once for each op.
    pub kernels: usize,
    /// Runs.
    pub runs: usize,
    /// Runs in which one was accused.
    pub accused: usize,
    /// Runs that ended undecided.
    pub undecided: usize,
}

/// Both rates of a self-test of the judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgeCounts {
    /// Cheats that count, and faults.
    pub cheats: CheatCounts,
    /// Honest kernels.
    pub honest: HonestCounts,
}

impl JudgeCounts {
    /// Counts runs. Cheats that attack the harness are left out below T3.
    pub fn of(runs: &[JudgedRun]) -> JudgeCounts {
        let (mut cheats, mut honest) = (CheatCounts::default(), HonestCounts::default());
        let mut seen = std::collections::BTreeSet::new();
        for run in runs.iter().filter(|run| run.is_counted()) {
            let is_first = usize::from(seen.insert((&run.op, &run.specimen)));
            let is = |mark: Mark| usize::from(run.mark == mark);
            if run.kind == Kind::Honest {
                honest.kernels += is_first;
                honest.runs += 1;
                honest.accused += is(Mark::Accused);
                honest.undecided += is(Mark::Undecided);
            } else {
                cheats.planted += is_first;
                cheats.runs += 1;
                cheats.wins += is(Mark::Win);
                cheats.named += is(Mark::Named);
            }
        }
        JudgeCounts { cheats, honest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(specimen: &str, kind: Kind, mark: Mark) -> JudgedRun {
        JudgedRun {
            op: "softmax".to_owned(),
            specimen: specimen.to_owned(),
            class: Class::Output,
            kind,
            case: "softmax:f32[b=1,s=1,d=8]".to_owned(),
            threads: 1,
            run: 0,
            load: 0,
            isolation: Isolation::T1,
            mark,
            outcome: "PROVEN".to_owned(),
            ratio: None,
            words: String::new(),
            seconds: 0.5,
        }
    }

    #[test]
    fn runs_are_counted_and_specimens_once() {
        let cheat = Kind::Cheat { attacks: false };
        let counts = JudgeCounts::of(&[
            run("noop", cheat, Mark::Named),
            run("noop", cheat, Mark::Win),
            run("segv", Kind::Fault, Mark::Unnamed),
            run("plain", Kind::Honest, Mark::Accused),
            run("plain", Kind::Honest, Mark::Undecided),
        ]);
        assert_eq!(counts.cheats, CheatCounts { planted: 2, runs: 3, wins: 1, named: 1 });
        let honest = HonestCounts { kernels: 1, runs: 2, accused: 1, undecided: 1 };
        assert_eq!(counts.honest, honest);
    }

    #[test]
    fn a_cheat_that_attacks_the_harness_counts_at_t3() {
        let attack = run("x", Kind::Cheat { attacks: true }, Mark::Win);
        for isolation in [Isolation::Unstated, Isolation::T1, Isolation::T2] {
            let below = JudgedRun { isolation, ..attack.clone() };
            assert_eq!(JudgeCounts::of(&[below]), JudgeCounts::default());
        }
        let at_t3 = JudgedRun { isolation: Isolation::T3, ..attack };
        assert_eq!(JudgeCounts::of(&[at_t3]).cheats.wins, 1);
    }
}
