//! Kernels that end their worker, or try to.

use crate::stage::{a_fresh_worker_works, contender, crash_of, die, limits, one_row, ready, start};
use proofmark_arena::{Arena, Batch, Fault, Spawn};
use proofmark_schema::crash::{Cause, Phase};
use proofmark_tensor::Placement;

fn assert_death(kernel: &str, cause: &str, place: Option<&str>) {
    let crash = die(kernel, Placement::Aligned64);
    assert_eq!((crash.cause.to_string().as_str(), crash.place.as_deref()), (cause, place));
    assert_eq!((crash.phase, crash.call), (Phase::Call, 0));
}

pub(crate) fn a_null_pointer_is_named() {
    assert_death("segfault", "SIGSEGV", Some("null pointer+8"));
}

pub(crate) fn an_abort_is_named() {
    assert_death("abort", "SIGABRT", None);
}

pub(crate) fn an_illegal_instruction_is_named() {
    assert_death("illegal", "SIGILL", None);
}

pub(crate) fn a_division_by_zero_is_named() {
    assert_death("divide", "SIGFPE", None);
}

pub(crate) fn a_breakpoint_is_named() {
    assert_death("breakpoint", "SIGTRAP", None);
}

pub(crate) fn a_misaligned_vector_access_is_named() {
    let place = "no address: misaligned vector access or wild pointer";
    assert_death("misaligned", "SIGSEGV", Some(place));
}

pub(crate) fn a_stack_overflow_is_named() {
    assert_death("overflow_stack", "SIGSEGV", Some("stack overflow"));
}

pub(crate) fn an_exit_is_named_with_its_code() {
    assert_death("exit_three", "exit 3", None);
}

fn kernel_words(kernel: &str) -> String {
    let mut worker = ready(kernel, Placement::Aligned64);
    let words = match worker.run(&Batch::default()) {
        Err(Fault::Kernel(words)) => words,
        other => panic!("{other:?}"),
    };
    worker.load(&contender("good"), &one_row(), 1, 0).expect("the worker lives on");
    a_fresh_worker_works();
    words
}

pub(crate) fn a_panic_is_told_and_the_worker_lives_on() {
    let words = kernel_words("panics");
    assert!(words.starts_with("panicked: planted panic (") && words.contains("kernels.rs:"));
}

pub(crate) fn a_panic_on_a_pool_thread_is_told() {
    assert!(kernel_words("panics_on_pool").contains("planted panic of a helper"));
}

pub(crate) fn a_kernels_error_is_told() {
    assert_eq!(kernel_words("refuses"), "planted refusal");
}

pub(crate) fn a_crash_while_loading_is_of_that_phase() {
    let mut worker = start();
    let fault = worker.load(&contender("crash_in_load"), &one_row(), 1, 0).unwrap_err();
    let crash = crash_of(&fault);
    assert_eq!((crash.cause.to_string().as_str(), crash.phase), ("SIGSEGV", Phase::Load));
    let after = worker.run(&Batch::default()).unwrap_err();
    assert_eq!(after.to_string(), "the worker has ended");
}

pub(crate) fn a_crash_while_packing_is_of_that_phase() {
    let fault = ready("crash_in_prepare", Placement::Aligned64).prepare().unwrap_err();
    let crash = crash_of(&fault);
    assert_eq!((crash.cause.to_string().as_str(), crash.phase), ("SIGSEGV", Phase::Prepare));
}

pub(crate) fn a_crash_is_of_the_call_that_made_it() {
    let mut worker = ready("third_call_crashes", Placement::Aligned64);
    let fault = worker.run(&Batch { prime: 1, calls: 5, ..Batch::default() }).unwrap_err();
    assert_eq!(crash_of(&fault).call, 2);
    assert_eq!(fault.to_string(), "worker died: SIGSEGV at null pointer+8, in call 2");
}

pub(crate) fn a_crash_on_a_pool_thread_is_named() {
    let crash = die("crash_on_pool", Placement::EndFlush);
    assert_eq!(crash.cause.to_string(), "SIGSEGV");
    let place = "`y`+4096: first byte past the end (guard page)";
    assert_eq!(crash.place.as_deref(), Some(place));
}

pub(crate) fn the_last_output_is_in_the_report() {
    let crash = die("talks_then_crashes", Placement::Aligned64);
    assert_eq!(crash.output, "about to divide the universe\n");
}

pub(crate) fn a_program_that_is_no_worker_is_reported() {
    let arena = |program: &str| Arena::new(program.into(), vec![]).with_limits(limits());
    let fault = arena("/bin/false").spawn(&Spawn::default()).unwrap_err();
    assert_eq!(crash_of(&fault).cause, Cause::Exit(1));
    let fault = arena("/no/such/program").spawn(&Spawn::default()).unwrap_err();
    assert!(matches!(&fault, Fault::World(words) if words.contains("/no/such/program")));
}
