//! Where the time of a proven contender goes: its worker is sampled while it runs.

mod asm;
mod debug_file;
mod symbols;

pub use asm::{Inspected, inspect};

use crate::plan::{best_path, checked};
use crate::prove::Admission;
use crate::race::isolated;
use crate::{EngineError, Listener, check_contender};
use proofmark_analyze::{Profile, Stack, profile as count};
use proofmark_arena::{Arena, Batch, Sampler};
use proofmark_gate::{Entrant, Seat};
use proofmark_measure::{Clock, MonotonicClock, last_processor};
use proofmark_peers::PeerShelf;
use proofmark_schema::race::Trial;
use proofmark_schema::{Cache, Case, ContenderId, Isa};
use std::collections::BTreeMap;
use symbols::Symbols;

/// Nanoseconds of a batch between two looks at the samples.
const BATCH_NS: f64 = 20e6;

/// What records where a worker's threads are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampledBy {
    /// The kernel's clock event (`perf_event_open`); the worker is not involved.
    Perf,
    /// The worker itself, by a timer on its processor time: at most once a tick of each thread.
    Own,
}

/// What to sample.
#[derive(Clone, Debug)]
pub struct ProfileRequest {
    /// The case.
    pub case: Case,
    /// The contender.
    pub contender: ContenderId,
    /// Threads it may use.
    pub threads: usize,
    /// Seconds of samples.
    pub seconds: f64,
    /// Samples a second of each thread.
    pub hertz: u64,
    /// What takes the samples; if none, the kernel's clock event if it is permitted, else the
    /// worker.
    pub sampler: Option<SampledBy>,
    /// Seed of the inputs.
    pub seed: u64,
    /// Highest path.
    pub cap: Isa,
    /// Where peers are.
    pub shelf: PeerShelf,
}

/// Where the time of a contender goes.
#[derive(Clone, Debug)]
pub struct Profiled {
    /// The case.
    pub case: Case,
    /// The contender on its path.
    pub contender: ContenderId,
    /// Functions, lines and stacks.
    pub profile: Profile,
    /// How it was sampled.
    pub sampling: Sampling,
    /// Nanoseconds of a call while it was sampled.
    pub call_ns: f64,
    /// Heap allocations of a call, and their bytes; native contenders only.
    pub allocations: (f64, f64),
}

/// How a worker was sampled.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// What took the samples.
    pub by: SampledBy,
    /// Samples a second that were taken of all threads together.
    pub per_second: f64,
    /// Samples of the worker itself for which there was no room.
    pub lost: u64,
}

/// The samples of a run, by address.
struct Sampled {
    case: Case,
    contender: ContenderId,
    symbols: Symbols,
    counted: Counted,
}

/// What batches gave while they were sampled.
struct Counted {
    counts: BTreeMap<u64, u64>,
    sampling: Sampling,
    call_ns: f64,
    allocations: (f64, f64),
}

/// Samples a contender on a case and says which functions and lines it was in.
///
/// # Errors
/// If the case or contender is none, the contender is refused, or the kernel forbids sampling.
pub fn profile(
    arena: &Arena,
    listener: &dyn Listener,
    request: &ProfileRequest,
) -> Result<Profiled, EngineError> {
    let Sampled { case, contender, mut symbols, counted } = sample(arena, listener, request)?;
    let Counted { counts, sampling, call_ns, allocations } = counted;
    let stacks: Vec<Stack> = counts
        .iter()
        .map(|(&address, &samples)| Stack { frames: symbols.frames(address), samples })
        .collect();
    Ok(Profiled { case, contender, profile: count(&stacks), sampling, call_ns, allocations })
}

