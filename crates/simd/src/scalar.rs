//! One lane in plain Rust: the level that every machine has, and the others' point of comparison.

use crate::vector::{beyond, require_lanes};
use crate::{Body, Simd};
use proofmark_terms::Isa;

/// The token of plain scalar code; always available.
#[derive(Clone, Copy, Debug)]
pub struct Scalar(());

impl Scalar {
    /// The token; needs no detection.
    pub const fn new() -> Self {
        Scalar(())
    }
}

impl Default for Scalar {
    fn default() -> Self {
        Scalar::new()
    }
}

impl Simd for Scalar {
    const ISA: Isa = Isa::Scalar;
    const LANES: usize = 1;
    type F = f32;
    type I = i32;
    type M = bool;

    #[inline(never)]
    fn apart<B: Body>(self, body: B) -> B::Output {
        body.run(self)
    }

    #[inline(always)]
    fn splat(self, value: f32) -> f32 {
        value
    }
    #[inline(always)]
    fn zero(self) -> f32 {
        0.0
    }

    #[inline(always)]
    fn load(self, source: &[f32]) -> f32 {
        require_lanes(source.len(), 1);
        source[0]
    }
    #[inline(always)]
    fn store(self, value: f32, target: &mut [f32]) {
        require_lanes(target.len(), 1);
        target[0] = value;
    }
    #[inline(always)]
    unsafe fn load_ptr(self, source: *const f32) -> f32 {
        // SAFETY: the caller vouches for one readable element; alignment is not required.
        unsafe { source.read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store_ptr(self, value: f32, target: *mut f32) {
        // SAFETY: the caller vouches for one writable element; alignment is not required.
        unsafe { target.write_unaligned(value) }
    }
    #[inline(always)]
    unsafe fn transpose_ptr(self, source: *const f32, _: usize, target: *mut f32, _: usize) {
        // SAFETY: the caller vouches for one element of each.
        unsafe { self.store_ptr(self.load_ptr(source), target) }
    }
    #[inline(always)]
    fn load_partial(self, source: &[f32], fill: f32) -> f32 {
        source.first().copied().unwrap_or(fill)
    }
    #[inline(always)]
    fn store_partial(self, value: f32, target: &mut [f32]) {
        if let Some(first) = target.first_mut() {
            *first = value;
        }
    }

    #[inline(always)]
    fn load_bf16(self, source: &[u16]) -> f32 {
        require_lanes(source.len(), 1);
        bf16_to_f32(source[0])
    }
    #[inline(always)]
    fn load_bf16_partial(self, source: &[u16], fill: f32) -> f32 {
        source.first().map_or(fill, |bits| bf16_to_f32(*bits))
    }
    #[inline(always)]
    fn store_bf16(self, value: f32, target: &mut [u16]) {
        require_lanes(target.len(), 1);
        target[0] = f32_to_bf16(value);
    }
    #[inline(always)]
    fn store_bf16_partial(self, value: f32, target: &mut [u16]) {
        if let Some(first) = target.first_mut() {
            *first = f32_to_bf16(value);
        }
    }
    #[inline(always)]
    fn load_f16(self, source: &[u16]) -> f32 {
        require_lanes(source.len(), 1);
        f16_to_f32(source[0])
    }
    #[inline(always)]
    fn load_f16_partial(self, source: &[u16], fill: f32) -> f32 {
        source.first().map_or(fill, |bits| f16_to_f32(*bits))
    }
    #[inline(always)]
    fn store_f16(self, value: f32, target: &mut [u16]) {
        require_lanes(target.len(), 1);
        target[0] = f32_to_f16(value);
    }
    #[inline(always)]
    fn store_f16_partial(self, value: f32, target: &mut [u16]) {
        if let Some(first) = target.first_mut() {
            *first = f32_to_f16(value);
        }
    }

    #[inline(always)]
    fn load_i8(self, source: &[i8]) -> i32 {
        require_lanes(source.len(), 1);
        i32::from(source[0])
    }
    #[inline(always)]
    fn load_i8_partial(self, source: &[i8]) -> i32 {
        source.first().map_or(0, |&byte| i32::from(byte))
    }
    #[inline(always)]
    fn store_i8(self, value: i32, target: &mut [i8]) {
        require_lanes(target.len(), 1);
        target[0] = value as i8;
    }
    #[inline(always)]
    fn store_i8_partial(self, value: i32, target: &mut [i8]) {
        if let Some(first) = target.first_mut() {
            *first = value as i8;
        }
    }
    #[inline(always)]
    fn load_bytes(self, source: &[i8]) -> i32 {
        require_lanes(source.len(), 4);
        i32::from_le_bytes([0, 1, 2, 3].map(|i| source[i].cast_unsigned()))
    }
    #[inline(always)]
    fn load_bytes_partial(self, source: &[i8]) -> i32 {
        let byte = |i: usize| source.get(i).map_or(0, |byte| byte.cast_unsigned());
        i32::from_le_bytes([0, 1, 2, 3].map(byte))
    }

    #[inline(always)]
    fn add(self, a: f32, b: f32) -> f32 {
        a + b
    }
    #[inline(always)]
    fn sub(self, a: f32, b: f32) -> f32 {
        a - b
    }
    #[inline(always)]
    fn mul(self, a: f32, b: f32) -> f32 {
        a * b
    }
    #[inline(always)]
    fn div(self, a: f32, b: f32) -> f32 {
        a / b
    }
    #[inline(always)]
    fn fma(self, a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }
    #[inline(always)]
    fn neg(self, a: f32) -> f32 {
        -a
    }
    #[inline(always)]
    fn abs(self, a: f32) -> f32 {
        a.abs()
    }
    #[inline(always)]
    fn max(self, a: f32, b: f32) -> f32 {
        if a > b { a } else { b }
    }
    #[inline(always)]
    fn min(self, a: f32, b: f32) -> f32 {
        if a < b { a } else { b }
    }
    #[inline(always)]
    fn max_nan(self, a: f32, b: f32) -> f32 {
        if a > b || a.is_nan() { a } else { b }
    }
    #[inline(always)]
    fn sqrt(self, a: f32) -> f32 {
        a.sqrt()
    }
    #[inline(always)]
    fn round(self, a: f32) -> f32 {
        // From 2^23 on every f32 is an integer; below, adding it leaves no fraction bits. The
        // baseline target has no rounding instruction: `round_ties_even` would be a call.
        const INTEGERS: f32 = 8_388_608.0;
        if a.abs() < INTEGERS { ((a.abs() + INTEGERS) - INTEGERS).copysign(a) } else { a }
    }
    #[inline(always)]
    fn floor(self, a: f32) -> f32 {
        let nearest = self.round(a);
        if nearest > a { nearest - 1.0 } else { nearest }
    }

    #[inline(always)]
    fn lt(self, a: f32, b: f32) -> bool {
        a < b
    }
    #[inline(always)]
    fn eq(self, a: f32, b: f32) -> bool {
        a == b
    }
    #[inline(always)]
    fn is_nan(self, a: f32) -> bool {
        a.is_nan()
    }
    #[inline(always)]
    fn select(self, mask: bool, if_true: f32, if_false: f32) -> f32 {
        if mask { if_true } else { if_false }
    }
    #[inline(always)]
    fn gather(self, source: &[f32], index: &[i32]) -> f32 {
        require_lanes(index.len(), 1);
        source.get(index[0] as usize).copied().unwrap_or_else(|| beyond(source.len()))
    }
    #[inline(always)]
    fn unzip(self, a: f32, b: f32) -> (f32, f32) {
        (a, b)
    }
    #[inline(always)]
    fn zip(self, a: f32, b: f32) -> (f32, f32) {
        (a, b)
    }
    #[inline(always)]
    fn turn_quarters(self, rows: [f32; 4]) -> [f32; 4] {
        rows
    }
    #[inline(always)]
    fn reverse(self, a: f32) -> f32 {
        a
    }

    #[inline(always)]
    fn any(self, mask: bool) -> bool {
        mask
    }

    #[inline(always)]
    fn to_int(self, a: f32) -> i32 {
        const LIMIT: f32 = 2_147_483_648.0;
        if (-LIMIT..LIMIT).contains(&a) { self.round(a) as i32 } else { i32::MIN }
    }
    #[inline(always)]
    fn from_int(self, a: i32) -> f32 {
        a as f32
    }
    #[inline(always)]
    fn int_add(self, a: i32, b: i32) -> i32 {
        a.wrapping_add(b)
    }
    #[inline(always)]
    fn int_splat(self, value: i32) -> i32 {
        value
    }
    #[inline(always)]
    fn shift_left(self, a: i32, count: u32) -> i32 {
        a.checked_shl(count).unwrap_or(0)
    }
    #[inline(always)]
    fn shift_right(self, a: i32, count: u32) -> i32 {
        a.cast_unsigned().checked_shr(count).unwrap_or(0).cast_signed()
    }
    #[inline(always)]
    fn int_and(self, a: i32, b: i32) -> i32 {
        a & b
    }
    #[inline(always)]
    fn int_or(self, a: i32, b: i32) -> i32 {
        a | b
    }
    #[inline(always)]
    fn int_xor(self, a: i32, b: i32) -> i32 {
        a ^ b
    }
    #[inline(always)]
    fn mul_wide(self, a: i32, b: i32) -> [i32; 2] {
        let product = u64::from(a.cast_unsigned()) * u64::from(b.cast_unsigned());
        [(product >> 32) as i32, product as i32]
    }
    #[inline(always)]
    fn dot_i8(self, sums: i32, a: i32, b: i32) -> i32 {
        let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
        let term = |i: usize| i32::from(a[i].cast_signed()) * i32::from(b[i].cast_signed());
        sums.wrapping_add(term(0) + term(1) + term(2) + term(3))
    }
    #[inline(always)]
    unsafe fn dot_u8_i8(self, sums: i32, a: i32, b: i32) -> i32 {
        let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
        let term = |i: usize| i32::from(a[i]) * i32::from(b[i].cast_signed());
        sums.wrapping_add(term(0) + term(1) + term(2) + term(3))
    }
    #[inline(always)]
    fn int_reduce_sum(self, a: i32) -> i32 {
        a
    }
    #[inline(always)]
    fn bits_of(self, a: f32) -> i32 {
        a.to_bits().cast_signed()
    }
    #[inline(always)]
    fn from_bits(self, a: i32) -> f32 {
        f32::from_bits(a.cast_unsigned())
    }
    #[inline(always)]
    fn pow2_scale(self, x: f32, n: f32) -> f32 {
        // The part of the exponent that one factor cannot hold goes first. If that product already
        // rounds, it is so small that the second product underflows to zero, as the exact result
        // does. The order "largest part first" would round twice.
        let n = self.to_int(n);
        let main = n.clamp(-126, 127);
        let rest = (n - main).clamp(-126, 127);
        let power = |exponent: i32| self.from_bits((exponent + 127) << 23);
        x * power(rest) * power(main)
    }

    #[inline(always)]
    fn reduce_sum(self, a: f32) -> f32 {
        a
    }
    #[inline(always)]
    fn reduce_max(self, a: f32) -> f32 {
        a
    }
    #[inline(always)]
    fn reduce_min(self, a: f32) -> f32 {
        a
    }
}

#[inline(always)]
fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

#[inline(always)]
fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        // Rounding could carry a NaN's payload into the sign, or clear it into an infinity.
        return (bits >> 16) as u16 | 0x0040;
    }
    ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) as u16
}

