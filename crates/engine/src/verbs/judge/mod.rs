//! The judge's own proof on this machine: planted cheats must not win, honest kernels must not be
//! accused.
//!
//! Every specimen of the corpus goes through the real gate; what passes is raced against its honest
//! twin, the kernel that it wraps. Nothing that a specimen does ends the self-test.

mod busy;
mod cases;
mod mark;

use crate::prove::Admission;
use crate::{EngineError, Event, Listener, Roster, check_specimen, find_op};
use busy::Busy;
use mark::{Judgement, of_fault, of_race, of_refusal};
use proofmark_analyze::is_match;
use proofmark_arena::{Arena, Limits};
use proofmark_contract::Entry;
use proofmark_gate::Proven;
use proofmark_measure::{Clock, MonotonicClock, RaceRules, race};
use proofmark_peers::{PeerShelf, Status};
use proofmark_schema::device::HOST;
use proofmark_schema::judge::{Class, JudgeCounts, JudgedRun, Kind};
use proofmark_schema::{Cache, Case, ContenderId, Family, Isa, Isolation, Memory, Outcome};
use proofmark_worker::corpus::{self, CORPUS, Size, Specimen};
use std::collections::BTreeMap;
use std::time::Duration;

/// The ops that specimens are planted on unless others are asked for.
pub const JUDGED_OPS: [&str; 3] = ["softmax", "rms_norm", "matmul"];

/// What to plant, and how often.
#[derive(Clone, Debug)]
pub struct JudgeRequest {
    /// Ops by name; empty means [`JUDGED_OPS`].
    pub ops: Vec<String>,
    /// Only the specimens whose name contains this.
    pub only: String,
    /// Runs of each specimen under each load.
    pub runs: usize,
    /// Numbers of busy threads during the races; each number is tried.
    pub load: Vec<usize>,
    /// Whether cheats and faults are planted.
    pub cheats: bool,
    /// Whether honest specimens are planted.
    pub honest: bool,
    /// Whether every shipped kernel of the ops runs as an honest one too.
    pub kernels: bool,
    /// Where peers are, if every one that is installed runs as an honest one too.
    pub peers: Option<PeerShelf>,
    /// Patterns of the devices that specimens are planted on.
    pub devices: Vec<String>,
    /// Seconds after which a race starts no further trial.
    pub seconds: f64,
    /// Seed of inputs, layouts and orders.
    pub seed: u64,
    /// Highest path.
    pub cap: Isa,
}

/// What a self-test of the judge amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgeVerdict {
    /// No cheat won and no honest kernel was accused.
    Held,
    /// A cheat won.
    Won,
    /// An honest kernel was accused.
    Accused,
    /// More than a hundredth of the honest runs ended undecided.
    Undecided,
}

/// Judges a self-test.
pub fn judge_verdict(runs: &[JudgedRun]) -> JudgeVerdict {
    let JudgeCounts { cheats, honest } = JudgeCounts::of(runs);
    match () {
        () if cheats.wins > 0 => JudgeVerdict::Won,
        () if honest.accused > 0 => JudgeVerdict::Accused,
        () if 100 * honest.undecided > honest.runs => JudgeVerdict::Undecided,
        () => JudgeVerdict::Held,
    }
}

/// A contender that is judged: a specimen, or a shipped kernel or peer that counts as honest.
struct Entered {
    id: ContenderId,
    name: String,
    class: Class,
    kind: Kind,
    threads: usize,
    size: Size,
    /// What it is raced against.
    twin: ContenderId,
}

