//! Probes of what the machine can do at best.
//!
//! Everything asked for is gauged in turn, a few milliseconds each, round after round: a slow
//! minute of the machine hits all gauges alike. A limit is the rate of clean milliseconds (the 99th
//! percentile for arithmetic; the 95th for memory, whose caches may by chance hold more than they
//! should). A median is the rate of a usual millisecond.

mod gauge;
#[cfg(all(test, target_arch = "x86_64"))]
mod independent;
mod memory;
mod roofline;

pub use memory::Caches;
pub use roofline::{Ceilings, Demand, roofline};

use gauge::Gauge;

use crate::ask_for_short_time_slices;
use crate::clock::{seconds_of, unix_seconds};
use memory::{CHASED, Circle, Ground};
use proofmark_schema::FORMAT_VERSION;
use proofmark_schema::probe::{
    BandwidthLimit, ComputeLimit, ForkJoin, LatencyLimit, Level, Probe, Traffic, Unit,
};
use proofmark_simd::peak::{CLOCK_CYCLES, Peak, Sums, clock_chain};
use proofmark_tensor::Pool;
use std::panic::resume_unwind;
use std::thread::scope;

/// Share of windows below the limit of arithmetic.
const CLEAN: f64 = 0.99;
/// Share of windows below the limit of memory; for times, the share above it.
const FAIRLY_CLEAN: f64 = 0.95;

/// What to probe.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// Units; those that are not there are named in the answer.
    pub units: Vec<Unit>,
    /// Levels of memory, each with every kind of traffic.
    pub levels: Vec<Level>,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Whether the clock and latencies of one thread are wanted too.
    pub alone: bool,
}

/// How long to probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effort {
    /// This many turns of every gauge.
    Turns(usize),
    /// Whole rounds, at least one, until this many seconds have passed.
    Seconds(f64),
}

impl Ask {
    /// Everything, for one thread, all processors and the powers of two between.
    pub fn everything(processors: usize) -> Ask {
        let mut threads: Vec<usize> =
            (0..).map(|power| 1 << power).take_while(|&count| count < processors).collect();
        threads.push(processors.max(1));
        Ask { units: Unit::ALL.to_vec(), levels: Level::ALL.to_vec(), threads, alone: true }
    }
}

/// What a gauge reads.
#[derive(Clone, Copy)]
enum Reads {
    /// Steps of a unit's loop.
    Compute(Unit, Peak),
    /// Steps of this many cycles.
    Clock(u64),
    /// Blocks of a kind of traffic in a working set of a level.
    Bandwidth(Level, Traffic, usize),
    /// Loads in a working set.
    Latency(usize),
    /// Parallel regions of this many threads.
    ForkJoin(usize),
}

/// Probes what is asked for on the machine of that fingerprint.
///
/// A gauge of several threads starts them some hundred times. On a busy machine each start waits
/// for a processor, so that the threads of a probe have short time slices.
///
/// # Panics
/// If the system refuses memory or threads.
pub fn probe(ask: &Ask, effort: Effort, machine: &str) -> Probe {
    let mut found = Probe {
        format: FORMAT_VERSION,
        machine: machine.to_owned(),
        made: unix_seconds(),
        absent: ask.units.iter().copied().filter(|&unit| Peak::of(unit).is_none()).collect(),
        ..Probe::default()
    };
    found.seconds = seconds_of(|| with_short_time_slices(|| gauge_all(ask, effort, &mut found)));
    found
}

/// Runs `work` on a thread of its own. This thread and those that it starts have short time slices.
fn with_short_time_slices(work: impl FnOnce() + Send) {
    let on_thread = || {
        ask_for_short_time_slices();
        work();
    };
    let ended = scope(|scope| scope.spawn(on_thread).join());
    ended.unwrap_or_else(|panic| resume_unwind(panic));
}

