//! Checks whether this machine can be trusted with a measurement today: one function for each
//! check, one list.

mod kernel;
mod processor;
mod quiet;

use proofmark_schema::machine::CheckState;
use std::path::Path;

/// One check and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// How it went.
    pub state: CheckState,
    /// What was seen, with numbers and units.
    pub detail: String,
    /// What to do; empty where nothing is.
    pub hint: String,
}

impl Check {
    fn fine(name: &'static str, detail: impl Into<String>) -> Check {
        Check { name, state: CheckState::Fine, detail: detail.into(), hint: String::new() }
    }

    fn warning(name: &'static str, detail: impl Into<String>, hint: &str) -> Check {
        let (detail, hint) = (detail.into(), hint.to_owned());
        Check { name, state: CheckState::Warning, detail, hint }
    }

    fn problem(name: &'static str, detail: impl Into<String>, hint: &str) -> Check {
        Check { state: CheckState::Problem, ..Check::warning(name, detail, hint) }
    }
}

/// Every check, in the order of the report. The argument is the store's folder.
const CHECKS: &[fn(&Path) -> Check] = &[
    |_| processor::cpus(),
    |_| processor::instruction_sets(),
    |_| processor::amx(),
    |_| processor::emulation(),
    |_| processor::governor(),
    |_| quiet::load(),
    |_| quiet::pressure(),
    |_| quiet::steal(),
    |_| quiet::free_memory(),
    |_| kernel::clock(),
    |_| kernel::memory_files(),
    |_| kernel::futex(),
    |_| kernel::process_handles(),
    |_| kernel::guard_pages(),
    |_| kernel::counters(),
    |_| kernel::huge_pages(),
    kernel::store,
];

/// Runs every check; `store` is the folder that runs are kept in.
pub fn doctor(store: &Path) -> Vec<Check> {
    CHECKS.iter().map(|check| check(store)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_its_own_name_a_detail_and_a_hint_unless_fine() {
        let folder = tempfile::tempdir().unwrap();
        let checks = doctor(folder.path());
        for (i, check) in checks.iter().enumerate() {
            assert!(!check.detail.is_empty(), "{check:?}");
            assert_eq!(check.hint.is_empty(), check.state == CheckState::Fine, "{check:?}");
            assert!(checks[..i].iter().all(|other| other.name != check.name), "{check:?}");
        }
    }

    #[test]
    fn what_workers_need_of_the_kernel_works_where_these_tests_run() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["memory files", "futex", "process handles", "guard pages", "store"] {
            let check = doctor(folder.path()).into_iter().find(|check| check.name == name);
            assert_eq!(check.map(|check| check.state), Some(CheckState::Fine), "{name}");
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "the check cleans up");
    }

    #[test]
    fn a_store_that_cannot_be_written_is_a_problem() {
        let check = kernel::store(Path::new("/proc/no/such/folder"));
        assert_eq!(check.state, CheckState::Problem);
    }
}
