//! What proofs and races of a submission amount to.

use super::repeat;
use super::request::SubmissionRequest;
use proofmark_arena::sha256;
use proofmark_peers::{Needs, find};
use proofmark_schema::isolation::{Attempt, Confinement};
use proofmark_schema::proof::Proof;
use proofmark_schema::quantity::Interval;
use proofmark_schema::record::Record;
use proofmark_schema::submission::{
    CaseOrigin, Counterexample, JudgedCase, Submission, SubmissionVerdict, VERDICT_SCHEMA,
};
use proofmark_schema::{Case, CodeFile, ContenderId, ErrorContract, Isolation, Outcome};
use std::path::Path;

/// What is known so far.
pub(super) struct Judgement {
    cases: Vec<JudgedCase>,
    outcome: Outcome,
    counterexample: Option<Counterexample>,
    reasons: Vec<String>,
    isolation: Confinement,
    contract: Option<ErrorContract>,
    /// The command that shows the refusal again.
    repro: Option<String>,
}

impl Judgement {
    pub(super) fn new(cases: Vec<JudgedCase>, level: Isolation) -> Judgement {
        Judgement {
            cases,
            outcome: Outcome::Proven,
            counterexample: None,
            reasons: Vec::new(),
            isolation: Confinement { level, ..Confinement::default() },
            contract: None,
            repro: None,
        }
    }

    /// Adds a note for the reader.
    pub(super) fn note(&mut self, words: String) {
        if !self.reasons.contains(&words) {
            self.reasons.push(words);
        }
    }

    /// A case has passed the gate.
    pub(super) fn proven(&mut self, at: usize, proof: &Proof) {
        self.cases[at].outcome = Some(Outcome::Proven);
        self.contract = Some(proof.contract);
        self.confined(&proof.confinement);
        proof.left.iter().for_each(|left| self.note(format!("{}: {left}", proof.case)));
    }

    /// A case, or a case of the portfolio that is tried before it, ends the judgement.
    pub(super) fn refused(&mut self, at: usize, case: &Case, proof: &Proof) {
        self.outcome = proof.outcome;
        self.contract = Some(proof.contract);
        self.confined(&proof.confinement);
        let is_its_own = proof.case == *case;
        let origin = if is_its_own { self.cases[at].origin } else { CaseOrigin::Portfolio };
        self.cases[at].outcome = Some(proof.outcome);
        let Some(refusal) = &proof.refusal else { return };
        self.reasons.insert(0, format!("{} on {}: {}", proof.outcome, proof.case, refusal.reason));
        self.counterexample = Counterexample::of(&proof.case, origin, refusal);
        self.repro = Some(refusal.repro.clone());
    }

    /// A case was raced; the records are those of the baseline and of the submission.
    pub(super) fn raced(&mut self, at: usize, records: &[Record; 2], speedup: Option<Interval>) {
        let times = records.each_ref().map(|record| record.judged.performance());
        let case = &mut self.cases[at];
        [case.baseline_ns, case.time_ns] = times.map(|it| it.map(|it| it.wall_ns));
        case.speedup = speedup;
        let name = case.case.clone();
        if speedup.is_none() {
            self.outcome = Outcome::Undecided;
            self.note(format!(
                "{name}: the race gave no interval; judge again on a quieter machine"
            ));
        }
        let Some(own) = times[1] else { return };
        if let Some(times) = own.seen_faster {
            self.note(format!(
                "{name}: it is {times:.2} times slower on inputs that it has not seen; all times of \
                 this case are those of calls on new inputs"
            ));
        }
        if let Some(bytes) = own.grown_bytes {
            self.note(format!("{name}: its memory grew by {bytes} bytes or more in every trial"));
        }
    }

    /// Adds what a proof says of the sandbox.
    fn confined(&mut self, more: &Confinement) {
        let Confinement { layers, attempts, .. } = more;
        if self.isolation.layers.is_empty() {
            self.isolation.layers.clone_from(layers);
        }
        for tried in attempts {
            let known = &mut self.isolation.attempts;
            let is_same =
                |it: &&mut Attempt| (&it.call, &it.target) == (&tried.call, &tried.target);
            match known.iter_mut().find(is_same) {
                Some(same) => same.times = same.times.saturating_add(tried.times),
                None => known.push(tried.clone()),
            }
        }
    }

