//! Eight lanes with AVX2, FMA and F16C.

use super::register_methods;
use crate::vector::{beyond, require_lanes};
use crate::{Body, Simd, available};
use core::arch::x86_64::*;
use proofmark_terms::Isa;

/// The token of AVX2 with FMA and F16C.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

const ROUND_NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

impl Avx2 {
    /// The token, if this machine has the instructions.
    #[inline]
    pub fn new() -> Option<Self> {
        available(Isa::Avx2).then_some(Avx2(()))
    }

    /// All bits set in the first `count` lanes.
    #[inline(always)]
    fn first_lanes(self, count: usize) -> __m256i {
        let count = count.min(Self::LANES) as i32;
        // SAFETY: `self` proves AVX2; registers only.
        unsafe {
            _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
        }
    }

    /// `fill` where `source` has no lane.
    #[inline(always)]
    fn fill_after(self, value: __m256, count: usize, fill: f32) -> __m256 {
        let kept = self.first_lanes(count);
        // SAFETY: `self` proves AVX2; registers only.
        unsafe { _mm256_blendv_ps(_mm256_set1_ps(fill), value, _mm256_castsi256_ps(kept)) }
    }

    /// The rounded bf16 bits of each lane, in order.
    #[inline(always)]
    fn bf16_bits(self, value: __m256) -> __m128i {
        // SAFETY: `self` proves AVX2; registers only.
        unsafe {
            let bits = _mm256_castps_si256(value);
            let upper = _mm256_srli_epi32::<16>(bits);
            let odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
            let bump = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
            let rounded = _mm256_srli_epi32::<16>(_mm256_add_epi32(bits, bump));
            let quiet = _mm256_or_si256(upper, _mm256_set1_epi32(0x0040));
            let nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(value, value));
            let words = _mm256_blendv_epi8(rounded, quiet, nan);
            _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words))
        }
    }

    #[inline(always)]
    fn widen_bf16(self, bits: __m128i) -> __m256 {
        // SAFETY: `self` proves AVX2; registers only.
        unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(bits))) }
    }

    #[inline(always)]
    fn load_words(self, source: &[u16]) -> __m128i {
        require_lanes(source.len(), Self::LANES);
        // SAFETY: the slice holds eight elements, and the load needs no alignment.
        unsafe { _mm_loadu_si128(source.as_ptr().cast()) }
    }

    /// The words that `source` has, then zeros: 16-bit masked loads come with AVX-512 only.
    #[inline(always)]
    fn load_words_partial(self, source: &[u16]) -> __m128i {
        let mut words = [0; Self::LANES];
        let count = source.len().min(Self::LANES);
        copy_words(&source[..count], &mut words[..count]);
        self.load_words(&words)
    }

    #[inline(always)]
    fn store_words(self, words: __m128i, target: &mut [u16]) {
        require_lanes(target.len(), Self::LANES);
        // SAFETY: the slice holds eight elements, and the store needs no alignment.
        unsafe { _mm_storeu_si128(target.as_mut_ptr().cast(), words) }
    }

    #[inline(always)]
    fn store_words_partial(self, words: __m128i, target: &mut [u16]) {
        let mut copy = [0; Self::LANES];
        self.store_words(words, &mut copy);
        let count = target.len().min(Self::LANES);
        copy_words(&copy[..count], &mut target[..count]);
    }
}

/// Copies at most eight words by moves of fixed size: a copy of unknown length would be a call,
/// before which the compiler saves every live vector.
#[inline(always)]
fn copy_words(mut source: &[u16], mut target: &mut [u16]) {
    #[inline(always)]
    fn step<const N: usize>(source: &mut &[u16], target: &mut &mut [u16]) {
        if let (Some(from), Some(to)) = (source.split_off(..N), target.split_off_mut(..N)) {
            to.copy_from_slice(from);
        }
    }
    step::<8>(&mut source, &mut target);
    step::<4>(&mut source, &mut target);
    step::<2>(&mut source, &mut target);
    step::<1>(&mut source, &mut target);
}

#[inline(never)]
#[target_feature(enable = "avx2,fma,f16c")]
fn apart<B: Body>(token: Avx2, body: B) -> B::Output {
    body.run(token)
}

