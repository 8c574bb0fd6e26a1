//! A demonstration: an invented brain in a temporary home, with a daemon of its own.
//!
//! The daemon removes the home when its standard input closes, so it does so even if the client is
//! killed. If both are killed, the next demonstration removes the home.

mod content;

use std::{
    env,
    fs::{self, DirBuilder, File},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, MetadataExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use brain_protocol::{Fault, FaultCode, TEMPORARY_HOME_MARKER};

pub(crate) use self::content::DemoContent;
use crate::{
    connect::{self, ConnectError},
    fail,
    home::Home,
    isolate::isolate,
    start,
};

/// The beginning of the name of each temporary home.
const PREFIX: &str = "brain-demo-";
/// Maximum length of the path of a home, so that its socket has a valid path.
const MAX_HOME_BYTES: usize = 90;
/// The directory of the pages' files, in the home.
const PAGES: &str = "pages";
/// Time limit for the end of the daemon, which completes requests for up to 5 s.
const END_TIMEOUT: Duration = Duration::from_secs(8);

/// An invented brain in a temporary home. Dropping it ends its daemon and removes the home.
pub(crate) struct TemporaryBrain {
    home: Home,
    daemon: Option<Child>,
    /// The marker file. This process locks it while it lives, so that no other demonstration
    /// removes the home.
    _marker: File,
}

impl TemporaryBrain {
    /// Creates the home, starts its daemon, and writes the files of pages and posts. Does not wait
    /// for the daemon.
    ///
    /// # Errors
    /// `io`, `disk_full` or `read_only` if the home cannot be written; `unreachable` if the daemon
    /// does not start.
    pub(crate) fn start(content: &DemoContent) -> Result<Self, Fault> {
        let base = base_directory();
        remove_abandoned(&base);
        let mut brain = Self::create(&base)?;
        // The daemon opens its store meanwhile.
        brain.daemon = Some(start::start_temporary(&brain.home, isolate)?);
        write_files(&brain.dir().join(PAGES), &content.pages)?;
        write_files(&brain.dir().join("collector"), &content.posts)?;
        Ok(brain)
    }

    /// Creates the home with its locked marker file.
    fn create(base: &Path) -> Result<Self, Fault> {
        let since_epoch = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
        let name = format!("{PREFIX}{}-{:x}", std::process::id(), since_epoch.subsec_nanos());
        let dir = base.join(name);
        let create = || -> io::Result<File> {
            DirBuilder::new().mode(0o700).create(&dir)?;
            let marker = File::create_new(dir.join(TEMPORARY_HOME_MARKER))?;
            marker.lock()?;
            Ok(marker)
        };
        let marker = create().map_err(|e| {
            fail::file("create", &dir, &e).hint("set TMPDIR to a directory that you can write to")
        })?;
        Ok(Self { home: Home::at(&dir), daemon: None, _marker: marker })
    }

    /// Returns whether the daemon answers.
    ///
    /// # Errors
    /// `unreachable` if the daemon has ended; otherwise the fault of [`connect::connect`].
    pub(crate) fn is_answering(&mut self) -> Result<bool, Fault> {
        let Some(daemon) = &mut self.daemon else { return Ok(false) };
        start::is_answering(&self.home, daemon)
    }

    /// Returns the command for [`sync_pages`].
    ///
    /// # Errors
    /// As [`Self::command`].
    pub(crate) fn sync_command(&self) -> Result<Command, Fault> {
        let mut command = self.command()?;
        command.args(["sync", "default", "--json"]);
        Ok(command)
    }

    /// Returns the directory of the home.
    pub(crate) fn dir(&self) -> &Path {
        self.home.dir()
    }

    /// Returns a command that runs `brain` in this home, without input. The command
    /// never starts a daemon, which could outlive a demonstration that a signal ends.
    ///
    /// # Errors
    /// `io` if the path of this program is unknown.
    pub(crate) fn command(&self) -> Result<Command, Fault> {
        let program = env::current_exe().map_err(|e| fail::run("brain", &e))?;
        let mut command = Command::new(program);
        isolate(&mut command);
        command.env("BRAIN_HOME", self.dir()).env("BRAIN_NO_START", "1").stdin(Stdio::null());
        Ok(command)
    }

    /// Ends the daemon and waits until the home is removed.
    ///
    /// # Errors
    /// `io` or `read_only` if the home cannot be removed.
    pub(crate) fn end(&mut self) -> Result<(), Fault> {
        if let Some(mut daemon) = self.daemon.take() {
            drop(daemon.stdin.take());
            let ending_since = Instant::now();
            while matches!(daemon.try_wait(), Ok(None)) {
                if ending_since.elapsed() > END_TIMEOUT {
                    // `kill` fails only if the daemon has ended.
                    let _ = daemon.kill().and_then(|()| daemon.wait());
                    break;
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
        match fs::remove_dir_all(self.dir()) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(fail::file("remove", self.dir(), &e).hint("remove it by hand"))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for TemporaryBrain {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Stores the files as pages with `brain sync`, as for files that a user writes.
///
/// # Errors
/// `io` if the command cannot be run; `internal` if the pages cannot be stored.
pub(crate) fn sync_pages(sync_command: &mut Command) -> Result<(), Fault> {
    let output = sync_command.output().map_err(|e| fail::run("brain", &e))?;
    if output.status.success() {
        return Ok(());
    }
    let answer = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Err(Fault::new(FaultCode::Internal, format!("the pages were not stored: {answer}")))
}

/// Returns the directory of temporary homes: that of the system, or `/tmp` if its path is too long
/// for a socket.
fn base_directory() -> PathBuf {
    let dir = env::temp_dir();
    // At most 20 bytes follow the prefix: process id, `-`, and up to 8 hexadecimal digits.
    let is_short = dir.as_os_str().len() + PREFIX.len() + 20 <= MAX_HOME_BYTES;
    if is_short && dir.is_absolute() { dir } else { PathBuf::from("/tmp") }
}

/// Removes homes whose client and daemon were both killed.
fn remove_abandoned(base: &Path) {
    let uid = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_demo = entry.file_name().as_bytes().starts_with(PREFIX.as_bytes());
        let is_ours = || fs::symlink_metadata(&path).is_ok_and(|m| m.is_dir() && m.uid() == uid);
        if is_demo && is_ours() && is_abandoned(&path) {
            // If this fails, the next demonstration tries again.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Returns whether no client has the lock of the home, and no daemon answers.
fn is_abandoned(dir: &Path) -> bool {
    let Ok(marker) = File::open(dir.join(TEMPORARY_HOME_MARKER)) else { return false };
    marker.try_lock().is_ok()
        && matches!(connect::connect(&Home::at(dir).socket()), Err(ConnectError::NotListening))
}

fn write_files(dir: &Path, files: &[(String, String)]) -> Result<(), Fault> {
    for (path, text) in files {
        let path = dir.join(path);
        let written = path
            .parent()
            .map_or(Ok(()), |dir| DirBuilder::new().recursive(true).mode(0o700).create(dir))
            .and_then(|()| fs::write(&path, text));
        written.map_err(|e| fail::file("write", &path, &e))?;
    }
    Ok(())
}
