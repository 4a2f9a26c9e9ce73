//! The report of a machine's limits.

use crate::document::{Cell, Column, Document};
use crate::plain::counted;
use proofmark_schema::probe::{BandwidthLimit, ComputeLimit, DeviceProbe, Probe, Traffic};
use proofmark_schema::quantity::{Age, Bytes, Nanos, three_digits};
use serde_json::json;

const COMPUTE: [Column; 4] = [
    Column::left("unit", 0),
    Column::right("threads", 0),
    Column::right("limit", 0),
    Column::right("median", 1),
];

const BANDWIDTH: [Column; 10] = [
    Column::left("level", 0),
    Column::right("each", 1),
    Column::right("threads", 0),
    Column::right("read", 0),
    Column::right("write", 0),
    Column::right("copy", 0),
    Column::right("triad", 0),
    Column::right("nt write", 2),
    Column::right("nt copy", 2),
    Column::right("nt triad", 2),
];

const LATENCY: [Column; 3] =
    [Column::right("working set", 0), Column::right("ns", 0), Column::right("median", 1)];

const DEVICES: [Column; 7] = [
    Column::left("device", 0),
    Column::right("units", 0),
    Column::right("GFLOP/s", 0),
    Column::right("cached GB/s", 0),
    Column::right("memory GB/s", 0),
    Column::right("launch", 0),
    Column::right("cold", 1),
];

/// The document of a probe, seen at the time `now` (seconds since 1970).
pub fn probe(probe: &Probe, now: u64) -> Document {
    let mut document = Document::new(format!("Limits of {}", probe.machine), json!(probe), "");
    push_probe(&mut document, probe, now);
    document
}

/// The tables of a probe, with its age.
pub(super) fn push_probe(document: &mut Document, probe: &Probe, now: u64) {
    document.table("Arithmetic, 10⁹ operations a second", &COMPUTE, compute_rows(probe));
    document.table("Memory, 10⁹ bytes a second", &BANDWIDTH, bandwidth_rows(probe));
    let latency = probe.latency.iter().map(|of| {
        let cells = [Bytes(of.bytes).to_string(), three_digits(of.ns), three_digits(of.ns_median)];
        cells.map(Cell::plain).to_vec()
    });
    document.table("A load that waits for the one before", &LATENCY, latency.collect());
    let joins = probe.fork_join.iter().map(|of| {
        format!("; a region of {} costs {} ns", counted(of.threads, "thread"), three_digits(of.ns))
    });
    if !probe.devices.is_empty() {
        document.table("Devices", &DEVICES, probe.devices.iter().map(device_row).collect());
        document.note(
            "a device's rates are those of its own clock; launch is what the host waits for a \
             kernel that does nothing, cold how many times longer a read takes after a sweep over \
             more than the caches hold",
        );
    }
    let clock = probe.clock_ghz.map_or_else(|| "unknown".to_owned(), |ghz| format!("{ghz:.2} GHz"));
    document.note(format!("core clock {clock}{}", joins.collect::<String>()));
    document.note(
        "limits are of clean milliseconds: the 99th percentile of arithmetic, the 95th of memory; \
         rates of several threads are of all together",
    );
    if !probe.absent.is_empty() {
        let names: Vec<&str> = probe.absent.iter().map(|unit| unit.name()).collect();
        document.note(format!("not on this machine: {}", names.join(", ")));
    }
    document.note(format!(
        "probed {} ago in {} s; `proofmark machine probe` probes again",
        Age(now.saturating_sub(probe.made)),
        three_digits(probe.seconds)
    ));
}

fn device_row(of: &DeviceProbe) -> Vec<Cell> {
    let memory = of.reads.iter().max_by_key(|rate| rate.bytes);
    let cached = of.reads.iter().filter(|rate| Some(*rate) != memory).map(|rate| rate.gbps);
    let rate = |gbps: Option<f64>| gbps.map_or_else(String::new, three_digits);
    let texts = [
        of.device.clone(),
        of.units.to_string(),
        three_digits(of.gflops),
        rate(cached.reduce(f64::max)),
        rate(memory.map(|rate| rate.gbps)),
        Nanos(of.launch_ns).to_string(),
        format!("{:.1}×", of.cold_times),
    ];
    texts.map(Cell::plain).to_vec()
}

