//! The mask: its words, its rate, its independence; edges, threads and refusals of dropout.

use super::{ENTRY, dropout};
use crate::Context;
use crate::blocks::row::trial;
use proofmark_tensor::{bf16, philox4x32};

/// The mask of ones.
fn mask(count: usize, p: f64, seed: i64) -> Vec<bool> {
    let mut y = vec![0.0f32; count];
    let context = Context::with_threads(2).unwrap();
    dropout(&context, &vec![1.0; count], p, seed, &mut y).unwrap();
    y.iter().map(|&y| y != 0.0).collect()
}

#[test]
fn words_are_those_of_philox_in_the_order_of_elements() {
    let kept = mask(1000, 0.5, 0x0123_4567_89ab_cdef);
    for (index, kept) in kept.into_iter().enumerate() {
        let words = philox4x32([index as u32 / 4, 0, 0, 0], [0x89ab_cdef, 0x0123_4567]);
        assert_eq!(kept, words[index % 4] >= 1 << 31, "element {index}");
    }
}

/// Sums of squared deviations in their own units have mean 1; with this many cells they are within
/// five of their standard deviations.
fn is_as_expected(chi_squared: f64, cells: usize) -> bool {
    let cells = cells as f64;
    (chi_squared - cells).abs() < 5.0 * (2.0 * cells).sqrt()
}

#[test]
fn every_block_of_elements_keeps_its_share() {
    const CELL: usize = 1024;
    for (p, seed) in [(0.1, 0), (0.5, 1), (0.9, -5)] {
        let mask = mask(1000 * CELL, p, seed);
        let variance = CELL as f64 * p * (1.0 - p);
        let apart = |cell: &[bool]| {
            let kept = cell.iter().filter(|&&kept| kept).count() as f64;
            (kept - CELL as f64 * (1.0 - p)).powi(2) / variance
        };
        let chi_squared: f64 = mask.chunks(CELL).map(apart).sum();
        assert!(is_as_expected(chi_squared, 1000), "p {p}: {chi_squared} of 1000");
    }
}

#[test]
fn neighbours_rows_and_seeds_are_independent() {
    let (p, count) = (0.3, 1 << 20);
    let of = |seed| mask(count, p, seed);
    let (one, other) = (of(1), of(2));
    let correlation = |a: &[bool], b: &[bool]| {
        let centred = |kept: bool| f64::from(u8::from(kept)) - (1.0 - p);
        let products = a.iter().zip(b).map(|(&a, &b)| centred(a) * centred(b));
        products.sum::<f64>() / (a.len() as f64 * p * (1.0 - p))
    };
    for lag in [1, 2, 3, 4, 16, 64, 256, 1024] {
        let found = correlation(&one[lag..], &one[..count - lag]);
        assert!(found.abs() < 5.0 / (count as f64).sqrt(), "lag {lag}: {found}");
    }
    let found = correlation(&one, &other);
    assert!(found.abs() < 5.0 / (count as f64).sqrt(), "seeds: {found}");
}

#[test]
fn nothing_or_everything_is_dropped_at_the_ends() {
    let x = [1.5f32, f32::NAN, -0.0, f32::INFINITY, 3e-45];
    let (context, mut y) = (Context::serial(), [7.0f32; 5]);
    dropout(&context, &x, 0.0, 9, &mut y).unwrap();
    assert_eq!(y.map(f32::to_bits), x.map(f32::to_bits));
    dropout(&context, &x, 1.0, 9, &mut y).unwrap();
    assert_eq!(y.map(f32::to_bits), [0; 5]);
}

#[test]
fn threads_do_not_change_a_bit() {
    trial::threads_change_nothing(&ENTRY, "dropout:f32[b=3,s=17,d=1021]");
    trial::threads_change_nothing(&ENTRY, "dropout:bf16[b=1,s=1,d=70001;p=0.5]");
}

#[test]
fn the_library_function_refuses_misfits() {
    let (context, x, mut y) = (Context::serial(), [bf16::ONE; 4], [bf16::ZERO; 4]);
    let mut nothing = [bf16::ZERO; 0];
    dropout(&context, &[], 0.1, 0, &mut nothing).unwrap();
    assert!(dropout(&context, &x, 0.1, 0, &mut y[..3]).is_err(), "y is shorter than x");
    assert!(dropout(&context, &x, 1.5, 0, &mut y).is_err(), "p is no probability");
}
