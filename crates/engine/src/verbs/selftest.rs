//! The gate's own proof over every op: mutants killed, right kernels let through.

use crate::jobs::{processors, run_all};
use crate::ops::own_op;
use crate::plan::proof_rules;
use crate::{EngineError, Event, Listener, Roster, find_op};
use proofmark_analyze::is_match;
use proofmark_arena::Arena;
use proofmark_contract::{Definition, Entry, Mutant};
use proofmark_gate::{CorrectResult, Depth, MutantResult, OTHER_GATES, try_correct, try_mutant};
use proofmark_own::Interpreter;
use proofmark_peers::{PeerShelf, Status};
use proofmark_schema::device::HOST;
use proofmark_schema::{ContenderId, DType, Isa, Outcome};
use std::path::PathBuf;

/// What another gate made of the same outputs.
#[derive(Clone, Copy, Debug, Default)]
pub struct OtherGateCount {
    /// Wrong results it refused.
    pub caught: usize,
    /// Wrong results it was shown.
    pub of: usize,
    /// Right results it refused.
    pub correct_refused: usize,
}

/// The self-test of one op.
#[derive(Clone, Debug)]
pub struct OpSelfTest {
    /// The op.
    pub op: &'static str,
    /// Distinct mutants.
    pub mutants: usize,
    /// Mutants refused on every element type and seed they ran on.
    pub mutants_killed: usize,
    /// Mutant results: mutants by element types by seeds.
    pub results: usize,
    /// Mutant results refused.
    pub results_killed: usize,
    /// Results of right kernels.
    pub correct: usize,
    /// Of those, refused.
    pub correct_refused: usize,
    /// The other gates, in the order of `OTHER_GATES`.
    pub others: Vec<OtherGateCount>,
    /// Mutants that were let through, in words.
    pub survivors: Vec<String>,
    /// Right kernels that were refused, in words.
    pub wrongly_refused: Vec<String>,
}

/// The self-test of the gate.
#[derive(Clone, Debug)]
pub struct GateSelfTest {
    /// One entry for each op.
    pub ops: Vec<OpSelfTest>,
}

impl GateSelfTest {
    /// Whether every mutant was killed and no right kernel refused.
    pub fn passed(&self) -> bool {
        self.ops.iter().all(|op| op.results_killed == op.results && op.correct_refused == 0)
    }
}

enum Job {
    Mutant(&'static Entry, &'static str, DType, u64),
    Correct(&'static Entry, ContenderId, DType, u64),
}

enum Done {
    Mutant(&'static str, Option<MutantResult>),
    Correct(&'static str, Option<CorrectResult>),
}

/// What the gate is tried on.
pub struct GateRequest {
    /// The ops; all of them if it is empty.
    pub ops: Vec<String>,
    /// Number of seeds.
    pub seeds: u64,
    /// The widest path of kernels.
    pub cap: Isa,
    /// The right kernels that are tried, by pattern.
    pub with: String,
    /// Where peers and kernels of other devices are, and on which devices kernels are tried.
    pub shelf: PeerShelf,
    /// References by which kernels are judged in place of the ops' own oracles.
    pub references: Option<References>,
}

/// Folders of own ops that have the names of built-in ones.
pub struct References {
    /// The folder with one folder for each op.
    pub folder: PathBuf,
    /// The interpreter that they run in.
    pub interpreter: &'static Interpreter,
}

impl References {
    /// The op of a folder with the kernels and the wrong kernels of the built-in op of its name.
    fn entries(&self, ops: &[String]) -> Result<Vec<&'static Entry>, EngineError> {
        let mut entries = Vec::new();
        for folder in proofmark_own::folders_at(&self.folder) {
            let op = proofmark_own::load(&folder, self.interpreter.python())?;
            if ops.is_empty() || ops.iter().any(|name| name == Definition::name(op)) {
                let entry = find_op(Definition::name(op))?;
                entries.push(proofmark_own::entry_for(op, entry));
            }
        }
        match ops.iter().find(|name| !entries.iter().any(|it| it.op.name() == name.as_str())) {
            Some(op) => {
                Err(EngineError::NoReference { op: op.clone(), folder: self.folder.clone() })
            }
            None => Ok(entries),
        }
    }
}

impl GateRequest {
    fn entries(&self, listener: &dyn Listener) -> Result<Vec<&'static Entry>, EngineError> {
        match &self.references {
            Some(references) => references.entries(&self.ops),
            None if self.ops.is_empty() => {
                crate::ops().iter().map(|entry| self.entry(entry, listener)).collect()
            }
            None => self.ops.iter().map(|name| self.entry(find_op(name)?, listener)).collect(),
        }
    }

    /// The op with its wrong kernels on the devices that are asked for.
    fn entry(
        &self,
        entry: &'static Entry,
        listener: &dyn Listener,
    ) -> Result<&'static Entry, EngineError> {
        let has = |device: &str| self.shelf.devices().iter().any(|it| is_match(it, device));
        let (has_host, has_opencl) = (has(HOST), has(proofmark_opencl::name_of_first()));
        if has_host && !has_opencl {
            return with_mutants(entry, listener);
        }
        let mut mutants: Vec<Mutant> = Vec::new();
        if has_host {
            mutants.extend(with_mutants(entry, listener)?.mutants);
        }
        if has_opencl {
            let of_device = proofmark_opencl::mutants_of(entry.op.name());
            mutants.extend(of_device.map(|(name, flaw)| Mutant::elsewhere(name, flaw)));
        }
        Ok(Box::leak(Box::new(Entry { mutants: mutants.leak(), ..*entry })))
    }
}

