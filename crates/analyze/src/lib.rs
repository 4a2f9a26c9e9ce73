//! From records to findings. Pure.
//!
//! Nothing here reads a clock or a file: the same records give the same findings, byte for byte.
#![forbid(unsafe_code)]

mod band;
mod cells;
mod choice;
mod crossover;
mod findings;
#[cfg(test)]
mod fixture;
mod flags;
mod glob;
pub mod metrics;
mod mix;
mod pairing;
pub mod policy;
mod profile;
mod ranking;
mod samples;
mod scaling;
mod status;
mod step;
mod sweep;
mod winner;

pub use band::Band;
pub use cells::{cells, field, geometric_mean};
pub use choice::{Among, Challenge, Choice, best_of, is_borne_out};
pub use crossover::{Answer, Between, Crossing, Spot, Zone, ZoneName, answer, coarse, next_place};
pub use findings::{Disturbance, disturbance, exit_severity, findings, too_fast};
pub use flags::{Doubt, Flag, FlagKind, doubts, flags};
pub use glob::is_match;
pub use metrics::{Better, METRICS, Metric};
pub use mix::{Mix, Width, promised, widest};
pub use pairing::{Lead, Pairing, Pairings, Subject, pairings};
pub use profile::{Frame, Profile, Share, Stack, profile};
pub use ranking::{Advice, Contest, Group, Place, Ranking, groups, ranking};
pub use samples::{Estimate, LEAST_REPETITIONS, Repetition, Samples, Spread, median_of};
pub use scaling::{AmdahlFit, Cause, Label, ScalePoint, Scaling, UniversalFit, scalings};
pub use status::{Standing, status};
pub use step::{Side, Step, steps};
pub use sweep::{AxisSweep, MapSweep, RoleMean, Tile, axis_sweeps, map_sweeps, role_means};
pub use winner::{Winner, winner};
