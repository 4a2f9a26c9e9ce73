//! A case of a workload.

use proofmark_schema::Case;
use proofmark_schema::plan::Use;

/// Cases that a workload may have in all.
pub(super) const MOST_CASES: usize = 100_000;

/// A case that is asked for, and where models have it.
pub(crate) struct Wanted {
    pub(crate) entry: &'static proofmark_contract::Entry,
    pub(crate) case: Case,
    pub(crate) uses: Vec<Use>,
}
