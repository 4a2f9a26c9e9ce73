//! Noise regimes: what else runs on the machine, as a child process that cannot outlive the duel.

use std::hint::black_box;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use proofmark_stats::Stream;
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::Failure;

/// No hog runs longer; the next turn starts another.
const BOUND_SECONDS: u64 = 900;

/// Twice this is more than any cache level but the last.
const STREAMED_BYTES: usize = 64 << 20;

/// What else runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Regime {
    /// Nothing of ours.
    Quiet,
    /// Arithmetic on the first processor.
    Alu,
    /// Streaming 64 MiB on the first processor.
    Memory,
    /// Arithmetic for 0.3 s on a random processor, then a pause, exponential with a mean of 1 s.
    Bursty,
    /// Arithmetic on random processors for 0 to 60 % of the time, rising over 30 s, repeating.
    Ramp,
}

const REGIMES: &[(&str, Regime)] = &[
    ("N0", Regime::Quiet),
    ("N1", Regime::Alu),
    ("N2", Regime::Memory),
    ("N3", Regime::Bursty),
    ("N4", Regime::Ramp),
];

impl Regime {
    pub(super) fn parse(name: &str) -> Result<Regime, Failure> {
        let found = REGIMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, regime)| *regime).ok_or_else(|| format!("no regime `{name}`: N0 to N4"))
    }

    pub(super) fn name(self) -> &'static str {
        REGIMES.iter().find(|(_, regime)| *regime == self).map_or("", |(name, _)| name)
    }
}

/// The noise of one stretch; ends with it.
pub(super) struct Noise {
    regime: Regime,
    hog: Option<Child>,
}

impl Noise {
    pub(super) fn new(regime: Regime) -> Noise {
        Noise { regime, hog: None }
    }

    /// Starts the hog if it should run and does not.
    pub(super) fn keep(&mut self) -> Result<(), Failure> {
        let runs = self.hog.as_mut().is_some_and(|hog| matches!(hog.try_wait(), Ok(None)));
        if self.regime == Regime::Quiet || runs {
            return Ok(());
        }
        let failed = |error| format!("the hog did not start: {error}");
        let hog = Command::new(std::env::current_exe().map_err(failed)?)
            .args(["duel", "hog", self.regime.name(), &BOUND_SECONDS.to_string()])
            .spawn()
            .map_err(failed)?;
        self.hog = Some(hog);
        Ok(())
    }
}

impl Drop for Noise {
    fn drop(&mut self) {
        if let Some(hog) = &mut self.hog {
            // Both fail only if it has just ended by itself.
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}

/// Makes noise in this process for so many seconds.
pub(super) fn hog(regime: &str, seconds: &str) -> Result<(), Failure> {
    let regime = Regime::parse(regime)?;
    let seconds: u64 = seconds.parse().map_err(|_| format!("`{seconds}` are no seconds"))?;
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| error.to_string())?;
    let begin = Instant::now();
    let end = begin + Duration::from_secs(seconds.min(BOUND_SECONDS));
    let processors = processors()?;
    let mut random = Stream::new(u64::from(std::process::id()));
    pin(processors[0])?;
    match regime {
        Regime::Quiet => {}
        Regime::Alu => burn(end),
        Regime::Memory => stream(end),
        Regime::Bursty => {
            while Instant::now() < end {
                let pause = -(1.0 - random.uniform()).ln();
                std::thread::sleep(Duration::from_secs_f64(pause));
                pin(processors[random.below(processors.len() as u64) as usize])?;
                burn(Instant::now() + Duration::from_millis(300));
            }
        }
        Regime::Ramp => {
            while Instant::now() < end {
                let duty = 0.6 * (begin.elapsed().as_secs_f64() % 30.0) / 30.0;
                pin(processors[random.below(processors.len() as u64) as usize])?;
                burn(Instant::now() + Duration::from_secs_f64(0.1 * duty));
                std::thread::sleep(Duration::from_secs_f64(0.1 * (1.0 - duty)));
            }
        }
    }
    Ok(())
}

fn burn(end: Instant) {
    let mut random = Stream::new(1);
    while Instant::now() < end {
        for _ in 0..10_000 {
            black_box(random.next_u64());
        }
    }
}

fn stream(end: Instant) {
    let mut words = vec![1_u64; STREAMED_BYTES / size_of::<u64>()];
    while Instant::now() < end {
        for word in &mut words {
            *word = word.wrapping_add(3);
        }
        black_box(&mut words);
    }
}

/// The processors this process may use, ascending.
pub(super) fn processors() -> Result<Vec<usize>, Failure> {
    let set = sched_getaffinity(None).map_err(|error| format!("processors: {error}"))?;
    let usable: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect();
    if usable.is_empty() { Err("no processor may be used".to_owned()) } else { Ok(usable) }
}

fn pin(processor: usize) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    set.set(processor);
    sched_setaffinity(None, &set).map_err(|error| format!("pinning to {processor}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_regime_has_its_name() {
        for (name, regime) in REGIMES {
            assert_eq!((Regime::parse(name), regime.name()), (Ok(*regime), *name));
        }
        assert!(Regime::parse("N5").is_err());
    }
}
