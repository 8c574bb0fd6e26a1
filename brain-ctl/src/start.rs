//! Starts a daemon if none answers.
//!
//! Concurrent clients take turns with a lock on `run/start.lock`, so that only one of them starts a
//! daemon.

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io::{Read, Seek, SeekFrom},
    os::unix::{fs::OpenOptionsExt, process::CommandExt},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use brain_protocol::{Fault, FaultCode, Hint};
use interprocess::local_socket::Stream;

use crate::{
    connect::{self, ConnectError},
    daemon_program::{self, NAME},
    fail,
    home::Home,
    isolate::isolate,
    output,
};

/// Time after which a notice says that the client is still waiting.
const NOTICE_DELAY: Duration = Duration::from_secs(10);

/// Time limit for the daemon's first answer. A slower daemon keeps running.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Time limit while another process holds the store; a stopping daemon needs up to 5 s.
const LOCK_TIMEOUT: Duration = Duration::from_secs(7);

/// Maximum size of the log in bytes. At a start, a larger one is renamed to `daemon.log.1`.
const LOG_LIMIT: u64 = 1024 * 1024;

/// Runs the daemon's program with these arguments and `--json`, and returns its answer.
///
/// # Errors
/// The program's fault; `unreachable` without the program; `io` if it cannot be run; `internal` if
/// it gave no answer.
pub(crate) fn run_program(arguments: &[&OsStr]) -> Result<serde_json::Value, Fault> {
    let program = daemon_program::find()?;
    let home = Home::find()?;
    let output = Command::new(&program)
        .args(arguments)
        .arg("--json")
        .env("BRAIN_HOME", home.dir())
        .stdin(Stdio::null())
        .output()
        .map_err(|e| fail::run(program.display(), &e))?;
    let no_answer = || {
        let errors = output::clean_lines(&String::from_utf8_lossy(&output.stderr));
        let last = errors.lines().last().unwrap_or("no output").to_owned();
        Fault::new(
            FaultCode::Internal,
            format!("{NAME} ended ({}) without an answer: {last}", output.status),
        )
        .hint("install brain and brain-daemon of the same version")
    };
    let answer: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|_| no_answer())?;
    let Some(error) = answer.get("error") else { return Ok(answer) };
    let text = |key: &str| error.get(key).and_then(|it| it.as_str()).map(str::to_owned);
    let code = text("code").and_then(|code| FaultCode::parse(&code));
    let message = text("message").unwrap_or_default();
    let fault = Fault::new(code.unwrap_or(FaultCode::Internal), message);
    Err(Fault { hint: text("hint").map(Hint::from), ..fault })
}

