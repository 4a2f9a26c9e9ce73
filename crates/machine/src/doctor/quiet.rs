//! Checks of what else the machine is doing right now.

use super::Check;
use crate::facts;
use proofmark_schema::quantity::{Bytes, three_digits};

/// Waiting share of the last 10 s above which races take visibly more trials.
const BUSY_PRESSURE: f64 = 0.05;
/// Stolen share since boot above which the machine counts as overcommitted.
const MUCH_STEAL: f64 = 0.02;
/// Operands of large cases, their copies and the oracle's values fit into this.
const ENOUGH_MEMORY: u64 = 1 << 30;

const HINT: &str = "end other programs, or wait; `top` shows them";

pub(super) fn load() -> Check {
    let (average, cpus) = (crate::load().average, facts::cpus().len());
    let detail = format!("load average {average:.2} on {cpus} processors");
    // A busy machine is never unfit: noise costs more trials but does not falsify results.
    if average > cpus as f64 {
        Check::warning("load", format!("{detail}: more work than processors"), HINT)
    } else if average > 0.5 * cpus as f64 {
        Check::warning("load", detail, HINT)
    } else {
        Check::fine("load", detail)
    }
}

pub(super) fn pressure() -> Check {
    let share = crate::load().pressure;
    let detail = format!("something waited for a processor {} of the last 10 s", percent(share));
    if share > BUSY_PRESSURE {
        Check::warning("pressure", detail, HINT)
    } else {
        Check::fine("pressure", detail)
    }
}

pub(super) fn steal() -> Check {
    let share = crate::load().steal;
    let detail = format!("{} of processor time stolen since boot", percent(share));
    if share > MUCH_STEAL {
        let hint = "the host is overcommitted: use a dedicated machine, or expect more trials";
        Check::warning("steal", detail, hint)
    } else {
        Check::fine("steal", detail)
    }
}

pub(super) fn free_memory() -> Check {
    let free = crate::load().available_bytes;
    let detail = format!("{} available", Bytes(free));
    if free < ENOUGH_MEMORY {
        Check::warning("memory", detail, "large cases will be skipped; end other programs")
    } else {
        Check::fine("memory", detail)
    }
}

fn percent(share: f64) -> String {
    format!("{} %", three_digits(100.0 * share))
}
