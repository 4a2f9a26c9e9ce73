//! A batch: the calls, the clocks around them, what changes between them, and the state they leave.

use crate::allocator::allocations;
use crate::change::{Refresh, Touch, touches};
use crate::clock::{disturbance, monotonic_ns, thread_cpu_ns};
use crate::contender::Contender;
use crate::operands::{Operands, Set, Span};
use crate::{cache, guarded, page, processor};
use proofmark_contract::{Call, Kernel, KernelError, Perturbation};
use proofmark_schema::Cache;
use proofmark_schema::wire::{HandOver, LEDGER_CALLS, option, phase, status};
use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// A failed batch: its status, and the kernel's message.
pub(crate) struct Failure {
    pub(crate) status: u32,
    pub(crate) reason: String,
}

/// Runs the batch that the page commands, and writes the answer there.
pub(crate) fn run(
    page: &'static HandOver,
    contender: &mut Contender,
    operands: &mut Operands,
) -> Result<(), Failure> {
    let kernel_error = |reason| Failure { status: status::KERNEL_ERROR, reason };
    if !contender.is_prepared {
        return Err(kernel_error("weights are not packed".to_owned()));
    }
    let options = page.options.load(Relaxed);
    if options & option::DIRTY_WORKSPACE != 0 {
        dirty(contender.workspace.as_mut_slice(), page.dirt.load(Relaxed));
    }
    page.phase.store(phase::CALL, Relaxed);
    let ended = guarded::call(|| timed(page, contender, operands));
    // This comes after an error or a panic too, so that the next batch starts clean.
    processor::reset();
    page.phase.store(phase::IDLE, Relaxed);
    match ended {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(kernel_error(error.to_string())),
        Err(reason) => Err(Failure { status: status::PANICKED, reason }),
    }
}

fn dirty(workspace: &mut [u8], pattern: u32) {
    for chunk in workspace.chunks_mut(4) {
        chunk.copy_from_slice(&pattern.to_le_bytes()[..chunk.len()]);
    }
}

/// What the timed calls of a batch took.
#[derive(Default)]
struct Spent {
    start_ns: u64,
    wall_ns: u64,
    cpu_ns: u64,
    /// The fastest call on new inputs, and the fastest on the inputs of the call before it, where
    /// calls are timed one by one.
    alone_ns: u64,
    same_ns: u64,
    leaks: u32,
}

/// The numbers of calls to make, and whether the state must be checked after each.
#[derive(Clone)]
struct Calls {
    numbers: Range<u32>,
    checks_each: bool,
}

/// What happens around the calls of a batch.
#[derive(Clone, Copy)]
struct Around<'a> {
    /// Says which call runs.
    mark: Option<&'a AtomicU32>,
    /// What is changed before each call, by its number; empty where nothing is.
    touches: &'a [Touch],
    /// What each call has left, by its number.
    kept: &'a [AtomicU64],
}