/// Connects to the daemon. Starts one first if none listens and no other client starts one.
///
/// # Errors
/// `unreachable` if the daemon's program is missing, exits before it answers (with the reason from
/// the log), or does not answer in time; the fault of [`Home::prepare`] or of [`connect::connect`].
pub(crate) fn connect_or_start(home: &Home, quiet: bool) -> Result<Stream, Fault> {
    let program = daemon_program::find()?;
    home.prepare()?;
    let lock_path = home.run_dir().join("start.lock");
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(&lock_path)
        .map_err(|e| fail::file("open", &lock_path, &e))?;

    let started_at = Instant::now();
    let is_new = !home.has_store();
    let mut has_lock = false;
    let mut is_notice_shown = false;
    let mut daemon: Option<StartingDaemon> = None;
    loop {
        match connect::connect(&home.socket()) {
            Ok(stream) => {
                if let Some(daemon) = &daemon
                    && !quiet
                {
                    output::notice(&format!("started {NAME} (pid {})", daemon.child.id()));
                    if is_new && home.has_store() {
                        let dir = home.dir().display();
                        output::notice(&format!("made a new, empty brain in {dir}"));
                    }
                }
                return Ok(stream);
            }
            Err(ConnectError::NotListening | ConnectError::ClosedWithoutGreeting) => {}
            Err(error) => return Err(error.into_fault(&home.socket())),
        }
        match &mut daemon {
            // The former holder of the lock may have started a daemon, so try to connect once more.
            None if !has_lock => has_lock = lock.try_lock().is_ok(),
            None => daemon = Some(StartingDaemon::start(daemon_command(&program, home), home)?),
            Some(starting) => {
                if let Some(failure) = starting.failure(home) {
                    if !(failure.store_was_locked && started_at.elapsed() < LOCK_TIMEOUT) {
                        return Err(failure.fault);
                    }
                    // The former daemon is still stopping.
                    daemon = None;
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
        }
        if started_at.elapsed() > NOTICE_DELAY && !is_notice_shown {
            is_notice_shown = true;
            output::notice(&format!("still waiting for {NAME}; its log: {}", home.log().display()));
        }
        if started_at.elapsed() > START_TIMEOUT {
            return Err(Fault::new(
                FaultCode::Unreachable,
                format!("{NAME} did not answer within {} s", START_TIMEOUT.as_secs()),
            )
            .hint(format!("see {}", home.log().display())));
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// Starts the daemon of a temporary home, which ends when its standard input closes. Does not wait
/// for it. `prepare` changes the command before the start.
///
/// # Errors
/// `unreachable` if the program is missing or cannot be started; the fault of [`Home::prepare`].
pub(crate) fn start_temporary(
    home: &Home,
    prepare: impl FnOnce(&mut Command),
) -> Result<Child, Fault> {
    let program = daemon_program::find()?;
    home.prepare()?;
    let mut command = daemon_command(&program, home);
    command.arg("--temporary").stdin(Stdio::piped());
    prepare(&mut command);
    StartingDaemon::start(command, home).map(|daemon| daemon.child)
}

/// Starts a daemon with a home and settings of its own. Does not wait for it; the caller ends it.
///
/// # Errors
/// `unreachable` if the program is missing or cannot be started; the fault of [`Home::prepare`].
pub(crate) fn start_isolated(home: &Home) -> Result<Child, Fault> {
    let program = daemon_program::find()?;
    home.prepare()?;
    let mut command = daemon_command(&program, home);
    isolate(&mut command);
    StartingDaemon::start(command, home).map(|daemon| daemon.child)
}

/// Adds the last error in the daemon's log, if there is one, to a fault.
pub(crate) fn with_reason_of_log(home: &Home, fault: Fault) -> Fault {
    match reason_and_hint(&log_tail(&home.log(), 0)) {
        (reason, _) if reason.is_empty() => fault,
        (reason, _) => Fault { message: format!("{}: {reason}", fault.message), ..fault },
    }
}

/// Returns whether the daemon of a temporary home answers.
///
/// # Errors
/// `unreachable` if the daemon has ended; otherwise the fault of [`connect::connect`].
pub(crate) fn is_answering(home: &Home, child: &mut Child) -> Result<bool, Fault> {
    match connect::connect(&home.socket()) {
        Ok(_) => return Ok(true),
        Err(ConnectError::NotListening | ConnectError::ClosedWithoutGreeting) => {}
        Err(error) => return Err(error.into_fault(&home.socket())),
    }
    // The daemon has removed its log with the home, so the fault cannot quote it.
    let Ok(Some(status)) = child.try_wait() else { return Ok(false) };
    let message = format!("{NAME} could not start ({status})");
    Err(Fault::new(FaultCode::Unreachable, message)
        .hint("install brain and brain-daemon of the same version"))
}

/// Returns the fault of a daemon of a temporary home that did not answer in [`START_TIMEOUT`].
pub(crate) fn no_answer_fault() -> Fault {
    let message = format!("{NAME} did not answer within {} s", START_TIMEOUT.as_secs());
    Fault::new(FaultCode::Unreachable, message).hint("try again on an idle machine")
}

/// Returns the command that starts the daemon in the background.
fn daemon_command(program: &Path, home: &Home) -> Command {
    let mut command = Command::new(program);
    // With a separate process group, Ctrl-C does not reach the daemon. With the root as working
    // directory, no file system is kept busy.
    command.process_group(0).current_dir("/").env("BRAIN_HOME", home.dir());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    // Without these variables, the daemon does not report its state to the systemd unit in which
    // the client runs.
    for variable in [
        "NOTIFY_SOCKET",
        "WATCHDOG_USEC",
        "WATCHDOG_PID",
        "LISTEN_PID",
        "LISTEN_FDS",
        "LISTEN_FDNAMES",
    ] {
        command.env_remove(variable);
    }
    if let Some(socket) = home.socket_override() {
        command.env("BRAIN_SOCKET", socket);
    }
    command
}

/// A started daemon that does not answer yet.
struct StartingDaemon {
    child: Child,
    /// The size of the log before this start.
    log_offset: u64,
}

/// Why a daemon did not start.
struct StartFailure {
    fault: Fault,
    store_was_locked: bool,
}

impl StartingDaemon {
    fn start(mut command: Command, home: &Home) -> Result<Self, Fault> {
        let log_path = home.log();
        let log = open_log(&log_path).map_err(|e| fail::file("write", &log_path, &e))?;
        let log_offset = log.metadata().map_or(0, |m| m.len());
        command.stderr(log);
        let child = command.spawn().map_err(|e| {
            Fault::new(FaultCode::Unreachable, format!("cannot start {NAME}: {}", fail::reason(&e)))
                .hint("install brain-daemon in the directory of brain, or on PATH")
        })?;
        Ok(Self { child, log_offset })
    }

    /// Returns why the daemon exited, or `None` while it runs.
    fn failure(&mut self, home: &Home) -> Option<StartFailure> {
        let status = match self.child.try_wait() {
            Ok(None) => return None,
            Ok(Some(status)) => status.to_string(),
            Err(e) => fail::reason(&e),
        };
        let log_lines = log_tail(&home.log(), self.log_offset);
        let store_was_locked = log_lines.contains(LOCKED_MESSAGE);
        let log_hint = format!("see the log: {}", home.log().display());
        let (message, hint) = match reason_and_hint(&log_lines) {
            (reason, _) if reason.is_empty() => {
                (format!("{NAME} ended at once ({status}) without a message"), log_hint)
            }
            (reason, None) => (format!("{NAME} could not start: {reason}"), log_hint),
            (reason, Some(hint)) => {
                (format!("{NAME} could not start: {reason}"), format!("{hint}; {log_hint}"))
            }
        };
        Some(StartFailure {
            fault: Fault::new(FaultCode::Unreachable, message).hint(hint),
            store_was_locked,
        })
    }
}

fn open_log(path: &Path) -> std::io::Result<File> {
    if fs::metadata(path).is_ok_and(|m| m.len() > LOG_LIMIT) {
        fs::rename(path, path.with_extension("log.1"))?;
    }
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// A part of the daemon's message if another daemon has the store (`StoreError::Locked`).
const LOCKED_MESSAGE: &str = "in use by another brain-daemon";

/// Returns the reason and the hint of the last error in `log`. Without an error, the reason is all
/// lines of `log`.
fn reason_and_hint(log: &str) -> (String, Option<String>) {
    let marker = format!("{NAME}: error: ");
    let Some(at) = log.rfind(&marker) else {
        return (log.lines().collect::<Vec<_>>().join("; "), None);
    };
    let mut lines = log[at + marker.len()..].lines();
    let reason = lines.next().unwrap_or_default().to_owned();
    (reason, lines.find_map(|line| line.strip_prefix("hint: ")).map(str::to_owned))
}

/// Returns the last lines of `log` after the offset `from`, in bytes.
fn log_tail(log: &Path, from: u64) -> String {
    const LINES: usize = 3;
    const BYTES: u64 = 8 * 1024;
    let mut bytes = Vec::new();
    let read = File::open(log).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(from.max(length.saturating_sub(BYTES))))?;
        file.take(BYTES).read_to_end(&mut bytes)
    });
    if read.is_err() {
        return String::new();
    }
    let text = output::clean_lines(&String::from_utf8_lossy(&bytes));
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_tail_starts_after_the_offset() {
        let log = std::env::temp_dir().join(format!("brain-words-{}.log", std::process::id()));
        let old = "old noise\n";
        assert!(fs::write(&log, format!("{old}one\n\ntwo\nthree\n\u{1b}[31mfour\n")).is_ok());
        let log_lines = log_tail(&log, old.len() as u64);
        assert!(log_lines.starts_with("two\nthree\n"), "{log_lines}");
        assert!(log_lines.ends_with("four") && !log_lines.contains('\u{1b}'), "{log_lines}");
        let _ = fs::remove_file(&log);
        assert_eq!(log_tail(&log, 0), "");
    }

    #[test]
    fn reason_and_hint_come_from_the_log() {
        let log = "noise\nbrain-daemon: error: the store is damaged\nhint: restore a backup";
        assert_eq!(
            reason_and_hint(log),
            ("the store is damaged".into(), Some("restore a backup".into()))
        );
        assert_eq!(reason_and_hint("one\ntwo"), ("one; two".into(), None));
    }
}
