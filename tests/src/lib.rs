//! Support for behaviour tests: a temporary home, the real programs, clients of their interfaces,
//! and fakes of outside services.
//!
//! Most functions panic instead of returning an error, because an error here fails the test.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::too_many_lines
)]

mod client;
pub mod editor;
pub mod embedding;
pub mod http;
pub mod ideas_model;
pub mod lines;
pub mod mcp;
pub mod model;
pub mod mounts;
mod needs;
pub mod platform;
pub mod postgres;
mod process;
pub mod telephony;
pub mod tiny_model;
pub mod tunnel;
pub mod vault;

use std::ffi::OsStr;
use std::io::Write;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use brain_protocol::{Reply, Request, Scopes, SourceId, Status, StatusReply, TokenCreate};
use rustix::process::{Pid, Signal, kill_process};

pub use client::{Client, capture};
pub use needs::{can_change_user, can_open_files, has_program};
pub use process::{Run, program, run, target_dir};
pub use test_skips::{Need, skip};

/// Maximum time of a wait. It is generous, because the machine may be busy.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// The longest shutdown that a test accepts. `docs/systemd.md` promises 5 s, but a test machine may
/// be busy.
pub const MAX_SHUTDOWN_TIME: Duration = Duration::from_secs(20);

/// Default HTTP settings of test daemons: a free local port and no public listener. Free ports keep
/// parallel tests and the developer's own daemon apart.
pub const HTTP_ON_FREE_PORT: [(&str, &str); 2] =
    [("BRAIN_HTTP_LOCAL", "127.0.0.1:0"), ("BRAIN_HTTP_PUBLIC", "off")];

/// A temporary home. Dropping it kills its daemon and removes its files.
pub struct TestHome {
    /// Declared before `dir`, so that they are unmounted before `dir` is removed.
    mounts: Vec<Mount>,
    dir: tempfile::TempDir,
    /// Environment variables that each program gets, besides those of [`TestHome::command`].
    pub env: Vec<(String, String)>,
    obeys_modes: bool,
}

impl Default for TestHome {
    fn default() -> Self {
        Self::new()
    }
}

