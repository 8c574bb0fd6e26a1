//! Programs that we start: an agent that is to go on, and one that is to answer and end.

use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::output::Lines;
use super::{Launch, leash};

/// How long an agent may take to end when it is asked to: less than the daemon has for its own end.
const PATIENCE: Duration = Duration::from_secs(2);
/// How much of a short program's output is read, in bytes.
const MOST: u64 = 64 * 1024;
/// How often a short program is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// How long the last words of a program may take to come.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// What of our environment is not for others: what the service manager said to us.
const OURS: [&str; 6] = [
    "NOTIFY_SOCKET",
    "CREDENTIALS_DIRECTORY",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "WATCHDOG_USEC",
];

/// Starts programs. A test's own starts none.
pub trait Starter: Send + Sync {
    /// The file of a program: a path, or a name that is looked for on PATH. `None` when there is none that can be run.
    fn find(&self, program: &str) -> Option<PathBuf>;

    /// Starts an agent that goes on, in a process group of its own; it ends with the daemon. Its output is kept, the last lines of it.
    ///
    /// # Errors
    /// Why it cannot be started; `NotFound` when there is no such program.
    fn start(&self, launch: &Launch) -> Result<Box<dyn Child>>;

    /// Runs a program to its end, at most `within`, with nothing on its standard input; its exit status and its standard output, when it
    /// failed its standard error too, each cut at 64 KiB.
    ///
    /// # Errors
    /// As [`Starter::start`]; `TimedOut` when it did not end, and was ended.
    fn run(&self, command: &[String], within: Duration) -> Result<(i32, String)>;
}

/// An agent that we started.
pub trait Child: Send {
    /// How it ended, in words; `None` while it runs.
    fn ended(&self) -> Option<String>;

    /// The lines that it printed since this was asked last, at most the last 200, each at most 2000 bytes.
    fn lines(&self) -> Vec<String>;

    /// Ends it, and whatever it has started in its group: asked first, made to after two seconds. Blocks until it is gone.
    fn stop(&self);
}

/// Hears that an agent has ended by itself.
pub type OnEnd = Arc<dyn Fn() + Send + Sync>;

/// Starts real programs.
#[derive(Clone, Default)]
pub struct SystemStarter {
    leashed: bool,
    on_end: Option<OnEnd>,
}

impl SystemStarter {
    /// Its agents, and what they have started, end with this process, even when it is killed. For the daemon's own program: it has to know [`leash`].
    #[must_use]
    pub fn leashed() -> Self {
        Self { leashed: true, on_end: None }
    }

    /// `on_end` is called on a thread of its own when an agent has ended, unless it was asked to.
    #[must_use]
    pub fn telling(self, on_end: OnEnd) -> Self {
        Self { on_end: Some(on_end), ..self }
    }
}

