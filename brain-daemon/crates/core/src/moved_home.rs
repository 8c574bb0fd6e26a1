//! Refuses writes to a home that was moved or removed while the daemon runs.
//!
//! The store's file stays open when its directory is moved, so the daemon would go on writing where
//! nobody finds it, and create everything else anew at the old place.

use brain_base::home::Home;
use brain_protocol::{Fault, FaultCode};

/// Refuses if the home is no longer at its path.
///
/// # Errors
/// [`FaultCode::ReadOnly`], with the way back.
pub(crate) fn check_home(home: &Home) -> Result<(), Fault> {
    if home.is_here() {
        return Ok(());
    }
    Err(Fault::new(FaultCode::ReadOnly, moved_home(home)).hint(way_back()))
}

/// Returns the hint of that refusal.
pub(crate) fn way_back() -> String {
    format!(
        "move it back, or end this daemon with `kill {}` and start it again with BRAIN_HOME set to the new place",
        std::process::id()
    )
}

/// Returns the message of that refusal.
pub(crate) fn moved_home(home: &Home) -> String {
    format!(
        "the home {} was moved, removed or replaced while the daemon ran; nothing is written there",
        home.root().display()
    )
}