fn timed(
    page: &'static HandOver,
    contender: &mut Contender,
    operands: &mut Operands,
) -> Result<(), KernelError> {
    let (prime, calls) = (page.prime.load(Relaxed), page.calls.load(Relaxed));
    let options = page.options.load(Relaxed);
    let checks_each = options & option::CHECK_EACH_CALL != 0;
    let untimed = Calls { numbers: 0..prime, checks_each };
    let all = prime.saturating_add(calls);
    let timed = Calls { numbers: prime..all, checks_each };
    let is_perturbed = options & option::PERTURB != 0;
    let is_fresh = options & option::FRESH != 0;
    if (is_perturbed || is_fresh) && all as usize > LEDGER_CALLS {
        return Err(KernelError::Refused(format!("{all} perturbed calls in a batch")));
    }
    let seed = page.perturbation_seed.load(Relaxed);
    let with_weights = options & option::KEEP_WEIGHTS == 0;
    let perturbation = Perturbation::of(&contender.signature, with_weights);
    let (settles, places) = (contender.kernel.settles(), contender.kernel.places());
    let mut table = Vec::new();
    if is_perturbed || is_fresh {
        table = touches(&perturbation, operands, seed, all, settles);
    }
    if is_fresh {
        // All inputs change already, so no single element changes besides.
        table.iter_mut().for_each(Touch::keep_input);
    }
    let mut refresh = is_fresh.then(|| {
        let drawn = (seed, options & option::AUDIT != 0);
        Refresh::new(&perturbation, &contender.signature, operands, drawn, all)
    });
    let is_bare = options & option::BARE != 0;
    let mark = (!is_bare).then_some(&page.call);
    let around = Around { mark, touches: &table, kept: &page::ledger(page).kept };
    // The supervisor has woken this process and is about to sleep. On the same processor it would
    // interrupt the first timed call to do so. The yield may also let another process run, so it is
    // done only where no untimed call comes first.
    if prime == 0 {
        std::thread::yield_now();
    }
    processor::reset();
    // What a clean state already shows is not the kernel's fault: some processors report registers
    // as in use that are not.
    let unreliable = processor::leaks();
    let mut leaks = match (&mut refresh, operands.cache) {
        (Some(refresh), _) => {
            apart(&around, contender, operands, untimed, Some(refresh), &[])?.leaks
        }
        // Operands are brought to a device between calls.
        (None, _) if places => apart(&around, contender, operands, untimed, None, &[])?.leaks,
        (None, Cache::Rotate) => walking(&around, contender, operands, untimed)?.leaks,
        (None, _) => in_a_row(&around, contender, operands, untimed)?.leaks,
    };
    leaks |= processor::leaks();
    processor::reset();
    // This allocates, so it comes before allocations are counted.
    let flushed = match operands.cache {
        Cache::Hot | Cache::Rotate => Vec::new(),
        state => cache::cold_spans(state, &operands.sets[0], contender.prepared.as_slice()),
    };
    // Drops the times of the untimed calls.
    contender.kernel.device_times();
    let allocations_before = allocations();
    let before = disturbance();
    let spent = match (&mut refresh, operands.cache) {
        (Some(refresh), _) => apart(&around, contender, operands, timed, Some(refresh), &flushed)?,
        (None, _) if places => apart(&around, contender, operands, timed, None, &flushed)?,
        (None, Cache::Hot) => in_a_row(&around, contender, operands, timed)?,
        (None, Cache::Rotate) => walking(&around, contender, operands, timed)?,
        (None, Cache::Cold | Cache::WeightsCold) => {
            apart(&around, contender, operands, timed, None, &flushed)?
        }
    };
    let after = disturbance();
    let allocated = allocations();
    let by_device = contender.kernel.device_times();
    page.device_calls.store(by_device.calls, Relaxed);
    page.device_kernel_ns.store(by_device.kernel_ns, Relaxed);
    page.device_copy_ns.store(by_device.copy_ns, Relaxed);
    page.phase.store(phase::SETTLE, Relaxed);
    page.settle_ns.store(settle(contender, operands)?, Relaxed);
    // SAFETY: operands are mapped, and the last call has returned.
    unsafe {
        table.iter().for_each(|touch| touch.undo());
        if let Some(mut refresh) = refresh {
            refresh.undo(&operands.sets);
        }
    }
    page.start_ns.store(spent.start_ns, Relaxed);
    page.wall_ns.store(spent.wall_ns, Relaxed);
    page.cpu_ns.store(spent.cpu_ns, Relaxed);
    page.alone_ns.store(spent.alone_ns, Relaxed);
    page.same_ns.store(spent.same_ns, Relaxed);
    let switches = after.involuntary_switches - before.involuntary_switches;
    page.switches.store(narrow(switches.cast_unsigned()), Relaxed);
    page.faults.store(narrow((after.page_faults - before.page_faults).cast_unsigned()), Relaxed);
    page.allocations.store(narrow(allocated.0 - allocations_before.0), Relaxed);
    page.allocated_bytes.store(allocated.1 - allocations_before.1, Relaxed);
    page.leaks.store((leaks | spent.leaks) & !unreliable, Relaxed);
    Ok(())
}

/// Copies results that lie elsewhere into the outputs of the set that was called last, and returns
/// the nanoseconds that this took.
fn settle(contender: &mut Contender, operands: &mut Operands) -> Result<u64, KernelError> {
    let kernel = contender.kernel;
    let Operands { sets, next, cache, .. } = operands;
    let last = if *cache == Cache::Rotate { (*next + sets.len() - 1) % sets.len() } else { 0 };
    let start = monotonic_ns();
    kernel.settle(&mut call_on(contender, &mut sets[last]))?;
    Ok(monotonic_ns() - start)
}

/// A call on one set of operands.
pub(crate) fn call_on<'a>(contender: &'a mut Contender, set: &'a mut Set) -> Call<'a> {
    Call {
        case: &contender.case,
        isa: contender.isa,
        threads: contender.threads,
        pool: &contender.pool,
        inputs: &set.inputs,
        outputs: &mut set.outputs,
        workspace: contender.workspace.as_mut_slice(),
        prepared: set.prepared.as_ref().unwrap_or(&contender.prepared).as_slice(),
    }
}

/// Runs `calls` between the clocks.
fn clocked(calls: impl FnOnce() -> Result<u32, KernelError>) -> Result<Spent, KernelError> {
    let cpu = thread_cpu_ns();
    let start = monotonic_ns();
    let leaks = calls()?;
    let end = monotonic_ns();
    let leaks = leaks | processor::leaks();
    let wall_ns = end - start;
    // The processor time includes the clock's own readings, which are not part of the calls.
    let cpu_ns = (thread_cpu_ns() - cpu).min(wall_ns);
    Ok(Spent { start_ns: start, wall_ns, cpu_ns, alone_ns: 0, same_ns: 0, leaks })
}

