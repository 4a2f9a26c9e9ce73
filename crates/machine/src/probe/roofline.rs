//! The least time of a call that the machine's limits allow, and which limit binds.

use super::{Ask, Caches, Effort, probe};
use proofmark_schema::probe::{DeviceProbe, DeviceRate, Level, Probe, Traffic, Unit};
use proofmark_schema::record::{Bound, Limits};
use proofmark_schema::{DType, Device, Isa, Work};
use std::sync::{Mutex, PoisonError};

/// Overhead of a call on one thread, whatever the kernel: it checks a shape and chooses a path. The
/// shortest call of any kernel here, `add` of one element by `scalar`, takes about this long.
const CALL_NS: f64 = 50.0;
/// Turns of a gauge in a short probe.
const SHORT: Effort = Effort::Turns(5);

/// What a call demands of the machine.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Work by definition.
    pub work: Work,
    /// Type of the elements.
    pub dtype: DType,
    /// Whether every output is a sum of products, so that units that do only that serve it.
    pub sums_products: bool,
    /// Threads that it uses.
    pub threads: usize,
    /// Bytes that it comes back to; `None` where nothing of it is in a cache.
    pub working_set: Option<u64>,
}

/// The machine's limits, which runs are compared with: those of a saved probe, completed by short
/// probes where it has none.
pub struct Ceilings {
    probe: Mutex<Probe>,
    caches: Caches,
    cap: Isa,
}

impl Ceilings {
    /// From a saved probe, or from nothing. Kernels may use no path above `cap`.
    pub fn new(saved: Option<Probe>, cap: Isa) -> Ceilings {
        Ceilings { probe: Mutex::new(saved.unwrap_or_default()), caches: Caches::here(), cap }
    }

    /// The limits of a call on a device and some of its units. `None` if the device was not probed,
    /// has changed since, or has other arithmetic for the elements than was probed.
    pub fn of_device(&self, device: &Device, call: &Demand) -> Option<Limits> {
        let known = self.probe.lock().unwrap_or_else(PoisonError::into_inner);
        let units = (call.threads as u64).min(device.limits.compute_units.max(1));
        let is_it = |of: &&DeviceProbe| {
            (&of.device, &of.model, &of.driver) == (&device.name, &device.model, &device.driver)
                && of.units == units
        };
        let probe = known.devices.iter().find(is_it).filter(|_| call.dtype == DType::F32)?;
        Some(device_roofline(probe, call))
    }

    /// The limits of a call. A short probe measures what is not known yet.
    pub fn limits(&self, call: &Demand) -> Limits {
        let mut known = self.probe.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = missing(&known, &self.caches, self.cap, call);
        if !missing.units.is_empty() || !missing.levels.is_empty() {
            let found = probe(&missing, SHORT, "");
            known.compute.extend(found.compute);
            known.bandwidth.extend(found.bandwidth);
            known.fork_join.extend(found.fork_join);
            known.absent.extend(found.absent);
        }
        roofline(&known, &self.caches, self.cap, call)
    }
}

/// The limits of a call on a device, in elements that it has arithmetic for. Traffic goes at the
/// rate at which the device reads the greatest probed set that is no larger than that of the call:
/// a larger set is never faster.
fn device_roofline(known: &DeviceProbe, call: &Demand) -> Limits {
    let flops_per_second = known.gflops * 1e9;
    let of_memory = known.reads.iter().map(|of| of.bytes).max();
    let within = |of: &&DeviceRate| call.working_set.is_none_or(|bytes| of.bytes <= bytes);
    let from = known.reads.iter().filter(within).map(|of| of.bytes).max().unwrap_or(0);
    let above = known.reads.iter().filter(|of| of.bytes >= from);
    let best = above.max_by(|a, b| a.gbps.total_cmp(&b.gbps));
    let bytes_per_second = best.map_or(f64::INFINITY, |of| of.gbps * 1e9);
    let arithmetic = call.work.flops as f64 / flops_per_second;
    let traffic = call.work.bytes() as f64 / bytes_per_second;
    let bound_ns = arithmetic.max(traffic) * 1e9;
    let bound = if bound_ns < known.launch_ns {
        Bound::Overhead
    } else if arithmetic >= traffic {
        Bound::Compute
    } else if best.map(|of| of.bytes) == of_memory {
        Bound::Dram
    } else {
        Bound::L2
    };
    Limits { flops_per_second, bytes_per_second, bound_ns, bound: Some(bound), unit: None }
}

