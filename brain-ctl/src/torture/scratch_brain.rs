//! A brain of its own for a torture: a directory on the tested disk, and a daemon that is killed.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    process::Child,
    thread,
    time::{Duration, Instant},
};

use brain_protocol::{Fault, FaultCode, Operation, Request, encode};

use crate::{
    connect::{self, Exchange},
    end_signals::wait_for_end,
    fail,
    home::Home,
    start,
};

/// The file that tells the directory of a test from any other brain.
const HEADING: &str = "promises-heading";
/// Maximum silence of the daemon. A disk that flushes slowly delays an answer by seconds.
const MAX_SILENCE: Duration = Duration::from_secs(30);

/// The brain. Its daemon runs between [`ScratchBrain::start`] and [`ScratchBrain::kill`].
pub(super) struct ScratchBrain {
    home: Home,
    daemon: Option<Child>,
    has_ended: bool,
}

impl ScratchBrain {
    /// Creates the directory: in `dir`, or else on the disk of the user's home, beside it if
    /// possible.
    ///
    /// # Errors
    /// `io`, `disk_full` or `read_only` if the directory cannot be created; `invalid_config`
    /// without a home.
    pub(super) fn create(dir: Option<&Path>) -> Result<Self, Fault> {
        let parent = match dir {
            Some(dir) => std::path::absolute(dir).map_err(|e| fail::file("read", dir, &e))?,
            None => directory_of_disk(Home::find()?.dir()),
        };
        let dir = parent.join(format!("brain-torture-{}", std::process::id()));
        let create = || -> io::Result<()> {
            DirBuilder::new().mode(0o700).create(&dir)?;
            // Otherwise a power cut could lose the whole directory.
            File::open(&parent)?.sync_all()
        };
        create().map_err(|e| {
            fail::file("create", &dir, &e).hint("name a directory on the disk to test: --dir DIR")
        })?;
        Ok(Self::at(&dir))
    }

    /// Returns the brain in an existing directory.
    pub(super) fn at(dir: &Path) -> Self {
        Self { home: Home::at(dir), daemon: None, has_ended: false }
    }

    /// Keeps the first line of the list of promises in the directory, for [`check_heading`].
    ///
    /// # Errors
    /// As [`Self::create`].
    pub(super) fn keep_heading(&self, heading: &str) -> Result<(), Fault> {
        let path = self.home.dir().join(HEADING);
        let write = || -> io::Result<()> {
            fs::write(&path, heading)?;
            File::open(&path)?.sync_all()?;
            File::open(self.home.dir())?.sync_all()
        };
        write().map_err(|e| fail::file("write", &path, &e))
    }

    /// Returns the directory.
    pub(super) fn dir(&self) -> PathBuf {
        self.home.dir().to_owned()
    }

    /// Starts the daemon. [`wait_until_answering`] waits for it.
    ///
    /// # Errors
    /// `unreachable` if the program is missing or cannot be started; the fault of
    /// [`Home::prepare`].
    pub(super) fn start(&mut self) -> Result<(), Fault> {
        if self.has_ended {
            wait_for_end();
        }
        self.daemon = Some(start::start_isolated(&self.home)?);
        Ok(())
    }

    /// Kills the daemon: no code of its own runs any more.
    pub(super) fn kill(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            // This fails only if the daemon has ended.
            let _ = daemon.kill().and_then(|()| daemon.wait());
        }
    }

    /// Returns whether the daemon answers.
    ///
    /// # Errors
    /// `unreachable` with the reason from its log if the daemon has ended.
    fn is_answering(&mut self) -> Result<bool, Fault> {
        let Some(daemon) = &mut self.daemon else { return Ok(false) };
        start::is_answering(&self.home, daemon)
            .map_err(|fault| start::with_reason_of_log(&self.home, fault))
    }

    /// Returns the address of the daemon.
    pub(super) fn caller(&self) -> Caller {
        Caller { socket: self.home.socket() }
    }

    /// Kills the daemon for good, and removes the directory.
    ///
    /// # Errors
    /// `io` or `read_only` if the directory cannot be removed.
    pub(super) fn remove(&mut self) -> Result<(), Fault> {
        self.end();
        match fs::remove_dir_all(self.home.dir()) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(fail::file("remove", self.home.dir(), &e).hint("remove it by hand"))
            }
            _ => Ok(()),
        }
    }

    /// Kills the daemon for good.
    pub(super) fn end(&mut self) {
        self.has_ended = true;
        self.kill();
    }
}

/// Checks that a directory is the one of the test whose list begins with `heading`.
///
/// # Errors
/// `not_found` if the directory is not there; `usage` if it is another one.
pub(super) fn check_heading(dir: &Path, heading: &str) -> Result<(), Fault> {
    let name = dir.display();
    if !dir.exists() {
        let message = format!("there is no {name}: its disk is not mounted, or has lost all of it");
        return Err(Fault::new(FaultCode::NotFound, message)
            .hint("mount its disk, or name the directory: --dir DIR"));
    }
    match fs::read_to_string(dir.join(HEADING)) {
        Ok(kept) if kept == heading => Ok(()),
        _ => Err(fail::usage(format!("{name} is not the directory of this test"))
            .hint("name the directory that the first line of the list ends with: --dir DIR")),
    }
}

/// Waits until the daemon answers.
///
/// # Errors
/// `unreachable` if the daemon ends or does not answer in [`start::START_TIMEOUT`].
pub(super) fn wait_until_answering(brain: &super::SharedBrain) -> Result<(), Fault> {
    let started_at = Instant::now();
    while started_at.elapsed() < start::START_TIMEOUT {
        if super::lock(brain).is_answering()? {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(3));
    }
    Err(start::no_answer_fault())
}

/// The address of a daemon that one thread calls.
pub(super) struct Caller {
    socket: PathBuf,
}

impl Caller {
    /// Sends a request and waits for the answer.
    ///
    /// # Errors
    /// The daemon's fault, or a fault if it cannot be reached.
    pub(super) fn call<O: Operation>(&self, operation: O) -> Result<O::Reply, Fault> {
        let request: Request = operation.into();
        let bytes = encode(&request).map_err(|e| Fault::new(FaultCode::Internal, e.to_string()))?;
        let exchange =
            connect::connect(&self.socket).and_then(|stream| Exchange::begin(stream, &bytes));
        let mut exchange = exchange.map_err(|error| error.into_fault(&self.socket))?;
        O::read_reply(exchange.read_answer(MAX_SILENCE, |_| {})?)
    }
}

/// Returns the directory of `home` if it is on the same disk, else `home`.
fn directory_of_disk(home: &Path) -> PathBuf {
    let device = |path: &Path| fs::metadata(path).map(|found| found.dev());
    match home.parent() {
        Some(parent)
            if device(home).ok().is_none_or(|it| device(parent).is_ok_and(|d| d == it)) =>
        {
            parent.to_owned()
        }
        _ => home.to_owned(),
    }
}
