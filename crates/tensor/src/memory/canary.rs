//! A pattern for memory that must not be written; it differs at every position.

use crate::random::Stream;

/// The stream of random words that canaries are made of: `canary!` in ASCII.
const CANARY_STREAM: u64 = 0x63_616e_6172_7921;

/// The eight pattern bytes from offset `8 * word` on. None is 0: zeros are what kernels write past
/// an end most often (padding, and the low bytes of round numbers), so these are always found.
fn pattern(stream: Stream, word: usize) -> [u8; 8] {
    stream.word(word as u64).to_le_bytes().map(|byte| byte.max(1))
}

/// Fills memory with the pattern of `seed`.
pub fn write_canary(bytes: &mut [u8], seed: u64) {
    let stream = Stream::new(seed, CANARY_STREAM);
    for (word, chunk) in bytes.chunks_mut(8).enumerate() {
        chunk.copy_from_slice(&pattern(stream, word)[..chunk.len()]);
    }
}

/// First offset where memory differs from what [`write_canary`] wrote; `None` if it is whole.
pub fn check_canary(bytes: &[u8], seed: u64) -> Option<usize> {
    let stream = Stream::new(seed, CANARY_STREAM);
    for (word, chunk) in bytes.chunks(8).enumerate() {
        let want = &pattern(stream, word)[..chunk.len()];
        if chunk != want {
            let inside = chunk.iter().zip(want).position(|(have, want)| have != want);
            return inside.map(|inside| 8 * word + inside);
        }
    }
    None
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
