//! Child processes: long-running agents and short commands.

use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::output::OutputLines;
use super::{Launch, child_supervisor};

/// Time an agent gets to exit after SIGTERM. Shorter than the daemon's own stop timeout.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum output read from a short command, in bytes per stream.
const MAX_OUTPUT_BYTES: u64 = 64 * 1024;
/// Interval at which a short command is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Time to wait for the remaining output of an agent that has exited.
const FINAL_OUTPUT_TIMEOUT: Duration = Duration::from_millis(500);
/// Environment variables of the service manager that children must not inherit.
const PRIVATE_VARIABLES: [&str; 6] = [
    "NOTIFY_SOCKET",
    "CREDENTIALS_DIRECTORY",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "WATCHDOG_USEC",
];

/// Starts programs. Tests replace it with a fake.
pub trait Starter: Send + Sync {
    /// Returns the executable file of `program`, a path or a name on PATH. `None` if there is none.
    fn find(&self, program: &str) -> Option<PathBuf>;

    /// Starts a long-running agent in its own process group. The agent ends with the daemon; its
    /// last output lines are kept.
    ///
    /// # Errors
    /// `NotFound` if the program does not exist; otherwise the error of the start.
    fn start(&self, launch: &Launch) -> Result<Box<dyn Child>>;

    /// Runs a command to its end, for at most `timeout`, with empty standard input. Returns the
    /// exit status (-1 after a signal) and the standard output, followed by standard error if the
    /// command failed. Each stream is cut at 64 KiB.
    ///
    /// # Errors
    /// As [`Starter::start`]; `TimedOut` if the command was killed after `timeout`.
    fn run(&self, command: &[String], timeout: Duration) -> Result<(i32, String)>;
}

/// A running agent.
pub trait Child: Send {
    /// Returns how the agent exited, in words; `None` while it runs.
    fn exit_description(&self) -> Option<String>;

    /// Returns the output lines since the last call: at most 200, each at most 2000 bytes.
    fn lines(&self) -> Vec<String>;

    /// Stops the agent and its process group: SIGTERM, then SIGKILL after two seconds. Blocks until
    /// the agent has exited, at most two seconds after SIGKILL.
    fn stop(&self);
}

/// Callback for an agent that exited by itself.
pub type ExitListener = Arc<dyn Fn() + Send + Sync>;

/// Starts real programs.
#[derive(Clone, Default)]
pub struct SystemStarter {
    supervised: bool,
    on_exit: Option<ExitListener>,
}

impl SystemStarter {
    /// Returns a starter whose agents end with this process, even if it is killed. The current
    /// program must handle [`child_supervisor`].
    #[must_use]
    pub fn supervised() -> Self {
        Self { supervised: true, on_exit: None }
    }

    /// Sets the callback for agents that exit by themselves. It runs on its own thread.
    #[must_use]
    pub fn on_exit(self, on_exit: ExitListener) -> Self {
        Self { on_exit: Some(on_exit), ..self }
    }
}

impl Starter for SystemStarter {
    fn find(&self, program: &str) -> Option<PathBuf> {
        let is_executable = |path: &Path| {
            path.metadata()
                .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        };
        if program.contains('/') {
            return Some(PathBuf::from(program)).filter(|path| is_executable(path));
        }
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|dir| dir.join(program)).find(|path| is_executable(path))
    }

    fn start(&self, launch: &Launch) -> Result<Box<dyn Child>> {
        let program = self.program(&launch.command)?;
        let mut command = if self.supervised {
            let mut command = Command::new(child_supervisor::CURRENT_EXE);
            command
                .arg(child_supervisor::SUBCOMMAND)
                .arg(std::process::id().to_string())
                .arg(program);
            command
        } else {
            Command::new(program)
        };
        command.args(&launch.command[1..]);
        prepare(&mut command);
        if self.supervised {
            // `run_until_exit` holds the other end of this pipe. When the daemon ends, the pipe
            // closes, and the supervisor's watcher kills the agent's process group.
            command.stdin(Stdio::piped());
        }
        command.envs(launch.variables.iter().map(|(name, value)| (name, value.expose())));
        let (sender, receiver) = mpsc::channel();
        let state = Arc::new(ExitState::default());
        let exit_state = Arc::clone(&state);
        let on_exit = self.on_exit.clone();
        // To the kernel, the starting thread is the parent, so it must live as long as the agent.
        let run = move || {
            run_until_exit(command, &exit_state, &sender);
            if let Some(on_exit) =
                on_exit.filter(|_| !exit_state.stop_requested.load(Ordering::SeqCst))
            {
                on_exit();
            }
        };
        thread::Builder::new().name("tunnel-agent".into()).spawn(run)?;
        let (pid, out, err) =
            receiver.recv().map_err(|_| Error::other("the thread of the agent ended"))??;
        let lines = OutputLines::default();
        // If a later step fails, dropping `child` kills the agent.
        let mut child = SystemChild { pid, state, readers: Vec::new(), lines };
        child.readers.push(read(&child.lines, out)?);
        child.readers.push(read(&child.lines, err)?);
        Ok(Box::new(child))
    }

    fn run(&self, command: &[String], timeout: Duration) -> Result<(i32, String)> {
        let start = Instant::now();
        let mut prepared = Command::new(self.program(command)?);
        prepare(prepared.args(&command[1..]));
        let mut child = prepared.spawn()?;
        let group = Pid::from_child(&child);
        let out = collect(child.stdout.take());
        let err = collect(child.stderr.take());
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if start.elapsed() >= timeout {
                // The process is not reaped yet, so its pid cannot have been reused.
                let _ = kill_process_group(group, Signal::KILL);
                child.wait()?;
                return Err(Error::new(
                    ErrorKind::TimedOut,
                    format!("it took longer than {} seconds", timeout.as_secs()),
                ));
            }
            thread::sleep(POLL_INTERVAL);
        };
        // A descendant of the command may hold its output open.
        let rest = timeout.saturating_sub(start.elapsed()).max(POLL_INTERVAL);
        let mut text = out.recv_timeout(rest).unwrap_or_default();
        if !status.success() {
            text.push_str(&err.recv_timeout(rest).unwrap_or_default());
        }
        Ok((status.code().unwrap_or(-1), text))
    }
}

