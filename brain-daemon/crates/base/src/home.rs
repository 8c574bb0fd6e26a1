//! The places of one brain: everything below its home, the socket, and the room on the disk they are on.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The home directory and what is in it. Two homes never share anything.
#[derive(Debug, Clone)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// `BRAIN_HOME`, else `~/.brain`. `None` when neither it nor `HOME` is set. The client has the same rule.
    #[must_use]
    pub fn from_environment() -> Option<Self> {
        let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let root = set("BRAIN_HOME").or_else(|| set("HOME").map(|home| home.join(".brain")))?;
        Some(Self::at(std::path::absolute(&root).unwrap_or(root)))
    }

    /// The home at `root`.
    #[must_use]
    pub fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// The directory itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `config.toml`.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// The store file.
    #[must_use]
    pub fn store(&self) -> PathBuf {
        self.root.join("brain.redb")
    }

    /// The full-text index. Derived: may be deleted.
    #[must_use]
    pub fn index(&self) -> PathBuf {
        self.root.join("index")
    }

    /// Models for vectors, a directory each.
    #[must_use]
    pub fn models(&self) -> PathBuf {
        self.root.join("models")
    }

    /// Runs of `brainstorm` and `lsd`, which can be gone on with.
    #[must_use]
    pub fn ideas(&self) -> PathBuf {
        self.root.join("ideas")
    }

    /// What paid services cost, one JSON line a step.
    #[must_use]
    pub fn costs(&self) -> PathBuf {
        self.root.join("costs.jsonl")
    }

    /// Markdown of the default source.
    #[must_use]
    pub fn pages(&self) -> PathBuf {
        self.root.join("pages")
    }

    /// Sockets and logs of a run.
    #[must_use]
    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    /// What the store was like when a daemon ended and had put every file on the disk.
    #[must_use]
    pub fn flushed(&self) -> PathBuf {
        self.run().join("flushed")
    }

    /// Secrets, one a file, for nobody but the owner.
    #[must_use]
    pub fn secrets(&self) -> PathBuf {
        self.root.join("secrets")
    }

    /// The socket, unless configured otherwise.
    #[must_use]
    pub fn default_socket(&self) -> PathBuf {
        self.run().join("brain.sock")
    }

    /// Makes the directories that must be there, for nobody but the owner. On a read-only file system they stay as they are.
    ///
    /// # Errors
    /// What the disk says.
    pub fn prepare(&self) -> io::Result<()> {
        make_private(&self.root)?;
        if self.is_read_only() {
            return Ok(());
        }
        make_private(&self.run())?;
        // Pages that cannot be written as files are stored all the same, and say so themselves.
        let _ = make_private(&self.pages());
        std::fs::set_permissions(self.run(), std::fs::Permissions::from_mode(0o700))
    }

    /// Whether the home is on a file system that is mounted read-only.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        rustix::fs::statvfs(&self.root)
            .is_ok_and(|stat| stat.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
    }

    /// The socket of a home that is on a read-only file system, in a directory of the owner's own that is made.
    ///
    /// # Errors
    /// What the disk says, or when somebody else has that directory.
    pub fn socket_outside(&self) -> io::Result<PathBuf> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let uid = rustix::process::geteuid().as_raw();
        let dir = brain_protocol::fallback_run_dir(&self.root, runtime.as_deref(), uid);
        make_private(&dir)?;
        let found = std::fs::symlink_metadata(&dir)?;
        if !found.is_dir() || found.uid() != uid || found.mode() & 0o077 != 0 {
            let message = format!("{} is not a directory of yours alone", dir.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        Ok(dir.join("brain.sock"))
    }
}

/// Makes a directory with mode 0700 if it is not there.
///
/// # Errors
/// What the disk says.
pub fn make_private(dir: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// How many bytes whoever runs this may still write to the disk that `place` is on.
///
/// # Errors
/// What the system says of `place`.
pub fn free_bytes(place: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(place)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}
