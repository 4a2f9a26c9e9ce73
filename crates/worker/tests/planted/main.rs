//! Planted faults: every way a kernel can go wrong is caught, named, and does no harm.
//!
//! This test binary is its own worker: started with `__worker` it serves the planted kernels,
//! started with `__hostile` it keeps to no protocol.

mod changes;
mod copy;
mod damage;
mod deaths;
mod honest;
mod hostile;
mod kernels;
mod leaks;
mod leftovers;
mod limits;
mod mistrust;
mod stage;
mod states;

use libtest_mimic::{Arguments, Trial};
use proofmark_worker::CountingAllocator;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Trials from functions, named by them.
macro_rules! trials {
    ($($module:ident::$name:ident),* $(,)?) => {
        vec![$(Trial::test(stringify!($name), || {
            $module::$name();
            Ok(())
        })),*]
    };
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    if words.iter().any(|word| word == "__worker") {
        return stage::serve_planted(&words);
    }
    if words.iter().any(|word| word == "__hostile") {
        return hostile::serve_hostile(&words);
    }
    let mut arguments = Arguments::from_args();
    // Some tests count this process's children and files: no other test may run beside them.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, all_trials()).exit_code()
}

fn all_trials() -> Vec<Trial> {
    let mut all = trials![
        honest::a_good_kernel_copies_in_every_placement,
        honest::operands_may_have_padded_rows,
        honest::a_worker_takes_one_case_after_another,
        honest::unknown_contenders_and_cases_are_unsupported,
        honest::operands_that_are_not_the_signatures_are_refused,
        honest::packed_weights_must_be_prepared_and_are_used,
        honest::allocations_are_counted_per_batch,
        honest::the_workspace_is_dirtied_on_demand,
        honest::threads_can_be_changed,
        honest::a_batch_reports_times_that_nest,
        honest::a_worker_is_pinned_and_padded_on_demand,
        honest::a_worker_samples_itself_only_if_its_supervisor_asks,
        honest::memory_is_reported,
        changes::what_every_call_leaves_is_kept_and_inputs_are_as_before,
        changes::calls_that_walk_over_sets_change_each_on_its_own,
        changes::a_fresh_call_finds_every_input_new,
        changes::a_kernel_cannot_write_inputs_that_change,
        changes::a_held_worker_uses_no_time_out_of_turn,
        states::cold_calls_compute_the_same_and_their_lines_are_far,
        states::calls_walk_over_the_sets_and_go_on_where_they_stopped,
        states::hot_calls_have_nothing_to_probe,
        states::two_workers_share_operands_and_poison_tells_what_neither_wrote,
        states::huge_pages_are_what_the_kernel_says_they_are,
        states::rulers_are_read_by_a_worker_without_a_contender,
        damage::a_write_past_the_end_is_named_beside_the_guard,
        damage::a_write_past_the_end_is_found_in_the_slack,
        damage::a_write_before_the_start_is_named_beside_the_guard,
        damage::a_write_before_the_start_is_found_in_the_slack,
        damage::a_write_between_rows_is_found,
        damage::a_read_past_the_end_of_an_input_is_named,
        damage::a_write_to_an_input_is_named,
        damage::an_input_cannot_be_made_writable,
        damage::an_element_left_unwritten_still_holds_its_poison,
        damage::a_nan_is_not_taken_for_poison,
        deaths::a_null_pointer_is_named,
        deaths::an_abort_is_named,
        deaths::an_illegal_instruction_is_named,
        deaths::a_division_by_zero_is_named,
        deaths::a_breakpoint_is_named,
        deaths::a_misaligned_vector_access_is_named,
        deaths::a_stack_overflow_is_named,
        deaths::an_exit_is_named_with_its_code,
        deaths::a_panic_is_told_and_the_worker_lives_on,
        deaths::a_panic_on_a_pool_thread_is_told,
        deaths::a_kernels_error_is_told,
        deaths::a_crash_while_loading_is_of_that_phase,
        deaths::a_crash_while_packing_is_of_that_phase,
        deaths::a_crash_is_of_the_call_that_made_it,
        deaths::a_crash_on_a_pool_thread_is_named,
        deaths::the_last_output_is_in_the_report,
        deaths::a_program_that_is_no_worker_is_reported,
        limits::a_spinning_kernel_runs_out_of_cpu_time,
        limits::a_sleeping_kernel_makes_no_progress,
        limits::a_dawdling_kernel_runs_out_of_wall_time,
        limits::endless_allocation_is_memory,
        limits::memory_that_no_allocator_sees_is_memory_too,
        limits::a_flood_of_output_does_not_block,
        leaks::a_changed_rounding_state_is_a_leak,
        leaks::an_unbalanced_x87_stack_is_a_leak,
        leaks::a_leak_of_one_call_is_seen_when_each_is_checked,
        mistrust::a_limit_too_loose_for_its_data_is_mistrusted,
        leftovers::a_forked_child_ends_with_its_worker,
        leftovers::a_child_that_leaves_its_group_is_accounted_for_and_ends_with_its_worker,
        leftovers::a_thread_left_running_ends_with_its_worker,
        leftovers::a_worker_holds_nothing_but_its_socket,
        leftovers::a_worker_ends_with_the_thread_that_started_it,
        leftovers::a_kernel_that_closes_every_file_is_told,
        hostile::a_hostile_worker_gets_nothing_but_a_fault,
        hostile::a_hostile_copy_is_no_process_of_others,
        leftovers::a_thousand_crashes_leave_nothing_behind,
    ];
    // Shown as ignored, not passed, where the machine lacks what they need.
    let upper = proofmark_simd::state::upper_state_known()
        && proofmark_simd::available(proofmark_schema::Isa::Avx2);
    all.extend(
        trials![leaks::dirty_upper_halves_are_a_leak]
            .into_iter()
            .map(|trial| trial.with_ignored_flag(!upper)),
    );
    let amx = proofmark_simd::state::request_amx();
    all.extend(
        trials![leaks::live_tiles_are_a_leak]
            .into_iter()
            .map(|trial| trial.with_ignored_flag(!amx)),
    );
    all
}
