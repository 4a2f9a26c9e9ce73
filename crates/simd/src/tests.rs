//! Every operation at every level of this machine against plain scalar expectations.

use crate::{Body, Simd, available, dispatch};
use proofmark_terms::Isa;

/// Runs a generic block once for each level that this machine has.
macro_rules! at_every_level {
    (|$simd:ident: $level:ident| $block:block) => {{
        struct Check;
        impl Body for Check {
            type Output = ();
            #[inline(always)]
            fn run<$level: Simd>(self, $simd: $level) $block
        }
        for isa in Isa::ALL.into_iter().filter(|isa| available(*isa)) {
            dispatch(isa, Check);
        }
    }};
}

pub(crate) use at_every_level;

/// No level is wider, so that one buffer serves every level.
pub(crate) const ROOM: usize = 16;

const SPECIAL: [f32; 27] = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.0,
    1.5,
    -1.5,
    2.5,
    -2.5,
    0.499_999_97,
    -0.7,
    3.7,
    1.0e-40,
    -1.0e-45,
    f32::MIN_POSITIVE,
    8_388_607.5,
    -8_388_607.5,
    8_388_609.0,
    16_777_217.0,
    2_147_483_520.0,
    -2_147_483_648.0,
    3.0e9,
    f32::MAX,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    -f32::NAN,
];

pub(crate) fn lanes<S: Simd>(simd: S, value: S::F) -> Vec<f32> {
    let mut buffer = [f32::NAN; ROOM];
    simd.store(value, &mut buffer);
    buffer[..S::LANES].to_vec()
}

/// The same bits, or both NaN: which NaN an operation makes is not specified.
///
/// NaN is tested explicitly. Replacing every NaN by one canonical NaN before comparing bits does
/// not work: after arithmetic the optimiser drops the replacement, because it may produce any NaN.
fn same(a: f32, b: f32) -> bool {
    a.is_nan() && b.is_nan() || a.to_bits() == b.to_bits()
}

/// Every lane of `value` must be what `expected` says for the lane's index.
#[track_caller]
fn expect_lanes<S: Simd>(simd: S, what: &str, value: S::F, expected: impl Fn(usize) -> f32) {
    for (lane, got) in lanes(simd, value).into_iter().enumerate() {
        let wanted = expected(lane);
        let isa = S::ISA;
        assert!(same(got, wanted), "{what} at lane {lane} of {isa}: {got} is not {wanted}");
    }
}

/// As [`expect_lanes`], for integers, whose patterns may be those of NaN.
#[track_caller]
fn expect_integers<S: Simd>(simd: S, what: &str, value: S::I, expected: impl Fn(usize) -> i32) {
    for (lane, got) in lanes(simd, simd.from_bits(value)).into_iter().enumerate() {
        let got = got.to_bits().cast_signed();
        assert_eq!(got, expected(lane), "{what} at lane {lane} of {}", S::ISA);
    }
}

/// The special values starting at `start`, cyclically, so that lanes differ.
fn special_from(start: usize) -> [f32; ROOM] {
    core::array::from_fn(|lane| SPECIAL[(start + lane) % SPECIAL.len()])
}

/// All ordered pairs of special values, a vector at a time.
fn special_pairs() -> impl Iterator<Item = ([f32; ROOM], [f32; ROOM])> {
    (0..SPECIAL.len()).flat_map(|shift| {
        (0..SPECIAL.len()).map(move |start| (special_from(start), special_from(start + shift)))
    })
}

#[test]
fn operations_on_two_vectors_match_scalar_arithmetic() {
    at_every_level!(|simd: S| {
        for (a, b) in special_pairs() {
            let (x, y) = (simd.load(&a), simd.load(&b));
            expect_lanes(simd, "add", simd.add(x, y), |i| a[i] + b[i]);
            expect_lanes(simd, "sub", simd.sub(x, y), |i| a[i] - b[i]);
            expect_lanes(simd, "mul", simd.mul(x, y), |i| a[i] * b[i]);
            expect_lanes(simd, "div", simd.div(x, y), |i| a[i] / b[i]);
            expect_lanes(simd, "max", simd.max(x, y), |i| if a[i] > b[i] { a[i] } else { b[i] });
            expect_lanes(simd, "min", simd.min(x, y), |i| if a[i] < b[i] { a[i] } else { b[i] });
            expect_lanes(simd, "max_nan", simd.max_nan(x, y), |i| {
                if a[i].is_nan() || a[i] > b[i] { a[i] } else { b[i] }
            });
            let (yes, no) = (simd.splat(1.0), simd.zero());
            let lt = simd.lt(x, y);
            expect_lanes(simd, "lt", simd.select(lt, yes, no), |i| f32::from(a[i] < b[i]));
            let eq = simd.eq(x, y);
            expect_lanes(simd, "eq", simd.select(eq, yes, no), |i| f32::from(a[i] == b[i]));
            assert_eq!(simd.any(lt), (0..S::LANES).any(|i| a[i] < b[i]), "{}", S::ISA);
            assert_eq!(simd.any(eq), (0..S::LANES).any(|i| a[i] == b[i]), "{}", S::ISA);
        }
    });
}

