//! Operations on bytes at every level of this machine against plain loops.

use crate::tests::at_every_level;
use crate::{Body, Simd, available, dispatch, dispatch_byte_dot, has_byte_dot};
use proofmark_terms::Isa;

/// Bytes that include both extremes and whose period is no vector's length.
fn bytes(count: usize, seed: i32) -> Vec<i8> {
    (0..count as i32).map(|i| ((i * 37 + seed) % 256 - 128) as i8).collect()
}

fn integers<S: Simd>(simd: S, value: S::I) -> Vec<i32> {
    let mut lanes = [0.0; 16];
    simd.store(simd.from_bits(value), &mut lanes);
    lanes[..S::LANES].iter().map(|lane| lane.to_bits().cast_signed()).collect()
}

#[test]
fn bytes_are_extended_with_their_sign_and_stored_by_their_low_half() {
    at_every_level!(|simd: S| {
        for count in 0..=S::LANES {
            let source = bytes(count, 5);
            let mut want: Vec<i32> = source.iter().map(|&byte| i32::from(byte)).collect();
            want.resize(S::LANES, 0);
            let loaded = simd.load_i8_partial(&source);
            assert_eq!(integers(simd, loaded), want, "{}", S::ISA);
            let mut target = vec![99_i8; count];
            let wide = simd.int_add(loaded, simd.int_splat(0x7ff00));
            simd.store_i8_partial(wide, &mut target);
            assert_eq!(target, source, "{}", S::ISA);
        }
        let source = bytes(S::LANES, 0);
        let mut target = vec![0; S::LANES];
        simd.store_i8(simd.load_i8(&source), &mut target);
        assert_eq!(target, source);
    });
}

/// Sums of four neighbouring products, computed by plain loops.
fn products(a: &[i8], b: &[i8], a_is_unsigned: bool) -> Vec<i32> {
    let left = |a: i8| if a_is_unsigned { i32::from(a.cast_unsigned()) } else { i32::from(a) };
    let pairs =
        |(a, b): (&[i8], &[i8])| a.iter().zip(b).map(|(&a, &b)| left(a) * i32::from(b)).sum();
    a.chunks(4).zip(b.chunks(4)).map(pairs).collect()
}

#[test]
fn products_of_bytes_are_exact_at_the_extremes() {
    at_every_level!(|simd: S| {
        let room = 4 * S::LANES;
        let extremes = [vec![-128; room], vec![127; room], bytes(room, 3), bytes(room, 200)];
        for (a, b) in extremes.iter().flat_map(|a| extremes.iter().map(move |b| (a, b))) {
            let sums = simd.dot_i8(simd.int_splat(7), simd.load_bytes(a), simd.load_bytes(b));
            let want: Vec<i32> = products(a, b, false).iter().map(|sum| sum + 7).collect();
            assert_eq!(integers(simd, sums), want, "{}", S::ISA);
            assert_eq!(simd.int_reduce_sum(sums), want.iter().sum::<i32>(), "{}", S::ISA);
        }
        for count in 0..room {
            let mut whole = bytes(count, 9);
            let partial = simd.load_bytes_partial(&whole);
            whole.resize(room, 0);
            assert_eq!(integers(simd, partial), integers(simd, simd.load_bytes(&whole)));
        }
    });
}

#[test]
fn products_by_the_byte_instruction_are_exact_at_the_extremes() {
    struct Check;
    impl Body for Check {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            let room = 4 * S::LANES;
            for (a, b) in [(-1, -128), (-1, 127), (127, -128)] {
                let (a, b) = (vec![a; room], vec![b; room]);
                // SAFETY: the level was asked before it was entered.
                let sums = unsafe {
                    simd.dot_u8_i8(simd.int_splat(-3), simd.load_bytes(&a), simd.load_bytes(&b))
                };
                let want: Vec<i32> = products(&a, &b, true).iter().map(|sum| sum - 3).collect();
                assert_eq!(integers(simd, sums), want, "{}", S::ISA);
            }
        }
    }
    for isa in Isa::ALL.into_iter().filter(|&isa| has_byte_dot(isa)) {
        dispatch_byte_dot(isa, Check);
    }
}

#[test]
fn bits_are_shifted_and_combined_as_unsigned_words() {
    at_every_level!(|simd: S| {
        let word = simd.int_splat(0xf0f0_1234_u32.cast_signed());
        for (count, want) in [(0, 0xf0f0_1234), (20, 0xf0f), (31, 1), (32, 0), (40, 0)] {
            let got = integers(simd, simd.shift_right(word, count))[0];
            assert_eq!(got.cast_unsigned(), want, "{} by {count}", S::ISA);
        }
        let mask = simd.int_splat(0xff);
        assert_eq!(integers(simd, simd.int_and(word, mask))[0], 0x34);
        let both = integers(simd, simd.int_or(word, mask))[0];
        assert_eq!(both.cast_unsigned(), 0xf0f0_12ff);
        let either = integers(simd, simd.int_xor(word, mask))[0];
        assert_eq!(either.cast_unsigned(), 0xf0f0_12cb);
    });
}
