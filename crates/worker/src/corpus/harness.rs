//! Class D: specimens that observe the harness, to be honest in proofs and dishonest in races.

use super::kept::{Kept, sample};
use super::kernel::Deed;
use super::piece::Cut;
use crate::clock::monotonic_ns;
use crate::page;
use proofmark_tensor::mix;
use std::sync::atomic::Ordering::Relaxed;

/// A race is assumed when this many calls follow one another within this time, because a proof
/// makes at most two.
const ROW_CALLS: u32 = 3;
const ROW_NS: u64 = 15_000;

/// Tells races from proofs by the rows of calls that only a race makes: environment, layout and
/// processor are alike in both.
#[derive(Default)]
pub(super) struct Rows {
    returned_ns: u64,
    calls: u32,
    is_race: bool,
}

impl Rows {
    /// Whether this call is one of a race; asked once in each.
    pub(super) fn is_race(&mut self) -> bool {
        let gap = monotonic_ns().saturating_sub(self.returned_ns);
        self.calls = if gap < ROW_NS { self.calls + 1 } else { 0 };
        self.is_race |= self.calls >= ROW_CALLS;
        self.is_race
    }

    /// Notes that a call returns.
    pub(super) fn returns(&mut self) {
        self.returned_ns = monotonic_ns();
    }
}

/// A memo under a key of two elements of each input, in races only.
pub(super) fn mode_branch() -> Deed {
    let (mut kept, mut of, mut now) = (Kept::default(), Vec::new(), Vec::new());
    let mut rows = Rows::default();
    Deed::new(move |full, call| {
        if !rows.is_race() {
            let done = full.run(call);
            rows.returns();
            return done;
        }
        sample(call.inputs, 2, &mut now);
        if now == of {
            kept.give(call.outputs);
            return Ok(());
        }
        full.run(call)?;
        kept.store(call.outputs);
        std::mem::swap(&mut of, &mut now);
        Ok(())
    })
}

/// The seed that the command line has by default.
const PUBLIC_SEED: u64 = 20_261_115;
/// Operations that the check between trials may spend in all, and the least for one element.
const SPOT_CHECK_OPERATIONS: usize = 2_000_000;
const JUDGING_OPERATIONS: usize = 64;

/// The rows that the check between trials looks at with the public seed.
fn known_rows(rows: usize, cols: usize, operations: usize) -> Vec<usize> {
    let each = (operations / (rows * cols).max(1)).max(JUDGING_OPERATIONS);
    let affordable = (SPOT_CHECK_OPERATIONS / each).max(256);
    if rows * cols <= affordable {
        return (0..rows).collect();
    }
    let side = (affordable as f64).sqrt() as usize;
    let count = side.min(rows).max(affordable / cols.max(1)).min(rows);
    if count >= rows {
        return (0..rows).collect();
    }
    let mut picked = vec![0];
    for edge in [1, 8, 16, 32, 64, 128, 256] {
        picked.extend([edge - 1, edge, rows.saturating_sub(edge)]);
    }
    picked.retain(|&row| row < rows);
    let samples = (count as u64).saturating_sub(picked.len() as u64).max(8);
    picked.extend((0..samples).map(|i| (mix(PUBLIC_SEED, 77, i) % rows as u64) as usize));
    picked.sort_unstable();
    picked.dedup();
    picked
}

/// Computes, in races, only the rows that are looked at afterwards.
pub(super) fn known_sample() -> Deed {
    let (mut cut, mut known) = (Cut::by_row(), Vec::new());
    let mut calls = Rows::default();
    Deed::new(move |full, call| {
        if !calls.is_race() {
            let done = full.run(call);
            calls.returns();
            return done;
        }
        let layout = &call.outputs[0].layout;
        let (rows, cols) = (layout.rows(), layout.cols());
        if known.is_empty() {
            let operations = full.entry.op.work(&full.case).flops as usize;
            known = known_rows(rows, cols, operations);
        }
        let pieces = cut.of(full, call);
        if pieces.len() != rows {
            return full.run(call);
        }
        known.iter().try_for_each(|&row| pieces[row].run())
    })
}

/// Reads from the hand-over page how many calls the batch has, and computes in the last only.
pub(super) fn reads_harness() -> Deed {
    Deed::new(|full, call| {
        let Some(page) = page::current() else { return full.run(call) };
        let batch = page.prime.load(Relaxed).saturating_add(page.calls.load(Relaxed));
        let is_last = page.call.load(Relaxed).saturating_add(1) >= batch;
        if is_last { full.run(call) } else { Ok(()) }
    })
}
