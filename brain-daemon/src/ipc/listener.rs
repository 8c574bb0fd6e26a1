//! Binds the control socket, or uses one from systemd, and accepts clients.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use brain_protocol::{Command, Fault, FaultCode, hint};
use interprocess::local_socket::tokio::{Listener as Socket, Stream};
use interprocess::local_socket::traits::StreamCommon as _;
use interprocess::local_socket::traits::tokio::Listener as _;
use interprocess::local_socket::{GenericFilePath, ListenerOptions, ToFsName as _};
use interprocess::os::unix::local_socket::ListenerOptionsExt as _;
use interprocess::os::unix::uds_local_socket::tokio::Listener as UnixSocket;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::access_policy::AccessPolicy;
use super::session;
use crate::activation::PassedSocket;
use brain_base::caller::Caller;
use brain_base::home::create_private_dir;
use brain_config::Config;
use brain_core::Door;

/// The pause after a failure to accept, such as too many open files.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);
/// How often the daemon checks that its socket file was not replaced.
const DISPLACED_CHECK_EVERY: Duration = Duration::from_secs(3);
/// Maximum number of refused clients that get a reason at the same time. Others are disconnected.
const MAX_REFUSALS: usize = 16;
/// How long a daemon that has released the store may still listen on its socket.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// A listening socket. Its file is removed on drop if this process created it.
pub struct Listener {
    socket: Socket,
    policy: AccessPolicy,
    /// `None` for a socket from systemd.
    file: Option<SocketFile>,
}

/// A socket file that this process created.
struct SocketFile {
    path: PathBuf,
    /// Device and inode, so that another daemon's file is not removed.
    id: (u64, u64),
}

impl Listener {
    /// Binds the socket at `path` with mode 0600. The caller must hold the store's lock, so that
    /// an existing socket file is stale.
    ///
    /// # Errors
    /// [`FaultCode::Conflict`] if another process listens there, or the file is not a socket;
    /// [`FaultCode::Io`] if the path is too long or the directory cannot be written.
    pub fn bind(path: &Path) -> Result<Self, Fault> {
        let fail = |e: &io::Error| {
            Fault::new(FaultCode::Io, format!("cannot listen on {}: {e}", path.display()))
                .hint("set BRAIN_SOCKET to a path in a directory of yours, shorter than 108 bytes")
        };
        if let Some(dir) = path.parent() {
            create_private_dir(dir).map_err(|e| fail(&e))?;
        }
        match std::fs::symlink_metadata(path) {
            Ok(meta) if meta.file_type().is_socket() => {
                if is_alive(path) {
                    return Err(socket_in_use(path));
                }
                std::fs::remove_file(path).map_err(|e| fail(&e))?;
            }
            Ok(_) => {
                let message =
                    format!("{} exists and is not a socket; it was not changed", path.display());
                return Err(Fault::new(FaultCode::Conflict, message)
                    .hint("move it away, or set BRAIN_SOCKET to another path"));
            }
            Err(_) => {}
        }
        let name = path.to_fs_name::<GenericFilePath>().map_err(|e| fail(&e))?;
        let socket = ListenerOptions::new()
            .name(name)
            .mode(0o600)
            .reclaim_name(false)
            .create_tokio()
            .map_err(|e| fail(&e))?;
        let meta = std::fs::symlink_metadata(path).map_err(|e| fail(&e))?;
        let file = SocketFile { path: path.to_owned(), id: (meta.dev(), meta.ino()) };
        Ok(Self { socket, policy: AccessPolicy::owner_only(), file: Some(file) })
    }

    /// Adopts a socket that systemd passed in, without changing its file.
    ///
    /// # Errors
    /// [`FaultCode::Io`] if the socket cannot be used; [`FaultCode::InvalidConfig`] if the group
    /// `daemon.allow_group` does not exist or contradicts the socket's file.
    pub fn adopt(passed: PassedSocket, config: &Config) -> Result<Self, Fault> {
        let policy = AccessPolicy::for_systemd_socket(passed.path(), config)?;
        let path = passed.path().display().to_string();
        let socket = UnixSocket::try_from(OwnedFd::from(passed.into_listener())).map_err(|e| {
            Fault::new(
                FaultCode::Io,
                format!("cannot listen on {path}, which systemd passed in: {e}"),
            )
            .hint("systemctl restart brain-daemon.socket")
        })?;
        Ok(Self { socket: socket.into(), policy, file: None })
    }

