//! A race of two programs: blocks of fresh processes in ABBA order until a scheduled look decides.
//!
//! Every process has a layout of its own, so that a trial needs no more than one block. Where
//! processes are short, a trial has several, and its effect is the median of their pairs.

use proofmark_schema::decision::Round;
use proofmark_schema::program::{ProgramRace, ProgramRuling, ProgramSample};
use proofmark_schema::quantity::Interval;
use proofmark_schema::race::Verdict;
use proofmark_stats::{
    Conclusion, Decision, LOOKS_SHORT, Look, Looks, Spending, Stopping, Stream, TimedSlice,
    pair_log_ratios, trial_effect, within_trial_error,
};

/// Share of the time allowed that a race is planned to take.
const SPARED: f64 = 0.8;
/// Processes in a block.
const BLOCK: f64 = 4.0;
/// Maximum number of blocks in a trial.
const MOST_BLOCKS: u32 = 8;

/// What one process gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// Nanoseconds that ratios are made of.
    pub value_ns: f64,
    /// Nanoseconds of the whole process.
    pub wall_ns: u64,
    /// Its processor time.
    pub cpu_ns: u64,
}

/// The two sides of a race.
pub trait Arms {
    /// Why a side gave no sample.
    type Fault;

    /// Runs one process of a side: 0 is the base.
    ///
    /// # Errors
    /// If the process fails.
    fn sample(&mut self, arm: u32) -> Result<Sampled, Self::Fault>;

    /// Nanoseconds of the clock that the time allowed is kept by.
    fn now_ns(&self) -> u64;
}

/// How a race is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Which round it belongs to.
    pub round: Round,
    /// Seed of the orders.
    pub seed: u64,
    /// Time after which no further trial starts, once the first look is reached.
    pub budget_ns: u64,
    /// The time of one process, as a rehearsal showed.
    pub process_ns: f64,
    /// Error rate of the race.
    pub alpha: f64,
    /// Differences below this share are not reported.
    pub report_margin: f64,
    /// Differences below this share are the same.
    pub same_margin: f64,
}

impl Rules {
    /// When the race is looked at, and how many blocks a trial has: as many as fit the time
    /// allowed. Both are fixed before the race, so that the error rate holds. The first look is
    /// always reached, however long it takes.
    pub fn pace(&self) -> (Looks, u32) {
        let fitting = SPARED * self.budget_ns as f64 / (BLOCK * self.process_ns.max(1.0));
        let fitting = fitting.min(f64::from(u32::MAX)) as u32;
        let at: Vec<u32> =
            LOOKS_SHORT.into_iter().filter(|&at| at <= fitting.max(LOOKS_SHORT[0])).collect();
        let looks = Looks::new(at, Spending::Bonferroni).unwrap_or_else(Looks::short);
        let blocks = (fitting / looks.cap()).clamp(1, MOST_BLOCKS);
        (looks, blocks)
    }

    /// Seconds that the race takes if no look before the last decides.
    pub fn longest_seconds(&self) -> f64 {
        let (looks, blocks) = self.pace();
        f64::from(looks.cap()) * f64::from(blocks) * BLOCK * self.process_ns / 1e9
    }

    fn stopping(&self, looks: Looks) -> Stopping {
        let Rules { alpha, report_margin, same_margin, .. } = *self;
        Stopping { looks, alpha, report_margin, same_margin }
    }
}

