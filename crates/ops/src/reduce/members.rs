//! The members: what each makes of a run of terms, and how two runs become one.

use super::definition::{AXIS, CORRECTION, Reduction};
#[cfg(feature = "judge")]
use super::judge::Judged;
#[cfg(feature = "judge")]
use super::{laws, oracle};
use crate::blocks::row;
#[cfg(feature = "judge")]
use crate::blocks::row::ODD;
use crate::blocks::stored::Stored;
use proofmark_simd::Simd;
use proofmark_tensor::{Element, Fill};
use proofmark_terms::DType;

/// A reduction whose partial results are `K` numbers.
pub(super) trait Member<const K: usize>: Send + Sync + 'static {
    /// Its definition.
    const DEFINITION: Reduction;
    /// The partial result of no terms.
    const START: [f32; K];
    /// The element type of y for that of x.
    type Out<T: Stored>: Element;

    /// The partial result of a few terms, the first of which is number `first`.
    fn of_few(terms: &[f32], first: usize) -> [f32; K];

    /// The partial result of terms that lie side by side, in vectors.
    fn of_row<S: Simd, T: Stored>(simd: S, terms: &[T], first: usize) -> [f32; K];

    /// Partial results, a lane each, of `done` terms, with `N` more from number `first` on.
    fn take<S: Simd, const N: usize>(
        simd: S,
        state: [S::F; K],
        done: usize,
        terms: [S::F; N],
        first: usize,
    ) -> [S::F; K];

    /// The partial result of two runs of the given lengths, one after the other.
    fn join(a: ([f32; K], usize), b: ([f32; K], usize)) -> [f32; K];

    /// The result of all terms.
    fn finish<T: Stored>(state: [f32; K], terms: usize, correction: f32) -> Self::Out<T>;
}

/// What sums have in common.
const SUM: Reduction = Reduction {
    name: "sum",
    summary: "y = Σ x along an axis or all",
    edges: &[
        "NaN, or infinities of both signs, make NaN of their sum only; other infinities stay",
        "beyond the largest number a sum is infinite; subnormals count; the sign of zero is free",
        "the sum of nothing is 0; empty axes that are kept write nothing",
    ],
    attributes: &[AXIS],
    output: None,
    is_exact: false,
    #[cfg(feature = "judge")]
    judged: Judged {
        flops: 1,
        truth: oracle::sum,
        exact_on_ints: |_| true,
        largest: |dtype, _| dtype.largest() / 64.0,
        fills: &[],
        takes_nothing: true,
        laws: &[laws::OUTPUTS_ARE_INDEPENDENT, ODD, laws::ORDER_FREE],
    },
};

/// The sum, or with `MEAN` the sum over the count.
pub(super) struct Sum<const MEAN: bool>;

impl<const MEAN: bool> Member<1> for Sum<MEAN> {
    const DEFINITION: Reduction = match MEAN {
        false => SUM,
        true => Reduction {
            name: "mean",
            summary: "y = Σ x / n along an axis or all",
            edges: &[
                "NaN, or infinities of both signs, make NaN of their mean only; others stay",
                "the sum is f32: where it overflows the mean is infinite",
                "the mean of nothing is NaN; empty axes that are kept write nothing",
            ],
            #[cfg(feature = "judge")]
            judged: Judged {
                truth: oracle::mean,
                // Divided by a power of two, however that is done, the sum stays exact.
                exact_on_ints: |terms| terms.is_power_of_two(),
                takes_nothing: false,
                ..SUM.judged
            },
            ..SUM
        },
    };
    const START: [f32; 1] = [0.0];
    type Out<T: Stored> = T;

    fn of_few(terms: &[f32], _first: usize) -> [f32; 1] {
        [terms.iter().sum()]
    }

    #[inline(always)]
    fn of_row<S: Simd, T: Stored>(simd: S, terms: &[T], _first: usize) -> [f32; 1] {
        [row::sum(simd, terms)]
    }

    #[inline(always)]
    fn take<S: Simd, const N: usize>(
        simd: S,
        [sum]: [S::F; 1],
        _done: usize,
        terms: [S::F; N],
        _first: usize,
    ) -> [S::F; 1] {
        [simd.add(sum, total(simd, terms))]
    }

    #[inline(always)]
    fn join(a: ([f32; 1], usize), b: ([f32; 1], usize)) -> [f32; 1] {
        [a.0[0] + b.0[0]]
    }

    #[inline(always)]
    fn finish<T: Stored>([sum]: [f32; 1], terms: usize, _correction: f32) -> T {
        T::narrow(if MEAN { sum / terms as f32 } else { sum })
    }
}

