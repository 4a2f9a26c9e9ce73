//! The conductor and library façade: plan, prove, race, record, analyze.
#![forbid(unsafe_code)]

mod admit;
mod arm;
mod artefact;
mod bench;
mod bounded;
mod budget;
mod cases;
mod check;
mod compare;
mod costs;
mod coverage;
mod error;
mod estimate;
mod event;
mod exported;
mod import;
mod jobs;
mod judge;
mod merge;
mod opening;
mod ops;
mod plan;
mod portfolio;
mod profile;
mod project;
mod proofs;
mod prove;
mod race;
mod record;
mod replay;
mod request;
mod revision;
mod room;
mod roster;
mod rules;
mod scale;
mod selftest;
mod shard;
mod suggest;
mod suite;
mod sweep;
mod timing;
mod trace;
mod tune;
mod workload;

pub use arm::{Arm, Source};
pub use artefact::{Here, Programs};
pub use bench::Bench;
pub use check::{CheckRequest, check};
pub use compare::{CompareRequest, Compared, compare};
pub use costs::{Cost, CostUnit, TARGETS, Target, costs, read_targets};
pub use coverage::{Covered, Known, coverage};
pub use error::EngineError;
pub use estimate::at_this_pace;
pub use event::{Event, Listener};
pub use exported::{StoredRow, StoredRun, samples, started, stored_run};
pub use import::{IMPORTERS, Imported, ImportedRow, Importer, import, imported};
pub use judge::{JUDGED_OPS, JudgeRequest, JudgeVerdict, judge_verdict, selftest_judge};
pub use merge::{Merged, merge};
pub use opening::check_opens;
pub use ops::{find_op, ops};
pub use plan::{cases, plan};
pub use portfolio::{Certified, ProveRequest};
pub use profile::{Inspected, ProfileRequest, Profiled, SampledBy, Sampling, inspect, profile};
pub use project::{PROJECT_FILE, Project};
pub use proofs::ProofBook;
pub use prove::{Proved, prove, reproduce};
pub use record::probe_machine;
pub use replay::{Replayed, replay};
pub use request::Request;
pub use roster::{Roster, check_contender, check_specimen, isa_cap};
pub use scale::{ScaleRequest, Scaled, scale, scale_of_run};
pub use selftest::{GateSelfTest, OpSelfTest, OtherGateCount, selftest_gate};
pub use shard::Shard;
pub use suggest::nearest;
pub use suite::{SIZES, Suite};
pub use sweep::Sweep;
pub use timing::{
    PLANTED, TimingRequest, TimingVerdict, loop_overheads, selftest_timing, timing_verdict,
};
pub use trace::{Traced, trace};
pub use tune::{
    CachedTuning, ChooseRequest, Constants, Emit, RaceTerms, TuneRequest, Tuned, TunedBlocks,
    TunedKernel, USUAL, USUAL_PRODUCTS, Usual, cached_tunings, choose, read_constants,
    set_constants, snippet, tune, unit as tuned_unit, usual as usual_crossing, write_constants,
};
pub use workload::{
    Model, ModelError, find as find_workload, names as workload_names, read_config,
    unknown as unknown_workload,
};

pub use proofmark_analyze::Among;
pub use proofmark_analyze::policy::{self, Day};
pub use proofmark_analyze::{exit_severity, findings, is_match};
pub use proofmark_arena::{Arena, keep_freed_memory};
pub use proofmark_contract::{Attribute, AttributeKind, Entry};
pub use proofmark_machine::{CheckState, doctor, facts, load, unix_seconds};
pub use proofmark_ops::tuning::{Blocks, Settings};
pub use proofmark_peers as peers;
pub use proofmark_peers::PeerShelf;
pub use proofmark_store::{Run, Shelf, Store};

/// The names of the other gates that a self-test compares with, in the order of its counts.
pub fn other_gate_names() -> impl Iterator<Item = &'static str> {
    proofmark_gate::OTHER_GATES.iter().map(|gate| gate.name)
}
