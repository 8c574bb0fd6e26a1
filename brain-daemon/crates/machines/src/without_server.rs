//! Stands in for the log in PostgreSQL in a program that is built without it.
//!
//! It has the same functions as the module `server`, which fail here; the service then keeps a
//! shared store read-only.

use std::sync::Arc;

use brain_base::outgoing::OutgoingLog;
use brain_base::random::RandomSource;
use brain_commit_log::{BrainId, Engine, Error};

use crate::ServerSecrets;

/// Refuses to open a log.
///
/// # Errors
/// [`Error::NotBuilt`], always.
pub(crate) fn open_log(
    _secrets: &ServerSecrets,
    _namespace: &str,
    _listens: bool,
    _parts: (Arc<dyn RandomSource>, Arc<dyn OutgoingLog>),
) -> Result<Arc<dyn Engine>, Error> {
    Err(Error::NotBuilt)
}

/// Refuses to create a log.
///
/// # Errors
/// [`Error::NotBuilt`], always.
pub(crate) fn create_log(
    _secrets: &ServerSecrets,
    _namespace: &str,
    _brain: BrainId,
    _parts: (Arc<dyn RandomSource>, Arc<dyn OutgoingLog>),
) -> Result<Arc<dyn Engine>, Error> {
    Err(Error::NotBuilt)
}