#[test]
fn operations_on_one_vector_match_scalar_arithmetic() {
    at_every_level!(|simd: S| {
        for start in 0..SPECIAL.len() {
            let a = special_from(start);
            let x = simd.load(&a);
            expect_lanes(simd, "abs", simd.abs(x), |i| a[i].abs());
            expect_lanes(simd, "sqrt", simd.sqrt(x), |i| a[i].sqrt());
            expect_lanes(simd, "round", simd.round(x), |i| a[i].round_ties_even());
            expect_lanes(simd, "floor", simd.floor(x), |i| a[i].floor());
            let nan = simd.is_nan(x);
            let shown = simd.select(nan, simd.splat(1.0), simd.zero());
            expect_lanes(simd, "is_nan", shown, |i| f32::from(a[i].is_nan()));
            assert_eq!(simd.any(nan), a[..S::LANES].iter().any(|v| v.is_nan()), "{}", S::ISA);
            // Signs of NaN are part of the promise here, so bits are compared as they are.
            for (lane, got) in lanes(simd, simd.neg(x)).into_iter().enumerate() {
                assert_eq!(got.to_bits(), a[lane].to_bits() ^ 0x8000_0000, "neg on {}", S::ISA);
            }
            assert!(lanes(simd, simd.abs(x)).iter().all(|v| v.is_sign_positive()));
        }
    });
}

#[test]
fn max_loses_a_nan_on_its_left_and_max_nan_loses_none() {
    at_every_level!(|simd: S| {
        let (nan, one) = (simd.splat(f32::NAN), simd.splat(1.0));
        expect_lanes(simd, "max", simd.max(nan, one), |_| 1.0);
        expect_lanes(simd, "max", simd.max(one, nan), |_| f32::NAN);
        expect_lanes(simd, "min", simd.min(nan, one), |_| 1.0);
        expect_lanes(simd, "min", simd.min(one, nan), |_| f32::NAN);
        expect_lanes(simd, "max_nan", simd.max_nan(nan, one), |_| f32::NAN);
        expect_lanes(simd, "max_nan", simd.max_nan(one, nan), |_| f32::NAN);
    });
}

#[test]
fn fma_rounds_once_on_vectors_and_twice_on_scalar() {
    at_every_level!(|simd: S| {
        // (1 + 2^-12)^2 - 1 - 2^-11 is 2^-24, which a rounded product has already lost.
        let a = simd.splat(1.0 + 2.0_f32.powi(-12));
        let c = simd.splat(-1.0 - 2.0_f32.powi(-11));
        let expected = if S::ISA == Isa::Scalar { 0.0 } else { 2.0_f32.powi(-24) };
        expect_lanes(simd, "fma", simd.fma(a, a, c), |_| expected);
        let three = simd.fma(simd.splat(2.0), simd.splat(5.0), simd.splat(-7.0));
        expect_lanes(simd, "fma", three, |_| 3.0);
    });
}