/// Makes calls on the same operands between two readings of the clock. Between the readings are the
/// calls, one store each to say which call runs, and the stores that change and keep elements.
/// Without these stores it is the loop of a program without a harness. Both loops are this one
/// function, because two loops of the same instructions at two addresses differ by 2 % where a call
/// takes half a microsecond.
#[inline(never)]
fn in_a_row(
    around: &Around<'_>,
    contender: &mut Contender,
    operands: &mut Operands,
    calls: Calls,
) -> Result<Spent, KernelError> {
    let kernel = contender.kernel;
    let mut call = call_on(contender, &mut operands.sets[0]);
    clocked(|| repeat(around, kernel, &mut call, calls))
}

/// Calls on one set of operands after the other; the next batch goes on where this one ends.
fn walking(
    around: &Around<'_>,
    contender: &mut Contender,
    operands: &mut Operands,
    calls: Calls,
) -> Result<Spent, KernelError> {
    let kernel = contender.kernel;
    let Operands { sets, next, .. } = operands;
    clocked(|| {
        let mut leaks = 0;
        for number in calls.numbers {
            let set = *next;
            *next = (set + 1) % sets.len();
            let mut call = call_on(contender, &mut sets[set]);
            let one = Calls { numbers: number..number + 1, checks_each: calls.checks_each };
            leaks |= repeat(around, kernel, &mut call, one)?;
        }
        Ok(leaks)
    })
}

/// Calls timed one by one, each on changed inputs, after a flush and on operands that were brought
/// to its device, none of which is timed.
fn apart(
    around: &Around<'_>,
    contender: &mut Contender,
    operands: &mut Operands,
    calls: Calls,
    mut refresh: Option<&mut Refresh>,
    flushed: &[Span],
) -> Result<Spent, KernelError> {
    let kernel = contender.kernel;
    let Operands { sets, next, cache, .. } = operands;
    let mut total = Spent::default();
    let first = calls.numbers.start;
    for number in calls.numbers {
        let set = *next;
        if *cache == Cache::Rotate {
            *next = (set + 1) % sets.len();
        }
        let touch = around.touches.get(number as usize);
        // SAFETY: operands and packed weights are mapped, and no call runs.
        unsafe {
            if let Some(refresh) = &mut refresh {
                refresh.next(set, &sets[set]);
            }
            if let Some(touch) = touch {
                touch.apply();
            }
            cache::flush(flushed);
        }
        let mut call = call_on(contender, &mut sets[set]);
        kernel.place(&mut call)?;
        let one = Calls { numbers: number..number + 1, checks_each: calls.checks_each };
        let alone = Around { touches: &[], ..*around };
        let spent = clocked(|| repeat(&alone, kernel, &mut call, one))?;
        if let (Some(touch), Some(kept)) = (touch, around.kept.get(number as usize)) {
            // SAFETY: as above.
            kept.store(unsafe { touch.kept() }, Relaxed);
        }
        if total.start_ns == 0 {
            total.start_ns = spent.start_ns;
        }
        let is_new = refresh.as_ref().is_none_or(|refresh| refresh.is_new());
        // The first call finds the caches in another state than the calls that follow.
        if number > first {
            let fastest = if is_new { &mut total.alone_ns } else { &mut total.same_ns };
            let least = if *fastest == 0 { u64::MAX } else { *fastest };
            *fastest = least.min(spent.wall_ns);
        }
        total.wall_ns += spent.wall_ns;
        total.cpu_ns += spent.cpu_ns;
        total.leaks |= spent.leaks;
    }
    Ok(total)
}

#[inline(always)]
fn repeat(
    around: &Around<'_>,
    kernel: &dyn Kernel,
    call: &mut Call<'_>,
    calls: Calls,
) -> Result<u32, KernelError> {
    let mut leaks = 0;
    for number in calls.numbers {
        if let Some(mark) = around.mark {
            mark.store(number, Relaxed);
        }
        let touch = around.touches.get(number as usize);
        if let Some(touch) = touch {
            // SAFETY: the table was made for these operands, and no call runs.
            unsafe { touch.apply() };
        }
        black_box(kernel.run(black_box(&mut *call)))?;
        if let (Some(touch), Some(kept)) = (touch, around.kept.get(number as usize)) {
            // SAFETY: as above.
            kept.store(unsafe { touch.kept() }, Relaxed);
        }
        if calls.checks_each {
            leaks |= processor::leaks();
            processor::reset();
        }
    }
    Ok(leaks)
}

fn narrow(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