#[inline(always)]
fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let exponent = u32::from(bits >> 10) & 0x1f;
    let fraction = u32::from(bits & 0x03ff);
    let magnitude = match (exponent, fraction) {
        (0, _) => (fraction as f32 / 16_777_216.0).to_bits(),
        (31, 0) => 0x7f80_0000,
        (31, _) => 0x7fc0_0000 | fraction << 13,
        _ => (exponent + 112) << 23 | fraction << 13,
    };
    f32::from_bits(sign | magnitude)
}

#[inline(always)]
fn f32_to_f16(value: f32) -> u16 {
    const INFINITY: u32 = 0x7f80_0000;
    const TWO_POW_16: u32 = 0x4780_0000;
    const SMALLEST_NORMAL: u32 = 0x3880_0000;
    const HALF: u32 = 0x3f00_0000;
    let sign = (value.to_bits() >> 16) & 0x8000;
    let magnitude = value.to_bits() & 0x7fff_ffff;
    let half = if magnitude > INFINITY {
        0x7e00 | (magnitude >> 13) & 0x03ff
    } else if magnitude >= TWO_POW_16 {
        0x7c00
    } else if magnitude >= SMALLEST_NORMAL {
        let rebiased = magnitude - (112 << 23);
        (rebiased + 0x0fff + ((rebiased >> 13) & 1)) >> 13
    } else {
        // One half has the spacing of f16's subnormals, 2^-24: the addition itself rounds.
        (f32::from_bits(magnitude) + 0.5).to_bits() - HALF
    };
    (sign | half) as u16
}
