//! Takes the sockets that systemd passes in (socket activation), by their names.
//!
//! Paths, modes and lifetime of these sockets belong to systemd.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use brain_protocol::{Fault, FaultCode};
use listenfd::ListenFd;

/// The name of the control socket: `FileDescriptorName=control` in the socket unit.
const CONTROL: &str = "control";
/// The name of the socket for HTTP on this machine.
const HTTP_LOCAL: &str = "http-local";
/// The name of the socket for HTTP behind a tunnel.
const HTTP_PUBLIC: &str = "http-public";

/// The hint for an unusable control socket.
const UNIX_HINT: &str = "the socket unit needs `ListenStream=` with a path and \
                         `FileDescriptorName=control`: `systemctl cat brain-daemon.socket`";
/// The hint for an unusable HTTP socket.
const HTTP_HINT: &str = "the socket unit needs `ListenStream=` with an address and a port, and \
                         `FileDescriptorName=http-local` or `http-public`";

/// A Unix socket that systemd passed in.
#[derive(Debug)]
pub struct PassedSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl PassedSocket {
    /// Returns the path of its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the listener.
    #[must_use]
    pub fn into_listener(self) -> UnixListener {
        self.listener
    }
}

/// The sockets that systemd passed in.
#[derive(Debug, Default)]
pub struct Sockets {
    /// The socket of the control protocol.
    pub control: Option<PassedSocket>,
    /// The socket for HTTP on this machine.
    pub http_local: Option<TcpListener>,
    /// The socket for HTTP behind a tunnel.
    pub http_public: Option<TcpListener>,
}

/// Takes the sockets for this process, by `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES`.
///
/// Must be called once, before the process opens other files. Ignores sockets with unknown or
/// repeated names, with a warning.
///
/// # Errors
/// [`FaultCode::InvalidConfig`] if the variables are inconsistent, a socket has a wrong type, or
/// the control socket has no path.
pub fn take() -> Result<Sockets, Fault> {
    let mut sockets = Sockets::default();
    let names =
        sd_notify::listen_fds_with_names().map_err(|e| unusable(&e.to_string(), UNIX_HINT))?;
    if names.len() == 0 {
        return Ok(sockets);
    }
    let mut passed = ListenFd::from_env();
    for (at, (_, name)) in names.enumerate() {
        let is_duplicate = match name.as_str() {
            CONTROL => sockets.control.is_some(),
            HTTP_LOCAL => sockets.http_local.is_some(),
            HTTP_PUBLIC => sockets.http_public.is_some(),
            _ => {
                tracing::warn!(name, "socket from systemd has an unknown name; ignored");
                continue;
            }
        };
        if is_duplicate {
            tracing::warn!(name, "second socket of this name from systemd; ignored");
            continue;
        }
        match name.as_str() {
            HTTP_LOCAL => {
                sockets.http_local = Some(take_socket(passed.take_tcp_listener(at), HTTP_HINT)?);
            }
            HTTP_PUBLIC => {
                sockets.http_public = Some(take_socket(passed.take_tcp_listener(at), HTTP_HINT)?);
            }
            _ => {
                sockets.control =
                    Some(with_path(take_socket(passed.take_unix_listener(at), UNIX_HINT)?)?);
            }
        }
    }
    Ok(sockets)
}

fn take_socket<T>(socket: std::io::Result<Option<T>>, hint: &str) -> Result<T, Fault> {
    let socket = socket.map_err(|error| unusable(&error.to_string(), hint))?;
    socket.ok_or_else(|| unusable("there are fewer sockets than names", hint))
}

fn with_path(listener: UnixListener) -> Result<PassedSocket, Fault> {
    let address = listener.local_addr().map_err(|e| unusable(&e.to_string(), UNIX_HINT))?;
    match address.as_pathname().map(Path::to_owned) {
        Some(path) => Ok(PassedSocket { listener, path }),
        None => Err(unusable("the socket has no path", UNIX_HINT)),
    }
}

fn unusable(why: &str, hint: &str) -> Fault {
    Fault::new(FaultCode::InvalidConfig, format!("sockets from systemd cannot be used: {why}"))
        .hint(hint)
}
