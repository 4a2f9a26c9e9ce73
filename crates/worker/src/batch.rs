//! A batch: the calls, the clocks around them, and the state they leave.

use crate::allocator::allocations;
use crate::clock::{disturbance, monotonic_ns, thread_cpu_ns};
use crate::contender::Contender;
use crate::operands::Operands;
use crate::{guarded, processor};
use proofmark_contract::{Call, Kernel, KernelError};
use proofmark_schema::wire::{HandOver, option, phase, status};
use std::hint::black_box;
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
    let kernel = contender.kernel;
    let mut call = Call {
        case: &contender.case,
        isa: contender.isa,
        threads: contender.threads,
        pool: &contender.pool,
        inputs: &operands.inputs,
        outputs: &mut operands.outputs,
        workspace: contender.workspace.as_mut_slice(),
        prepared: contender.prepared.as_slice(),
    };
    page.phase.store(phase::CALL, Relaxed);
    let ended = guarded::call(|| timed(page, kernel, &mut call));
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

/// Between the clocks stand the calls, one store each to say which runs, and nothing else unless
/// the state is to be checked after every call.
fn timed(page: &HandOver, kernel: &dyn Kernel, call: &mut Call<'_>) -> Result<(), KernelError> {
    let (prime, calls) = (page.prime.load(Relaxed), page.calls.load(Relaxed));
    let checks_each = page.options.load(Relaxed) & option::CHECK_EACH_CALL != 0;
    let last = prime.saturating_add(calls);
    // The supervisor has woken this process and is about to sleep: on the same processor it would
    // interrupt the first timed call to do so.
    std::thread::yield_now();
    processor::reset();
    // What a clean state shows is no kernel's doing: some processors call registers in use that
    // are not.
    let unreliable = processor::leaks();
    let mut leaks = repeat(page, kernel, call, 0..prime, checks_each)?;
    leaks |= processor::leaks();
    processor::reset();
    let allocations_before = allocations();
    let before = disturbance();
    let cpu = thread_cpu_ns();
    let start = monotonic_ns();
    leaks |= repeat(page, kernel, call, prime..last, checks_each)?;
    let end = monotonic_ns();
    leaks |= processor::leaks();
    let cpu_end = thread_cpu_ns();
    let after = disturbance();
    let allocated = allocations() - allocations_before;
    page.start_ns.store(start, Relaxed);
    page.wall_ns.store(end - start, Relaxed);
    page.cpu_ns.store(cpu_end - cpu, Relaxed);
    let switches = after.involuntary_switches - before.involuntary_switches;
    page.switches.store(narrow(switches.cast_unsigned()), Relaxed);
    page.faults.store(narrow((after.page_faults - before.page_faults).cast_unsigned()), Relaxed);
    page.allocations.store(narrow(allocated), Relaxed);
    page.leaks.store(leaks & !unreliable, Relaxed);
    Ok(())
}

fn repeat(
    page: &HandOver,
    kernel: &dyn Kernel,
    call: &mut Call<'_>,
    numbers: std::ops::Range<u32>,
    checks_each: bool,
) -> Result<u32, KernelError> {
    let mut leaks = 0;
    for number in numbers {
        page.call.store(number, Relaxed);
        black_box(kernel.run(black_box(&mut *call)))?;
        if checks_each {
            leaks |= processor::leaks();
            processor::reset();
        }
    }
    Ok(leaks)
}

fn narrow(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
