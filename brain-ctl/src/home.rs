//! Paths of the home, the socket and the daemon's log (see `docs/configuration.md`).

use std::{
    env,
    fs::{self, DirBuilder},
    io::ErrorKind,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

use brain_protocol::{Fault, FaultCode, fallback_run_dir};

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
        let dir = match named("BRAIN_HOME") {
            Some(dir) => dir,
            None => named("HOME").map(|home| home.join(".brain")).ok_or_else(|| {
                Fault::new(FaultCode::InvalidConfig, "neither BRAIN_HOME nor HOME is set")
                    .hint("set the directory of the brain: export BRAIN_HOME=/path/to/brain")
            })?,
        };
        Ok(Self { dir: absolute(dir), socket: named("BRAIN_SOCKET").map(absolute) })
    }

    /// Returns a home for tests.
    #[cfg(test)]
    pub(crate) fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), socket: None }
    }

    /// The directory, absolute.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The directory of what exists only while a daemon runs.
    pub(crate) fn run_dir(&self) -> PathBuf {
        match self.is_read_only() {
            true => self.run_dir_outside(),
            false => self.dir.join("run"),
        }
    }

    /// Whether the home is on a file system that is mounted read-only.
    fn is_read_only(&self) -> bool {
        rustix::fs::statvfs(&self.dir)
            .is_ok_and(|stat| stat.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
    }

    /// The directory that stands for `run` then.
    fn run_dir_outside(&self) -> PathBuf {
        let uid = rustix::process::geteuid().as_raw();
        fallback_run_dir(&self.dir, named("XDG_RUNTIME_DIR").as_deref(), uid)
    }

    /// The socket that `BRAIN_SOCKET` names, absolute.
    pub(crate) fn socket_override(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// The socket to knock at: `BRAIN_SOCKET`, else what the daemon noted in `run/socket` because
    /// its configuration moved it, else `run/brain.sock`. Asked again at each try, because a
    /// starting daemon writes the note.
    pub(crate) fn socket(&self) -> PathBuf {
        if let Some(socket) = &self.socket {
            return socket.clone();
        }
        if self.is_read_only() {
            // A daemon that runs since before listens where it did.
            let outside = self.run_dir_outside();
            let socket = outside.join("brain.sock");
            if is_ours(&outside) && fs::symlink_metadata(&socket).is_ok() {
                return socket;
            }
        }
        let run = self.dir.join("run");
        match fs::read_to_string(run.join("socket")) {
            Ok(note) if !note.trim().is_empty() => run.join(note.trim_end_matches(['\r', '\n'])),
            _ => run.join("brain.sock"),
        }
    }

    /// What daemons that a client started wrote to standard error.
    pub(crate) fn log(&self) -> PathBuf {
        self.run_dir().join("daemon.log")
    }

    /// Makes the home and its `run` directory, both for the owner alone.
    ///
    /// # Errors
    /// When the place cannot be written.
    pub(crate) fn prepare(&self) -> Result<(), Fault> {
        let run = self.run_dir();
        DirBuilder::new().recursive(true).mode(0o700).create(&run).map_err(|e| {
            let fault = match e.kind() {
                ErrorKind::AlreadyExists | ErrorKind::NotADirectory => Fault::new(
                    FaultCode::Io,
                    format!("cannot create {}: something else is there", run.display()),
                ),
                _ => fail::file("create", &run, &e),
            };
            fault.hint("BRAIN_HOME names the directory of the brain; it must be one you can write")
        })?;
        // A directory that stands for `run` lies where others can make one of that name.
        if run == self.dir.join("run") || is_ours(&run) {
            return Ok(());
        }
        let message = format!("{} is not a directory of yours alone", run.display());
        Err(Fault::new(FaultCode::Forbidden, message).hint("remove it, or set XDG_RUNTIME_DIR"))
    }
}

/// Whether `dir` is a directory that only its owner, who we are, can use.
fn is_ours(dir: &Path) -> bool {
    fs::symlink_metadata(dir).is_ok_and(|found| {
        let uid = rustix::process::geteuid().as_raw();
        found.is_dir() && found.uid() == uid && found.mode() & 0o077 == 0
    })
}

fn named(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// `path` from the root, without touching the disk.
fn absolute(path: PathBuf) -> PathBuf {
    if path.is_absolute() { path } else { std::path::absolute(&path).unwrap_or(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemons_note_moves_the_socket() {
        let dir = env::temp_dir().join(format!("brain-home-{}", std::process::id()));
        let home = Home::at(&dir);
        assert_eq!(home.socket(), dir.join("run/brain.sock"));
        assert!(home.prepare().is_ok());
        assert!(fs::write(dir.join("run/socket"), "/elsewhere/b.sock\n").is_ok());
        assert_eq!(home.socket(), Path::new("/elsewhere/b.sock"));
        let _ = fs::remove_dir_all(&dir);
    }
}