/// Plants everything that was asked for, one after the other. Specimens that do not run on this
/// machine or op are left out.
///
/// # Errors
/// If an op does not exist or nothing is asked for.
pub fn selftest_judge(
    arena: &Arena,
    request: &JudgeRequest,
    listener: &dyn Listener,
) -> Result<Vec<JudgedRun>, EngineError> {
    let usual: Vec<String> = JUDGED_OPS.iter().map(|op| (*op).to_owned()).collect();
    let ops = if request.ops.is_empty() { &usual } else { &request.ops };
    let level = arena.regime().for_field([]).level;
    let mut field = Vec::new();
    for op in ops {
        let entry = find_op(op)?;
        field.extend(entered(request, entry, level)?.into_iter().map(|one| (entry, one)));
    }
    if field.is_empty() {
        if !CORPUS.iter().any(|specimen| specimen.name.contains(&request.only)) {
            let name = request.only.clone();
            check_specimen(&ContenderId { family: Family::Planted, name, isa: None })?;
        }
        let (only, level) = (&request.only, level.name());
        let absent = proofmark_opencl::found().err();
        let absent = absent.map_or_else(String::new, |hint| format!("; ABSENT opencl: {hint}"));
        let message = format!(
            "`{only}` is not planted on these ops at {level}: name other ops, or a specimen that \
             is; attacks on the harness need `--isolation t3`, and those of a device \
             `--device 'opencl*'`{absent}"
        );
        return Err(EngineError::Unfit(message));
    }
    let own = corpus::folder_of(std::process::id());
    let limited = arena.clone().with_limits(limits(arena.limits()));
    let all = field.len() * request.runs * request.load.len();
    let mut judged = Vec::new();
    for run in 0..request.runs {
        for &load in &request.load {
            let busy = Busy::start(load)?;
            let mut panel = Panel {
                strict: Admission::new(&limited, request.seed, request.cap, &()),
                lax: Admission::new(arena, request.seed, request.cap, &()),
                request,
                twins: BTreeMap::new(),
                listener,
            };
            for (number, (entry, one)) in field.iter().enumerate() {
                let seed = proofmark_tensor::mix(request.seed, run as u64, number as u64);
                let row = panel.judge(entry, one, seed)?;
                if let Some(row) = row {
                    let row = JudgedRun { run, load, isolation: level, ..row };
                    tell(listener, &row, judged.len() + 1, all);
                    judged.push(row);
                }
            }
            drop(busy);
            // Files that a specimen left on disk would help its next run. A missing folder is no
            // error.
            let _ = std::fs::remove_dir_all(&own);
        }
    }
    Ok(judged)
}

fn tell(listener: &dyn Listener, row: &JudgedRun, number: usize, all: usize) {
    let ratio = row.ratio.map_or_else(String::new, |ratio| format!(" {ratio:.2}×"));
    let (op, specimen, mark) = (&row.op, &row.specimen, row.mark.name());
    listener.hear(&Event::Note(format!(
        "{number} of {all}: {op} {specimen}: {mark}, {}{ratio} in {:.1} s",
        row.outcome, row.seconds
    )));
}

/// Limits within which hangs and floods end soon.
fn limits(usual: &Limits) -> Limits {
    Limits {
        cpu: Duration::from_secs(6),
        wall: Duration::from_secs(40),
        silence: Duration::from_secs(3),
        memory_bytes: usual.memory_bytes.min(1 << 30),
    }
}

/// Every contender that a request asks for on an op.
fn entered(
    request: &JudgeRequest,
    entry: &'static Entry,
    level: Isolation,
) -> Result<Vec<Entered>, EngineError> {
    let op = entry.op.name();
    let is_asked = |name: &str| name.contains(&request.only);
    let has = |device: &str| request.devices.iter().any(|it| is_match(it, device));
    let (has_host, has_device) = (has(HOST), has(proofmark_opencl::name_of_first()));
    let has_device = has_device && proofmark_opencl::found().is_ok();
    let wanted = |one: &&Specimen| {
        let by_kind = if one.kind == Kind::Honest { request.honest } else { request.cheats };
        let is_here = if one.is_on_device { has_device } else { has_host };
        by_kind && is_here && one.is_for(op) && !one.is_left_out(level) && is_asked(one.name)
    };
    let mut field: Vec<Entered> = CORPUS
        .iter()
        .filter(wanted)
        .filter_map(|one| {
            let twin = match one.is_on_device {
                true => proofmark_opencl::usual(op)?,
                false => path_of(entry, corpus::twin(entry, one), request.cap)?,
            };
            Some(Entered {
                id: ContenderId::planted(one.name, twin.isa),
                name: one.name.to_owned(),
                class: one.class,
                kind: one.kind,
                threads: one.threads,
                size: one.size,
                twin,
            })
        })
        .collect();
    let base =
        path_of(entry, entry.kernel("simd").map_or("scalar", |kernel| kernel.name()), request.cap);
    let Some(twin) = base.filter(|_| has_host) else { return Ok(field) };
    let honest = |id: ContenderId, threads: usize| Entered {
        name: id.to_string(),
        id,
        class: Class::Honest,
        kind: Kind::Honest,
        threads,
        size: Size::Usual,
        twin: twin.clone(),
    };
    let case = cases::of(entry, Size::Usual)?;
    if request.kernels {
        let kernels = Roster::new("native/*@*", request.cap).kernels(entry).into_iter();
        let able = kernels.filter(|(_, kernel, isa)| kernel.supports(&case, *isa).is_ok());
        let able = able.filter(|(id, ..)| is_asked(&id.to_string()));
        field.extend(able.map(|(id, kernel, _)| honest(id, 1 + usize::from(kernel.is_parallel()))));
    }
    if let Some(shelf) = &request.peers {
        let peers = Roster::new("peer/*", request.cap).with_peers(shelf).peers(entry).into_iter();
        let here = peers.filter(|(id, _, status)| {
            matches!(status, Status::Ready(_)) && is_asked(&id.to_string())
        });
        field.extend(here.map(|(id, ..)| honest(id, 1)));
    }
    Ok(field)
}

