//! The state of the kept copy in the memory of the daemon.

use std::time::Instant;

use brain_protocol::Fault;
use brain_store::StoreState;
use parking_lot::Mutex;

/// What the daemon knows about the kept copy.
#[derive(Default)]
pub(crate) struct KeptCopyState {
    /// Held while a copy is made.
    pub(super) known: Mutex<Known>,
    /// Why the last attempt failed.
    pub(super) failure: Mutex<Option<Fault>>,
}

#[derive(Default)]
pub(super) struct Known {
    /// The state of the store that the copy contains, and when it was made, in Unix milliseconds;
    /// `None` before the copy was read or made.
    pub(super) copy: Option<(StoreState, i64)>,
    /// No attempt is made before this time.
    pub(super) not_before: Option<Instant>,
}
