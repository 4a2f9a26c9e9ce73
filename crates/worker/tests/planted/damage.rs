//! Kernels that touch what is not theirs, or leave what is.

use crate::copy::case;
use crate::stage::{
    COLS, POISON, a_fresh_worker_works, contender, die, plans_for, ready, reveal, start, survive,
};
use proofmark_arena::{Batch, Fault};
use proofmark_schema::DType;
use proofmark_schema::crash::{Crash, Phase};
use proofmark_tensor::{Layout, Placement};

fn assert_segfault_at(crash: &Crash, place: &str) {
    assert_eq!(
        (crash.cause.to_string().as_str(), crash.place.as_deref()),
        ("SIGSEGV", Some(place))
    );
    assert_eq!(crash.phase, Phase::Call);
    assert!(crash.address.is_some_and(|address| address > 0xffff));
}

pub(crate) fn a_write_past_the_end_is_named_beside_the_guard() {
    let crash = die("write_past_end", Placement::EndFlush);
    assert_segfault_at(&crash, "`y`+4096: first byte past the end (guard page)");
}

pub(crate) fn a_write_past_the_end_is_found_in_the_slack() {
    let (worker, _) = survive("write_past_end", Placement::Aligned64);
    assert_eq!(worker.stray().unwrap().to_string(), "`y`: first byte past the end");
    a_fresh_worker_works();
}

pub(crate) fn a_write_before_the_start_is_named_beside_the_guard() {
    let crash = die("write_before_start", Placement::StartFlush);
    assert_segfault_at(&crash, "`y`-4: 4 bytes before the start (guard page)");
}

pub(crate) fn a_write_before_the_start_is_found_in_the_slack() {
    let (worker, _) = survive("write_before_start", Placement::EndFlush);
    assert_eq!(worker.stray().unwrap().to_string(), "`y`: 4 bytes before the start");
}

pub(crate) fn a_write_between_rows_is_found() {
    let mut worker = start();
    worker.load(&contender("write_between_rows"), &case(3, 8, DType::F32), 1, 0).unwrap();
    worker.attach(&plans_for(&Layout::padded([3, 8], 10), Placement::Aligned64)).unwrap();
    reveal(&mut worker);
    worker.run(&Batch::default()).unwrap();
    let stray = worker.stray().unwrap().to_string();
    assert_eq!(stray, "`y`: padding between rows, 0 bytes after row 0");
}

pub(crate) fn a_read_past_the_end_of_an_input_is_named() {
    let crash = die("read_past_end", Placement::EndFlush);
    assert_segfault_at(&crash, "`x`+4096: first byte past the end (guard page)");
}

pub(crate) fn a_write_to_an_input_is_named() {
    let crash = die("write_input", Placement::Aligned64);
    assert_segfault_at(
        &crash,
        "inside read-only input `x` at byte 12 (write to a read-only input)",
    );
}

pub(crate) fn an_input_cannot_be_made_writable() {
    let fault = ready("unprotect_input", Placement::Aligned64).run(&Batch::default());
    let fault = fault.expect_err("the input stays read-only");
    assert!(
        matches!(&fault, Fault::Kernel(reason) if reason == "mprotect is refused"),
        "{fault:?}"
    );
}

pub(crate) fn an_element_left_unwritten_still_holds_its_poison() {
    let (worker, _) = survive("skip_one", Placement::Aligned64);
    assert_eq!(worker.unwritten(1, POISON), Some(5));
    assert!(worker.tensor(1).to_f64()[5].is_nan());
    a_fresh_worker_works();
}

pub(crate) fn a_nan_is_not_taken_for_poison() {
    let (worker, _) = survive("write_nan", Placement::Aligned64);
    assert_eq!(worker.unwritten(1, POISON), None);
    let got = worker.tensor(1).to_f64();
    let nans: Vec<usize> = (0..COLS).filter(|&i| got[i].is_nan()).collect();
    assert_eq!(nans, [3]);
}
