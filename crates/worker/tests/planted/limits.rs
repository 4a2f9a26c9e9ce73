//! Kernels that never end, or take all there is.

use crate::stage::{a_fresh_worker_works, die, limits, ready_within, survive};
use proofmark_arena::{Batch, Fault, Limits};
use proofmark_schema::crash::{Cause, Phase};
use proofmark_tensor::Placement;
use std::time::Duration;

fn assert_timeout(kernel: &str, limits: Limits, cause: Cause) {
    let mut worker = ready_within(limits, kernel, Placement::Aligned64);
    let fault = worker.run(&Batch::default()).unwrap_err();
    let Fault::TimedOut(crash) = fault else { panic!("{fault:?}") };
    assert_eq!((crash.cause, crash.phase), (cause, Phase::Call));
    a_fresh_worker_works();
}

pub(crate) fn a_spinning_kernel_runs_out_of_cpu_time() {
    let limits = Limits { cpu: Duration::from_millis(300), ..limits() };
    assert_timeout("hang", limits, Cause::CpuTime);
}

pub(crate) fn a_sleeping_kernel_makes_no_progress() {
    let limits = Limits { silence: Duration::from_secs(1), ..limits() };
    assert_timeout("sleep_forever", limits, Cause::NoProgress);
}

pub(crate) fn a_dawdling_kernel_runs_out_of_wall_time() {
    let limits = Limits { wall: Duration::from_secs(1), ..limits() };
    assert_timeout("dawdle", limits, Cause::WallTime);
}

pub(crate) fn endless_allocation_is_memory() {
    let crash = die("allocate_forever", Placement::Aligned64);
    assert_eq!((crash.cause, crash.place), (Cause::Memory, None));
}

pub(crate) fn memory_that_no_allocator_sees_is_memory_too() {
    let crash = die("map_forever", Placement::Aligned64);
    assert_eq!((crash.cause, crash.place), (Cause::Memory, None));
}

pub(crate) fn a_flood_of_output_does_not_block() {
    let (worker, _) = survive("flood", Placement::Aligned64);
    assert_eq!(worker.tensor(1).to_f64()[7], 7.5);
    a_fresh_worker_works();
}
