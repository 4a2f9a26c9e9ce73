//! Compares the probe with loops that share nothing with it: intrinsics instead of `asm!`, other
//! chains, other timing code around them.

use super::memory::{Caches, Ground};
use super::{CLEAN, Peak, compute_gauge, operations};
use crate::clock::seconds_of;
use crate::probe::Gauge;
use proofmark_schema::probe::{Level, Traffic, Unit};
use proofmark_tensor::Pool;
use std::arch::x86_64::*;
use std::hint::black_box;

/// Turns of both, in alternation, between two looks.
const TURNS: usize = 50;
/// Number of looks. A machine may be busy for a while, but a wrong count never becomes right.
const LOOKS: usize = 6;
const MARGIN: f64 = 0.05;
/// Pieces of memory that a loop through it is tried in.
const GROUNDS: usize = 4;

/// Runs a gauge and an own loop in alternation until their best rates agree.
///
/// `own(size)` returns the operations or bytes that it did; `scale` is what a gauge's unit counts.
fn agree(
    name: &str,
    mut gauge: Gauge<'_>,
    scale: f64,
    mut own: impl FnMut(usize) -> f64,
) -> Result<(), String> {
    let pool = Pool::serial();
    let mut size = 1;
    while seconds_of(|| _ = own(size)) < 5e-4 {
        size *= 2;
    }
    let mut rates = Vec::new();
    let mut ratio = 0.0;
    for _ in 0..LOOKS {
        for _ in 0..TURNS {
            gauge.turn(&pool);
            own(size);
            for _ in 0..4 {
                let mut done = 0.0;
                let seconds = seconds_of(|| done = own(size));
                rates.push(done / seconds);
            }
        }
        rates.sort_unstable_by(f64::total_cmp);
        let own_limit = rates[(rates.len() - 1) * 99 / 100];
        ratio = gauge.quantile(CLEAN) * scale / own_limit;
        if (ratio - 1.0).abs() <= MARGIN {
            return Ok(());
        }
    }
    Err(format!("{name}: the probe says {ratio} times what the independent loop reaches"))
}

#[target_feature(enable = "avx2,fma")]
fn fma_256(size: usize) -> f64 {
    let (x, y) = (_mm256_set1_ps(black_box(0.25)), _mm256_set1_ps(black_box(0.5)));
    let mut sums = [_mm256_setzero_ps(); 10];
    for _ in 0..size {
        for sum in &mut sums {
            *sum = _mm256_fmadd_ps(*sum, x, y);
        }
    }
    black_box(sums);
    (size * 10 * 8 * 2) as f64
}

#[target_feature(enable = "avx512f")]
fn fma_512(size: usize) -> f64 {
    let (x, y) = (_mm512_set1_ps(black_box(0.25)), _mm512_set1_ps(black_box(0.5)));
    let mut sums = [_mm512_setzero_ps(); 16];
    for _ in 0..size {
        for sum in &mut sums {
            *sum = _mm512_fmadd_ps(*sum, x, y);
        }
    }
    black_box(sums);
    (size * 16 * 16 * 2) as f64
}

#[target_feature(enable = "avx512f,avx512vnni")]
fn bytes_512(size: usize) -> f64 {
    let (x, y) = (_mm512_set1_epi8(black_box(3)), _mm512_set1_epi8(black_box(2)));
    let mut sums = [_mm512_setzero_si512(); 16];
    for _ in 0..size {
        for sum in &mut sums {
            *sum = _mm512_dpbusd_epi32(*sum, x, y);
        }
    }
    black_box(sums);
    (size * 16 * 64 * 2) as f64
}

/// `x = y + f·z` over three arrays, front to back, `size` times, as a compiler makes it.
#[target_feature(enable = "avx512f")]
fn triad_512(size: usize, x: &mut [f32], y: &[f32], z: &[f32]) -> f64 {
    for _ in 0..size {
        let factor = black_box(0.5);
        for ((x, y), z) in x.iter_mut().zip(y).zip(z) {
            *x = y + factor * z;
        }
    }
    (size * x.len() * 12) as f64
}

