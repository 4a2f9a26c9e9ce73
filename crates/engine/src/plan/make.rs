//! Turns a request into a plan: every case with its field, before anything runs.

use super::cases::{fitting, inapplicable};
use super::room::lacking;
use crate::workload::Wanted;
use crate::{EngineError, Request, Roster, Suite, Sweep, find_op, ops, workload};
use proofmark_contract::Entry;
use proofmark_schema::plan::{Absence, Item, Plan, RunKind};
use proofmark_schema::{Case, DType, FORMAT_VERSION, Memory};

/// Makes the plan of a request.
///
/// # Errors
/// If an op, axis, attribute or element type does not exist, or nothing is left to run.
pub fn plan(request: &Request) -> Result<Plan, EngineError> {
    let cases = chosen(request)?;
    let mut entries: Vec<&'static Entry> = Vec::new();
    for Wanted { entry, .. } in &cases {
        if !entries.iter().any(|known| known.op.name() == entry.op.name()) {
            entries.push(entry);
        }
    }
    let roster = Roster::new(&request.with, request.cap).with_peers(&request.shelf);
    roster.check(&entries)?;
    let mut plan = Plan {
        format: FORMAT_VERSION,
        seed: request.seed,
        kind: if request.quick { RunKind::Quick } else { RunKind::Standard },
        items: Vec::new(),
        absent: Vec::new(),
        proof_seconds: 0.0,
        estimate_seconds: 0.0,
        part: None,
    };
    let unmatched = roster.unmatched(&entries);
    for pattern in unmatched.iter().cloned() {
        let why = roster.why_unmatched(&pattern, &entries);
        let reason = match (&why, why.hint()) {
            (EngineError::UnknownContender { is_elsewhere: true, .. }, _) => {
                "it has none of these ops".to_owned()
            }
            (_, Some(hint)) => format!("{why}; {hint}"),
            (_, None) => why.to_string(),
        };
        plan.absent.push(Absence { contender: pattern, case: ANY.to_owned(), reason });
    }
    let (free_bytes, mut no_room) = (proofmark_machine::load().available_bytes, None);
    for wanted in cases {
        if let Some(sizes) = lacking(wanted.entry, &wanted.case, free_bytes) {
            let (contender, case) = (ANY.to_owned(), wanted.case.to_string());
            plan.absent.push(Absence { contender, case: case.clone(), reason: sizes.clone() });
            no_room.get_or_insert(EngineError::NoRoom { case, sizes });
            continue;
        }
        for memory in memories(&mut plan, request, wanted.entry, &wanted.case) {
            for &threads in &request.threads {
                add_item(&mut plan, &roster, &wanted, threads, memory);
            }
        }
    }
    if let (true, Some(pattern)) = (plan.items.is_empty(), unmatched.first()) {
        return Err(roster.why_unmatched(pattern, &entries));
    }
    if let (true, Some(error)) = (plan.items.is_empty(), no_room) {
        return Err(error);
    }
    if plan.items.is_empty() {
        let none = || EngineError::Unfit("there is no case to run".to_owned());
        return Err(nobody(&plan.absent).unwrap_or_else(none));
    }
    super::estimate::write(&mut plan);
    Ok(plan)
}

/// The cases that a request means, whichever contenders run them.
///
/// # Errors
/// As for [`plan`].
pub fn cases(request: &Request) -> Result<Vec<Case>, EngineError> {
    Ok(chosen(request)?.into_iter().map(|wanted| wanted.case).collect())
}

/// The cases with their ops: those named, of a workload, or of the ops' own sweeps and sizes.
fn chosen(request: &Request) -> Result<Vec<Wanted>, EngineError> {
    if !request.cases.is_empty() {
        let wanted = |given| {
            let (entry, case) = fitting(given)?;
            Ok(Wanted { entry, case, uses: Vec::new() })
        };
        return request.cases.iter().map(wanted).collect();
    }
    let entries = entries(request)?;
    if request.sweep.is_none()
        && request.size.is_none()
        && let Some(text) = workload::find_in(&request.suite, request.tree.as_ref())?
    {
        let Request { suite, ops, dtypes, tree, .. } = request;
        return workload::cases(suite, &text, ops, dtypes, tree.as_ref());
    }
    let mut all = Vec::new();
    for entry in entries {
        let alone = |case| Wanted { entry, case, uses: Vec::new() };
        all.extend(cases_of(entry, request)?.into_iter().map(alone));
    }
    Ok(all)
}

