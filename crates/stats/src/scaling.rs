//! How a speed-up grows with threads, and where it ends: the laws of Amdahl and of Gunther.

use crate::mean::Interval3;
use crate::tail::student_point;

/// The speed-up that was measured at a number of threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speedup {
    /// Threads.
    pub threads: u32,
    /// Time on one thread over time on these.
    pub speedup: f64,
}

/// A fit of Amdahl's law (1967): S(n) = 1 / (s + (1 − s)/n).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amdahl {
    /// The share s of the work that does not spread over threads; its bounds lie in [0, 1].
    pub serial: Interval3,
}

impl Amdahl {
    /// The speed-up that the law expects at this number of threads.
    pub fn speedup(&self, threads: u32) -> f64 {
        let serial = self.serial.estimate;
        1.0 / (serial + (1.0 - serial) / f64::from(threads.max(1)))
    }

    /// The speed-up that no number of threads passes; infinite where nothing is serial.
    pub fn limit(&self) -> f64 {
        1.0 / self.serial.estimate
    }
}

/// A fit of the universal scalability law (Gunther, 1993): S(n) = n / (1 + σ(n−1) + κn(n−1)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Universal {
    /// Contention: what waits for a shared resource.
    pub sigma: f64,
    /// Crosstalk: what every pair of threads costs.
    pub kappa: f64,
}

impl Universal {
    /// The speed-up that the law expects at this number of threads.
    pub fn speedup(&self, threads: u32) -> f64 {
        let n = f64::from(threads.max(1));
        n / (1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0))
    }

    /// Threads at which the speed-up is greatest, at least 1; `None` where it never falls again.
    pub fn peak_threads(&self) -> Option<f64> {
        if self.sigma >= 1.0 {
            return Some(1.0);
        }
        (self.kappa > 0.0).then(|| ((1.0 - self.sigma) / self.kappa).sqrt().max(1.0))
    }
}

/// Points that say something: more than one thread and a speed-up that is a positive number.
fn usable(points: &[Speedup]) -> Option<Vec<(f64, f64)>> {
    if points.iter().any(|point| !(point.speedup > 0.0 && point.speedup.is_finite())) {
        return None;
    }
    let many = points.iter().filter(|point| point.threads > 1);
    Some(many.map(|point| (f64::from(point.threads), point.speedup)).collect())
}

/// Fits Amdahl's law by least squares on 1/S − 1/n = s·(1 − 1/n), a line through nought.
///
/// One thread carries no information, since its speed-up is 1 by definition, so at least two points
/// above it are needed. Bounds are Student's, cut to [0, 1]. `None` for fewer points or invalid
/// speed-ups.
pub fn fit_amdahl(points: &[Speedup], confidence: f64) -> Option<Amdahl> {
    let points = usable(points)?;
    if points.len() < 2 || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let line: Vec<(f64, f64)> =
        points.iter().map(|(n, speedup)| (1.0 - 1.0 / n, 1.0 / speedup - 1.0 / n)).collect();
    let squares: f64 = line.iter().map(|(x, _)| x * x).sum();
    let serial = line.iter().map(|(x, y)| x * y).sum::<f64>() / squares;
    let residual: f64 = line.iter().map(|(x, y)| (y - serial * x).powi(2)).sum();
    let freedom = (line.len() - 1) as f64;
    let half =
        student_point(freedom, (1.0 - confidence) / 2.0)? * (residual / freedom / squares).sqrt();
    let cut = |share: f64| share.clamp(0.0, 1.0);
    Some(Amdahl {
        serial: Interval3 {
            estimate: cut(serial),
            low: cut(serial - half),
            high: cut(serial + half),
        },
    })
}