/// What a probe lacks for a call.
fn missing(known: &Probe, caches: &Caches, cap: Isa, call: &Demand) -> Ask {
    let threads = call.threads.max(1);
    let units = units(call, cap).filter(|&unit| {
        !known.absent.contains(&unit)
            && !known.compute.iter().any(|limit| (limit.unit, limit.threads) == (unit, threads))
    });
    let levels = Level::ALL.into_iter().filter(|&level| {
        share_beyond(caches, level, threads, call.working_set) > 0.0
            && caches.working_set(level, threads).is_some()
            && !known.bandwidth.iter().any(|limit| (limit.level, limit.threads) == (level, threads))
    });
    Ask { units: units.collect(), levels: levels.collect(), threads: vec![threads], alone: false }
}

fn units(call: &Demand, cap: Isa) -> impl Iterator<Item = Unit> {
    let (dtype, sums_products) = (call.dtype, call.sums_products);
    Unit::ALL.into_iter().filter(move |unit| unit.isa() <= cap && unit.serves(dtype, sums_products))
}

/// The least share of a working set that does not fit into the caches before a level, and that must
/// therefore come from that level.
fn share_beyond(caches: &Caches, level: Level, threads: usize, working_set: Option<u64>) -> f64 {
    let [first, second, third] = caches.bytes;
    let own = threads as u64;
    let before = match level {
        Level::L1 => 0,
        Level::L2 => first * own,
        Level::L3 => (first + second) * own,
        Level::Dram => (first + second) * own + third,
    };
    working_set.map_or(1.0, |bytes| 1.0 - before as f64 / bytes.max(1) as f64)
}

/// The limits of a call from what is known of the machine.
///
/// The unit is the machine's best for the elements' type, not the one that a contender chose:
/// efficiency is relative to the machine. Each level on the way limits the traffic for the share of
/// the working set that the caches before it cannot hold, however well they are used.
pub fn roofline(known: &Probe, caches: &Caches, cap: Isa, call: &Demand) -> Limits {
    let threads = call.threads.max(1);
    let rate = |unit: Unit| {
        let of = known.compute.iter().find(|of| of.unit == unit && of.threads == threads)?;
        Some((unit, of.gops_limit * 1e9))
    };
    let best = units(call, cap).filter_map(rate).max_by(|a, b| a.1.total_cmp(&b.1));
    let flops_per_second = best.map_or(f64::INFINITY, |(_, rate)| rate);
    let arithmetic = call.work.flops as f64 / flops_per_second;
    let passes = Level::ALL.into_iter().filter_map(|level| {
        let share = share_beyond(caches, level, threads, call.working_set);
        (share > 0.0).then_some(())?;
        Some((level, share * traffic_seconds(known, level, threads, &call.work)?))
    });
    let slowest = passes.max_by(|a, b| a.1.total_cmp(&b.1));
    let (level, traffic) = slowest.unwrap_or((Level::L1, 0.0));
    let seconds = arithmetic.max(traffic);
    let overhead_ns = match threads {
        1 => CALL_NS,
        _ => known.fork_join.iter().find(|of| of.threads == threads).map_or(CALL_NS, |of| of.ns),
    };
    let bound = if seconds * 1e9 < overhead_ns {
        Bound::Overhead
    } else if arithmetic >= traffic {
        Bound::Compute
    } else {
        level.into()
    };
    Limits {
        flops_per_second,
        bytes_per_second: if traffic > 0.0 { call.work.bytes() as f64 / traffic } else { 0.0 },
        bound_ns: seconds * 1e9,
        bound: Some(bound),
        unit: best.map(|(unit, _)| unit),
    }
}

