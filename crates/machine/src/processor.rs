//! What the processor reports about itself: brand, caches, features, hypervisor.

use crate::kernel_text::{cache_size, field, read};
use proofmark_schema::machine::CacheFacts;

/// Features that kernels could use or that matter to clocks, as the kernel spells them. The
/// kernel's list leaves out what it does not support, which the processor's own bits do not.
const FEATURES: &[&str] = &[
    "sse4_2",
    "avx",
    "avx2",
    "fma",
    "f16c",
    "avx_vnni",
    "avx512f",
    "avx512bw",
    "avx512dq",
    "avx512vl",
    "avx512_vnni",
    "avx512_bf16",
    "avx512_fp16",
    "amx_tile",
    "amx_bf16",
    "amx_fp16",
    "amx_int8",
    "constant_tsc",
    "nonstop_tsc",
    "asimd",
    "asimdhp",
    "asimddp",
    "bf16",
    "i8mm",
    "sve",
    "sve2",
];

/// The features of [`FEATURES`] that the kernel lists, in that order.
pub(crate) fn features() -> Vec<String> {
    let text = read("/proc/cpuinfo").unwrap_or_default();
    let listed = field(&text, "flags").or_else(|| field(&text, "Features")).unwrap_or("");
    let is_listed = |feature: &&str| listed.split_whitespace().any(|flag| flag == *feature);
    FEATURES.iter().copied().filter(is_listed).map(str::to_owned).collect()
}

/// The brand string; `unknown` where neither processor nor kernel has one.
pub(crate) fn brand() -> String {
    let listed = || {
        let text = read("/proc/cpuinfo")?;
        Some(field(&text, "model name").or_else(|| field(&text, "Model"))?.to_owned())
    };
    own_brand().or_else(listed).unwrap_or_else(|| "unknown".to_owned())
}

/// The caches that processor 0 sees, by level.
pub(crate) fn caches() -> Vec<CacheFacts> {
    let listed = listed_caches("/sys/devices/system/cpu/cpu0/cache");
    if listed.is_empty() { own_caches() } else { listed }
}

fn listed_caches(folder: &str) -> Vec<CacheFacts> {
    let cache = |index: usize| {
        let file = |name: &str| read(&format!("{folder}/index{index}/{name}"));
        Some(CacheFacts {
            level: file("level")?.parse().ok()?,
            kind: file("type")?.to_lowercase(),
            bytes: cache_size(&file("size")?)?,
        })
    };
    (0..8).map_while(cache).collect()
}

#[cfg(target_arch = "x86_64")]
fn own_brand() -> Option<String> {
    let brand = raw_cpuid::CpuId::new().get_processor_brand_string()?;
    let text = brand.as_str().trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(target_arch = "x86_64")]
fn own_caches() -> Vec<CacheFacts> {
    use raw_cpuid::CacheType;
    let parameters = raw_cpuid::CpuId::new().get_cache_parameters();
    let facts = |cache: raw_cpuid::CacheParameter| {
        let kind = match cache.cache_type() {
            CacheType::Data => "data",
            CacheType::Instruction => "instruction",
            CacheType::Unified => "unified",
            CacheType::Null | CacheType::Reserved => return None,
        };
        let lines = cache.associativity() * cache.physical_line_partitions() * cache.sets();
        let bytes = (lines * cache.coherency_line_size()) as u64;
        Some(CacheFacts { level: cache.level(), kind: kind.to_owned(), bytes })
    };
    parameters.into_iter().flatten().filter_map(facts).collect()
}

/// The hypervisor's name, if the processor admits to one.
#[cfg(target_arch = "x86_64")]
pub(crate) fn hypervisor() -> Option<String> {
    use raw_cpuid::Hypervisor;
    let name = match raw_cpuid::CpuId::new().get_hypervisor_info()?.identify() {
        Hypervisor::Unknown(..) => "unknown".to_owned(),
        known => format!("{known:?}"),
    };
    Some(name)
}

#[cfg(not(target_arch = "x86_64"))]
fn own_brand() -> Option<String> {
    None
}

#[cfg(not(target_arch = "x86_64"))]
fn own_caches() -> Vec<CacheFacts> {
    Vec::new()
}

/// The hypervisor's name, as the kernel shows it.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn hypervisor() -> Option<String> {
    read("/sys/hypervisor/type")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_have_levels_and_sizes() {
        for cache in caches().iter().chain(&own_caches()) {
            assert!((1..=4).contains(&cache.level) && cache.bytes > 0, "{cache:?}");
            assert!(["data", "instruction", "unified"].contains(&cache.kind.as_str()), "{cache:?}");
        }
    }

    #[test]
    fn features_agree_with_what_the_standard_library_detects() {
        #[cfg(target_arch = "x86_64")]
        assert_eq!(
            features().iter().any(|feature| feature == "avx2"),
            is_x86_feature_detected!("avx2")
        );
    }
}