#[test]
fn integer_operations_match_scalar_integers() {
    at_every_level!(|simd: S| {
        for start in 0..SPECIAL.len() {
            let a = special_from(start);
            let x = simd.load(&a);
            let to_int = |v: f32| {
                let fits = (-2_147_483_648.0..2_147_483_648.0).contains(&v);
                if fits { v.round_ties_even() as i32 } else { i32::MIN }
            };
            let bits = |i: usize| a[i].to_bits().cast_signed();
            let n = simd.to_int(x);
            expect_integers(simd, "to_int", n, |i| to_int(a[i]));
            expect_lanes(simd, "from_int", simd.from_int(n), |i| to_int(a[i]) as f32);
            let sum = simd.int_add(simd.bits_of(x), simd.int_splat(i32::MAX));
            expect_integers(simd, "int_add", sum, |i| bits(i).wrapping_add(i32::MAX));
            let factor = 0xd251_1f53u32;
            let [high, low] = simd.mul_wide(simd.bits_of(x), simd.int_splat(factor as i32));
            let product = |i: usize| u64::from(a[i].to_bits()) * u64::from(factor);
            expect_integers(simd, "mul_wide, upper half", high, |i| (product(i) >> 32) as i32);
            expect_integers(simd, "mul_wide, lower half", low, |i| product(i) as i32);
            for count in [0, 1, 23, 31, 32, 33, u32::MAX] {
                let shifted = simd.shift_left(simd.bits_of(x), count);
                let expected = |i: usize| if count < 32 { bits(i) << count } else { 0 };
                expect_integers(simd, "shift_left", shifted, expected);
            }
        }
    });
}

/// `x * 2^n` rounded once: exact in f64, whose range holds every product, then narrowed.
fn scaled(x: f32, n: i32) -> f32 {
    (f64::from(x) * 2.0_f64.powi(n)) as f32
}

#[test]
fn pow2_scale_rounds_once_into_subnormals_and_up_to_infinity() {
    at_every_level!(|simd: S| {
        let fractions = [1.0_f32, 1.999_999_9, 1.25, 1.000_000_1, 1.333_333_4, 1.500_000_1];
        for exponent in -149..=127 {
            let factor = 2.0_f64.powi(exponent);
            for x in fractions.map(|fraction| (f64::from(fraction) * factor) as f32) {
                for n in (-160..=160).chain([-252, -251, -200, 200, 253, 254]) {
                    let got = simd.pow2_scale(simd.splat(-x), simd.splat(n as f32));
                    assert_eq!(
                        simd.reduce_max(got).to_bits(),
                        scaled(-x, n).to_bits(),
                        "-{x:e} * 2^{n} on {}",
                        S::ISA
                    );
                }
            }
        }
    });
}

#[test]
fn pow2_scale_holds_beyond_two_factors_for_ordinary_values() {
    at_every_level!(|simd: S| {
        for x in [0.0, 2.0_f32.powi(-126), 0.7, 1.0, 1.9e30, f32::INFINITY, f32::NAN] {
            for n in [-1_000_000_000, -1000, -300, -253, 255, 300, 1000, 1_000_000_000] {
                let got = simd.pow2_scale(simd.splat(x), simd.splat(n as f32));
                let limit = if x.is_infinite() || x.is_nan() || x == 0.0 {
                    x
                } else if n < 0 {
                    0.0
                } else {
                    f32::INFINITY
                };
                expect_lanes(simd, &format!("{x:e} * 2^{n}"), got, |_| limit);
            }
        }
    });
}

#[test]
fn pow2_scale_uses_each_lanes_own_exponent() {
    at_every_level!(|simd: S| {
        let n: [f32; ROOM] = core::array::from_fn(|lane| lane as f32 * 9.0 - 70.0);
        let got = simd.pow2_scale(simd.splat(1.1), simd.load(&n));
        expect_lanes(simd, "pow2_scale", got, |i| scaled(1.1, n[i] as i32));
    });
}

#[test]
fn sums_follow_the_documented_tree() {
    at_every_level!(|simd: S| {
        // Values whose sum depends on the order.
        let values: [f32; ROOM] =
            core::array::from_fn(|i| (i as f32 * 1.37).sin() * 10.0_f32.powi(i as i32 % 7));
        let mut tree = values[..S::LANES].to_vec();
        while tree.len() > 1 {
            let half = tree.len() / 2;
            tree = (0..half).map(|i| tree[i] + tree[i + half]).collect();
        }
        let got = simd.reduce_sum(simd.load(&values));
        assert_eq!(got.to_bits(), tree[0].to_bits(), "{}", S::ISA);
    });
}