/// A kernel on its best path under the cap.
fn path_of(entry: &'static Entry, name: &str, cap: Isa) -> Option<ContenderId> {
    let kernel = entry.kernel(name)?;
    let usable = |isa: &&Isa| **isa <= cap && proofmark_simd::available(**isa);
    let isa = kernel.isas().iter().filter(usable).max()?;
    Some(ContenderId::native(name, *isa))
}

/// Judges one contender after the other.
struct Panel<'a> {
    /// Admits specimens, within narrow limits.
    strict: Admission<'a>,
    /// Admits twins, shipped kernels and peers.
    lax: Admission<'a>,
    request: &'a JudgeRequest,
    /// Twins that are proven, by case and threads.
    twins: BTreeMap<(String, ContenderId, usize), Proven<'a>>,
    listener: &'a dyn Listener,
}

impl Panel<'_> {
    /// Judges one specimen; `None` if it does not run here.
    fn judge(
        &mut self,
        entry: &'static Entry,
        one: &Entered,
        seed: u64,
    ) -> Result<Option<JudgedRun>, EngineError> {
        let case = cases::of(entry, one.size)?;
        let start = MonotonicClock.now_ns();
        let Some(judgement) = self.judgement(entry, &case, one, seed) else {
            let what = format!("{} {}: not planted on {case} here", entry.op.name(), one.name);
            self.listener.hear(&Event::Note(what));
            return Ok(None);
        };
        let Judgement { mark, outcome, ratio, words } = judgement;
        Ok(Some(JudgedRun {
            op: entry.op.name().to_owned(),
            specimen: one.name.clone(),
            class: one.class,
            kind: one.kind,
            case: case.to_string(),
            threads: one.threads,
            run: 0,
            load: 0,
            isolation: Isolation::Unstated,
            mark,
            outcome,
            ratio,
            words,
            seconds: MonotonicClock.now_ns().saturating_sub(start) as f64 / 1e9,
        }))
    }

    fn judgement(
        &mut self,
        entry: &'static Entry,
        case: &Case,
        one: &Entered,
        seed: u64,
    ) -> Option<Judgement> {
        let is_specimen = one.id.family == Family::Planted;
        let admission = if is_specimen { &self.strict } else { &self.lax };
        let proven = match admission.admit(entry, case, &one.id, one.threads) {
            Ok(proven) => proven,
            Err(proof) if proof.outcome == Outcome::Unsupported => return None,
            Err(proof) => return Some(of_refusal(one.kind, &proof)),
        };
        let key = (case.to_string(), one.twin.clone(), one.threads);
        let twin = match self.twins.remove(&key) {
            Some(twin) => twin,
            None => match self.lax.admit(entry, case, &one.twin, one.threads) {
                Ok(twin) => twin,
                Err(proof) => return Some(mark::of_refused_twin(one.kind, &proof)),
            },
        };
        let budget_ns = (self.request.seconds * 1e9) as u64;
        let cache = if proven.reveals() { Cache::Rotate } else { Cache::Hot };
        let memory = Memory { cache, ..Memory::default() };
        let rules = RaceRules { budget_ns, memory, ..RaceRules::quick(seed) };
        let field = [twin, proven];
        let ended = race(&field, &rules, &MonotonicClock);
        let [twin, proven] = field;
        // A table shows what a contender has left behind and what its sandbox has refused.
        let proof = proven.proof();
        let refused = proof.confinement.tried().map(|tried| format!("it tried {tried}"));
        let left: Vec<String> = proof.left.iter().cloned().chain(refused).collect();
        self.twins.insert(key, twin);
        Some(match ended {
            Ok(race) => of_race(one.kind, &race, &left),
            Err(fault) => of_fault(one.kind, &fault),
        })
    }
}
