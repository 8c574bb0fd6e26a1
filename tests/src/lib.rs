//! What every behaviour test starts from: a home of its own, the real programs, and a client that
//! speaks the protocol by hand.
//!
//! Failures here are failures of a test, so this crate panics where the others return errors.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc)]

pub mod embedding;
pub mod http;
pub mod ideas_model;
pub mod lines;
pub mod mcp;
pub mod model;
pub mod platform;
pub mod telephony;
pub mod tiny_model;
pub mod tunnel;

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use brain_protocol::{
    Answer, Capture, Fault, HELLO_LEN, Hello, Origin, Reply, Request, Scopes, SourceId, Status,
    StatusReply, TokenCreate, decode, encode, read_frame, write_frame,
};
use rustix::process::{Pid, Signal, kill_process};

/// How long anything may take before a test gives up. Generous: the machine may be busy; no test
/// asserts speed.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What every daemon of a test gets: tests run side by side, and beside the brain of whoever runs
/// them.
pub const HTTP_ANYWHERE: [(&str, &str); 2] =
    [("BRAIN_HTTP_LOCAL", "127.0.0.1:0"), ("BRAIN_HTTP_PUBLIC", "off")];

/// The directory that the programs were built into, beside the running test.
#[must_use]
pub fn target_dir() -> PathBuf {
    let mut dir = std::env::current_exe().expect("a running test has a path");
    dir.pop();
    if dir.ends_with("deps") {
        dir.pop();
    }
    dir
}

/// The path of one of the workspace's programs.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    let path = target_dir().join(name);
    assert!(
        path.exists(),
        "{} is not built: run `cargo build --workspace --bins` first",
        path.display()
    );
    path
}

/// A temporary home. Whatever daemon runs in it is killed when this goes.
pub struct TestHome {
    /// Before `dir`: unmounted first.
    mounts: Vec<Mount>,
    dir: tempfile::TempDir,
    /// Variables that every program gets.
    pub env: Vec<(String, String)>,
}

/// How a program ended.
#[derive(Debug)]
pub struct Run {
    /// Its exit status.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Run {
    /// Standard output as JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("not one JSON value ({e}): {self:?}"))
    }

    /// Itself, if it ended with `code`.
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }
}

impl Default for TestHome {
    fn default() -> Self {
        Self::new()
    }
}

