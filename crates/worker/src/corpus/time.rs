//! Class C: work while the clock stands still, in calls that are not watched, or on processors
//! that are not the specimen's own.

use super::helper::{Habits, Helper, Place, spin_for};
use super::kept::{Kept, LAST, is_nan_at};
use super::kernel::Deed;
use super::piece::Cut;
use crate::clock::monotonic_ns;
use proofmark_contract::KernelError;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

type Done = Result<(), KernelError>;

/// Nanoseconds without a call after which the next is the first of a batch.
const GAP_NS: u64 = 5_000;

pub(super) fn first_of_batch() -> Deed {
    let mut ended = 0;
    Deed::new(move |full, call| {
        let is_first = monotonic_ns() - ended > GAP_NS;
        let done = if is_first { full.run(call) } else { Ok(()) };
        ended = monotonic_ns();
        done
    })
}

pub(super) fn last_of_batch() -> Deed {
    let (mut ended, mut count, mut learnt) = (0, 0u32, 0u32);
    Deed::new(move |full, call| {
        if monotonic_ns() - ended > GAP_NS {
            learnt = count;
            count = 0;
        }
        count += 1;
        let is_spoilt = is_nan_at(&call.outputs[0], 0);
        let done = if count >= learnt || is_spoilt { full.run(call) } else { Ok(()) };
        ended = monotonic_ns();
        done
    })
}

pub(super) fn every_second() -> Deed {
    let mut is_off = false;
    Deed::new(move |full, call| {
        let rests = is_off && !is_nan_at(&call.outputs[0], 0);
        is_off = !is_off;
        if rests { Ok(()) } else { full.run(call) }
    })
}

/// Does in a call what the one before should have done, unless its results were spoilt.
pub(super) fn late() -> Deed {
    let mut is_owed = false;
    Deed::new(move |full, call| {
        let works = is_owed || is_nan_at(&call.outputs[0], LAST);
        is_owed = !works;
        if works { full.run(call) } else { Ok(()) }
    })
}

fn started(helper: &mut Option<Helper>, habits: Habits) -> Result<&Helper, KernelError> {
    if helper.is_none() {
        *helper = Some(Helper::start(habits)?);
    }
    Ok(helper.as_ref().expect("just started"))
}

fn given_away(habits: Habits) -> Deed {
    let (mut cut, mut helper) = (Cut::default(), None);
    Deed::new(move |full, call| {
        let helper = started(&mut helper, habits)?;
        if !cut.is_of(call) {
            helper.wait();
        }
        if helper.is_idle() {
            helper.give(cut.whole(full, call));
        }
        Ok(())
    })
}

pub(super) fn deferred_thread() -> Deed {
    given_away(Habits::HIDDEN)
}

/// The first half in the call, the second a moment after it has returned.
pub(super) fn late_write() -> Deed {
    let habits = Habits { delays_ns: 20_000, ..Habits::HIDDEN };
    let (mut cut, mut helper) = (Cut::into(2), None);
    Deed::new(move |full, call| {
        let helper = started(&mut helper, habits)?;
        if !cut.is_of(call) {
            helper.wait();
        }
        if !helper.is_idle() {
            return Ok(());
        }
        let pieces = cut.of(full, call);
        let (last, rest) = pieces.split_last_mut().expect("a call has a piece");
        for piece in rest {
            piece.run()?;
        }
        helper.give(last);
        Ok(())
    })
}

/// A thread computes between calls what the next call is expected to ask for.
pub(super) fn precompute_thread() -> Deed {
    let (mut cut, mut helper) = (Cut::default().with_own_outputs(), None);
    let mut of = Kept::default();
    Deed::new(move |full, call| {
        let helper = started(&mut helper, Habits::HIDDEN)?;
        // What was computed of other inputs is of no use.
        let is_known = cut.is_of(call) && of.is(call.inputs);
        if is_known && helper.is_idle() {
            cut.whole(full, call).copy_outputs(call);
        } else {
            helper.wait();
            full.run(call)?;
            of.store(call.inputs);
        }
        helper.give(cut.whole(full, call));
        Ok(())
    })
}

