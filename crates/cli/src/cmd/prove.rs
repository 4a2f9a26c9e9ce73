//! `proofmark prove`: kernels through the gate.

use super::{
    Devices, Isolated, Shown, StorePath, arena, cap, constants, here, own, seed_of, shard, shelf,
};
use crate::exit;
use crate::output::{Failure, print_document, say};
use crate::progress::Progress;
use clap::Args;
use proofmark_engine::{Certified, ProofBook, ProveRequest, Shard, find_op, prove};
use proofmark_report::reports::{self, ProveRow};
use proofmark_schema::proof::Proof;
use proofmark_schema::{DType, Outcome};

/// Arguments of `prove`.
#[derive(Args)]
pub(crate) struct Prove {
    /// Ops to prove; all of them with --all
    #[arg(value_name = "OP", required_unless_present = "all")]
    ops: Vec<String>,
    /// Every op
    #[arg(long, conflicts_with = "ops")]
    all: bool,
    /// Element types, as `f32,bf16`; all by default
    #[arg(long, value_delimiter = ',')]
    dtype: Vec<DType>,
    /// Contenders: patterns such as `native/simd@avx2`; every kernel on every path by
    /// default, and `own/*` for an op of your own
    #[arg(long)]
    with: Option<String>,
    #[command(flatten)]
    devices: Devices,
    /// Threads contenders are given
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Seed of the inputs; drawn at random and printed unless it is given. Shards share a fixed
    /// one
    #[arg(long)]
    seed: Option<u64>,
    /// Only this part, as `1/4`: ops, contenders and element types are dealt out by their hash
    #[arg(long, value_name = "K/N", value_parser = shard)]
    shard: Option<Shard>,
    /// Only contenders that have no proof yet by this program and thread count (and by this seed,
    /// if one is given): continues a command that was cut off
    #[arg(long)]
    missing: bool,
    #[command(flatten)]
    isolated: Isolated,
    #[command(flatten)]
    store: StorePath,
    #[command(flatten)]
    shown: Shown,
}

impl Prove {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let request = ProveRequest {
            ops: self.ops.clone(),
            dtypes: self.dtype.clone(),
            with: self
                .with
                .clone()
                .unwrap_or_else(|| own::usual(&self.devices.usual("native/*@*"), &self.ops)),
            seed: seed_of(self.seed, self.shard.is_some()),
            any_seed: self.seed.is_none(),
            threads: usize::from(self.threads),
            cap: cap()?,
            shelf: shelf().on(&self.devices.device),
            tuned: constants::settings()?,
            missing: self.missing,
        };
        let store = self.store.open()?;
        let book = ProofBook::new(&store, &here(None)?.program, &request);
        let progress = Progress::new(self.shown.quiet);
        let shard = self.shard.unwrap_or(Shard::WHOLE);
        let proved = prove(&arena(self.isolated.isolation)?, &request, shard, &book, &progress)?;
        progress.finish();
        let rows: Vec<ProveRow> = proved.certified.iter().filter_map(row).collect();
        print_document(self.shown.format, &reports::prove(&rows, proved.skipped))?;
        if !self.shown.quiet {
            say(&format!("seed {}", request.seed));
        }
        Ok(exit::of_outcomes(proved.certified.iter().map(|certified| certified.outcome)))
    }
}

/// The row of a contender. It covers the cases that the contender supports, or all cases if it
/// supports none.
fn row(certified: &Certified) -> Option<ProveRow> {
    let does = |proof: &&Proof| {
        certified.outcome == Outcome::Unsupported || proof.outcome != Outcome::Unsupported
    };
    let proofs: Vec<&Proof> = certified.proofs.iter().filter(does).collect();
    let row = ProveRow::of(&proofs)?;
    let case = &proofs.first()?.case;
    let imported = find_op(&case.op).ok().and_then(|entry| entry.op.imported(case));
    Some(ProveRow { imported, ..row })
}
