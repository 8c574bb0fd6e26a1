//! One suite of properties over all engines, a model of replicas, and faults of PostgreSQL.
//!
//! `.ci/postgres cargo test -p brain-commit-log` starts the servers that some tests need. Without
//! them these tests are skipped.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod broken_connections;
mod model;
mod order;
mod poolers;
mod server_faults;
mod servers;
mod shared_state;
mod snapshots;
mod two_machines;
mod world;

use world::World;

/// Runs each property over each engine.
macro_rules! properties {
    ($($property:ident::$name:ident,)*) => {
        mod memory {
            $(#[test]
            fn $name() {
                crate::$property::$name(&crate::World::memory());
            })*
        }
        mod postgres {
            $(#[test]
            fn $name() {
                let Some(servers) = crate::servers::servers() else { return };
                let world = crate::servers::world(&servers, &servers.direct, true);
                crate::$property::$name(&world);
            })*
        }
        mod pgbouncer {
            $(#[test]
            fn $name() {
                let Some(servers) = crate::servers::servers() else { return };
                let world = crate::servers::world(&servers, &servers.pooler, false);
                crate::$property::$name(&world);
            })*
        }
        mod pgpool {
            $(#[test]
            fn $name() {
                let Some(servers) = crate::servers::servers() else { return };
                let Some(url) = crate::servers::pgpool() else { return };
                crate::$property::$name(&crate::servers::world(&servers, &url, false));
            })*
        }
    };
}

properties! {
    order::batches_have_consecutive_numbers,
    order::a_stale_head_is_refused,
    order::readers_see_acknowledged_batches,
    order::one_of_two_simultaneous_appends_wins,
    order::an_append_can_be_repeated,
    order::reads_stop_at_their_limits,
    order::a_batch_above_the_limit_is_read_alone,
    order::a_position_of_another_history_is_refused,
    order::waiting_ends_at_a_new_batch,
    order::waiting_ends_at_its_limit,
    order::an_old_program_cannot_write,
    order::an_old_program_cannot_read,
    order::too_large_input_is_refused,
    shared_state::a_lease_has_one_holder,
    shared_state::an_expired_lease_gets_a_new_number,
    shared_state::a_released_lease_is_free,
    shared_state::a_new_process_takes_its_own_lease,
    shared_state::a_fenced_batch_is_refused,
    shared_state::a_removed_machine_cannot_append,
    shared_state::names_of_machines_are_unique,
    shared_state::keys_are_replaced_once,
    snapshots::a_snapshot_is_stored_in_chunks,
    snapshots::an_incomplete_snapshot_is_not_completed,
    snapshots::compaction_waits_for_machines,
    snapshots::compaction_does_not_wait_for_silent_machines,
    snapshots::the_last_snapshot_is_kept,
}
