//! Kernels that leave the processor's state changed.

use crate::stage::{a_fresh_worker_works, contender, one_row, plans, ready, survive};
use proofmark_arena::Batch;
use proofmark_schema::wire::leak;
use proofmark_tensor::Placement;

/// The leak is reported, and does not reach the next batch of the same worker.
fn assert_leak(kernel: &str, expected: u32) {
    let (mut worker, ran) = survive(kernel, Placement::Aligned64);
    assert_eq!(leak::names(ran.leaks), leak::names(expected));
    worker.load(&contender("good"), &one_row(), 1, 0).unwrap();
    worker.attach(&plans(Placement::Aligned64)).unwrap();
    assert_eq!(worker.run(&Batch::default()).unwrap().leaks, 0, "the state was restored");
    a_fresh_worker_works();
}

pub(crate) fn a_changed_rounding_state_is_a_leak() {
    assert_leak("flush_to_zero", leak::MXCSR);
}

pub(crate) fn dirty_upper_halves_are_a_leak() {
    assert_leak("dirty_upper", leak::VECTOR_UPPER);
}

pub(crate) fn live_tiles_are_a_leak() {
    assert_leak("tiles_live", leak::AMX);
}

pub(crate) fn an_unbalanced_x87_stack_is_a_leak() {
    assert_leak("x87_push", leak::X87);
}

pub(crate) fn a_leak_of_one_call_is_seen_when_each_is_checked() {
    for (check_each_call, expected) in [(false, 0), (true, leak::MXCSR)] {
        let mut worker = ready("leak_once", Placement::Aligned64);
        let batch = Batch { calls: 3, check_each_call, ..Batch::default() };
        assert_eq!(worker.run(&batch).unwrap().leaks, expected);
    }
}