/// Number of first calls that are made to look slow, and how much slower they look.
const WARM_UP_CALLS: u32 = 8;
const WARM_UP_FACTOR: u64 = 50;

pub(super) fn slow_warmup() -> Deed {
    let mut calls = 0u32;
    Deed::new(move |full, call| {
        calls = calls.saturating_add(1);
        if calls > WARM_UP_CALLS {
            let stands = !is_nan_at(&call.outputs[0], 0);
            return if stands { Ok(()) } else { full.run(call) };
        }
        let start = monotonic_ns();
        full.run(call)?;
        spin_for(((monotonic_ns() - start) * WARM_UP_FACTOR).min(1_000_000));
        Ok(())
    })
}

/// Packs the right operand in its first call and keeps the result until the operand changes.
pub(super) fn undeclared_prepack() -> Deed {
    let (mut weights, mut packed) = (Kept::default(), None);
    Deed::new(move |full, call| {
        let Some(kernel) = full.entry.kernel("prepacked") else { return full.run(call) };
        if kernel.supports(&full.case, full.isa).is_err() {
            return full.run(call);
        }
        if packed.is_none() || !weights.is(&call.inputs[1..]) {
            let mut piece = super::piece::Piece::whole(full, call, kernel);
            piece.prepare()?;
            weights.store(&call.inputs[1..]);
            packed = Some(piece.prepared);
        }
        let Some(prepared) = &packed else { return Ok(()) };
        let bytes = kernel.workspace_bytes(&full.case, full.isa, 1);
        if call.workspace.len() < bytes {
            return full.run(call);
        }
        let mut own = proofmark_contract::Call {
            case: call.case,
            isa: call.isa,
            threads: 1,
            pool: call.pool,
            inputs: call.inputs,
            outputs: &mut *call.outputs,
            workspace: &mut *call.workspace,
            prepared: prepared.as_slice(),
        };
        kernel.run(&mut own)
    })
    .with_workspace(1 << 20)
}

/// Half of the rows on a thread of its own, on another processor than the one it was given.
pub(super) fn extra_cores() -> Deed {
    halves(Habits::HIDDEN)
}

/// Half of the rows on a thread of its own, whatever number it was given.
pub(super) fn halves(habits: Habits) -> Deed {
    let (mut cut, mut helper) = (Cut::into(2), None);
    Deed::new(move |full, call| {
        let helper = started(&mut helper, habits)?;
        let (first, rest) = cut.of(full, call).split_first_mut().expect("a call has a piece");
        let Some(second) = rest.first_mut() else { return first.run() };
        helper.give(second);
        let done = first.run();
        helper.wait();
        done
    })
}

/// `run` copies the inputs, `settle` computes.
pub(super) fn late_home() -> Deed {
    let cut = Arc::new(Mutex::new(Cut::default().with_own_inputs()));
    let later = Arc::clone(&cut);
    Deed::new(move |full, call| {
        let mut cut = cut.lock().unwrap_or_else(PoisonError::into_inner);
        cut.whole(full, call).copy_inputs(call);
        Ok(())
    })
    .settling(move |full, call| {
        let mut cut = later.lock().unwrap_or_else(PoisonError::into_inner);
        cut.whole(full, call).run()
    })
}

/// Computes in every second batch only, and has itself interrupted there, so that the batch is left
/// out. In the other batches it returns at once as long as its output stands.
pub(super) fn choose_my_blocks() -> Deed {
    let (mut ended, mut batch, mut waker) = (0, 0u64, None);
    Deed::new(move |full, call| {
        if monotonic_ns() - ended > GAP_NS {
            batch += 1;
        }
        let is_shown = batch.is_multiple_of(2);
        let done = if is_shown && !is_nan_at(&call.outputs[0], 0) {
            Ok(())
        } else {
            if !is_shown && waker.is_none() {
                waker = Some(Interrupter::start()?);
            }
            let done = full.run(call);
            if let (false, Some(waker)) = (is_shown, &waker) {
                waker.interrupt();
            }
            done
        };
        ended = monotonic_ns();
        done
    })
}

