//! The stated mode in which a brain on a read-only file system is read: nothing is written, and it
//! ends by itself.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use brain_base::home::create_private_dir;

use crate::FileService;

impl FileService {
    /// Tells where the control socket is.
    pub fn set_socket(&self, path: PathBuf) {
        let _ = self.socket.set(path);
    }

    /// Leaves the socket's place in the home when it is not the usual one, so that clients find it.
    /// On a read-only file system they look for it outside.
    pub fn note_socket(&self) {
        let Some(path) = self.socket.get().filter(|_| !self.home.is_read_only()) else { return };
        let note = self.home.run().join("socket");
        let noted = match *path == self.home.default_socket() {
            true => match fs::remove_file(&note) {
                Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
                other => other,
            },
            false => create_private_dir(&self.home.run())
                .and_then(|()| fs::write(&note, format!("{}\n", path.display()))),
        };
        if let Err(error) = noted {
            tracing::warn!(%error, note = %note.display(), "clients may not find the socket");
        }
    }

    /// Whether the store is read only, because of its file system.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.store.is_read_only()
    }

    /// Writes again, if the file system has become writable. For a timer.
    pub fn leave_read_only(&self) {
        self.store.leave_read_only();
        if !self.is_read_only() {
            self.note_socket();
            self.replay_outbox();
            tracing::info!("the file system is writable again");
        }
    }

    /// What `status` and `doctor` say about it.
    pub(crate) fn read_only_notice(&self) -> Option<String> {
        self.is_read_only().then(|| {
            format!(
                "{} is on a read-only file system: reading goes on, writes are refused until it is writable",
                self.home.root().display()
            )
        })
    }
}
