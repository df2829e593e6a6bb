//! What every database must do. Each test gets a place of its own; what is not here, nobody may rely on.

pub(crate) mod blobs;
pub(crate) mod cancel;
pub(crate) mod claims;
pub(crate) mod leg;
pub(crate) mod lists;
pub(crate) mod liveness;
pub(crate) mod migrate;
pub(crate) mod moves;
pub(crate) mod reapers;
pub(crate) mod retention;
pub(crate) mod settle;
pub(crate) mod storm;
pub(crate) mod submit;
pub(crate) mod watch;
pub(crate) mod webhooks;

/// Runs the whole suite over places that `$place` makes.
macro_rules! conformance {
    ($place:expr, $empty:expr) => {
        conformance!(@all $place;
            submit: a_submission_is_there_with_its_event,
                what_callers_gave_comes_back_verbatim,
                a_repeated_key_gets_the_row_as_it_stands,
                a_key_with_another_body_is_a_mismatch,
                keys_are_scoped_by_tenant,
                concurrent_submissions_with_one_key_make_one_row,
                a_full_backlog_refuses_but_still_answers_repeated_keys,
                a_file_that_is_not_stored_refuses_the_whole_submission,
                each_commit_with_an_event_wakes_its_topic,
                text_that_no_database_holds_is_no_failure;
            claims: of_sixty_four_claims_one_wins,
                a_claim_carries_what_to_do,
                a_row_that_is_not_due_is_not_claimed,
                a_running_row_is_held,
                a_run_older_than_its_lease_is_lost,
                a_silent_run_is_lost,
                a_lost_row_without_attempts_fails_as_worker_lost,
                a_lost_claim_can_do_nothing,
                a_token_from_before_a_retry_by_hand_is_refused,
                a_heartbeat_tells_what_is_still_held,
                a_heartbeat_carries_progress,
                an_operator_can_force_a_reclaim;
            settle: success_keeps_the_result_and_says_so,
                failure_keeps_the_reason,
                of_two_successes_one_counts,
                a_result_that_is_not_json_changes_nothing,
                a_requeued_row_is_due_after_its_delay,
                giving_back_does_not_use_up_the_attempt,
                every_transition_is_in_the_log,
                a_refused_transition_writes_no_event;
            cancel: a_queued_row_is_cancelled_at_once,
                delete_cancels_queued_rows_only,
                a_running_row_is_asked_to_stop,
                a_finished_row_is_not_cancellable,
                cancel_against_claim_has_one_winner,
                whatever_a_worker_writes_after_a_cancel_the_row_ends_cancelled,
                a_lost_row_whose_caller_cancelled_is_cancelled,
                a_retry_by_hand_starts_afresh,
                tenants_cannot_touch_each_other;
            leg: the_leg_goes_its_way_beside_the_extraction,
                of_many_leg_claims_one_wins,
                a_failed_leg_keeps_the_first_result,
                a_requeued_leg_is_due_after_its_delay,
                giving_back_a_leg_does_not_use_up_the_attempt,
                a_lost_leg_is_claimed_again_and_the_old_claim_can_do_nothing,
                a_lost_leg_without_attempts_fails_as_worker_lost,
                a_leg_that_was_not_wanted_cannot_be_started;
            moves: every_method_makes_exactly_the_moves_of_the_contract,
                every_leg_method_makes_exactly_the_moves_of_the_contract;
            lists: a_list_is_newest_first_and_counts_everything,
                filters_are_joined_by_and,
                times_are_inclusive,
                keys_and_tenants_narrow_a_list,
                counts_follow_the_rows;
            liveness: the_row_of_a_dead_worker_can_be_claimed_at_once,
                the_row_of_a_live_worker_cannot_be_taken,
                a_dead_worker_is_found_by_the_sweep_once,
                a_worker_that_signs_off_is_not_found_dead,
                a_worker_that_registers_twice_is_two_workers,
                a_killed_process_loses_its_claims_at_once;
            reapers: each_class_is_found_by_its_signature,
                a_legitimate_backlog_gets_no_second_event,
                an_event_that_was_lost_is_announced_again,
                an_orphan_that_moved_on_is_left_alone,
                pages_of_orphans_follow_each_other;
            webhooks: no_callback_no_delivery,
                each_webhook_event_writes_its_delivery,
                a_delivery_is_claimed_by_one_worker,
                a_lost_delivery_cannot_be_settled,
                a_kept_delivery_stays_with_its_deliverer_and_a_lost_one_is_not_kept,
                a_retried_delivery_is_due_after_its_delay,
                a_full_receiver_is_left_alone,
                a_delivery_can_be_given_back,
                a_redelivery_posts_the_same_bytes;
            blobs: bytes_come_back_as_they_went_in,
                the_same_bytes_are_stored_once,
                concurrent_uploads_of_the_same_bytes_are_one_blob,
                an_upload_that_breaks_leaves_nothing,
                blobs_can_lie_in_a_directory;
            retention: finished_extractions_go_after_their_time,
                a_blob_goes_with_its_last_reference,
                what_is_not_settled_stays,
                zero_days_keep_for_ever;
            storm: the_books_balance_after_a_storm;
            watch: a_watch_is_woken_by_a_change_in_this_process,
                a_watch_is_woken_by_a_change_in_another_store,
                a_watch_is_woken_when_the_row_goes;
        );
        conformance!(@all $empty; migrate: many_migrators_at_once_migrate_once;);
    };
    (@all $place:expr; $($module:ident: $($test:ident),+;)+) => {
        $(mod $module {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                $crate::conformance::$module::$test(&$place.await).await;
            })+
        })+
    };
}

pub(crate) use conformance;
