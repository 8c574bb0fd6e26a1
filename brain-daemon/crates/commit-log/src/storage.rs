//! The storage of an engine on this machine, and the faults that tests inject.

use std::time::Duration;

use crate::state::LogState;
use crate::{Error, NewBatch, Position};

/// Where an engine on this machine keeps its state, batches and chunks.
pub trait Storage: Send + Sync {
    /// Runs a change of the state and saves the state if the change succeeds. Other transactions
    /// wait. Deletes what the change put on the list of garbage.
    ///
    /// # Errors
    /// The error of the change; [`Error::File`] or [`Error::Unavailable`].
    #[doc(hidden)]
    fn write(&self, change: Change<'_>) -> Result<(), Error>;
    /// Returns a copy of the state.
    ///
    /// # Errors
    /// [`Error::File`] or [`Error::Unavailable`]
    #[doc(hidden)]
    fn state(&self) -> Result<State, Error>;
    /// Stores bytes durably under a name.
    ///
    /// # Errors
    /// [`Error::File`]
    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), Error>;
    /// Returns the bytes of a name.
    ///
    /// # Errors
    /// [`Error::File`]
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, Error>;
    /// Waits until another transaction may have been saved.
    fn wait(&self, timeout: Duration);
    /// Returns the fault that the next append must show.
    fn next_fault(&self, _expected: &Position, _batch: &NewBatch) -> Option<Fault> {
        None
    }
    /// Returns the name of the storage for messages.
    fn address(&self) -> String;
}

/// The state of a log, opaque outside of this crate.
#[doc(hidden)]
#[derive(Clone)]
pub struct State(pub(crate) LogState);

/// A change of the state.
pub(crate) type Change<'a> = &'a mut dyn FnMut(&mut State) -> Result<(), Error>;

/// What goes wrong with an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The log refuses the call. Nothing is appended, and the caller knows it.
    Unavailable,
    /// The connection breaks before the log has the request. The caller cannot know it.
    LostRequest,
    /// The connection breaks after the log has appended the batch.
    LostReply,
    /// The connection breaks, and the log carries out the request at [`crate::MemoryLog::deliver`].
    DelayedRequest,
}
