//! Devices: where the operands of a contender live, how they get there, and which clocks it has.

use serde::{Deserialize, Serialize};

/// The name of the device that this program runs on, in patterns and tables.
pub const HOST: &str = "host";

/// A device that contenders run on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its name in patterns: `host`, or `opencl:0` for the first device of OpenCL.
    pub name: String,
    /// What it is.
    pub kind: DeviceKind,
    /// What its maker calls it.
    pub model: String,
    /// The software that drives it, with its version.
    pub driver: String,
    /// Where operands live.
    pub memory: DeviceMemory,
    /// How calls reach it, and when one is done.
    pub queue: DeviceQueue,
    /// The clocks that time a call.
    pub clock: DeviceClock,
    /// The most that it can do.
    pub limits: DeviceLimits,
}

/// What a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A processor.
    Cpu,
    /// A graphics processor.
    Gpu,
    /// Anything else.
    Accelerator,
}

impl DeviceKind {
    /// The word in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            DeviceKind::Cpu => "cpu",
            DeviceKind::Gpu => "gpu",
            DeviceKind::Accelerator => "accelerator",
        }
    }
}

/// Where the operands of a device live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceMemory {
    /// In the memory of the host: the guard pages of the arena stand around them.
    Shared,
    /// In memory of its own, so that operands are copied there and results back.
    Own,
}

impl DeviceMemory {
    /// The word in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            DeviceMemory::Shared => "shared",
            DeviceMemory::Own => "own",
        }
    }
}

/// How calls reach a device, and when one is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceQueue {
    /// A call is a function that returns when it is done.
    Call,
    /// A call is put into a queue that keeps order. It is done when the queue has reported that
    /// nothing is left in it.
    InOrder,
}

impl DeviceQueue {
    /// The word in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            DeviceQueue::Call => "call",
            DeviceQueue::InOrder => "in order",
        }
    }
}

/// The clocks that time a call on a device. The clock of the host always decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceClock {
    /// That of the host.
    Host,
    /// That of the host, and that of the device by its events.
    HostAndEvents,
}

impl DeviceClock {
    /// The word in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            DeviceClock::Host => "host",
            DeviceClock::HostAndEvents => "host and events",
        }
    }
}

/// The most that a device can do; 0 where it does not report a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceLimits {
    /// Parts that compute at the same time.
    pub compute_units: u64,
    /// Work-items of a work-group.
    pub work_group: u64,
    /// Bytes of local memory of a work-group.
    pub local_bytes: u64,
    /// Bytes of one buffer.
    pub buffer_bytes: u64,
    /// Bytes of all memory.
    pub memory_bytes: u64,
}

/// The times of one slice on the clock of a device: sums over the calls whose events were kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceSlice {
    /// The arm.
    pub arm: u32,
    /// Calls of the slice.
    pub calls: u32,
    /// The time of these on the clock of the host.
    pub wall_ns: u64,
    /// Calls whose events were kept.
    pub kept: u32,
    /// The time of their kernels on the clock of the device.
    pub kernel_ns: u64,
    /// The time of moving operands to the device and back on the same clock.
    pub copy_ns: u64,
}

/// The time of a call by the two clocks: medians over slices, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceTime {
    /// The kernel, by the events of the device.
    pub kernel_ns: f64,
    /// Moving operands to the device and back, by its events.
    pub copy_ns: f64,
    /// The rest of the time that the host waited: the launch.
    pub launch_ns: f64,
}

impl DeviceTime {
    /// The medians over the slices of an arm; none if no event of it was kept.
    pub fn of(slices: &[DeviceSlice], arm: u32) -> Option<DeviceTime> {
        let of_arm = || slices.iter().filter(|one| one.arm == arm && one.kept > 0 && one.calls > 0);
        let median = |value: &dyn Fn(&DeviceSlice) -> f64| {
            let mut values: Vec<f64> = of_arm().map(value).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied()
        };
        let kernel = |one: &DeviceSlice| one.kernel_ns as f64 / f64::from(one.kept);
        let copy = |one: &DeviceSlice| one.copy_ns as f64 / f64::from(one.kept);
        let host = |one: &DeviceSlice| one.wall_ns as f64 / f64::from(one.calls);
        Some(DeviceTime {
            kernel_ns: median(&kernel)?,
            copy_ns: median(&copy)?,
            launch_ns: median(&|one| host(one) - kernel(one) - copy(one))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launch_is_what_the_host_waited_beside_kernel_and_copies() {
        let slice = |arm, wall_ns, kernel_ns| DeviceSlice {
            arm,
            calls: 10,
            wall_ns,
            kept: 2,
            kernel_ns,
            copy_ns: 4,
        };
        let slices = [slice(0, 10, 2), slice(1, 1000, 100), slice(1, 2000, 200), slice(1, 900, 90)];
        let time = DeviceTime::of(&slices, 1).unwrap();
        assert_eq!((time.kernel_ns, time.copy_ns, time.launch_ns), (50.0, 2.0, 48.0));
        assert_eq!(DeviceTime::of(&slices, 2), None);
    }
}
