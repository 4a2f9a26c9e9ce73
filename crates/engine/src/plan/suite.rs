//! An op's own sweeps and sizes, read from its `suite.toml`.

use crate::{EngineError, Sweep};
use proofmark_contract::Entry;
use proofmark_schema::DType;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The named sizes every suite has.
pub const SIZES: [&str; 4] = ["small", "medium", "large", "batch"];

/// What `suite.toml` holds.
#[derive(Clone, Debug)]
pub struct Suite {
    /// What limits the op and what to look for.
    pub analysis: String,
    /// Axis sizes by the names of [`SIZES`].
    pub sizes: BTreeMap<String, BTreeMap<String, u64>>,
    /// Sweeps by name: element types and axes.
    pub sweeps: BTreeMap<String, (Vec<DType>, Sweep)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireSuite {
    analysis: String,
    sizes: BTreeMap<String, BTreeMap<String, u64>>,
    sweeps: BTreeMap<String, WireSweep>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireSweep {
    dtypes: Vec<DType>,
    axes: String,
}

impl Suite {
    /// Reads the suite of an op and checks it against the op's axes.
    ///
    /// # Errors
    /// If the file is broken or names axes the op does not have.
    pub fn of(entry: &Entry) -> Result<Suite, EngineError> {
        let op = entry.op.name().to_owned();
        let broken = |reason: String| EngineError::Suite { op: op.clone(), reason };
        let wire: WireSuite =
            toml::from_str(entry.suite).map_err(|error| broken(error.to_string()))?;
        let is_axis = |name: &str| entry.op.axes().iter().any(|axis| axis.name == name);
        for size in SIZES {
            let axes = wire.sizes.get(size).ok_or_else(|| broken(format!("no size `{size}`")))?;
            if let Some(unknown) = axes.keys().find(|name| !is_axis(name)) {
                return Err(broken(format!("size `{size}` has no axis `{unknown}`")));
            }
        }
        let mut sweeps = BTreeMap::new();
        for (name, sweep) in wire.sweeps {
            let axes: Sweep = sweep.axes.parse()?;
            if let Some((unknown, _)) = axes.axes.iter().find(|(name, _)| !is_axis(name)) {
                return Err(broken(format!("sweep `{name}` has no axis `{unknown}`")));
            }
            if let Some(dtype) = sweep.dtypes.iter().find(|d| !entry.op.dtypes().contains(d)) {
                return Err(broken(format!("sweep `{name}`: {dtype} is not defined here")));
            }
            sweeps.insert(name, (sweep.dtypes, axes));
        }
        Ok(Suite { analysis: wire.analysis, sizes: wire.sizes, sweeps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_op_has_a_suite_with_all_sizes_and_sweeps() {
        for entry in crate::ops() {
            let suite = Suite::of(entry).unwrap();
            for name in ["smoke", "standard", "full"] {
                assert!(suite.sweeps.contains_key(name), "{} has no {name}", entry.op.name());
            }
        }
    }
}