impl TestHome {
    /// An empty home.
    #[must_use]
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("brain").tempdir().unwrap();
        Self { mounts: Vec::new(), dir, env: Vec::new() }
    }

    /// The home directory.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// A directory beside the home, for input.
    #[must_use]
    pub fn outside(&self) -> PathBuf {
        let dir = self.dir.path().join("outside");
        std::fs::create_dir_all(&dir).unwrap();
        dir
    }

    /// Puts a memory file system at `at`, which is made; `false`, said loudly, where this user may
    /// not mount. It goes with the home, after the daemon.
    #[must_use]
    pub fn mount(&mut self, at: &Path, options: &str) -> bool {
        std::fs::create_dir_all(at).unwrap();
        if !mount(&["-t", "tmpfs", "-o", options, "brain-test"], at) {
            skip("mounting is not permitted here (it takes root)");
            return false;
        }
        self.mounts.push(Mount { at: at.to_owned() });
        true
    }

    /// Puts an ext4 file system of `megabytes` in a file at `at`; `false`, said loudly, where that
    /// cannot be.
    #[must_use]
    pub fn mount_ext4(&mut self, at: &Path, megabytes: u64) -> bool {
        std::fs::create_dir_all(at).unwrap();
        let image = self.dir.path().join("image.ext4");
        std::fs::File::create(&image).and_then(|file| file.set_len(megabytes << 20)).unwrap();
        let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image).output();
        if !made.is_ok_and(|made| made.status.success())
            || !mount(&["-o", "loop", &image.display().to_string()], at)
        {
            skip(
                "an ext4 file system in a file cannot be mounted here (it takes root and e2fsprogs)",
            );
            return false;
        }
        self.mounts.push(Mount { at: at.to_owned() });
        true
    }

    /// Changes the options of what was mounted, for example to `ro`.
    pub fn remount(&self, options: &str) {
        let at = &self.mounts.last().expect("something is mounted").at;
        assert!(mount(&["-o", &format!("remount,{options}")], at), "remount with {options}");
    }

    /// The socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.path().join("run/brain.sock")
    }

    /// A program of ours in this home, with a clean environment.
    #[must_use]
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(program(name));
        command
            .env_clear()
            .env("BRAIN_HOME", self.path())
            .envs(HTTP_ANYWHERE)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
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

    /// Runs `brain … --json`, expects success, and gives what it printed.
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

    /// Runs `brain … --json`, expects it to end with `code` and one JSON error on standard output;
    /// gives the error.
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
        let ran = run(command, stdin).expect(code);
        let error = ran.json()["error"].clone();
        assert!(error["code"].is_string() && error["message"].is_string(), "no error in {ran:?}");
        error
    }

    /// `brain put <slug>` with this page.
    pub fn put(&self, slug: &str, page: &str) -> serde_json::Value {
        self.json_with(["put", slug], page.as_bytes())
    }

    /// `brain get <slug>`.
    #[must_use]
    pub fn get(&self, slug: &str) -> serde_json::Value {
        self.json(["get", slug])
    }

    /// The slugs that `brain search` answers with, best first.
    #[must_use]
    pub fn search(&self, query: &str) -> Vec<String> {
        slugs(&self.json(["search", "--", query])["hits"])
    }

    /// The file of a page of the default source.
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
        let patience = Instant::now() + PATIENCE;
        while self.connect().is_none() {
            if let Some(status) = daemon.child.try_wait().unwrap() {
                panic!("the daemon ended with {status}: {}", self.log());
            }
            assert!(Instant::now() < patience, "the daemon does not answer: {}", self.log());
            std::thread::sleep(Duration::from_millis(2));
        }
        daemon
    }

    /// Starts the daemon with this socket handed over as systemd would, under these names (`:`
    /// between them). It need not be ready yet.
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

    /// What daemons started by [`TestHome::daemon`] logged.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("daemon.log")).unwrap_or_default()
    }

    /// How the daemon is.
    #[must_use]
    pub fn status(&self) -> StatusReply {
        match self.connect().expect("a daemon is there").ask(&Request::Status(Status)) {
            Ok(Reply::Status(status)) => status,
            other => panic!("no status: {other:?}"),
        }
    }

    /// Where the daemon serves HTTP for this machine.
    #[must_use]
    pub fn http_local(&self) -> SocketAddr {
        self.status().http_local.expect("HTTP is served").parse().unwrap()
    }

    /// Where the daemon serves HTTP for a tunnel; needs `BRAIN_HTTP_PUBLIC` in [`TestHome::env`].
    #[must_use]
    pub fn http_public(&self) -> SocketAddr {
        self.status().http_public.expect("HTTP is served for a tunnel").parse().unwrap()
    }

    /// A new token with these scopes, such as `read write`, for these sources; for all when there
    /// are none.
    #[must_use]
    pub fn token(&self, name: &str, scopes: &str, sources: &[&str]) -> String {
        let request = TokenCreate {
            name: name.into(),
            scopes: Scopes::parse(scopes).unwrap(),
            sources: sources.iter().map(|id| SourceId::parse(*id).unwrap()).collect(),
            expires_in: None,
        };
        match self.connect().expect("a daemon is there").ask(&Request::TokenCreate(request)) {
            Ok(Reply::TokenCreate(made)) => made.token.expose().to_owned(),
            other => panic!("no token: {other:?}"),
        }
    }

    /// A connection that has exchanged greetings, if a daemon is there.
    #[must_use]
    pub fn connect(&self) -> Option<Client> {
        Client::connect(&self.socket())
    }
}

