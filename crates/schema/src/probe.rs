//! What a machine can do at best, as its probe found it.

use crate::{DType, Isa};
use serde::{Deserialize, Serialize};

/// A kind of arithmetic that the processor may have instructions for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// f32 multiply and add as every processor of the architecture has them: 128 bits on x86-64.
    F32Baseline,
    /// f32 multiply-add, 256 bits.
    F32Avx2,
    /// f32 multiply-add, 512 bits.
    F32Avx512,
    /// f64 multiply-add, 256 bits.
    F64Avx2,
    /// f64 multiply-add, 512 bits.
    F64Avx512,
    /// f16 multiply-add, 512 bits.
    F16Avx512,
    /// Sums of two bf16 products in f32, 512 bits.
    Bf16Avx512,
    /// Sums of four products of bytes, 256 bits.
    Int8AvxVnni,
    /// Sums of four products of bytes, 512 bits.
    Int8Avx512Vnni,
    /// bf16 products of tiles.
    Bf16Amx,
    /// f16 products of tiles.
    F16Amx,
    /// Byte products of tiles.
    Int8Amx,
}

impl Unit {
    /// Every unit.
    pub const ALL: [Unit; 12] = [
        Unit::F32Baseline,
        Unit::F32Avx2,
        Unit::F32Avx512,
        Unit::F64Avx2,
        Unit::F64Avx512,
        Unit::F16Avx512,
        Unit::Bf16Avx512,
        Unit::Int8AvxVnni,
        Unit::Int8Avx512Vnni,
        Unit::Bf16Amx,
        Unit::F16Amx,
        Unit::Int8Amx,
    ];

    /// The name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Unit::F32Baseline => "f32_baseline",
            Unit::F32Avx2 => "f32_avx2",
            Unit::F32Avx512 => "f32_avx512",
            Unit::F64Avx2 => "f64_avx2",
            Unit::F64Avx512 => "f64_avx512",
            Unit::F16Avx512 => "f16_avx512",
            Unit::Bf16Avx512 => "bf16_avx512",
            Unit::Int8AvxVnni => "int8_avx_vnni",
            Unit::Int8Avx512Vnni => "int8_avx512_vnni",
            Unit::Bf16Amx => "bf16_amx",
            Unit::F16Amx => "f16_amx",
            Unit::Int8Amx => "int8_amx",
        }
    }

    /// The lowest path whose kernels may use it.
    pub fn isa(self) -> Isa {
        match self {
            Unit::F32Baseline => Isa::Scalar,
            Unit::F32Avx2 | Unit::F64Avx2 | Unit::Int8AvxVnni => Isa::Avx2,
            _ => Isa::Avx512,
        }
    }

    /// Whether it could do the arithmetic of an op on elements of this type. Units that only sum
    /// products serve ops that do so; 16-bit types may be computed in f32.
    pub fn serves(self, dtype: DType, sums_products: bool) -> bool {
        match self {
            Unit::F64Avx2 | Unit::F64Avx512 => dtype == DType::F64,
            Unit::F16Avx512 => dtype == DType::F16,
            Unit::F16Amx => sums_products && dtype == DType::F16,
            Unit::Bf16Avx512 | Unit::Bf16Amx => sums_products && dtype == DType::Bf16,
            Unit::Int8Amx => sums_products && matches!(dtype, DType::I8 | DType::U8),
            Unit::Int8AvxVnni | Unit::Int8Avx512Vnni => matches!(dtype, DType::I8 | DType::U8),
            // The baseline has f64 too, at half the rate: as a limit of f64 it errs upwards.
            Unit::F32Baseline => true,
            Unit::F32Avx2 | Unit::F32Avx512 => dtype != DType::F64,
        }
    }
}

/// Where a working set lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Level {
    /// First cache.
    L1,
    /// Second cache.
    L2,
    /// Third cache, which processors share.
    L3,
    /// Main memory.
    #[serde(rename = "DRAM")]
    Dram,
}

impl Level {
    /// Every level, nearest first.
    pub const ALL: [Level; 4] = [Level::L1, Level::L2, Level::L3, Level::Dram];

    /// The name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Level::L1 => "L1",
            Level::L2 => "L2",
            Level::L3 => "L3",
            Level::Dram => "DRAM",
        }
    }
}

/// A way to stream through memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Traffic {
    /// One array is read.
    Read,
    /// One array is written.
    Write,
    /// One array is written from another.
    Copy,
    /// `x = y + f·z`.
    Triad,
    /// As `Write`, with stores that bypass the caches.
    NtWrite,
    /// As `Copy`, likewise.
    NtCopy,
    /// As `Triad`, likewise.
    NtTriad,
}

impl Traffic {
    /// Every way.
    pub const ALL: [Traffic; 7] = [
        Traffic::Read,
        Traffic::Write,
        Traffic::Copy,
        Traffic::Triad,
        Traffic::NtWrite,
        Traffic::NtCopy,
        Traffic::NtTriad,
    ];

