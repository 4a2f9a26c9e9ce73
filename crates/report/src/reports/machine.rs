//! The report of the machine's facts.

use super::probe::push_probe;
use crate::document::{Cell, Column, Document};
use crate::plain::percent;
use proofmark_schema::machine::{CacheFacts, Load, MachineFacts};
use proofmark_schema::probe::Probe;
use proofmark_schema::quantity::Bytes;
use serde_json::json;

const COLUMNS: [Column; 2] = [Column::left("fact", 0), Column::text("value", 0)];

/// The document of a machine, what it is doing at the time `now` (seconds since 1970), and what
/// its last probe found.
pub fn machine(facts: &MachineFacts, load: &Load, probe: Option<&Probe>, now: u64) -> Document {
    let data = json!({ "machine": facts, "load": load, "probe": probe });
    let mut document = Document::new(format!("Machine {}", facts.fingerprint), data, "");
    let mut rows = fact_rows(facts);
    rows.extend([
        ("load average", format!("{:.2}", load.average)),
        ("waiting for a CPU", percent(100.0 * load.pressure)),
        ("stolen since boot", percent(100.0 * load.steal)),
        ("memory available", Bytes(load.available_bytes).to_string()),
    ]);
    push_facts(&mut document, "", rows);
    if facts.hypervisor.is_some() {
        document.note("in a virtual machine, caches and features are what the hypervisor says");
    }
    match probe {
        Some(probe) => push_probe(&mut document, probe, now),
        None => document.note("its limits are not known: `proofmark machine probe` measures them"),
    }
    document
}

/// What a machine is, whatever it is doing.
pub(super) fn fact_rows(facts: &MachineFacts) -> Vec<(&'static str, String)> {
    let caches: Vec<String> = facts.caches.iter().map(cache).collect();
    let or_none = |value: &Option<String>| value.clone().unwrap_or_else(|| "none seen".to_owned());
    let counters = if facts.hardware_counters { "can be opened" } else { "cannot be opened" };
    vec![
        ("processor", facts.cpu.clone()),
        ("architecture", facts.arch.clone()),
        ("processors", facts.cpus.len().to_string()),
        ("memory", Bytes(facts.memory_bytes).to_string()),
        ("caches", caches.join(", ")),
        ("features", facts.features.join(" ")),
        ("highest path", facts.isa.to_string()),
        ("kernel", facts.kernel.clone()),
        ("hypervisor", or_none(&facts.hypervisor)),
        ("huge pages", facts.huge_pages.clone()),
        ("governor", or_none(&facts.governor)),
        ("hardware counters", counters.to_owned()),
    ]
}

/// Adds facts as a table.
pub(super) fn push_facts(
    document: &mut Document,
    title: &str,
    rows: impl IntoIterator<Item = (&'static str, String)>,
) {
    let row = |(name, value): (&str, String)| vec![Cell::plain(name), Cell::plain(value)];
    document.table(title, &COLUMNS, rows.into_iter().map(row).collect());
}

fn cache(cache: &CacheFacts) -> String {
    format!("L{} {} {}", cache.level, cache.kind, Bytes(cache.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};
    use proofmark_schema::Isa;

    #[test]
    fn facts_are_shown_with_units_and_kept_as_data() {
        let facts = MachineFacts {
            format: 1,
            cpu: "A CPU".to_owned(),
            arch: "x86_64".to_owned(),
            cpus: vec![0, 1],
            memory_bytes: 24 << 30,
            caches: vec![CacheFacts { level: 1, kind: "data".to_owned(), bytes: 48 << 10 }],
            features: vec!["avx2".to_owned()],
            isa: Isa::Avx2,
            kernel: "6.1".to_owned(),
            hypervisor: Some("KVM".to_owned()),
            huge_pages: "madvise".to_owned(),
            governor: None,
            hardware_counters: false,
            fingerprint: "0123456789ab".to_owned(),
        };
        let document = machine(&facts, &Load::default(), None, 0);
        let text = (find("term").unwrap().render)(&document, &Style::default());
        for part in ["Machine 0123456789ab", "L1 data 48.0 KiB", "24.0 GiB", "KVM", "none seen"] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(text.contains("its limits are not known"), "{text}");
        assert_eq!(document.data["machine"]["memory_bytes"], 24_u64 << 30);
        let probe = Probe { made: 100, clock_ghz: Some(3.0), ..Probe::default() };
        let document = machine(&facts, &Load::default(), Some(&probe), 100 + 180);
        let text = (find("term").unwrap().render)(&document, &Style::default());
        assert!(text.contains("3.00 GHz") && text.contains("probed 3 min ago"), "{text}");
    }
}
