//! Paths of the home, the socket and the daemon's log (see `docs/configuration.md`).

use std::{
    env,
    fs::{self, DirBuilder},
    io::ErrorKind,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

use brain_protocol::{Fault, FaultCode, SyncedFolder, fallback_run_dir, refuse_root};
use rustix::io::Errno;

use crate::fail;

/// The home directory of a brain.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    dir: PathBuf,
    socket: Option<PathBuf>,
}

impl Home {
    /// Returns the home: `BRAIN_HOME`, or `~/.brain`. The daemon uses the same rule.
    ///
    /// # Errors
    /// `invalid_config` if neither `BRAIN_HOME` nor `HOME` is set.
    pub(crate) fn find() -> Result<Self, Fault> {
        let dir = match path_variable("BRAIN_HOME") {
            Some(dir) => dir,
            None => path_variable("HOME").map(|home| home.join(".brain")).ok_or_else(|| {
                Fault::new(FaultCode::InvalidConfig, "neither BRAIN_HOME nor HOME is set")
                    .hint("set the directory of the brain: export BRAIN_HOME=/path/to/brain")
            })?,
        };
        Ok(Self { dir: absolute(dir), socket: path_variable("BRAIN_SOCKET").map(absolute) })
    }

    /// Returns the home at `dir`, whatever the environment says.
    pub(crate) fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), socket: None }
    }

    /// Returns whether the home has a store, which the first start of a daemon creates.
    pub(crate) fn has_store(&self) -> bool {
        self.dir.join("brain.redb").exists()
    }

    /// Returns the folder of a sync program that is the home or contains it.
    pub(crate) fn synced_folder(&self) -> Option<SyncedFolder> {
        let dir = self.dir.canonicalize().unwrap_or_else(|_| self.dir.clone());
        SyncedFolder::around(&dir, |dir| {
            let entries = fs::read_dir(dir).into_iter().flatten().flatten();
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
        })
    }

    /// Returns the absolute path of the directory.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the directory of the socket, the lock and the log.
    pub(crate) fn run_dir(&self) -> PathBuf {
        match self.is_read_only() {
            true => self.read_only_run_dir(),
            false => self.dir.join("run"),
        }
    }

    /// Returns whether the home is on a read-only file system.
    fn is_read_only(&self) -> bool {
        use rustix::fs::{Mode, OFlags, StatVfsMountFlags, open, statvfs};
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        // A file system that became read-only after an I/O error may not report this flag. So this
        // also tries to create an unnamed file, which the kernel removes when it is closed.
        statvfs(&self.dir).is_ok_and(|stat| stat.f_flag.contains(StatVfsMountFlags::RDONLY))
            || open(&self.dir, flags, Mode::RUSR).is_err_and(|error| error == Errno::ROFS)
    }

    /// Returns the directory that replaces `run` for a read-only home.
    fn read_only_run_dir(&self) -> PathBuf {
        let uid = rustix::process::geteuid().as_raw();
        fallback_run_dir(&self.dir, path_variable("XDG_RUNTIME_DIR").as_deref(), uid)
    }

    /// Returns the absolute path in `BRAIN_SOCKET`.
    pub(crate) fn socket_override(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// Returns the path of the daemon's socket: `BRAIN_SOCKET`, else the socket in the fallback
    /// directory of a read-only home, else the path in `run/socket`, else `run/brain.sock`.
    ///
    /// A daemon writes `run/socket` when it starts, if its configuration names another socket. So
    /// callers must call this function again before each attempt to connect.
    pub(crate) fn socket(&self) -> PathBuf {
        if let Some(socket) = &self.socket {
            return socket.clone();
        }
        // A daemon that started before the home became read-only still listens in `run`.
        let run_dir = self.read_only_run_dir();
        let socket = run_dir.join("brain.sock");
        if is_private(&run_dir) && fs::symlink_metadata(&socket).is_ok() && self.is_read_only() {
            return socket;
        }
        let run = self.dir.join("run");
        match fs::read_to_string(run.join("socket")) {
            Ok(path) if !path.trim().is_empty() => run.join(path.trim_end_matches(['\r', '\n'])),
            _ => run.join("brain.sock"),
        }
    }

    /// Returns the path of the log: standard error of daemons that a client started.
    pub(crate) fn log(&self) -> PathBuf {
        self.run_dir().join("daemon.log")
    }

    /// Creates the home and its run directory, if missing, with access only for the owner.
    ///
    /// # Errors
    /// `io`, `disk_full` or `read_only` if a directory cannot be created; `forbidden` if other
    /// users can access the existing fallback directory; as [`refuse_root`].
    pub(crate) fn prepare(&self) -> Result<(), Fault> {
        let run = self.run_dir();
        if run == self.dir.join("run") {
            refuse_root(&self.dir, rustix::process::geteuid().as_raw())?;
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&run).map_err(|e| {
            let fault = match e.kind() {
                ErrorKind::AlreadyExists | ErrorKind::NotADirectory => Fault::new(
                    FaultCode::Io,
                    format!(
                        "cannot create {}: a part of this path is not a directory",
                        run.display()
                    ),
                ),
                _ => fail::file("create", &run, &e),
            };
            fault.hint("set BRAIN_HOME to a directory that you can write to")
        })?;
        // The fallback directory can be in `/tmp`, where other users can create it.
        if run == self.dir.join("run") || is_private(&run) {
            return Ok(());
        }
        let message = format!("other users can access {}", run.display());
        Err(Fault::new(FaultCode::Forbidden, message).hint("remove it, or set XDG_RUNTIME_DIR"))
    }
}

/// Returns whether `dir` is a directory that belongs to this user and only this user can access.
fn is_private(dir: &Path) -> bool {
    fs::symlink_metadata(dir).is_ok_and(|metadata| {
        let uid = rustix::process::geteuid().as_raw();
        metadata.is_dir() && metadata.uid() == uid && metadata.mode() & 0o077 == 0
    })
}

fn path_variable(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Makes a path absolute without access to the disk.
fn absolute(path: PathBuf) -> PathBuf {
    if path.is_absolute() { path } else { std::path::absolute(&path).unwrap_or(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_socket_names_the_socket() {
        let dir = env::temp_dir().join(format!("brain-home-{}", std::process::id()));
        let home = Home::at(&dir);
        assert_eq!(home.socket(), dir.join("run/brain.sock"));
        assert!(home.prepare().is_ok());
        assert!(fs::write(dir.join("run/socket"), "/elsewhere/b.sock\n").is_ok());
        assert_eq!(home.socket(), Path::new("/elsewhere/b.sock"));
        let _ = fs::remove_dir_all(&dir);
    }
}