/// Starts nothing, because programs may not run.
pub struct RefusingStarter(String);

impl RefusingStarter {
    /// Refuses all programs for this reason.
    #[must_use]
    pub fn new(reason: String) -> Self {
        Self(reason)
    }

    fn refusal(&self) -> Error {
        Error::new(ErrorKind::PermissionDenied, format!("{}; so brain runs no program", self.0))
    }
}

impl Starter for RefusingStarter {
    fn find(&self, program: &str) -> Option<PathBuf> {
        SystemStarter::default().find(program)
    }

    fn start(&self, _: &Launch) -> Result<Box<dyn Child>> {
        Err(self.refusal())
    }

    fn run(&self, _: &[String], _: Duration) -> Result<(i32, String)> {
        Err(self.refusal())
    }
}

impl SystemStarter {
    fn program(&self, command: &[String]) -> Result<PathBuf> {
        let program = command.first().map_or("", String::as_str);
        self.find(program).ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                format!("there is no program \"{program}\" that can be run"),
            )
        })
    }
}

/// Prepares any command: no input, piped output, its own process group, filtered environment.
fn prepare(command: &mut Command) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("BRAIN_") || PRIVATE_VARIABLES.contains(&&*text) {
            command.env_remove(&name);
        }
    }
}

/// Reads a pipe into `lines` on its own thread.
fn read(lines: &OutputLines, from: impl Read + Send + 'static) -> Result<JoinHandle<()>> {
    let lines = lines.clone();
    thread::Builder::new().name("tunnel-output".into()).spawn(move || lines.read(from))
}

/// Reads a pipe to its end on its own thread and sends its beginning.
fn collect(from: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    let read = move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            let _ = (&mut from).take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes);
            let _ = std::io::copy(&mut from, &mut std::io::sink());
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    };
    // If the thread cannot start, the receiver sees a closed channel.
    let _ = thread::Builder::new().name("tunnel-output".into()).spawn(read);
    receiver
}

/// The exit of an agent.
#[derive(Debug, Default)]
struct ExitState {
    /// How the agent exited, in words; set as soon as it exits.
    description: Mutex<Option<String>>,
    /// Notified when `description` is set.
    exit_event: Condvar,
    /// Set when the daemon stops the agent.
    stop_requested: AtomicBool,
}

impl ExitState {
    fn lock_description(&self) -> MutexGuard<'_, Option<String>> {
        self.description.lock()
    }
}

type StartResult = Result<(Pid, ChildStdout, ChildStderr)>;

/// Starts an agent and waits until it has exited.
fn run_until_exit(mut command: Command, state: &ExitState, sender: &mpsc::Sender<StartResult>) {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return drop(sender.send(Err(error))),
    };
    let pid = Pid::from_child(&child);
    let pipes = child.stdout.take().zip(child.stderr.take());
    let _ = sender.send(
        pipes.map(|(out, err)| (pid, out, err)).ok_or_else(|| Error::other("it has no pipes")),
    );
    while let Err(rustix::io::Errno::INTR) =
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
    {}
    // The lock is held while reaping, so `stop` never signals a reused pid.
    let mut description = state.lock_description();
    // Kill the other processes of the agent's group.
    let _ = kill_process_group(pid, Signal::KILL);
    *description =
        Some(child.wait().map_or_else(|error| format!("it ended ({error})"), describe_exit));
    state.exit_event.notify_all();
}

/// Describes an exit status in words.
fn describe_exit(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it ended with exit status {code}"),
        (None, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => "it ended".into(),
    }
}

/// A real agent process.
struct SystemChild {
    pid: Pid,
    state: Arc<ExitState>,
    readers: Vec<JoinHandle<()>>,
    lines: OutputLines,
}

impl Child for SystemChild {
    fn exit_description(&self) -> Option<String> {
        self.state.lock_description().clone()
    }

