//! Binding the socket and letting the right people in.

use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use brain_protocol::{Fault, FaultCode};
use interprocess::local_socket::tokio::{Listener as Socket, Stream};
use interprocess::local_socket::traits::StreamCommon as _;
use interprocess::local_socket::traits::tokio::Listener as _;
use interprocess::local_socket::{GenericFilePath, ListenerOptions, ToFsName as _};
use interprocess::os::unix::local_socket::ListenerOptionsExt as _;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::session;
use crate::brain::Brain;
use crate::caller::Caller;
use crate::home::make_private;

/// How long accepting rests after a failure such as too many open files.
const REST: Duration = Duration::from_millis(50);

/// A bound socket. Its file goes when this does.
pub struct Listener {
    socket: Socket,
    path: PathBuf,
    /// Device and inode of our file: another daemon's file in its place is not ours to remove.
    file: (u64, u64),
}

impl Listener {
    /// Binds the socket at `path` with mode 0600. Only whoever holds the store may call this: a socket file that is
    /// there is then stale.
    ///
    /// # Errors
    /// When something else than a socket is there, the path is too long, or the directory cannot be written.
    pub fn bind(path: &Path) -> Result<Self, Fault> {
        let fail = |e: &io::Error| {
            Fault::new(FaultCode::Io, format!("cannot listen on {}: {e}", path.display()))
                .hint("set BRAIN_SOCKET to a path in a directory of yours, shorter than 108 bytes")
        };
        if let Some(dir) = path.parent() {
            make_private(dir).map_err(|e| fail(&e))?;
        }
        match std::fs::symlink_metadata(path) {
            Ok(meta) if meta.file_type().is_socket() => std::fs::remove_file(path).map_err(|e| fail(&e))?,
            Ok(_) => {
                let message = format!("{} is there and is not a socket; it was left alone", path.display());
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
        Ok(Self { socket, path: path.to_owned(), file: (meta.dev(), meta.ino()) })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if std::fs::symlink_metadata(&self.path).is_ok_and(|meta| (meta.dev(), meta.ino()) == self.file) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Serves clients until `stop` is cancelled. Sessions run on `tracker` and end by themselves after that.
///
/// When every place is taken, sessions that have nothing to say give theirs up after a second.
pub async fn serve(listener: Listener, brain: Arc<Brain>, tracker: TaskTracker, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(brain.config().connections()));
    let (crowd, crowded) = watch::channel(false);
    loop {
        let stream = tokio::select! {
            () = stop.cancelled() => break,
            stream = listener.socket.accept() => stream,
        };
        let stream = match stream {
            Ok(stream) => stream,
            Err(error) => {
                tracing::warn!(%error, "cannot accept");
                tokio::time::sleep(REST).await;
                continue;
            }
        };
        let Some(caller) = identify(&stream) else { continue };
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

/// The caller behind a connection: the owner of the daemon, or root. Nobody else gets in.
fn identify(stream: &Stream) -> Option<Caller> {
    let uid = match stream.peer_creds() {
        Ok(creds) => creds.euid()?,
        Err(error) => {
            tracing::warn!(%error, "a client without credentials was refused");
            return None;
        }
    };
    if uid == 0 || uid == rustix::process::geteuid().as_raw() {
        return Some(Caller::local(uid));
    }
    tracing::warn!(uid, "a client of another user was refused");
    None
}
