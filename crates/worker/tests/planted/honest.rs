//! Right kernels: they run, and what is told about them is true.

use crate::copy::case;
use crate::stage::{
    COLS, POISON, arena, contender, limits, one_row, plans, plans_for, ready, reveal, start,
    survive,
};
use proofmark_arena::{Batch, Fault, Noted, Spawn, Worker};
use proofmark_schema::DType;
use proofmark_tensor::{Layout, Placement};

pub(crate) fn a_good_kernel_copies_in_every_placement() {
    for placement in [
        Placement::Aligned64,
        Placement::EndFlush,
        Placement::StartFlush,
        Placement::Shifted(4),
        Placement::PageCrossing,
    ] {
        let mut worker = ready("good", placement);
        let values = reveal(&mut worker);
        let batch = Batch { prime: 2, calls: 3, check_each_call: true, ..Batch::default() };
        let ran = worker.run(&batch).unwrap();
        assert_eq!(worker.tensor(1).to_f64(), values, "{placement:?}");
        assert_eq!((ran.leaks, ran.allocations), (0, 0), "{placement:?}");
        assert_eq!((worker.stray(), worker.unwritten(1, POISON)), (None, None), "{placement:?}");
    }
}

pub(crate) fn operands_may_have_padded_rows() {
    let mut worker = start();
    worker.load(&contender("good"), &case(5, 7, DType::F32), 1, 0).unwrap();
    worker.attach(&plans_for(&Layout::padded([5, 7], 11), Placement::EndFlush)).unwrap();
    let values = reveal(&mut worker);
    worker.run(&Batch::default()).unwrap();
    assert_eq!((worker.tensor(1).to_f64(), worker.stray()), (values, None));
}

pub(crate) fn a_worker_takes_one_case_after_another() {
    let mut worker = start();
    for cols in [1, 16, 1000, 0] {
        worker.load(&contender("good"), &case(2, cols, DType::F32), 1, 4096).unwrap();
        for placement in [Placement::EndFlush, Placement::Aligned64] {
            worker.attach(&plans_for(&Layout::dense([2, cols as usize]), placement)).unwrap();
            let values = reveal(&mut worker);
            worker.run(&Batch::default()).unwrap();
            assert_eq!(worker.tensor(1).to_f64(), values);
        }
    }
}

pub(crate) fn unknown_contenders_and_cases_are_unsupported() {
    let mut worker = start();
    let mut reason = |name: &str, case| match worker.load(&contender(name), &case, 1, 0) {
        Err(Fault::Unsupported(reason)) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason("ghost", one_row()), "no contender `mutant/ghost` for op `copy`");
    assert_eq!(reason("good", case(13, 1, DType::F32)), "thirteen rows");
    assert!(reason("good", case(1, 1, DType::F16)).contains("f16 is not defined"));
    let mut other = one_row();
    other.op = "paste".to_owned();
    assert_eq!(reason("good", other), "no op `paste`");
    let avx2 = "native/good@avx2".parse().unwrap();
    let refused = worker.load(&avx2, &one_row(), 1, 0).unwrap_err();
    assert_eq!(refused.to_string(), "unsupported: `good` has no path avx2");
    let loaded = worker.load(&contender("good"), &one_row(), 1, 0).unwrap();
    assert_eq!((loaded.receipt.isa.as_str(), loaded.receipt.device.as_str()), ("scalar", "cpu"));
    assert_eq!((loaded.workspace_bytes, loaded.prepared_bytes), (64, 0));
}

pub(crate) fn operands_that_are_not_the_signatures_are_refused() {
    let mut worker = start();
    let early = worker.run(&Batch::default()).unwrap_err();
    assert!(matches!(early, Fault::Kernel(_)), "nothing is loaded: {early:?}");
    worker.load(&contender("good"), &one_row(), 1, 0).unwrap();
    let [x, y] = plans(Placement::Aligned64);
    let mut other = y.clone();
    other.layout = Layout::dense([1, COLS - 1]);
    for wrong in [vec![x.clone()], vec![y.clone(), x.clone()], vec![x.clone(), other]] {
        let refused = worker.attach(&wrong).unwrap_err();
        assert!(matches!(refused, Fault::Kernel(_)), "{refused:?}");
    }
    worker.attach(&[x, y]).unwrap();
    worker.run(&Batch::default()).unwrap();
}

