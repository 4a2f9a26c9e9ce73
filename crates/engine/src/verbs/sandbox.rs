//! Tries every known way out of the sandbox, on this machine.

use crate::prove::Admission;
use crate::{EngineError, Event, Listener, find_op};
use proofmark_arena::{Arena, Batch, Fault, OperandPlan, Regime, Spawn, Worker, missing_layers};
use proofmark_contract::{Signature, check_case};
use proofmark_measure::{Clock, MonotonicClock, RaceRules, race, ratio_of_first};
use proofmark_schema::isolation::{SandboxCost, StartCost, TriedEscape};
use proofmark_schema::proof::Proof;
use proofmark_schema::{Cache, Case, ContenderId, DType, Isa, Isolation, Memory, Pages};
use proofmark_tensor::Placement;
use proofmark_worker::corpus::{ESCAPES, Escape};

/// Confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// The op whose kernel tries the ways out.
const OP: &str = "softmax";

/// Has a worker try every known way out, without a sandbox and in one.
///
/// # Errors
/// If this machine lacks a layer of the sandbox, or a worker does not start.
pub fn selftest_sandbox(
    arena: &Arena,
    listener: &dyn Listener,
) -> Result<Vec<TriedEscape>, EngineError> {
    let missing = missing_layers();
    if !missing.is_empty() {
        return Err(EngineError::NoSandbox { level: Isolation::T2, missing });
    }
    let tried = ESCAPES.iter().map(|escape| {
        listener.hear(&Event::Note(format!("trying {}", escape.specimen.name)));
        let (is_open_without, _) = attempt(arena, Isolation::T1, escape)?;
        let (is_open, worker) = attempt(arena, Isolation::T2, escape)?;
        Ok(TriedEscape {
            name: escape.specimen.name.to_owned(),
            what: escape.specimen.what.to_owned(),
            is_open_without,
            is_open,
            reported_as: escape.reported_as.to_owned(),
            reports: worker.confinement().attempts,
        })
    });
    tried.collect()
}

/// Whether a way out is open at a level, and the worker that tried it.
fn attempt(
    arena: &Arena,
    level: Isolation,
    escape: &Escape,
) -> Result<(bool, Worker), EngineError> {
    let entry = find_op(OP)?;
    let case = proofmark_contract::complete_case(entry.op, &Case::new(OP, DType::F32));
    let signature = check_case(entry.op, &case)
        .map_err(|reason| EngineError::Case { case: case.to_string(), reason })?;
    let contender = ContenderId::planted(escape.specimen.name, Some(Isa::Scalar));
    let try_it = |worker: &mut Worker| -> Result<bool, Fault> {
        worker.load(&contender, &case, 1, 0)?;
        worker.attach(&plans(&signature))?;
        match worker.run(&Batch::default()) {
            // The kernel fails its call where the way is open.
            Err(Fault::Kernel(_)) => Ok(true),
            ran => ran.map(|_| false),
        }
    };
    let started = leveled(arena, level).spawn(&Spawn::default());
    let tried = started.and_then(|mut worker| Ok((try_it(&mut worker)?, worker)));
    let name = escape.specimen.name;
    tried.map_err(|fault| EngineError::SelfTest { what: name.to_owned(), said: fault.to_string() })
}

/// Kernels that are raced with themselves in and out of the sandbox: short calls, calls of some
/// microseconds, calls that stream, and calls of several threads.
const RACED: [(&str, &str, usize); 4] = [
    ("simd", "add:f32[b=1,s=1,d=4096]", 1),
    ("simd", "rms_norm:f32[b=1,s=100,d=256]", 1),
    ("simd", "silu:f32[b=1,s=100,d=4096]", 1),
    ("parallel", "softmax:f32[b=1,s=200,d=512]", 2),
];
/// Starts of a worker at each level.
const STARTS: usize = 25;

/// Races kernels with themselves in and out of the sandbox, and out of it twice as a control.
///
/// # Errors
/// If a kernel cannot be proven, or a race not be judged.
pub fn sandbox_costs(
    arena: &Arena,
    seconds: f64,
    seed: u64,
    cap: Isa,
    listener: &dyn Listener,
) -> Result<Vec<SandboxCost>, EngineError> {
    let arenas = Isolation::ALL.map(|level| leveled(arena, level));
    let admissions = arenas.each_ref().map(|arena| Admission::new(arena, seed, cap, listener));
    let mut costs = Vec::new();
    // The first of each is T1 against itself, which shows what the machine alone does to a ratio.
    let raced = RACED.into_iter().flat_map(|one| [(one, 0), (one, 1), (one, 2)]);
    for (number, ((kernel, case, threads), other)) in raced.enumerate() {
        let case: Case = case.parse()?;
        let entry = find_op(&case.op)?;
        let who = ContenderId::native(kernel, cap);
        let admit = |level: usize| admissions[level].admit(entry, &case, &who, threads);
        let failed = |said: String| EngineError::SelfTest { what: case.to_string(), said };
        let refused = |proof: Box<Proof>| {
            failed(proof.refusal.map_or_else(String::new, |refusal| refusal.reason))
        };
        let field = [admit(0).map_err(refused)?, admit(other).map_err(refused)?];
        let seed = proofmark_tensor::mix(seed, 1, number as u64);
        // Where each call has operands of its own, the caches hold none of them at either level.
        let level = Isolation::ALL[other];
        let cache = if level == Isolation::T3 { Cache::Rotate } else { Cache::Hot };
        let memory = Memory { cache, ..Memory::default() };
        let budget_ns = (seconds * 1e9) as u64;
        let rules = RaceRules { budget_ns, memory, ..RaceRules::standard(seed) };
        let race =
            race(&field, &rules, &MonotonicClock).map_err(|fault| failed(fault.to_string()))?;
        let trials = race.trials.len();
        let Some(ratio) = ratio_of_first(&race, 0, 1, trials, CONFIDENCE) else { continue };
        listener.hear(&Event::Note(format!("{case} {}: {:.4}", level.name(), ratio.estimate)));
        costs.push(SandboxCost {
            case: case.to_string(),
            threads,
            level,
            ratio,
            trials: trials as u32,
            inputs: race.inputs,
        });
    }
    Ok(costs)
}

/// Starts workers in and out of the sandbox, in turns.
///
/// # Errors
/// If one does not start.
pub fn start_cost(arena: &Arena) -> Result<StartCost, EngineError> {
    let arenas = [Isolation::T1, Isolation::T2].map(|level| leveled(arena, level));
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..STARTS {
        for (arena, times) in arenas.iter().zip(&mut times) {
            let start = MonotonicClock.now_ns();
            let worker = arena.spawn(&Spawn::default()).map_err(|fault| EngineError::SelfTest {
                what: "a start".to_owned(),
                said: fault.to_string(),
            })?;
            times.push((MonotonicClock.now_ns() - start) as f64 / 1e6);
            drop(worker);
        }
    }
    let [t1_ms, t2_ms] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    Ok(StartCost { t1_ms, t2_ms })
}

fn leveled(arena: &Arena, level: Isolation) -> Arena {
    arena.clone().under(Regime { level, ..arena.regime().clone() })
}

fn plans(signature: &Signature) -> Vec<OperandPlan> {
    let plan = |operand: &proofmark_contract::Operand| OperandPlan {
        name: operand.name.to_owned(),
        dtype: operand.dtype,
        layout: operand.layout(),
        placement: Placement::Aligned64,
        writable: operand.role.is_written(),
        sets: 1,
        pages: Pages::Small,
        changes: false,
    };
    signature.operands().iter().map(plan).collect()
}
