//! The examiner: takes one contender through the ten stages on one case.

use crate::compare::{Measure, Score, score};
use crate::refuse::{self, Judgement};
use crate::stages::{Outline, STAGES};
use crate::subject::{Outputs, Subject, values};
use crate::{precision, sampling};
use proofmark_arena::{Arena, Fault};
use proofmark_contract::{Filling, Limits, Op, Portfolio, Signature, Values, Want, check_case};
use proofmark_schema::proof::{Errors, Proof, Refusal, Stage, StageReport};
use proofmark_schema::{
    Case, ContenderId, ErrorContract, Outcome, Receipt, Reproducibility, Underflow,
};
use std::cell::RefCell;
use std::rc::Rc;

/// How thoroughly a case is examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Every filling, placement and special value: for the small cases of an op's portfolio.
    Full,
    /// Fewer runs of each kind, and sampled outputs: for a large case that will be measured, by
    /// a contender that holds a certificate.
    Sampled,
}

/// What a proof is made with.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Seed of every input.
    pub seed: u64,
    /// Threads the contender is given.
    pub threads: usize,
    /// Thread counts whose results are compared with those of `threads`.
    pub other_threads: Vec<usize>,
    /// The same contender on other instruction-set paths, for the reproducibility class.
    pub siblings: Vec<ContenderId>,
    /// How thoroughly.
    pub depth: Depth,
}

/// Takes a contender through the stages.
pub struct Examiner<'a> {
    pub(crate) arena: &'a Arena,
    pub(crate) op: &'a dyn Op,
    pub(crate) contender: ContenderId,
    pub(crate) rules: Rules,
}

impl<'a> Examiner<'a> {
    /// An examiner of `contender` as an implementation of `op`.
    pub fn new(
        arena: &'a Arena,
        op: &'a dyn Op,
        contender: ContenderId,
        rules: Rules,
    ) -> Examiner<'a> {
        Examiner { arena, op, contender, rules }
    }

    /// Examines one case. The proof says whether it passed; see [`crate::certify`] for the way
    /// to a [`crate::Proven`].
    pub fn examine(&self, case: &Case) -> (Proof, Receipt) {
        let mut proof = self.blank(case);
        let signature = match check_case(self.op, case) {
            Ok(signature) => signature,
            Err(bad) => {
                let refusal = self.refusal(case, Outcome::Unsupported, None, bad.to_string());
                return (finish(proof, Some(refusal)), Receipt::default());
            }
        };
        let (of, threads, seed) = ((self.op, case), self.rules.threads, self.rules.seed);
        let loaded = Subject::load(self.arena, of, &signature, &self.contender, threads, seed);
        let subject = match loaded {
            Ok(subject) => subject,
            Err(fault) => {
                let refusal = refuse::of_fault(self, case, None, fault);
                return (finish(proof, Some(refusal)), Receipt::default());
            }
        };
        let receipt = subject.loaded().receipt.clone();
        proof.contract = subject.loaded().contract;
        let mut exam = Examination {
            by: self,
            case,
            signature: &signature,
            portfolio: self.op.portfolio(case, &signature),
            limits: self.op.limits(case),
            contract: proof.contract,
            subject,
            stage: Stage::Shape,
            checks: 0,
            note: String::new(),
            errors: Errors::default(),
            reproducibility: Reproducibility::None,
            filled: RefCell::default(),
        };
        let mut refusal = None;
        for &(stage, run) in STAGES {
            exam.stage = stage;
            exam.checks = 0;
            exam.note.clear();
            let verdict = run(&mut exam);
            let note = std::mem::take(&mut exam.note);
            proof.stages.push(StageReport { stage, checks: exam.checks, note });
            if let Err(refused) = verdict {
                refusal = Some(*refused);
                break;
            }
        }
        proof.left = exam.subject.left();
        proof.errors = exam.errors;
        proof.reproducibility = exam.reproducibility;
        (finish(proof, refusal), receipt)
    }

    fn blank(&self, case: &Case) -> Proof {
        Proof {
            case: case.clone(),
            contender: self.contender.clone(),
            threads: self.rules.threads,
            seed: self.rules.seed,
            outcome: Outcome::Proven,
            contract: ErrorContract::default(),
            stages: Vec::new(),
            errors: Errors::default(),
            reproducibility: Reproducibility::None,
            precision: String::new(),
            left: Vec::new(),
            refusal: None,
        }
    }

    /// A refusal with the command that shows it again.
    pub(crate) fn refusal(
        &self,
        case: &Case,
        outcome: Outcome,
        stage: Option<Stage>,
        reason: String,
    ) -> Refusal {
        let Rules { seed, threads, .. } = self.rules;
        let who = &self.contender;
        let repro =
            format!("proofmark repro '{case}' --with {who} --seed {seed} --threads {threads}");
        Refusal { outcome, stage, reason, worst: None, crash: None, repro }
    }
}