impl TestHome {
    /// Creates a temporary directory for a home. The home itself does not exist yet.
    #[must_use]
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("brain").tempdir().unwrap();
        Self { mounts: Vec::new(), dir, env: Vec::new(), obeys_modes: false }
    }

    /// Creates a home whose programs obey the modes of files, also as root. Returns `None` and
    /// reports a skip if that is not possible here.
    #[must_use]
    pub fn that_obeys_modes() -> Option<Self> {
        let is_root = rustix::process::geteuid().is_root();
        if is_root && !has_program("setpriv") {
            return None;
        }
        let mut home = Self::new();
        home.obeys_modes = is_root;
        Some(home)
    }

    /// Returns the path of the home directory.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Returns a directory outside the home, for input. Creates it if needed.
    #[must_use]
    pub fn outside(&self) -> PathBuf {
        let dir = self.dir.path().join("outside");
        std::fs::create_dir_all(&dir).unwrap();
        dir
    }

    /// Mounts a memory file system at the directory `at`, which is created. Returns `false` and
    /// reports a skip if mounting fails. Dropping the home kills the daemon, then unmounts.
    #[must_use]
    pub fn mount(&mut self, at: &Path, options: &str) -> bool {
        std::fs::create_dir_all(at).unwrap();
        if !mount(&["-t", "tmpfs", "-o", options, "brain-test"], at) {
            skip(Need::Root("full disks, in memory".into()));
            return false;
        }
        self.mounts.push(Mount { at: at.to_owned() });
        true
    }

    /// Mounts an ext4 file system of this size, stored in a file, at the directory `at`, which is
    /// created. Returns `false` and reports a skip if mounting fails.
    #[must_use]
    pub fn mount_ext4(&mut self, at: &Path, mebibytes: u64) -> bool {
        std::fs::create_dir_all(at).unwrap();
        let image = self.dir.path().join("image.ext4");
        std::fs::File::create(&image).and_then(|file| file.set_len(mebibytes << 20)).unwrap();
        let output = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image).output();
        if !output.is_ok_and(|output| output.status.success())
            || !mount(&["-o", "loop", &image.display().to_string()], at)
        {
            skip(Need::Root("full disks, ext4 in a file".into()));
            return false;
        }
        self.mounts.push(Mount { at: at.to_owned() });
        true
    }

    /// Changes the options of the last mount, for example to `ro`.
    pub fn remount(&self, options: &str) {
        let at = &self.mounts.last().expect("no mount").at;
        assert!(mount(&["-o", &format!("remount,{options}")], at), "cannot remount with {options}");
    }

    /// Returns the path of the daemon's socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.path().join("run/brain.sock")
    }

    /// Returns a command for one of the workspace's programs in this home. Of the test's own
    /// environment, it gets only `PATH`.
    #[must_use]
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(program(name));
        if self.obeys_modes {
            // Root reads and writes everything, unless it lacks these capabilities.
            command = Command::new("setpriv");
            command.arg("--bounding-set=-dac_override,-dac_read_search").arg(program(name));
        }
        command
            .env_clear()
            .env("BRAIN_HOME", self.path())
            .envs(HTTP_ON_FREE_PORT)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TZ", "UTC");
        command.envs(self.env.iter().map(|(k, v)| (k.as_str(), v.as_str())));
        command
    }

    /// Runs `brain` with these arguments and nothing on standard input.
    pub fn brain<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        self.brain_with(args, b"")
    }

    /// Runs `brain` with these arguments and this standard input.
    pub fn brain_with<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        stdin: &[u8],
    ) -> Run {
        let mut command = self.command("brain");
        command.args(args);
        run(command, stdin)
    }

    /// Runs `brain … --json`, expects success, and returns its output.
    pub fn json<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> serde_json::Value {
        let mut command = self.command("brain");
        command.arg("--json").args(args);
        run(command, b"").expect(0).json()
    }

    /// As [`TestHome::json`], with this standard input.
    pub fn json_with<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        stdin: &[u8],
    ) -> serde_json::Value {
        let mut command = self.command("brain");
        command.arg("--json").args(args);
        run(command, stdin).expect(0).json()
    }

    /// Runs `brain … --json`, expects exit status `code` and one JSON error on standard output, and
    /// returns the error.
    pub fn fault<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        code: i32,
    ) -> serde_json::Value {
        self.fault_with(args, b"", code)
    }

    /// As [`TestHome::fault`], with this standard input.
    pub fn fault_with<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        stdin: &[u8],
        code: i32,
    ) -> serde_json::Value {
        let mut command = self.command("brain");
        command.arg("--json").args(args);
        let result = run(command, stdin).expect(code);
        let error = result.json()["error"].clone();
        let is_complete = error["code"].is_string() && error["message"].is_string();
        assert!(is_complete, "no error in {result:?}");
        error
    }

    /// Runs `brain --json put <slug>` with this page on standard input, expects success, and
    /// returns the output.
    pub fn put(&self, slug: &str, page: &str) -> serde_json::Value {
        self.json_with(["put", slug], page.as_bytes())
    }

    /// Runs `brain --json get <slug>`, expects success, and returns the output.
    #[must_use]
    pub fn get(&self, slug: &str) -> serde_json::Value {
        self.json(["get", slug])
    }

    /// Returns the slugs that `brain search` finds, best first.
    #[must_use]
    pub fn search(&self, query: &str) -> Vec<String> {
        slugs(&self.json(["search", "--", query])["hits"])
    }

    /// Returns the path of the file of a page in the default source.
    #[must_use]
    pub fn page_file(&self, slug: &str) -> PathBuf {
        self.path().join(format!("pages/{slug}.md"))
    }

    /// Starts the daemon and waits until it answers.
    #[must_use]
    pub fn daemon(&self) -> Daemon {
        let mut command = self.command("brain-daemon");
        let log = self.dir.path().join("daemon.log");
        let log = std::fs::File::options().create(true).append(true).open(log).unwrap();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let mut daemon = Daemon { child };
        let deadline = Instant::now() + TEST_TIMEOUT;
        while self.connect().is_none() {
            if let Some(status) = daemon.child.try_wait().unwrap() {
                panic!("the daemon ended with {status}: {}", self.log());
            }
            assert!(Instant::now() < deadline, "the daemon does not answer: {}", self.log());
            std::thread::sleep(Duration::from_millis(2));
        }
        daemon
    }

    /// Starts the daemon and passes it this socket as systemd does. `names` are the names for
    /// `LISTEN_FDNAMES`, separated by `:`. Does not wait until the daemon is ready.
    #[must_use]
    pub fn activated(&self, socket: &UnixListener, names: &str) -> Daemon {
        self.activated_by(socket.try_clone().unwrap().into(), names)
    }

    /// As [`TestHome::activated`], with any socket.
    #[must_use]
    pub fn activated_by(&self, socket: OwnedFd, names: &str) -> Daemon {
        let mut command = self.command("brain-activate");
        command.arg(names).arg(program("brain-daemon"));
        let log = self.dir.path().join("daemon.log");
        let log = std::fs::File::options().create(true).append(true).open(log).unwrap();
        let child =
            command.stdin(Stdio::from(socket)).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        Daemon { child }
    }

    /// Returns the log of all daemons that the test started in this home.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("daemon.log")).unwrap_or_default()
    }

    /// Returns the daemon's status.
    #[must_use]
    pub fn status(&self) -> StatusReply {
        match self.connect().expect("no daemon runs").ask(&Request::Status(Status)) {
            Ok(Reply::Status(status)) => status,
            other => panic!("no status: {other:?}"),
        }
    }

    /// Returns the address of the daemon's local HTTP listener.
    #[must_use]
    pub fn http_local(&self) -> SocketAddr {
        self.status().http_local.expect("no local HTTP listener").parse().unwrap()
    }

    /// Returns the address of the daemon's public HTTP listener. Needs `BRAIN_HTTP_PUBLIC` in
    /// [`TestHome::env`].
    #[must_use]
    pub fn http_public(&self) -> SocketAddr {
        self.status().http_public.expect("no public HTTP listener").parse().unwrap()
    }

    /// Creates a token with `scopes`, for example `read write`, for these sources. An empty list
    /// means all sources.
    #[must_use]
    pub fn token(&self, name: &str, scopes: &str, sources: &[&str]) -> String {
        let request = TokenCreate {
            name: name.into(),
            scopes: Scopes::parse(scopes).unwrap(),
            sources: sources.iter().map(|id| SourceId::parse(*id).unwrap()).collect(),
            expires_in: None,
        };
        match self.connect().expect("no daemon runs").ask(&Request::TokenCreate(request)) {
            Ok(Reply::TokenCreate(reply)) => reply.token.expose().to_owned(),
            other => panic!("no token: {other:?}"),
        }
    }

    /// Connects to the daemon and exchanges greetings. Returns `None` if no daemon answers.
    #[must_use]
    pub fn connect(&self) -> Option<Client> {
        Client::connect(&self.socket())
    }
}

