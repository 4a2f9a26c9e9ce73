//! What other projects' correctness gates would say of the same output.
//!
//! The rules are re-implemented from their publications. `selftest gate` prints their results next
//! to ours.

/// A published acceptance rule.
#[derive(Clone, Copy, Debug)]
pub struct OtherGate {
    /// Its name in reports.
    pub name: &'static str,
    /// Where the rule is used.
    pub used_by: &'static str,
    /// Whether it accepts `got` if the right result is `want`.
    pub accepts: fn(want: &[f64], got: &[f64]) -> bool,
}

/// The rules that are compared with ours.
pub const OTHER_GATES: [OtherGate; 5] = [
    OtherGate { name: "nmse_5e-4", used_by: "ggml test-backend-ops, MUL_MAT", accepts: nmse },
    OtherGate { name: "cutlass_5_percent", used_by: "CUTLASS profiler, default", accepts: cutlass },
    OtherGate {
        name: "max_relative_5_percent",
        used_by: "guides that accept 5 % of the greatest relative error",
        accepts: |want, got| every(want, got, |w, d| d / w.abs().max(1e-6) <= 5e-2),
    },
    OtherGate {
        name: "allclose_1e-2",
        used_by: "KernelBench, BackendBench",
        accepts: |want, got| every(want, got, |w, d| d <= 1e-2 + 1e-2 * w.abs()),
    },
    OtherGate {
        name: "allclose_1e-4",
        used_by: "KernelBench for fp32",
        accepts: |want, got| every(want, got, |w, d| d <= 1e-4 + 1e-4 * w.abs()),
    },
];

/// Applies a rule to finite elements. For all other elements, only the classes must agree. This is
/// generous: most of these tools do not test such inputs.
fn every(want: &[f64], got: &[f64], accepts: fn(f64, f64) -> bool) -> bool {
    want.iter().zip(got).all(|(&want, &got)| {
        if want.is_nan() || got.is_nan() {
            return want.is_nan() && got.is_nan();
        }
        got == want || accepts(want, (got - want).abs())
    })
}

fn nmse(want: &[f64], got: &[f64]) -> bool {
    if want.iter().chain(got).any(|value| !value.is_finite()) {
        return every(want, got, |_, _| true);
    }
    let error: f64 = want.iter().zip(got).map(|(w, g)| (w - g).powi(2)).sum();
    let size: f64 = want.iter().map(|w| w * w).sum();
    if size == 0.0 { error == 0.0 } else { error / size <= 5e-4 }
}

fn cutlass(want: &[f64], got: &[f64]) -> bool {
    const FLOOR: f64 = 1.0 / 256.0;
    want.iter().zip(got).all(|(&want, &got)| {
        if want.is_nan() || got.is_nan() {
            return want.is_nan() && got.is_nan();
        }
        let (difference, sum) = ((got - want).abs(), got.abs() + want.abs());
        got == want
            || if got == 0.0 || want == 0.0 || sum < FLOOR {
                difference < 0.05 * FLOOR
            } else {
                difference < 0.05 * sum
            }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_accepts_the_truth_and_refuses_zeros() {
        let want: Vec<f64> = (1..100).map(|i| f64::from(i).sin()).collect();
        for gate in OTHER_GATES {
            assert!((gate.accepts)(&want, &want), "{}", gate.name);
            assert!(!(gate.accepts)(&want, &[0.0; 99]), "{}", gate.name);
            let mut hole = want.clone();
            hole[3] = f64::NAN;
            assert!(!(gate.accepts)(&want, &hole), "{}", gate.name);
        }
    }
}
