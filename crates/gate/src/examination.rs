//! One examination under way: what the stages share.

use crate::compare::{Measure, Score, measure, score};
use crate::examiner::Examiner;
use crate::rules::Depth;
use crate::stages::Outline;
use crate::subject::{Outputs, Subject, values};
use crate::{refuse, sampling, truths};
use proofmark_arena::Fault;
use proofmark_contract::{Filling, Limits, NoTruth, Portfolio, Signature, Truth, Values, Want};
use proofmark_schema::precision::InputPrecision;
use proofmark_schema::proof::{Errors, Refusal, Stage};
use proofmark_schema::{Case, ErrorContract, Outcome, Reproducibility};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// One examination under way; the stages share it.
pub(crate) struct Examination<'e> {
    pub(crate) by: &'e Examiner<'e>,
    pub(crate) case: &'e Case,
    pub(crate) signature: &'e Signature,
    pub(crate) portfolio: Portfolio,
    pub(crate) limits: Limits,
    pub(crate) contract: ErrorContract,
    pub(crate) subject: Subject<'e>,
    pub(crate) stage: Stage,
    pub(crate) checks: u32,
    pub(crate) note: String,
    pub(crate) errors: Errors,
    pub(crate) reproducibility: Reproducibility,
    /// The class under which a refused output would be right.
    pub(crate) looks_like: Option<InputPrecision>,
    /// The last inputs that were made, for the stages that want the same again.
    filled: RefCell<Vec<(Filling, u64, Rc<Values>)>>,
}

/// Number of inputs that are kept for later stages, which go back and forth between this many.
const KEPT: usize = 3;

impl<'e> Examination<'e> {
    /// An examination of a subject that no stage has seen yet.
    pub(crate) fn new(
        by: &'e Examiner<'e>,
        case: &'e Case,
        signature: &'e Signature,
        subject: Subject<'e>,
    ) -> Examination<'e> {
        Examination {
            by,
            case,
            signature,
            portfolio: by.op.portfolio(case, signature),
            limits: by.op.limits(case),
            contract: subject.loaded().contract,
            subject,
            stage: Stage::Shape,
            checks: 0,
            note: String::new(),
            errors: Errors::default(),
            reproducibility: Reproducibility::None,
            looks_like: None,
            filled: RefCell::default(),
        }
    }

    /// Whether only a few runs of each kind are affordable.
    pub(crate) fn is_sampled(&self) -> bool {
        self.outline().is_sampled()
    }

    /// What this examination is of.
    pub(crate) fn outline(&self) -> Outline<'_> {
        let (op, rules) = (self.by.op, &self.by.rules);
        Outline { op, case: self.case, signature: self.signature, rules }
    }

    /// The seed of this stage's `n`-th filling.
    pub(crate) fn seed(&self, n: u64) -> u64 {
        proofmark_tensor::mix(self.by.rules.seed, self.stage as u64, n)
    }

    /// This stage's `n`-th inputs, by `filling`. The stages of a large case share theirs: there
    /// most of the time goes into making them.
    pub(crate) fn fill(&self, filling: &Filling, n: u64) -> Rc<Values> {
        let seed = match self.by.rules.depth {
            Depth::Full => self.seed(n),
            Depth::Sampled => proofmark_tensor::mix(self.by.rules.seed, 0, n),
        };
        let mut kept = self.filled.borrow_mut();
        let known = kept.iter().find(|known| (&known.0, known.1) == (filling, seed));
        if let Some((_, _, inputs)) = known {
            return Rc::clone(inputs);
        }
        let (op, case) = (self.by.op, self.case);
        let inputs = Rc::new(values(op, case, self.signature, filling, seed));
        kept.truncate(KEPT - 1);
        kept.insert(0, (filling.clone(), seed, Rc::clone(&inputs)));
        inputs
    }

    /// Whether the case has anything to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.signature.outputs().iter().all(proofmark_contract::Operand::is_empty)
    }

    /// What errors are measured in.
    pub(crate) fn measure(&self) -> Measure {
        measure(&self.contract)
    }

    /// The limit on structured data, with the factor for the length of sums.
    pub(crate) fn structured_limit(&self) -> f64 {
        let terms = self.by.op.reduction(self.case) as f64;
        self.limits.structured * (1.0 + terms.sqrt() / 4.0)
    }

    /// Refuses for a stated reason.
    pub(crate) fn refuse(&self, outcome: Outcome, reason: String) -> Box<Refusal> {
        Box::new(self.by.refusal(self.case, outcome, Some(self.stage), reason))
    }

    /// Turns a fault of the worker into the refusal it means.
    pub(crate) fn fault(&self, fault: Fault) -> Box<Refusal> {
        Box::new(refuse::of_fault(self.by, self.case, Some(self.stage), fault))
    }

    /// Runs once and checks everything but the values: the worker lives, the processor's state
    /// is as it was, no byte outside the outputs changed.
    pub(crate) fn run(&mut self, inputs: &Values) -> Result<Outputs, Box<Refusal>> {
        self.checks += 1;
        let outputs = self.subject.run(inputs).map_err(|fault| self.fault(fault))?;
        let leaks = proofmark_schema::wire::leak::names(outputs.leaks);
        if !leaks.is_empty() {
            let reason = format!("processor state not restored: {}", leaks.join(", "));
            return Err(self.refuse(Outcome::Wrong, reason));
        }
        if let Some(stray) = self.subject.stray() {
            return Err(self.refuse(Outcome::Wrong, stray));
        }
        Ok(outputs)
    }

    /// Which elements of output `k` are judged.
    pub(crate) fn want(&self, k: usize) -> Want {
        sampling::want(self.by.op, self.case, &self.signature.outputs()[k], self.by.rules.seed)
    }

    /// The truth about the wanted elements of output `k`. If there is no truth, the contender is
    /// neither wrong nor proven.
    pub(crate) fn truth(
        &self,
        inputs: &Values,
        k: usize,
        want: &Want,
    ) -> Result<Arc<Truth>, Box<Refusal>> {
        truths::truth(self.by.op, self.case, inputs, k, want).map_err(|reason| {
            let outcome = match reason {
                NoTruth::Absent(_) => Outcome::Absent,
                NoTruth::Underivable(_) | NoTruth::Blind(_) => Outcome::Unsupported,
                NoTruth::Failed(_) => Outcome::Broken,
            };
            self.refuse(outcome, reason.to_string())
        })
    }

    /// Scores output `k` of a run against the oracle.
    pub(crate) fn score(
        &self,
        inputs: &Values,
        outputs: &Outputs,
        k: usize,
    ) -> Result<Score, Box<Refusal>> {
        let want = self.want(k);
        let truth = self.truth(&self.subject.given(inputs), k, &want)?;
        let operand = &self.signature.outputs()[k];
        let (rows, cols) = (operand.layout().rows(), operand.layout().cols());
        let got: Vec<f64> =
            want.indices(rows, cols).into_iter().map(|i| outputs.values[k][i]).collect();
        Ok(score(operand.dtype, self.measure(), &truth, &got, want.cols(cols).len()))
    }
}
