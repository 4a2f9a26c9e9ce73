//! States of caches and pages: what is flushed, what is walked over, what is told of it.

use crate::copy::case;
use crate::stage::{POISON, arena, contender, limits, plans_for, start};
use proofmark_arena::{Batch, OperandPlan, Worker};
use proofmark_schema::{Cache, DType, Pages};
use proofmark_tensor::{Layout, Placement};

/// Enough lines for a median that a single disturbance does not move.
const ROWS: usize = 64;
const COLS: usize = 1024;

/// A worker with the good kernel and filled operands in a state.
fn in_state(cache: Cache, sets: usize, pages: Pages) -> (Worker, Vec<f64>) {
    let mut worker = start();
    let case = case(ROWS as u64, COLS as u64, DType::F32);
    worker.load(&contender("good"), &case, 1, 0).unwrap();
    let plans = plans_for(&Layout::dense([ROWS, COLS]), Placement::Shifted(128));
    let plans = plans.map(|plan| OperandPlan { sets, pages, ..plan });
    worker.attach_for(&plans, cache).unwrap();
    let values: Vec<f64> = (0..ROWS * COLS).map(|i| i as f64).collect();
    (0..sets).for_each(|set| worker.tensor_of_mut(0, set).from_f64(&values));
    worker.poison(1, POISON);
    (worker, values)
}

pub(crate) fn cold_calls_compute_the_same_and_their_lines_are_far() {
    let (mut worker, values) = in_state(Cache::Cold, 1, Pages::Small);
    let ran = worker.run(&Batch { prime: 1, calls: 5, ..Batch::default() }).unwrap();
    assert_eq!((worker.tensor(1).to_f64(), worker.stray(), ran.leaks), (values, None, 0));
    assert!(ran.wall_ns > 0 && ran.wall_ns <= ran.outer_ns && ran.allocations == 0);
    let probe = worker.probe().unwrap();
    assert_eq!(probe.is_some(), proofmark_simd::cache::can_flush());
    // Far and near are compared with each other, not with a time.
    assert!(probe.is_none_or(|probe| probe.state_ns > 2.0 * probe.hot_ns), "{probe:?}");
}

pub(crate) fn calls_walk_over_the_sets_and_go_on_where_they_stopped() {
    let (mut worker, values) = in_state(Cache::Rotate, 4, Pages::Small);
    let is_written = |worker: &Worker, set: usize| worker.tensor_of(1, set).to_f64() == values;
    worker.run(&Batch { prime: 1, calls: 1, ..Batch::default() }).unwrap();
    assert_eq!([0, 1, 2, 3].map(|set| is_written(&worker, set)), [true, true, false, false]);
    worker.run(&Batch::default()).unwrap();
    assert_eq!([0, 1, 2, 3].map(|set| is_written(&worker, set)), [true, true, true, false]);
    worker.poison(1, POISON);
    worker.run(&Batch { calls: 2, ..Batch::default() }).unwrap();
    assert_eq!([0, 1, 2, 3].map(|set| is_written(&worker, set)), [true, false, false, true]);
    assert_eq!(worker.stray(), None);
}

pub(crate) fn hot_calls_have_nothing_to_probe() {
    let (mut worker, _) = in_state(Cache::Hot, 1, Pages::Small);
    assert_eq!(worker.probe().unwrap(), None);
}

pub(crate) fn huge_pages_are_what_the_kernel_says_they_are() {
    let (mut worker, values) = in_state(Cache::Hot, 1, Pages::Huge);
    worker.run(&Batch::default()).unwrap();
    assert_eq!((worker.tensor(1).to_f64(), worker.stray()), (values, None));
    let (huge, mapped) = worker.huge_and_mapped_bytes();
    // The kernel may refuse; then none is claimed.
    assert!(mapped > 0 && huge <= mapped && huge.is_multiple_of(2 << 20), "{huge} of {mapped}");
    let (mut worker, _) = in_state(Cache::Hot, 1, Pages::Small);
    worker.run(&Batch::default()).unwrap();
    let (_, mapped) = worker.huge_and_mapped_bytes();
    assert!(mapped as usize >= 2 * ROWS * COLS * 4, "{mapped}");
}

pub(crate) fn rulers_are_read_by_a_worker_without_a_contender() {
    let mut ruler = arena(limits()).ruler(Some(0)).unwrap();
    let [chain, triad, stream] = ruler.read(false).unwrap().wall_ns;
    assert!(chain > 0 && triad > 0 && stream == 0);
    let times = ruler.read(true).unwrap();
    assert!(times.wall_ns[2] > 0 && times.outer_ns >= times.wall_ns.iter().sum());
}

pub(crate) fn two_workers_share_operands_and_poison_tells_what_neither_wrote() {
    let (mut first, values) = in_state(Cache::Hot, 1, Pages::Small);
    let mut second = start();
    let case = case(ROWS as u64, COLS as u64, DType::F32);
    second.load(&contender("skip_one"), &case, 1, 0).unwrap();
    second.attach_same(&first, Cache::Hot).unwrap();
    first.run(&Batch::default()).unwrap();
    assert_eq!(second.tensor(1).to_f64(), values, "what one wrote the other sees");
    // A kernel that leaves elements out must not pass because of what another has left there.
    second.run(&Batch::default()).unwrap();
    assert_eq!(second.unwritten(1, POISON), None);
    second.poison(1, POISON);
    second.run(&Batch::default()).unwrap();
    assert_eq!(second.unwritten(1, POISON), Some(5));
    assert_eq!((first.stray(), second.stray()), (None, None));
}
