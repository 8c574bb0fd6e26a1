//! Sockets that systemd hands over (socket activation), told apart by their names.
//!
//! A socket that is handed over is used as it is: whoever made it decides where it lies, who may open it and when it
//! goes. This module knows the names; what is served on a socket is its door's business.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use brain_protocol::{Fault, FaultCode};
use listenfd::ListenFd;

/// The name of the control socket: `FileDescriptorName=control` in the socket unit.
const CONTROL: &str = "control";

/// A listening socket of systemd's.
#[derive(Debug)]
pub struct Passed {
    listener: UnixListener,
    path: PathBuf,
}

impl Passed {
    /// Where its file lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The socket itself.
    #[must_use]
    pub fn into_listener(self) -> UnixListener {
        self.listener
    }
}

/// What was handed over.
#[derive(Debug, Default)]
pub struct Sockets {
    /// For the control protocol.
    pub control: Option<Passed>,
}

/// Takes the sockets that are meant for this process, by `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES`. To be called
/// once, before anything else opens files. A socket with an unknown name is left alone, with a warning.
///
/// # Errors
/// [`FaultCode::InvalidConfig`] when the variables contradict each other, or the control socket is not a Unix stream
/// socket with a file.
pub fn take() -> Result<Sockets, Fault> {
    let mut sockets = Sockets::default();
    let names = sd_notify::listen_fds_with_names().map_err(|e| unusable(&e.to_string()))?;
    if names.len() == 0 {
        return Ok(sockets);
    }
    let mut passed = ListenFd::from_env();
    for (at, (_, name)) in names.enumerate() {
        if name != CONTROL {
            tracing::warn!(name, "systemd passed in a socket that nobody here knows; it is not served");
            continue;
        }
        if sockets.control.is_some() {
            tracing::warn!(name, "systemd passed in more than one of these; the first one is served");
            continue;
        }
        sockets.control = match passed.take_unix_listener(at) {
            Ok(Some(listener)) => Some(with_path(listener)?),
            Ok(None) => return Err(unusable("there are fewer sockets than names")),
            Err(error) => return Err(unusable(&error.to_string())),
        };
    }
    Ok(sockets)
}

fn with_path(listener: UnixListener) -> Result<Passed, Fault> {
    let address = listener.local_addr().map_err(|e| unusable(&e.to_string()))?;
    match address.as_pathname().map(Path::to_owned) {
        Some(path) => Ok(Passed { listener, path }),
        None => Err(unusable("the socket has no path")),
    }
}

fn unusable(why: &str) -> Fault {
    Fault::new(FaultCode::InvalidConfig, format!("what systemd passed in cannot be used: {why}"))
        .hint("the socket unit needs `ListenStream=` with a path and `FileDescriptorName=control`: `systemctl cat brain-daemon.socket`")
}
