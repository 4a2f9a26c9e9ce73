//! What is left when a worker is gone: nothing.

use crate::stage::{contender, crash_of, one_row, plans, ready, start, survive};
use proofmark_arena::{Batch, Fault};
use proofmark_tensor::Placement;
use rustix::process::{WaitOptions, waitpid};
use std::time::Duration;

/// Whether the process runs; an orphan that is dead but not yet reaped by its new parent does not.
fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// Gives a killed process time to be gone.
fn assert_ends(pid: u32) {
    for _ in 0..1000 {
        if !is_running(pid) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("process {pid} still runs");
}

pub(crate) fn a_forked_child_ends_with_its_worker() {
    let (worker, _) = survive("fork_child", Placement::Aligned64);
    let child = worker.tensor(1).rows::<f32>().unwrap().row(0)[0].to_bits();
    assert!(is_running(child) && is_running(worker.pid()));
    drop(worker);
    assert_ends(child);
}

pub(crate) fn a_child_that_leaves_its_group_is_accounted_for_and_ends_with_its_worker() {
    let (worker, _) = survive("fork_away", Placement::Aligned64);
    let child = worker.tensor(1).rows::<f32>().unwrap().row(0)[0].to_bits();
    assert!(is_running(child));
    let used = worker.descendants_ns();
    // A busy machine may let it wait, but not for ever.
    for _ in 0..1000 {
        if worker.descendants_ns() > used {
            drop(worker);
            assert_ends(child);
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the child uses no processor time");
}

pub(crate) fn a_thread_left_running_ends_with_its_worker() {
    let (worker, _) = survive("leave_thread", Placement::Aligned64);
    let pid = worker.pid();
    assert!(is_running(pid));
    drop(worker);
    assert!(!is_running(pid));
}

pub(crate) fn a_worker_holds_nothing_but_its_socket() {
    let (worker, _) = survive("good", Placement::Aligned64);
    let files = std::fs::read_dir(format!("/proc/{}/fd", worker.pid())).unwrap();
    let mut links: Vec<String> = files
        .map(|file| std::fs::read_link(file.unwrap().path()).unwrap().display().to_string())
        .map(|link| link.split(':').next().unwrap_or_default().to_owned())
        .collect();
    links.sort();
    assert_eq!(links, ["/dev/null", "pipe", "pipe", "socket"]);
}

pub(crate) fn a_worker_ends_with_the_thread_that_started_it() {
    let starting = std::thread::Builder::new().spawn(|| ready("good", Placement::Aligned64));
    let mut worker = starting.unwrap().join().unwrap();
    let fault = worker.run(&Batch::default()).unwrap_err();
    assert_eq!(crash_of(&fault).cause.to_string(), "SIGKILL");
}

pub(crate) fn a_kernel_that_closes_every_file_is_told() {
    let (mut worker, _) = survive("close_files", Placement::Aligned64);
    let fault = worker.prepare().unwrap_err();
    // Where debug assertions are on, the standard library aborts at the second close.
    let cause = crash_of(&fault).cause.to_string();
    assert!(["exit 70", "SIGABRT"].contains(&cause.as_str()), "{cause}");
}

/// Open files, mapped memory files and children of this process.
fn holdings() -> (usize, usize, bool) {
    let files = std::fs::read_dir("/proc/self/fd").unwrap().count();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let memory_files = maps.lines().filter(|line| line.contains("memfd:")).count();
    let has_children = !matches!(waitpid(None, WaitOptions::NOHANG), Err(rustix::io::Errno::CHILD));
    (files, memory_files, has_children)
}

pub(crate) fn a_thousand_crashes_leave_nothing_behind() {
    let before = holdings();
    assert!(!before.2, "no child before");
    for _ in 0..1000 {
        let mut worker = start();
        worker.load(&contender("segfault"), &one_row(), 1, 0).unwrap();
        worker.attach(&plans(Placement::EndFlush)).unwrap();
        let fault = worker.run(&Batch::default()).unwrap_err();
        let Fault::Died(crash) = fault else { panic!("{fault:?}") };
        assert_eq!(crash.cause.to_string(), "SIGSEGV");
    }
    assert_eq!(holdings(), before);
}
