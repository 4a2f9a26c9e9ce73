//! What a user asked for, before it is a plan.

use crate::{Sweep, Tree};
use proofmark_peers::PeerShelf;
use proofmark_schema::{AttrValue, Cache, Case, DType, Isa, Pages};

/// A request to measure.
#[derive(Clone, Debug)]
pub struct Request {
    /// Cases by name; they replace ops, element types, sweep, size and suite.
    pub cases: Vec<Case>,
    /// Ops by name; empty means all.
    pub ops: Vec<String>,
    /// Element types; empty means those of the sweep.
    pub dtypes: Vec<DType>,
    /// Axis sizes given on the command line.
    pub sweep: Option<Sweep>,
    /// A named size.
    pub size: Option<String>,
    /// A named sweep of the ops' suites.
    pub suite: String,
    /// The commit whose files are workloads, where those of the working tree must not count.
    pub tree: Option<Tree>,
    /// Attributes given on the command line.
    pub attrs: Vec<(String, AttrValue)>,
    /// The contenders that may enter, by pattern.
    pub with: String,
    /// Thread counts.
    pub threads: Vec<usize>,
    /// States of the caches.
    pub caches: Vec<Cache>,
    /// Kinds of pages.
    pub pages: Vec<Pages>,
    /// Seed of every input and order.
    pub seed: u64,
    /// Short races.
    pub quick: bool,
    /// Highest path kernels may take.
    pub cap: Isa,
    /// Where peers are.
    pub shelf: PeerShelf,
}

impl Request {
    /// A request for nothing yet, to be filled in by callers that name cases only.
    pub fn of_cases(cap: Isa, shelf: PeerShelf) -> Request {
        Request {
            cases: Vec::new(),
            ops: Vec::new(),
            dtypes: Vec::new(),
            sweep: None,
            size: None,
            suite: "standard".to_owned(),
            tree: None,
            attrs: Vec::new(),
            with: String::new(),
            threads: Vec::new(),
            caches: Vec::new(),
            pages: Vec::new(),
            seed: 0,
            quick: false,
            cap,
            shelf,
        }
    }
}
