//! Paths of one brain: its home directory, its socket, and free space on their disk.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brain_protocol::SyncedFolder;
use rustix::io::Errno;

/// The home directory and the paths in it. Two homes share nothing.
#[derive(Debug, Clone)]
pub struct Home {
    root: PathBuf,
    /// The open directory, which stays the same after a move; see [`Home::keep_open`].
    directory: Option<Arc<File>>,
}

impl Home {
    /// Returns `BRAIN_HOME`, else `~/.brain`; `None` if neither variable is set. The client
    /// uses the same rule.
    #[must_use]
    pub fn from_environment() -> Option<Self> {
        let variable =
            |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let root =
            variable("BRAIN_HOME").or_else(|| variable("HOME").map(|home| home.join(".brain")))?;
        Some(Self::at(std::path::absolute(&root).unwrap_or(root)))
    }

    /// Returns the home at `root`.
    #[must_use]
    pub fn at(root: PathBuf) -> Self {
        Self { root, directory: None }
    }

    /// Returns the directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of `config.toml`.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// Returns the path of the store.
    #[must_use]
    pub fn store(&self) -> PathBuf {
        self.root.join("brain.redb")
    }

    /// Returns the path of the kept copy of the store: whole and recent, for backup programs.
    #[must_use]
    pub fn kept_copy(&self) -> PathBuf {
        self.root.join("kept").join("brain.redb")
    }

    /// Returns the directory of the full-text index. It is derived and may be deleted.
    #[must_use]
    pub fn index(&self) -> PathBuf {
        self.root.join("index")
    }

    /// Returns the directory of embedding models.
    #[must_use]
    pub fn models(&self) -> PathBuf {
        self.root.join("models")
    }

    /// Returns the directory of `brainstorm` and `lsd` runs, which can be resumed.
    #[must_use]
    pub fn ideas(&self) -> PathBuf {
        self.root.join("ideas")
    }

    /// Returns the path of the cost ledger.
    #[must_use]
    pub fn costs(&self) -> PathBuf {
        self.root.join("costs.jsonl")
    }

    /// Returns the path of the newest lines of the log of outgoing requests.
    #[must_use]
    pub fn left(&self) -> PathBuf {
        self.root.join("left.jsonl")
    }

    /// Returns the directory of the default source.
    #[must_use]
    pub fn pages(&self) -> PathBuf {
        self.root.join("pages")
    }

    /// Returns the directory of sockets, logs and the shutdown record.
    #[must_use]
    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    /// Returns the directory of files that a browser sent for an import.
    #[must_use]
    pub fn uploads(&self) -> PathBuf {
        self.run().join("uploads")
    }

    /// Returns the directory of copies of past states, which exist while they are used.
    #[must_use]
    pub fn past(&self) -> PathBuf {
        self.run().join("past")
    }

    /// Returns the path of the record of a clean shutdown: the store's state with all files
    /// flushed.
    #[must_use]
    pub fn shutdown_record(&self) -> PathBuf {
        self.run().join("flushed")
    }

    /// Returns the directory of secrets, one file each, readable by the owner only.
    #[must_use]
    pub fn secrets(&self) -> PathBuf {
        self.root.join("secrets")
    }

    /// Returns the path of this machine's place in a shared brain.
    #[must_use]
    pub fn machines(&self) -> PathBuf {
        self.root.join("machines.json")
    }

    /// Returns the path of the file with the places of the sources' directories.
    #[must_use]
    pub fn places(&self) -> PathBuf {
        self.root.join("places.json")
    }

    /// Returns the directory of the attachments of pages.
    #[must_use]
    pub fn attachments(&self) -> PathBuf {
        self.root.join("attachments")
    }

    /// Returns the default path of the socket.
    #[must_use]
    pub fn default_socket(&self) -> PathBuf {
        self.run().join("brain.sock")
    }

    /// Creates the home, `run` and `pages` with mode 0700. Creates nothing in a home on a read-only
    /// file system.
    ///
    /// # Errors
    /// The I/O error if the home or `run` cannot be created, or if the mode of `run` cannot be set.
    pub fn prepare(&self) -> io::Result<()> {
        create_private_dir(&self.root)?;
        if self.is_read_only() {
            return Ok(());
        }
        create_private_dir(&self.run())?;
        // The store keeps pages even if their files cannot be written; writes of pages report that.
        let _ = create_private_dir(&self.pages());
        std::fs::set_permissions(self.run(), std::fs::Permissions::from_mode(0o700))
    }

    /// Returns the directories that [`Home::prepare`] would create, inner ones first.
    #[must_use]
    pub fn missing_directories(&self) -> Vec<PathBuf> {
        let is_missing = |dir: &Path| std::fs::symlink_metadata(dir).is_err();
        let inner = [self.run(), self.pages()].into_iter().filter(|dir| is_missing(dir));
        let outer = self.root.ancestors().take_while(|dir| is_missing(dir)).map(Path::to_owned);
        inner.chain(outer).collect()
    }

    /// Keeps the directory open, so that [`Home::has_moved`] detects a move or replacement.
    ///
    /// # Errors
    /// The I/O error if the directory cannot be opened.
    pub fn keep_open(self) -> io::Result<Self> {
        let directory = Some(Arc::new(File::open(&self.root)?));
        Ok(Self { directory, ..self })
    }

