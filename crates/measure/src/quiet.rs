//! Waiting until the machine is quiet, for a bounded time; it is never a reason not to race.

use proofmark_machine::Activity;
use proofmark_schema::conditions::Quiet;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Shares of a sample up to which the machine is quiet: tasks waiting, time stolen, time used by
/// others.
const MOST_PRESSURE: f64 = 0.10;
const MOST_STEAL: f64 = 0.01;
const MOST_BUSY: f64 = 0.10;

/// Each wait in vain divides the next one by this.
const LESS_PATIENT: f64 = 4.0;

/// How many waits in a row were in vain. All races of a process run on one machine, so what one of
/// them learns holds for the next.
static IN_VAIN: AtomicU32 = AtomicU32::new(0);

/// Waits until this machine is quiet, for at most `most_ns`, and returns `None` if that is 0. The
/// wait is shorter if the waits before it were in vain.
pub fn await_quiet(most_ns: u64) -> Option<Quiet> {
    wait(most_ns, &IN_VAIN, &mut proofmark_machine::activity)
}

/// Waits until a sample is quiet or the time has passed.
fn wait(most_ns: u64, in_vain: &AtomicU32, sample: &mut dyn FnMut() -> Activity) -> Option<Quiet> {
    if most_ns == 0 {
        return None;
    }
    let most_ns = most_ns as f64 / LESS_PATIENT.powi(in_vain.load(Relaxed) as i32);
    let mut waited_seconds = 0.0;
    loop {
        let Activity { seconds, pressure, steal, busy } = sample();
        // A sample without length would make the wait endless.
        waited_seconds += seconds.max(1e-3);
        let is_quiet =
            pressure.unwrap_or(0.0) <= MOST_PRESSURE && steal <= MOST_STEAL && busy <= MOST_BUSY;
        if is_quiet || waited_seconds * 1e9 >= most_ns {
            let waits = if is_quiet { 0 } else { in_vain.load(Relaxed) + 1 };
            in_vain.store(waits, Relaxed);
            return Some(Quiet { is_quiet, waited_seconds, pressure, steal, busy });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine whose activity follows a script, on virtual time.
    fn wait(most_ns: u64, script: fn(now: f64) -> Activity) -> (Option<Quiet>, f64) {
        wait_again(most_ns, &AtomicU32::new(0), script)
    }

    /// The same on a machine that earlier waits have met.
    fn wait_again(
        most_ns: u64,
        in_vain: &AtomicU32,
        script: fn(now: f64) -> Activity,
    ) -> (Option<Quiet>, f64) {
        let mut now = 0.0;
        let quiet = super::wait(most_ns, in_vain, &mut || {
            now += 0.1;
            Activity { seconds: 0.1, ..script(now) }
        });
        (quiet, now)
    }

    #[test]
    fn a_quiet_machine_is_waited_for_once() {
        let (quiet, now) = wait(5_000_000_000, |_| Activity { busy: 0.05, ..Activity::default() });
        let quiet = quiet.unwrap();
        assert!(quiet.is_quiet && (now - 0.1).abs() < 1e-9);
        assert!((quiet.waited_seconds - 0.1).abs() < 1e-9);
    }

    #[test]
    fn a_burst_is_waited_out() {
        let burst = |now: f64| Activity {
            pressure: Some(if now < 2.0 { 0.6 } else { 0.02 }),
            ..Activity::default()
        };
        let (quiet, now) = wait(5_000_000_000, burst);
        assert!(quiet.unwrap().is_quiet && (2.0..2.2).contains(&now), "{now}");
    }

    #[test]
    fn a_machine_that_stays_busy_or_stolen_is_called_noisy_with_its_figures() {
        let busy: fn(f64) -> Activity = |_| Activity { busy: 0.5, ..Activity::default() };
        let stolen: fn(f64) -> Activity = |_| Activity { steal: 0.05, ..Activity::default() };
        for script in [busy, stolen] {
            let (quiet, now) = wait(1_000_000_000, script);
            let quiet = quiet.unwrap();
            assert!(!quiet.is_quiet && (0.95..1.15).contains(&now), "{now}");
            assert_eq!((quiet.busy, quiet.steal), (script(0.0).busy, script(0.0).steal));
        }
    }

    #[test]
    fn a_machine_that_is_never_quiet_is_waited_for_less_each_time() {
        let in_vain = AtomicU32::new(0);
        let busy: fn(f64) -> Activity = |_| Activity { busy: 0.5, ..Activity::default() };
        let waits: Vec<f64> = (0..4).map(|_| wait_again(5_000_000_000, &in_vain, busy).1).collect();
        for (waited, most) in waits.iter().zip([5.0, 1.25, 0.32, 0.1]) {
            assert!(*waited < most + 0.15, "{waits:?}");
        }
        let (quiet, _) = wait_again(5_000_000_000, &in_vain, |_| Activity::default());
        assert!(quiet.unwrap().is_quiet);
        let (_, waited) = wait_again(5_000_000_000, &in_vain, busy);
        assert!(waited > 4.9, "a machine that was quiet once is waited for again: {waited}");
    }

    #[test]
    fn no_time_is_spent_where_none_is_given() {
        assert_eq!(wait(0, |_| Activity::default()), (None, 0.0));
    }
}
