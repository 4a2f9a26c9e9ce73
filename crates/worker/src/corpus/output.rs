//! Class A: outputs that are left out, stale or made up.

use super::kept::{LAST, have_nan, is_nan_at};
use super::kernel::Deed;
use super::piece::{Cut, Piece, rows, rows_mut};
use proofmark_contract::{Call, KernelError};

type Done = Result<(), KernelError>;

/// Fills every output with one f32.
fn fill(call: &mut Call<'_>, value: f32) -> Done {
    for row in call.outputs.iter_mut().flat_map(rows_mut) {
        for word in row.chunks_exact_mut(4) {
            word.copy_from_slice(&value.to_le_bytes());
        }
    }
    Ok(())
}

pub(super) fn noop() -> Deed {
    Deed::new(|_, _| Ok(()))
}

pub(super) fn zeros() -> Deed {
    Deed::new(|_, call| fill(call, 0.0))
}

pub(super) fn constant() -> Deed {
    Deed::new(|_, call| fill(call, 0.01))
}

pub(super) fn copy_input() -> Deed {
    Deed::new(|_, call| {
        let Some(input) = call.inputs.first() else { return Ok(()) };
        for output in call.outputs.iter_mut() {
            let mut from = rows(input).cycle();
            for to in rows_mut(output) {
                let from = from.next().unwrap_or_default();
                let length = to.len().min(from.len());
                to[..length].copy_from_slice(&from[..length]);
            }
        }
        Ok(())
    })
}

pub(super) fn partial_tail() -> Deed {
    let mut cut = Cut::into(8);
    Deed::new(move |full, call| {
        let pieces = cut.of(full, call);
        let kept = pieces.len().saturating_sub(1).max(1);
        pieces[..kept].iter_mut().try_for_each(Piece::run)
    })
}

pub(super) fn partial_stale() -> Deed {
    let mut cut = Cut::into(2);
    Deed::new(move |full, call| {
        // Spoilt results would be seen.
        if is_nan_at(&call.outputs[0], LAST) {
            return full.run(call);
        }
        cut.of(full, call)[0].run()
    })
}

/// Sums without the last eighth of their terms.
pub(super) fn skip_last_k() -> Deed {
    let mut cut = Cut::default().with_own_inputs();
    Deed::new(move |full, call| {
        let own = cut.whole(full, call);
        own.copy_inputs(call);
        for row in own.inputs.iter_mut().take(1).flat_map(rows_mut) {
            let kept = row.len() / 4 * 7 / 8 * 4;
            row[kept..].fill(0);
        }
        own.run()
    })
}

pub(super) fn sampled_interpolate() -> Deed {
    let mut cut = Cut::by_row();
    Deed::new(move |full, call| {
        let pieces = cut.of(full, call);
        pieces.iter_mut().step_by(2).try_for_each(Piece::run)?;
        let mut view = call.outputs[0].rows_mut::<f32>()?;
        let rows = view.rows();
        for row in (1..rows).step_by(2) {
            let before = view.row(row - 1).to_vec();
            let after = if row + 1 < rows { view.row(row + 1).to_vec() } else { before.clone() };
            for ((to, a), b) in view.row_mut(row).iter_mut().zip(before).zip(after) {
                *to = 0.5 * (a + b);
            }
        }
        Ok(())
    })
}

/// Calls for which `correct_first_n` is right: more than a proof makes in a worker.
const RIGHT_CALLS: u32 = 500;

pub(super) fn correct_first_n() -> Deed {
    let mut calls = 0u32;
    Deed::new(move |full, call| {
        calls = calls.saturating_add(1);
        if calls <= RIGHT_CALLS { full.run(call) } else { Ok(()) }
    })
}

pub(super) fn quarter_rows() -> Deed {
    let (mut cut, mut turn) = (Cut::into(4), 0usize);
    Deed::new(move |full, call| {
        turn += 1;
        if is_nan_at(&call.outputs[0], 0) || is_nan_at(&call.outputs[0], LAST) {
            return full.run(call);
        }
        let pieces = cut.of(full, call);
        let own = turn % pieces.len();
        pieces[own].run()
    })
}

pub(super) fn spoilt_rows() -> Deed {
    let mut cut = Cut::by_row();
    Deed::new(move |full, call| {
        for piece in cut.of(full, call) {
            if have_nan(&piece.outputs) {
                piece.run()?;
            }
        }
        Ok(())
    })
}