/// Products of two tiles by two, all loaded with the same rows.
fn tiles(rows: &[u16; 512], size: usize) -> f64 {
    // Palette 1, eight tiles of 16 rows of 64 bytes.
    let mut shape = [0_u8; 64];
    shape[0] = 1;
    shape[16..32].as_chunks_mut::<2>().0.fill([64, 0]);
    shape[48..56].fill(16);
    // SAFETY: a gauge of tiles exists only where the processor and the kernel grant them; reads
    // the shape and whole tiles of rows, and leaves no tile in use.
    unsafe {
        std::arch::asm!(
            "ldtilecfg [{shape}]",
            "tilezero tmm0", "tilezero tmm1", "tilezero tmm2", "tilezero tmm3",
            "tileloadd tmm4, [{rows} + {stride}]", "tileloadd tmm5, [{rows} + {stride}]",
            "tileloadd tmm6, [{rows} + {stride}]", "tileloadd tmm7, [{rows} + {stride}]",
            "2:",
            "tdpbf16ps tmm0, tmm4, tmm6", "tdpbf16ps tmm1, tmm4, tmm7",
            "tdpbf16ps tmm2, tmm5, tmm6", "tdpbf16ps tmm3, tmm5, tmm7",
            "dec {size}",
            "jnz 2b",
            "tilerelease",
            shape = in(reg) &raw const shape, rows = in(reg) rows, stride = in(reg) 64_u64,
            size = inout(reg) size => _, options(nostack),
        );
    }
    (size * 4 * 16 * 16 * 32 * 2) as f64
}

#[test]
#[ignore = "the rate of tiles halves for minutes on shared machines; part of the long job"]
#[expect(clippy::print_stderr, reason = "the ratio is what METHOD tells")]
fn the_limit_of_tiles_is_that_of_numbers_and_not_of_zeros() {
    let unit = Unit::Bf16Amx;
    let (Some(peak), Some((_, gauge))) = (Peak::of(unit), compute_gauge(unit, 1)) else { return };
    // Numbers between 1 and 2 of either sign.
    let numbers =
        std::array::from_fn(|i| 0x3f80 | proofmark_tensor::mix(0, i as u64, 0) as u16 & 0x807f);
    agree(unit.name(), gauge, operations(peak), |size| tiles(&numbers, size)).unwrap();
    let mut rates = [const { Vec::new() }; 2];
    // Turns are long, because the clock takes a while to follow what is multiplied.
    for turn in 0..10 * 2 {
        let rows = [&numbers, &[0; 512]][turn % 2];
        for window in 0..1000 {
            let mut done = 0.0;
            let seconds = seconds_of(|| done = tiles(rows, 10_000));
            if window >= 500 {
                rates[turn % 2].push(done / seconds / 1e9);
            }
        }
    }
    let [numbers, zeros] = rates.map(|mut rates| {
        rates.sort_unstable_by(f64::total_cmp);
        rates[(rates.len() - 1) * 99 / 100]
    });
    eprintln!("{numbers:.0} G/s with numbers, {zeros:.0} with zeros");
    assert!(zeros > 0.95 * numbers, "{zeros} with zeros, {numbers} with numbers");
}

#[test]
fn limits_of_arithmetic_are_those_of_independent_loops() {
    let check = |unit: Unit, own: fn(usize) -> f64| {
        if let (Some(peak), Some((_, gauge))) = (Peak::of(unit), compute_gauge(unit, 1)) {
            agree(unit.name(), gauge, operations(peak), own).unwrap();
        }
    };
    // SAFETY: of all three: a gauge exists only where the processor has the unit.
    check(Unit::F32Avx2, |size| unsafe { fma_256(size) });
    // SAFETY: as above.
    check(Unit::F32Avx512, |size| unsafe { fma_512(size) });
    // SAFETY: as above.
    check(Unit::Int8Avx512Vnni, |size| unsafe { bytes_512(size) });
}

#[test]
fn the_limit_of_the_second_cache_is_that_of_an_independent_loop() {
    if Peak::of(Unit::F32Avx512).is_none() {
        return;
    }
    // Both loops use the same memory, because other pages fit the cache better or worse. A
    // physically indexed cache holds less of some pages than it has room for, and what is read
    // first then matters.
    let told: Vec<String> = (0..GROUNDS).map_while(|_| agree_on_new_ground().err()).collect();
    assert!(told.len() < GROUNDS, "{told:?}");
}

fn agree_on_new_ground() -> Result<(), String> {
    let bytes = Caches::here().working_set(Level::L2, 1).unwrap();
    let ground = Ground::new(Ground::needed(bytes, 1), &Pool::serial());
    let (_, gauge) = ground.gauges(bytes, 1).find(|of| of.0 == Traffic::Triad).unwrap();
    let length = bytes / 12 / 16 * 16;
    agree("triad", gauge, Ground::block_bytes(Traffic::Triad), |size| {
        // SAFETY: both take turns, and each has the memory only while it runs.
        let memory = unsafe { ground.part(0, 3 * length) };
        let (x, rest) = memory.split_at_mut(length);
        let (y, z) = rest.split_at_mut(length);
        // SAFETY: AVX-512 is there, or the test had ended.
        unsafe { triad_512(size, x, y, z) }
    })
}
