//! Binding the socket, or taking over the one that systemd bound, and letting the right people in.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use brain_protocol::{Fault, FaultCode};
use interprocess::local_socket::tokio::{Listener as Socket, Stream};
use interprocess::local_socket::traits::StreamCommon as _;
use interprocess::local_socket::traits::tokio::Listener as _;
use interprocess::local_socket::{GenericFilePath, ListenerOptions, ToFsName as _};
use interprocess::os::unix::local_socket::ListenerOptionsExt as _;
use interprocess::os::unix::uds_local_socket::tokio::Listener as UnixSocket;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::admission::Admission;
use super::session;
use crate::activation::Passed;
use brain_base::caller::Caller;
use brain_base::home::create_private_dir;
use brain_core::Brain;
use brain_core::config::Config;

/// How long accepting rests after a failure such as too many open files.
const REST: Duration = Duration::from_millis(50);
/// How often the daemon looks whether its socket is still the one that clients find.
const LOOK_EVERY: Duration = Duration::from_secs(3);
/// How many who may not come in are told why at the same time; more are just hung up on.
const REFUSALS: usize = 16;
/// How long a daemon that has let go of the store may still hold its socket: it is at its very end.
const LAST_BREATH: Duration = Duration::from_secs(1);

/// A listening socket. A file that we made goes when this does.
pub struct Listener {
    socket: Socket,
    admission: Admission,
    file: Option<File>,
}

/// A socket file that we made.
struct File {
    path: PathBuf,
    /// Device and inode: another daemon's file in its place is not ours to remove.
    id: (u64, u64),
}

impl Listener {
    /// Binds the socket at `path` with mode 0600. Only whoever holds the store may call this: a socket file that is
    /// there is then stale.
    ///
    /// # Errors
    /// When something else than a socket is there, somebody listens on it all the same (systemd, for a daemon that it
    /// would start), the path is too long, or the directory cannot be written.
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
                    return Err(taken(path));
                }
                std::fs::remove_file(path).map_err(|e| fail(&e))?;
            }
            Ok(_) => {
                let message =
                    format!("{} is there and is not a socket; it was left alone", path.display());
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
        let file = File { path: path.to_owned(), id: (meta.dev(), meta.ino()) };
        Ok(Self { socket, admission: Admission::owner(), file: Some(file) })
    }

    /// Serves a socket that systemd passed in, as it is: its file, its mode and its directory are not ours.
    ///
    /// # Errors
    /// When the socket cannot be used, or `daemon.allow_group` contradicts its file.
    pub fn adopt(passed: Passed, config: &Config) -> Result<Self, Fault> {
        let admission = Admission::passed(passed.path(), config)?;
        let place = passed.path().display().to_string();
        let socket = UnixSocket::try_from(OwnedFd::from(passed.into_listener())).map_err(|e| {
            Fault::new(
                FaultCode::Io,
                format!("cannot listen on {place}, which systemd passed in: {e}"),
            )
            .hint("systemctl restart brain-daemon.socket")
        })?;
        Ok(Self { socket: socket.into(), admission, file: None })
    }

    /// Whether another socket lies where ours was.
    fn is_displaced(&self) -> bool {
        let Some(file) = &self.file else { return false };
        std::fs::symlink_metadata(&file.path)
            .is_ok_and(|meta| meta.file_type().is_socket() && (meta.dev(), meta.ino()) != file.id)
    }
}

/// Whether a living process has the socket file at `path`; one that is about to end gets a moment.
///
/// It is asked with a socket of the wrong kind. The kernel refuses that differently when nobody is there, and whoever is
/// there does not notice: a real connection would make systemd start a daemon.
fn is_alive(path: &Path) -> bool {
    let Ok(probe) = UnixDatagram::unbound() else { return false };
    let begun = std::time::Instant::now();
    loop {
        let alive = match probe.connect(path) {
            Ok(()) => true,
            Err(e) => rustix::io::Errno::from_io_error(&e) == Some(rustix::io::Errno::PROTOTYPE),
        };
        if !alive || begun.elapsed() > LAST_BREATH {
            return alive;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn taken(path: &Path) -> Fault {
    let message = format!("somebody listens on {} who does not serve this home", path.display());
    Fault::new(FaultCode::Conflict, message).hint(
        "if it is systemd, the next command starts the daemon through it (`brain status`); to run one by hand: `brain service uninstall`, or set BRAIN_SOCKET to another path",
    )
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

/// Serves clients until `stop` is cancelled. Sessions run on `tracker` and end by themselves after that.
///
/// When every place is taken, sessions that have nothing to say give theirs up after a second. When another socket lies
/// where ours was, it cancels `stop`: systemd has begun to listen there, and waits for the store that we hold.
pub async fn serve(
    listener: Listener,
    brain: Arc<Brain>,
    tracker: TaskTracker,
    stop: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(brain.config().connections()));
    let refusals = Arc::new(Semaphore::new(REFUSALS));
    let (crowd, crowded) = watch::channel(false);
    let mut look = tokio::time::interval(LOOK_EVERY);
    loop {
        let stream = tokio::select! {
            () = stop.cancelled() => break,
            stream = listener.socket.accept() => stream,
            _ = look.tick() => {
                if listener.is_displaced() {
                    tracing::warn!("somebody else listens where clients look for this daemon: it ends");
                    stop.cancel();
                }
                continue;
            }
        };
        let stream = match stream {
            Ok(stream) => stream,
            Err(error) => {
                tracing::warn!(%error, "cannot accept");
                tokio::time::sleep(REST).await;
                continue;
            }
        };
        let caller = match identify(&stream, &listener.admission) {
            Ok(caller) => caller,
            Err(fault) => {
                if let Ok(place) = Arc::clone(&refusals).try_acquire_owned() {
                    tracker.spawn(async move {
                        session::refuse(stream, fault).await;
                        drop(place);
                    });
                }
                continue;
            }
        };
        crowd.send_replace(places.available_permits() == 0);
        let place = tokio::select! {
            () = stop.cancelled() => break,
            place = Arc::clone(&places).acquire_owned() => place,
        };
        let Ok(place) = place else { break };
        crowd.send_replace(false);
        let (brain, stop, crowded) = (Arc::clone(&brain), stop.clone(), crowded.clone());
        tracker.spawn(async move {
            session::run(stream, caller, brain, stop, crowded).await;
            drop(place);
        });
    }
}

/// The caller behind a connection, if they may come in.
fn identify(stream: &Stream, admission: &Admission) -> Result<Caller, Fault> {
    let uid = stream.peer_creds().map(|creds| creds.euid());
    let Ok(Some(uid)) = uid else {
        tracing::warn!(?uid, "a client without credentials was refused");
        return Err(Fault::new(FaultCode::Forbidden, "the daemon cannot tell who is asking"));
    };
    admission
        .caller(uid)
        .inspect_err(|_| tracing::warn!(uid, "a client of another user was refused"))
}
