//! The probe of a device on this machine. Without one it is passed over, unless
//! `PROOFMARK_REQUIRE_OPENCL` is set.
#![expect(clippy::disallowed_methods, reason = "a test reads its own switch")]

use proofmark_opencl::{found, probe, set_environment};

#[test]
fn a_device_has_rates_and_a_time_to_launch() {
    if found().is_err() {
        assert!(std::env::var_os("PROOFMARK_REQUIRE_OPENCL").is_none(), "there is no device");
        return;
    }
    set_environment();
    let probes = probe(0.4).unwrap();
    assert_eq!(probes[0].units, 1);
    for of in &probes {
        assert!(of.gflops > 0.1 && of.gflops < 1e6, "{of:?}");
        assert!(of.reads.len() >= 2 && of.reads.is_sorted_by_key(|rate| rate.bytes), "{of:?}");
        assert!(of.reads.iter().all(|rate| rate.gbps > 0.01 && rate.gbps < 1e5), "{of:?}");
        assert!(of.launch_ns > 0.0 && of.launch_ns < 1e9, "{of:?}");
        // How much slower a cold read is depends on what else the machine does: none is asked for.
        assert!(of.cold_times > 0.0 && of.cold_times.is_finite(), "{of:?}");
    }
}