impl Drop for TestHome {
    fn drop(&mut self) {
        // A daemon that a client started is nobody's child.
        if let Some(client) = self.connect()
            && let Some(pid) = Pid::from_raw(client.hello.pid as i32)
        {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Runs a program to its end.
pub fn run(mut command: Command, stdin: &[u8]) -> Run {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut pipe = child.stdin.take().unwrap();
    let input = stdin.to_vec();
    // The program may end without reading all of it.
    let feeder = std::thread::spawn(move || drop(pipe.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).expect("output is UTF-8"),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A daemon that is our child.
pub struct Daemon {
    child: Child,
}

impl Daemon {
    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL, now.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM, and how and how fast it ended.
    pub fn terminate(mut self) -> (ExitStatus, Duration) {
        let began = Instant::now();
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let status = self.child.wait().unwrap();
        (status, began.elapsed())
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client that speaks the protocol by hand.
pub struct Client {
    /// The raw connection.
    pub stream: UnixStream,
    /// The daemon's greeting.
    pub hello: Hello,
}

impl Client {
    /// Connects and exchanges greetings.
    #[must_use]
    pub fn connect(socket: &Path) -> Option<Self> {
        let mut stream = UnixStream::connect(socket).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.write_all(&Hello::ours(std::process::id()).to_bytes()).ok()?;
        let mut bytes = [0_u8; HELLO_LEN];
        stream.read_exact(&mut bytes).ok()?;
        Some(Self { stream, hello: Hello::from_bytes(&bytes).ok()? })
    }

    /// Asks, and waits for the answer; `None` when the daemon went away.
    pub fn try_ask(&mut self, request: &Request) -> Option<Result<Reply, Fault>> {
        write_frame(&mut self.stream, &encode(request).unwrap()).ok()?;
        loop {
            match decode::<Answer>(&read_frame(&mut self.stream).ok()?).unwrap() {
                Answer::Event(_) => {}
                Answer::Reply(reply) => return Some(Ok(reply)),
                Answer::Fault(fault) => return Some(Err(fault)),
            }
        }
    }

    /// Asks, and expects an answer.
    ///
    /// # Errors
    /// The daemon's refusal.
    pub fn ask(&mut self, request: &Request) -> Result<Reply, Fault> {
        self.try_ask(request).expect("the daemon answers")
    }
}

/// The `slug` of each element of a JSON array.
#[must_use]
pub fn slugs(rows: &serde_json::Value) -> Vec<String> {
    texts(rows, "slug")
}

/// A text field of each element of a JSON array.
#[must_use]
pub fn texts(rows: &serde_json::Value, field: &str) -> Vec<String> {
    let rows = rows.as_array().unwrap_or_else(|| panic!("no array: {rows}"));
    rows.iter()
        .map(|row| row[field].as_str().unwrap_or_else(|| panic!("no {field} in {row}")).to_owned())
        .collect()
}

/// Says loudly that a test could not be done here, and why.
pub fn skip(why: &str) {
    let mut err = std::io::stderr();
    let _ = writeln!(err, "SKIPPED: {why}");
}

/// A file system of a test's own, gone when this goes.
struct Mount {
    at: PathBuf,
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}

fn mount(args: &[&str], at: &Path) -> bool {
    let output = Command::new("mount").args(args).arg(at).output();
    output.is_ok_and(|o| o.status.success())
}

/// The shared data directory, or a loud skip.
#[must_use]
pub fn shared_data(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("BRAIN_TEST_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
        PathBuf::from,
    );
    let path = root.join(name);
    if path.exists() {
        return Some(path);
    }
    skip(&format!("{} is not there; set BRAIN_TEST_DATA to the test data", path.display()));
    None
}

/// A capture of these words as `brain capture --stdin` asks for it.
#[must_use]
pub fn capture(content: impl Into<Vec<u8>>) -> Request {
    Request::Capture(Capture {
        content: content.into(),
        origin: Origin::Stdin,
        source: None,
        slug: None,
        page_type: None,
        title: None,
        tags: Vec::new(),
    })
}