/// The sum of vectors, halves added to halves: a short chain for each lane.
#[inline(always)]
fn total<S: Simd, const N: usize>(simd: S, mut terms: [S::F; N]) -> S::F {
    let mut half = N / 2;
    while half > 0 {
        for i in 0..half {
            terms[i] = simd.add(terms[i], terms[i + half]);
        }
        half /= 2;
    }
    terms[0]
}

/// What the largest element and its place have in common.
const MAX: Reduction = Reduction {
    name: "max",
    summary: "y = max x along an axis or all",
    edges: &[
        "NaN anywhere among the terms makes NaN of their result",
        "infinities are numbers like others; the sign of a zero is free",
        "the largest of nothing is -infinity; empty axes that are kept write nothing",
    ],
    is_exact: true,
    #[cfg(feature = "judge")]
    judged: Judged {
        truth: oracle::max,
        largest: |dtype, _| dtype.largest(),
        laws: &[laws::OUTPUTS_ARE_INDEPENDENT, laws::DOUBLES, laws::ORDER_FREE],
        ..SUM.judged
    },
    ..SUM
};

/// The largest element.
pub(super) struct Max;

impl Member<1> for Max {
    const DEFINITION: Reduction = MAX;
    const START: [f32; 1] = [f32::NEG_INFINITY];
    type Out<T: Stored> = T;

    fn of_few(terms: &[f32], _first: usize) -> [f32; 1] {
        [terms.iter().fold(f32::NEG_INFINITY, |a, &b| larger(a, b))]
    }

    #[inline(always)]
    fn of_row<S: Simd, T: Stored>(simd: S, terms: &[T], _first: usize) -> [f32; 1] {
        [row::max_or_nan(simd, terms)]
    }

    #[inline(always)]
    fn take<S: Simd, const N: usize>(
        simd: S,
        [mut max]: [S::F; 1],
        _done: usize,
        terms: [S::F; N],
        _first: usize,
    ) -> [S::F; 1] {
        for x in terms {
            max = simd.max_nan(max, x);
        }
        [max]
    }

    #[inline(always)]
    fn join(a: ([f32; 1], usize), b: ([f32; 1], usize)) -> [f32; 1] {
        [larger(a.0[0], b.0[0])]
    }

    #[inline(always)]
    fn finish<T: Stored>([max]: [f32; 1], _terms: usize, _correction: f32) -> T {
        T::narrow(max)
    }
}

#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if is_passed(a, b) { b } else { a }
}

/// Whether a later term takes the place of the best so far.
#[inline(always)]
fn is_passed(best: f32, x: f32) -> bool {
    x > best || x.is_nan() && !best.is_nan()
}

/// The place of the largest element: the best so far, and the bits of its number among the terms.
pub(super) struct ArgMax;

impl Member<2> for ArgMax {
    const DEFINITION: Reduction = Reduction {
        name: "argmax",
        summary: "y = the first place of max x along an axis or all, as u32",
        edges: &[
            "of equal elements the first counts; +0 and -0 are equal",
            "NaN counts as larger than any number, and the first NaN wins",
            "there is no place in nothing; empty axes that are kept write nothing",
        ],
        output: Some(DType::U32),
        #[cfg(feature = "judge")]
        judged: Judged {
            truth: oracle::argmax,
            takes_nothing: false,
            fills: &[Fill::Ints { magnitude: 2, density: 0.5 }],
            laws: &[
                laws::OUTPUTS_ARE_INDEPENDENT,
                laws::SCALE_FREE,
                laws::PLACES_TURN,
                laws::FIRST_NAN_WINS,
            ],
            ..MAX.judged
        },
        ..MAX
    };
    const START: [f32; 2] = [f32::NEG_INFINITY, 0.0];
    type Out<T: Stored> = u32;

    fn of_few(terms: &[f32], first: usize) -> [f32; 2] {
        let mut best = 0;
        for (i, &x) in terms.iter().enumerate() {
            if is_passed(terms[best], x) {
                best = i;
            }
        }
        let value = terms.get(best).copied().unwrap_or(f32::NEG_INFINITY);
        [value, f32::from_bits((first + best) as u32)]
    }

    /// The largest first, then where it is, from the cache.
    #[inline(always)]
    fn of_row<S: Simd, T: Stored>(simd: S, terms: &[T], first: usize) -> [f32; 2] {
        let max = row::max_or_nan(simd, terms);
        let all = simd.splat(max);
        let mut passed = 0;
        for part in terms.chunks_exact(S::LANES) {
            let x = T::load(simd, part);
            if simd.any(simd.eq(x, all)) || max.is_nan() && simd.any(simd.is_nan(x)) {
                break;
            }
            passed += S::LANES;
        }
        for x in &terms[passed..] {
            let x = x.widen();
            if x == max || max.is_nan() && x.is_nan() {
                break;
            }
            passed += 1;
        }
        [max, f32::from_bits((first + passed) as u32)]
    }

