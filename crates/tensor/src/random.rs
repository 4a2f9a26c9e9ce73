//! Random words as a function of position: reproducible in any language, in any order.

/// The increment of SplitMix64: 2^64 divided by the golden ratio, made odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
#[inline(always)]
fn finalise(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// One stream of random words, addressed by index.
#[derive(Clone, Copy)]
pub(crate) struct Stream(u64);

impl Stream {
    pub(crate) fn new(seed: u64, stream: u64) -> Stream {
        Stream(finalise(seed.wrapping_add(GOLDEN.wrapping_mul(stream.wrapping_add(1)))))
    }

    #[inline(always)]
    pub(crate) fn word(self, index: u64) -> u64 {
        finalise(self.0.wrapping_add(GOLDEN.wrapping_mul(index.wrapping_add(1))))
    }
}

/// Word `index` of stream `stream` of `seed`.
///
/// With all arithmetic modulo 2^64 and `G = 0x9e3779b97f4a7c15`:
///
/// ```text
/// F(z): z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
///       z = (z ^ (z >> 27)) * 0x94d049bb133111eb
///       z ^ (z >> 31)
/// mix(seed, stream, index) = F(F(seed + G * (stream + 1)) + G * (index + 1))
/// ```
///
/// so that a stream is the output of SplitMix64 started at `F(seed + G * (stream + 1))`, of
/// which any word can be computed without those before it.
pub fn mix(seed: u64, stream: u64, index: u64) -> u64 {
    Stream::new(seed, stream).word(index)
}

/// One block of Philox4x32 with 10 rounds (Salmon, Moraes, Dror and Shaw, 2011).
pub fn philox4x32(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let (mut counter, mut key) = (counter, key);
    for _ in 0..10 {
        let first = u64::from(counter[0]) * 0xd251_1f53;
        let third = u64::from(counter[2]) * 0xcd9e_8d57;
        counter = [
            (third >> 32) as u32 ^ counter[1] ^ key[0],
            third as u32,
            (first >> 32) as u32 ^ counter[3] ^ key[1],
            first as u32,
        ];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_another_implementation() {
        for (seed, stream, index, word) in [
            (0, 0, 0, 0xa706_dd2f_4d19_7e6f),
            (0, 0, 1, 0xb382_a305_f441_4f5e),
            (1, 0, 0, 0x5e41_ab08_7439_611e),
            (0, 1, 0, 0x46b7_3e79_f0c3_7c00),
            (42, 7, 123_456_789, 0x3881_ed60_5e3a_039e),
            (u64::MAX, u64::MAX, u64::MAX, 0x4bff_d802_ebfb_15e4),
        ] {
            assert_eq!(mix(seed, stream, index), word, "mix({seed}, {stream}, {index})");
        }
    }

    #[test]
    fn philox_gives_the_known_answers_of_random123() {
        for (counter, key, want) in [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ] {
            assert_eq!(philox4x32(counter, key), want);
        }
    }
}
