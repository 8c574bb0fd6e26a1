//! Read-only mode, for a brain on a read-only file system: nothing is written. The mode ends when
//! the file system becomes writable.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use brain_base::home::create_private_dir;

use crate::files::FileService;

impl FileService {
    /// Sets the path of the control socket. A second call has no effect.
    pub fn set_socket(&self, path: PathBuf) {
        let _ = self.socket.set(path);
    }

    /// Writes the path of the socket into the home if it is not the default path, so that clients
    /// find the socket. On a read-only file system, clients look outside of the home.
    pub fn record_socket_path(&self) {
        let Some(path) = self.socket.get().filter(|_| !self.home.is_read_only()) else { return };
        let path_file = self.home.run().join("socket");
        let result = match *path == self.home.default_socket() {
            true => match fs::remove_file(&path_file) {
                Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
                other => other,
            },
            false => create_private_dir(&self.home.run())
                .and_then(|()| fs::write(&path_file, format!("{}\n", path.display()))),
        };
        if let Err(error) = result {
            tracing::warn!(%error, file = %path_file.display(), "clients may not find the socket");
        }
    }

    /// Returns whether the store is read-only because of its file system.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.store.is_read_only()
    }

    /// Leaves read-only mode if the file system has become writable. For a timer.
    pub fn leave_read_only(&self) {
        self.store.leave_read_only();
        if !self.is_read_only() {
            self.record_socket_path();
            self.replay_outbox();
            tracing::info!("the file system is writable again");
        }
    }

    /// Returns the message of `status` and `doctor` about read-only mode.
    pub fn read_only_notice(&self) -> Option<String> {
        self.is_read_only().then(|| {
            format!(
                "{} is on a read-only file system: reads still work, writes are refused \
                 until it is writable",
                self.home.root().display()
            )
        })
    }
}
