//! The portable vector: what every instruction-set level can do, and the body written over it.

use proofmark_terms::Isa;

/// Work written once over any vector width; see [`crate::dispatch`].
pub trait Body {
    /// What the work returns.
    type Output;

    /// Does the work with the instructions that `simd` permits.
    ///
    /// Every implementation must be `#[inline(always)]`, and so must every function that it
    /// calls with vectors: only code inlined into the entry function is compiled with the
    /// level's features. Elsewhere the result is the same, but each vector operation becomes a
    /// call through memory.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// A token that permits the instructions of one level, with the operations on its vectors.
///
/// A value of an implementing type exists only where its instructions do, so every operation on
/// registers is safe. Operations on slices check their length and touch nothing outside it.
/// All operations expect the default floating-point environment (`MXCSR` 0x1f80: round to
/// nearest even, subnormals kept).
///
/// The 16-bit formats are passed as raw bits. Their conversions give the same bits at every
/// level: rounding is to nearest, ties to even; values past the largest finite one become
/// infinite; a NaN keeps its sign and the payload bits that fit and is made quiet (loading bf16
/// is a pure shift and keeps a signalling NaN as it is).
#[allow(clippy::wrong_self_convention, reason = "`self` is the token, the vector is the argument")]
pub trait Simd: Copy + Send + Sync + 'static {
    /// The level this token permits.
    const ISA: Isa;
    /// How many `f32` a vector holds.
    const LANES: usize;
    /// A vector of `f32`.
    type F: Copy;
    /// A vector of `i32` with as many lanes.
    type I: Copy;
    /// One truth value per lane.
    type M: Copy;

    /// Runs `body` as a separate function with its own register allocation. It is for a kernel of
    /// many large loops, which would otherwise spill each other's addresses.
    fn apart<B: Body>(self, body: B) -> B::Output;

    /// Every lane `value`.
    fn splat(self, value: f32) -> Self::F;
    /// Every lane +0.
    fn zero(self) -> Self::F;

    /// The first `LANES` elements. Panics if there are fewer.
    fn load(self, source: &[f32]) -> Self::F;
    /// Writes the first `LANES` elements. Panics if there are fewer.
    fn store(self, value: Self::F, target: &mut [f32]);
    /// Reads `LANES` elements, of any alignment.
    ///
    /// # Safety
    ///
    /// `source` must be valid for reading `LANES` initialised `f32`.
    unsafe fn load_ptr(self, source: *const f32) -> Self::F;
    /// Writes `LANES` elements, at any alignment.
    ///
    /// # Safety
    ///
    /// `target` must be valid for writing `LANES` `f32`.
    unsafe fn store_ptr(self, value: Self::F, target: *mut f32);
    /// Asks for the cache line of an address that will be read soon; it need not be valid.
    #[inline(always)]
    fn prefetch(self, at: *const f32) {
        _ = at;
    }
    /// As [`Simd::prefetch`], into the second level of the caches only.
    #[inline(always)]
    fn prefetch_l2(self, at: *const f32) {
        _ = at;
    }
    /// Transposes a square of `LANES` rows of `LANES` elements of 4 bytes: element `j` of row `i`
    /// becomes element `i` of row `j`. Rows begin `stride` elements apart; no bit is changed. Rows
    /// of the target are written in order, so they may overlap the rows after them.
    ///
    /// # Safety
    ///
    /// `source` must be valid for reading `LANES` rows and `target` for writing them; the two must
    /// not overlap.
    unsafe fn transpose_ptr(
        self,
        source: *const f32,
        source_stride: usize,
        target: *mut f32,
        target_stride: usize,
    );
    /// The elements that `source` has, at most `LANES`; lanes past its end are `fill`. Never
    /// reads past the end, so a slice may end where its page does.
    fn load_partial(self, source: &[f32], fill: f32) -> Self::F;
    /// Writes as many lanes as `target` has room for, at most `LANES`, and nothing past its end.
    fn store_partial(self, value: Self::F, target: &mut [f32]);

    /// The first `LANES` bf16 values, widened exactly. Panics if there are fewer.
    fn load_bf16(self, source: &[u16]) -> Self::F;
    /// As [`Simd::load_partial`], from bf16.
    fn load_bf16_partial(self, source: &[u16], fill: f32) -> Self::F;
    /// Rounds to bf16 into the first `LANES` elements. Panics if there are fewer.
    fn store_bf16(self, value: Self::F, target: &mut [u16]);
    /// As [`Simd::store_partial`], to bf16.
    fn store_bf16_partial(self, value: Self::F, target: &mut [u16]);
    /// The first `LANES` f16 values, widened exactly. Panics if there are fewer.
    fn load_f16(self, source: &[u16]) -> Self::F;
    /// As [`Simd::load_partial`], from f16.
    fn load_f16_partial(self, source: &[u16], fill: f32) -> Self::F;
    /// Rounds to f16 into the first `LANES` elements. Panics if there are fewer.
    fn store_f16(self, value: Self::F, target: &mut [u16]);
    /// As [`Simd::store_partial`], to f16.
    fn store_f16_partial(self, value: Self::F, target: &mut [u16]);

