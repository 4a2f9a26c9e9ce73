//! The first phase: a request becomes a plan, with every case and its field, before anything runs.

mod arm;
mod cases;
mod edits;
pub(crate) mod estimate;
mod forecast;
mod held_out;
mod make;
mod origin;
mod programs;
mod project;
mod request;
mod room;
mod roster;
mod rules;
mod shard;
mod suite;

pub use arm::{Arm, Source};
pub(crate) use cases::{checked, fitting};
pub use estimate::at_this_pace;
pub(crate) use forecast::{Forecast, Proofs};
pub(crate) use held_out::held_out;
pub(crate) use make::nobody;
pub use make::{cases, plan};
pub use origin::{Ruled, RulesRequest, read_rules};
pub use programs::{CommandPair, ProjectPrograms};
pub use project::{PROJECT_FILE, Project};
pub use request::Request;
pub(crate) use room::{check_room, proofs_at_once};
pub use roster::{Roster, check_contender, check_specimen, isa_cap};
pub(crate) use roster::{best_path, unknown_peer};
pub(crate) use rules::{depth_for, proof_rules, race_rules};
pub use shard::Shard;
pub(crate) use shard::shard_of;
pub use suite::{SIZES, Suite};