/// Fits the universal scalability law by least squares on n/S − 1 = σ(n−1) + κn(n−1), with σ and κ
/// not negative.
///
/// At least two different numbers of threads above one are needed. `None` for fewer, or for invalid
/// speed-ups.
pub fn fit_universal(points: &[Speedup]) -> Option<Universal> {
    let points = usable(points)?;
    let rows: Vec<[f64; 3]> =
        points.iter().map(|(n, s)| [n - 1.0, n * (n - 1.0), n / s - 1.0]).collect();
    let dot = |i: usize, j: usize| rows.iter().map(|row| row[i] * row[j]).sum::<f64>();
    let (aa, ab, bb, ay, by) = (dot(0, 0), dot(0, 1), dot(1, 1), dot(0, 2), dot(1, 2));
    let first = points.first()?.0;
    if points.iter().all(|(n, _)| *n == first) {
        return None;
    }
    let determinant = aa * bb - ab * ab;
    let (sigma, kappa) = ((ay * bb - by * ab) / determinant, (by * aa - ay * ab) / determinant);
    if sigma >= 0.0 && kappa >= 0.0 {
        return Some(Universal { sigma, kappa });
    }
    // The optimum lies on an edge: with one of the two nought the other is a line through nought.
    let edges = [
        Universal { sigma: (ay / aa).max(0.0), kappa: 0.0 },
        Universal { sigma: 0.0, kappa: (by / bb).max(0.0) },
    ];
    let loss = |fit: &Universal| {
        rows.iter().map(|r| (r[2] - fit.sigma * r[0] - fit.kappa * r[1]).powi(2)).sum::<f64>()
    };
    edges.into_iter().min_by(|a, b| loss(a).total_cmp(&loss(b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;
    use crate::fixture::{Fixture, close};

    fn points(curve: impl Fn(u32) -> f64) -> Vec<Speedup> {
        [1, 2, 4, 8, 16, 32].map(|threads| Speedup { threads, speedup: curve(threads) }).to_vec()
    }

    fn from_row(row: &Fixture) -> Vec<Speedup> {
        let pairs = row.numbers("threads").into_iter().zip(row.numbers("speedups"));
        pairs.map(|(n, speedup)| Speedup { threads: n as u32, speedup }).collect()
    }

    #[test]
    fn amdahl_agrees_with_statsmodels() {
        for row in Fixture::rows(include_str!("../fixtures/amdahl.json")) {
            let fit = fit_amdahl(&from_row(&row), 0.95).unwrap().serial;
            assert!(close(fit.estimate, row.number("serial"), 1e-9), "{fit:?}");
            assert!(close(fit.low, row.number("low"), 1e-8), "{fit:?} {}", row.number("low"));
            assert!(close(fit.high, row.number("high"), 1e-8), "{fit:?}");
        }
    }

    #[test]
    fn the_universal_law_agrees_with_non_negative_least_squares_of_scipy() {
        for row in Fixture::rows(include_str!("../fixtures/universal.json")) {
            let fit = fit_universal(&from_row(&row)).unwrap();
            assert!((fit.sigma - row.number("sigma")).abs() < 1e-9, "{fit:?}");
            assert!((fit.kappa - row.number("kappa")).abs() < 1e-10, "{fit:?}");
        }
    }

    #[test]
    fn exact_curves_give_back_their_laws() {
        let fit = fit_amdahl(&points(|n| 1.0 / (0.1 + 0.9 / f64::from(n))), 0.95).unwrap();
        assert!(close(fit.serial.estimate, 0.1, 1e-12) && close(fit.limit(), 10.0, 1e-12));
        assert!(close(fit.speedup(8), 1.0 / (0.1 + 0.9 / 8.0), 1e-12));
        let law = Universal { sigma: 0.03, kappa: 0.001 };
        let fit = fit_universal(&points(|n| law.speedup(n))).unwrap();
        assert!(close(fit.sigma, 0.03, 1e-9) && close(fit.kappa, 0.001, 1e-9), "{fit:?}");
        assert!(close(fit.peak_threads().unwrap(), 970f64.sqrt(), 1e-9));
    }

    #[test]
    fn the_serial_interval_covers_as_often_as_it_says() {
        let mut stream = Stream::new(77);
        let held = (0..2000)
            .filter(|_| {
                let noisy: Vec<Speedup> = points(|n| 0.1 + 0.9 / f64::from(n))
                    .into_iter()
                    .map(|p| Speedup { speedup: 1.0 / (p.speedup + 0.004 * stream.normal()), ..p })
                    .collect();
                let serial = fit_amdahl(&noisy, 0.95).unwrap().serial;
                serial.low <= 0.1 && 0.1 <= serial.high
            })
            .count();
        assert!((1880..=1930).contains(&held), "{held} of 2000");
    }

    #[test]
    fn perfect_and_better_than_perfect_scaling_has_no_serial_share_and_no_peak() {
        for curve in [1.0, 1.1] {
            let better = points(|n| f64::from(n).powf(curve));
            let fit = fit_amdahl(&better, 0.95).unwrap();
            assert!(fit.serial.estimate < 1e-12 && fit.limit() > 1e12, "{fit:?}");
            let fit = fit_universal(&better).unwrap();
            assert_eq!((fit.sigma, fit.kappa, fit.peak_threads()), (0.0, 0.0, None));
        }
    }

    #[test]
    fn contention_without_any_gain_peaks_at_one_thread() {
        assert_eq!(Universal { sigma: 1.2, kappa: 0.0 }.peak_threads(), Some(1.0));
        assert_eq!(Universal { sigma: 0.9, kappa: 0.9 }.peak_threads(), Some(1.0));
    }

    #[test]
    fn says_nothing_where_nothing_can_be_said() {
        let two = |threads, speedup| Speedup { threads, speedup };
        assert_eq!(fit_amdahl(&[two(1, 1.0), two(2, 1.9)], 0.95), None);
        assert_eq!(fit_universal(&[two(1, 1.0), two(2, 1.9), two(2, 1.8)]), None);
        assert_eq!(fit_universal(&[]), None);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let list = [two(2, 1.9), two(4, 3.0), two(8, bad)];
            assert_eq!(fit_amdahl(&list, 0.95), None);
            assert_eq!(fit_universal(&list), None);
        }
        assert_eq!(fit_amdahl(&[two(2, 1.9), two(4, 3.0)], 1.0), None);
    }
}