    /// The first `LANES` bytes, sign-extended. Panics if there are fewer.
    fn load_i8(self, source: &[i8]) -> Self::I;
    /// The bytes that `source` has, at most `LANES`, sign-extended; lanes past its end are 0.
    fn load_i8_partial(self, source: &[i8]) -> Self::I;
    /// Writes the low byte of each lane to the first `LANES` elements. Panics if there are fewer.
    fn store_i8(self, value: Self::I, target: &mut [i8]);
    /// As [`Simd::store_i8`], for as many lanes as `target` has room for.
    fn store_i8_partial(self, value: Self::I, target: &mut [i8]);
    /// The first `4 * LANES` bytes as they lie, four to a lane. Panics if there are fewer.
    fn load_bytes(self, source: &[i8]) -> Self::I;
    /// As [`Simd::load_bytes`], with zeros past the end of `source`.
    fn load_bytes_partial(self, source: &[i8]) -> Self::I;

    /// `a + b`.
    fn add(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a - b`.
    fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a * b`.
    fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a / b`, correctly rounded.
    fn div(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a * b + c`: rounded once on Avx2 and Avx512, **twice on Scalar**, whose baseline target
    /// has no fused instruction and would call a slow library routine.
    fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// The sign flipped, of NaN and zero too.
    fn neg(self, a: Self::F) -> Self::F;
    /// The sign cleared, of NaN and zero too.
    fn abs(self, a: Self::F) -> Self::F;
    /// `if a > b { a } else { b }`: **`b` if either is NaN**, and `b` if both are zeros. So an
    /// accumulator that is `a` is replaced by a NaN in `b`, and a NaN in `a` is lost.
    fn max(self, a: Self::F, b: Self::F) -> Self::F;
    /// `if a < b { a } else { b }`: `b` if either is NaN, and `b` if both are zeros.
    fn min(self, a: Self::F, b: Self::F) -> Self::F;
    /// As [`Simd::max`], but NaN if either is NaN.
    fn max_nan(self, a: Self::F, b: Self::F) -> Self::F;
    /// The square root, correctly rounded; NaN below zero.
    fn sqrt(self, a: Self::F) -> Self::F;
    /// The nearest integer, ties to even; the sign of zero is kept.
    fn round(self, a: Self::F) -> Self::F;
    /// The largest integer not above `a`; the sign of zero is kept.
    fn floor(self, a: Self::F) -> Self::F;

    /// `a < b`; false where either is NaN.
    fn lt(self, a: Self::F, b: Self::F) -> Self::M;
    /// `a == b`; false where either is NaN.
    fn eq(self, a: Self::F, b: Self::F) -> Self::M;
    /// Where `a` is NaN.
    fn is_nan(self, a: Self::F) -> Self::M;
    /// `if_true` where the mask is set, `if_false` elsewhere.
    fn select(self, mask: Self::M, if_true: Self::F, if_false: Self::F) -> Self::F;
    /// Whether the mask is set anywhere.
    fn any(self, mask: Self::M) -> bool;

    /// The nearest integer, ties to even; `i32::MIN` for NaN and for what does not fit.
    fn to_int(self, a: Self::F) -> Self::I;
    /// The nearest `f32`.
    fn from_int(self, a: Self::I) -> Self::F;
    /// `a + b`, wrapping.
    fn int_add(self, a: Self::I, b: Self::I) -> Self::I;
    /// Every lane `value`.
    fn int_splat(self, value: i32) -> Self::I;
    /// The bits moved left by `count`; zero from 32 on. A constant becomes an immediate.
    fn shift_left(self, a: Self::I, count: u32) -> Self::I;
    /// The bits moved right by `count`, zeros after them; zero from 32 on.
    fn shift_right(self, a: Self::I, count: u32) -> Self::I;
    /// The bits set in both.
    fn int_and(self, a: Self::I, b: Self::I) -> Self::I;
    /// The bits set in either.
    fn int_or(self, a: Self::I, b: Self::I) -> Self::I;
    /// The bits set in one of them alone.
    fn int_xor(self, a: Self::I, b: Self::I) -> Self::I;
    /// The upper and the lower half of the product of unsigned lanes.
    fn mul_wide(self, a: Self::I, b: Self::I) -> [Self::I; 2];
    /// Adds to each lane the four products of its signed bytes; exact but for wrapping sums.
    fn dot_i8(self, sums: Self::I, a: Self::I, b: Self::I) -> Self::I;
    /// As [`Simd::dot_i8`] with the bytes of `a` unsigned, by the instruction made for it.
    ///
    /// # Safety
    ///
    /// [`crate::has_byte_dot`] must say that this level has it.
    unsafe fn dot_u8_i8(self, sums: Self::I, a: Self::I, b: Self::I) -> Self::I;
    /// The sum of the lanes, wrapping.
    fn int_reduce_sum(self, a: Self::I) -> i32;
    /// The bits of `a`.
    fn bits_of(self, a: Self::F) -> Self::I;
    /// The float with the bits of `a`.
    fn from_bits(self, a: Self::I) -> Self::F;
    /// `x * 2^n`, rounded once, into the subnormals below and to infinity above.
    ///
    /// `n` must hold integers of magnitude below 2^31. The result is right for every `x` while
    /// -252 <= n <= 254, and for any such `n` where `x` is zero, infinite, NaN or in
    /// 2^-126 <= |x| < 2^102: the two-step product of the levels without a scaling instruction
    /// takes `n` as the nearer end of that range.
    fn pow2_scale(self, x: Self::F, n: Self::F) -> Self::F;

    /// Transposes 8 rows of 8 elements: row `j` of the target is column `j` of the source. Each
    /// side is given by its first element and its row stride in elements.
    ///
    /// # Safety
    ///
    /// The source must be valid for reading 8 elements at each of its 8 rows, the target for
    /// writing, and they must not overlap.
    #[inline(always)]
    unsafe fn transpose_32(self, source: (*const u32, usize), target: (*mut u32, usize)) {
        // SAFETY: as the caller vouches.
        unsafe { turn(source, target) }
    }
    /// As [`Simd::transpose_32`], of elements of 16 bits.
    ///
    /// # Safety
    ///
    /// As there.
    #[inline(always)]
    unsafe fn transpose_16(self, source: (*const u16, usize), target: (*mut u16, usize)) {
        // SAFETY: as the caller vouches.
        unsafe { turn(source, target) }
    }

    /// `source[index[lane]]` for the first `LANES` indices. Panics if there are fewer, or one is
    /// negative or beyond the source.
    fn gather(self, source: &[f32], index: &[i32]) -> Self::F;
    /// The elements at even and at odd positions of `a` followed by `b`: deinterleaves pairs.
    fn unzip(self, a: Self::F, b: Self::F) -> (Self::F, Self::F);
    /// Interleaves the lanes of `a` and `b`, lower lanes first; undoes [`Simd::unzip`].
    fn zip(self, a: Self::F, b: Self::F) -> (Self::F, Self::F);
    /// Transposes four rows of four quarters: quarter `j` of vector `i` becomes quarter `i` of
    /// vector `j`. A vector of one lane has no quarters and is unchanged.
    fn turn_quarters(self, rows: [Self::F; 4]) -> [Self::F; 4];
    /// The lanes in reverse order.
    fn reverse(self, a: Self::F) -> Self::F;

    /// The sum of the lanes, in a fixed order: the upper half is added to the lower (lane `i` +
    /// lane `i + LANES / 2`), and so on until one lane is left. Eight lanes are
    /// `((0+4) + (2+6)) + ((1+5) + (3+7))`.
    fn reduce_sum(self, a: Self::F) -> f32;
    /// The largest lane; NaN if any is NaN. Which zero is returned is unspecified if both occur.
    fn reduce_max(self, a: Self::F) -> f32;
    /// The smallest lane; NaN if any is NaN. Which zero is returned is unspecified if both occur.
    fn reduce_min(self, a: Self::F) -> f32;
}

/// Transposes one element after the other.
///
/// # Safety
///
/// As [`Simd::transpose_32`].
#[inline(always)]
unsafe fn turn<T: Copy>(source: (*const T, usize), target: (*mut T, usize)) {
    for i in 0..8 {
        for j in 0..8 {
            // SAFETY: the caller vouches for 8 rows of 8 elements on either side.
            unsafe { *target.0.add(j * target.1 + i) = *source.0.add(i * source.1 + j) };
        }
    }
}

#[cold]
#[inline(never)]
pub(crate) fn beyond(length: usize) -> ! {
    panic!("an index leaves the {length} elements that are gathered from")
}

/// Panics unless a slice of `length` elements holds a vector of `lanes`.
#[inline(always)]
pub(crate) fn require_lanes(length: usize, lanes: usize) {
    if length < lanes {
        too_short(length, lanes);
    }
}

#[cold]
#[inline(never)]
fn too_short(length: usize, lanes: usize) -> ! {
    panic!("a slice of {length} elements does not hold a vector of {lanes}")
}
