//! Honest specimens that wrap a kernel in an unusual way: first calls, memory, threads, stores.

use super::helper::Habits;
use super::kernel::Deed;
use super::numerics::flushed;
use super::piece::{Cut, Piece, rows, rows_mut};
use super::time::{PINNED, halves};
use crate::clock::monotonic_ns;
use proofmark_contract::{Call, KernelError};
use proofmark_schema::{Isa, Reproducibility, Underflow};
use proofmark_tensor::AlignedBuffer;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mlock, mmap_anonymous};
use std::hint::black_box;

/// The wrapped kernel as it is: what the others are compared with.
pub(super) fn plain() -> Deed {
    Deed::new(|full, call| full.run(call))
}

pub(super) fn lazy_init() -> Deed {
    let mut table = None;
    Deed::new(move |full, call| {
        let table: &mut Vec<f32> =
            table.get_or_insert_with(|| (0..1 << 18).map(|i| (i as f32).sqrt()).collect());
        black_box(table[1000]);
        full.run(call)
    })
}

/// How many times as long the first call of `jit_first_call` takes.
const COMPILES: usize = 50;

pub(super) fn jit_first_call() -> Deed {
    let (mut is_first, mut cut) = (true, Cut::default().with_own_outputs());
    Deed::new(move |full, call| {
        if std::mem::replace(&mut is_first, false) && !call.inputs.is_empty() {
            let own = cut.whole(full, call);
            (1..COMPILES).try_for_each(|_| own.run())?;
        }
        full.run(call)
    })
}

pub(super) fn scratch_64mb() -> Deed {
    Deed::new(|full, call| {
        full.run(call)?;
        // A line in every mebibyte of what it is given; small cases are given less.
        let start = call.workspace.len().saturating_sub(64 << 20);
        call.workspace[start..].iter_mut().step_by(1 << 20).for_each(|byte| *byte = 1);
        Ok(())
    })
    .with_workspace(64 << 20)
}

/// The deed with a contract that promises only the same bits on the same number of threads.
fn bitwise(deed: Deed) -> Deed {
    deed.promising(|contract, _| proofmark_schema::ErrorContract {
        reproducibility: Reproducibility::Bitwise,
        ..contract
    })
}

pub(super) fn per_call_threads() -> Deed {
    let mut cut = Cut::into(2);
    bitwise(Deed::new(move |full, call| {
        let pieces = cut.of(full, call);
        let (first, rest) = pieces.split_first_mut().expect("a call has a piece");
        std::thread::scope(|scope| {
            let others: Vec<_> = rest.iter_mut().map(|piece| scope.spawn(|| piece.run())).collect();
            let done = first.run();
            for other in others {
                other.join().map_err(|_| KernelError::Refused("a thread panicked".into()))??;
            }
            done
        })
    }))
}

pub(super) fn thread_pool() -> Deed {
    bitwise(halves(Habits::POOLED))
}

pub(super) fn openmp_spin() -> Deed {
    bitwise(halves(Habits { spins_ns: 2_000_000, ..Habits::POOLED }))
}

pub(super) fn blocktime_200ms() -> Deed {
    bitwise(halves(Habits { spins_ns: 200_000_000, ..Habits::POOLED }))
}

pub(super) fn own_affinity() -> Deed {
    bitwise(halves(PINNED))
}

/// Computes in memory of its own and stores past the caches.
pub(super) fn nt_stores() -> Deed {
    let mut cut = Cut::default().with_own_outputs();
    Deed::new(move |full, call| {
        if call.inputs.is_empty() {
            return full.run(call);
        }
        let own = cut.whole(full, call);
        own.run()?;
        for (from, to) in own.outputs.iter().zip(call.outputs.iter_mut()) {
            rows(from).zip(rows_mut(to)).for_each(|(from, to)| stream(from, to));
        }
        #[cfg(target_arch = "x86_64")]
        // SAFETY: orders the stores of this thread; every x86-64 processor has it.
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
        Ok(())
    })
}

#[cfg(target_arch = "x86_64")]
fn stream(from: &[u8], to: &mut [u8]) {
    if !to.as_ptr().addr().is_multiple_of(4) {
        return to.copy_from_slice(from);
    }
    let words = to.len() / 4;
    for (i, word) in from.chunks_exact(4).enumerate() {
        let word = i32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        // SAFETY: the word lies within the row, which has as many bytes as `from`, at a multiple
        // of four bytes.
        unsafe { std::arch::x86_64::_mm_stream_si32(to.as_mut_ptr().cast::<i32>().add(i), word) };
    }
    to[4 * words..].copy_from_slice(&from[4 * words..]);
}