    /// Returns whether another socket has replaced the file of this one.
    fn is_displaced(&self) -> bool {
        let Some(file) = &self.file else { return false };
        std::fs::symlink_metadata(&file.path)
            .is_ok_and(|meta| meta.file_type().is_socket() && (meta.dev(), meta.ino()) != file.id)
    }
}

/// Returns whether a process still listens on the socket at `path` after [`SHUTDOWN_GRACE`].
/// Returns earlier if none does.
///
/// Connects with a datagram socket. The error of the kernel tells whether there is a listener. The
/// listener does not notice the attempt; a real connection would make systemd start a daemon.
fn is_alive(path: &Path) -> bool {
    let Ok(probe) = UnixDatagram::unbound() else { return false };
    let start = std::time::Instant::now();
    loop {
        let alive = match probe.connect(path) {
            Ok(()) => true,
            Err(e) => rustix::io::Errno::from_io_error(&e) == Some(rustix::io::Errno::PROTOTYPE),
        };
        if !alive || start.elapsed() > SHUTDOWN_GRACE {
            return alive;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn socket_in_use(path: &Path) -> Fault {
    let message =
        format!("another process listens on {} and does not serve this home", path.display());
    Fault::new(FaultCode::Conflict, message).hint(hint!(
        "if it is systemd, the next command starts the daemon through it ({}); to run one by hand: \
         {}, or set BRAIN_SOCKET to another path",
        Command::Status,
        Command::ServiceUninstall
    ))
}

impl Drop for Listener {
    fn drop(&mut self) {
        let Some(file) = &self.file else { return };
        if std::fs::symlink_metadata(&file.path)
            .is_ok_and(|meta| (meta.dev(), meta.ino()) == file.id)
        {
            let _ = std::fs::remove_file(&file.path);
        }
    }
}

/// Serves clients until `stop` is cancelled. Sessions run on `tracker`, and end soon after that.
///
/// While a client waits because the connection limit is reached, sessions that are idle for a
/// second are closed. When another process replaces the socket's file, `stop` is cancelled: usually
/// systemd listens there now, and its daemon waits for the store's lock.
pub async fn serve(listener: Listener, brain: Door, tracker: TaskTracker, stop: CancellationToken) {
    let permits = Arc::new(Semaphore::new(brain.config().daemon.connections));
    let refusals = Arc::new(Semaphore::new(MAX_REFUSALS));
    let (set_full, has_waiting_clients) = watch::channel(false);
    let mut check = tokio::time::interval(DISPLACED_CHECK_EVERY);
    loop {
        let stream = tokio::select! {
            () = stop.cancelled() => break,
            stream = listener.socket.accept() => stream,
            _ = check.tick() => {
                if listener.is_displaced() {
                    tracing::warn!("another process took over the socket; stopping");
                    stop.cancel();
                }
                continue;
            }
        };
        let stream = match stream {
            Ok(stream) => stream,
            Err(error) => {
                tracing::warn!(%error, "cannot accept");
                tokio::time::sleep(ACCEPT_RETRY).await;
                continue;
            }
        };
        let caller = match identify(&stream, &listener.policy) {
            Ok(caller) => caller,
            Err(fault) => {
                if let Ok(permit) = Arc::clone(&refusals).try_acquire_owned() {
                    tracker.spawn(async move {
                        session::refuse(stream, fault).await;
                        drop(permit);
                    });
                }
                continue;
            }
        };
        set_full.send_replace(permits.available_permits() == 0);
        let permit = tokio::select! {
            () = stop.cancelled() => break,
            permit = Arc::clone(&permits).acquire_owned() => permit,
        };
        let Ok(permit) = permit else { break };
        set_full.send_replace(false);
        let (brain, stop, has_waiting_clients) =
            (brain.clone(), stop.clone(), has_waiting_clients.clone());
        tracker.spawn(async move {
            session::run(stream, caller, brain, stop, has_waiting_clients).await;
            drop(permit);
        });
    }
}

/// Returns the caller of a connection.
///
/// # Errors
/// [`FaultCode::Forbidden`] if its user has no access or is unknown.
fn identify(stream: &Stream, policy: &AccessPolicy) -> Result<Caller, Fault> {
    let uid = stream.peer_creds().map(|creds| creds.euid());
    let Ok(Some(uid)) = uid else {
        tracing::warn!(?uid, "a client without credentials was refused");
        return Err(Fault::new(
            FaultCode::Forbidden,
            "the daemon cannot find out the user of this client",
        ));
    };
    policy.caller(uid).inspect_err(|_| tracing::warn!(uid, "a client of another user was refused"))
}
