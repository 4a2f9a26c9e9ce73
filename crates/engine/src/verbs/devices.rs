//! The devices of this machine.

use proofmark_schema::device::{
    DeviceClock, DeviceKind, DeviceLimits, DeviceMemory, DeviceQueue, HOST,
};
use proofmark_schema::{Device, Isa};

/// The devices that contenders run on, the host first, and why there is none of OpenCL. Drivers are
/// opened in this process, so a program that starts workers afterwards must not call this.
pub fn devices(cap: Isa) -> (Vec<Device>, Option<String>) {
    let mut devices = vec![host(cap)];
    proofmark_opencl::set_environment();
    match proofmark_opencl::devices() {
        Ok(found) => devices.extend(found),
        Err(absent) => return (devices, Some(absent.to_string())),
    }
    (devices, None)
}

fn host(cap: Isa) -> Device {
    let facts = proofmark_machine::facts(cap);
    Device {
        name: HOST.to_owned(),
        kind: DeviceKind::Cpu,
        model: facts.cpu,
        driver: format!("proofmark {} {}", env!("CARGO_PKG_VERSION"), facts.isa),
        memory: DeviceMemory::Shared,
        queue: DeviceQueue::Call,
        clock: DeviceClock::Host,
        limits: DeviceLimits {
            compute_units: facts.cpus.len() as u64,
            memory_bytes: facts.memory_bytes,
            ..DeviceLimits::default()
        },
    }
}