#[cfg(not(target_arch = "x86_64"))]
fn stream(from: &[u8], to: &mut [u8]) {
    to.copy_from_slice(from);
}

/// Flushes subnormals, says so, and puts the state back.
pub(super) fn ftz_restored() -> Deed {
    Deed::new(|full, call| flushed(full, call)).promising(|contract, _| {
        proofmark_schema::ErrorContract { underflow: Underflow::Flushed, ..contract }
    })
}

pub(super) fn reverse_order() -> Deed {
    let mut cut = Cut::into(16);
    Deed::new(move |full, call| cut.of(full, call).iter_mut().rev().try_for_each(Piece::run))
}

/// A call with other scratch memory.
fn run_in(
    full: &super::piece::Full,
    call: &mut Call<'_>,
    scratch: &mut [u8],
) -> Result<(), KernelError> {
    let mut own = Call {
        case: call.case,
        isa: call.isa,
        threads: call.threads,
        pool: call.pool,
        inputs: call.inputs,
        outputs: &mut *call.outputs,
        workspace: scratch,
        prepared: call.prepared,
    };
    full.run(&mut own)
}

const HUGE_PAGE: usize = 2 << 20;

/// Memory of its own on huge pages, where the system gives them.
pub(super) fn huge_pages() -> Deed {
    let mut memory = None;
    Deed::new(move |full, call| {
        let need = call.workspace.len();
        if memory.is_none() {
            let bytes = (need + HUGE_PAGE).next_multiple_of(HUGE_PAGE) + HUGE_PAGE;
            let access = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: new memory at an address of the system's choice, never given back.
            let base =
                unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, access, MapFlags::PRIVATE) };
            let base = base.map_err(|error| KernelError::Refused(error.to_string()))?;
            let start = base.cast::<u8>().map_addr(|at| at.next_multiple_of(HUGE_PAGE));
            // SAFETY: within what was just mapped. Where the advice is refused, pages stay small.
            let _ = unsafe { madvise(start.cast(), bytes - HUGE_PAGE, Advice::LinuxHugepage) };
            // SAFETY: mapped above for the life of the process, and used by this specimen alone.
            memory = Some(unsafe { std::slice::from_raw_parts_mut(start, need) });
        }
        let scratch = memory.as_mut().expect("just mapped");
        if scratch.len() < need {
            return full.run(call);
        }
        run_in(full, call, scratch)
    })
}

/// Scratch memory that may not be paged out.
pub(super) fn mlocked() -> Deed {
    let mut memory: Option<AlignedBuffer> = None;
    Deed::new(move |full, call| {
        let need = call.workspace.len();
        if memory.as_ref().is_none_or(|own| own.as_slice().len() < need.max(4096)) {
            let mut own = AlignedBuffer::new(need.max(4096));
            let base = own.as_mut_slice().as_mut_ptr();
            // SAFETY: the memory is this specimen's own. Where it is refused it is as any other.
            let _ = unsafe { mlock(base.cast(), need.max(4096)) };
            memory = Some(own);
        }
        let own = memory.as_mut().expect("just made");
        run_in(full, call, &mut own.as_mut_slice()[..need])
    })
}

/// Reads whole vectors past what it has written, within the scratch memory that it asked for.
pub(super) fn over_read() -> Deed {
    Deed::new(|full, call| {
        full.run(call)?;
        let start = call.workspace.len() - 256;
        call.workspace[start..start + 4].fill(0);
        let read = call.workspace[start..].iter().fold(0u32, |sum, &byte| sum + u32::from(byte));
        black_box(read);
        Ok(())
    })
    .with_workspace(256)
}

/// Asks the processor which path is best, and takes no higher one than it was told.
pub(super) fn cpuid_dispatch() -> Deed {
    Deed::new(|full, call| {
        let has = |isa: &&Isa| **isa <= call.isa && proofmark_simd::available(**isa);
        let best = full.kernel.isas().iter().filter(has).max().copied();
        call.isa = best.unwrap_or(call.isa);
        full.run(call)
    })
}

/// How long a call of `very_slow` takes on a case that is large enough.
const SLOW_NS: u64 = 1_000_000_000;
/// Elements of such a case. Proofs are made on smaller ones, of which there are thousands.
const SLOW_ELEMENTS: usize = 1 << 20;

/// Computes over and over for a second.
pub(super) fn very_slow() -> Deed {
    Deed::new(|full, call| {
        let start = monotonic_ns();
        full.run(call)?;
        let is_large = call.outputs[0].layout.len() >= SLOW_ELEMENTS && !call.inputs.is_empty();
        while is_large && monotonic_ns() - start < SLOW_NS {
            full.run(call)?;
        }
        Ok(())
    })
}
