//! Two arms on a family of cases, raced until each case is decided.

mod bout;
mod programs;
mod request;
mod severity;
mod stored;
mod weak;

pub use programs::{
    ProgramSides, ProgramTerms, ProgramsCompared, ProgramsRequest, Tolerance, compare_programs,
};
pub(crate) use request::Sides;
pub use request::{CompareRequest, Compared};
pub use stored::{StoredComparison, stored_comparison};

use crate::plan::{best_path, checked};
use crate::prove::Admission;
use crate::race::{Programs, check_cache, isolated, third_round, two_rounds};
use crate::record::{RunLog, ceilings};
use crate::{Arm, EngineError, Source, check_contender};
use bout::{Bout, Lap};
use proofmark_analyze::policy::Open;
use proofmark_analyze::{is_match, too_fast};
use proofmark_contract::Entry;
use proofmark_peers::PeerShelf;
use proofmark_schema::decision::{CaseDecision, Round, Standing};
use proofmark_schema::device::HOST;
use proofmark_schema::plan::{Item, Plan, RunKind};
use proofmark_schema::record::Record;
use proofmark_schema::{Case, ContenderId, ErrorContract, FORMAT_VERSION, Family};
use severity::severity;

/// Proves both arms on every case and races them until it is decided. A case that looks slower is
/// raced again with fresh trials before it is called slower.
///
/// # Errors
/// If an arm cannot be made ready, a case cannot be read or does not fit its op, or the store
/// fails.
pub fn compare(programs: &Programs<'_>, request: &CompareRequest) -> Result<Compared, EngineError> {
    if request.arms.iter().any(|arm| matches!(arm.source, Source::Run(_))) {
        return weak::compare(programs, request);
    }
    on_asked_devices(request)?;
    Ok(decide(programs, request, None)?.0)
}

/// Checks that the contenders that are named run on the devices that are asked for.
fn on_asked_devices(request: &CompareRequest) -> Result<(), EngineError> {
    let Ok(named) = request.contenders([None, None]) else { return Ok(()) };
    let asked = request.shelf.devices();
    for who in named {
        for case in &request.cases {
            let peer = proofmark_peers::by_id(&request.shelf, &who, &case.op);
            let device = peer.map_or(HOST, |peer| peer.device());
            if !asked.iter().any(|pattern| is_match(pattern, device)) {
                let (who, asked) = (who.to_string(), asked.join(" "));
                return Err(EngineError::OtherDevice { who, device, asked });
            }
        }
    }
    Ok(())
}

/// Says whether more trials may change what follows from a case and its races so far.
pub(crate) type AskOpen<'a> = &'a dyn Fn(&CaseDecision, &[[Record; 2]]) -> Option<Open>;

/// The comparison, and the records of both sides of every race, case by case.
///
/// If `open` is given, half of the error rate is reserved for a third round, which races the cases
/// that are still open after two rounds.
pub(crate) fn decide(
    programs: &Programs<'_>,
    request: &CompareRequest,
    open: Option<AskOpen<'_>>,
) -> Result<(Compared, Vec<Sides>), EngineError> {
    let cases = checked(&request.cases, request.memory.cache)?;
    let mut stands = programs.stands(&request.arms)?;
    let who = request.contenders([stands[0].contender.as_ref(), stands[1].contender.as_ref()])?;
    for stand in &mut stands {
        stand.arena = isolated(&stand.arena, &who)?;
        check_cache(&stand.arena, request.memory.cache)?;
    }
    let mut notes = Vec::new();
    let [first, second] = &stands;
    let is_same = first.program == second.program && first.args == second.args;
    if first.program.is_some() && is_same && who[0] == who[1] {
        notes.push("both arms are the same program, byte for byte".to_owned());
    }
    known(&request.arms, &cases, &who, &request.shelf)?;
    let plan = plan(&cases, &who, request, if open.is_some() { 3 } else { 2 });
    let facts = proofmark_machine::facts(request.cap);
    let log = RunLog::create(programs.store, &plan, &facts)?;
    let mut bout = Bout {
        request,
        listener: programs.listener,
        stands: &stands,
        admissions: [0, 1].map(|arm| {
            Admission::new(&stands[arm].arena, request.seed, request.cap, programs.listener)
        }),
        fields: cases.iter().map(|_| None).collect(),
        decisions: cases
            .iter()
            .map(|(_, case)| CaseDecision::open(case.clone(), request.threads))
            .collect(),
        records: vec![Vec::new(); cases.len()],
        plan: &plan,
        ceilings: ceilings(programs.store, &facts, request.cap, programs.listener),
        log,
    };
    let alpha = if open.is_some() { request.alpha / 2.0 } else { request.alpha };
    let mut race = |round, case, alpha| {
        let lap = if round == Round::Screen { Lap::Screen } else { Lap::Confirmation };
        bout.race(lap, case, alpha)
    };
    let mut standings = two_rounds(cases.len(), alpha, request.report_margin, &mut race)?;
    if let Some(ask) = open {
        let ask = |case: usize| ask(&bout.decisions[case], &bout.records[case]);
        let open: Vec<(usize, Open)> = (0..cases.len())
            .filter(|&case| standings[case] != Standing::Refused)
            .filter_map(|case| Some((case, ask(case)?)))
            .collect();
        let mut race = |case, why, alpha| bout.race(Lap::Settlement(why), case, alpha);
        third_round(&mut standings, &open, alpha, &mut race)?;
    }
    let Bout { mut decisions, records, log, .. } = bout;
    let run = log.seal()?;
    for (decision, standing) in decisions.iter_mut().zip(standings) {
        decision.standing = standing;
    }
    let mut severity = severity(&decisions);
    for [base, other] in records.iter().filter_map(|sides| sides.last()) {
        for finding in [base, other].into_iter().filter_map(too_fast) {
            severity = severity.max(finding.severity);
            notes.push(format!("{}: {}", finding.claim, finding.advice));
        }
        let contracts = [base, other].map(|record| &record.judged.proof().contract);
        let unlike = promises_less(contracts[0], contracts[1]);
        let note = format!("{} promises less than {}: {}", who[1], who[0], unlike.join(", "));
        if !unlike.is_empty() && !notes.contains(&note) {
            notes.push(note);
        }
    }
    Ok((Compared { run: Some(run), decisions, notes, severity }, records))
}