impl Starter for SystemStarter {
    fn find(&self, program: &str) -> Option<PathBuf> {
        let runs = |path: &Path| {
            path.metadata()
                .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        };
        if program.contains('/') {
            return Some(PathBuf::from(program)).filter(|path| runs(path));
        }
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|dir| dir.join(program)).find(|path| runs(path))
    }

    fn start(&self, launch: &Launch) -> Result<Box<dyn Child>> {
        let program = self.program(&launch.command)?;
        let mut command = if self.leashed {
            let mut command = Command::new(leash::OURSELVES);
            command.arg(leash::WORD).arg(std::process::id().to_string()).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.args(&launch.command[1..]);
        prepare(&mut command);
        if self.leashed {
            // Ends when this process does: `keep` holds the other end as long as the agent runs.
            command.stdin(Stdio::piped());
        }
        command.envs(launch.variables.iter().map(|(name, value)| (name, value.expose())));
        let (started, hear) = mpsc::channel();
        let state = Arc::new(State::default());
        let told = Arc::clone(&state);
        // The thread that starts it stays as long as it runs: to the kernel it is the parent.
        let on_end = self.on_end.clone();
        let keep = move || {
            keep(command, &told, &started);
            if let Some(on_end) = on_end.filter(|_| !told.is_unwanted.load(Ordering::SeqCst)) {
                on_end();
            }
        };
        thread::Builder::new().name("tunnel-agent".into()).spawn(keep)?;
        let (pid, out, err) =
            hear.recv().map_err(|_| Error::other("the thread for it ended"))??;
        let lines = Lines::default();
        // From here on it is ended when something fails.
        let mut running = Running { pid, state, readers: Vec::new(), lines };
        running.readers.push(read(&running.lines, out)?);
        running.readers.push(read(&running.lines, err)?);
        Ok(Box::new(running))
    }

    fn run(&self, command: &[String], within: Duration) -> Result<(i32, String)> {
        let began = Instant::now();
        let mut running = Command::new(self.program(command)?);
        prepare(running.args(&command[1..]));
        let mut child = running.spawn()?;
        let group = Pid::from_child(&child);
        let out = collect(child.stdout.take());
        let err = collect(child.stderr.take());
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if began.elapsed() >= within {
                // Not reaped yet, so the number is still its own.
                let _ = kill_process_group(group, Signal::KILL);
                child.wait()?;
                return Err(Error::new(
                    ErrorKind::TimedOut,
                    format!("it took longer than {} seconds", within.as_secs()),
                ));
            }
            thread::sleep(LOOK);
        };
        // Somebody whom it started may hold its output open.
        let rest = within.saturating_sub(began.elapsed()).max(LOOK);
        let mut text = out.recv_timeout(rest).unwrap_or_default();
        if !status.success() {
            text.push_str(&err.recv_timeout(rest).unwrap_or_default());
        }
        Ok((status.code().unwrap_or(-1), text))
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

/// What holds for every program: nothing to read, output for us, a group of its own, and an environment without what is ours.
fn prepare(command: &mut Command) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("BRAIN_") || OURS.contains(&&*text) {
            command.env_remove(&name);
        }
    }
}

/// Reads a pipe into lines, on a thread of its own.
fn read(lines: &Lines, from: impl Read + Send + 'static) -> Result<JoinHandle<()>> {
    let lines = lines.clone();
    thread::Builder::new().name("tunnel-output".into()).spawn(move || lines.read(from))
}

/// Reads a pipe to its end on a thread of its own; its beginning is handed over.
fn collect(from: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (told, hear) = mpsc::channel();
    let read = move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            let _ = (&mut from).take(MOST).read_to_end(&mut bytes);
            // It must not wait for a reader.
            let _ = std::io::copy(&mut from, &mut std::io::sink());
        }
        let _ = told.send(String::from_utf8_lossy(&bytes).into_owned());
    };
    // Without a thread nothing is handed over, which is what the other end hears.
    let _ = thread::Builder::new().name("tunnel-output".into()).spawn(read);
    hear
}

/// How an agent ended, as soon as it did.
#[derive(Debug, Default)]
struct State {
    ended: Mutex<Option<String>>,
    changed: Condvar,
    /// We ended it.
    is_unwanted: AtomicBool,
}

impl State {
    fn ended(&self) -> MutexGuard<'_, Option<String>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Started = Result<(Pid, ChildStdout, ChildStderr)>;

/// Starts an agent, and stays until it has ended.
fn keep(mut command: Command, state: &State, started: &mpsc::Sender<Started>) {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return drop(started.send(Err(error))),
    };
    let pid = Pid::from_child(&child);
    let pipes = child.stdout.take().zip(child.stderr.take());
    let _ = started.send(
        pipes.map(|(out, err)| (pid, out, err)).ok_or_else(|| Error::other("it has no output")),
    );
    // Its number is its own until it is reaped, and that only happens with the lock: nobody signals somebody else.
    while let Err(rustix::io::Errno::INTR) =
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
    {}
    let mut ended = state.ended();
    // What it started and left behind.
    let _ = kill_process_group(pid, Signal::KILL);
    *ended = Some(child.wait().map_or_else(|error| format!("it is gone ({error})"), how));
    state.changed.notify_all();
}

/// How a program ended, in words.
fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it ended with exit status {code}"),
        (None, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => "it ended".into(),
    }
}

