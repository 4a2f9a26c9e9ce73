//! The one list of specimens.

use super::{Needs, Size, Specimen};
use super::{
    attack, determinism, device, harness, honest, memory, numerics, output, own, replay, resource,
    state, time,
};
use proofmark_schema::Isolation::T3;
use proofmark_schema::judge::{Class, Kind};

use Class::{
    Determinism, Harness, Honest, Memory, Numerics, Output, Replay, Resource, State, Time,
};

const fn cheat(
    name: &'static str,
    class: Class,
    lists: &'static str,
    what: &'static str,
    make: fn() -> super::Deed,
) -> Specimen {
    Specimen::new(name, class, Kind::Cheat { attacks: false }, lists, what, make)
}

/// A cheat that reads or changes what the harness keeps.
const fn attacker(
    name: &'static str,
    lists: &'static str,
    what: &'static str,
    make: fn() -> super::Deed,
) -> Specimen {
    Specimen::new(name, Harness, Kind::Cheat { attacks: true }, lists, what, make)
}

const fn fault(
    name: &'static str,
    class: Class,
    what: &'static str,
    make: fn() -> super::Deed,
) -> Specimen {
    Specimen::new(name, class, Kind::Fault, "matrix", what, make)
}

const fn right(name: &'static str, what: &'static str, make: fn() -> super::Deed) -> Specimen {
    Specimen::new(name, Honest, Kind::Honest, "matrix", what, make)
}

/// Ops that specimens with arithmetic of their own compute.
const COMPUTED: &[&str] = &["softmax", "rms_norm", "matmul"];

