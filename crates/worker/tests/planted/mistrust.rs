//! Limits that are too loose: a right kernel is not proven by a test that could not have failed.

use crate::copy::{Copy, case};
use crate::stage::{arena, contender, limits};
use proofmark_contract::{
    Attribute, Axis, BadCase, Definition, Limits, Op, Signature, Specials, Truth, Values, Want,
};
use proofmark_gate::{Depth, Rules, certify};
use proofmark_schema::{Case, DType, Outcome, Work};

/// The copy, held to another limit.
struct Loose {
    q_max: f64,
}

impl Definition for Loose {
    fn name(&self) -> &'static str {
        Copy.name()
    }
    fn summary(&self) -> &'static str {
        Copy.summary()
    }
    fn axes(&self) -> &'static [Axis] {
        Copy.axes()
    }
    fn attributes(&self) -> &'static [Attribute] {
        Copy.attributes()
    }
    fn dtypes(&self) -> &'static [DType] {
        Copy.dtypes()
    }
    fn signature(&self, case: &Case) -> Result<Signature, BadCase> {
        Copy.signature(case)
    }
}

impl Op for Loose {
    fn work(&self, case: &Case) -> Work {
        Copy.work(case)
    }
    fn reduction(&self, case: &Case) -> u64 {
        Copy.reduction(case)
    }
    fn oracle(&self, case: &Case, inputs: &Values, output: usize, want: &Want) -> Truth {
        Copy.oracle(case, inputs, output, want)
    }
    fn limits(&self, _: &Case) -> Limits {
        Limits { q_max: self.q_max, ..Limits::default() }
    }
    fn specials(&self, case: &Case, signature: &Signature) -> Specials {
        Copy.specials(case, signature)
    }
    fn proof_cases(&self, dtype: DType) -> Vec<Case> {
        Copy.proof_cases(dtype)
    }
}

/// What becomes of the right kernel under a limit, and why.
fn judged(q_max: f64) -> (Outcome, String) {
    let (op, cases) = (Loose { q_max }, [case(3, 64, DType::F32)]);
    let rules = Rules {
        seed: 11,
        threads: 1,
        other_threads: Vec::new(),
        siblings: Vec::new(),
        depth: Depth::Full,
    };
    let certificate =
        certify(&arena(limits()), &op, &contender("good"), DType::F32, &cases, &rules);
    let refusal = certificate.refused().and_then(|proof| proof.refusal.as_ref());
    (certificate.outcome(), refusal.map_or_else(String::new, |refusal| refusal.reason.clone()))
}

pub(crate) fn a_limit_too_loose_for_its_data_is_mistrusted() {
    let units = |part: f64| part / DType::F32.unit();
    let (outcome, why) = judged(Limits::default().q_max);
    assert_eq!(outcome, Outcome::Proven, "{why}");
    let (outcome, why) = judged(units(0.01));
    assert_eq!(outcome, Outcome::Mistrusted);
    assert!(why.contains("would pass with one element a little off"), "{why}");
    let (outcome, why) = judged(units(10.0));
    assert_eq!(outcome, Outcome::Mistrusted);
    assert!(why.contains("an all-zero `y` would pass"), "{why}");
}
