//! Judges a kernel that a stranger has submitted: proven on shown and held-out cases, raced against
//! a baseline, and summed up in one verdict.
//!
//! The author of the kernel gains by a better number, so nothing that the author states is trusted:
//! the terms are those of the baseline, and the contract that the worker reports is compared with
//! the file.

mod repeat;
mod request;
mod terms;
mod verdict;

use crate::plan::{best_path, checked, held_out, race_rules};
use crate::prove::Admission;
use crate::race::{check_cache, isolated, refused_while_measured, tell_new_inputs};
use crate::record::{RunLog, ceilings, raced, refused};
use crate::{EngineError, Event, Listener, SubmissionError, check_contender};
use proofmark_arena::Arena;
use proofmark_contract::ExplicitCase;
use proofmark_gate::Proven;
use proofmark_machine::Ceilings;
use proofmark_measure::{MonotonicClock, RaceRules, compare, race};
use proofmark_schema::plan::Plan;
use proofmark_schema::proof::{Proof, Refusal};
use proofmark_schema::quantity::Interval;
use proofmark_schema::submission::{CaseOrigin, JudgedCase, SubmissionVerdict};
use proofmark_schema::{Cache, Case, ContenderId, Outcome, Receipt};
use proofmark_store::{ItemEntry, Store};
pub use request::SubmissionRequest;
use verdict::Judgement;

/// Confidence of the speed-ups.
const CONFIDENCE: f64 = 0.95;

/// Judges a submission. Proofs and races are kept as a run.
///
/// # Errors
/// If a case does not fit the op, the baseline cannot be one, the file asks for easier terms than
/// the baseline has, the machine lacks the level of isolation, or the store fails. What the
/// submission does is never an error.
pub fn judge_submission(
    arena: &Arena,
    store: &Store,
    request: &SubmissionRequest,
    listener: &dyn Listener,
) -> Result<SubmissionVerdict, EngineError> {
    let SubmissionRequest { entry, shelf, .. } = request;
    let who = request.kernel.id();
    let baseline = request.baseline();
    check_contender(entry, &who, shelf)?;
    check_contender(entry, &baseline, shelf)?;
    if baseline == who {
        let reason = "it is the submission itself".to_owned();
        return Err(SubmissionError::NoBaseline { who, reason }.into());
    }
    let baseline = best_path(entry, &baseline, request.cap);
    let shown = checked(&request.shown, Cache::Hot)?;
    let shown: Vec<Case> = shown.into_iter().map(|(_, case)| case).collect();
    if !request.as_declared {
        terms::check(request, &baseline, &shown)?;
    }
    let arena = isolated(arena, [&baseline, &who])?;
    let level = arena.regime().level;
    let drawn = held_out(entry, &shown, request.held_out, request.seed);
    let plan = request.plan(&[&shown[..], &drawn].concat(), [&baseline, &who], level);
    plan.items.iter().try_for_each(|item| check_cache(&arena, item.memory.cache))?;
    let facts = proofmark_machine::facts(request.cap);
    let log = RunLog::create(store, &plan, &facts)?;
    listener.hear(&Event::Started { run: log.id(), items: plan.items.len(), done: 0 });
    let origin = |at| if at < shown.len() { CaseOrigin::Shown } else { CaseOrigin::HeldOut };
    let cases = plan.items.iter().enumerate();
    let cases = cases.map(|(at, item)| JudgedCase::open(&item.case, origin(at))).collect();
    let panel = Panel {
        request,
        baseline: &baseline,
        plan: &plan,
        listener,
        ceilings: ceilings(store, &facts, request.cap, listener),
        log,
        judgement: Judgement::new(cases, level),
    };
    let fewer = request.held_out - drawn.len();
    let (judgement, run) = panel.judge(&arena, fewer)?;
    Ok(judgement.verdict(request, &baseline, &shown, run))
}

/// A judgement in progress.
struct Panel<'a> {
    request: &'a SubmissionRequest,
    baseline: &'a ContenderId,
    plan: &'a Plan,
    listener: &'a dyn Listener,
    ceilings: Ceilings,
    log: RunLog,
    judgement: Judgement,
}

