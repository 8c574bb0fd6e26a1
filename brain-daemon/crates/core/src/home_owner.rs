//! Refuses a home that belongs to another user, before anything is made in it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use brain_base::home::Home;
use brain_protocol::{Fault, FaultCode, own_home_hint, refuse_root};
use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::geteuid;

/// Checks that the daemon's user can use the home, and that root makes no files in the home of
/// somebody else.
///
/// # Errors
/// [`FaultCode::ReadOnly`] with the owner and what to do.
pub(crate) fn check_owner(home: &Home) -> Result<(), Fault> {
    let user = geteuid().as_raw();
    if !home.is_read_only() {
        refuse_root(home.root(), user)?;
    }
    let parts = [
        home.root().to_owned(),
        home.store(),
        home.config(),
        home.run(),
        home.pages(),
        home.index(),
        home.secrets(),
    ];
    for path in parts {
        // A read-only file system gives another error, and its home can be read.
        let is_denied = access(&path, Access::READ_OK | Access::WRITE_OK) == Err(Errno::ACCESS);
        if let Some(owner) = owner(&path).filter(|owner| is_denied && *owner != user) {
            return Err(locked_out(home, &path, owner));
        }
    }
    Ok(())
}

fn owner(path: &Path) -> Option<u32> {
    path.metadata().ok().map(|found| found.uid())
}

fn name_of(user: u32) -> String {
    if user == 0 { "root".into() } else { format!("the user with the number {user}") }
}

fn locked_out(home: &Home, path: &Path, owner: u32) -> Fault {
    let message = format!(
        "{} cannot be used: it belongs to {}; perhaps brain once ran with `sudo`",
        path.display(),
        name_of(owner)
    );
    Fault::new(FaultCode::ReadOnly, message).hint(own_home_hint(home.root()))
}