fn finish(mut proof: Proof, refusal: Option<Refusal>) -> Proof {
    match &refusal {
        Some(refusal) => {
            proof.outcome = refusal.outcome;
            let tail = refusal.reason.rsplit_once("behaves like ").map(|(_, class)| class);
            proof.precision = tail.unwrap_or("unknown").to_owned();
        }
        None => proof.precision = proof.contract.accumulate.to_string(),
    }
    proof.refusal = refusal;
    proof
}

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
    /// The last inputs that were made, for the stages that want the same again.
    filled: RefCell<Vec<(Filling, u64, Rc<Values>)>>,
}

/// Number of inputs that are kept for later stages, which go back and forth between this many.
const KEPT: usize = 3;

impl Examination<'_> {
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

    /// Scores output `k` of a run against the oracle.
    pub(crate) fn score(&self, inputs: &Values, outputs: &Outputs, k: usize) -> Score {
        let want = self.want(k);
        let truth = self.by.op.oracle(self.case, &self.subject.given(inputs), k, &want);
        let operand = &self.signature.outputs()[k];
        let (rows, cols) = (operand.layout().rows(), operand.layout().cols());
        let got: Vec<f64> =
            want.indices(rows, cols).into_iter().map(|i| outputs.values[k][i]).collect();
        score(operand.dtype, self.measure(), &truth, &got, want.cols(cols).len())
    }

    /// Runs on `inputs` and holds every judged element to `limit`.
    pub(crate) fn judge(
        &mut self,
        inputs: &Values,
        filled: &str,
        limit: f64,
    ) -> Result<(Outputs, Vec<Score>), Box<Refusal>> {
        let outputs = self.run(inputs)?;
        let mut scores = Vec::new();
        for k in 0..self.signature.outputs().len() {
            let score = self.score(inputs, &outputs, k);
            if score.errors.q_max > limit {
                let judgement = Judgement { inputs, filled, outputs: &outputs, k, limit };
                let class = precision::infer(self, inputs, &outputs, k, limit);
                return Err(Box::new(refuse::of_worst(self, &judgement, &score, class)));
            }
            self.note_errors(&score);
            scores.push(score);
        }
        Ok((outputs, scores))
    }

    fn note_errors(&mut self, score: &Score) {
        let (all, new) = (&mut self.errors, &score.errors);
        all.q_max = all.q_max.max(new.q_max);
        all.q_rms = all.q_rms.max(new.q_rms);
        all.max_relative = all.max_relative.max(new.max_relative);
        all.max_ulp = all.max_ulp.max(new.max_ulp);
        all.nmse = all.nmse.max(new.nmse);
        all.cosine_distance = all.cosine_distance.max(new.cosine_distance);
        if new.bias.abs() > all.bias.abs() {
            all.bias = new.bias;
        }
    }
}

/// What the error of a contender with this contract is measured in, and what it may lose near
/// zero. A flushed step is at most the least normal number, and at most so much larger in the
/// result: a norm of small numbers divides by the root of its `eps`.
pub fn measure(contract: &ErrorContract) -> Measure {
    const AMPLIFIED: f64 = 4096.0;
    let floor = match contract.underflow {
        Underflow::Gradual => 0.0,
        Underflow::Flushed => AMPLIFIED * f64::from(f32::MIN_POSITIVE),
    };
    let forgives = contract.cancels || contract.rounds_inside;
    Measure { unit: contract.accumulate.unit(), floor, forgives }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_contracts_that_promise_less_are_forgiven_anything() {
        let plain = ErrorContract::default();
        assert!(!measure(&plain).forgives);
        assert!(measure(&ErrorContract { cancels: true, ..plain }).forgives);
        assert!(measure(&ErrorContract { rounds_inside: true, ..plain }).forgives);
    }
}
