//! Sixteen lanes with AVX-512 F, BW, DQ and VL.

use super::{Avx2, register_methods};
use crate::vector::{beyond, require_lanes};
use crate::{Body, Simd, available};
use core::arch::x86_64::*;
use proofmark_terms::Isa;

/// The token of AVX-512 F, BW, DQ and VL, on top of the [`Avx2`] set.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(Avx2);

const ROUND_NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
/// Quarters 0 and 2 of both vectors.
const EVEN: i32 = 0x88;
/// Quarters 1 and 3 of both vectors.
const ODD: i32 = 0xdd;
const ROUND_DOWN: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;

impl Avx512 {
    /// The token, if this machine has the instructions.
    #[inline]
    pub fn new() -> Option<Self> {
        let lower = Avx2::new()?;
        available(Isa::Avx512).then_some(Avx512(lower))
    }

    /// A bit set for each of the first `count` lanes.
    #[inline(always)]
    fn first_lanes(self, count: usize) -> __mmask16 {
        ((1_u32 << count.min(Self::LANES)) - 1) as __mmask16
    }

    /// The rounded bf16 bits of each lane, in order. The conversion instruction of AVX512_BF16
    /// is not used: it flushes subnormals.
    #[inline(always)]
    fn bf16_bits(self, value: __m512) -> __m256i {
        // SAFETY: `self` proves AVX-512 F; registers only.
        unsafe {
            let bits = _mm512_castps_si512(value);
            let upper = _mm512_srli_epi32::<16>(bits);
            let odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
            let bump = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
            let rounded = _mm512_srli_epi32::<16>(_mm512_add_epi32(bits, bump));
            let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(value, value);
            let words = _mm512_mask_or_epi32(rounded, nan, upper, _mm512_set1_epi32(0x0040));
            _mm512_cvtepi32_epi16(words)
        }
    }