/// What the base promises and the other arm does not.
fn promises_less(base: &ErrorContract, other: &ErrorContract) -> Vec<String> {
    let known = base.concessions();
    let conceded = other.concessions().into_iter().filter(|words| !known.contains(words));
    let (fine, coarse) = (base.accumulate, other.accumulate);
    let sums = (coarse.unit() > fine.unit()).then(|| format!("sums in {coarse}, not in {fine}"));
    let (kept, left) = (base.reproducibility, other.reproducibility);
    let bits = (left < kept).then(|| format!("repeats {}, not {}", left.name(), kept.name()));
    conceded.map(str::to_owned).chain(sums).chain(bits).collect()
}

/// Checks that this program has the kernels that are asked of it, so that a typo is an error and
/// not a refusal. Only another program itself knows which kernels it has.
fn known(
    arms: &[Arm; 2],
    cases: &[(&'static Entry, Case)],
    who: &[ContenderId; 2],
    shelf: &PeerShelf,
) -> Result<(), EngineError> {
    for (arm, who) in arms.iter().zip(who) {
        if arm.source == Source::Here || who.family == Family::Peer {
            cases.iter().try_for_each(|(entry, _)| check_contender(entry, who, shelf))?;
        }
    }
    Ok(())
}

/// Item `i` screens case `i`; item `n + i` confirms it, if it must be, and `2n + i` settles it.
fn plan(
    cases: &[(&'static Entry, Case)],
    who: &[ContenderId; 2],
    request: &CompareRequest,
    laps: usize,
) -> Plan {
    let every = (0..laps).flat_map(|_| cases).enumerate();
    let item = |(index, (entry, case)): (usize, &(&'static Entry, Case))| Item {
        index: index as u64,
        case: case.clone(),
        field: who.iter().map(|who| best_path(entry, who, request.cap)).collect(),
        threads: request.threads,
        memory: request.memory,
        uses: Vec::new(),
    };
    Plan {
        format: FORMAT_VERSION,
        seed: request.seed,
        kind: RunKind::Compare,
        items: every.map(item).collect(),
        absent: Vec::new(),
        proof_seconds: 0.0,
        estimate_seconds: cases.len() as f64,
        part: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_schema::{DType, Reproducibility, Underflow};

    #[test]
    fn a_weaker_contract_is_told_and_a_stronger_one_is_not() {
        let strong = ErrorContract::default();
        let weak = ErrorContract {
            accumulate: DType::Bf16,
            reproducibility: Reproducibility::None,
            underflow: Underflow::Flushed,
            cancels: true,
            rounds_inside: true,
            finite_only: true,
            dense_rows: true,
            interpreted: true,
        };
        assert_eq!(promises_less(&strong, &weak).len(), 8);
        assert_eq!(promises_less(&weak, &strong), Vec::<String>::new());
        assert_eq!(promises_less(&strong, &strong), Vec::<String>::new());
        let one = ErrorContract { finite_only: true, ..strong };
        assert_eq!(promises_less(&strong, &one), ["promises nothing for NaN and infinities"]);
    }
}
