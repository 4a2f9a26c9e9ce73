//! A request to judge a submission, and its plan.

use crate::plan::estimate;
use proofmark_contract::Entry;
use proofmark_peers::{Peer, PeerShelf};
use proofmark_schema::plan::{Item, Plan, RunKind};
use proofmark_schema::{Cache, Case, ContenderId, FORMAT_VERSION, Isa, Isolation, Memory};
use std::path::PathBuf;

/// What to judge, and how.
#[derive(Clone)]
pub struct SubmissionRequest {
    /// The op.
    pub entry: &'static Entry,
    /// The submitted kernel; the shelf has it too.
    pub kernel: &'static dyn Peer,
    /// Its file, as it was named.
    pub file: PathBuf,
    /// What it is raced against; by default the reference of the user's op, or `native/simd`.
    pub against: Option<ContenderId>,
    /// The cases that its author knows.
    pub shown: Vec<Case>,
    /// How many cases are drawn around them.
    pub held_out: usize,
    /// Threads that both are given.
    pub threads: usize,
    /// Seed of held-out cases, inputs, layouts and orders.
    pub seed: u64,
    /// Short races.
    pub quick: bool,
    /// Whether it is judged by what its file declares, and not by the terms of the baseline.
    pub as_declared: bool,
    /// The most seconds to wait for a quiet machine before each race; 0 means no wait.
    pub quiet_seconds: f64,
    /// Highest path of kernels of this project.
    pub cap: Isa,
    /// Where contenders are.
    pub shelf: PeerShelf,
}

impl SubmissionRequest {
    /// What it is raced against where nothing else is asked for.
    pub(super) fn baseline(&self) -> ContenderId {
        let usual = || match crate::ops::own_op(self.entry.op.name()) {
            Some(_) => proofmark_own::reference_id(),
            None => {
                let name = self.entry.kernel("simd").map_or("scalar", |kernel| kernel.name());
                ContenderId { isa: None, ..ContenderId::native(name, Isa::Scalar) }
            }
        };
        self.against.clone().unwrap_or_else(usual)
    }

    /// Every case with both contenders, as a table of a run.
    pub(super) fn plan(&self, cases: &[Case], field: [&ContenderId; 2], level: Isolation) -> Plan {
        // Where every call has operands of its own, the caches hold none of them.
        let cache = if level == Isolation::T3 { Cache::Rotate } else { Cache::Hot };
        let item = |(index, case): (usize, &Case)| Item {
            index: index as u64,
            case: case.clone(),
            field: field.map(Clone::clone).to_vec(),
            threads: self.threads,
            memory: Memory { cache, ..Memory::default() },
            uses: Vec::new(),
        };
        let mut plan = Plan {
            format: FORMAT_VERSION,
            seed: self.seed,
            kind: if self.quick { RunKind::Quick } else { RunKind::Standard },
            items: cases.iter().enumerate().map(item).collect(),
            absent: Vec::new(),
            proof_seconds: 0.0,
            estimate_seconds: 0.0,
            part: None,
        };
        estimate::write(&mut plan);
        plan
    }
}