#[test]
fn extremes_are_found_at_every_lane_and_nan_at_any_lane_wins() {
    at_every_level!(|simd: S| {
        for place in 0..S::LANES {
            let mut values = [1.0_f32; ROOM];
            for (extreme, expected_max, expected_min) in [
                (9.0, 9.0, if S::LANES == 1 { 9.0 } else { 1.0 }),
                (-9.0, if S::LANES == 1 { -9.0 } else { 1.0 }, -9.0),
                (f32::INFINITY, f32::INFINITY, if S::LANES == 1 { f32::INFINITY } else { 1.0 }),
                (f32::NAN, f32::NAN, f32::NAN),
                (-f32::NAN, f32::NAN, f32::NAN),
            ] {
                values[place] = extreme;
                let value = simd.load(&values);
                let (max, min) = (simd.reduce_max(value), simd.reduce_min(value));
                assert!(same(max, expected_max), "{} {place}", S::ISA);
                assert!(same(min, expected_min), "{} {place}", S::ISA);
            }
        }
    });
}

#[test]
fn pointers_of_any_alignment_are_read_and_written() {
    at_every_level!(|simd: S| {
        let source: [f32; 3 * ROOM] = core::array::from_fn(|i| i as f32);
        let mut target = [-1.0_f32; 3 * ROOM];
        for offset in 0..ROOM {
            // SAFETY: offset + LANES <= 2 * ROOM, within both arrays.
            unsafe {
                let value = simd.load_ptr(source.as_ptr().add(offset));
                simd.store_ptr(value, target.as_mut_ptr().add(offset));
            }
            assert_eq!(target[..offset + S::LANES], source[..offset + S::LANES], "{}", S::ISA);
            assert!(target[offset + S::LANES..].iter().all(|v| *v == -1.0), "{}", S::ISA);
        }
    });
}

#[test]
fn levels_above_the_best_are_refused() {
    let above = Isa::ALL.into_iter().find(|isa| !available(*isa));
    let Some(isa) = above else { return };
    struct Nothing;
    impl Body for Nothing {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, _simd: S) {}
    }
    assert!(std::panic::catch_unwind(|| dispatch(isa, Nothing)).is_err());
}

#[test]
fn dispatch_enters_with_the_token_asked_for() {
    struct Name;
    impl Body for Name {
        type Output = (Isa, usize);
        #[inline(always)]
        fn run<S: Simd>(self, _simd: S) -> (Isa, usize) {
            (S::ISA, S::LANES)
        }
    }
    let expected = [(Isa::Scalar, 1), (Isa::Avx2, 8), (Isa::Avx512, 16)];
    for (isa, lanes) in expected.into_iter().filter(|(isa, _)| available(*isa)) {
        assert_eq!(dispatch(isa, Name), (isa, lanes));
    }
    at_every_level!(|simd: S| {
        assert_eq!(simd.apart(Name), (S::ISA, S::LANES));
    });
    assert!(available(Isa::Scalar) && available(crate::detect()));
}

#[test]
fn pairs_are_taken_apart_put_together_and_lanes_reversed() {
    at_every_level!(|simd: S| {
        let values: Vec<f32> = (0..2 * S::LANES).map(|i| i as f32).collect();
        let (a, b) = (simd.load(&values), simd.load(&values[S::LANES..]));
        let (even, odd) = simd.unzip(a, b);
        expect_lanes(simd, "even places", even, |lane| 2.0 * lane as f32);
        expect_lanes(simd, "odd places", odd, |lane| 2.0 * lane as f32 + 1.0);
        let (low, high) = simd.zip(even, odd);
        expect_lanes(simd, "lower pairs", low, |lane| lane as f32);
        expect_lanes(simd, "upper pairs", high, |lane| (S::LANES + lane) as f32);
        expect_lanes(simd, "reversed", simd.reverse(a), |lane| (S::LANES - 1 - lane) as f32);
    });
}

#[test]
fn quarters_of_four_vectors_change_places() {
    at_every_level!(|simd: S| {
        let quarter = (S::LANES / 4).max(1);
        let values: Vec<f32> = (0..4 * S::LANES).map(|i| i as f32).collect();
        let rows = [0, 1, 2, 3].map(|i| simd.load(&values[i * S::LANES..]));
        for (j, row) in simd.turn_quarters(rows).into_iter().enumerate() {
            expect_lanes(simd, "turned quarters", row, |lane| {
                let (i, j) = if S::LANES == 1 { (j, 0) } else { (lane / quarter, j) };
                values[i * S::LANES + j * quarter + lane % quarter]
            });
        }
    });
}
