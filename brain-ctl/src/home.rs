//! Where things are: the home, the socket, the daemon's log. `docs/configuration.md` lists it.

use std::{
    env,
    fs::{self, DirBuilder},
    io::ErrorKind,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use brain_protocol::{Fault, FaultCode};

use crate::fail;

/// One brain's home directory and the ways into it.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    dir: PathBuf,
    socket: Option<PathBuf>,
}

impl Home {
    /// The home that the environment names: `BRAIN_HOME`, else `~/.brain`. The daemon has the same rule.
    ///
    /// # Errors
    /// When neither it nor `HOME` is set.
    pub(crate) fn find() -> Result<Self, Fault> {
        let dir = match named("BRAIN_HOME") {
            Some(dir) => dir,
            None => named("HOME").map(|home| home.join(".brain")).ok_or_else(|| {
                Fault::new(FaultCode::InvalidConfig, "neither BRAIN_HOME nor HOME is set")
                    .hint("say where the brain lives: export BRAIN_HOME=/path/to/brain")
            })?,
        };
        Ok(Self { dir: absolute(dir), socket: named("BRAIN_SOCKET").map(absolute) })
    }

    /// A home for tests.
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
        self.dir.join("run")
    }

    /// The socket that `BRAIN_SOCKET` names, absolute.
    pub(crate) fn socket_override(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// The socket to knock at: `BRAIN_SOCKET`, else what the daemon noted in `run/socket` because its
    /// configuration moved it, else `run/brain.sock`. Asked again at each try, because a starting
    /// daemon writes the note.
    pub(crate) fn socket(&self) -> PathBuf {
        if let Some(socket) = &self.socket {
            return socket.clone();
        }
        let run = self.run_dir();
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
        })
    }
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