impl Simd for Avx2 {
    const ISA: Isa = Isa::Avx2;
    const LANES: usize = 8;
    type F = __m256;
    type I = __m256i;
    type M = __m256;

    #[inline(always)]
    fn apart<B: Body>(self, body: B) -> B::Output {
        // SAFETY: `self` exists only where the features were detected.
        unsafe { apart(self, body) }
    }

    #[inline(always)]
    fn load(self, source: &[f32]) -> __m256 {
        require_lanes(source.len(), Self::LANES);
        // SAFETY: the slice holds eight elements.
        unsafe { self.load_ptr(source.as_ptr()) }
    }
    #[inline(always)]
    fn store(self, value: __m256, target: &mut [f32]) {
        require_lanes(target.len(), Self::LANES);
        // SAFETY: the slice holds eight elements.
        unsafe { self.store_ptr(value, target.as_mut_ptr()) }
    }
    #[inline(always)]
    unsafe fn load_ptr(self, source: *const f32) -> __m256 {
        // SAFETY: the caller vouches for eight readable elements; `self` proves AVX.
        unsafe { _mm256_loadu_ps(source) }
    }
    #[inline(always)]
    unsafe fn store_ptr(self, value: __m256, target: *mut f32) {
        // SAFETY: the caller vouches for eight writable elements; `self` proves AVX.
        unsafe { _mm256_storeu_ps(target, value) }
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
        // SAFETY: the caller vouches for 8 rows of 8 elements of each; the rest is registers.
        unsafe {
            let mut rows = [self.zero(); 8];
            for i in 0..8 {
                rows[i] = self.load_ptr(source.add(i * source_stride));
            }
            for first in [0, 4] {
                let [a, b, c, d] = [rows[first], rows[first + 1], rows[first + 2], rows[first + 3]];
                let low = [_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d)];
                let high = [_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d)];
                rows[first..first + 4].copy_from_slice(&[
                    _mm256_shuffle_ps::<0x44>(low[0], low[1]),
                    _mm256_shuffle_ps::<0xee>(low[0], low[1]),
                    _mm256_shuffle_ps::<0x44>(high[0], high[1]),
                    _mm256_shuffle_ps::<0xee>(high[0], high[1]),
                ]);
            }
            let mut turned = rows;
            for first in 0..4 {
                let (a, b) = (rows[first], rows[first + 4]);
                turned[first] = _mm256_permute2f128_ps::<0x20>(a, b);
                turned[first + 4] = _mm256_permute2f128_ps::<0x31>(a, b);
            }
            for j in 0..8 {
                self.store_ptr(turned[j], target.add(j * target_stride));
            }
        }
    }
    #[inline(always)]
    fn load_partial(self, source: &[f32], fill: f32) -> __m256 {
        let kept = self.first_lanes(source.len());
        // SAFETY: the mask covers no lane past the slice's end, and masked lanes are not read.
        let value = unsafe { _mm256_maskload_ps(source.as_ptr(), kept) };
        self.fill_after(value, source.len(), fill)
    }
    #[inline(always)]
    fn store_partial(self, value: __m256, target: &mut [f32]) {
        let kept = self.first_lanes(target.len());
        // SAFETY: the mask covers no lane past the slice's end, and masked lanes are not written.
        unsafe { _mm256_maskstore_ps(target.as_mut_ptr(), kept, value) }
    }

    #[inline(always)]
    fn load_bf16(self, source: &[u16]) -> __m256 {
        self.widen_bf16(self.load_words(source))
    }
    #[inline(always)]
    fn load_bf16_partial(self, source: &[u16], fill: f32) -> __m256 {
        let value = self.widen_bf16(self.load_words_partial(source));
        self.fill_after(value, source.len(), fill)
    }
    #[inline(always)]
    fn store_bf16(self, value: __m256, target: &mut [u16]) {
        self.store_words(self.bf16_bits(value), target);
    }
    #[inline(always)]
    fn store_bf16_partial(self, value: __m256, target: &mut [u16]) {
        self.store_words_partial(self.bf16_bits(value), target);
    }
    #[inline(always)]
    fn load_f16(self, source: &[u16]) -> __m256 {
        // SAFETY: `self` proves F16C; registers only.
        unsafe { _mm256_cvtph_ps(self.load_words(source)) }
    }
    #[inline(always)]
    fn load_f16_partial(self, source: &[u16], fill: f32) -> __m256 {
        // SAFETY: `self` proves F16C; registers only.
        let value = unsafe { _mm256_cvtph_ps(self.load_words_partial(source)) };
        self.fill_after(value, source.len(), fill)
    }
    #[inline(always)]
    fn store_f16(self, value: __m256, target: &mut [u16]) {
        // SAFETY: `self` proves F16C; registers only.
        let words = unsafe { _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value) };
        self.store_words(words, target);
    }
    #[inline(always)]
    fn store_f16_partial(self, value: __m256, target: &mut [u16]) {
        // SAFETY: `self` proves F16C; registers only.
        let words = unsafe { _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value) };
        self.store_words_partial(words, target);
    }

    #[inline(always)]
    fn load_i8(self, source: &[i8]) -> __m256i {
        require_lanes(source.len(), Self::LANES);
        // SAFETY: the slice holds the eight bytes that are read; `self` proves AVX2.
        unsafe { _mm256_cvtepi8_epi32(_mm_loadl_epi64(source.as_ptr().cast())) }
    }
    #[inline(always)]
    fn load_i8_partial(self, source: &[i8]) -> __m256i {
        let mut bytes = [0; Self::LANES];
        let count = source.len().min(Self::LANES);
        bytes[..count].copy_from_slice(&source[..count]);
        self.load_i8(&bytes)
    }
    #[inline(always)]
    fn store_i8(self, value: __m256i, target: &mut [i8]) {
        require_lanes(target.len(), Self::LANES);
        // SAFETY: the slice has room for the eight bytes written; `self` proves AVX2.
        unsafe {
            let low = _mm256_setr_epi8(
                0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12, -1, -1,
                -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
            );
            let bytes = _mm256_shuffle_epi8(value, low);
            let halves = (_mm256_castsi256_si128(bytes), _mm256_extracti128_si256::<1>(bytes));
            _mm_storel_epi64(target.as_mut_ptr().cast(), _mm_unpacklo_epi32(halves.0, halves.1));
        }
    }
    #[inline(always)]
    fn store_i8_partial(self, value: __m256i, target: &mut [i8]) {
        let mut bytes = [0; Self::LANES];
        self.store_i8(value, &mut bytes);
        let count = target.len().min(Self::LANES);
        target[..count].copy_from_slice(&bytes[..count]);
    }
    #[inline(always)]
    fn load_bytes(self, source: &[i8]) -> __m256i {
        require_lanes(source.len(), 4 * Self::LANES);
        // SAFETY: the slice holds 32 bytes, and the load needs no alignment.
        unsafe { _mm256_loadu_si256(source.as_ptr().cast()) }
    }
    #[inline(always)]
    fn load_bytes_partial(self, source: &[i8]) -> __m256i {
        let mut bytes = [0; 4 * Self::LANES];
        let count = source.len().min(bytes.len());
        bytes[..count].copy_from_slice(&source[..count]);
        self.load_bytes(&bytes)
    }
    #[inline(always)]
    fn dot_i8(self, sums: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // The byte instruction saturates pairs, so even and odd bytes are widened to 16 bits:
        // no pair of their products exceeds 2^15.
        // SAFETY: `self` proves AVX2; registers only.
        unsafe {
            let even = |v| _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(v));
            let odd = |v| _mm256_srai_epi16::<8>(v);
            let sums = _mm256_add_epi32(sums, _mm256_madd_epi16(even(a), even(b)));
            _mm256_add_epi32(sums, _mm256_madd_epi16(odd(a), odd(b)))
        }
    }
    #[inline(always)]
    unsafe fn dot_u8_i8(self, sums: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the caller vouches for AVX-VNNI; registers only.
        unsafe { _mm256_dpbusd_avx_epi32(sums, a, b) }
    }
    #[inline(always)]
    fn mul_wide(self, a: __m256i, b: __m256i) -> [__m256i; 2] {
        // SAFETY: `self` proves AVX2; registers only.
        unsafe {
            let even = _mm256_mul_epu32(a, b);
            let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(a), _mm256_srli_epi64::<32>(b));
            [
                _mm256_blend_epi32::<0b1010_1010>(_mm256_srli_epi64::<32>(even), odd),
                _mm256_blend_epi32::<0b1010_1010>(even, _mm256_slli_epi64::<32>(odd)),
            ]
        }
    }
    #[inline(always)]
    fn int_reduce_sum(self, a: __m256i) -> i32 {
        // SAFETY: `self` proves AVX2; registers only.
        unsafe {
            let four = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256::<1>(a));
            let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b1110>(four));
            _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<1>(two)))
        }
    }

    register_methods! {
        splat(value: f32) -> __m256 = _mm256_set1_ps(value);
        zero() -> __m256 = _mm256_setzero_ps();
        add(a: __m256, b: __m256) -> __m256 = _mm256_add_ps(a, b);
        sub(a: __m256, b: __m256) -> __m256 = _mm256_sub_ps(a, b);
        mul(a: __m256, b: __m256) -> __m256 = _mm256_mul_ps(a, b);
        div(a: __m256, b: __m256) -> __m256 = _mm256_div_ps(a, b);
        fma(a: __m256, b: __m256, c: __m256) -> __m256 = _mm256_fmadd_ps(a, b, c);
        neg(a: __m256) -> __m256 = _mm256_xor_ps(a, _mm256_set1_ps(-0.0));
        abs(a: __m256) -> __m256 = _mm256_andnot_ps(_mm256_set1_ps(-0.0), a);
        max(a: __m256, b: __m256) -> __m256 = _mm256_max_ps(a, b);
        min(a: __m256, b: __m256) -> __m256 = _mm256_min_ps(a, b);
        sqrt(a: __m256) -> __m256 = _mm256_sqrt_ps(a);
        round(a: __m256) -> __m256 = _mm256_round_ps::<ROUND_NEAREST>(a);
        floor(a: __m256) -> __m256 = _mm256_floor_ps(a);
        lt(a: __m256, b: __m256) -> __m256 = _mm256_cmp_ps::<_CMP_LT_OQ>(a, b);
        eq(a: __m256, b: __m256) -> __m256 = _mm256_cmp_ps::<_CMP_EQ_OQ>(a, b);
        is_nan(a: __m256) -> __m256 = _mm256_cmp_ps::<_CMP_UNORD_Q>(a, a);
        select(mask: __m256, if_true: __m256, if_false: __m256) -> __m256 =
            _mm256_blendv_ps(if_false, if_true, mask);
        any(mask: __m256) -> bool = _mm256_movemask_ps(mask) != 0;
        to_int(a: __m256) -> __m256i = _mm256_cvtps_epi32(a);
        from_int(a: __m256i) -> __m256 = _mm256_cvtepi32_ps(a);
        int_add(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi32(a, b);
        int_splat(value: i32) -> __m256i = _mm256_set1_epi32(value);
        shift_left(a: __m256i, count: u32) -> __m256i =
            _mm256_sll_epi32(a, _mm_cvtsi32_si128(count.min(32).cast_signed()));
        shift_right(a: __m256i, count: u32) -> __m256i =
            _mm256_srl_epi32(a, _mm_cvtsi32_si128(count.min(32).cast_signed()));
        int_and(a: __m256i, b: __m256i) -> __m256i = _mm256_and_si256(a, b);
        int_or(a: __m256i, b: __m256i) -> __m256i = _mm256_or_si256(a, b);
        int_xor(a: __m256i, b: __m256i) -> __m256i = _mm256_xor_si256(a, b);
        bits_of(a: __m256) -> __m256i = _mm256_castps_si256(a);
        from_bits(a: __m256i) -> __m256 = _mm256_castsi256_ps(a);
    }

    #[inline(always)]
    fn max_nan(self, a: __m256, b: __m256) -> __m256 {
        self.select(self.is_nan(a), a, self.max(a, b))
    }

    #[inline(always)]
    fn pow2_scale(self, x: __m256, n: __m256) -> __m256 {
        // SAFETY: `self` proves AVX2; registers only.
        let clamp = |n| unsafe {
            let low = _mm256_max_epi32(n, _mm256_set1_epi32(-126));
            _mm256_min_epi32(low, _mm256_set1_epi32(127))
        };
        // The part that one factor cannot hold goes first; see the Scalar level for why this rounds
        // once.
        let n = self.to_int(n);
        let main = clamp(n);
        // SAFETY: `self` proves AVX2; registers only.
        let rest = clamp(unsafe { _mm256_sub_epi32(n, main) });
        let bias = self.int_splat(127);
        let power = |n| self.from_bits(self.shift_left(self.int_add(n, bias), 23));
        self.mul(self.mul(x, power(rest)), power(main))
    }

    #[inline(always)]
    unsafe fn transpose_32(self, source: (*const u32, usize), target: (*mut u32, usize)) {
        // SAFETY: as the caller vouches.
        unsafe { self.turn_32(source, target) }
    }
    #[inline(always)]
    unsafe fn transpose_16(self, source: (*const u16, usize), target: (*mut u16, usize)) {
        // SAFETY: as the caller vouches.
        unsafe { self.turn_16(source, target) }
    }

    #[inline(always)]
    fn gather(self, source: &[f32], index: &[i32]) -> __m256 {
        require_lanes(index.len(), Self::LANES);
        let length = source.len().min(1 << 31) as u32;
        // SAFETY: the slice holds eight indices; all are below the source's length and below
        // 2^31, so that none is taken for negative. `self` proves AVX2.
        unsafe {
            let at = _mm256_loadu_si256(index.as_ptr().cast());
            let limit = _mm256_set1_epi32(length.cast_signed());
            let is_beyond = _mm256_cmpeq_epi32(_mm256_max_epu32(at, limit), at);
            if _mm256_testz_si256(is_beyond, is_beyond) == 0 {
                beyond(source.len());
            }
            _mm256_i32gather_ps::<4>(source.as_ptr(), at)
        }
    }
    #[inline(always)]
    fn unzip(self, a: __m256, b: __m256) -> (__m256, __m256) {
        // SAFETY: `self` proves AVX; registers only.
        unsafe {
            let (low, high) =
                (_mm256_permute2f128_ps::<0x20>(a, b), _mm256_permute2f128_ps::<0x31>(a, b));
            (_mm256_shuffle_ps::<0x88>(low, high), _mm256_shuffle_ps::<0xdd>(low, high))
        }
    }
    #[inline(always)]
    fn zip(self, a: __m256, b: __m256) -> (__m256, __m256) {
        // SAFETY: `self` proves AVX; registers only.
        unsafe {
            let (low, high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
            let lower = _mm256_permute2f128_ps::<0x20>(low, high);
            (lower, _mm256_permute2f128_ps::<0x31>(low, high))
        }
    }
    #[inline(always)]
    fn turn_quarters(self, rows: [__m256; 4]) -> [__m256; 4] {
        // SAFETY: `self` proves AVX; registers only.
        unsafe {
            let [a, b, c, d] = rows;
            let even = [_mm256_shuffle_ps::<0x44>(a, b), _mm256_shuffle_ps::<0x44>(c, d)];
            let odd = [_mm256_shuffle_ps::<0xee>(a, b), _mm256_shuffle_ps::<0xee>(c, d)];
            [
                _mm256_permute2f128_ps::<0x20>(even[0], even[1]),
                _mm256_permute2f128_ps::<0x20>(odd[0], odd[1]),
                _mm256_permute2f128_ps::<0x31>(even[0], even[1]),
                _mm256_permute2f128_ps::<0x31>(odd[0], odd[1]),
            ]
        }
    }
    #[inline(always)]
    fn reverse(self, a: __m256) -> __m256 {
        // SAFETY: `self` proves AVX2; registers only.
        unsafe { _mm256_permutevar8x32_ps(a, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0)) }
    }

    #[inline(always)]
    fn reduce_sum(self, a: __m256) -> f32 {
        // SAFETY: `self` proves AVX; registers only.
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
    }
    #[inline(always)]
    fn reduce_max(self, a: __m256) -> f32 {
        if self.any(self.is_nan(a)) {
            return f32::NAN;
        }
        // SAFETY: `self` proves AVX; registers only.
        unsafe {
            let four = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
        }
    }
    #[inline(always)]
    fn reduce_min(self, a: __m256) -> f32 {
        // The negative of the largest negative: exact, and NaN stays NaN.
        -self.reduce_max(self.neg(a))
    }
}