/// Least seconds for a call's bytes at a level: reads at the rate of reads, writes at the rate of
/// writes, and both together at the best rate of any traffic.
fn traffic_seconds(known: &Probe, level: Level, threads: usize, work: &Work) -> Option<f64> {
    let best = |kinds: &[Traffic]| {
        let here = known.bandwidth.iter().filter(|of| (of.level, of.threads) == (level, threads));
        let rates = here.filter(|of| kinds.contains(&of.kind)).map(|of| of.gbps * 1e9);
        rates.reduce(f64::max)
    };
    let read = work.bytes_read as f64 / best(&[Traffic::Read])?;
    let written = work.bytes_written as f64 / best(&[Traffic::Write, Traffic::NtWrite])?;
    Some(read.max(written).max(work.bytes() as f64 / best(&Traffic::ALL)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_schema::device::{
        DeviceClock, DeviceKind, DeviceLimits, DeviceMemory, DeviceQueue,
    };
    use proofmark_schema::probe::{BandwidthLimit, ComputeLimit, ForkJoin};

    const CACHES: Caches = Caches { bytes: [48 << 10, 2 << 20, 0] };

    /// 100 G/s of f32, 1000 of bf16 tiles; reads 200, 50 and 10 GB/s; writes and copies half.
    fn known() -> Probe {
        let unit =
            |unit, gops| ComputeLimit { unit, threads: 1, gops_limit: gops, gops_median: 1.0 };
        let stream = |level, kind, gbps| BandwidthLimit {
            level,
            kind,
            threads: 1,
            bytes: 1,
            gbps,
            gbps_median: 1.0,
        };
        let levels = [(Level::L1, 200.0), (Level::L2, 50.0), (Level::Dram, 10.0)];
        Probe {
            compute: vec![
                unit(Unit::F32Avx2, 50.0),
                unit(Unit::F32Avx512, 100.0),
                unit(Unit::Bf16Amx, 1000.0),
            ],
            bandwidth: levels
                .iter()
                .flat_map(|&(level, gbps)| {
                    [(Traffic::Read, gbps), (Traffic::Write, gbps / 2.0), (Traffic::Copy, gbps)]
                        .map(|(kind, gbps)| stream(level, kind, gbps))
                })
                .collect(),
            fork_join: vec![ForkJoin { threads: 2, ns: 2000.0 }],
            ..Probe::default()
        }
    }

    fn call(flops: u64, bytes_read: u64, working_set: u64) -> Demand {
        Demand {
            work: Work { flops, bytes_read, ..Work::default() },
            dtype: DType::F32,
            sums_products: true,
            threads: 1,
            working_set: Some(working_set),
        }
    }

    fn held(call: &Demand) -> (Bound, f64) {
        let limits = roofline(&known(), &CACHES, Isa::Avx512, call);
        (limits.bound.unwrap(), limits.bound_ns)
    }

    #[test]
    fn the_slower_of_arithmetic_and_traffic_holds_a_case() {
        assert_eq!(held(&call(1_000_000, 4000, 4000)), (Bound::Compute, 10_000.0));
        assert_eq!(held(&call(1000, 40_000, 40_000)), (Bound::L1, 200.0));
        let written = Work { bytes_written: 40_000, ..Work::default() };
        assert_eq!(held(&Demand { work: written, ..call(0, 0, 40_000) }), (Bound::L1, 400.0));
        assert_eq!(held(&call(10, 100, 100)).0, Bound::Overhead);
    }

    #[test]
    fn only_what_the_caches_before_cannot_hold_passes_a_level() {
        // The working set is twice the L1 cache: half of it comes from L2, 50 GB/s against 200.
        let (bound, ns) = held(&call(0, 96 << 10, 96 << 10));
        assert_eq!((bound, ns), (Bound::L2, f64::from(48 << 10) / 50.0));
        // The working set is barely larger than the L1 cache. The rest passes quickly, so L1 is the
        // bound.
        assert_eq!(held(&call(0, 50 << 10, 50 << 10)).0, Bound::L1);
        let cold = Demand { working_set: None, ..call(0, 4096, 0) };
        assert_eq!(held(&cold), (Bound::Dram, 409.6));
    }

    #[test]
    fn the_unit_is_the_best_of_the_machine_for_the_type_below_the_cap() {
        let unit = |dtype, sums_products, cap| {
            let call = Demand { dtype, sums_products, ..call(1, 1, 1) };
            roofline(&known(), &CACHES, cap, &call).unit
        };
        assert_eq!(unit(DType::F32, true, Isa::Avx512), Some(Unit::F32Avx512));
        assert_eq!(unit(DType::F32, true, Isa::Avx2), Some(Unit::F32Avx2));
        assert_eq!(unit(DType::Bf16, true, Isa::Avx512), Some(Unit::Bf16Amx));
        assert_eq!(unit(DType::Bf16, false, Isa::Avx512), Some(Unit::F32Avx512));
    }

    #[test]
    fn a_device_has_limits_of_its_own_and_none_without_a_probe_of_it() {
        let rate = |bytes, gbps| DeviceRate { bytes, gbps };
        let probe = DeviceProbe {
            device: "opencl:0".to_owned(),
            model: "x".to_owned(),
            driver: "y".to_owned(),
            units: 1,
            gflops: 100.0,
            reads: vec![rate(1 << 15, 200.0), rate(1 << 20, 50.0), rate(1 << 26, 10.0)],
            launch_ns: 1000.0,
            cold_times: 3.0,
        };
        let held = |call: &Demand| {
            let limits = device_roofline(&probe, call);
            (limits.bound.unwrap(), limits.bound_ns)
        };
        assert_eq!(held(&call(1_000_000, 4000, 4000)), (Bound::Compute, 10_000.0));
        assert_eq!(held(&call(0, 1_000_000, 1 << 20)), (Bound::L2, 20_000.0));
        assert_eq!(held(&call(0, 1 << 27, 1 << 27)).0, Bound::Dram);
        assert_eq!(held(&call(0, 4000, 4000)).0, Bound::Overhead);
        let cold = Demand { working_set: None, ..call(0, 1_000_000, 0) };
        assert_eq!(held(&cold), (Bound::Dram, 100_000.0));

        let device = Device {
            name: "opencl:0".to_owned(),
            kind: DeviceKind::Cpu,
            model: "x".to_owned(),
            driver: "y".to_owned(),
            memory: DeviceMemory::Shared,
            queue: DeviceQueue::InOrder,
            clock: DeviceClock::HostAndEvents,
            limits: DeviceLimits { compute_units: 2, ..DeviceLimits::default() },
        };
        let call = call(1_000_000, 4000, 4000);
        let ceilings = |devices| Ceilings::new(Some(Probe { devices, ..known() }), Isa::Avx512);
        let here = ceilings(vec![probe.clone()]);
        assert_eq!(here.of_device(&device, &call), Some(device_roofline(&probe, &call)));
        let two = Demand { threads: 2, ..call };
        let other = Device { driver: "z".to_owned(), ..device.clone() };
        let halves = Demand { dtype: DType::F16, ..call };
        assert_eq!(here.of_device(&device, &two), None, "both units were not probed");
        assert_eq!(here.of_device(&other, &call), None);
        assert_eq!(here.of_device(&device, &halves), None);
        assert_eq!(ceilings(Vec::new()).of_device(&device, &call), None);
    }

    #[test]
    fn what_a_saved_probe_lacks_is_probed_and_only_once() {
        let ceilings = Ceilings::new(None, Isa::Scalar);
        let call = call(1 << 20, 4096, 4096);
        let first = ceilings.limits(&call);
        assert_eq!(first.unit, Some(Unit::F32Baseline));
        assert!(first.bound_ns > 0.0 && first.bytes_per_second > 0.0);
        assert_eq!(ceilings.limits(&call), first);
        let two = Demand { threads: 2, ..call };
        assert!(missing(&known(), &CACHES, Isa::Scalar, &two).levels.contains(&Level::L1));
        assert_eq!(missing(&known(), &CACHES, Isa::Scalar, &call).levels, []);
    }
}