pub(crate) fn packed_weights_must_be_prepared_and_are_used() {
    let mut worker = ready("packed", Placement::Aligned64);
    let early = worker.run(&Batch::default()).unwrap_err();
    assert_eq!(early.to_string(), "kernel failed: weights are not packed");
    worker.prepare().unwrap();
    worker.run(&Batch::default()).unwrap();
    assert_eq!(worker.tensor(1).to_f64(), vec![7.0; COLS]);
    worker.attach(&plans(Placement::Aligned64)).unwrap();
    assert!(worker.run(&Batch::default()).is_err(), "new operands need packing again");
}

pub(crate) fn allocations_are_counted_per_batch() {
    let mut worker = ready("allocates", Placement::Aligned64);
    let batch = Batch { prime: 5, calls: 7, ..Batch::default() };
    let ran = worker.run(&batch).unwrap();
    assert_eq!(ran.allocations, 7);
    assert!(ran.allocated_bytes >= 7 && ran.allocated_bytes.is_multiple_of(7));
}

pub(crate) fn the_workspace_is_dirtied_on_demand() {
    let (mut worker, _) = survive("copy_workspace", Placement::Aligned64);
    assert!(worker.tensor(1).to_f64()[..32].iter().all(|value| value.is_nan()), "rubbish at first");
    let dirt = 2.5f32.to_bits();
    worker.run(&Batch { dirty_workspace: Some(dirt), ..Batch::default() }).unwrap();
    assert_eq!(worker.tensor(1).to_f64()[..32], [2.5; 32]);
}

pub(crate) fn threads_can_be_changed() {
    let (mut worker, _) = survive("count_threads", Placement::Aligned64);
    assert_eq!(worker.tensor(1).to_f64()[..2], [2.0, 128.0]);
    worker.set_threads(3).unwrap();
    worker.run(&Batch::default()).unwrap();
    assert_eq!(worker.tensor(1).to_f64()[..2], [3.0, 192.0]);
}

pub(crate) fn a_batch_reports_times_that_nest() {
    let (_worker, ran) = survive("good", Placement::Aligned64);
    assert!(ran.start_ns > 0 && ran.wall_ns > 0);
    assert!(ran.wall_ns <= ran.outer_ns, "{ran:?}");
}

pub(crate) fn a_worker_is_pinned_and_padded_on_demand() {
    let spawn = Spawn { environment_pad: 5000, cpu: Some(0), ..Spawn::default() };
    let worker = arena(limits()).spawn(&spawn).unwrap();
    let read = |file| std::fs::read_to_string(format!("/proc/{}/{file}", worker.pid())).unwrap();
    assert!(read("status").lines().any(|line| line == "Cpus_allowed_list:\t0"));
    assert!(read("environ").split('\0').any(|line| line.len() == "PROOFMARK_PAD=".len() + 5000));
}

pub(crate) fn a_worker_samples_itself_only_if_its_supervisor_asks() {
    let catches_the_timer = |worker: &Worker| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", worker.pid())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:\t")).unwrap();
        let sigprof = 27;
        u64::from_str_radix(caught, 16).unwrap() >> (sigprof - 1) & 1 == 1
    };
    let (mut unasked, _) = survive("good", Placement::Aligned64);
    let spawn = Spawn { sampled_hertz: Some(1000), ..Spawn::default() };
    let mut asked = arena(limits()).spawn(&spawn).unwrap();
    assert_eq!((catches_the_timer(&unasked), catches_the_timer(&asked)), (false, true));
    asked.load(&contender("good"), &one_row(), 1, 0).unwrap();
    asked.attach(&plans(Placement::Aligned64)).unwrap();
    let mut addresses = Vec::new();
    for _ in 0..1000 {
        let batch = Batch { calls: 100_000, ..Batch::default() };
        asked.run(&batch).unwrap();
        addresses.extend(asked.take_samples().addresses);
        if addresses.len() > 5 {
            break;
        }
    }
    assert!(addresses.len() > 5 && addresses.iter().all(|&address| address > 4096));
    unasked.run(&Batch { calls: 100_000, ..Batch::default() }).unwrap();
    assert_eq!(unasked.take_samples(), Noted::default());
}

pub(crate) fn memory_is_reported() {
    let (worker, _) = survive("good", Placement::Aligned64);
    let (peak, now) = (worker.peak_bytes(), worker.resident_bytes());
    // The kernel sums its per-processor counts for one of the two only, so they differ a little.
    assert!(now > 100_000 && peak + (1 << 20) >= now, "peak {peak}, now {now}");
    worker.reset_peak();
    assert!(worker.peak_bytes() > 0);
}