/// Races two programs until it is decided which is faster, or that they are the same.
///
/// # Errors
/// The first fault of a side.
pub fn race<A: Arms>(name: &str, arms: &mut A, rules: &Rules) -> Result<ProgramRace, A::Fault> {
    let (looks, blocks) = rules.pace();
    let stopping = rules.stopping(looks);
    let start = arms.now_ns();
    let mut stream = Stream::new(rules.seed);
    let mut samples: Vec<ProgramSample> = Vec::new();
    for trial in 0..stopping.looks.cap() {
        for block in 0..blocks {
            let order = if stream.below(2) == 0 { [0, 1, 1, 0] } else { [1, 0, 0, 1] };
            for (position, arm) in order.into_iter().enumerate() {
                let Sampled { value_ns, wall_ns, cpu_ns } = arms.sample(arm)?;
                let position = position as u32;
                let sample =
                    ProgramSample { trial, block, position, arm, value_ns, wall_ns, cpu_ns };
                samples.push(sample);
            }
        }
        let spent = arms.now_ns().saturating_sub(start);
        let has_looked = trial + 1 >= stopping.looks.at()[0];
        if stopping.looks.index_of(trial + 1).is_some() {
            let (effects, within) = trial_values(&samples);
            if matches!(stopping.look(&effects, &within), Look::Stop(_)) {
                break;
            }
        }
        if has_looked && spent >= rules.budget_ns {
            break;
        }
    }
    let seconds = arms.now_ns().saturating_sub(start) as f64 / 1e9;
    let ruling = ruling_of(&samples, rules.round, &stopping, seconds);
    Ok(ProgramRace { name: name.to_owned(), seed: rules.seed, samples, ruling })
}

/// The ruling that samples lead to: the same for the same samples, whenever it is asked.
pub fn ruling_of(
    samples: &[ProgramSample],
    round: Round,
    stopping: &Stopping,
    seconds: f64,
) -> ProgramRuling {
    let (effects, within) = trial_values(samples);
    let concluded: Conclusion = stopping.conclude(&effects, &within);
    let interval = concluded.interval;
    ProgramRuling {
        round,
        ratio: Interval {
            estimate: interval.ratio,
            low: interval.low,
            high: interval.high,
            confidence: concluded.confidence,
        },
        verdict: match concluded.decision {
            Decision::Faster => Verdict::Faster,
            Decision::Slower => Verdict::Slower,
            Decision::Same => Verdict::Same,
            Decision::Undecided => Verdict::Undecided,
        },
        trials: concluded.trials,
        processes: samples.len() as u32,
        looks: stopping.looks.at().to_vec(),
        alpha: stopping.alpha,
        report_margin: stopping.report_margin,
        same_margin: stopping.same_margin,
        undecided_because: concluded.undecided_because.map(str::to_owned),
        detectable: concluded.detectable,
        p_value: concluded.p_value,
        seconds,
    }
}

