//! The rules of isolation that an arena's workers run under.

use proofmark_sandbox::{Permit, Warden};
use proofmark_schema::isolation::Confinement;
use proofmark_schema::{ContenderId, Family, Isolation, Layer};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

/// The rules of isolation that an arena's workers run under.
#[derive(Clone, Debug)]
pub struct Regime {
    /// The level; [`Isolation::Unstated`] leaves it to the contenders, see [`Regime::for_field`].
    pub level: Isolation,
    /// The environment of a worker in a sandbox; without one it is that of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// What peers and own kernels may do in a sandbox, by id. All others compute and do nothing
    /// else.
    pub permits: BTreeMap<String, Permit>,
    /// Peers that are the user's own libraries, by name.
    pub strangers: BTreeSet<String>,
}

impl Default for Regime {
    fn default() -> Regime {
        Regime {
            level: Isolation::T1,
            environment: Vec::new(),
            permits: BTreeMap::new(),
            strangers: BTreeSet::new(),
        }
    }
}

impl Regime {
    /// The same rules with the level that contenders need if they are judged together: a sandbox as
    /// soon as one of them is a stranger's code. All of them get the same level, so that none has
    /// an advantage.
    #[must_use]
    pub fn for_field<'c>(&self, contenders: impl IntoIterator<Item = &'c ContenderId>) -> Regime {
        if self.level != Isolation::Unstated {
            return self.clone();
        }
        let is_strange = |who: &ContenderId| match who.family {
            Family::Own => true,
            Family::Peer => self.strangers.contains(&who.name),
            _ => false,
        };
        let has_stranger = contenders.into_iter().any(is_strange);
        let level = if has_stranger { Isolation::T2 } else { Isolation::T1 };
        Regime { level, ..self.clone() }
    }

    /// What a contender may do beyond computing.
    pub(crate) fn permit(&self, contender: &ContenderId) -> Permit {
        match contender.family {
            Family::Peer | Family::Own | Family::OpenCl | Family::Planted => {
                self.permits.get(&contender.to_string()).cloned().unwrap_or_default()
            }
            _ => Permit::default(),
        }
    }
}

/// What guards a worker in a sandbox.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    pub(crate) warden: Warden,
    pub(crate) layers: Vec<Layer>,
    pub(crate) level: Isolation,
    /// The processor that the worker is kept on, if on one.
    pub(crate) cpu: Option<usize>,
}

impl Guard {
    /// How a process is confined, and what it has tried so far.
    pub(crate) fn confinement(&self, pid: u32) -> Confinement {
        let (level, layers) = (self.level, self.layers.clone());
        Confinement { level, layers, attempts: self.warden.attempts(pid) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_takes_the_whole_field_into_the_sandbox() {
        let regime = Regime {
            level: Isolation::Unstated,
            strangers: BTreeSet::from(["acme".to_owned()]),
            ..Regime::default()
        };
        let known: Vec<ContenderId> =
            ["native/simd", "peer/openblas"].map(|id| id.parse().unwrap()).to_vec();
        assert_eq!(regime.for_field(&known).level, Isolation::T1);
        let stranger: ContenderId = "peer/acme".parse().unwrap();
        let field = known.iter().chain([&stranger]);
        assert_eq!(regime.for_field(field).level, Isolation::T2);
        let asked = Regime { level: Isolation::T1, ..regime };
        assert_eq!(asked.for_field([&stranger]).level, Isolation::T1, "what is asked for decides");
    }
}
