//! How many f32 operations a second the multiply-add units do.

use super::window::best_rates;
use proofmark_schema::Isa;
use proofmark_simd::{Body, Simd, dispatch};
use proofmark_tensor::Pool;
use std::hint::black_box;

/// Independent chains: two units with a latency of 4 need 8, and 12 with the two factors still
/// fit into the 16 registers of AVX2.
const CHAINS: usize = 12;
/// Steps of a chain in one unit of work.
const STEPS: usize = 32;
/// Most units in a window: about a second on a slow machine, never reached in practice.
const MOST: usize = 1 << 22;

/// Best rate of f32 multiply-adds, each counted as two operations; of several threads, the sum.
///
/// `isa` is taken down to what the machine has, `threads` to what the pool has. On the scalar
/// path the rate is that of the baseline target's four lanes of separate multiply and add, not
/// of one lane: the compiler may use them for scalar code, and a limit must not lie below what
/// such code can reach.
pub fn flops_per_second(isa: Isa, threads: usize, pool: &Pool) -> f64 {
    let isa = isa.min(proofmark_simd::detect());
    let threads = threads.clamp(1, pool.max_threads());
    let units = best_rates(pool, threads, MOST, |_| {
        move |size| {
            black_box(run_chains(isa, black_box(size)));
        }
    });
    units * (CHAINS * STEPS * lanes(isa) * 2) as f64
}

/// Lanes that one multiply-add of the probe fills.
fn lanes(isa: Isa) -> usize {
    match isa {
        Isa::Scalar if cfg!(target_arch = "x86_64") => 4,
        Isa::Scalar => 1,
        Isa::Avx2 => 8,
        Isa::Avx512 => 16,
    }
}

/// Runs the chains and returns a value that depends on all of them.
fn run_chains(isa: Isa, units: usize) -> f32 {
    #[cfg(target_arch = "x86_64")]
    if isa == Isa::Scalar {
        // SAFETY: every x86-64 processor has SSE.
        return unsafe { run_baseline(units) };
    }
    dispatch(isa, Chains { units })
}

struct Chains {
    units: usize,
}

impl Body for Chains {
    type Output = f32;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f32 {
        // x ← x·a + b with a < 1 stays finite and away from subnormals, whatever the count.
        let (a, b) = (simd.splat(black_box(0.5)), simd.splat(black_box(0.25)));
        let mut chains = [simd.splat(black_box(1.0)); CHAINS];
        for _ in 0..self.units * STEPS {
            for chain in &mut chains {
                *chain = simd.fma(*chain, a, b);
            }
        }
        let mut sum = simd.zero();
        for chain in chains {
            sum = simd.add(sum, chain);
        }
        simd.reduce_sum(sum)
    }
}

/// As [`Chains`], with the vectors that every x86-64 has.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse")]
fn run_baseline(units: usize) -> f32 {
    use std::arch::x86_64::{_mm_add_ps, _mm_cvtss_f32, _mm_mul_ps, _mm_set1_ps};
    let (a, b) = (_mm_set1_ps(black_box(0.5)), _mm_set1_ps(black_box(0.25)));
    let mut chains = [_mm_set1_ps(black_box(1.0)); CHAINS];
    for _ in 0..units * STEPS {
        for chain in &mut chains {
            *chain = _mm_add_ps(_mm_mul_ps(*chain, a), b);
        }
    }
    let sum = chains.into_iter().reduce(|x, y| _mm_add_ps(x, y));
    _mm_cvtss_f32(sum.expect("there are chains"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_do_the_arithmetic_they_are_counted_for() {
        // The fixed point of x/2 + 1/4 is 1/2, reached exactly; lanes and chains are summed.
        for isa in Isa::ALL.into_iter().filter(|&isa| proofmark_simd::available(isa)) {
            let summed = if isa == Isa::Scalar { 1 } else { lanes(isa) };
            assert_eq!(run_chains(isa, 4), (CHAINS * summed) as f32 * 0.5, "{isa}");
        }
    }

    #[test]
    fn every_path_and_too_many_threads_give_a_rate() {
        for isa in Isa::ALL {
            let rate = flops_per_second(isa, 64, &Pool::new(2));
            assert!(rate.is_finite() && rate > 0.0, "{isa}: {rate}");
        }
    }
}