    fn lines(&self) -> Vec<String> {
        // The last output may still be in the pipe right after the exit.
        let until = Instant::now() + FINAL_OUTPUT_TIMEOUT;
        while self.exit_description().is_some()
            && !self.readers.iter().all(JoinHandle::is_finished)
            && Instant::now() < until
        {
            thread::sleep(POLL_INTERVAL);
        }
        self.lines.take()
    }

    fn stop(&self) {
        self.state.stop_requested.store(true, Ordering::SeqCst);
        for signal in [Signal::TERM, Signal::KILL] {
            let mut description = self.state.lock_description();
            if description.is_some() {
                return;
            }
            let _ = kill_process_group(self.pid, signal);
            self.state.exit_event.wait_while_for(
                &mut description,
                |description| description.is_none(),
                STOP_TIMEOUT,
            );
        }
    }
}

impl Drop for SystemChild {
    fn drop(&mut self) {
        self.state.stop_requested.store(true, Ordering::SeqCst);
        let description = self.state.lock_description();
        if description.is_none() {
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_protocol::Secret;

    use super::*;

    fn shell(script: &str) -> Launch {
        let command = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
        Launch {
            command,
            variables: vec![("NGROK_AUTHTOKEN".into(), Secret::new("s3cret"))],
            warning: None,
        }
    }

    fn wait_until(condition: &str, is_met: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !is_met() {
            assert!(Instant::now() < deadline, "not within 30 seconds: {condition}");
            thread::sleep(POLL_INTERVAL);
        }
    }

    fn lines(child: &dyn Child, count: usize) -> Vec<String> {
        let found = Mutex::new(Vec::new());
        wait_until("lines are printed", || {
            let mut found = found.lock();
            found.extend(child.lines());
            found.len() >= count
        });
        found.into_inner()
    }

    fn is_running(pid: &str) -> bool {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    }

    #[test]
    fn agent_output_and_exit_are_recorded() {
        let starter = SystemStarter::default();
        let child = starter
            .start(&shell("echo out; echo err >&2; echo \"$NGROK_AUTHTOKEN\"; exit 7"))
            .unwrap();
        let mut printed = lines(&*child, 3);
        printed.sort();
        assert_eq!(printed, ["err", "out", "s3cret"]);
        wait_until("the agent has exited", || child.exit_description().is_some());
        assert_eq!(child.exit_description().unwrap(), "it ended with exit status 7");
        // Stopping an agent that has exited does nothing.
        child.stop();
    }

    #[test]
    fn exit_listener_runs_only_for_unrequested_exits() {
        let (sender, receiver) = mpsc::channel();
        let sender = Mutex::new(sender);
        let starter = SystemStarter::default().on_exit(Arc::new(move || {
            let _ = sender.lock().send(Instant::now());
        }));
        let child = starter.start(&shell("exit 0")).unwrap();
        receiver.recv_timeout(Duration::from_secs(30)).unwrap();
        assert!(
            child.exit_description().is_some(),
            "the exit status is known when the callback runs"
        );
        let child = starter.start(&shell("sleep 600")).unwrap();
        child.stop();
        drop(starter.start(&shell("sleep 600")).unwrap());
        assert!(receiver.recv_timeout(Duration::from_millis(300)).is_err());
    }

    #[test]
    fn stop_kills_descendants_that_ignore_sigterm() {
        let starter = SystemStarter::default();
        let child =
            starter.start(&shell("trap '' TERM; sleep 600 & echo $!; wait; sleep 600")).unwrap();
        let inner_pid = lines(&*child, 1).remove(0);
        assert!(is_running(&inner_pid));
        child.stop();
        assert!(
            child.exit_description().unwrap().contains("signal 9"),
            "{:?}",
            child.exit_description()
        );
        wait_until("the inner process has ended", || !is_running(&inner_pid));
        // Dropping a child stops it.
        let child = starter.start(&shell("echo $$; sleep 600")).unwrap();
        let agent_pid = lines(&*child, 1).remove(0);
        drop(child);
        wait_until("the dropped agent has ended", || !is_running(&agent_pid));
    }

    #[test]
    fn short_command_returns_output_or_times_out() {
        let starter = SystemStarter::default();
        let run = |script: &str, timeout| starter.run(&shell(script).command, timeout);
        assert_eq!(
            run("echo yes; echo no >&2", Duration::from_secs(30)).unwrap(),
            (0, "yes\n".into())
        );
        assert_eq!(
            run("echo yes; echo no >&2; exit 3", Duration::from_secs(30)).unwrap(),
            (3, "yes\nno\n".into())
        );
        let error = run("sleep 600", Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let missing =
            starter.run(&["/nonexistent/agent".into()], Duration::from_secs(1)).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        assert!(starter.start(&Launch::default()).is_err());
    }

    #[test]
    fn find_returns_executable_files_only() {
        let starter = SystemStarter::default();
        assert!(starter.find("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(starter.find("/bin/sh"), Some("/bin/sh".into()));
        let dir = tempfile::tempdir().unwrap();
        let plain = dir.path().join("ngrok");
        std::fs::write(&plain, "no program").unwrap();
        assert_eq!(starter.find(plain.to_str().unwrap()), None);
        assert_eq!(starter.find("no-such-agent-anywhere"), None);
        assert_eq!(starter.find(""), None);
    }
}
