//! Programs that are raced as they are: commands, and the benchmarks that two sides share.
//!
//! They are decided by the rounds, looks and margins of every other comparison. There is no proof,
//! so that no time is reported: only ratios.

mod field;
mod request;
mod tolerance;

pub use request::{ProgramSides, ProgramTerms, ProgramsCompared, ProgramsRequest};
pub use tolerance::Tolerance;

use crate::race::{Evidence, Programs, io_error, two_rounds};
use crate::record::RunLog;
use crate::{EngineError, Event};
use field::{Field, shown_name};
use proofmark_programs::contest::{Rehearsed, Trouble};
use proofmark_programs::process::{Pinned, Scratch};
use proofmark_programs::race::race;
use proofmark_programs::{Bench, Contest, Rules, Settings};
use proofmark_schema::FORMAT_VERSION;
use proofmark_schema::decision::{Round, Standing};
use proofmark_schema::plan::{Plan, RunKind};
use proofmark_schema::program::{ProgramComparison, ProgramDecision, ProgramEntry, ProgramOutcome};
use request::FIRST_TIMEOUT_NS;
use tolerance::severity;

/// Races programs until it is decided which is faster. What looks slower is raced again with fresh
/// trials before it is called slower.
///
/// # Errors
/// If a side cannot be built or read, both have no benchmark in common, or the store fails.
pub fn compare_programs(
    programs: &Programs<'_>,
    request: &ProgramsRequest,
) -> Result<ProgramsCompared, EngineError> {
    let place = std::env::temp_dir();
    let folder = tempfile::Builder::new().prefix("proofmark-").tempdir_in(&place);
    let folder = folder.map_err(io_error("make a folder in", &place))?;
    let scratch = Scratch::new(folder.path());
    let mut field = Field::of(programs, request, &scratch)?;
    let facts = proofmark_machine::facts(request.terms.cap);
    let log = RunLog::create(programs.store, &plan(request), &facts)?;
    let [base, other] = request.names.clone();
    let decisions = field.pairs.iter().map(open).collect();
    let comparison = ProgramComparison {
        base,
        other,
        alpha: request.terms.alpha,
        decisions,
        only_base: std::mem::take(&mut field.only[0]),
        only_other: std::mem::take(&mut field.only[1]),
        notes: std::mem::take(&mut field.notes),
    };
    let mut meeting = Meeting {
        request,
        programs,
        rehearsed: vec![None; field.pairs.len()],
        contests: field
            .pairs
            .iter()
            .map(|sides| Contest::new(sides, &scratch, settings(request)))
            .collect(),
        comparison,
        log,
    };
    let cases = field.pairs.len();
    let mut race = |round, case, alpha| meeting.race(round, case, alpha);
    let standings = two_rounds(cases, request.terms.alpha, request.terms.report_margin, &mut race)?;
    let Meeting { mut comparison, mut log, .. } = meeting;
    for (decision, standing) in comparison.decisions.iter_mut().zip(standings) {
        decision.standing = standing;
    }
    let excuse = |decision: &ProgramDecision| request.terms.tolerance.as_ref()?.excuse(decision);
    let severity = severity(&comparison.decisions, &excuse);
    let excused: Vec<String> = comparison.decisions.iter().filter_map(excuse).collect();
    comparison.notes.extend(excused);
    log.program(&ProgramEntry::Compared(Box::new(comparison.clone())))?;
    Ok(ProgramsCompared { run: log.seal()?, comparison, severity })
}

fn settings(request: &ProgramsRequest) -> Settings {
    Settings { is_pinned: request.terms.is_pinned, timeout_ns: FIRST_TIMEOUT_NS }
}

fn open(sides: &[Bench; 2]) -> ProgramDecision {
    ProgramDecision {
        name: shown_name(&sides[1]),
        harness: sides[1].harness,
        outcome: ProgramOutcome::Unproven,
        standing: Standing::Undecided,
        screen: None,
        confirmation: None,
        fault: None,
        output: None,
    }
}

fn plan(request: &ProgramsRequest) -> Plan {
    Plan {
        format: FORMAT_VERSION,
        seed: request.terms.seed,
        kind: RunKind::Programs,
        items: Vec::new(),
        absent: Vec::new(),
        proof_seconds: 0.0,
        estimate_seconds: 0.0,
        part: None,
    }
}

/// A comparison in progress.
struct Meeting<'a> {
    request: &'a ProgramsRequest,
    programs: &'a Programs<'a>,
    contests: Vec<Contest<'a>>,
    rehearsed: Vec<Option<Rehearsed>>,
    comparison: ProgramComparison,
    log: RunLog,
}

