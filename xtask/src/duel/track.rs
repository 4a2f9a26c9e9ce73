//! The tracks: the kernels of `proofmark selftest timing`, one table for all harnesses.

/// The lines that the kernels themselves are built with.
const TABLE: &str = include_str!("../../../duel/kernels/tracks.txt");

/// One kernel that comparisons are made with.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Track {
    /// `S` within the cache, `M` streaming, `T` all processors, `L` long calls.
    pub(super) class: char,
    /// The case, which names the track.
    pub(super) case: &'static str,
    pub(super) threads: usize,
}

/// Every track.
pub(super) fn all() -> Vec<Track> {
    let track = |line: &'static str| {
        let [class, _, case, _, threads] = line.split(' ').collect::<Vec<_>>()[..] else {
            return None;
        };
        Some(Track { class: class.chars().next()?, case, threads: threads.parse().ok()? })
    };
    TABLE.lines().filter_map(track).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_track() {
        assert_eq!(all().len(), TABLE.lines().count());
        assert!(all().iter().all(|track| "SMTL".contains(track.class)));
    }

    #[test]
    fn every_track_is_one_of_the_timing_self_test() {
        let engine = include_str!("../../../crates/engine/src/verbs/timing.rs");
        for track in all() {
            assert!(engine.contains(track.case), "{} is not in timing.rs", track.case);
        }
    }
}
