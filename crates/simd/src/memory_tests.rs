//! Loads and stores: short slices, slices against a guard page, and every 16-bit code.

use crate::tests::{ROOM, at_every_level, lanes};
use crate::{Body, Simd, available, dispatch};
use proofmark_terms::Isa;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn slices_shorter_than_a_vector_are_refused_by_whole_loads_and_stores() {
    at_every_level!(|simd: S| {
        let short = S::LANES - 1;
        let refused = |attempt: &mut dyn FnMut()| {
            assert!(catch_unwind(AssertUnwindSafe(attempt)).is_err(), "{}", S::ISA);
        };
        let (floats, words) = (vec![0.0_f32; short], vec![0_u16; short]);
        let (mut floats_out, mut words_out) = (floats.clone(), words.clone());
        refused(&mut || _ = simd.load(&floats));
        refused(&mut || _ = simd.load_bf16(&words));
        refused(&mut || _ = simd.load_f16(&words));
        refused(&mut || simd.store(simd.zero(), &mut floats_out));
        refused(&mut || simd.store_bf16(simd.zero(), &mut words_out));
        refused(&mut || simd.store_f16(simd.zero(), &mut words_out));
    });
}

#[test]
fn a_transposed_square_has_each_bit_pattern_where_it_belongs() {
    at_every_level!(|simd: S| {
        let (lanes, from_stride, to_stride) = (S::LANES, S::LANES + 3, S::LANES + 1);
        // The patterns include signalling NaNs, which moving must not make quiet.
        let pattern = |i: usize, j: usize| 0x7f80_0001 + (i * 37 + j) as u32;
        let mut source = vec![0.0_f32; lanes * from_stride];
        let mut target = vec![0.0_f32; lanes * to_stride];
        for i in 0..lanes {
            (0..lanes).for_each(|j| source[i * from_stride + j] = f32::from_bits(pattern(i, j)));
        }
        // SAFETY: both hold `LANES` rows with their strides.
        unsafe {
            simd.transpose_ptr(source.as_ptr(), from_stride, target.as_mut_ptr(), to_stride);
        }
        for i in 0..lanes {
            for j in 0..lanes {
                let got = target[j * to_stride + i].to_bits();
                assert_eq!(got, pattern(i, j), "{} row {i} column {j}", S::ISA);
            }
        }
    });
}

/// Two pages, the second without access, and slices that end where the first does.
#[cfg(target_os = "linux")]
struct GuardedPage(*mut u8);

#[cfg(target_os = "linux")]
mod libc_calls {
    use core::ffi::{c_int, c_void};
    // SAFETY: the signatures of the C library on every Linux that Rust supports.
    unsafe extern "C" {
        pub(super) fn mmap(
            address: *mut c_void,
            length: usize,
            protection: c_int,
            flags: c_int,
            file: c_int,
            offset: i64,
        ) -> *mut c_void;
        pub(super) fn mprotect(address: *mut c_void, length: usize, protection: c_int) -> c_int;
        pub(super) fn munmap(address: *mut c_void, length: usize) -> c_int;
    }
}

#[cfg(target_os = "linux")]
impl GuardedPage {
    /// Covers the largest page of the supported targets.
    const PAGE: usize = 65536;

