//! Transposes tiles of 8 × 8 elements in registers.

use super::Avx2;
use core::arch::x86_64::*;

impl Avx2 {
    /// As [`crate::Simd::transpose_32`]: pairs, then quadruples are interleaved within halves of
    /// registers, then halves change places.
    ///
    /// # Safety
    ///
    /// As there.
    #[inline(always)]
    pub(super) unsafe fn turn_32(
        self,
        (source, source_stride): (*const u32, usize),
        (target, target_stride): (*mut u32, usize),
    ) {
        // SAFETY: the caller vouches for 8 rows of 8 elements on either side; `self` proves AVX2.
        unsafe {
            let mut row = [_mm256_setzero_ps(); 8];
            for i in 0..8 {
                row[i] = _mm256_loadu_ps(source.add(i * source_stride).cast());
            }
            let mut four = [_mm256_setzero_ps(); 8];
            for i in [0, 4] {
                let low = _mm256_unpacklo_ps(row[i], row[i + 1]);
                let high = _mm256_unpackhi_ps(row[i], row[i + 1]);
                let next_low = _mm256_unpacklo_ps(row[i + 2], row[i + 3]);
                let next_high = _mm256_unpackhi_ps(row[i + 2], row[i + 3]);
                four[i] = _mm256_shuffle_ps::<0x44>(low, next_low);
                four[i + 1] = _mm256_shuffle_ps::<0xee>(low, next_low);
                four[i + 2] = _mm256_shuffle_ps::<0x44>(high, next_high);
                four[i + 3] = _mm256_shuffle_ps::<0xee>(high, next_high);
            }
            for i in 0..4 {
                let lower = _mm256_permute2f128_ps::<0x20>(four[i], four[i + 4]);
                let upper = _mm256_permute2f128_ps::<0x31>(four[i], four[i + 4]);
                _mm256_storeu_ps(target.add(i * target_stride).cast(), lower);
                _mm256_storeu_ps(target.add((i + 4) * target_stride).cast(), upper);
            }
        }
    }

    /// As [`crate::Simd::transpose_16`]: words, pairs, then quadruples are interleaved.
    ///
    /// # Safety
    ///
    /// As there.
    #[inline(always)]
    pub(super) unsafe fn turn_16(
        self,
        (source, source_stride): (*const u16, usize),
        (target, target_stride): (*mut u16, usize),
    ) {
        // SAFETY: the caller vouches for 8 rows of 8 elements on either side; `self` proves AVX2.
        unsafe {
            let mut row = [_mm_setzero_si128(); 8];
            for i in 0..8 {
                row[i] = _mm_loadu_si128(source.add(i * source_stride).cast());
            }
            let mut two = [_mm_setzero_si128(); 8];
            for i in 0..4 {
                two[i] = _mm_unpacklo_epi16(row[2 * i], row[2 * i + 1]);
                two[i + 4] = _mm_unpackhi_epi16(row[2 * i], row[2 * i + 1]);
            }
            for i in [0, 4] {
                let low = _mm_unpacklo_epi32(two[i], two[i + 1]);
                let high = _mm_unpackhi_epi32(two[i], two[i + 1]);
                let next_low = _mm_unpacklo_epi32(two[i + 2], two[i + 3]);
                let next_high = _mm_unpackhi_epi32(two[i + 2], two[i + 3]);
                let columns = [
                    _mm_unpacklo_epi64(low, next_low),
                    _mm_unpackhi_epi64(low, next_low),
                    _mm_unpacklo_epi64(high, next_high),
                    _mm_unpackhi_epi64(high, next_high),
                ];
                for (j, column) in columns.into_iter().enumerate() {
                    _mm_storeu_si128(target.add((i + j) * target_stride).cast(), column);
                }
            }
        }
    }
}