/// A thread on the same processor that takes it for a moment.
struct Interrupter {
    thread: std::thread::Thread,
}

impl Interrupter {
    fn start() -> Result<Interrupter, KernelError> {
        let body = || {
            loop {
                std::thread::park();
                spin_for(2_000);
            }
        };
        let started = std::thread::Builder::new().spawn(body);
        let handle = started.map_err(|error| KernelError::Refused(error.to_string()))?;
        Ok(Interrupter { thread: handle.thread().clone() })
    }

    fn interrupt(&self) {
        self.thread.unpark();
    }
}

/// Time without a call of its own after which a thread spoils the outputs, and the interval at
/// which that thread looks.
const OUT_OF_TURN_NS: u64 = 150_000;
const LOOK_US: u64 = 400;

/// A thread spoils the outputs, which all arms share, while it is another arm's turn.
pub(super) fn sabotage() -> Deed {
    let place = Arc::new((AtomicUsize::new(0), AtomicU64::new(0)));
    let (mut is_up, mut rows) = (false, super::harness::Rows::default());
    Deed::new(move |full, call| {
        let is_race = rows.is_race();
        if !std::mem::replace(&mut is_up, true) {
            let theirs = Arc::clone(&place);
            let started = std::thread::Builder::new().spawn(move || spoil(&theirs.0, &theirs.1));
            started.map_err(|error| KernelError::Refused(error.to_string()))?;
        }
        place.0.store(0, Ordering::Release);
        let done = full.run(call);
        place.1.store(monotonic_ns(), Ordering::Release);
        // Only where it is one of several arms, in a race: proofs look at outputs at any time.
        rows.returns();
        if is_race && !call.outputs[0].layout.is_empty() {
            place.0.store(call.outputs[0].base() as usize, Ordering::Release);
        }
        done
    })
}

fn spoil(place: &AtomicUsize, ended: &AtomicU64) {
    super::helper::run_anywhere();
    loop {
        std::thread::sleep(std::time::Duration::from_micros(LOOK_US));
        let at = place.load(Ordering::Acquire);
        if at == 0 || monotonic_ns() - ended.load(Ordering::Acquire) < OUT_OF_TURN_NS {
            continue;
        }
        // SAFETY: none beyond that the element is mapped and writable; that another process uses
        // it at this time is the fault being planted.
        unsafe { std::ptr::without_provenance_mut::<f32>(at).write_volatile(f32::NAN) };
    }
}

/// As [`extra_cores`], with a child process that left the group in place of a thread.
pub(super) fn fork_setsid() -> Deed {
    let (mut cut, mut child) = (Cut::into(2), None::<super::child::Child>);
    Deed::new(move |full, call| {
        let is_same = cut.is_of(call);
        let (first, rest) = cut.of(full, call).split_first_mut().expect("a call has a piece");
        let Some(second) = rest.first_mut() else { return first.run() };
        if !is_same || child.is_none() {
            drop(child.take());
            child = super::child::Child::start(second);
        }
        let helps = child.as_ref().filter(|child| child.go());
        let done: Done = first.run();
        if let Some(child) = helps {
            child.wait();
        }
        // There is none, it has ended, or it works on operands that were replaced since.
        if helps.is_none() || is_nan_at(&second.outputs[0], 0) {
            second.run()?;
            child = None;
        }
        done
    })
}

/// Places of helpers that honest specimens use.
pub(super) const PINNED: Habits = Habits { place: Place::OneProcessor, ..Habits::POOLED };