    /// Returns whether the path of the home no longer leads to the open directory. Always `false`
    /// without [`Home::keep_open`].
    #[must_use]
    pub fn has_moved(&self) -> bool {
        !self.is_at(&self.root)
    }

    /// Returns whether `path` leads to the open directory. Without [`Home::keep_open`], returns
    /// whether `path` is the path of the home.
    #[must_use]
    pub fn is_at(&self, path: &Path) -> bool {
        let id = |meta: Metadata| (meta.dev(), meta.ino());
        let Some(directory) = &self.directory else { return path == self.root };
        match (directory.metadata(), std::fs::metadata(path)) {
            (Ok(directory), Ok(target)) => id(directory) == id(target),
            _ => false,
        }
    }

    /// Returns the folder of a sync program that is the home or contains it.
    #[must_use]
    pub fn synced_folder(&self) -> Option<SyncedFolder> {
        let root = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        SyncedFolder::around(&root, |dir| {
            let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
        })
    }

    /// Returns whether the home is on a read-only file system.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        use rustix::fs::{Mode, OFlags, StatVfsMountFlags, open, statvfs};
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        // A file system that became read-only after an I/O error may not report this flag. So this
        // also tries to create an unnamed file, which the kernel removes when it is closed.
        statvfs(&self.root).is_ok_and(|stat| stat.f_flag.contains(StatVfsMountFlags::RDONLY))
            || open(&self.root, flags, Mode::RUSR).is_err_and(|error| error == Errno::ROFS)
    }

    /// Returns whether `run` can hold a socket: file systems without sockets refuse with EPERM,
    /// EIO, ENOSYS or ERANGE. Asks a directory above it if `run` does not exist yet.
    #[must_use]
    pub fn holds_sockets(&self) -> bool {
        let run = self.run();
        let dir = run.ancestors().find(|dir| dir.is_dir()).unwrap_or(&run);
        let probe = dir.join(format!(".brain-probe-{}", std::process::id()));
        match UnixDatagram::bind(&probe) {
            Ok(_) => std::fs::remove_file(&probe).is_ok(),
            // The path is too long, which another file system does not change.
            Err(e) => e.kind() == io::ErrorKind::InvalidInput,
        }
    }

    /// Returns the socket path for a home that cannot hold one, and creates its directory.
    ///
    /// # Errors
    /// The I/O error if the directory cannot be created. `PermissionDenied` if the directory is not
    /// private to this user.
    pub fn socket_outside(&self) -> io::Result<PathBuf> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let uid = rustix::process::geteuid().as_raw();
        let dir = brain_protocol::fallback_run_dir(&self.root, runtime.as_deref(), uid);
        create_private_dir(&dir)?;
        let metadata = std::fs::symlink_metadata(&dir)?;
        if !metadata.is_dir() || metadata.uid() != uid || metadata.mode() & 0o077 != 0 {
            let message = format!("{} is not a private directory of this user", dir.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        Ok(dir.join("brain.sock"))
    }
}

/// Creates a directory with mode 0700 if it does not exist.
///
/// # Errors
/// The I/O error if the directory cannot be created.
pub fn create_private_dir(dir: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Returns the bytes that this user can still write to the disk of `path`.
///
/// # Errors
/// The I/O error if the file system of `path` cannot be queried.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn prepared_home_is_private_and_complete() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("new/home"));
        assert_eq!(
            home.missing_directories(),
            [home.run(), home.pages(), home.root().to_owned(), dir.path().join("new")]
        );
        home.prepare().unwrap();
        assert_eq!(home.missing_directories(), Vec::<PathBuf>::new());
        fs::set_permissions(home.run(), fs::Permissions::from_mode(0o755)).unwrap();
        home.prepare().unwrap();
        assert_eq!([home.root(), &home.run(), &home.pages()].map(mode), [0o700; 3]);
    }

    #[test]
    fn open_home_notices_that_it_was_moved_or_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (path, moved) = (dir.path().join("home"), dir.path().join("moved"));
        fs::create_dir(&path).unwrap();
        let home = Home::at(path.clone()).keep_open().unwrap();
        assert!(!home.has_moved());
        fs::rename(&path, &moved).unwrap();
        assert!(home.has_moved() && home.is_at(&moved));
        fs::create_dir(&path).unwrap();
        assert!(home.has_moved(), "another directory has the path");
        let closed = Home::at(path.clone());
        assert!(closed.is_at(&path) && !closed.is_at(&moved) && !closed.has_moved());
    }

    #[test]
    fn socket_probe_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().to_owned());
        assert!(home.holds_sockets() && !home.is_read_only());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        // The kernel's files are on a file system without sockets.
        assert!(!Home::at("/proc/self/none".into()).holds_sockets());
    }

    #[test]
    fn free_bytes_are_those_of_the_disk() {
        let stat = rustix::fs::statvfs("/").unwrap();
        let free = free_bytes(Path::new("/")).unwrap();
        assert!(free <= stat.f_blocks * stat.f_frsize, "{free}");
        assert_eq!(free_bytes(Path::new("/proc")).unwrap(), 0);
        assert!(free_bytes(Path::new("/none")).is_err());
    }
}