    fn new() -> Self {
        const READ_WRITE: i32 = 3;
        const PRIVATE_ANONYMOUS: i32 = 0x22;
        // SAFETY: asks for fresh pages at an address of the kernel's choice.
        let base = unsafe {
            libc_calls::mmap(
                core::ptr::null_mut(),
                2 * Self::PAGE,
                READ_WRITE,
                PRIVATE_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(base.addr(), usize::MAX, "no memory for the guard page");
        let base = base.cast::<u8>();
        // SAFETY: the second half of the pages just mapped, which nothing else uses.
        let done = unsafe { libc_calls::mprotect(base.add(Self::PAGE).cast(), Self::PAGE, 0) };
        assert_eq!(done, 0, "the guard page could not be protected");
        GuardedPage(base)
    }

    /// The last `length` elements before the guard.
    fn tail<T: Copy>(&mut self, length: usize) -> &mut [T] {
        let bytes = length * size_of::<T>();
        assert!(bytes <= Self::PAGE);
        // SAFETY: the bytes are mapped, zeroed or written as plain numbers, and aligned because
        // the page's end is; the borrow of `self` keeps other slices away.
        unsafe {
            let start = self.0.add(Self::PAGE - bytes).cast();
            core::slice::from_raw_parts_mut(start, length)
        }
    }
}

#[cfg(target_os = "linux")]
impl Drop for GuardedPage {
    fn drop(&mut self) {
        // SAFETY: the pages mapped by `new`; no slice outlives the value.
        unsafe { libc_calls::munmap(self.0.cast(), 2 * Self::PAGE) };
    }
}

#[cfg(target_os = "linux")]
#[test]
fn partial_loads_and_stores_stay_inside_a_slice_that_ends_its_page() {
    at_every_level!(|simd: S| {
        let mut page = GuardedPage::new();
        for length in 0..=S::LANES + 1 {
            let kept = length.min(S::LANES);
            let floats = page.tail::<f32>(length);
            floats.iter_mut().enumerate().for_each(|(i, v)| *v = i as f32 + 1.0);
            let loaded = simd.load_partial(floats, -5.0);
            let expected = |i: usize| if i < kept { i as f32 + 1.0 } else { -5.0 };
            assert_eq!(lanes(simd, loaded), (0..S::LANES).map(expected).collect::<Vec<_>>());
            simd.store_partial(simd.splat(7.0), floats);
            assert!(floats[..kept].iter().all(|v| *v == 7.0), "{} {length}", S::ISA);
            assert!(floats[kept..].iter().all(|v| *v == S::LANES as f32 + 1.0));

            let words = page.tail::<u16>(length);
            words.fill(0x4040);
            let loaded = lanes(simd, simd.load_bf16_partial(words, -5.0));
            let expected = |i: usize| if i < kept { 3.0 } else { -5.0 };
            assert_eq!(loaded, (0..S::LANES).map(expected).collect::<Vec<_>>());
            words.fill(0x4200);
            let loaded = lanes(simd, simd.load_f16_partial(words, -5.0));
            assert_eq!(loaded, (0..S::LANES).map(expected).collect::<Vec<_>>());
            simd.store_bf16_partial(simd.splat(3.0), words);
            assert!(words[..kept].iter().all(|w| *w == 0x4040), "{} {length}", S::ISA);
            simd.store_f16_partial(simd.splat(3.0), words);
            assert!(words.iter().all(|w| *w == 0x4200), "{} {length}", S::ISA);
        }
    });
}

#[test]
fn partial_stores_change_nothing_after_the_slice() {
    at_every_level!(|simd: S| {
        let lane_numbers: [f32; ROOM] = core::array::from_fn(|i| i as f32 + 1.0);
        let value = simd.load(&lane_numbers);
        for length in 0..=S::LANES {
            let mut floats = [-1.0_f32; 2 * ROOM];
            simd.store_partial(value, &mut floats[..length]);
            assert_eq!(floats[..length], lane_numbers[..length], "{}", S::ISA);
            assert!(floats[length..].iter().all(|v| *v == -1.0), "{} {length}", S::ISA);
            let (mut brain, mut half) = ([0xffff_u16; 2 * ROOM], [0xffff_u16; 2 * ROOM]);
            simd.store_bf16_partial(value, &mut brain[..length]);
            simd.store_f16_partial(value, &mut half[..length]);
            for i in 0..length {
                assert_eq!(value_of(brain[i], &BF16), f64::from(lane_numbers[i]), "{}", S::ISA);
                assert_eq!(value_of(half[i], &F16), f64::from(lane_numbers[i]), "{}", S::ISA);
            }
            assert!(brain[length..].iter().chain(&half[length..]).all(|w| *w == 0xffff));
        }
    });
}

/// A 16-bit float format, for expectations derived from its definition.
struct Format {
    fraction_bits: u32,
    exponent_bits: u32,
}

const BF16: Format = Format { fraction_bits: 7, exponent_bits: 8 };
const F16: Format = Format { fraction_bits: 10, exponent_bits: 5 };

impl Format {
    fn infinity(&self) -> u16 {
        ((1 << self.exponent_bits) - 1) << self.fraction_bits
    }
}

/// What `code` stands for by the definition of the format; NaN for NaN.
fn value_of(code: u16, format: &Format) -> f64 {
    let magnitude = code & 0x7fff;
    let sign = if code == magnitude { 1.0 } else { -1.0 };
    if magnitude == format.infinity() {
        return sign * f64::INFINITY;
    }
    if magnitude > format.infinity() {
        return f64::NAN;
    }
    sign * finite_value_of(magnitude, format)
}

/// As [`value_of`], of a positive code; the code of infinity is the next power of two.
fn finite_value_of(magnitude: u16, format: &Format) -> f64 {
    let bias = (1 << (format.exponent_bits - 1)) - 1;
    let exponent = i32::from(magnitude >> format.fraction_bits);
    let fraction = f64::from(magnitude & ((1 << format.fraction_bits) - 1));
    let scale = 2.0_f64.powi(-(format.fraction_bits.cast_signed()));
    if exponent == 0 {
        fraction * scale * 2.0_f64.powi(1 - bias)
    } else {
        (1.0 + fraction * scale) * 2.0_f64.powi(exponent - bias)
    }
}

#[test]
fn every_16_bit_code_loads_as_its_definition_says() {
    at_every_level!(|simd: S| {
        let codes: Vec<u16> = (0..=u16::MAX).collect();
        for chunk in codes.chunks_exact(S::LANES) {
            let brain = lanes(simd, simd.load_bf16(chunk));
            let half = lanes(simd, simd.load_f16(chunk));
            for (lane, code) in chunk.iter().copied().enumerate() {
                for (got, format) in [(brain[lane], &BF16), (half[lane], &F16)] {
                    let exact = value_of(code, format);
                    let same = f64::from(got).to_bits() == exact.to_bits();
                    let isa = S::ISA;
                    assert!(same || got.is_nan() && exact.is_nan(), "{code:#06x} on {isa}: {got}");
                    assert_eq!(got.is_sign_negative(), code & 0x8000 != 0, "{code:#06x} on {isa}");
                }
            }
        }
    });
}

/// Stores `value` in every lane, whole and partial, and returns the one code that all lanes got.
#[inline(always)]
fn stored<S: Simd>(simd: S, value: f32, brain: bool) -> u16 {
    let (mut whole, mut partial) = ([0; ROOM], [0; ROOM]);
    let value = simd.splat(value);
    let part = &mut partial[..S::LANES];
    if brain {
        simd.store_bf16(value, &mut whole);
        simd.store_bf16_partial(value, part);
    } else {
        simd.store_f16(value, &mut whole);
        simd.store_f16_partial(value, part);
    }
    assert_eq!(whole, partial, "{}", S::ISA);
    assert!(whole[..S::LANES].iter().all(|word| *word == whole[0]), "{}", S::ISA);
    whole[0]
}

#[test]
fn stores_round_to_nearest_even_at_every_midpoint_and_one_ulp_either_side() {
    at_every_level!(|simd: S| {
        for (brain, format) in [(true, &BF16), (false, &F16)] {
            for code in 0..format.infinity() {
                let (low, high) =
                    (finite_value_of(code, format), finite_value_of(code + 1, format));
                let middle = ((low + high) / 2.0) as f32;
                assert_eq!(f64::from(middle), (low + high) / 2.0, "midpoints are exact in f32");
                let even = code + (code & 1);
                for (value, wanted) in [
                    (low as f32, code),
                    (middle.next_down(), code),
                    (middle, even),
                    (middle.next_up(), code + 1),
                ] {
                    let (plus, minus) = (stored(simd, value, brain), stored(simd, -value, brain));
                    assert_eq!(plus, wanted, "{value:e} on {}", S::ISA);
                    assert_eq!(minus, wanted | 0x8000, "-{value:e} on {}", S::ISA);
                }
            }
            for value in [f32::INFINITY, f32::MAX] {
                assert_eq!(stored(simd, value, brain), format.infinity(), "{}", S::ISA);
                assert_eq!(stored(simd, -value, brain), format.infinity() | 0x8000, "{}", S::ISA);
            }
        }
    });
}

#[test]
fn stored_nans_stay_nan_and_become_quiet() {
    at_every_level!(|simd: S| {
        for payload in [1, 0x2000, 0x001f_ffff, 0x0020_0000, 0x003f_ffff, 0x0040_0000, 0x007f_ffff]
        {
            for sign in [0, 0x8000_0000_u32] {
                let value = f32::from_bits(sign | 0x7f80_0000 | payload);
                let (brain, half) = (stored(simd, value, true), stored(simd, value, false));
                let isa = S::ISA;
                let sign = (sign >> 16) as u16;
                let kept = (payload >> 16) as u16;
                assert_eq!(brain, sign | 0x7fc0 | kept, "{payload:#x} on {isa}");
                let kept = (payload >> 13) as u16;
                assert_eq!(half, sign | 0x7e00 | kept, "{payload:#x} on {isa}");
            }
        }
    });
}

#[test]
fn signalling_nans_load_from_f16_as_quiet_ones() {
    at_every_level!(|simd: S| {
        let loaded = lanes(simd, simd.load_f16(&[0xfc01; ROOM]));
        assert!(loaded.iter().all(|v| v.to_bits() == 0xffc0_2000), "{}", S::ISA);
    });
}

#[test]
fn lanes_keep_their_order_through_16_bit_stores() {
    at_every_level!(|simd: S| {
        let numbers: [f32; ROOM] = core::array::from_fn(|i| i as f32 - 4.0);
        let (mut brain, mut half) = ([0; ROOM], [0; ROOM]);
        simd.store_bf16(simd.load(&numbers), &mut brain);
        simd.store_f16(simd.load(&numbers), &mut half);
        for i in 0..S::LANES {
            assert_eq!(value_of(brain[i], &BF16), f64::from(numbers[i]), "{}", S::ISA);
            assert_eq!(value_of(half[i], &F16), f64::from(numbers[i]), "{}", S::ISA);
        }
    });
}

#[test]
fn tiles_are_turned_over_with_any_strides_and_nothing_else_is_written() {
    at_every_level!(|simd: S| {
        let (from, to) = (11, 9);
        let source: Vec<u32> = (0..8 * from as u32).map(|i| i * 0x0001_0001).collect();
        let short: Vec<u16> = source.iter().map(|&word| word as u16).collect();
        let (mut wide, mut narrow) = (vec![u32::MAX; 8 * to], vec![u16::MAX; 8 * to]);
        // SAFETY: 8 rows of 8 elements lie in each of the four, which do not overlap.
        unsafe {
            simd.transpose_32((source.as_ptr(), from), (wide.as_mut_ptr(), to));
            simd.transpose_16((short.as_ptr(), from), (narrow.as_mut_ptr(), to));
        }
        for at in 0..8 * to {
            let (row, col) = (at / to, at % to);
            let want = if col < 8 { source[col * from + row] } else { u32::MAX };
            assert_eq!((wide[at], narrow[at]), (want, want as u16), "{} at {at}", S::ISA);
        }
    });
}

#[test]
fn gathered_elements_are_those_of_the_indices_and_none_beyond() {
    at_every_level!(|simd: S| {
        let source: Vec<f32> = (0..100).map(|i| i as f32).collect();
        let index: Vec<i32> = (0..S::LANES as i32).map(|lane| (lane * 37 + 99) % 100).collect();
        let want: Vec<f32> = index.iter().map(|&at| at as f32).collect();
        assert_eq!(lanes(simd, simd.gather(&source, &index)), want, "{}", S::ISA);
        for bad in [100, -1, i32::MIN, i32::MAX] {
            let mut index = index.clone();
            index[S::LANES - 1] = bad;
            let attempt = catch_unwind(AssertUnwindSafe(|| _ = simd.gather(&source, &index)));
            assert!(attempt.is_err(), "{bad} on {}", S::ISA);
        }
        let short = catch_unwind(AssertUnwindSafe(|| _ = simd.gather(&source, &index[1..])));
        assert!(short.is_err(), "{}", S::ISA);
    });
}
