//! The kernel's text files, read as what they mean.

use std::fs;

/// A file's text without surrounding space; `None` if it cannot be read.
pub(crate) fn read(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// The value of the first `key : value` line.
pub(crate) fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

/// Bytes of a `MemAvailable:  123 kB` line.
pub(crate) fn memory_bytes(meminfo: &str, key: &str) -> Option<u64> {
    let kib: u64 = field(meminfo, key)?.strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// The chosen word of `always [madvise] never`.
pub(crate) fn chosen(text: &str) -> Option<&str> {
    text.split_once('[')?.1.split_once(']').map(|(word, _)| word)
}

/// Bytes of `48K`, `2048K` or `300M`.
pub(crate) fn cache_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let count: u64 = digits.parse().ok()?;
    match &text[digits.len()..] {
        "" => Some(count),
        "K" => count.checked_mul(1 << 10),
        "M" => count.checked_mul(1 << 20),
        "G" => count.checked_mul(1 << 30),
        _ => None,
    }
}

/// Ticks of all processors since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ticks {
    pub(crate) total: u64,
    /// Neither idle nor waiting for a disk nor stolen.
    pub(crate) busy: u64,
    pub(crate) steal: u64,
}

/// The first line of `/proc/stat`.
pub(crate) fn processor_ticks(stat: &str) -> Option<Ticks> {
    let line = stat.lines().find(|line| line.starts_with("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().skip(1).map_while(|t| t.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; guest times are contained in user.
    let total: u64 = ticks.iter().take(8).sum();
    let steal = *ticks.get(7)?;
    Some(Ticks { total, busy: total - ticks[3] - ticks[4] - steal, steal })
}

/// Stolen share of all processor time in `/proc/stat`, 0 to 1.
pub(crate) fn steal(stat: &str) -> Option<f64> {
    let ticks = processor_ticks(stat)?;
    (ticks.total > 0).then(|| ticks.steal as f64 / ticks.total as f64)
}

/// Microseconds since the start in which some task waited, of a `/proc/pressure` file.
pub(crate) fn pressure_total_us(text: &str) -> Option<u64> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    some.split_whitespace().find_map(|part| part.strip_prefix("total="))?.parse().ok()
}

/// Share of the last 10 s in which some task waited, of a `/proc/pressure` file, 0 to 1.
pub(crate) fn pressure(text: &str) -> Option<f64> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    let average = some.split_whitespace().find_map(|part| part.strip_prefix("avg10="))?;
    Some(average.parse::<f64>().ok()? / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "processor\t: 0\nmodel\t\t: 207\nmodel name\t: Some CPU: fast\nflags\t: a b\n";
        assert_eq!(field(text, "model name"), Some("Some CPU: fast"));
        assert_eq!(field(text, "model"), Some("207"));
        assert_eq!(field(text, "mode"), None);
    }

    #[test]
    fn sizes_and_shares_are_read_and_nonsense_is_not() {
        assert_eq!(memory_bytes("MemTotal:       24 kB\n", "MemTotal"), Some(24 * 1024));
        assert_eq!(memory_bytes("MemTotal: many kB\n", "MemTotal"), None);
        assert_eq!(chosen("always [madvise] never"), Some("madvise"));
        assert_eq!(chosen("always"), None);
        assert_eq!(cache_size("48K"), Some(48 << 10));
        assert_eq!(cache_size("300M"), Some(300 << 20));
        assert_eq!(cache_size("3X"), None);
        assert_eq!(cache_size("é"), None);
        assert_eq!(steal("cpu  10 0 10 60 0 0 0 20 5 5\ncpu0 1"), Some(0.2));
        assert_eq!(steal("cpu  10 0 10"), None);
        let pressed = "some avg10=12.50 avg60=1.00 total=1\nfull avg10=0.00 total=0";
        assert_eq!(pressure(pressed), Some(0.125));
        assert_eq!(pressure("full avg10=0.00"), None);
        assert_eq!(pressure_total_us(pressed), Some(1));
        let ticks = Ticks { total: 100, busy: 20, steal: 20 };
        assert_eq!(processor_ticks("cpu  10 0 10 55 5 0 0 20 5 5\n"), Some(ticks));
    }
}
