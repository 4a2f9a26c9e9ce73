//! What other processes do on this machine while this one sleeps.

use crate::clock::seconds_of;
use crate::kernel_text::{pressure_total_us, processor_ticks, read};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Length of a sample: ten ticks of the kernel's count.
const SAMPLE: Duration = Duration::from_millis(100);
/// Ticks of `/proc/stat` in a second, on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// What happened during one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Activity {
    /// Length of the sample.
    pub seconds: f64,
    /// Share of it in which some task waited for a processor; `None` if the kernel does not say.
    pub pressure: Option<f64>,
    /// Share of all processors' time that the hypervisor stole.
    pub steal: f64,
    /// Share of all processors' time that other processes used.
    pub busy: f64,
}

/// Sleeps for a tenth of a second and reports what other processes did meanwhile.
///
/// The pressure is measured over the sample. The kernel's average over ten seconds would include
/// what the caller itself did before.
pub fn activity() -> Activity {
    let ticks = || read("/proc/stat").and_then(|text| processor_ticks(&text)).unwrap_or_default();
    let waited = || read("/proc/pressure/cpu").and_then(|text| pressure_total_us(&text));
    let (before, waited_before, own) = (ticks(), waited(), own_seconds());
    let seconds = seconds_of(|| std::thread::sleep(SAMPLE));
    let (after, waited_after, own) = (ticks(), waited(), own_seconds() - own);
    let since = |later: u64, earlier: u64| later.saturating_sub(earlier) as f64;
    let total = since(after.total, before.total).max(1.0);
    let pressure = waited_after
        .zip(waited_before)
        .map(|(later, earlier)| (since(later, earlier) / 1e6 / seconds).clamp(0.0, 1.0));
    let used = since(after.busy, before.busy) - own * TICKS_PER_SECOND;
    Activity {
        seconds,
        pressure,
        steal: since(after.steal, before.steal) / total,
        busy: (used / total).max(0.0),
    }
}

/// Counts how much of the processors' time a hypervisor steals, from now on.
#[derive(Clone, Copy, Debug)]
pub struct StealWatch {
    total: u64,
    steal: u64,
}

impl StealWatch {
    /// Starts to count.
    pub fn start() -> StealWatch {
        let ticks = read("/proc/stat").and_then(|text| processor_ticks(&text)).unwrap_or_default();
        StealWatch { total: ticks.total, steal: ticks.steal }
    }

    /// The share of all processors' time that was stolen since the start. The kernel counts in
    /// ticks of 10 ms: over less than a second it is a guess.
    pub fn share(&self) -> f64 {
        let now = StealWatch::start();
        let total = now.total.saturating_sub(self.total).max(1);
        now.steal.saturating_sub(self.steal) as f64 / total as f64
    }
}

/// Processor time of this process.
fn own_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_sample_is_made_of_shares() {
        let activity = super::activity();
        assert!(activity.seconds > 0.0);
        for share in [activity.pressure.unwrap_or(0.0), activity.steal, activity.busy] {
            assert!((0.0..=1.0).contains(&share), "{activity:?}");
        }
    }
}
