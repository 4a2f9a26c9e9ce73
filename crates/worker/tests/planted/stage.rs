//! What every test needs: this binary as a worker, and one worker with a planted kernel.

use crate::copy::case;
use crate::kernels::PLANTED;
use proofmark_arena::{Arena, Batch, Fault, Limits, OperandPlan, Ran, Spawn, Worker};
use proofmark_schema::crash::Crash;
use proofmark_schema::{Case, ContenderId, DType, Isa, Pages};
use proofmark_tensor::{Layout, Placement};
use proofmark_worker::{Known, serve};
use std::process::ExitCode;
use std::time::Duration;

/// Elements of a row in most tests: a page.
pub(crate) const COLS: usize = 1024;
/// What outputs hold before a call.
pub(crate) const POISON: u64 = 0xdead_beef_cafe_f00d;

/// The worker's main.
pub(crate) fn serve_planted(words: &[String]) -> ExitCode {
    let at = words.iter().position(|word| word == "--control-fd");
    let number = at.and_then(|at| words.get(at + 1)).and_then(|word| word.parse().ok());
    match number.map(|number| serve(Known::only(PLANTED), number)) {
        Some(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::from(70),
    }
}

/// Limits that no honest test comes near.
pub(crate) fn limits() -> Limits {
    Limits { memory_bytes: 512 << 20, wall: Duration::from_secs(120), ..Limits::default() }
}

pub(crate) fn arena(limits: Limits) -> Arena {
    let program = std::env::current_exe().expect("this program has a path");
    Arena::new(program, vec!["__worker".into()]).with_limits(limits)
}

pub(crate) fn start() -> Worker {
    arena(limits()).spawn(&Spawn::default()).expect("a worker starts")
}

/// The id of a planted kernel.
pub(crate) fn contender(name: &str) -> ContenderId {
    if name == "good" {
        ContenderId::native("good", Isa::Scalar)
    } else {
        ContenderId::mutant(name)
    }
}

pub(crate) fn one_row() -> Case {
    case(1, COLS as u64, DType::F32)
}

/// `x` and `y` for one row.
pub(crate) fn plans(placement: Placement) -> [OperandPlan; 2] {
    plans_for(&Layout::dense([1, COLS]), placement)
}

pub(crate) fn plans_for(layout: &Layout, placement: Placement) -> [OperandPlan; 2] {
    ["x", "y"].map(|name| OperandPlan {
        name: name.to_owned(),
        dtype: DType::F32,
        layout: layout.clone(),
        placement,
        writable: name == "y",
        sets: 1,
        pages: Pages::Small,
        changes: false,
    })
}

/// Fills `x` with numbers that all differ and poisons `y`.
pub(crate) fn reveal(worker: &mut Worker) -> Vec<f64> {
    let count = worker.tensor(0).layout.len();
    let values: Vec<f64> = (0..count).map(|i| i as f64 + 0.5).collect();
    worker.tensor_mut(0).from_f64(&values);
    worker.poison(1, POISON);
    values
}

/// A worker with the planted kernel loaded and its operands in place.
pub(crate) fn ready_within(limits: Limits, kernel: &str, placement: Placement) -> Worker {
    let mut worker = arena(limits).spawn(&Spawn::default()).expect("a worker starts");
    worker.load(&contender(kernel), &one_row(), 2, 0).expect("the kernel loads");
    worker.attach(&plans(placement)).expect("operands are mapped");
    reveal(&mut worker);
    worker
}

pub(crate) fn ready(kernel: &str, placement: Placement) -> Worker {
    ready_within(limits(), kernel, placement)
}

/// Runs one call of a planted kernel that survives it.
pub(crate) fn survive(kernel: &str, placement: Placement) -> (Worker, Ran) {
    let mut worker = ready(kernel, placement);
    let ran = worker.run(&Batch::default()).expect("the call returns");
    (worker, ran)
}

/// Runs one call of a planted kernel that kills its worker; a fresh one then works.
pub(crate) fn die(kernel: &str, placement: Placement) -> Crash {
    let fault = ready(kernel, placement).run(&Batch::default()).expect_err("the worker dies");
    crash_of(&fault)
}

/// The report of a death; a fresh worker must work after it.
pub(crate) fn crash_of(fault: &Fault) -> Crash {
    assert!(matches!(fault, Fault::Died(_)), "{fault:?}");
    a_fresh_worker_works();
    fault.crash().expect("a death has a report").clone()
}

pub(crate) fn a_fresh_worker_works() {
    let mut worker = ready("good", Placement::EndFlush);
    let values = reveal(&mut worker);
    let ran = worker.run(&Batch::default()).expect("a good kernel runs");
    assert_eq!(worker.tensor(1).to_f64(), values);
    assert_eq!((ran.leaks, worker.stray(), worker.unwritten(1, POISON)), (0, None, None));
}