/// Runs every mutant and every right kernel of the ops through the gate.
///
/// # Errors
/// If an op or its reference does not exist, or the reference of an own op cannot run.
pub fn selftest_gate(
    arena: &Arena,
    request: &GateRequest,
    listener: &dyn Listener,
) -> Result<GateSelfTest, EngineError> {
    let entries = request.entries(listener)?;
    let roster = Roster::new(&request.with, request.cap).with_peers(&request.shelf);
    let mut jobs = Vec::new();
    for &entry in &entries {
        for seed in 1..=request.seeds {
            for &dtype in entry.op.dtypes() {
                let mutants = entry.mutants.iter().map(|mutant| mutant.name);
                jobs.extend(mutants.map(|name| Job::Mutant(entry, name, dtype, seed)));
                let kernels = roster.kernels(entry).into_iter();
                jobs.extend(kernels.map(|(who, _, _)| Job::Correct(entry, who, dtype, seed)));
                let is_ready = |status: &Status| matches!(status, Status::Ready(_));
                let peers = roster.peers(entry).into_iter().filter(|(_, _, it)| is_ready(it));
                jobs.extend(peers.map(|(who, _, _)| Job::Correct(entry, who, dtype, seed)));
                let eager = own_op(entry.op.name()).map(|_| proofmark_own::reference_id());
                jobs.extend(eager.map(|who| Job::Correct(entry, who, dtype, seed)));
            }
        }
    }
    let done = run_all(&jobs, processors(), |job| run_job(arena, job, listener));
    Ok(GateSelfTest { ops: entries.iter().map(|entry| tally(entry, &done)).collect() })
}

/// The op with its wrong kernels. Those of an own op are made from its reference now.
fn with_mutants(
    entry: &'static Entry,
    listener: &dyn Listener,
) -> Result<&'static Entry, EngineError> {
    let Some(op) = own_op(entry.op.name()) else { return Ok(entry) };
    let (entry, warnings) = proofmark_own::entry_with_mutants(op)
        .map_err(|reason| EngineError::NoTruth { op: entry.op.name().to_owned(), reason })?;
    for warning in warnings {
        listener.hear(&Event::Note(format!("{}: {warning}", entry.op.name())));
    }
    Ok(entry)
}

fn run_job(arena: &Arena, job: &Job, listener: &dyn Listener) -> Done {
    let full = |seed: u64| proof_rules(seed, 2, Vec::new(), Depth::Full);
    match job {
        Job::Mutant(entry, name, dtype, seed) => {
            let result = try_mutant(arena, entry, name, *dtype, &full(*seed));
            if let Some(result) = &result {
                let outcome =
                    if result.refusal.is_some() { Outcome::Wrong } else { Outcome::Proven };
                let what = format!("{} mutant/{name} {dtype}", entry.op.name());
                listener.hear(&Event::Judged { what, outcome, progress: None });
            }
            Done::Mutant(entry.op.name(), result)
        }
        Job::Correct(entry, who, dtype, seed) => {
            let result = try_correct(arena, entry.op, who, *dtype, &full(*seed));
            if let Some(result) = &result {
                let refused = result.refusal.as_ref().map(|refusal| refusal.outcome);
                let what = format!("{} {who} {dtype}", entry.op.name());
                listener.hear(&Event::Judged {
                    what,
                    outcome: refused.unwrap_or(Outcome::Proven),
                    progress: None,
                });
            }
            Done::Correct(entry.op.name(), result)
        }
    }
}

fn tally(entry: &'static Entry, done: &[Done]) -> OpSelfTest {
    let op = entry.op.name();
    let mut test = OpSelfTest {
        op,
        mutants: 0,
        mutants_killed: 0,
        results: 0,
        results_killed: 0,
        correct: 0,
        correct_refused: 0,
        others: vec![OtherGateCount::default(); OTHER_GATES.len()],
        survivors: Vec::new(),
        wrongly_refused: Vec::new(),
    };
    let mutants: Vec<&MutantResult> = done
        .iter()
        .filter_map(|done| match done {
            Done::Mutant(of, Some(result)) if *of == op => Some(result),
            _ => None,
        })
        .collect();
    for mutant in entry.mutants {
        let results: Vec<&&MutantResult> =
            mutants.iter().filter(|result| result.mutant == mutant.name).collect();
        test.mutants += 1;
        // A mutant that ran on nothing does not count as killed.
        let all = !results.is_empty() && results.iter().all(|result| result.refusal.is_some());
        test.mutants_killed += usize::from(all);
        if results.is_empty() {
            test.results += 1;
            test.survivors.push(format!("{op} mutant/{} ran on no case", mutant.name));
        }
    }
    for result in mutants {
        test.results += 1;
        test.results_killed += usize::from(result.refusal.is_some());
        if result.refusal.is_none() {
            let (name, dtype, flaw) = (result.mutant, result.dtype, result.flaw);
            test.survivors.push(format!("{op} mutant/{name} {dtype} passed: {flaw}"));
        }
        for (count, caught) in test.others.iter_mut().zip(result.caught_by) {
            count.of += 1;
            count.caught += usize::from(caught);
        }
    }
    for done in done {
        let Done::Correct(of, Some(result)) = done else { continue };
        if *of != op {
            continue;
        }
        test.correct += 1;
        for (count, caught) in test.others.iter_mut().zip(result.caught_by) {
            count.correct_refused += usize::from(caught);
        }
        if let Some(refusal) = &result.refusal {
            test.correct_refused += 1;
            let (who, dtype) = (&result.contender, result.dtype);
            test.wrongly_refused.push(format!("{op} {who} {dtype}: {}", refusal.reason));
        }
    }
    test
}
