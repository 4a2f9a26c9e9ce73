//! The machine's limits: probed, stored, and compared with what was measured.

use crate::{EngineError, Event, Listener};
use proofmark_contract::Entry;
use proofmark_machine::{Ask, Ceilings, Demand, Effort, unix_seconds};
use proofmark_schema::machine::MachineFacts;
use proofmark_schema::probe::Probe;
use proofmark_schema::quantity::Age;
use proofmark_schema::{Cache, Case, Isa};
use proofmark_store::Store;

/// Seconds of rounds of a whole probe; setting it up takes a few more.
const WHOLE: Effort = Effort::Seconds(48.0);
/// The same for a first look.
const QUICK: Effort = Effort::Seconds(3.5);

/// Seconds of a device's probe.
const WHOLE_DEVICE: f64 = 12.0;
const QUICK_DEVICE: f64 = 1.5;

/// Probes this machine with its devices, and keeps what was found. Drivers are opened in this
/// process, so a program that starts workers afterwards must not call this.
///
/// # Errors
/// If the store fails.
pub fn probe_machine(
    store: &Store,
    facts: &MachineFacts,
    is_quick: bool,
) -> Result<Probe, EngineError> {
    let effort = if is_quick { QUICK } else { WHOLE };
    let ask = Ask::everything(facts.cpus.len());
    let mut probe = proofmark_machine::probe(&ask, effort, &facts.fingerprint);
    // Without a driver there is nothing to probe, and nothing is lost.
    if proofmark_opencl::found().is_ok() {
        proofmark_opencl::set_environment();
        let seconds = if is_quick { QUICK_DEVICE } else { WHOLE_DEVICE };
        probe.devices = proofmark_opencl::probe(seconds).map_err(EngineError::DeviceProbe)?;
    }
    store.keep_probe(&probe)?;
    Ok(probe)
}

/// The limits that apply to a run on this machine; tells the listener where they come from.
pub(crate) fn ceilings(
    store: &Store,
    facts: &MachineFacts,
    cap: Isa,
    listener: &dyn Listener,
) -> Ceilings {
    let saved = store.probe(&facts.fingerprint);
    let note = match &saved {
        Ok(Some(probe)) => {
            format!("limits: probe of {} ago", Age(unix_seconds().saturating_sub(probe.made)))
        }
        Ok(None) => {
            "limits: short probe; run `proofmark machine probe` for sharper ones".to_owned()
        }
        Err(error) => {
            format!("limits: short probe, because {error}; run `proofmark machine probe` again")
        }
    };
    listener.hear(&Event::Note(note));
    Ceilings::new(saved.ok().flatten(), cap)
}

/// What a call of a case demands of the machine, given its threads, its caches and the number of
/// operand sets it walks over.
pub(super) fn demand(
    entry: &Entry,
    case: &Case,
    threads: usize,
    cache: Cache,
    sets: u64,
) -> Option<Demand> {
    let signature = entry.op.signature(case).ok()?;
    let work = entry.op.work(case);
    // The working set decides which cache level operands come from, so that the bound is that of
    // this state.
    let working_set = match cache {
        Cache::Hot | Cache::WeightsCold => Some(signature.bytes()),
        Cache::Rotate => Some(signature.bytes() * sets),
        Cache::Cold => None,
    };
    let sums_products = entry.op.sums_products();
    Some(Demand { work, dtype: case.dtype, sums_products, threads, working_set })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn only_products_are_sums_of_products() {
        let others = ["attention", "conv1d", "conv2d", "dot", "gru", "lstm", "spmm", "spmv"];
        for entry in crate::ops() {
            let dtype = entry.op.dtypes()[0];
            let case =
                proofmark_contract::complete_case(entry.op, &Case::new(entry.op.name(), dtype));
            let demand = demand(entry, &case, 1, Cache::Hot, 1).unwrap();
            let name = entry.op.name();
            let is_product = name.starts_with("matmul") || others.contains(&name);
            assert_eq!(demand.sums_products, is_product, "{name}");
        }
    }

    #[test]
    fn states_of_the_caches_change_the_working_set() {
        let entry = crate::find_op("add").unwrap();
        let case: Case = "add:f32[b=1,s=1,d=1000]".parse().unwrap();
        let set = |cache| demand(entry, &case, 1, cache, 5).unwrap().working_set;
        assert_eq!(set(Cache::Hot), Some(12_000));
        assert_eq!(set(Cache::Rotate), Some(60_000));
        assert_eq!(set(Cache::Cold), None);
    }

    #[derive(Default)]
    struct Heard(Mutex<Vec<String>>);

    impl Listener for Heard {
        fn hear(&self, event: &Event<'_>) {
            if let Event::Note(note) = event {
                self.0.lock().unwrap().push(note.clone());
            }
        }
    }

    #[test]
    fn a_run_says_which_limits_it_uses_and_how_old_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let facts = proofmark_machine::facts(Isa::Avx512);
        let heard = Heard::default();
        let hear = || drop(ceilings(&store, &facts, Isa::Avx512, &heard));
        hear();
        let other = Probe { machine: "another".to_owned(), ..Probe::default() };
        store.keep_probe(&other).unwrap();
        hear();
        let made = unix_seconds() - 7300;
        store.keep_probe(&Probe { machine: facts.fingerprint.clone(), made, ..other }).unwrap();
        hear();
        let heard = heard.0.into_inner().unwrap();
        assert!(heard[0].starts_with("limits: short probe; run `proofmark machine probe`"));
        assert_eq!(heard[1], heard[0], "a probe of another machine is not used");
        assert_eq!(heard[2], "limits: probe of 2 h ago");
    }
}