/// The effects of the trials as log-ratios, and the error within each trial.
fn trial_values(samples: &[ProgramSample]) -> (Vec<f64>, Vec<f64>) {
    let mut values = (Vec::new(), Vec::new());
    for of_trial in samples.chunk_by(|first, second| first.trial == second.trial) {
        let timed: Vec<TimedSlice> = of_trial
            .iter()
            .map(|sample| TimedSlice {
                block: sample.block,
                position: sample.position,
                arm: sample.arm,
                value: sample.value_ns,
            })
            .collect();
        let ratios = pair_log_ratios(&timed, 0, 1);
        if let (Some(effect), Some(error)) = (trial_effect(&ratios), within_trial_error(&ratios)) {
            values.0.push(effect);
            values.1.push(error);
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Programs whose times follow a script, on a clock that only they move.
    struct Scripted {
        stream: Stream,
        noise: f64,
        slower: f64,
        process_ns: f64,
        drift: f64,
        now: Cell<f64>,
        fails_at: Option<usize>,
        count: usize,
    }

    impl Scripted {
        fn new(seed: u64, noise: f64, slower: f64) -> Scripted {
            let stream = Stream::new(seed);
            let (now, process_ns) = (Cell::new(0.0), 2e7);
            Scripted {
                stream,
                noise,
                slower,
                process_ns,
                drift: 0.0,
                now,
                fails_at: None,
                count: 0,
            }
        }
    }

    impl Arms for Scripted {
        type Fault = String;

        fn sample(&mut self, arm: u32) -> Result<Sampled, String> {
            self.count += 1;
            if self.fails_at == Some(self.count) {
                return Err("exit code 3".to_owned());
            }
            let noise = self.noise * self.stream.normal();
            let drift = self.drift * self.count as f64;
            let factor = (f64::from(arm) * self.slower.ln_1p() + noise + drift).exp();
            let ns = self.process_ns * factor;
            self.now.set(self.now.get() + ns);
            Ok(Sampled { value_ns: ns, wall_ns: ns as u64, cpu_ns: ns as u64 })
        }

        fn now_ns(&self) -> u64 {
            self.now.get() as u64
        }
    }

    fn rules(seconds: f64, process_ns: f64) -> Rules {
        Rules {
            round: Round::Screen,
            seed: 7,
            budget_ns: (seconds * 1e9) as u64,
            process_ns,
            alpha: 0.01,
            report_margin: 0.005,
            same_margin: 0.01,
        }
    }

    fn verdict(seed: u64, noise: f64, slower: f64) -> Verdict {
        let rules = Rules { seed, ..rules(30.0, 2e7) };
        race("x", &mut Scripted::new(seed, noise, slower), &rules).unwrap().ruling.verdict
    }

    #[test]
    fn equal_programs_are_not_flagged_and_slower_ones_are_found() {
        let count = |slower: f64, wanted: Verdict| {
            (0..200).filter(|&seed| verdict(seed, 0.03, slower) == wanted).count()
        };
        assert!(count(0.0, Verdict::Slower) + count(0.0, Verdict::Faster) <= 4);
        assert_eq!(count(0.05, Verdict::Slower), 200);
        assert!(count(0.02, Verdict::Slower) >= 160, "{}", count(0.02, Verdict::Slower));
        assert_eq!(count(-0.05, Verdict::Faster), 200);
    }

    #[test]
    fn a_machine_that_becomes_slower_all_the_time_slows_both_sides() {
        for seed in 0..50 {
            let mut arms = Scripted { drift: 1e-3, ..Scripted::new(seed, 0.01, 0.0) };
            let ruling = race("x", &mut arms, &rules(30.0, 2e7)).unwrap().ruling;
            assert_eq!(ruling.verdict, Verdict::Same, "{ruling:?}");
        }
    }

    #[test]
    fn the_pace_fits_the_time_allowed_and_always_reaches_the_first_look() {
        for (process_ns, seconds) in [(1e6, 30.0), (2e7, 30.0), (3e8, 30.0), (3e9, 30.0)] {
            let rules = rules(seconds, process_ns);
            let (looks, blocks) = rules.pace();
            assert!(blocks >= 1 && looks.cap() >= 6);
            let is_long = rules.longest_seconds() > seconds;
            assert_eq!(is_long, process_ns == 3e9, "{process_ns} {looks:?} {blocks}");
        }
    }

    #[test]
    fn a_race_ends_when_its_time_is_over_and_decides_nothing() {
        // A rehearsal that was ten times faster than the race.
        let mut arms = Scripted::new(3, 0.5, 0.0);
        let ruling = race("x", &mut arms, &rules(1.0, 2e6)).unwrap().ruling;
        assert_eq!(ruling.verdict, Verdict::Undecided);
        assert_eq!(ruling.undecided_because.as_deref(), Some("the time allowed ran out"));
        assert!(ruling.trials < 60 && ruling.trials >= 6);
    }

    #[test]
    fn a_fault_ends_the_race_and_the_same_samples_give_the_same_ruling() {
        let mut arms = Scripted { fails_at: Some(9), ..Scripted::new(3, 0.01, 0.0) };
        assert_eq!(race("x", &mut arms, &rules(30.0, 2e7)).unwrap_err(), "exit code 3");
        let rules = rules(30.0, 2e7);
        let raced = race("x", &mut Scripted::new(3, 0.01, 0.0), &rules).unwrap();
        let stopping = rules.stopping(rules.pace().0);
        let again = ruling_of(&raced.samples, Round::Screen, &stopping, raced.ruling.seconds);
        assert_eq!(again, raced.ruling);
    }
}
