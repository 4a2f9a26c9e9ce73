//! Waiting until the machine is quiet, for a bounded time; it is never a reason not to race.

use proofmark_machine::Activity;
use proofmark_schema::conditions::Quiet;

/// Shares of a sample up to which the machine is quiet: tasks waiting, time stolen, time used by
/// others.
const MOST_PRESSURE: f64 = 0.10;
const MOST_STEAL: f64 = 0.01;
const MOST_BUSY: f64 = 0.10;

/// Waits until a sample is quiet or so much time has passed; nothing if no time is given.
pub(crate) fn await_quiet(most_ns: u64, sample: &mut dyn FnMut() -> Activity) -> Option<Quiet> {
    if most_ns == 0 {
        return None;
    }
    let mut waited_seconds = 0.0;
    loop {
        let Activity { seconds, pressure, steal, busy } = sample();
        // A sample without length would make the wait endless.
        waited_seconds += seconds.max(1e-3);
        let is_quiet =
            pressure.unwrap_or(0.0) <= MOST_PRESSURE && steal <= MOST_STEAL && busy <= MOST_BUSY;
        if is_quiet || waited_seconds * 1e9 >= most_ns as f64 {
            return Some(Quiet { is_quiet, waited_seconds, pressure, steal, busy });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine whose activity follows a script, on virtual time.
    fn wait(most_ns: u64, script: fn(now: f64) -> Activity) -> (Option<Quiet>, f64) {
        let mut now = 0.0;
        let quiet = await_quiet(most_ns, &mut || {
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
    fn nobody_waits_where_no_time_is_given() {
        assert_eq!(wait(0, |_| Activity::default()), (None, 0.0));
    }
}
