//! Which elements of a large output the oracle is asked for.

use proofmark_contract::{Op, Operand, Signature, Want};
use proofmark_schema::Case;
use proofmark_tensor::mix;

/// Operations the oracle may spend on one output.
const ORACLE_OPERATIONS: u64 = 30_000_000;

/// The same for an output that is checked between trials.
const SPOT_CHECK_OPERATIONS: u64 = 2_000_000;

/// Operations that judging one element counts as, however cheap its own arithmetic is.
const JUDGING_OPERATIONS: u64 = 64;

/// Every element where that is affordable; else the edges of rows, columns and common tiles, and
/// samples drawn from the seed.
pub(crate) fn want(op: &dyn Op, case: &Case, output: &Operand, seed: u64) -> Want {
    within(ORACLE_OPERATIONS, 1, op, case, output, seed)
}

/// The same within the smaller budget of a check between trials.
pub(crate) fn spot_check(op: &dyn Op, case: &Case, output: &Operand, seed: u64) -> Want {
    within(SPOT_CHECK_OPERATIONS, JUDGING_OPERATIONS, op, case, output, seed)
}

/// Maximum number of single elements that are checked for one arm in a trial, and the operations
/// that these checks may take.
const SINGLE_CHECKS: u64 = 16;
const SINGLE_OPERATIONS: u64 = 1_000_000;

/// How many single elements of timed outputs the oracle can be asked for in a trial. Each is in a
/// state of the inputs of its own, which is worked out anew.
pub(crate) fn single_checks(op: &dyn Op, case: &Case, signature: &Signature) -> u64 {
    let flops = op.work(case).flops;
    let elements: usize = signature.outputs().iter().map(Operand::len).sum();
    // The truth about one element of a sequence costs as much as that about all before it.
    let parts = match op.sequences(case) {
        0 => elements.max(1),
        sequences => sequences,
    };
    let each = (flops / parts as u64).max(JUDGING_OPERATIONS);
    (SINGLE_OPERATIONS / each).clamp(1, SINGLE_CHECKS)
}

fn within(
    budget: u64,
    least_each: u64,
    op: &dyn Op,
    case: &Case,
    output: &Operand,
    seed: u64,
) -> Want {
    let layout = output.layout();
    let (rows, cols) = (layout.rows(), layout.cols());
    let elements = (rows * cols).max(1) as u64;
    let each = (op.work(case).flops / elements).max(least_each);
    let affordable = (budget / each).max(256);
    if elements <= affordable {
        return Want::all();
    }
    let sequences = op.sequences(case);
    if sequences > 0 {
        return Want::some(Some(of_few_sequences(rows, sequences, seed)), None);
    }
    let side = (affordable as f64).sqrt() as usize;
    let few_rows = side.min(rows).max(affordable as usize / cols.max(1)).min(rows);
    let few_cols = (affordable as usize / few_rows.max(1)).max(16);
    Want::some(Some(pick(rows, few_rows, seed)), Some(pick(cols, few_cols, seed ^ 0x9e37)))
}

/// All rows of the first sequence, of the last, and of one drawn: the truth about one element of a
/// sequence costs as much as that about all before it.
fn of_few_sequences(rows: usize, sequences: usize, seed: u64) -> Vec<usize> {
    let few = [0, mix(seed, 78, 0) as usize % sequences, sequences - 1];
    (0..rows).filter(|row| few.contains(&(row % sequences))).collect()
}

/// `count` of `total` positions, ascending: both ends, tile edges, then samples.
fn pick(total: usize, count: usize, seed: u64) -> Vec<usize> {
    if count >= total {
        return (0..total).collect();
    }
    let mut picked = Vec::with_capacity(count + 16);
    for edge in [1, 8, 16, 32, 64, 128, 256] {
        picked.extend([edge - 1, edge, total.saturating_sub(edge)]);
    }
    picked.push(0);
    picked.retain(|&position| position < total);
    let samples = (count as u64).saturating_sub(picked.len() as u64).max(8);
    picked.extend((0..samples).map(|i| (mix(seed, 77, i) % total as u64) as usize));
    picked.sort_unstable();
    picked.dedup();
    picked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picks_keep_both_ends_and_stay_inside() {
        let picked = pick(10_000, 100, 7);
        assert!(picked.contains(&0) && picked.contains(&9_999));
        assert!(picked.iter().all(|&p| p < 10_000) && picked.is_sorted());
        assert_eq!(pick(5, 100, 7), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn few_sequences_are_wanted_whole_with_both_ends() {
        let rows = of_few_sequences(16 * 8, 8, 7);
        let mut sequences: Vec<usize> = rows.iter().map(|row| row % 8).collect();
        sequences.sort_unstable();
        sequences.dedup();
        assert!(sequences.starts_with(&[0]) && sequences.ends_with(&[7]), "{sequences:?}");
        assert!(sequences.len() <= 3 && rows.len() == 16 * sequences.len(), "{rows:?}");
        assert_eq!(of_few_sequences(5, 1, 7), [0, 1, 2, 3, 4]);
    }
}
