//! A pattern for memory that must not be written; it differs at every position.

use crate::random::Stream;

/// The stream of random words that canaries are made of: `canary!` in ASCII.
const CANARY_STREAM: u64 = 0x63_616e_6172_7921;

/// The eight pattern bytes from offset `8 * word` on, the first lowest. None is 0: zeros are what
/// kernels write past an end most often (padding, and the low bytes of round numbers), so these
/// are always found.
#[inline(always)]
fn pattern(stream: Stream, word: usize) -> u64 {
    const LOW: u64 = u64::from_le_bytes([0x7f; 8]);
    let random = stream.word(word as u64);
    // The top bit of each byte that is 0; such bytes become 1. A proof writes and reads megabytes
    // of this pattern, and byte by byte it took a quarter of the proof's time.
    let zeros = !(((random & LOW) + LOW) | random | LOW);
    random | zeros >> 7
}

/// Fills memory with the pattern of `seed`.
pub fn write_canary(bytes: &mut [u8], seed: u64) {
    let stream = Stream::new(seed, CANARY_STREAM);
    let (words, tail) = bytes.as_chunks_mut();
    for (at, word) in words.iter_mut().enumerate() {
        *word = pattern(stream, at).to_le_bytes();
    }
    let last = pattern(stream, words.len()).to_le_bytes();
    tail.copy_from_slice(&last[..tail.len()]);
}

/// First offset where memory differs from what [`write_canary`] wrote; `None` if it is whole.
pub fn check_canary(bytes: &[u8], seed: u64) -> Option<usize> {
    let stream = Stream::new(seed, CANARY_STREAM);
    let (words, tail) = bytes.as_chunks();
    let differs = |(at, word): (usize, &[u8; 8])| u64::from_le_bytes(*word) != pattern(stream, at);
    let word = words.iter().enumerate().position(differs).unwrap_or(words.len());
    let want = pattern(stream, word).to_le_bytes();
    let have = words.get(word).map_or(tail, |word| word.as_slice());
    let inside = have.iter().zip(want).position(|(have, want)| *have != want);
    inside.map(|inside| 8 * word + inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_changed_byte_is_found_at_its_offset() {
        for length in [0, 1, 7, 8, 9, 100] {
            let mut bytes = vec![0; length];
            write_canary(&mut bytes, 3);
            assert_eq!(check_canary(&bytes, 3), None);
            for at in 0..length {
                bytes[at] ^= 0x10;
                assert_eq!(check_canary(&bytes, 3), Some(at));
                bytes[at] ^= 0x10;
            }
        }
    }

    #[test]
    fn every_byte_is_that_of_the_stream_or_1() {
        let mut bytes = vec![0; 65536];
        write_canary(&mut bytes, 3);
        let stream = Stream::new(3, CANARY_STREAM);
        let random = (0..8192).flat_map(|word| stream.word(word).to_le_bytes());
        assert!(bytes.iter().copied().eq(random.map(|byte| byte.max(1))));
    }

    #[test]
    fn a_zero_is_found_wherever_it_is_written() {
        let mut bytes = vec![0; 4096];
        write_canary(&mut bytes, 3);
        assert!(!bytes.contains(&0));
    }

    #[test]
    fn a_pattern_moved_or_of_another_seed_is_found() {
        let mut bytes = vec![0; 64];
        write_canary(&mut bytes, 3);
        assert!(check_canary(&bytes, 4).is_some());
        bytes.copy_within(0..32, 8);
        assert!(check_canary(&bytes, 3).is_some_and(|at| at >= 8));
    }
}
