//! A batch: the calls, the clocks around them, and the state they leave.

use crate::allocator::allocations;
use crate::clock::{disturbance, monotonic_ns, thread_cpu_ns};
use crate::contender::Contender;
use crate::operands::{Operands, Seal, Set, Span};
use crate::{cache, guarded, processor};
use proofmark_contract::{Call, Kernel, KernelError};
use proofmark_schema::Cache;
use proofmark_schema::wire::{HandOver, option, phase, status};
use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// A batch that did not end well: its status, and the kernel's words.
pub(crate) struct Failure {
    pub(crate) status: u32,
    pub(crate) reason: String,
}

/// Runs the batch that the page commands, and writes the answer there.
pub(crate) fn run(
    page: &HandOver,
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
    // After an error or a panic too: the next batch starts clean.
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
    leaks: u32,
}

/// The numbers of calls to make, and whether the state is to be checked after each.
#[derive(Clone)]
struct Calls {
    numbers: Range<u32>,
    checks_each: bool,
}

fn timed(
    page: &HandOver,
    contender: &mut Contender,
    operands: &mut Operands,
) -> Result<(), KernelError> {
    let (prime, calls) = (page.prime.load(Relaxed), page.calls.load(Relaxed));
    let checks_each = page.options.load(Relaxed) & option::CHECK_EACH_CALL != 0;
    let untimed = Calls { numbers: 0..prime, checks_each };
    let timed = Calls { numbers: prime..prime.saturating_add(calls), checks_each };
    // The supervisor has woken this process and is about to sleep: on the same processor it would
    // interrupt the first timed call to do so. Somebody else may be let in by this, too, so it is
    // done only where no untimed call comes first.
    if prime == 0 {
        std::thread::yield_now();
    }
    processor::reset();
    // What a clean state shows is no kernel's doing: some processors call registers in use that
    // are not.
    let unreliable = processor::leaks();
    let mut leaks = match operands.cache {
        Cache::Rotate => walking(page, contender, operands, untimed)?.leaks,
        _ => together(page, contender, operands, untimed)?.leaks,
    };
    leaks |= processor::leaks();
    processor::reset();
    // Made before allocations are counted.
    let flushed = match operands.cache {
        Cache::Hot | Cache::Rotate => Vec::new(),
        state => cache::cold_spans(state, &operands.sets[0], contender.prepared.as_slice()),
    };
    let allocations_before = allocations();
    let before = disturbance();
    let spent = match operands.cache {
        _ if page.options.load(Relaxed) & option::BARE != 0 => bare(contender, operands, timed)?,
        Cache::Hot => together(page, contender, operands, timed)?,
        Cache::Rotate => walking(page, contender, operands, timed)?,
        Cache::Cold | Cache::WeightsCold => apart(page, contender, operands, timed, &flushed)?,
    };
    let after = disturbance();
    let allocated = allocations();
    page.phase.store(phase::SETTLE, Relaxed);
    let is_sealed = page.options.load(Relaxed) & option::SEAL_INPUTS != 0;
    page.settle_ns.store(settle(contender, operands, is_sealed)?, Relaxed);
    page.start_ns.store(spent.start_ns, Relaxed);
    page.wall_ns.store(spent.wall_ns, Relaxed);
    page.cpu_ns.store(spent.cpu_ns, Relaxed);
    let switches = after.involuntary_switches - before.involuntary_switches;
    page.switches.store(narrow(switches.cast_unsigned()), Relaxed);
    page.faults.store(narrow((after.page_faults - before.page_faults).cast_unsigned()), Relaxed);
    page.allocations.store(narrow(allocated.0 - allocations_before.0), Relaxed);
    page.allocated_bytes.store(allocated.1 - allocations_before.1, Relaxed);
    page.leaks.store((leaks | spent.leaks) & !unreliable, Relaxed);
    Ok(())
}

/// Lets results that lie elsewhere come into the outputs of the set that was called last; gives
/// the nanoseconds it took. What reads inputs only now, when they are sealed, ends the worker.
fn settle(
    contender: &mut Contender,
    operands: &mut Operands,
    is_sealed: bool,
) -> Result<u64, KernelError> {
    let kernel = contender.kernel;
    let Operands { sets, next, cache, mappings } = operands;
    let last = if *cache == Cache::Rotate { (*next + sets.len() - 1) % sets.len() } else { 0 };
    let _seal = is_sealed.then(|| Seal::of_inputs(mappings));
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
    Ok(Spent { start_ns: start, wall_ns: end - start, cpu_ns: thread_cpu_ns() - cpu, leaks })
}

/// Calls on the same operands between two readings of the clock. Between them stand the calls,
/// one store each to say which runs, and nothing else unless each is to be checked.
fn together(
    page: &HandOver,
    contender: &mut Contender,
    operands: &mut Operands,
    calls: Calls,
) -> Result<Spent, KernelError> {
    in_a_row(Some(&page.call), contender, operands, calls)
}

/// The calls as a program without a harness would make them. It is the loop of [`together`]
/// without its store, at the same address: two loops of the same instructions at two places in a
/// program differ by 2 % where a call takes half a microsecond.
fn bare(
    contender: &mut Contender,
    operands: &mut Operands,
    calls: Calls,
) -> Result<Spent, KernelError> {
    in_a_row(None, contender, operands, calls)
}

#[inline(never)]
fn in_a_row(
    mark: Option<&AtomicU32>,
    contender: &mut Contender,
    operands: &mut Operands,
    calls: Calls,
) -> Result<Spent, KernelError> {
    let kernel = contender.kernel;
    let mut call = call_on(contender, &mut operands.sets[0]);
    clocked(|| repeat(mark, kernel, &mut call, calls))
}

/// Calls on one set of operands after the other; the next batch goes on where this one ends.
fn walking(
    page: &HandOver,
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
            leaks |= repeat(Some(&page.call), kernel, &mut call, one)?;
        }
        Ok(leaks)
    })
}

/// Calls timed one by one, each after a flush that is not.
fn apart(
    page: &HandOver,
    contender: &mut Contender,
    operands: &mut Operands,
    calls: Calls,
    flushed: &[Span],
) -> Result<Spent, KernelError> {
    let kernel = contender.kernel;
    let mut call = call_on(contender, &mut operands.sets[0]);
    let mut total = Spent::default();
    for number in calls.numbers {
        // SAFETY: operands and packed weights stay mapped while the call borrows them.
        unsafe { cache::flush(flushed) };
        let one = Calls { numbers: number..number + 1, checks_each: calls.checks_each };
        let spent = clocked(|| repeat(Some(&page.call), kernel, &mut call, one))?;
        if total.start_ns == 0 {
            total.start_ns = spent.start_ns;
        }
        total.wall_ns += spent.wall_ns;
        total.cpu_ns += spent.cpu_ns;
        total.leaks |= spent.leaks;
    }
    Ok(total)
}

#[inline(always)]
fn repeat(
    mark: Option<&AtomicU32>,
    kernel: &dyn Kernel,
    call: &mut Call<'_>,
    calls: Calls,
) -> Result<u32, KernelError> {
    let mut leaks = 0;
    for number in calls.numbers {
        if let Some(mark) = mark {
            mark.store(number, Relaxed);
        }
        black_box(kernel.run(black_box(&mut *call)))?;
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