    /// The verdict.
    pub(super) fn verdict(
        mut self,
        request: &SubmissionRequest,
        baseline: &ContenderId,
        shown: &[Case],
        run: String,
    ) -> SubmissionVerdict {
        let is_proven = self.outcome == Outcome::Proven;
        let over = |is_wanted: &dyn Fn(CaseOrigin) -> bool| {
            let wanted = self.cases.iter().filter(|case| is_wanted(case.origin));
            let all: Option<Vec<Interval>> = wanted.map(|case| case.speedup).collect();
            mean(&all.filter(|_| is_proven)?)
        };
        let speedup = over(&|_| true);
        let speedup_shown = over(&|origin| origin == CaseOrigin::Shown);
        let speedup_held_out = over(&|origin| origin == CaseOrigin::HeldOut);
        if let Some(tried) = self.isolation.tried() {
            self.note(format!("the sandbox refused what it tried: {tried}"));
        }
        let level = self.isolation.level;
        let repeat = repeat::commands(request, baseline, shown, level, self.repro.as_deref());
        SubmissionVerdict {
            schema: VERDICT_SCHEMA.to_owned(),
            op: request.entry.op.name().to_owned(),
            submission: submission(request, self.contract),
            outcome: self.outcome,
            reward: speedup.map_or(0.0, |speedup| speedup.low),
            baseline: baseline.clone(),
            speedup,
            speedup_shown,
            speedup_held_out,
            counterexample: self.counterexample,
            cases: self.cases,
            reasons: self.reasons,
            isolation: self.isolation,
            threads: request.threads,
            seed: request.seed,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            run,
            repeat,
        }
    }
}

/// The geometric mean of ratios that were measured apart from each other. Their errors are
/// independent, so that the widths of the intervals add up as squares.
fn mean(ratios: &[Interval]) -> Option<Interval> {
    let confidence = ratios.first()?.confidence;
    let count = ratios.len() as f64;
    let log = ratios.iter().map(|ratio| ratio.estimate.ln()).sum::<f64>() / count;
    let width = |end: fn(&Interval) -> f64| {
        let square = |ratio: &Interval| (end(ratio).ln() - ratio.estimate.ln()).powi(2);
        ratios.iter().map(square).sum::<f64>().sqrt() / count
    };
    let (below, above) = (width(|it| it.low), width(|it| it.high));
    let ends = [log, log - below, log + above].map(f64::exp);
    let [estimate, low, high] = ends;
    ends.iter().all(|it| it.is_finite()).then_some(Interval { estimate, low, high, confidence })
}

/// What was judged, with the hashes of its files.
fn submission(request: &SubmissionRequest, contract: Option<ErrorContract>) -> Submission {
    let code = |path: &Path| CodeFile {
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        sha256: sha256(path).unwrap_or_default(),
    };
    let found = find(request.kernel, &request.shelf);
    // The library of a kernel in Python is the interpreter's, which is no part of it.
    let library = found.as_ref().filter(|it| it.python.is_none()).map(|it| it.library.as_path());
    let own = std::path::absolute(&request.file).unwrap_or_else(|_| request.file.clone());
    let mut files = vec![own.as_path()];
    files.extend(library.filter(|library| *library != own));
    let Needs { jit, interpreter, compiler } = request.kernel.needs();
    let allowed = [(jit, "jit"), (interpreter, "interpreter"), (compiler, "compiler")];
    Submission {
        contender: request.kernel.id(),
        file: request.file.display().to_string(),
        code: files.into_iter().map(code).collect(),
        allowed: allowed.iter().filter(|it| it.0).map(|it| it.1.to_owned()).collect(),
        contract,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(estimate: f64, factor: f64) -> Interval {
        Interval { estimate, low: estimate / factor, high: estimate * factor, confidence: 0.95 }
    }

    #[test]
    fn the_mean_of_ratios_is_geometric_and_its_interval_narrows_with_the_root_of_their_number() {
        assert_eq!(mean(&[]), None);
        let one = mean(&[ratio(2.0, 1.1)]).unwrap();
        assert!((one.low - 2.0 / 1.1).abs() < 1e-12 && (one.high - 2.2).abs() < 1e-12, "{one:?}");
        let four = mean(&[ratio(1.0, 1.1), ratio(4.0, 1.1), ratio(2.0, 1.1), ratio(2.0, 1.1)]);
        let four = four.unwrap();
        assert!((four.estimate - 2.0).abs() < 1e-12, "{four:?}");
        assert!((four.low - 2.0 / 1.1f64.sqrt()).abs() < 1e-12, "{four:?}");
        assert_eq!(mean(&[ratio(f64::INFINITY, 1.1)]), None);
    }

    #[test]
    fn the_interval_holds_the_mean_as_often_as_it_says() {
        let mut stream = proofmark_stats::Stream::new(5);
        let truths = [1.2f64, 0.8, 3.0];
        let within = (0..4000).filter(|_| {
            let measured = truths.map(|truth| {
                let sigma = 0.03;
                let estimate = truth * (sigma * stream.normal()).exp();
                ratio(estimate, (1.96 * sigma).exp())
            });
            let found = mean(&measured).unwrap();
            let truth = truths.iter().product::<f64>().cbrt();
            found.low <= truth && truth <= found.high
        });
        let share = within.count() as f64 / 4000.0;
        assert!((0.94..=0.96).contains(&share), "{share}");
    }
}