    /// The name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Traffic::Read => "read",
            Traffic::Write => "write",
            Traffic::Copy => "copy",
            Traffic::Triad => "triad",
            Traffic::NtWrite => "nt_write",
            Traffic::NtCopy => "nt_copy",
            Traffic::NtTriad => "nt_triad",
        }
    }

    /// Arrays that it walks over, each byte of which is read or written once.
    pub fn arrays(self) -> usize {
        match self {
            Traffic::Read | Traffic::Write | Traffic::NtWrite => 1,
            Traffic::Copy | Traffic::NtCopy => 2,
            Traffic::Triad | Traffic::NtTriad => 3,
        }
    }
}

/// The rate of a unit, in 10⁹ operations a second; a multiply-add is two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComputeLimit {
    /// The unit.
    pub unit: Unit,
    /// Threads that ran at the same time; the rate is that of all together.
    pub threads: usize,
    /// The rate in a clean millisecond: the 99th percentile.
    pub gops_limit: f64,
    /// The rate in a usual millisecond: the median.
    pub gops_median: f64,
}

/// The rate of a stream, in 10⁹ bytes a second that the program reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BandwidthLimit {
    /// Where the working set lives.
    pub level: Level,
    /// How it is walked.
    pub kind: Traffic,
    /// Threads, each with a working set of its own.
    pub threads: usize,
    /// Working set of one thread, all arrays together.
    pub bytes: u64,
    /// The 95th percentile of milliseconds.
    pub gbps: f64,
    /// The median.
    pub gbps_median: f64,
}

/// The time of a load whose address is the result of the load before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyLimit {
    /// Working set, walked in an order that no prefetcher follows.
    pub bytes: u64,
    /// The 5th percentile of milliseconds.
    pub ns: f64,
    /// The median.
    pub ns_median: f64,
}

/// The time to let several threads begin and to wait for all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForkJoin {
    /// Threads.
    pub threads: usize,
    /// The 5th percentile of milliseconds.
    pub ns: f64,
}

/// The rate at which a device reads a working set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceRate {
    /// Bytes of the working set.
    pub bytes: u64,
    /// 10⁹ bytes a second.
    pub gbps: f64,
}

/// What a device can do at best, on some of its compute units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceProbe {
    /// Its name in patterns.
    pub device: String,
    /// What its maker calls it.
    pub model: String,
    /// The software that drives it.
    pub driver: String,
    /// Compute units that ran.
    pub units: u64,
    /// f32 arithmetic in 10⁹ operations a second; a multiply-add is two.
    pub gflops: f64,
    /// Reads of working sets that its caches hold, least first, and of one that they do not.
    pub reads: Vec<DeviceRate>,
    /// The time that the host waits for a kernel that does nothing.
    pub launch_ns: f64,
    /// How many times longer a read takes after a sweep over more than the caches hold.
    pub cold_times: f64,
}

/// What a machine can do at best.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Format version.
    pub format: u32,
    /// Fingerprint of the machine.
    pub machine: String,
    /// When it was made, in seconds since 1970 (UTC).
    pub made: u64,
    /// How long it took.
    pub seconds: f64,
    /// Clock of a core in 10⁹ cycles a second, where it can be measured.
    pub clock_ghz: Option<f64>,
    /// Rates of arithmetic.
    pub compute: Vec<ComputeLimit>,
    /// Rates of memory.
    pub bandwidth: Vec<BandwidthLimit>,
    /// Latencies of memory.
    pub latency: Vec<LatencyLimit>,
    /// Costs of regions of several threads.
    pub fork_join: Vec<ForkJoin>,
    /// Units that the processor or the system does not have.
    pub absent: Vec<Unit>,
    /// Its devices besides the host; empty in probes that were made before this field existed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceProbe>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_files() {
        for unit in Unit::ALL {
            assert_eq!(json(&unit), unit.name());
        }
        for level in Level::ALL {
            assert_eq!(json(&level), level.name());
        }
        for traffic in Traffic::ALL {
            assert_eq!(json(&traffic), traffic.name());
        }
    }

    fn json(value: &impl Serialize) -> serde_json::Value {
        serde_json::to_value(value).unwrap()
    }

    #[test]
    fn units_that_sum_products_serve_products_alone() {
        let serving = |dtype, sums| Unit::ALL.into_iter().filter(move |u| u.serves(dtype, sums));
        assert!(serving(DType::Bf16, true).any(|unit| unit == Unit::Bf16Amx));
        assert!(serving(DType::F16, true).any(|unit| unit == Unit::F16Amx));
        assert!(serving(DType::Bf16, false).all(|unit| unit.name().starts_with("f32")));
        assert!(serving(DType::F32, true).all(|unit| unit.name().starts_with("f32")));
        assert!(serving(DType::F64, true).any(|unit| unit == Unit::F64Avx512));
        for dtype in DType::ALL {
            assert!(serving(dtype, false).next().is_some(), "{dtype}");
        }
    }
}
