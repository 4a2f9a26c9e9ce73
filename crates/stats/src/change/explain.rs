//! Whether a change has another explanation than the code.

use super::Change;
use super::shift::shift;

/// What is known about the runs of a series, one entry for each of its points.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence<'a> {
    /// The hash of the kernel's machine code.
    pub code: &'a [Option<u64>],
    /// The environment's class: hardware, system and tool chain.
    pub environment: &'a [Option<u64>],
    /// The machine's own probes at the time of the run; one list for each probe.
    pub calibration: &'a [Vec<Option<f64>>],
    /// The control kernel's time in the same run.
    pub control: &'a [Option<f64>],
}

/// What explains a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The environment's class is another one after the change.
    EnvironmentClass,
    /// The machine code is the same before and after, so something else changed.
    SameCode,
    /// The machine's probe moved at the same place.
    Calibration,
    /// The control kernel moved at the same place.
    Control,
    /// Nothing but the code explains it.
    Code,
}

impl Cause {
    /// Whether the change is the machine's or its environment's, and not the code's.
    pub fn is_environment(self) -> bool {
        self != Cause::Code
    }
}

/// A probe explains a change if it moved by at least this share of it.
const SHARE: f64 = 0.5;

/// The confidence with which a probe must have moved. The place is given and not searched for, so
/// that no further correction is needed.
const CONFIDENCE: f64 = 0.99;

/// The first cause that the evidence supports, in the order of [`Cause`].
pub fn explain(change: &Change, evidence: &Evidence<'_>) -> Cause {
    // Points of the place interval may lie on the other side, so only those outside are compared.
    let (low, high) = change.places;
    let last_before = |values: &[Option<u64>]| values.get(..low)?.iter().flatten().last().copied();
    let first_after = |values: &[Option<u64>]| values.get(high..)?.iter().flatten().next().copied();
    let pair = |values: &[Option<u64>]| Some((last_before(values)?, first_after(values)?));
    if pair(evidence.environment).is_some_and(|(before, after)| before != after) {
        return Cause::EnvironmentClass;
    }
    if pair(evidence.code).is_some_and(|(before, after)| before == after) {
        return Cause::SameCode;
    }
    if evidence.calibration.iter().any(|probe| moved(change, probe)) {
        return Cause::Calibration;
    }
    if moved(change, evidence.control) {
        return Cause::Control;
    }
    Cause::Code
}

/// Whether a probe moved where the series did, by a comparable amount.
fn moved(change: &Change, probe: &[Option<f64>]) -> bool {
    let side = |range: &std::ops::Range<usize>| -> Vec<f64> {
        let values = probe.get(range.clone()).unwrap_or(&[]);
        values.iter().flatten().filter(|value| **value > 0.0).map(|value| value.ln()).collect()
    };
    let Some(shift) = shift(&side(&change.before), &side(&change.after), CONFIDENCE, 1.0) else {
        return false;
    };
    let away = shift.low > 0.0 || shift.high < 0.0;
    away && shift.estimate.abs() >= SHARE * change.shift.estimate.abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;
    use crate::change::{Detector, Settings};

    /// A step of 5 % at the 50th of 100 runs.
    fn change() -> Change {
        let mut stream = Stream::new(51);
        let level = |run: usize| if run < 50 { 1.0 } else { 1.05 };
        let values: Vec<f64> =
            (0..100).map(|i| level(i) * (0.01 * stream.normal()).exp()).collect();
        let judgement = Detector::new(Settings::default()).unwrap().judge(&values).unwrap();
        assert_eq!(judgement.changes.len(), 1);
        judgement.changes[0].clone()
    }

    fn ids(first: u64, second: u64) -> Vec<Option<u64>> {
        (0..100).map(|run| Some(if run < 50 { first } else { second })).collect()
    }

    fn probe(step: f64) -> Vec<Option<f64>> {
        let mut stream = Stream::new(52);
        let level = |run: usize| if run < 50 { 1.0 } else { 1.0 + step };
        (0..100)
            .map(|run| (run % 7 != 0).then_some(level(run) * (0.01 * stream.normal()).exp()))
            .collect()
    }

    #[test]
    fn each_cause_is_told_by_its_own_evidence() {
        let change = change();
        let (same, other) = (ids(1, 1), ids(1, 2));
        let (still, slower) = (probe(0.0), probe(0.05));
        let (quiet, moved) = ([still.clone()], [still.clone(), slower.clone()]);
        let none = Evidence::default();
        assert_eq!(explain(&change, &none), Cause::Code, "without evidence it is the code");
        let all_changed = Evidence { code: &other, environment: &same, ..none };
        assert_eq!(explain(&change, &all_changed), Cause::Code);
        let cases = [
            (Evidence { environment: &other, ..all_changed }, Cause::EnvironmentClass),
            (Evidence { code: &same, ..all_changed }, Cause::SameCode),
            (Evidence { calibration: &moved, control: &still, ..all_changed }, Cause::Calibration),
            (Evidence { calibration: &quiet, control: &slower, ..all_changed }, Cause::Control),
            (Evidence { calibration: &quiet, control: &still, ..all_changed }, Cause::Code),
        ];
        for (evidence, cause) in cases {
            assert_eq!(explain(&change, &evidence), cause, "{evidence:?}");
            assert_eq!(cause.is_environment(), cause != Cause::Code);
        }
    }

    #[test]
    fn a_probe_that_moved_by_far_less_or_is_rarely_there_explains_nothing() {
        let change = change();
        let little = probe(0.01);
        assert_eq!(
            explain(&change, &Evidence { control: &little, ..Evidence::default() }),
            Cause::Code
        );
        let mut rare = vec![None; 100];
        for run in [10, 20, 60, 70] {
            rare[run] = probe(0.05)[run + 1].or(Some(1.0));
        }
        assert_eq!(
            explain(&change, &Evidence { control: &rare, ..Evidence::default() }),
            Cause::Code
        );
    }

    #[test]
    fn runs_within_the_place_interval_are_on_neither_side() {
        let mut change = change();
        change.places = (48, 53);
        let mut code = ids(1, 2);
        // The machine code returns to what it was before the interval's end.
        code[53..].fill(Some(1));
        let evidence = Evidence { code: &code, ..Evidence::default() };
        assert_eq!(explain(&change, &evidence), Cause::SameCode);
    }
}
