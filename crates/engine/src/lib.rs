//! The conductor and library façade: plan, prove, race, record, analyze.
//!
//! The phases are folders, in this order: `workload` and `plan`, `prove`, `race`, `record`. In
//! addition, `profile` looks into a contender and `render` writes for other programs. The `verbs`
//! are what can be asked; each goes through the phases. `cargo xtask arrows` holds this order.
#![forbid(unsafe_code)]

mod bisect_error;
mod bounded;
mod error;
mod event;
mod git;
mod jobs;
mod ops;
mod plan;
mod profile;
mod prove;
mod race;
mod record;
mod render;
mod submission_error;
mod sweep;
mod verbs;
mod workload;

pub use bisect_error::BisectError;
pub use error::{EngineError, TrustedPlace};
pub use event::{Done, Event, Listener};
pub use git::Tree;
pub use ops::{add_own_kernels, add_own_op, add_submission, find_op, ops};
pub use plan::{
    Arm, CommandPair, PROJECT_FILE, Project, ProjectPrograms, Request, Roster, Ruled, RulesRequest,
    SIZES, Shard, Source, Suite, at_this_pace, cases, check_contender, check_specimen, isa_cap,
    plan, read_rules,
};
pub use profile::{Inspected, ProfileRequest, Profiled, SampledBy, Sampling, inspect, profile};
pub use proofmark_own::nearest;
pub use prove::{Certified, ProofBook, ProveRequest};
pub use race::{Built, Here, Programs, regime};
pub use record::probe_machine;
pub use render::{
    Constants, Emit, StoredRow, StoredRun, Traced, Tuned, TunedBlocks, TunedKernel, read_constants,
    samples, set_constants, snippet, stored_run, trace, unit as tuned_unit, write_constants,
};
pub use submission_error::SubmissionError;
pub use sweep::Sweep;
pub use verbs::bench::Bench;
pub use verbs::bisect::{BisectRequest, Bisected, Tried, VersionsRequest, bisect, bisect_versions};
pub use verbs::check::{CheckRequest, check, check_programs};
pub use verbs::compare::{
    CompareRequest, Compared, ProgramSides, ProgramTerms, ProgramsCompared, ProgramsRequest,
    StoredComparison, Tolerance, compare, compare_programs, stored_comparison,
};
pub use verbs::costs::{Cost, CostUnit, TARGETS, Target, costs, read_targets};
pub use verbs::coverage::{Covered, Known, coverage};
pub use verbs::devices::devices;
pub use verbs::found::{FoundBenches, find_benches};
pub use verbs::import::{IMPORTERS, Imported, ImportedRow, Importer, import, imported};
pub use verbs::judge::{JUDGED_OPS, JudgeRequest, JudgeVerdict, judge_verdict, selftest_judge};
pub use verbs::merge::{Merged, merge};
pub use verbs::opening::check_opens;
pub use verbs::prove::{Proved, prove, reproduce};
pub use verbs::replay::{Replayed, Verified, replay, verify};
pub use verbs::sandbox::{sandbox_costs, selftest_sandbox, start_cost};
pub use verbs::scale::{ScaleRequest, Scaled, scale, scale_of_run};
pub use verbs::selftest::{
    GateRequest, GateSelfTest, OpSelfTest, OtherGateCount, References, selftest_gate,
};
pub use verbs::submission::{SubmissionRequest, judge_submission};
pub use verbs::timing::{
    PLANTED, TimingRequest, TimingVerdict, loop_overheads, selftest_timing, timing_verdict,
};
pub use verbs::tune::{
    CachedTuning, ChooseRequest, RaceTerms, TuneRequest, USUAL, USUAL_PRODUCTS, Usual,
    cached_tunings, choose, tune, usual as usual_crossing,
};
pub use workload::{
    Model, ModelError, find as find_workload, names as workload_names, read_config,
    unknown as unknown_workload,
};

pub use proofmark_analyze::Among;
pub use proofmark_analyze::policy::{self, Day};
pub use proofmark_analyze::{exit_severity, findings, is_match};
pub use proofmark_arena::{Arena, Regime, clear_scratch, keep_freed_memory, keep_hashes_in};
pub use proofmark_contract::{Attribute, AttributeKind, Entry, Role};
pub use proofmark_machine::{doctor, facts, load, unix_seconds};
pub use proofmark_opencl as opencl;
pub use proofmark_ops::tuning::{Blocks, Settings};
pub use proofmark_own as own;
pub use proofmark_peers as peers;
pub use proofmark_peers::PeerShelf;
pub use proofmark_programs as programs;
pub use proofmark_stats::{REPORT_MARGIN, SAME_MARGIN};
pub use proofmark_store::{Run, Shelf, Store};

/// The names of the other gates that a self-test compares with, in the order of its counts.
pub fn other_gate_names() -> impl Iterator<Item = &'static str> {
    proofmark_gate::OTHER_GATES.iter().map(|gate| gate.name)
}
