//! Opens a text in the user's editor, in a private file. If the edited text cannot be stored as a
//! page, the file stays.

use std::{
    env, fs,
    io::{self, ErrorKind, IsTerminal, Write},
    os::{
        fd::AsFd,
        unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    },
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
};

use brain_protocol::{Command as Hinted, Fault, FaultCode, hint};
use rustix::process::Signal;

use crate::fail;

/// The beginning of the names of the directories for edited files.
const EDIT_DIR: &str = "brain-edit-";

/// A text in a file, in a private temporary directory of its own.
pub(crate) struct EditedFile {
    dir: PathBuf,
    path: PathBuf,
    original: Vec<u8>,
}

impl EditedFile {
    /// Writes `text` to a new file that only this user can read.
    ///
    /// # Errors
    /// `io`, `disk_full` or `read_only` if the file cannot be created.
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

    /// Replaces the text of the file.
    ///
    /// # Errors
    /// `io`, `disk_full` or `read_only` if the file cannot be written.
    pub(crate) fn write(&self, text: &str) -> Result<(), Fault> {
        fs::write(&self.path, text).map_err(|error| fail::file("write", &self.path, &error))
    }

    /// Opens the editor, waits for its end, and returns the saved text.
    ///
    /// # Errors
    /// `io` if the editor cannot be started or fails, or if the file cannot be read.
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
        let editor_fault = |reason: String| {
            Fault::new(FaultCode::Io, format!("the editor `{editor}` {reason}"))
                .hint("set VISUAL or EDITOR to your editor: export EDITOR=nano")
        };
        match status {
            Err(error) => Err(editor_fault(format!("cannot be started: {}", fail::reason(&error)))),
            Ok(status) if !status.success() => Err(editor_fault(format!("failed ({status})"))),
            Ok(_) => fs::read(&self.path).map_err(|error| fail::file("read", &self.path, &error)),
        }
    }

    /// Removes the file, and what the editor left beside it.
    pub(crate) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.dir);
    }

    /// Keeps an edited file, and returns the fault with its path. Removes a file whose text is
    /// unchanged or cannot be read, and returns the fault as it is.
    pub(crate) fn keep(&self, fault: Fault) -> Fault {
        match fs::read(&self.path) {
            Ok(text) if text != self.original => {
                let message = format!("{}; your text is in {}", fault.message, self.path.display());
                let hint = fault.hint.unwrap_or_else(|| {
                    let file = Some(self.path.display().to_string());
                    hint!("store it with {}", Hinted::PutFile { page: None, file })
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

/// Returns the files with this name that failed edits of this user left in the directory for
/// temporary files.
pub(crate) fn kept_edits(name: &str) -> Vec<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let entries = fs::read_dir(env::temp_dir()).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| {
            let is_edit = entry.file_name().to_str().is_some_and(|it| it.starts_with(EDIT_DIR));
            is_edit && entry.metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == user)
        })
        .map(|entry| entry.path().join(name))
        .filter(|path| path.is_file())
        .collect();
    found.sort();
    found
}

/// Creates a directory that only this user can read.
fn create_dir() -> Result<PathBuf, Fault> {
    let parent = env::temp_dir();
    let id = std::process::id();
    for n in 0..100 {
        let dir = parent.join(format!("{EDIT_DIR}{id}-{n}"));
        match fs::DirBuilder::new().mode(0o700).create(&dir) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(fail::file("create", &dir, &error)),
            Ok(()) => return Ok(dir),
        }
    }
    let message = format!("{} has too many directories {EDIT_DIR}{id}-…", parent.display());
    Err(Fault::new(FaultCode::Io, message).hint("remove those that you do not need any more"))
}

/// Returns the command of the user's editor.
fn editor() -> String {
    let non_blank = |name| env::var(name).ok().filter(|value| !value.trim().is_empty());
    non_blank("VISUAL").or_else(|| non_blank("EDITOR")).unwrap_or_else(|| "vi".to_owned())
}

/// Returns the output of the editor: the terminal, even if this program's output goes to a file;
/// standard error without a terminal.
fn terminal_output() -> Result<Stdio, Fault> {
    if io::stdout().is_terminal() {
        return Ok(Stdio::inherit());
    }
    if let Ok(terminal) = fs::File::options().write(true).open("/dev/tty") {
        return Ok(terminal.into());
    }
    let stderr = io::stderr().as_fd().try_clone_to_owned();
    stderr.map(Stdio::from).map_err(|error| {
        let reason = fail::reason(&error);
        Fault::new(FaultCode::Io, format!("cannot use standard error for the editor: {reason}"))
    })
}
