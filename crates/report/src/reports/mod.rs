//! The reports. A new one is one file and two lines here.
//!
//! Inputs that cross no crate boundary are small plain structures beside the report that shows
//! them.

mod answer;
mod asm;
mod baseline;
mod bench;
mod bisect;
mod check;
mod choice;
mod compare;
mod costs;
mod coverage;
mod devices;
mod doctor;
mod fairness;
mod import;
mod judge;
mod line;
mod list;
mod machine;
mod names;
mod peers;
mod plan;
mod probe;
mod profile;
mod programs;
mod prove;
mod run;
mod sandbox;
mod scaling;
mod selftest;
mod step;
mod threshold;
mod timing;
mod verdict;
mod verification;

pub use asm::{InspectedCode, asm};
pub use baseline::baseline;
pub use bench::{bench, bench_with_slices};
pub use bisect::{BisectedLine, bisect};
pub use check::{accept_entries, check};
pub use choice::{choices, kept_choices};
pub use compare::{ComparedArms, compare};
pub use costs::{CostRow, costs};
pub use coverage::{CoverageRow, coverage};
pub use devices::devices;
pub use doctor::{DoctorCheck, doctor};
pub use import::{ImportRow, ImportedFile, import, imports};
pub use judge::judge;
pub use line::line;
pub use list::{
    ListedAxis, ListedKernel, ListedLimits, ListedOp, ListedOperand, ListedSize, Meant, OpCard,
    list,
};
pub use machine::machine;
pub use peers::{PeerRow, peers};
pub use plan::plan;
pub use probe::probe;
pub use profile::{ProfiledCase, flame_graph, folded, profile};
pub use programs::programs;
pub use prove::{ProveRow, prove};
pub use run::{PARTS, Part, ReportedRun, run};
pub use sandbox::sandbox;
pub use scaling::scaling;
pub use selftest::{OtherGateCount, SelftestRow, selftest};
pub use threshold::{kept_thresholds, threshold};
pub use timing::timing;
pub use verdict::verdict;
pub use verification::{VerifiedRun, verification};
