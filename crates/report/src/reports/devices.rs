//! The report of devices: what each is, where its operands live, which clocks and limits it has.

use crate::document::{Cell, Column, Document};
use proofmark_schema::Device;
use proofmark_schema::quantity::Bytes;
use serde_json::json;

const COLUMNS: [Column; 8] = [
    Column::left("device", 0),
    Column::left("kind", 0),
    Column::text("driver", 0),
    Column::left("memory", 1),
    Column::left("queue", 2),
    Column::left("clock", 2),
    Column::text("limits", 1),
    Column::text("model", 3),
];

/// The document of devices; `absent` says why those of OpenCL are not here, and how to get one.
pub fn devices(devices: &[Device], absent: Option<&str>) -> Document {
    let data = json!({ "devices": devices, "absent": absent });
    let mut document = Document::new("Devices", data, "devices");
    document.table("devices", &COLUMNS, devices.iter().map(row).collect());
    if let Some(hint) = absent {
        document.note(format!("ABSENT opencl: {hint}"));
    }
    document
}

fn row(device: &Device) -> Vec<Cell> {
    let limits = device.limits;
    let some = |value: u64, text: String| (value > 0).then_some(text);
    let limits = [
        some(limits.compute_units, format!("{} compute units", limits.compute_units)),
        some(limits.work_group, format!("work-groups of {}", limits.work_group)),
        some(limits.local_bytes, format!("{} local", Bytes(limits.local_bytes))),
        some(limits.buffer_bytes, format!("buffers of {}", Bytes(limits.buffer_bytes))),
        some(limits.memory_bytes, format!("{} in all", Bytes(limits.memory_bytes))),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    let texts = [
        device.name.clone(),
        device.kind.name().to_owned(),
        device.driver.clone(),
        device.memory.name().to_owned(),
        device.queue.name().to_owned(),
        device.clock.name().to_owned(),
        limits.join(", "),
        device.model.clone(),
    ];
    texts.into_iter().map(Cell::plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};
    use proofmark_schema::device::{
        DeviceClock, DeviceKind, DeviceLimits, DeviceMemory, DeviceQueue,
    };

    #[test]
    fn a_machine_without_opencl_has_the_host_and_the_hint() {
        let host = Device {
            name: "host".to_owned(),
            kind: DeviceKind::Cpu,
            model: "a processor".to_owned(),
            driver: "proofmark 1".to_owned(),
            memory: DeviceMemory::Shared,
            queue: DeviceQueue::Call,
            clock: DeviceClock::Host,
            limits: DeviceLimits { compute_units: 2, ..DeviceLimits::default() },
        };
        let document = devices(&[host], Some("install one"));
        let text = (find("term").unwrap().render)(&document, &Style::default());
        for part in ["host", "cpu", "2 compute units", "ABSENT opencl: install one"] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(!text.contains("work-groups"), "{text}");
        assert_eq!(document.data["devices"][0]["limits"]["compute_units"], 2);
    }
}
