//! A home that belongs to another user. Client and daemon use the same rules.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::{Fault, FaultCode};

/// Refuses to write as `user`, a user id, into `home` if that is root and `home`, or else the
/// nearest directory above that exists, belongs to another user: files that root makes there lock
/// that user out. One `sudo brain capture` with the user's `HOME` does so.
///
/// # Errors
/// [`FaultCode::ReadOnly`] with the owner and what to do.
pub fn refuse_root(home: &Path, user: u32) -> Result<(), Fault> {
    let found = home.ancestors().find_map(|dir| Some((dir, dir.metadata().ok()?.uid())));
    let Some((dir, owner)) = found.filter(|(_, owner)| user == 0 && *owner != 0) else {
        return Ok(());
    };
    let (dir, home) = (dir.display(), home.display());
    let message = format!(
        "{dir} belongs to the user with the number {owner}, and this is root: files that root \
         makes in {home} would lock that user out"
    );
    Err(Fault::new(FaultCode::ReadOnly, message).hint(
        "run the command without `sudo`; for a brain of root, set BRAIN_HOME to a directory of root",
    ))
}

/// Returns what to do if the home at `home` belongs to somebody else, perhaps because brain once ran
/// with `sudo`.
#[must_use]
pub fn own_home_hint(home: &Path) -> String {
    format!(
        "make it yours: `sudo chown -R \"$(id -un)\" {}`; or set BRAIN_HOME to another directory",
        home.display()
    )
}