fn compute_rows(probe: &Probe) -> Vec<Vec<Cell>> {
    let mut limits = probe.compute.clone();
    limits.sort_by_key(|of| (of.unit, of.threads));
    let row = |of: &ComputeLimit| {
        let (limit, median) = (three_digits(of.gops_limit), three_digits(of.gops_median));
        [of.unit.name().to_owned(), of.threads.to_string(), limit, median].map(Cell::plain).to_vec()
    };
    limits.iter().map(row).collect()
}

/// A row for each level and number of threads, a column for each kind.
fn bandwidth_rows(probe: &Probe) -> Vec<Vec<Cell>> {
    let place = |of: &BandwidthLimit| (of.level, of.threads, of.bytes);
    let mut places: Vec<_> = probe.bandwidth.iter().map(place).collect();
    places.sort_unstable();
    places.dedup();
    let row = |&(level, threads, bytes): &(_, usize, u64)| {
        let rate = |kind: Traffic| {
            let here =
                |of: &&BandwidthLimit| place(of) == (level, threads, bytes) && of.kind == kind;
            let found = probe.bandwidth.iter().find(here);
            found.map_or_else(Cell::nothing, |of| Cell::plain(three_digits(of.gbps)))
        };
        let first = [level.name().to_owned(), Bytes(bytes).to_string(), threads.to_string()];
        first.map(Cell::plain).into_iter().chain(Traffic::ALL.map(rate)).collect()
    };
    places.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};
    use proofmark_schema::probe::{DeviceRate, ForkJoin, LatencyLimit, Level, Unit};

    fn example() -> Probe {
        let stream = |level, kind, threads| BandwidthLimit {
            level,
            kind,
            threads,
            bytes: 24 << 10,
            gbps: 378.4,
            gbps_median: 327.0,
        };
        Probe {
            format: 2,
            machine: "0123456789ab".to_owned(),
            made: 1000,
            seconds: 51.2,
            clock_ghz: Some(2.99),
            compute: vec![ComputeLimit {
                unit: Unit::Int8Avx512Vnni,
                threads: 1,
                gops_limit: 746.0,
                gops_median: 669.0,
            }],
            bandwidth: Traffic::ALL.map(|kind| stream(Level::Dram, kind, 2)).to_vec(),
            latency: vec![LatencyLimit { bytes: 32 << 10, ns: 1.7, ns_median: 1.8 }],
            fork_join: vec![ForkJoin { threads: 2, ns: 812.0 }],
            absent: vec![Unit::Bf16Amx],
            devices: vec![DeviceProbe {
                device: "opencl:0".to_owned(),
                model: "pocl".to_owned(),
                driver: "3.1".to_owned(),
                units: 2,
                gflops: 123.0,
                reads: vec![
                    DeviceRate { bytes: 1 << 15, gbps: 456.0 },
                    DeviceRate { bytes: 1 << 26, gbps: 12.3 },
                ],
                launch_ns: 7890.0,
                cold_times: 4.5,
            }],
        }
    }

    #[test]
    fn limits_fit_eighty_columns_and_say_their_age_and_what_is_absent() {
        let document = probe(&example(), 1000 + 7300);
        let style = Style { width: 80, colour: false, ..Style::default() };
        let text = (find("term").unwrap().render)(&document, &style);
        let host = ["int8_avx512_vnni", "746", "DRAM", "nt triad", "2.99 GHz", "bf16_amx", "2 h"];
        for part in host.into_iter().chain(["opencl:0", "456", "12.3", "7.89 µs", "4.5×"]) {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn data_has_the_keys_that_programs_read() {
        let data = probe(&example(), 0).data;
        for key in ["compute", "bandwidth", "latency", "clock_ghz", "machine", "made", "seconds"] {
            assert!(!data[key].is_null(), "{key}");
        }
        assert_eq!(data["compute"][0]["unit"], "int8_avx512_vnni");
        assert_eq!(data["bandwidth"][4]["kind"], "nt_write");
    }
}
