//! Opens a text in the user's editor. The text is in a private file, which is kept when it could
//! not be stored.

use std::{
    env, fs,
    io::{self, ErrorKind, IsTerminal, Write},
    os::{
        fd::AsFd,
        unix::fs::{DirBuilderExt, OpenOptionsExt},
    },
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
};

use brain_protocol::{Fault, FaultCode};
use rustix::process::Signal;

use crate::fail;

/// A text in a file of its own directory.
pub(crate) struct EditedFile {
    dir: PathBuf,
    path: PathBuf,
    original: Vec<u8>,
}

impl EditedFile {
    /// Writes `text` to a new file that only this user can read.
    ///
    /// # Errors
    /// `io` if there is no place for temporary files.
    pub(crate) fn create(name: &str, text: &str) -> Result<Self, Fault> {
        let dir = create_dir()?;
        let path = dir.join(name);
        let written = fs::File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()));
        if let Err(error) = written {
            let _ = fs::remove_dir_all(&dir);
            return Err(fail::file("write", &path, &error));
        }
        Ok(Self { dir, path, original: text.as_bytes().to_vec() })
    }

    /// Replaces the text.
    ///
    /// # Errors
    /// `io`.
    pub(crate) fn write(&self, text: &str) -> Result<(), Fault> {
        fs::write(&self.path, text).map_err(|error| fail::file("write", &self.path, &error))
    }

    /// Opens the editor, waits for its end, and returns the saved text.
    ///
    /// # Errors
    /// `io` if the editor cannot be started or fails.
    pub(crate) fn open(&self) -> Result<Vec<u8>, Fault> {
        let editor = editor();
        // Ctrl-C belongs to the editor while it runs.
        for signal in [Signal::INT, Signal::QUIT] {
            let _ = signal_hook::flag::register(signal.as_raw(), Arc::default());
        }
        let status = Command::new("sh")
            .args(["-c", &format!("{editor} \"$@\""), "sh"])
            .arg(&self.path)
            .stdout(terminal_output()?)
            .status();
        let failed = |why: String| {
            Fault::new(FaultCode::Io, format!("the editor `{editor}` {why}"))
                .hint("set VISUAL or EDITOR to your editor: export EDITOR=nano")
        };
        match status {
            Err(error) => Err(failed(format!("cannot be started: {}", fail::reason(&error)))),
            Ok(status) if !status.success() => Err(failed(format!("failed ({status})"))),
            Ok(_) => fs::read(&self.path).map_err(|error| fail::file("read", &self.path, &error)),
        }
    }

    /// Removes the file, and what the editor left beside it.
    pub(crate) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.dir);
    }

    /// Returns the fault with the path of the file, which is kept. An unchanged text is not kept.
    pub(crate) fn keep(&self, fault: Fault) -> Fault {
        match fs::read(&self.path) {
            Ok(text) if text != self.original => {
                let message = format!("{}; your text is in {}", fault.message, self.path.display());
                let hint = fault.hint.unwrap_or_else(|| {
                    format!("store it with `brain put SLUG --file {}`", self.path.display())
                });
                Fault::new(fault.code, message).hint(hint)
            }
            _ => {
                self.remove();
                fault
            }
        }
    }
}

/// Creates a directory that only this user can read.
fn create_dir() -> Result<PathBuf, Fault> {
    let parent = env::temp_dir();
    let id = std::process::id();
    for n in 0..100 {
        let dir = parent.join(format!("brain-edit-{id}-{n}"));
        match fs::DirBuilder::new().mode(0o700).create(&dir) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(fail::file("create", &dir, &error)),
            Ok(()) => return Ok(dir),
        }
    }
    let message = format!("{} has too many directories brain-edit-{id}-…", parent.display());
    Err(Fault::new(FaultCode::Io, message).hint("remove those that you do not need any more"))
}

/// Returns the command of the user's editor.
fn editor() -> String {
    let set = |name| env::var(name).ok().filter(|value| !value.trim().is_empty());
    set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned())
}

/// Returns the output of the editor: the terminal, even if this program's output goes to a file.
fn terminal_output() -> Result<Stdio, Fault> {
    if io::stdout().is_terminal() {
        return Ok(Stdio::inherit());
    }
    if let Ok(terminal) = fs::File::options().write(true).open("/dev/tty") {
        return Ok(terminal.into());
    }
    let stderr = io::stderr().as_fd().try_clone_to_owned();
    stderr.map(Stdio::from).map_err(|error| fail::stdout(&error))
}