impl Drop for TestHome {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log();
            let from = log.lines().count().saturating_sub(40);
            let lines: Vec<&str> = log.lines().skip(from).collect();
            report(&format!("the end of the daemon's log:\n{}", lines.join("\n")));
        }
        // A daemon may be a child of a client, not of the test, and its socket may be on a disk
        // that was unmounted.
        let home = format!("BRAIN_HOME={}", self.path().display());
        let processes = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
        for process in processes {
            let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let read = |name: &str| std::fs::read(process.path().join(name)).unwrap_or_default();
            if read("comm") == b"brain-daemon\n"
                && read("environ").split(|byte| *byte == 0).any(|value| value == home.as_bytes())
                && let Some(pid) = Pid::from_raw(pid)
            {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// A daemon that runs as a child process. Dropping it kills it.
pub struct Daemon {
    child: Child,
}

impl Daemon {
    /// Returns the process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGKILL and waits for the exit.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM. Returns the exit status and the time until the exit.
    pub fn terminate(mut self) -> (ExitStatus, Duration) {
        let began = Instant::now();
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let status = self.child.wait().unwrap();
        (status, began.elapsed())
    }

    /// Returns whether the daemon still runs.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            report(&format!("the daemon had ended: {status}"));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the `slug` of each element of a JSON array.
#[must_use]
pub fn slugs(rows: &serde_json::Value) -> Vec<String> {
    texts(rows, "slug")
}

/// Returns a text field of each element of a JSON array.
#[must_use]
pub fn texts(rows: &serde_json::Value, field: &str) -> Vec<String> {
    let rows = rows.as_array().unwrap_or_else(|| panic!("no array: {rows}"));
    rows.iter()
        .map(|row| row[field].as_str().unwrap_or_else(|| panic!("no {field} in {row}")).to_owned())
        .collect()
}

/// Returns the content of a reply of the named kind: `expect_reply!(client.ask(&get), Page)`.
///
/// # Panics
/// When the result is a fault or a reply of another kind.
#[macro_export]
macro_rules! expect_reply {
    ($result:expr, $kind:ident) => {
        match $result {
            Ok(::brain_protocol::Reply::$kind(content)) => content,
            other => panic!("expected the reply {}, got {other:?}", stringify!($kind)),
        }
    };
}

/// Writes a line on standard error, also if the test passes.
pub fn report(text: &str) {
    let mut err = std::io::stderr();
    let _ = writeln!(err, "{text}");
}

/// A mounted file system. Dropping it unmounts it.
struct Mount {
    at: PathBuf,
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}

/// Runs `mount`. Returns whether it succeeded.
fn mount(args: &[&str], at: &Path) -> bool {
    let output = Command::new("mount").args(args).arg(at).output();
    output.is_ok_and(|output| output.status.success())
}

/// Waits until `done` returns true; fails with `what` after a minute.
pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