impl Panel<'_> {
    /// Proves the submission on every case, then races it. The first refusal ends the judgement.
    fn judge(mut self, arena: &Arena, fewer: usize) -> Result<(Judgement, String), EngineError> {
        if fewer > 0 {
            self.judgement.note(format!(
                "the op accepts {fewer} held-out cases fewer than were asked for: no other sizes \
                 around the shown ones were found"
            ));
        }
        let SubmissionRequest { entry, seed, cap, threads, .. } = *self.request;
        let admission = Admission::new(arena, seed, cap, self.listener);
        let who = self.request.kernel.id();
        let mut proven = Vec::new();
        for (at, item) in self.plan.items.iter().enumerate() {
            let admitted = admission.admit(entry, &item.case, &who, threads);
            match admitted.and_then(|one| self.unforged(one)) {
                Ok(one) => {
                    self.judgement.proven(at, one.proof());
                    proven.push(one);
                }
                Err(proof) => {
                    self.refuse(at, Receipt::default(), *proof)?;
                    return self.end();
                }
            }
        }
        let mut fields = Vec::new();
        for (item, one) in self.plan.items.iter().zip(proven) {
            let admitted = admission.admit(entry, &item.case, self.baseline, threads);
            let base = admitted.map_err(|proof| self.no_baseline(&proof))?;
            fields.push([base, one]);
        }
        for (at, field) in fields.iter().enumerate() {
            if !self.race(at, field)? {
                break;
            }
        }
        self.end()
    }

    /// Refuses a kernel whose worker reports another contract than its file declares.
    fn unforged<'p>(&self, one: Proven<'p>) -> Result<Proven<'p>, Box<Proof>> {
        let case = ExplicitCase::of(self.request.entry.op, one.case());
        if one.proof().contract == self.request.kernel.contract(&case) {
            return Ok(one);
        }
        let mut proof = one.proof().clone();
        proof.outcome = Outcome::Caught;
        proof.refusal = Some(Refusal {
            outcome: Outcome::Caught,
            stage: None,
            reason: "its worker claims a contract that its file does not have".to_owned(),
            worst: None,
            crash: None,
            repro: repeat::repro(&proof),
        });
        Err(Box::new(proof))
    }

    fn no_baseline(&self, proof: &Proof) -> EngineError {
        let why = proof.refusal.as_ref().map_or("", |refusal| refusal.reason.as_str());
        let reason = format!("{} on {}: {why}", proof.outcome, proof.case);
        SubmissionError::NoBaseline { who: self.baseline.clone(), reason }.into()
    }

    /// Races one case and keeps the race. Returns whether the judgement goes on.
    fn race(&mut self, at: usize, field: &[Proven<'_>; 2]) -> Result<bool, EngineError> {
        let (entry, item) = (self.request.entry, &self.plan.items[at]);
        self.listener.hear(&Event::Item {
            number: at + 1,
            of: self.plan.items.len(),
            case: item.case.to_string(),
            seconds_left: self.plan.estimate_seconds * (self.plan.items.len() - at) as f64
                / self.plan.items.len() as f64,
        });
        let seed = proofmark_tensor::mix(self.request.seed, 1, item.index);
        let rules = RaceRules {
            memory: item.memory,
            quiet_ns: (self.request.quiet_seconds * 1e9) as u64,
            ..race_rules(self.plan.kind, seed)
        };
        let raced_field = match race(field, &rules, &MonotonicClock) {
            Ok(race) => race,
            Err(fault) => {
                let mut proof = refused_while_measured(field[fault.arm].proof().clone(), &fault);
                if fault.arm == 0 {
                    // What the baseline does is no fault of the submission, and no merit either.
                    proof = field[1].proof().clone();
                    proof.outcome = Outcome::Undecided;
                    let reason = format!("the baseline could not be measured: {fault}");
                    let repro = repeat::repro(&proof);
                    let outcome = proof.outcome;
                    let (stage, worst, crash) = (None, None, None);
                    proof.refusal = Some(Refusal { outcome, stage, reason, worst, crash, repro });
                }
                self.refuse(at, field[1].receipt().clone(), proof)?;
                return Ok(false);
            }
        };
        tell_new_inputs(&raced_field, self.listener);
        let speedup = compare(&raced_field, 0, 1, CONFIDENCE);
        let speedup: Option<Interval> = speedup.map(|found| found.ratio.inverse());
        let record = |arm| raced(entry, item, &field[arm], &raced_field, arm, &self.ceilings);
        let records = [0, 1].map(record);
        self.judgement.raced(at, &records, speedup);
        let records = records.into();
        let kept = ItemEntry { item: item.index, race: Some(raced_field), decided: None, records };
        self.log.append(kept)?;
        Ok(true)
    }

    /// Keeps a refusal, which ends the judgement.
    fn refuse(&mut self, at: usize, receipt: Receipt, proof: Proof) -> Result<(), EngineError> {
        let item = &self.plan.items[at];
        self.judgement.refused(at, &item.case, &proof);
        let records = vec![refused(self.request.entry, item, receipt, proof)];
        self.log.append(ItemEntry { item: item.index, race: None, decided: None, records })?;
        Ok(())
    }

    fn end(self) -> Result<(Judgement, String), EngineError> {
        Ok((self.judgement, self.log.seal()?))
    }
}