    #[inline(always)]
    fn take<S: Simd, const N: usize>(
        simd: S,
        [mut best, mut place]: [S::F; 2],
        done: usize,
        terms: [S::F; N],
        first: usize,
    ) -> [S::F; 2] {
        for (i, x) in terms.into_iter().enumerate() {
            let number = simd.splat(f32::from_bits((first + i) as u32));
            if done + i == 0 {
                // -infinity passes nothing.
                (best, place) = (x, number);
                continue;
            }
            let of_number = simd.select(simd.lt(best, x), number, place);
            let of_nan = simd.select(simd.is_nan(best), place, number);
            place = simd.select(simd.is_nan(x), of_nan, of_number);
            best = simd.max_nan(best, x);
        }
        [best, place]
    }

    #[inline(always)]
    fn join(a: ([f32; 2], usize), b: ([f32; 2], usize)) -> [f32; 2] {
        if is_passed(a.0[0], b.0[0]) { b.0 } else { a.0 }
    }

    #[inline(always)]
    fn finish<T: Stored>([_, place]: [f32; 2], _terms: usize, _correction: f32) -> u32 {
        place.to_bits()
    }
}

/// The variance: mean and sum of squared differences from it, of runs that are joined by the
/// formula of Chan, Golub and LeVeque (1979), so that x is read from memory once.
pub(super) struct Variance;

impl Member<2> for Variance {
    const DEFINITION: Reduction = Reduction {
        name: "variance",
        summary: "y = Σ (x − mean x)² / (n − correction) along an axis or all",
        edges: &[
            "NaN or an infinity among the terms makes NaN of their variance only",
            "elements far from zero are right: squares are those of differences",
            "squares are f32: from |x| > √(f32::MAX / 4n) on they overflow",
            "divided by 0, as of one term with correction 1 or of nothing, it is NaN",
        ],
        attributes: &[AXIS, CORRECTION],
        #[cfg(feature = "judge")]
        judged: Judged {
            flops: 4,
            truth: oracle::variance,
            exact_on_ints: |_| false,
            largest: |dtype, terms| {
                let bits = terms.max(1).next_power_of_two().trailing_zeros() as i32;
                2f64.powi((124 - bits) / 2).min(dtype.largest())
            },
            fills: &[
                Fill::Offset { mean: 1e3 },
                Fill::Offset { mean: 1e4 },
                Fill::Uniform { low: -1e-3, high: 1e-3 },
            ],
            takes_nothing: false,
            laws: &[laws::OUTPUTS_ARE_INDEPENDENT, laws::EVEN, laws::ORDER_FREE, laws::SHIFT_FREE],
        },
        ..SUM
    };
    const START: [f32; 2] = [0.0, 0.0];
    type Out<T: Stored> = T;

    fn of_few(terms: &[f32], _first: usize) -> [f32; 2] {
        let mean = terms.iter().sum::<f32>() / terms.len() as f32;
        [mean, terms.iter().map(|x| (x - mean).powi(2)).sum()]
    }

    #[inline(always)]
    fn of_row<S: Simd, T: Stored>(simd: S, terms: &[T], _first: usize) -> [f32; 2] {
        let mean = row::sum(simd, terms) / terms.len() as f32;
        [mean, row::squared_deviations(simd, terms, mean)]
    }

    #[inline(always)]
    fn take<S: Simd, const N: usize>(
        simd: S,
        [mean, squares]: [S::F; 2],
        done: usize,
        terms: [S::F; N],
        _first: usize,
    ) -> [S::F; 2] {
        let own = simd.mul(total(simd, terms), simd.splat(1.0 / N as f32));
        let mut sum = squares;
        for x in terms {
            let difference = simd.sub(x, own);
            sum = simd.fma(difference, difference, sum);
        }
        let share = N as f32 / (done + N) as f32;
        let apart = simd.sub(own, mean);
        let between = simd.splat(share * done as f32);
        [simd.fma(apart, simd.splat(share), mean), simd.fma(simd.mul(apart, apart), between, sum)]
    }

    #[inline(always)]
    fn join((a, of_a): ([f32; 2], usize), (b, of_b): ([f32; 2], usize)) -> [f32; 2] {
        let share = of_b as f32 / (of_a + of_b) as f32;
        let apart = b[0] - a[0];
        [a[0] + apart * share, a[1] + b[1] + apart * apart * (share * of_a as f32)]
    }

    #[inline(always)]
    fn finish<T: Stored>([_, squares]: [f32; 2], terms: usize, correction: f32) -> T {
        T::narrow(squares / (terms as f32 - correction).max(0.0))
    }
}
