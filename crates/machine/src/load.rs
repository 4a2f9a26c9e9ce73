//! What the machine is doing at this moment.

use crate::kernel_text::{memory_bytes, pressure, read, steal};
use proofmark_schema::machine::Load;

/// The load now; a figure that the kernel does not show is 0.
pub fn load() -> Load {
    let average = read("/proc/loadavg")
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .unwrap_or(0.0);
    let meminfo = read("/proc/meminfo").unwrap_or_default();
    Load {
        average,
        steal: read("/proc/stat").and_then(|text| steal(&text)).unwrap_or(0.0),
        pressure: read("/proc/pressure/cpu").and_then(|text| pressure(&text)).unwrap_or(0.0),
        available_bytes: memory_bytes(&meminfo, "MemAvailable").unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_load_is_made_of_shares_and_some_memory_is_free() {
        let load = super::load();
        assert!((0.0..=1.0).contains(&load.steal));
        assert!((0.0..=1.0).contains(&load.pressure));
        assert!(load.average >= 0.0 && load.available_bytes > 0);
    }
}