/// A real agent.
struct Running {
    pid: Pid,
    state: Arc<State>,
    readers: Vec<JoinHandle<()>>,
    lines: Lines,
}

impl Child for Running {
    fn ended(&self) -> Option<String> {
        self.state.ended().clone()
    }

    fn lines(&self) -> Vec<String> {
        // What it said last is still on its way when it has just ended.
        let until = Instant::now() + LAST_WORDS;
        while self.ended().is_some()
            && !self.readers.iter().all(JoinHandle::is_finished)
            && Instant::now() < until
        {
            thread::sleep(LOOK);
        }
        self.lines.take()
    }

    fn stop(&self) {
        self.state.is_unwanted.store(true, Ordering::SeqCst);
        for signal in [Signal::TERM, Signal::KILL] {
            let ended = self.state.ended();
            if ended.is_some() {
                return;
            }
            let _ = kill_process_group(self.pid, signal);
            let waited =
                self.state.changed.wait_timeout_while(ended, PATIENCE, |ended| ended.is_none());
            drop(waited);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.state.is_unwanted.store(true, Ordering::SeqCst);
        let ended = self.state.ended();
        if ended.is_none() {
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

    fn until(what: &str, done: impl Fn() -> bool) {
        let patience = Instant::now() + Duration::from_secs(30);
        while !done() {
            assert!(Instant::now() < patience, "{what}");
            thread::sleep(LOOK);
        }
    }

    fn lines(child: &dyn Child, count: usize) -> Vec<String> {
        let kept = Mutex::new(Vec::new());
        until("lines", || {
            let mut kept = kept.lock().unwrap();
            kept.extend(child.lines());
            kept.len() >= count
        });
        kept.into_inner().unwrap()
    }

    fn runs(pid: &str) -> bool {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    }

    #[test]
    fn an_agent_has_a_group_its_lines_are_kept_and_its_end_is_told() {
        let starter = SystemStarter::default();
        let child = starter
            .start(&shell("echo out; echo err >&2; echo \"$NGROK_AUTHTOKEN\"; exit 7"))
            .unwrap();
        let mut kept = lines(&*child, 3);
        kept.sort();
        assert_eq!(kept, ["err", "out", "s3cret"]);
        until("its end", || child.ended().is_some());
        assert_eq!(child.ended().unwrap(), "it ended with exit status 7");
        // Ending what has ended is nothing.
        child.stop();
    }

    #[test]
    fn an_end_is_told_at_once_unless_it_was_asked_for() {
        let (told, hear) = mpsc::channel();
        let told = Mutex::new(told);
        let starter = SystemStarter::default().telling(Arc::new(move || {
            let _ = told.lock().unwrap().send(Instant::now());
        }));
        let child = starter.start(&shell("exit 0")).unwrap();
        hear.recv_timeout(Duration::from_secs(30)).unwrap();
        assert!(child.ended().is_some(), "it is known by then");
        let child = starter.start(&shell("sleep 600")).unwrap();
        child.stop();
        drop(starter.start(&shell("sleep 600")).unwrap());
        assert!(hear.recv_timeout(Duration::from_millis(300)).is_err());
    }

    #[test]
    fn stopping_ends_what_it_started_too_even_when_it_does_not_want_to() {
        let starter = SystemStarter::default();
        let child =
            starter.start(&shell("trap '' TERM; sleep 600 & echo $!; wait; sleep 600")).unwrap();
        let inner = lines(&*child, 1).remove(0);
        assert!(runs(&inner));
        child.stop();
        assert!(child.ended().unwrap().contains("signal 9"), "{:?}", child.ended());
        until("the inner one ends", || !runs(&inner));
        // One that is dropped ends, too.
        let child = starter.start(&shell("echo $$; sleep 600")).unwrap();
        let inner = lines(&*child, 1).remove(0);
        drop(child);
        until("what is dropped ends", || !runs(&inner));
    }

    #[test]
    fn a_short_program_answers_or_is_ended() {
        let starter = SystemStarter::default();
        let run = |script: &str, within| starter.run(&shell(script).command, within);
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
    fn programs_are_found_where_they_can_be_run() {
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