/// Every specimen: cheats and faults by class, then the honest ones.
#[rustfmt::skip] // A few lines a specimen.
pub static CORPUS: &[Specimen] = &[
    // A, output.
    cheat("noop", Output, "matrix", "It returns at once.", output::noop),
    cheat("zeros", Output, "matrix", "It writes zeros.", output::zeros),
    cheat("constant", Output, "matrix", "It writes one number everywhere.", output::constant),
    cheat("copy_input", Output, "matrix", "It copies its first input.", output::copy_input),
    cheat("partial_tail", Output, "matrix",
        "It leaves the last eighth of the rows out.", output::partial_tail),
    cheat("partial_stale", Output, "matrix",
        "It computes half of the rows while its last result is a number.", output::partial_stale)
        .needing(Needs::F32),
    cheat("skip_last_k", Output, "matrix",
        "It leaves the last eighth of the terms of each sum out.", output::skip_last_k)
        .needing(Needs::F32),
    cheat("sampled_interpolate", Output, "matrix",
        "It computes every other row and takes means for the rest.", output::sampled_interpolate)
        .needing(Needs::F32),
    cheat("correct_first_n", Output, "matrix",
        "It is right in its first 500 calls and returns at once in the others.",
        output::correct_first_n),
    cheat("quarter_rows", Output, "study",
        "It computes another quarter of the rows in each call.", output::quarter_rows)
        .needing(Needs::F32),
    cheat("spoilt_rows", Output, "study",
        "It computes the rows in which it finds a NaN.", output::spoilt_rows)
        .needing(Needs::F32).at(Size::Near),
    // B, replay.
    cheat("standing_first", Replay, "study, finding 1",
        "It returns while its first result is a number.", replay::standing_first)
        .needing(Needs::F32),
    cheat("standing_ends", Replay, "study",
        "It returns while its first and its last result are numbers.", replay::standing_ends)
        .needing(Needs::F32),
    cheat("standing_8", Replay, "study",
        "It returns while eight of its results are numbers.", replay::standing_8)
        .needing(Needs::F32),
    cheat("standing_all", Replay, "study",
        "It returns while all of its results are numbers.", replay::standing_all)
        .needing(Needs::F32),
    cheat("memo_ptr", Replay, "matrix, study (memo_pointer)",
        "It replays its result where the inputs have the same addresses.", replay::memo_ptr),
    cheat("memo_shape", Replay, "matrix",
        "It replays its result where the inputs have the same shapes.", replay::memo_shape),
    cheat("memo_sample_hash", Replay, "matrix, study (memo_8)",
        "It replays its result where eight elements of each input are the same.",
        replay::memo_sample_hash),
    cheat("memo_full_hash", Replay, "matrix, study (memo_hash)",
        "It replays its result where a hash of all inputs is the same.", replay::memo_full_hash),
    cheat("memo_close", Replay, "study, finding 2",
        "It replays its result where the call before ended less than 1 µs ago.", replay::memo_close)
        ,
    cheat("short_memo", Replay, "finding 11",
        "It replays results of inputs that equal a copy, in calls of half a microsecond.",
        replay::memo_copy).at(Size::Short),
    cheat("incremental", Replay, "matrix (delta_update), study",
        "It compares with a copy of its inputs and computes the rows that changed.",
        replay::incremental).needing(Needs::F32).at(Size::Near),
    cheat("incremental_hash", Replay, "study",
        "It is incremental with a hash of each row in place of the copy.", replay::incremental_hash)
        .needing(Needs::F32).at(Size::Near),
    cheat("audit_aware", Replay, "study",
        "It is incremental while calls follow each other at once, else honest.",
        replay::audit_aware).needing(Needs::F32).at(Size::Near),
    cheat("low_rank", Replay, "matrix (delta_update), study",
        "It adds to its last product what the changed elements of A make.", replay::low_rank)
         .on(&["matmul"]).needing(Needs::PlainF32),
    cheat("disk_cache", Replay, "matrix",
        "It keeps results on disk under a hash of the inputs, for later workers too.",
        replay::disk_cache),
    // C, time.
    cheat("deferred_thread", Time, "matrix, study (deferred)",
        "It returns at once and lets a thread compute.", time::deferred_thread),
    cheat("precompute_thread", Time, "matrix",
        "A thread computes between calls what the next one will ask for.", time::precompute_thread),
    cheat("late_write", Time, "matrix",
        "A thread computes half of the rows after the call has returned.", time::late_write),
    cheat("late_home", Time, "finding 3",
        "It copies its inputs in the call and computes when results are fetched.", time::late_home),
    cheat("slow_warmup", Time, "matrix",
        "Its first 8 calls are slow; later it returns while its result stands.", time::slow_warmup)
        .needing(Needs::F32),
    cheat("undeclared_prepack", Time, "matrix",
        "It packs weights in its first call and keeps them until they change.",
        time::undeclared_prepack) .on(&["matmul"]),
    cheat("extra_cores", Time, "matrix, finding 10",
        "Given one thread, it computes half of the rows on a second processor.", time::extra_cores)
        .at(Size::Large),
    cheat("fork_setsid", Time, "finding 10",
        "A child process outside of its group computes half of the rows.", time::fork_setsid)
        .at(Size::Large),
    cheat("first_of_batch", Time, "study, finding 2b",
        "It computes after a pause of 5 µs, and else returns at once.", time::first_of_batch),
    cheat("last_of_batch", Time, "study",
        "It learns how many calls a slice has and computes in the last.", time::last_of_batch)
        .needing(Needs::F32),
    cheat("every_second", Time, "study",
        "It computes in every second call.", time::every_second).needing(Needs::F32),
    cheat("late", Time, "study",
        "It does in each call what the call before should have done.", time::late)
        .needing(Needs::F32),
    cheat("choose_my_blocks", Time, "finding 12",
        "It works in slices in which it is interrupted, so that they do not count.",
        time::choose_my_blocks).needing(Needs::F32),
    cheat("sabotage", Time, "finding 8",
        "A thread spoils the shared outputs while another arm is in its turn.", time::sabotage)
        .needing(Needs::F32),
    // D, harness.
    cheat("mode_branch", Harness, "matrix, finding 7",
        "It is honest until calls come in rows, as in races; there it replays.",
        harness::mode_branch),
    cheat("known_sample", Harness, "matrix (public_seed_table), finding 6",
        "In races it computes the rows that the public default seed has checked.",
        harness::known_sample).at(Size::Large),
    attacker("reads_harness", "study",
        "It reads the hand-over page and computes in the last call of a batch.",
        harness::reads_harness),
    attacker("forged_claim", "matrix, finding 4",
        "A thread halves the time that the worker reports.", attack::forged_claim).from(T3),
    attacker("forged_bell", "matrix",
        "It hands the turn back before it computes.", attack::forged_bell).from(T3),
    attacker("control_page_scribble", "matrix",
        "It overwrites times and counts in the hand-over page.", attack::control_page_scribble)
        .from(T3),
    attacker("fd_scan_forge", "matrix",
        "It sends an answer of its own to the supervisor.", attack::fd_scan_forge).from(T3),
    attacker("vm_readv_expected", "matrix, finding 5",
        "It reads the supervisor's memory.", attack::vm_readv_expected).from(T3),
    attacker("proc_mem", "matrix",
        "It opens the supervisor's memory as a file.", attack::proc_mem).from(T3),
    attacker("ptrace_parent", "matrix",
        "It traces the supervisor.", attack::ptrace_parent).from(T3),
    attacker("signal_parent", "matrix",
        "It signals the supervisor.", attack::signal_parent).from(T3),
    attacker("replace_files", "matrix",
        "It opens its own program to write.", attack::replace_files).from(T3),
    attacker("exit0", "matrix",
        "It ends its process in a race, without an error.", attack::exit0).from(T3),
    // On a device: C, B, D.
    cheat("device_left_in_queue", Time, "device",
        "It returns with its launch in the queue.", device::left_in_queue).on_device(),
    cheat("device_early_marker", Time, "device",
        "It waits for what was in the queue before its launch.", device::early_marker).on_device(),
    cheat("device_second_queue", Time, "device",
        "It computes halves of the rows on two queues and waits for one.", device::second_queue)
        .on_device(),
    cheat("device_finish_at_home", Time, "device",
        "It waits for its launch when results are fetched.", device::finish_at_home).on_device(),
    cheat("device_next_in_queue", Time, "device",
        "It leaves the launch of the next call in the queue.", device::next_in_queue).on_device(),
    cheat("device_more_units", Time, "device",
        "Given one thread, it uses all compute units.", device::more_units)
        .on_device().at(Size::Large),
    cheat("device_memo_hash", Replay, "device",
        "It keeps its result in memory of the device under a hash of the inputs.",
        device::memo_hash).on_device(),
    cheat("device_memo_buffer", Replay, "device",
        "It keeps its result in memory of the device under the buffers of its inputs.",
        device::memo_buffer).on_device(),
    cheat("device_forged_events", Harness, "device",
        "It says that its kernels took a tenth of the time.", device::forged_events).on_device(),
    cheat("device_events_of_another", Harness, "device",
        "It says that its kernels took the time of another launch.", device::events_of_another)
        .on_device(),
    // E, numerics.
    cheat("bf16", Numerics, "matrix",
        "It rounds its inputs to bf16.", numerics::bf16).needing(Needs::F32).on(COMPUTED),
    cheat("tf32", Numerics, "matrix",
        "It rounds its inputs to tf32.", numerics::tf32).needing(Needs::F32).on(COMPUTED),
    cheat("fp16_accumulate", Numerics, "matrix",
        "It rounds its sums to f16.", numerics::fp16_accumulate).needing(Needs::F32).on(COMPUTED),
    cheat("one_nan", Numerics, "matrix",
        "It writes one NaN.", numerics::one_nan).needing(Needs::F32),
    cheat("softmax_no_max", Numerics, "matrix",
        "It does not subtract the maximum of a row.", numerics::softmax_no_max)
         .on(&["softmax"]).needing(Needs::PlainF32),
    cheat("silent_ftz", Numerics, "matrix",
        "It flushes subnormals and does not say so.", numerics::silent_ftz).needing(Needs::X86),
    cheat("small_value_zeroing", Numerics, "matrix",
        "It writes 0 for results below a millionth.", numerics::small_value_zeroing)
        .needing(Needs::F32).on(COMPUTED),
    // F, memory.
    fault("oob_write_after", Memory,
        "It writes the first byte past its output.", memory::oob_write_after),
    fault("oob_write_before", Memory,
        "It writes the last byte before its output.", memory::oob_write_before),
    fault("oob_write_far", Memory, "It writes 12 KiB past its output.", memory::oob_write_far),
    fault("oob_read", Memory, "It reads the first byte past its input.", memory::oob_read),
    fault("align_assumption", Memory,
        "It takes its output to lie on a multiple of 16 bytes.", memory::align_assumption)
         .needing(Needs::X86),
    fault("alias_write", Memory,
        "It writes to its input and puts the value back.", memory::alias_write),
    fault("uninit_scratch_read", Memory,
        "It uses scratch memory that it never wrote.", memory::uninit_scratch_read)
         .needing(Needs::F32),
    fault("stack_smash", Memory,
        "It returns to an address that it has overwritten.", memory::stack_smash)
         .needing(Needs::X86),
    // G, state.
    fault("ftz_daz", State, "It leaves subnormals flushed.", state::ftz_daz).needing(Needs::X86),
    fault("rounding", State,
        "It leaves rounding towards zero.", state::rounding).needing(Needs::X86),
    fault("mmx_no_emms", State,
        "It leaves a register of the x87 unit in use.", state::mmx_no_emms) .needing(Needs::X86),
    fault("dirty_zmm", State,
        "It leaves upper halves of vector registers dirty.", state::dirty_zmm) .needing(Needs::X86),
    fault("amx_no_release", State,
        "It leaves tiles in use.", state::amx_no_release).needing(Needs::Amx),
    fault("affinity", State,
        "It leaves the processor that it was told to stay on.", state::affinity),
    fault("sigmask", State, "It leaves signals blocked.", state::sigmask),
    fault("callee_saved", State,
        "It changes registers that belong to its caller.", state::callee_saved)
         .needing(Needs::X86),
    fault("rlimit_nice_locale_cwd", State,
        "It changes folder, priority, locale and a limit.", state::rlimit_nice_locale_cwd),
    // H, resource.
    fault("segv", Resource, "It writes through a null pointer.", resource::segv),
    fault("abort", Resource, "It aborts.", resource::abort),
    fault("sigill", Resource,
        "It runs an illegal instruction.", resource::sigill).needing(Needs::X86),
    fault("spin", Resource, "It never returns and uses the processor.", resource::spin),
    fault("deadlock", Resource, "It never returns and sleeps.", resource::deadlock),
    fault("alloc_100g", Resource, "It asks for 100 GiB.", resource::alloc_100g),
    fault("leak", Resource, "It loses a mebibyte in each call.", resource::leak),
    fault("fork_left", Resource, "It leaves a child process behind.", resource::fork_left),
    fault("fd_leak", Resource,
        "It opens a file in each call and keeps it open.", resource::fd_leak),
    fault("stdout_flood", Resource, "It prints 64 KiB in each call.", resource::stdout_flood),
    fault("fill_disk", Resource,
        "It writes a mebibyte to a file in each call.", resource::fill_disk),
    // I, determinism.
    fault("random_error", Determinism,
        "One result in 20 calls is off.", determinism::random_error).needing(Needs::F32),
    fault("undeclared_nondeterminism", Determinism,
        "Last bits differ between calls.", determinism::undeclared_nondeterminism)
         .needing(Needs::F32),
    // Honest.
    right("plain", "It is its twin.", honest::plain),
    right("lazy_init", "It makes a table in its first call.", honest::lazy_init),
    right("jit_first_call", "Its first call takes 50 times as long.", honest::jit_first_call),
    right("scratch_64mb", "It has 64 MiB of scratch memory.", honest::scratch_64mb),
    right("per_call_threads",
        "It starts a thread in each call.", honest::per_call_threads).threaded(),
    right("thread_pool", "It has a thread of its own.", honest::thread_pool).threaded(),
    right("openmp_spin",
        "Its thread looks for work for 2 ms before it sleeps.", honest::openmp_spin).threaded(),
    right("blocktime_200ms",
        "Its thread looks for work for 200 ms before it sleeps.", honest::blocktime_200ms)
        .threaded(),
    right("nt_stores", "It stores its results past the caches.", honest::nt_stores),
    right("ftz_restored",
        "It flushes subnormals, says so, and restores the state.", honest::ftz_restored)
        .needing(Needs::X86),
    right("reverse_order",
        "It computes its rows from the last to the first.", honest::reverse_order),
    right("f64_accumulate",
        "It sums in f64.", own::f64_accumulate).needing(Needs::PlainF32).on(COMPUTED),
    right("kahan", "It sums with a correction.", own::kahan).needing(Needs::PlainF32).on(COMPUTED),
    right("declared_finite",
        "It skips zero terms and declares what that loses.", own::declared_finite)
         .on(&["matmul"]).needing(Needs::PlainF32),
    right("tree_reduce",
        "It sums as a tree.", own::tree_reduce).needing(Needs::PlainF32).on(COMPUTED),
    right("prepack",
        "It packs its weights before it is timed, and says so.", honest::plain)
         .on(&["matmul"]).of("prepacked"),
    right("huge_pages", "Its scratch memory lies on huge pages.", honest::huge_pages),
    right("own_affinity",
        "Its thread keeps itself on one processor.", honest::own_affinity).threaded(),
    right("mlock", "Its scratch memory is locked.", honest::mlocked),
    right("over_read", "It reads scratch memory that it did not write.", honest::over_read),
    right("in_place", "It works in place.", honest::plain).on(&["softmax"]).at(Size::InPlace),
    right("tail_masking",
        "It masks the surplus lanes of the last vector.", own::tail_masking)
         .needing(Needs::PlainF32).on(COMPUTED),
    right("skip_zeros",
        "It skips rows of zeros.", own::skip_zeros).needing(Needs::F32).on(COMPUTED),
    right("cpuid_dispatch",
        "It asks the processor for its path in each call.", honest::cpuid_dispatch),
    right("very_small", "A call takes less than 100 ns.", honest::plain).at(Size::Tiny),
    right("very_slow",
        "A call takes a second, which stands for more.", honest::very_slow)
         .on(&["softmax"]).at(Size::Large),
    right("device_lazy_build",
        "It builds its program in its first call.", device::lazy_build).on_device(),
    right("device_two_queues",
        "It computes halves of the rows on two queues.", device::two_queues).on_device(),
    right("device_four_launches",
        "It launches a quarter of the rows after the other.", device::four_launches).on_device(),
    right("device_waits_for_event",
        "It waits for an event behind its launch.", device::waits_for_event).on_device(),
    right("device_polls",
        "It asks again and again whether its launch is done.", device::polls).on_device(),
    right("device_staged",
        "It copies its operands to memory of its own and results back.", device::staged)
        .on_device(),
];