impl Meeting<'_> {
    /// One race of one benchmark, kept in the run.
    fn race(
        &mut self,
        round: Round,
        case: usize,
        alpha: f64,
    ) -> Result<Option<Evidence>, EngineError> {
        let again = if round == Round::Screen { "" } else { " again" };
        let name = self.comparison.decisions[case].name.clone();
        self.programs.listener.hear(&Event::Item {
            number: case + 1,
            of: self.contests.len(),
            case: format!("{name}{again}"),
            seconds_left: self.seconds_left(round, case),
        });
        if round == Round::Screen && !self.rehearse(case) {
            return Ok(None);
        }
        let Some(rehearsed) = &self.rehearsed[case] else { return Ok(None) };
        let request = self.request;
        let number = case as u64 + if round == Round::Screen { 0 } else { 1 << 32 };
        let rules = Rules {
            round,
            seed: proofmark_tensor::mix(request.terms.seed, 3, number),
            budget_ns: (request.terms.seconds * 1e9) as u64,
            process_ns: rehearsed.process_ns,
            alpha,
            report_margin: request.terms.report_margin,
            same_margin: request.terms.same_margin,
        };
        if round == Round::Screen && rules.longest_seconds() > 2.0 * request.terms.seconds {
            let needed = rules.longest_seconds();
            self.programs.listener.hear(&Event::Note(format!(
                "{name}: one process takes {:.1} s, so that the first decision takes {needed:.0} s",
                rules.process_ns / 1e9
            )));
        }
        proofmark_measure::await_quiet((request.terms.quiet_seconds * 1e9) as u64);
        let pinned = request.terms.is_pinned.then(Pinned::to_last_processor);
        let raced = race(&name, &mut self.contests[case], &rules);
        drop(pinned);
        let raced = match raced {
            Ok(raced) => raced,
            Err(trouble) => {
                self.note_trouble(case, trouble);
                return Ok(None);
            }
        };
        let ruling = raced.ruling.clone();
        let evidence = Evidence {
            verdict: ruling.verdict,
            ratio: ruling.ratio.estimate,
            p_value: ruling.p_value,
            has_time_left: ruling.seconds < request.terms.seconds,
        };
        let decision = &mut self.comparison.decisions[case];
        match round {
            Round::Screen => decision.screen = Some(ruling),
            Round::Confirmation => decision.confirmation = Some(ruling),
        }
        self.log.program(&ProgramEntry::Raced(Box::new(raced)))?;
        Ok(Some(evidence))
    }

    /// Runs both sides untimed; says whether they can be raced.
    fn rehearse(&mut self, case: usize) -> bool {
        match self.contests[case].rehearse() {
            Ok(rehearsed) => {
                let decision = &mut self.comparison.decisions[case];
                decision.outcome = rehearsed.outcome;
                decision.output.clone_from(&rehearsed.output);
                if rehearsed.is_parallel && self.request.terms.is_pinned {
                    self.comparison.notes.push(format!(
                        "{}: it uses several processors, and was kept on one; give `--threads` \
                         to race it on all",
                        decision.name
                    ));
                }
                self.rehearsed[case] = Some(rehearsed);
                true
            }
            Err(trouble) => {
                self.note_trouble(case, trouble);
                false
            }
        }
    }

    fn note_trouble(&mut self, case: usize, trouble: Trouble) {
        let decision = &mut self.comparison.decisions[case];
        match trouble {
            Trouble::Fault(fault) => {
                decision.outcome = ProgramOutcome::Crashed;
                decision.fault = Some(fault);
            }
            Trouble::Differs(said) => {
                decision.outcome = ProgramOutcome::Differs;
                decision.output = Some(said);
            }
        }
        // Nothing is reported of a side that fails or computes something else.
        (decision.screen, decision.confirmation) = (None, None);
    }

    fn seconds_left(&self, round: Round, case: usize) -> f64 {
        let screens = self.comparison.decisions.iter().filter_map(|it| it.screen.as_ref());
        let took: Vec<f64> = screens.map(|ruling| ruling.seconds).collect();
        let each = match took.len() {
            0 => self.request.terms.seconds / 3.0,
            count => took.iter().sum::<f64>() / count as f64,
        };
        match round {
            Round::Screen => each * (self.contests.len() - case) as f64,
            Round::Confirmation => each,
        }
    }
}
