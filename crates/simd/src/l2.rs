//! The size of a core's L2 cache, which kernels cut their blocks by.

use std::sync::OnceLock;

/// Bytes of an L2 cache whose size the processor does not report.
pub const USUAL_L2_BYTES: usize = 2 << 20;

/// Bytes of one core's L2 cache. The processor is asked once.
// Inlined, the query would only bloat the kernels that call this.
#[inline(never)]
pub fn l2_bytes() -> usize {
    static KNOWN: OnceLock<usize> = OnceLock::new();
    *KNOWN.get_or_init(|| reported().unwrap_or(USUAL_L2_BYTES))
}

/// What CPUID reports: leaf 4 of Intel's processors, or 0x8000_001d of AMD's in the same form.
#[cfg(target_arch = "x86_64")]
fn reported() -> Option<usize> {
    use core::arch::x86_64::{__cpuid, __cpuid_count};
    /// More caches than any processor lists.
    const MOST: u32 = 8;
    let is_known = |leaf: &u32| __cpuid(leaf & 0x8000_0000).eax >= *leaf;
    let second = |leaf: u32| {
        let listed = (0..MOST).map(|index| __cpuid_count(leaf, index));
        let mut present = listed.take_while(|cache| cache.eax & 0x1f != 0);
        // Type 2 caches instructions alone.
        present.find(|cache| cache.eax & 0x1f != 2 && cache.eax >> 5 & 7 == 2)
    };
    let cache = [4, 0x8000_001d].into_iter().filter(is_known).find_map(second)?;
    let (ways, parts) = ((cache.ebx >> 22) + 1, (cache.ebx >> 12 & 0x3ff) + 1);
    let (line, sets) = ((cache.ebx & 0xfff) + 1, cache.ecx + 1);
    Some([ways, parts, line, sets].into_iter().map(|count| count as usize).product())
}

#[cfg(not(target_arch = "x86_64"))]
fn reported() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_that_of_an_l2_cache() {
        let bytes = l2_bytes();
        assert!((64 << 10..=64 << 20).contains(&bytes), "{bytes} bytes");
        assert_eq!(bytes % 64, 0, "whole lines");
    }
}
