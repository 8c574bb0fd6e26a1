//! The daemon under a service manager: passed sockets, access by other users, and notifications.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use brain_protocol::{Reply, Request, Status};
use brain_tests::{Client, Run, TEST_TIMEOUT, TestHome, can_change_user, capture, program, run};
use rustix::process::{Pid, Signal, kill_process};

/// Binds a control socket, as systemd would. Returns its path and the listener.
fn socket(home: &TestHome) -> (PathBuf, UnixListener) {
    let path = home.outside().join("control.sock");
    let listener = UnixListener::bind(&path).unwrap();
    (path, listener)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Returns the status of the daemon behind `socket`.
fn status(socket: &Path) -> brain_protocol::StatusReply {
    match Client::connect(socket).expect("the daemon does not greet").ask(&Request::Status(Status))
    {
        Ok(Reply::Status(status)) => status,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_passed_socket_is_served_unchanged() {
    let home = TestHome::new();
    let (path, listener) = socket(&home);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    fs::set_permissions(home.outside(), fs::Permissions::from_mode(0o751)).unwrap();
    let daemon = home.activated(&listener, "control");
    assert_eq!(status(&path).socket, path.to_str().unwrap(), "status names the served socket");
    assert!(!home.socket().exists(), "the daemon creates no other socket");
    assert_eq!((mode(&path), mode(&home.outside())), (0o640, 0o751), "the modes are unchanged");
    // A client of this home finds the socket.
    let pid = daemon.pid();
    assert_eq!(home.json(["status"])["pid"], pid);
    let checks = home.json(["doctor"])["checks"].clone();
    let check =
        checks.as_array().unwrap().iter().find(|c| c["name"] == "socket permissions").unwrap();
    assert_eq!(check["status"], "ok", "{check}");
    assert!(check["message"].as_str().unwrap().contains("systemd"), "{check}");
    let (ended, _) = daemon.terminate();
    assert!(ended.success(), "{ended}");
    assert!(path.exists() && mode(&path) == 0o640, "the socket stays for the next daemon");
    // A request between two daemons waits for the next one.
    let waiting = {
        let path = path.clone();
        std::thread::spawn(move || status(&path).pid)
    };
    let next = home.activated(&listener, "control");
    assert_eq!(waiting.join().unwrap(), next.pid());
}

#[test]
fn a_restart_behind_the_socket_loses_no_request() {
    let mut home = TestHome::new();
    let (path, listener) = socket(&home);
    // As under a system unit, the client starts no daemon.
    home.env.push(("BRAIN_SOCKET".into(), path.display().to_string()));
    home.env.push(("BRAIN_NO_START".into(), "1".into()));
    let mut daemon = home.activated(&listener, "control");
    let (slugs, _daemon) = std::thread::scope(|scope| {
        let home = &home;
        let clients: Vec<_> = (0..3)
            .map(|client| {
                scope.spawn(move || -> Vec<String> {
                    let capture_thought = |n| {
                        home.json(["capture".to_owned(), format!("client {client} thought {n}")])
                    };
                    (0..15)
                        .map(|n| capture_thought(n)["slug"].as_str().unwrap().to_owned())
                        .collect()
                })
            })
            .collect();
        for _ in 0..3 {
            // The daemon runs and has answered some requests, even on a busy machine.
            assert_eq!(status(&path).pid, daemon.pid());
            std::thread::sleep(Duration::from_millis(150));
            let (ended, _) = daemon.terminate();
            assert!(ended.success(), "{ended}");
            daemon = home.activated(&listener, "control");
        }
        let slugs: Vec<_> = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
        (slugs, daemon)
    });
    assert_eq!(slugs.len(), 45);
    for slug in slugs {
        assert!(home.get(&slug)["body"].as_str().unwrap().starts_with("client "), "{slug}");
    }
}

#[test]
fn sockets_with_unknown_names_are_ignored() {
    let home = TestHome::new();
    let (path, listener) = socket(&home);
    let daemon = home.activated(&listener, "other:control");
    assert_eq!(status(&path).pages, 0);
    assert!(
        home.log().contains("has an unknown name") && home.log().contains("\"other\""),
        "{}",
        home.log()
    );
    drop(daemon);
    // Without a known name, the daemon creates its own socket.
    let _daemon = home.activated(&listener, "other");
    let deadline = Instant::now() + TEST_TIMEOUT;
    while home.connect().is_none() {
        assert!(Instant::now() < deadline, "{}", home.log());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_socket_of_the_wrong_type_is_refused_with_a_hint() {
    let home = TestHome::new();
    let wrong = UnixDatagram::bind(home.outside().join("datagram.sock")).unwrap();
    let mut command = home.command("brain-activate");
    command.arg("control").arg(program("brain-daemon"));
    command.stdin(std::process::Stdio::from(std::os::fd::OwnedFd::from(wrong)));
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("unix stream socket") && stderr.contains("FileDescriptorName=control"),
        "{stderr}"
    );
    assert!(!home.path().join("brain.redb").exists());
}

#[test]
fn a_manual_daemon_does_not_replace_systemds_socket() {
    let home = TestHome::new();
    fs::create_dir_all(home.path().join("run")).unwrap();
    let listener = UnixListener::bind(home.socket()).unwrap();
    listener.set_nonblocking(true).unwrap();
    let refused = run(home.command("brain-daemon"), b"").expect(1);
    assert!(refused.stderr.contains("another process listens on"), "{refused:?}");
    assert!(refused.stderr.contains("brain service uninstall"), "{refused:?}");
    assert!(home.socket().exists());
    let connection = listener.accept();
    assert!(
        connection.is_err(),
        "no connection was made: systemd would have started a daemon for it"
    );
    drop(listener);
    let _daemon = home.daemon();
}

#[test]
fn a_daemon_ends_when_systemd_replaces_its_socket() {
    let home = TestHome::new();
    let mut manual_daemon = home.daemon();
    home.json(["capture", "before systemd started"]);
    // systemd removes an existing socket when it starts a socket unit.
    fs::remove_file(home.socket()).unwrap();
    let listener = UnixListener::bind(home.socket()).unwrap();
    let deadline = Instant::now() + TEST_TIMEOUT;
    while manual_daemon.is_running() {
        assert!(Instant::now() < deadline, "{}", home.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(home.socket().exists(), "the old daemon leaves the new socket alone");
    let _service = home.activated(&listener, "control");
    assert_eq!(home.search("systemd").len(), 1);
}

/// Another user, who runs a copy of `brain` and connects to a control socket.
struct OtherUser {
    dir: tempfile::TempDir,
    socket: PathBuf,
}

impl OtherUser {
    const UID: u32 = 65533;
    const GID: u32 = 65532;

    /// Creates a socket that, apart from its owner, only members of the group `GID` can open.
    /// Returns `None` and prints a notice if the test cannot change users.
    fn new() -> Option<(Self, UnixListener)> {
        if !can_change_user() {
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::copy(program("brain"), dir.path().join("brain")).unwrap();
        let socket = dir.path().join("control.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        std::os::unix::fs::chown(&socket, None, Some(Self::GID)).unwrap();
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o660)).unwrap();
        let other = Self { dir, socket };
        Some((other, listener))
    }

    /// Runs `brain` as this user with the supplementary groups `groups`.
    fn brain(&self, args: &[&str], groups: &str) -> Run {
        let mut command = Command::new("setpriv");
        command.arg(format!("--reuid={}", Self::UID)).arg("--regid=65534");
        match groups {
            "" => command.arg("--clear-groups"),
            groups => command.arg(format!("--groups={groups}")),
        };
        command.arg(self.dir.path().join("brain")).args(args).arg("--no-start");
        command.env_clear().env("BRAIN_HOME", "/nonexistent").env("BRAIN_SOCKET", &self.socket);
        command.env("PATH", "/usr/bin:/bin").current_dir("/");
        run(command, b"")
    }

    fn brain_as_member(&self, args: &[&str]) -> Run {
        self.brain(args, &Self::GID.to_string())
    }
}

#[test]
fn another_user_needs_permission_in_the_configuration() {
    let Some((other, listener)) = OtherUser::new() else { return };
    // A user who can open the socket still needs permission.
    let home = TestHome::new();
    let daemon = home.activated(&listener, "control");
    let refused = other.brain_as_member(&["capture", "let me in"]).expect(3);
    assert!(refused.stderr.contains("does not serve user 65533"), "{refused:?}");
    assert!(refused.stderr.contains("daemon.allow_group"), "{refused:?}");
    drop(daemon);

    let mut home = TestHome::new();
    home.env.push(("BRAIN_DAEMON_ALLOW_UIDS".into(), format!("12345, {}", OtherUser::UID)));
    let daemon = home.activated(&listener, "control");
    other.brain_as_member(&["capture", "an otter in the pond"]).expect(0);
    assert!(other.brain_as_member(&["search", "otter"]).expect(0).stdout.contains("otter"));
    // The user may read and write pages, but not administer the installation.
    for command in [&["stop"][..], &["doctor"], &["import", "/etc"]] {
        let refused = other.brain_as_member(command).expect(3);
        assert!(refused.stderr.contains("admin"), "{refused:?}");
    }
    assert_eq!(status(&other.socket).pid, daemon.pid(), "the daemon still runs");
    // A permitted user who cannot open the socket file is refused.
    assert!(other.brain(&["search", "otter"], "").expect(3).stderr.contains("EACCES"));
}

#[test]
fn a_group_is_served_if_only_the_group_can_open_the_socket() {
    let Some((other, listener)) = OtherUser::new() else { return };
    let mut home = TestHome::new();
    home.env.push(("BRAIN_DAEMON_ALLOW_GROUP".into(), OtherUser::GID.to_string()));
    let daemon = home.activated(&listener, "control");
    other.brain_as_member(&["capture", "a heron in the reeds"]).expect(0);
    other.brain_as_member(&["stop"]).expect(3);
    assert!(other.brain(&["search", "heron"], "").expect(3).stderr.contains("EACCES"));
    // A socket file that everyone can open proves no membership.
    fs::set_permissions(&other.socket, fs::Permissions::from_mode(0o666)).unwrap();
    for run in [other.brain(&["search", "heron"], ""), other.brain_as_member(&["search", "heron"])]
    {
        assert!(run.expect(3).stderr.contains("does not serve user"));
    }
    fs::set_permissions(&other.socket, fs::Permissions::from_mode(0o660)).unwrap();
    // The owner of the socket file can open it without being a member.
    let own_uid = rustix::process::geteuid().as_raw();
    std::os::unix::fs::chown(&other.socket, Some(OtherUser::UID), None).unwrap();
    let refused = other.brain(&["search", "heron"], "").expect(3);
    assert!(refused.stderr.contains("does not serve user"), "{refused:?}");
    std::os::unix::fs::chown(&other.socket, Some(own_uid), None).unwrap();
    other.brain_as_member(&["search", "heron"]).expect(0);
    drop(daemon);

    // The unit and the configuration must name the same group.
    for (group, reason) in
        [("0", "belongs to group 65532"), ("no-such-group", "groupadd --system no-such-group")]
    {
        let mut home = TestHome::new();
        home.env.push(("BRAIN_DAEMON_ALLOW_GROUP".into(), group.into()));
        let mut daemon = home.activated(&listener, "control");
        let deadline = Instant::now() + TEST_TIMEOUT;
        while daemon.is_running() {
            assert!(Instant::now() < deadline, "the daemon starts although the groups differ");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(home.log().contains(reason), "{}", home.log());
    }
}

/// A service manager that receives notifications, one or more lines in each datagram.
struct ServiceManager {
    socket: UnixDatagram,
    lines: Vec<String>,
}

impl ServiceManager {
    fn new(home: &mut TestHome) -> Self {
        let path = home.outside().join("notify.sock");
        let socket = UnixDatagram::bind(&path).unwrap();
        home.env.push(("NOTIFY_SOCKET".into(), path.display().to_string()));
        Self { socket, lines: Vec::new() }
    }

    /// Waits up to `timeout` for a line that begins with `prefix`. Drops the lines before it.
    fn receive(&mut self, prefix: &str, timeout: Duration) -> Option<String> {
        let deadline = Instant::now() + timeout;
        let mut bytes = [0_u8; 4096];
        loop {
            if let Some(at) = self.lines.iter().position(|line| line.starts_with(prefix)) {
                return Some(self.lines.drain(..=at).next_back().unwrap());
            }
            let remaining =
                deadline.checked_duration_since(Instant::now()).filter(|time| !time.is_zero())?;
            self.socket.set_read_timeout(Some(remaining)).unwrap();
            if let Ok(n) = self.socket.recv(&mut bytes) {
                let text = String::from_utf8(bytes[..n].to_vec()).unwrap();
                self.lines.extend(text.lines().map(str::to_owned));
            }
        }
    }

    fn wait(&mut self, prefix: &str) -> String {
        self.receive(prefix, TEST_TIMEOUT).unwrap_or_else(|| panic!("no notification {prefix}"))
    }
}

#[test]
fn the_manager_gets_ready_then_status_then_stopping() {
    let mut home = TestHome::new();
    let mut manager = ServiceManager::new(&mut home);
    home.env.push(("WATCHDOG_USEC".into(), "200000".into()));
    let daemon = home.daemon();
    manager.wait("READY=1");
    assert!(manager.wait("STATUS=serving").contains("0 pages"));
    home.json(["capture", "one"]);
    let line = manager.wait("STATUS=serving 1 page ");
    assert!(line.contains(home.socket().to_str().unwrap()), "{line}");
    for _ in 0..5 {
        manager.wait("WATCHDOG=1");
    }
    // A suspended daemon sends no pings, and a resumed daemon sends them again.
    let pid = Pid::from_raw(daemon.pid() as i32).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    while manager.receive("WATCHDOG=1", Duration::from_millis(50)).is_some() {}
    assert_eq!(manager.receive("WATCHDOG=1", Duration::from_millis(600)), None);
    kill_process(pid, Signal::CONT).unwrap();
    manager.wait("WATCHDOG=1");
    let (ended, _) = daemon.terminate();
    assert!(ended.success(), "{ended}");
    manager.wait("STOPPING=1");
}

#[test]
fn without_a_watchdog_there_are_no_pings() {
    let mut home = TestHome::new();
    let mut manager = ServiceManager::new(&mut home);
    // The watchdog belongs to another process.
    home.env.push(("WATCHDOG_USEC".into(), "100000".into()));
    home.env.push(("WATCHDOG_PID".into(), "1".into()));
    let daemon = home.daemon();
    manager.wait("STATUS=serving");
    assert_eq!(manager.receive("WATCHDOG=1", Duration::from_millis(400)), None);
    drop(daemon);
}

#[test]
fn a_daemon_started_by_a_command_notifies_no_manager() {
    let mut home = TestHome::new();
    let mut manager = ServiceManager::new(&mut home);
    home.env.push(("WATCHDOG_USEC".into(), "100000".into()));
    home.json(["capture", "from inside a unit"]);
    assert_eq!(manager.receive("", Duration::from_millis(300)), None);
    // The same daemon notifies the manager that starts it.
    home.json(["stop"]);
    let _daemon = home.daemon();
    manager.wait("READY=1");
}

#[test]
fn the_status_text_is_one_line_despite_a_failed_file() {
    let mut home = TestHome::new();
    let mut manager = ServiceManager::new(&mut home);
    home.env.push(("WATCHDOG_USEC".into(), "200000".into()));
    fs::create_dir_all(home.path()).unwrap();
    // A file replaces the directory of pages.
    fs::write(home.path().join("pages"), "in the way").unwrap();
    let _daemon = home.daemon();
    let Some(Ok(Reply::Write(_))) = home.connect().unwrap().try_ask(&capture("kept in the store"))
    else {
        panic!("the page was not stored")
    };
    // A status may arrive before the file has failed.
    let is_reported =
        (0..200).any(|_| manager.wait("STATUS=serving 1 page ").contains("a file is not written"));
    assert!(is_reported);
    manager.wait("WATCHDOG=1");
}