    #[inline(always)]
    fn widen_bf16(self, bits: __m256i) -> __m512 {
        // SAFETY: `self` proves AVX-512 F; registers only.
        unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(bits))) }
    }

    #[inline(always)]
    fn load_words(self, source: &[u16]) -> __m256i {
        require_lanes(source.len(), Self::LANES);
        // SAFETY: the slice holds sixteen elements, and the load needs no alignment.
        unsafe { _mm256_loadu_si256(source.as_ptr().cast()) }
    }

    #[inline(always)]
    fn load_words_partial(self, source: &[u16]) -> __m256i {
        let kept = self.first_lanes(source.len());
        // SAFETY: the mask covers no lane past the slice's end, and masked lanes are not read.
        unsafe { _mm256_maskz_loadu_epi16(kept, source.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_words(self, words: __m256i, target: &mut [u16]) {
        require_lanes(target.len(), Self::LANES);
        // SAFETY: the slice holds sixteen elements, and the store needs no alignment.
        unsafe { _mm256_storeu_si256(target.as_mut_ptr().cast(), words) }
    }

    #[inline(always)]
    fn store_words_partial(self, words: __m256i, target: &mut [u16]) {
        let kept = self.first_lanes(target.len());
        // SAFETY: the mask covers no lane past the slice's end, and masked lanes are not written.
        unsafe { _mm256_mask_storeu_epi16(target.as_mut_ptr().cast(), kept, words) }
    }
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
fn apart<B: Body>(token: Avx512, body: B) -> B::Output {
    body.run(token)
}

impl Simd for Avx512 {
    const ISA: Isa = Isa::Avx512;
    const LANES: usize = 16;
    type F = __m512;
    type I = __m512i;
    type M = __mmask16;

    #[inline(always)]
    fn apart<B: Body>(self, body: B) -> B::Output {
        // SAFETY: `self` exists only where the features were detected.
        unsafe { apart(self, body) }
    }

    #[inline(always)]
    fn load(self, source: &[f32]) -> __m512 {
        require_lanes(source.len(), Self::LANES);
        // SAFETY: the slice holds sixteen elements.
        unsafe { self.load_ptr(source.as_ptr()) }
    }
    #[inline(always)]
    fn store(self, value: __m512, target: &mut [f32]) {
        require_lanes(target.len(), Self::LANES);
        // SAFETY: the slice holds sixteen elements.
        unsafe { self.store_ptr(value, target.as_mut_ptr()) }
    }
    #[inline(always)]
    unsafe fn load_ptr(self, source: *const f32) -> __m512 {
        // SAFETY: the caller vouches for sixteen readable elements; `self` proves AVX-512 F.
        unsafe { _mm512_loadu_ps(source) }
    }
    #[inline(always)]
    unsafe fn store_ptr(self, value: __m512, target: *mut f32) {
        // SAFETY: the caller vouches for sixteen writable elements; `self` proves AVX-512 F.
        unsafe { _mm512_storeu_ps(target, value) }
    }
    #[inline(always)]
    fn prefetch(self, at: *const f32) {
        // SAFETY: a prefetch of any address is harmless, and every x86-64 processor has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
    #[inline(always)]
    fn prefetch_l2(self, at: *const f32) {
        // SAFETY: a prefetch of any address is harmless, and every x86-64 processor has it.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) }
    }
    #[inline(always)]
    unsafe fn transpose_ptr(
        self,
        source: *const f32,
        source_stride: usize,
        target: *mut f32,
        target_stride: usize,
    ) {
        // SAFETY: the caller vouches for 16 rows of 16 elements of each; the rest is registers.
        unsafe {
            let mut rows = [self.zero(); 16];
            for i in 0..16 {
                rows[i] = self.load_ptr(source.add(i * source_stride));
            }
            for first in (0..16).step_by(4) {
                let [a, b, c, d] = [rows[first], rows[first + 1], rows[first + 2], rows[first + 3]];
                let low = [_mm512_unpacklo_ps(a, b), _mm512_unpacklo_ps(c, d)];
                let high = [_mm512_unpackhi_ps(a, b), _mm512_unpackhi_ps(c, d)];
                rows[first..first + 4].copy_from_slice(&[
                    _mm512_shuffle_ps::<0x44>(low[0], low[1]),
                    _mm512_shuffle_ps::<0xee>(low[0], low[1]),
                    _mm512_shuffle_ps::<0x44>(high[0], high[1]),
                    _mm512_shuffle_ps::<0xee>(high[0], high[1]),
                ]);
            }
            let mut turned = rows;
            for first in 0..4 {
                let squares = [rows[first], rows[first + 4], rows[first + 8], rows[first + 12]];
                let squares = self.turn_quarters(squares);
                for i in 0..4 {
                    turned[first + 4 * i] = squares[i];
                }
            }
            for j in 0..16 {
                self.store_ptr(turned[j], target.add(j * target_stride));
            }
        }
    }
    #[inline(always)]
    fn load_partial(self, source: &[f32], fill: f32) -> __m512 {
        let kept = self.first_lanes(source.len());
        // SAFETY: the mask covers no lane past the slice's end, and masked lanes are not read.
        unsafe { _mm512_mask_loadu_ps(_mm512_set1_ps(fill), kept, source.as_ptr()) }
    }
    #[inline(always)]
    fn store_partial(self, value: __m512, target: &mut [f32]) {
        let kept = self.first_lanes(target.len());
        // SAFETY: the mask covers no lane past the slice's end, and masked lanes are not written.
        unsafe { _mm512_mask_storeu_ps(target.as_mut_ptr(), kept, value) }
    }

    #[inline(always)]
    fn load_bf16(self, source: &[u16]) -> __m512 {
        self.widen_bf16(self.load_words(source))
    }
    #[inline(always)]
    fn load_bf16_partial(self, source: &[u16], fill: f32) -> __m512 {
        let value = self.widen_bf16(self.load_words_partial(source));
        self.select(self.first_lanes(source.len()), value, self.splat(fill))
    }
    #[inline(always)]
    fn store_bf16(self, value: __m512, target: &mut [u16]) {
        self.store_words(self.bf16_bits(value), target);
    }
    #[inline(always)]
    fn store_bf16_partial(self, value: __m512, target: &mut [u16]) {
        self.store_words_partial(self.bf16_bits(value), target);
    }
    #[inline(always)]
    fn load_f16(self, source: &[u16]) -> __m512 {
        // SAFETY: `self` proves AVX-512 F; registers only.
        unsafe { _mm512_cvtph_ps(self.load_words(source)) }
    }
    #[inline(always)]
    fn load_f16_partial(self, source: &[u16], fill: f32) -> __m512 {
        // SAFETY: `self` proves AVX-512 F; registers only.
        let value = unsafe { _mm512_cvtph_ps(self.load_words_partial(source)) };
        self.select(self.first_lanes(source.len()), value, self.splat(fill))
    }
    #[inline(always)]
    fn store_f16(self, value: __m512, target: &mut [u16]) {
        // SAFETY: `self` proves AVX-512 F; registers only.
        let words = unsafe { _mm512_cvtps_ph::<ROUND_NEAREST>(value) };
        self.store_words(words, target);
    }
    #[inline(always)]
    fn store_f16_partial(self, value: __m512, target: &mut [u16]) {
        // SAFETY: `self` proves AVX-512 F; registers only.
        let words = unsafe { _mm512_cvtps_ph::<ROUND_NEAREST>(value) };
        self.store_words_partial(words, target);
    }

    #[inline(always)]
    fn load_i8(self, source: &[i8]) -> __m512i {
        require_lanes(source.len(), Self::LANES);
        // SAFETY: the slice holds the sixteen bytes that are read; `self` proves AVX-512 F.
        unsafe { _mm512_cvtepi8_epi32(_mm_loadu_si128(source.as_ptr().cast())) }
    }
    #[inline(always)]
    fn load_i8_partial(self, source: &[i8]) -> __m512i {
        let kept = self.first_lanes(source.len());
        // SAFETY: the mask covers no lane past the slice's end, and masked lanes are not read.
        unsafe { _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(kept, source.as_ptr())) }
    }
    #[inline(always)]
    fn store_i8(self, value: __m512i, target: &mut [i8]) {
        require_lanes(target.len(), Self::LANES);
        // SAFETY: the slice has room for the sixteen bytes written; `self` proves AVX-512 F.
        unsafe { _mm_storeu_si128(target.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(value)) }
    }
    #[inline(always)]
    fn store_i8_partial(self, value: __m512i, target: &mut [i8]) {
        let kept = self.first_lanes(target.len());
        // SAFETY: the mask covers no lane past the slice's end, and masked lanes are not written.
        unsafe { _mm_mask_storeu_epi8(target.as_mut_ptr(), kept, _mm512_cvtepi32_epi8(value)) }
    }
    #[inline(always)]
    fn load_bytes(self, source: &[i8]) -> __m512i {
        require_lanes(source.len(), 4 * Self::LANES);
        // SAFETY: the slice holds 64 bytes, and the load needs no alignment.
        unsafe { _mm512_loadu_si512(source.as_ptr().cast()) }
    }
    #[inline(always)]
    fn load_bytes_partial(self, source: &[i8]) -> __m512i {
        let kept = u64::MAX.checked_shr(64 - source.len().min(64) as u32).unwrap_or(0);
        // SAFETY: the mask covers no byte past the slice's end, and masked bytes are not read.
        unsafe { _mm512_maskz_loadu_epi8(kept, source.as_ptr()) }
    }
    #[inline(always)]
    fn dot_i8(self, sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
        // As on AVX2: bytes widened to 16 bits, where no pair of products saturates.
        // SAFETY: `self` proves AVX-512 BW; registers only.
        unsafe {
            let even = |v| _mm512_srai_epi16::<8>(_mm512_slli_epi16::<8>(v));
            let odd = |v| _mm512_srai_epi16::<8>(v);
            let sums = _mm512_add_epi32(sums, _mm512_madd_epi16(even(a), even(b)));
            _mm512_add_epi32(sums, _mm512_madd_epi16(odd(a), odd(b)))
        }
    }
    #[inline(always)]
    unsafe fn dot_u8_i8(self, sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the caller vouches for AVX512-VNNI; registers only.
        unsafe { _mm512_dpbusd_epi32(sums, a, b) }
    }
    #[inline(always)]
    fn mul_wide(self, a: __m512i, b: __m512i) -> [__m512i; 2] {
        const ODD: __mmask16 = 0xaaaa;
        // SAFETY: `self` proves AVX-512 F; registers only.
        unsafe {
            let even = _mm512_mul_epu32(a, b);
            let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(a), _mm512_srli_epi64::<32>(b));
            [
                _mm512_mask_blend_epi32(ODD, _mm512_srli_epi64::<32>(even), odd),
                _mm512_mask_blend_epi32(ODD, even, _mm512_slli_epi64::<32>(odd)),
            ]
        }
    }
    #[inline(always)]
    fn int_reduce_sum(self, a: __m512i) -> i32 {
        // SAFETY: `self` proves AVX-512 F; registers only.
        unsafe { _mm512_reduce_add_epi32(a) }
    }

    register_methods! {
        splat(value: f32) -> __m512 = _mm512_set1_ps(value);
        zero() -> __m512 = _mm512_setzero_ps();
        add(a: __m512, b: __m512) -> __m512 = _mm512_add_ps(a, b);
        sub(a: __m512, b: __m512) -> __m512 = _mm512_sub_ps(a, b);
        mul(a: __m512, b: __m512) -> __m512 = _mm512_mul_ps(a, b);
        div(a: __m512, b: __m512) -> __m512 = _mm512_div_ps(a, b);
        fma(a: __m512, b: __m512, c: __m512) -> __m512 = _mm512_fmadd_ps(a, b, c);
        neg(a: __m512) -> __m512 = _mm512_xor_ps(a, _mm512_set1_ps(-0.0));
        abs(a: __m512) -> __m512 = _mm512_abs_ps(a);
        max(a: __m512, b: __m512) -> __m512 = _mm512_max_ps(a, b);
        min(a: __m512, b: __m512) -> __m512 = _mm512_min_ps(a, b);
        sqrt(a: __m512) -> __m512 = _mm512_sqrt_ps(a);
        round(a: __m512) -> __m512 = _mm512_roundscale_ps::<ROUND_NEAREST>(a);
        floor(a: __m512) -> __m512 = _mm512_roundscale_ps::<ROUND_DOWN>(a);
        lt(a: __m512, b: __m512) -> __mmask16 = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b);
        eq(a: __m512, b: __m512) -> __mmask16 = _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(a, b);
        is_nan(a: __m512) -> __mmask16 = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(a, a);
        select(mask: __mmask16, if_true: __m512, if_false: __m512) -> __m512 =
            _mm512_mask_blend_ps(mask, if_false, if_true);
        to_int(a: __m512) -> __m512i = _mm512_cvtps_epi32(a);
        from_int(a: __m512i) -> __m512 = _mm512_cvtepi32_ps(a);
        int_add(a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi32(a, b);
        int_splat(value: i32) -> __m512i = _mm512_set1_epi32(value);
        shift_left(a: __m512i, count: u32) -> __m512i =
            _mm512_sll_epi32(a, _mm_cvtsi32_si128(count.min(32).cast_signed()));
        shift_right(a: __m512i, count: u32) -> __m512i =
            _mm512_srl_epi32(a, _mm_cvtsi32_si128(count.min(32).cast_signed()));
        int_and(a: __m512i, b: __m512i) -> __m512i = _mm512_and_si512(a, b);
        int_or(a: __m512i, b: __m512i) -> __m512i = _mm512_or_si512(a, b);
        int_xor(a: __m512i, b: __m512i) -> __m512i = _mm512_xor_si512(a, b);
        bits_of(a: __m512) -> __m512i = _mm512_castps_si512(a);
        from_bits(a: __m512i) -> __m512 = _mm512_castsi512_ps(a);
        pow2_scale(x: __m512, n: __m512) -> __m512 = _mm512_scalef_ps(x, n);
    }

    #[inline(always)]
    fn any(self, mask: __mmask16) -> bool {
        mask != 0
    }
    #[inline(always)]
    fn max_nan(self, a: __m512, b: __m512) -> __m512 {
        self.select(self.is_nan(a), a, self.max(a, b))
    }

    #[inline(always)]
    unsafe fn transpose_32(self, source: (*const u32, usize), target: (*mut u32, usize)) {
        // SAFETY: as the caller vouches.
        unsafe { self.0.turn_32(source, target) }
    }
    #[inline(always)]
    unsafe fn transpose_16(self, source: (*const u16, usize), target: (*mut u16, usize)) {
        // SAFETY: as the caller vouches.
        unsafe { self.0.turn_16(source, target) }
    }

    #[inline(always)]
    fn gather(self, source: &[f32], index: &[i32]) -> __m512 {
        require_lanes(index.len(), Self::LANES);
        let length = source.len().min(1 << 31) as u32;
        // SAFETY: the slice holds sixteen indices; all are below the source's length and below
        // 2^31, so that none is taken for negative. `self` proves AVX-512 F.
        unsafe {
            let at = _mm512_loadu_si512(index.as_ptr().cast());
            let limit = _mm512_set1_epi32(length.cast_signed());
            if _mm512_cmpge_epu32_mask(at, limit) != 0 {
                beyond(source.len());
            }
            _mm512_i32gather_ps::<4>(at, source.as_ptr())
        }
    }
    #[inline(always)]
    fn unzip(self, a: __m512, b: __m512) -> (__m512, __m512) {
        // SAFETY: `self` proves AVX-512 F; registers only.
        unsafe {
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let odd = _mm512_or_si512(even, _mm512_set1_epi32(1));
            (_mm512_permutex2var_ps(a, even, b), _mm512_permutex2var_ps(a, odd, b))
        }
    }
    #[inline(always)]
    fn zip(self, a: __m512, b: __m512) -> (__m512, __m512) {
        // SAFETY: `self` proves AVX-512 F; registers only.
        unsafe {
            let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            let high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
            (_mm512_permutex2var_ps(a, low, b), _mm512_permutex2var_ps(a, high, b))
        }
    }
    #[inline(always)]
    fn turn_quarters(self, [a, b, c, d]: [__m512; 4]) -> [__m512; 4] {
        // SAFETY: `self` proves AVX-512 F; registers only.
        unsafe {
            let even = [_mm512_shuffle_f32x4::<EVEN>(a, b), _mm512_shuffle_f32x4::<EVEN>(c, d)];
            let odd = [_mm512_shuffle_f32x4::<ODD>(a, b), _mm512_shuffle_f32x4::<ODD>(c, d)];
            [
                _mm512_shuffle_f32x4::<EVEN>(even[0], even[1]),
                _mm512_shuffle_f32x4::<EVEN>(odd[0], odd[1]),
                _mm512_shuffle_f32x4::<ODD>(even[0], even[1]),
                _mm512_shuffle_f32x4::<ODD>(odd[0], odd[1]),
            ]
        }
    }
    #[inline(always)]
    fn reverse(self, a: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512 F; registers only.
        unsafe {
            let back = _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
            _mm512_permutexvar_ps(back, a)
        }
    }

    #[inline(always)]
    fn reduce_sum(self, a: __m512) -> f32 {
        // SAFETY: `self` proves AVX-512 F and DQ; registers only.
        let eight =
            unsafe { _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps::<1>(a)) };
        self.0.reduce_sum(eight)
    }
    #[inline(always)]
    fn reduce_max(self, a: __m512) -> f32 {
        // SAFETY: `self` proves AVX-512 F and DQ; registers only.
        let (low, high) = unsafe { (_mm512_castps512_ps256(a), _mm512_extractf32x8_ps::<1>(a)) };
        self.0.reduce_max(self.0.max_nan(low, high))
    }
    #[inline(always)]
    fn reduce_min(self, a: __m512) -> f32 {
        // The negative of the largest negative: exact, and NaN stays NaN.
        -self.reduce_max(self.neg(a))
    }
}
