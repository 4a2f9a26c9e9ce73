//! Inputs that change between calls: what each call was given is known, and nothing stays changed.

use crate::copy::case;
use crate::stage::{POISON, contender, plans_for, start};
use proofmark_arena::{Batch, Change, Inputs, OperandPlan, Worker};
use proofmark_contract::{Operand, PATTERN_COLS, Pattern, Perturbation, Role, Signature, changed};
use proofmark_schema::{Cache, DType};
use proofmark_tensor::{Layout, Placement, decode};

const ROWS: usize = 5;
const COLS: usize = 70;
const CHANGE: Change = Change { seed: 77, with_weights: true };

/// The operands of the planted kernels, as their op describes them.
fn signature() -> Signature {
    let shape = [ROWS, COLS];
    Signature::new(vec![
        Operand::new("x", Role::Input, DType::F32, &shape),
        Operand::new("y", Role::Output, DType::F32, &shape),
    ])
}

/// A held worker whose `x` may change between calls, and the values of `x`.
fn held(kernel: &str, cache: Cache, sets: usize) -> (Worker, Vec<f64>) {
    let mut worker = start();
    let case = case(ROWS as u64, COLS as u64, DType::F32);
    worker.load(&contender(kernel), &case, 1, 0).unwrap();
    let plans = plans_for(&Layout::dense([ROWS, COLS]), Placement::Shifted(64));
    let plans = plans.map(|plan| OperandPlan { sets, changes: !plan.writable, ..plan });
    worker.attach_for(&plans, cache).unwrap();
    worker.seal_inputs().unwrap();
    let values: Vec<f64> = (0..ROWS * COLS).map(|i| i as f64 + 0.5).collect();
    (0..sets).for_each(|set| worker.tensor_of_mut(0, set).from_f64(&values));
    worker.poison(1, POISON);
    worker.hold().unwrap();
    (worker, values)
}

/// What call `call` left at its spoiled place, and what `x` holds there after these steps.
fn kept_and_given(worker: &Worker, values: &[f64], call: u64, steps: &[u64]) -> (f64, f64) {
    let perturbation = Perturbation::of(&signature(), true);
    let mut values = values.to_vec();
    for &step in steps {
        let (place, mask) = perturbation.step(CHANGE.seed, step).change.unwrap();
        let value = &mut values[place.row * COLS + place.col];
        *value = changed(DType::F32, *value, mask);
    }
    let (place, _) = perturbation.step(CHANGE.seed, call).spoil.unwrap();
    let bits = worker.kept(call as usize, 1, (place.row, place.col));
    (decode(DType::F32, &bits.to_le_bytes()[..4])[0], values[place.row * COLS + place.col])
}

pub(crate) fn what_every_call_leaves_is_kept_and_inputs_are_as_before() {
    let (mut worker, values) = held("good", Cache::Hot, 1);
    let inputs = Inputs::Perturbed(CHANGE);
    for batch in [(0, 1), (1, 40), (2, 300)] {
        let (prime, calls) = batch;
        worker.run(&Batch { prime, calls, inputs, ..Batch::default() }).unwrap();
        for call in 0..u64::from(prime + calls) {
            let steps: Vec<u64> = (0..=call).collect();
            let (kept, given) = kept_and_given(&worker, &values, call, &steps);
            assert_eq!(kept, given, "call {call} of {batch:?}");
        }
        assert_eq!(worker.tensor(0).to_f64(), values, "{batch:?}");
        assert_eq!(worker.stray(), None);
    }
}

pub(crate) fn calls_that_walk_over_sets_change_each_on_its_own() {
    let (mut worker, values) = held("good", Cache::Rotate, 3);
    let inputs = Inputs::Perturbed(CHANGE);
    worker.run(&Batch { calls: 20, inputs, ..Batch::default() }).unwrap();
    for call in 0..20 {
        let steps: Vec<u64> = (0..=call).filter(|step| step % 3 == call % 3).collect();
        let (kept, given) = kept_and_given(&worker, &values, call, &steps);
        assert_eq!(kept, given, "call {call}");
    }
    for set in 0..3 {
        assert_eq!(worker.tensor_of(0, set).to_f64(), values);
    }
}

pub(crate) fn a_fresh_call_finds_every_input_new() {
    for cache in [Cache::Hot, Cache::Cold] {
        let (mut worker, values) = held("good", cache, 1);
        let inputs = Inputs::Fresh(CHANGE);
        let ran = worker.run(&Batch { calls: 7, inputs, ..Batch::default() }).unwrap();
        let masks = Pattern::new(CHANGE.seed, 0).masks(DType::F32);
        let given = |(at, &value): (usize, &f64)| {
            changed(DType::F32, value, masks[at % COLS % PATTERN_COLS])
        };
        let last: Vec<f64> = values.iter().enumerate().map(given).collect();
        assert_eq!(worker.tensor(1).to_f64(), last, "{cache:?}");
        assert_eq!(worker.tensor(0).to_f64(), values, "{cache:?}");
        assert!(ran.alone_ns > 0 && ran.alone_ns <= ran.wall_ns, "{ran:?}");
        assert_eq!(ran.same_ns, 0, "every call found new inputs");
        let inputs = Inputs::Audit(CHANGE);
        let ran = worker.run(&Batch { calls: 7, inputs, ..Batch::default() }).unwrap();
        assert_eq!(worker.tensor(1).to_f64(), last, "an audit ends on the same inputs");
        assert_eq!(worker.tensor(0).to_f64(), values, "{cache:?}");
        assert!(ran.alone_ns > 0 && ran.same_ns > 0, "{ran:?}");
    }
}

pub(crate) fn a_kernel_cannot_write_inputs_that_change() {
    let (mut worker, _) = held("write_input", Cache::Hot, 1);
    let inputs = Inputs::Perturbed(CHANGE);
    let fault = worker.run(&Batch { calls: 3, inputs, ..Batch::default() }).unwrap_err();
    let said = fault.to_string();
    assert!(said.contains("write to a read-only input"), "{said}");
}

pub(crate) fn a_held_worker_uses_no_time_out_of_turn() {
    let (mut worker, _) = held("leave_thread", Cache::Hot, 1);
    worker.run(&Batch::default()).unwrap();
    let stat = |worker: &Worker| {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", worker.pid())).unwrap();
        let rest = stat.rsplit(") ").next().unwrap().to_owned();
        let fields: Vec<&str> = rest.split(' ').collect();
        (fields[0].to_owned(), fields[11].to_owned(), fields[12].to_owned())
    };
    let before = stat(&worker);
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert_eq!(before.0, "T", "it is stopped");
    assert_eq!(stat(&worker), before, "its thread would spin");
    worker.run(&Batch::default()).unwrap();
}
