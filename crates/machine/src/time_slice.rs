//! Short time slices on a busy machine, for work that hands over often.

use std::mem::size_of;

/// The shortest time slice that the kernel gives.
const SHORT_NS: u64 = 100_000;

/// Asks for short time slices for the calling thread, and for all threads and processes that it
/// starts from now on.
///
/// A thread that wakes up takes the processor at once from one with a longer time slice. Otherwise
/// it waits until that time slice ends. The two sides of a proof wake each other hundreds of times
/// for each case, so that a proof on a busy machine mostly waits: `prove rms_norm` beside four busy
/// loops on two processors takes 21.4 s with the usual time slices, and 4.1 s with short ones.
/// Linux lets a thread choose since 6.12; older kernels ignore the request.
pub fn ask_for_short_time_slices() {
    let Some(mut terms) = terms() else { return };
    // In other classes the number means something else.
    if terms.sched_policy != libc::SCHED_OTHER.cast_unsigned() {
        return;
    }
    terms.sched_runtime = SHORT_NS;
    // SAFETY: reads the record and changes the terms of this thread alone. A refusal only costs
    // time.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const terms, 0) };
}

/// The terms on which the calling thread gets the processor.
fn terms() -> Option<libc::sched_attr> {
    // SAFETY: all fields are numbers, for which zeros are valid.
    let mut terms: libc::sched_attr = unsafe { std::mem::zeroed() };
    let bytes = size_of::<libc::sched_attr>();
    // SAFETY: `terms` is a valid place for so many bytes for the duration of the call.
    let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut terms, bytes, 0) };
    (got == 0).then_some(terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::scope;

    #[test]
    fn what_the_thread_starts_has_short_time_slices_and_everything_else_keeps_its_own() {
        let of_now = || terms().map(|terms| (terms.sched_nice, terms.sched_runtime));
        let before = of_now().unwrap();
        let of_a_child = || {
            ask_for_short_time_slices();
            scope(|scope| scope.spawn(of_now).join().unwrap().unwrap())
        };
        let child = scope(|scope| scope.spawn(of_a_child).join().unwrap());
        assert_eq!(child.0, before.0, "the priority is the same");
        // A kernel without time slices of threads reports 0.
        assert!(child.1 == SHORT_NS || before.1 == 0, "{child:?}, before {before:?}");
        assert_eq!(of_now().unwrap(), before, "the calling thread is not changed");
    }
}