fn gauge_all(ask: &Ask, effort: Effort, found: &mut Probe) {
    let most_threads = ask.threads.iter().copied().max().unwrap_or(1);
    let pool = Pool::new(most_threads);
    let sets = working_sets(ask);
    let bytes = sets.iter().map(|&(_, threads, bytes)| Ground::needed(bytes, threads)).max();
    let ground = bytes.map(|bytes| Ground::new(bytes, &pool));
    let circles: Vec<Circle> =
        if ask.alone { CHASED.iter().map(|&bytes| Circle::new(bytes)).collect() } else { vec![] };
    let mut gauges = arithmetic(ask, &pool);
    for &(level, threads, bytes) in &sets {
        let of_set = ground.iter().flat_map(|ground| ground.gauges(bytes, threads));
        gauges.extend(of_set.map(|(kind, gauge)| (Reads::Bandwidth(level, kind, bytes), gauge)));
    }
    let chases = circles.iter().zip(CHASED);
    gauges.extend(chases.map(|(circle, bytes)| (Reads::Latency(bytes), circle.gauge())));
    let mut spent = 0.0;
    let mut turns = 0;
    loop {
        spent += seconds_of(|| gauges.iter_mut().for_each(|(_, gauge)| gauge.turn(&pool)));
        turns += 1;
        let is_enough = match effort {
            Effort::Turns(count) => turns >= count,
            Effort::Seconds(seconds) => spent >= seconds,
        };
        if is_enough {
            break;
        }
    }
    gauges.iter().for_each(|(reads, gauge)| put(*reads, gauge, found));
}

/// Level, threads and bytes of each working set.
fn working_sets(ask: &Ask) -> Vec<(Level, usize, usize)> {
    let caches = Caches::here();
    let set = |level, threads| Some((level, threads, caches.working_set(level, threads)?));
    ask.threads
        .iter()
        .flat_map(|&threads| ask.levels.iter().filter_map(move |&level| set(level, threads)))
        .collect()
}

/// Units, the clock, and regions of several threads, which one starts.
fn arithmetic<'a>(ask: &Ask, pool: &'a Pool) -> Vec<(Reads, Gauge<'a>)> {
    let mut gauges = Vec::new();
    for &threads in &ask.threads {
        gauges.extend(ask.units.iter().filter_map(|&unit| compute_gauge(unit, threads)));
        if threads > 1 {
            let regions = move |_, count| (0..count).for_each(|_| pool.run(threads, &|_| {}));
            gauges.push((Reads::ForkJoin(threads), Gauge::new(1, regions)));
        }
    }
    if let Some(cycles) = CLOCK_CYCLES.filter(|_| ask.alone) {
        gauges.push((Reads::Clock(cycles), Gauge::new(1, |_, steps| clock_chain(steps))));
    }
    gauges
}

/// A gauge of a unit, if it is there.
fn compute_gauge(unit: Unit, threads: usize) -> Option<(Reads, Gauge<'static>)> {
    let peak = Peak::of(unit)?;
    let work = move |_, steps| peak.run(steps, &mut Sums::default());
    Some((Reads::Compute(unit, peak), Gauge::new(threads, work)))
}

/// Operations of one step of a unit's loop.
fn operations(peak: Peak) -> f64 {
    2.0 * peak.multiply_adds() as f64
}

/// Writes down what a gauge has read.
fn put(reads: Reads, gauge: &Gauge<'_>, found: &mut Probe) {
    let threads = gauge.threads();
    // In 10⁹ a second, of a gauge's unit that counts as `scale`.
    let rate = |share: f64, scale: f64| gauge.quantile(share) * scale / 1e9;
    let ns = |share: f64| 1e9 / gauge.quantile(share);
    match reads {
        Reads::Compute(unit, peak) => found.compute.push(ComputeLimit {
            unit,
            threads,
            gops_limit: rate(CLEAN, operations(peak)),
            gops_median: rate(0.5, operations(peak)),
        }),
        Reads::Clock(cycles) => found.clock_ghz = Some(rate(CLEAN, cycles as f64)),
        Reads::Bandwidth(level, kind, bytes) => found.bandwidth.push(BandwidthLimit {
            level,
            kind,
            threads,
            bytes: bytes as u64,
            gbps: rate(FAIRLY_CLEAN, Ground::block_bytes(kind)),
            gbps_median: rate(0.5, Ground::block_bytes(kind)),
        }),
        Reads::Latency(bytes) => found.latency.push(LatencyLimit {
            bytes: bytes as u64,
            ns: ns(FAIRLY_CLEAN),
            ns_median: ns(0.5),
        }),
        Reads::ForkJoin(threads) => {
            found.fork_join.push(ForkJoin { threads, ns: ns(FAIRLY_CLEAN) });
        }
    }
}