fn entries(request: &Request) -> Result<Vec<&'static Entry>, EngineError> {
    if request.ops.is_empty() {
        return Ok(ops().to_vec());
    }
    request.ops.iter().map(|name| find_op(name)).collect()
}

/// The states of memory that a case is measured in; one that does not apply is noted.
fn memories(plan: &mut Plan, request: &Request, entry: &Entry, case: &Case) -> Vec<Memory> {
    let mut memories = Vec::new();
    for &cache in &request.caches {
        if let Some(reason) = inapplicable(cache, entry, case) {
            let (contender, case) = (ANY.to_owned(), case.to_string());
            plan.absent.push(Absence { contender, case, reason });
        } else {
            memories.extend(request.pages.iter().map(|&pages| Memory { cache, pages }));
        }
    }
    memories
}

fn add_item(plan: &mut Plan, roster: &Roster, wanted: &Wanted, threads: usize, memory: Memory) {
    let Wanted { entry, case, uses } = wanted;
    let (field, absent) = roster.field(entry, case, threads);
    plan.absent.extend(absent.into_iter().map(|(who, reason)| Absence {
        contender: who.to_string(),
        case: case.to_string(),
        reason,
    }));
    if !field.is_empty() {
        let index = plan.items.len() as u64;
        let (case, uses) = (case.clone(), uses.clone());
        plan.items.push(Item { index, case, field, threads, memory, uses });
    }
}

/// The cases of an op: the sweep given, else the size given, else the suite's sweep.
fn cases_of(entry: &'static Entry, request: &Request) -> Result<Vec<Case>, EngineError> {
    let suite = Suite::of(entry)?;
    let named = suite.sweeps.get(&request.suite);
    let (dtypes, of_suite) = named.cloned().ok_or_else(|| {
        let sweeps = suite.sweeps.keys().map(String::as_str);
        workload::unknown(&request.suite, sweeps)
    })?;
    let sweep = match (&request.sweep, &request.size) {
        (Some(sweep), _) => sweep.clone(),
        (None, Some(size)) => size_sweep(&suite, size)?,
        (None, None) => of_suite,
    };
    let dtypes: Vec<DType> =
        if request.dtypes.is_empty() { dtypes } else { request.dtypes.clone() };
    let mut cases = Vec::new();
    for dtype in dtypes {
        for axes in sweep.combinations() {
            let attrs = request.attrs.clone();
            let given = Case { op: entry.op.name().to_owned(), dtype, axes, attrs };
            cases.push(fitting(&given)?.1);
        }
    }
    Ok(cases)
}

/// Stands in an absence for the case or contender if it concerns no single one.
const ANY: &str = "any";

/// Why no contender can run: the reason of the first that is absent.
pub(crate) fn nobody(absent: &[Absence]) -> Option<EngineError> {
    let Absence { contender, reason, .. } = absent.first()?;
    Some(match contender.as_str() {
        ANY => EngineError::Unfit(reason.clone()),
        who => EngineError::NoField(format!("{who}: {reason}")),
    })
}

fn size_sweep(suite: &Suite, size: &str) -> Result<Sweep, EngineError> {
    let sizes = suite.sizes.get(size).ok_or_else(|| {
        let known: Vec<&str> = suite.sizes.keys().map(String::as_str).collect();
        EngineError::Unfit(format!("there is no size `{size}` (sizes: {})", known.join(", ")))
    })?;
    let axes = sizes.iter().map(|(name, &size)| (name.clone(), vec![size]));
    Ok(Sweep { axes: axes.collect() })
}