fn sample(
    arena: &Arena,
    listener: &dyn Listener,
    request: &ProfileRequest,
) -> Result<Sampled, EngineError> {
    let (entry, case) = checked(std::slice::from_ref(&request.case), Cache::Hot)?.remove(0);
    check_contender(entry, &request.contender, &request.shelf)?;
    let who = best_path(entry, &request.contender, request.cap);
    let by = sampler(request)?;
    let arena = &isolated(arena, [&who])?;
    let admission = Admission::new(arena, request.seed, request.cap, listener);
    let admitted = admission.admit(entry, &case, &who, request.threads);
    let proven = admitted.map_err(|proof| EngineError::refused(&who, &case, &proof))?;
    let revealed = proven.reveal(request.seed);
    let cpu = (request.threads == 1).then(last_processor);
    let sampled_hertz = (by == SampledBy::Own).then_some(request.hertz);
    let seat = Seat { cpu, sampled_hertz, ..Seat::default() };
    let trial = Trial {
        seed: request.seed,
        operand_shift: 0,
        environment_pad: 0,
        heap_pad: 0,
        mapping_pad: 0,
    };
    let failed = |said: String| EngineError::Failed {
        contender: who.to_string(),
        case: case.to_string(),
        said,
    };
    let mut entrant =
        proven.enter(&trial, &revealed, &seat, None).map_err(|fault| failed(fault.to_string()))?;
    let counted = run(&mut entrant, request, by, &failed)?;
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", entrant.pid()))
        .map_err(|error| EngineError::Sampling(error.to_string()))?;
    let symbols = Symbols::of(&maps);
    if counted.counts.is_empty() {
        return Err(EngineError::Sampling("no sample was taken: give more --seconds".to_owned()));
    }
    Ok(Sampled { contender: who, case, symbols, counted })
}

/// Decides what takes the samples. The clock event is tried on this thread first, so that a refusal
/// is known before the long proof.
fn sampler(request: &ProfileRequest) -> Result<SampledBy, EngineError> {
    let this_thread = 0;
    let perf = || Sampler::open(this_thread, request.hertz).map_err(EngineError::Perf);
    match request.sampler {
        Some(SampledBy::Own) => Ok(SampledBy::Own),
        Some(SampledBy::Perf) => perf().map(|_| SampledBy::Perf),
        None => Ok(perf().map_or(SampledBy::Own, |_| SampledBy::Perf)),
    }
}

/// Runs batches and takes the samples of every thread in between.
fn run(
    entrant: &mut Entrant<'_>,
    request: &ProfileRequest,
    by: SampledBy,
    failed: &dyn Fn(String) -> EngineError,
) -> Result<Counted, EngineError> {
    let mut batch = |calls: u32| {
        let batch = Batch { calls, ..Batch::default() };
        entrant.run(&batch).map_err(|fault| failed(fault.to_string()))
    };
    // The first call starts threads, so the second one is representative.
    batch(1)?;
    let once = batch(1)?.wall_ns.max(1) as f64;
    let calls = (BATCH_NS / once).clamp(1.0, 1e6) as u32;
    let (clock, mut counts) = (MonotonicClock, BTreeMap::new());
    let (mut made, mut wall, mut allocations, mut bytes) = (0u64, 0u64, 0u64, 0u64);
    let mut samplers = match by {
        SampledBy::Perf => samplers(entrant.pid(), request.hertz)?,
        SampledBy::Own => Vec::new(),
    };
    // Samples from loading and from the first calls are discarded.
    entrant.take_samples();
    let mut lost = 0u64;
    let start = clock.now_ns();
    while (clock.now_ns() - start) as f64 / 1e9 < request.seconds {
        let batch = Batch { calls, ..Batch::default() };
        let ran = entrant.run(&batch).map_err(|fault| failed(fault.to_string()))?;
        made += u64::from(calls);
        // The worker reports these numbers, and any may be as large as it likes.
        wall = wall.saturating_add(ran.wall_ns);
        allocations += u64::from(ran.allocations);
        bytes = bytes.saturating_add(ran.allocated_bytes);
        let own = entrant.take_samples();
        lost = own.lost.saturating_add(lost);
        let events = samplers.iter_mut().flat_map(Sampler::take).map(|sample| sample.address);
        for address in events.chain(own.addresses) {
            *counts.entry(address).or_default() += 1;
        }
    }
    let seconds = (clock.now_ns() - start) as f64 / 1e9;
    let per_second = counts.values().sum::<u64>() as f64 / seconds;
    let per_call = |total: u64| total as f64 / made.max(1) as f64;
    Ok(Counted {
        counts,
        sampling: Sampling { by, per_second, lost },
        call_ns: per_call(wall),
        allocations: (per_call(allocations), per_call(bytes)),
    })
}

/// One for each thread that the process has.
fn samplers(pid: u32, hertz: u64) -> Result<Vec<Sampler>, EngineError> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"))
        .map_err(|error| EngineError::Sampling(error.to_string()))?;
    let numbers = threads.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.map(|thread: u32| Sampler::open(thread, hertz).map_err(EngineError::Perf)).collect()
}
