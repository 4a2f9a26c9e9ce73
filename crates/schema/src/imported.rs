//! Where an op came from, if it was read from the format of another project.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The source of an imported op, as records keep it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedFrom {
    /// The format: `kernelbench`, `flashinfer-trace` or `gpu-mode`.
    pub format: String,
    /// Its name there.
    pub name: String,
    /// Sizes that are smaller here than there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shrunk: Vec<Shrunk>,
    /// The workload of the case in the words of that format, where it has such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<serde_json::Value>,
}

/// A size that a rule made smaller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shrunk {
    /// The name of the size.
    pub name: String,
    /// What the source states.
    pub stated: u64,
    /// What is used.
    pub used: u64,
}

impl fmt::Display for Shrunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} → {}", self.name, self.stated, self.used)
    }
}

impl ImportedFrom {
    /// What readers of results must know: sizes that are not those of the source.
    pub fn caveat(&self) -> Option<String> {
        let ImportedFrom { format, name, shrunk, .. } = self;
        let words: Vec<String> = shrunk.iter().map(Shrunk::to_string).collect();
        let words = words.join(", ");
        (!shrunk.is_empty())
            .then(|| format!("sizes are smaller than in {name} ({format}): {words}"))
    }
}
