//! From the range of a group to its scale, inverse and zero.

use crate::blocks::quantise::Step;
use crate::quantize::definition::Plan;

/// The range of a group: `high` is the greatest element (or magnitude) and `low` the least, both
/// counting 0; NaN where an element is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) low: f32,
    pub(super) high: f32,
}

impl Range {
    pub(super) const EMPTY: Range = Range { low: 0.0, high: 0.0 };

    /// The range of both groups together; NaN stays.
    #[inline(always)]
    pub(super) fn join(self, other: Range) -> Range {
        let larger = |a: f32, b: f32| if a > b || a.is_nan() { a } else { b };
        Range { low: -larger(-self.low, -other.low), high: larger(self.high, other.high) }
    }
}

/// The step of a group of this range.
#[inline(always)]
pub(super) fn step(plan: &Plan, Range { low, high }: Range) -> Step {
    if plan.is_symmetric {
        return Step::symmetric(high, plan.steps());
    }
    let step = Step::symmetric(high - low, plan.steps());
    if step.is_void {
        return step;
    }
    let zero = (-128.0 - low * step.inverse).round_ties_even().clamp(-128.0, 127.0);
    Step { zero, ..step }
}
