//! Detects a home that was moved, removed or replaced while the daemon runs, to refuse writes.
//!
//! The store's file stays open when its directory is moved. Without this check, the daemon would
//! write into the moved store, and create all other files again at the old path.

use brain_base::home::Home;
use brain_protocol::{Fault, FaultCode};

/// Checks that the home is still at its path.
///
/// # Errors
/// [`FaultCode::ReadOnly`] if the home was moved, removed or replaced.
pub(crate) fn check_home(home: &Home) -> Result<(), Fault> {
    if !home.has_moved() {
        return Ok(());
    }
    Err(Fault::new(FaultCode::ReadOnly, moved_home_message(home)).hint(move_back_hint()))
}

/// Returns the hint for a moved home.
pub(crate) fn move_back_hint() -> String {
    format!(
        "move it back, or end this daemon with `kill {}` and start it again with BRAIN_HOME set to \
         the new place",
        std::process::id()
    )
}

/// Returns the message for a moved home.
pub(crate) fn moved_home_message(home: &Home) -> String {
    format!(
        "the home {} was moved, removed or replaced while the daemon ran; nothing is written there",
        home.root().display()
    )
}
