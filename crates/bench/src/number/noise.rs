//! The noise that noisy numbers move by.

use std::cell::RefCell;
use std::f64::consts::TAU;

/// Noise is as large as this many roundings. With 24 runs, a single run on the other side of a jump
/// makes q = 3 * sqrt(24) = 14.7, which the gate's limit of 16 admits.
pub(crate) const AMPLITUDE: f64 = 3.0;

/// Normal numbers that are drawn from.
const POOL: usize = 1 << 16;

/// The ends of the range of f32, in which kernels accumulate.
const TINY: f64 = f32::MIN_POSITIVE as f64;
const LEAST: f64 = 1.401_298_464_324_817e-45;

thread_local! {
    static NOISE: RefCell<Noise> = RefCell::new(Noise::new(0, 0.0));
}

/// Where noise comes from, in one thread.
pub(crate) struct Noise {
    state: u64,
    pool: Vec<f64>,
    unit: f64,
    longest: u64,
}

impl Noise {
    fn new(seed: u64, unit: f64) -> Noise {
        Noise { state: seed, pool: Vec::new(), unit, longest: 1 }
    }

    /// Begins a run: its seed, and the unit roundoff of the type that kernels accumulate in.
    pub(crate) fn begin(seed: u64, unit: f64) {
        NOISE.with_borrow_mut(|noise| {
            let pool = std::mem::take(&mut noise.pool);
            *noise = Noise { pool, ..Noise::new(seed, unit) };
        });
    }

    /// Terms of the longest sum since the run began.
    pub(crate) fn longest() -> u64 {
        NOISE.with_borrow(|noise| noise.longest)
    }

    /// A normal number.
    pub(super) fn normal() -> f64 {
        NOISE.with_borrow_mut(|noise| {
            if noise.pool.is_empty() {
                noise.fill();
            }
            let place = (noise.word() >> 32) as usize % POOL;
            noise.pool[place]
        })
    }

    /// A value moved by noise of this many units.
    pub(super) fn moved(value: f64, size: f64) -> f64 {
        value + Noise::offset(Noise::normal(), size)
    }

    /// What a normal number means for a rounding of this many units.
    pub(super) fn offset(normal: f64, size: f64) -> f64 {
        let unit = NOISE.with_borrow(|noise| noise.unit);
        if size.is_finite() { AMPLITUDE * unit * normal * size } else { 0.0 }
    }

    /// Notes a sum of this many terms.
    pub(super) fn note_sum(terms: u64) {
        NOISE.with_borrow_mut(|noise| noise.longest = noise.longest.max(terms));
    }

    /// The rounding of a result in units: `units` of it, or what a subnormal one loses.
    pub(super) fn size(result: f64, units: f64) -> f64 {
        let unit = NOISE.with_borrow(|noise| noise.unit);
        let magnitude = result.abs();
        if magnitude == 0.0 || magnitude >= TINY || unit == 0.0 {
            return units * magnitude;
        }
        // A library function may give 0 instead.
        if units > 1.0 { TINY / unit } else { LEAST / unit }
    }

    /// Splitmix64.
    fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// Fills the pool, always with the same numbers: the seed chooses among them.
    fn fill(&mut self) {
        let state = std::mem::replace(&mut self.state, 1);
        let mut uniform = || ((self.word() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let mut pool = Vec::with_capacity(POOL);
        while pool.len() < POOL {
            let (radius, angle) = ((-2.0 * uniform().ln()).sqrt(), TAU * uniform());
            pool.extend([radius * angle.cos(), radius * angle.sin()]);
        }
        self.pool = pool;
        self.state = state;
    }
}
