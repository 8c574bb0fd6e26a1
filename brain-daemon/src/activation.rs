//! Sockets that systemd hands over (socket activation), told apart by their names.
//!
//! A socket that is handed over is used as it is: whoever made it decides where it lies, who may open it and when it
//! goes. This module knows the names; what is served on a socket is its door's business.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use brain_protocol::{Fault, FaultCode};
use listenfd::ListenFd;

/// The name of the control socket: `FileDescriptorName=control` in the socket unit.
const CONTROL: &str = "control";
/// The name of the socket for HTTP on this machine, and of the one for a tunnel.
const HTTP_LOCAL: &str = "http-local";
const HTTP_PUBLIC: &str = "http-public";

/// What helps when a socket cannot be used.
const UNIX: &str = "the socket unit needs `ListenStream=` with a path and `FileDescriptorName=control`: `systemctl cat brain-daemon.socket`";
const HTTP: &str = "the socket unit needs `ListenStream=` with an address and a port, and `FileDescriptorName=http-local` or `http-public`";

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
    /// For HTTP on this machine.
    pub http_local: Option<TcpListener>,
    /// For HTTP behind a tunnel.
    pub http_public: Option<TcpListener>,
}

/// Takes the sockets that are meant for this process, by `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES`. To be called
/// once, before anything else opens files. A socket with an unknown name is left alone, with a warning.
///
/// # Errors
/// [`FaultCode::InvalidConfig`] when the variables contradict each other, the control socket is not a Unix stream
/// socket with a file, or another one is not a TCP socket.
pub fn take() -> Result<Sockets, Fault> {
    let mut sockets = Sockets::default();
    let names = sd_notify::listen_fds_with_names().map_err(|e| unusable(&e.to_string(), UNIX))?;
    if names.len() == 0 {
        return Ok(sockets);
    }
    let mut passed = ListenFd::from_env();
    for (at, (_, name)) in names.enumerate() {
        let taken = match name.as_str() {
            CONTROL => sockets.control.is_some(),
            HTTP_LOCAL => sockets.http_local.is_some(),
            HTTP_PUBLIC => sockets.http_public.is_some(),
            _ => {
                tracing::warn!(
                    name,
                    "systemd passed in a socket that nobody here knows; it is not served"
                );
                continue;
            }
        };
        if taken {
            tracing::warn!(
                name,
                "systemd passed in more than one of these; the first one is served"
            );
            continue;
        }
        match name.as_str() {
            HTTP_LOCAL => sockets.http_local = Some(there(passed.take_tcp_listener(at), HTTP)?),
            HTTP_PUBLIC => sockets.http_public = Some(there(passed.take_tcp_listener(at), HTTP)?),
            _ => sockets.control = Some(with_path(there(passed.take_unix_listener(at), UNIX)?)?),
        }
    }
    Ok(sockets)
}

fn there<T>(taken: std::io::Result<Option<T>>, hint: &str) -> Result<T, Fault> {
    let taken = taken.map_err(|error| unusable(&error.to_string(), hint))?;
    taken.ok_or_else(|| unusable("there are fewer sockets than names", hint))
}

fn with_path(listener: UnixListener) -> Result<Passed, Fault> {
    let address = listener.local_addr().map_err(|e| unusable(&e.to_string(), UNIX))?;
    match address.as_pathname().map(Path::to_owned) {
        Some(path) => Ok(Passed { listener, path }),
        None => Err(unusable("the socket has no path", UNIX)),
    }
}

fn unusable(why: &str, hint: &str) -> Fault {
    Fault::new(FaultCode::InvalidConfig, format!("what systemd passed in cannot be used: {why}"))
        .hint(hint)
}
