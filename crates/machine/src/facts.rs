//! The facts about this machine, and the name of machines like it.

use crate::kernel_text::{chosen, memory_bytes, read};
use crate::{counters, processor};
use proofmark_schema::machine::{CacheFacts, MachineFacts};
use proofmark_schema::{FORMAT_VERSION, Isa};

/// What this computer is; kernels may use no path above `isa_cap`.
pub fn facts(isa_cap: Isa) -> MachineFacts {
    let meminfo = read("/proc/meminfo").unwrap_or_default();
    let mut facts = MachineFacts {
        format: FORMAT_VERSION,
        cpu: processor::brand(),
        arch: std::env::consts::ARCH.to_owned(),
        cpus: cpus(),
        memory_bytes: memory_bytes(&meminfo, "MemTotal").unwrap_or(0),
        caches: processor::caches(),
        features: processor::features(),
        isa: proofmark_simd::detect().min(isa_cap),
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        hypervisor: processor::hypervisor(),
        huge_pages: huge_pages(),
        governor: governor(),
        hardware_counters: counters::try_open().is_ok(),
        fingerprint: String::new(),
    };
    facts.fingerprint = fingerprint(&facts);
    facts
}

/// Processors this process may run on.
pub(crate) fn cpus() -> Vec<usize> {
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect(),
        Err(_) => vec![0],
    }
}

/// Bytes of one core's L2 cache; a usual size if the machine does not report it.
pub fn second_cache_bytes() -> u64 {
    let caches = processor::caches();
    let second = caches.iter().find(|cache| cache.level == 2 && cache.kind != "instruction");
    second.map_or(proofmark_simd::USUAL_L2_BYTES as u64, |cache| cache.bytes)
}

/// The frequency governor of the first processor, if the kernel shows one.
pub(crate) fn governor() -> Option<String> {
    read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
}

/// State of transparent huge pages: `always`, `madvise`, `never` or `unknown`.
pub(crate) fn huge_pages() -> String {
    let text = read("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    chosen(&text).unwrap_or("unknown").to_owned()
}

/// Twelve hexadecimal digits over what changes speed. Memory counts in whole GiB, because the
/// kernel keeps a part for itself that changes between its versions.
fn fingerprint(facts: &MachineFacts) -> String {
    let cache = |cache: &CacheFacts| format!("{}{}={}", cache.level, cache.kind, cache.bytes);
    let caches: Vec<String> = facts.caches.iter().map(cache).collect();
    let gib = (facts.memory_bytes as f64 / f64::from(1 << 30)).round();
    let text = format!(
        "{}\n{}\n{}\n{}\n{gib}",
        facts.cpu,
        facts.cpus.len(),
        caches.join(" "),
        facts.features.join(" ")
    );
    blake3::hash(text.as_bytes()).to_hex()[..12].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_repeat_and_obey_the_cap() {
        let facts = facts(Isa::Scalar);
        assert_eq!(facts.isa, Isa::Scalar);
        assert_eq!(facts, super::facts(Isa::Scalar));
        assert!(!facts.cpus.is_empty() && facts.memory_bytes > 0 && !facts.kernel.is_empty());
    }

    #[test]
    fn the_fingerprint_follows_what_changes_speed_and_nothing_else() {
        let facts = facts(Isa::Avx512);
        assert_eq!(facts.fingerprint.len(), 12);
        assert!(facts.fingerprint.chars().all(|c| c.is_ascii_hexdigit()));
        let other = MachineFacts { kernel: "0".to_owned(), isa: Isa::Scalar, ..facts.clone() };
        assert_eq!(fingerprint(&other), facts.fingerprint);
        let other = MachineFacts { cpus: vec![0; facts.cpus.len() + 1], ..facts.clone() };
        assert_ne!(fingerprint(&other), facts.fingerprint);
        let other = MachineFacts { memory_bytes: facts.memory_bytes + (5 << 30), ..facts.clone() };
        assert_ne!(fingerprint(&other), facts.fingerprint);
    }
}
