//! The daemon as a service manager sees it: sockets that are handed over, who may come in through
//! them, what the manager is told, and where the home is without a HOME.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use brain_protocol::{Reply, Request, Status};
use brain_tests::{Client, PATIENCE, Run, TestHome, capture, program, run, skip};
use rustix::process::{Pid, Signal, kill_process};

/// A socket as systemd would make it.
fn socket(home: &TestHome) -> (PathBuf, UnixListener) {
    let path = home.outside().join("control.sock");
    let listener = UnixListener::bind(&path).unwrap();
    (path, listener)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn status(socket: &Path) -> brain_protocol::StatusReply {
    match Client::connect(socket).expect("it greets").ask(&Request::Status(Status)) {
        Ok(Reply::Status(status)) => status,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_socket_that_is_handed_over_is_served_as_it_is() {
    let home = TestHome::new();
    let (path, listener) = socket(&home);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    fs::set_permissions(home.outside(), fs::Permissions::from_mode(0o751)).unwrap();
    let daemon = home.activated(&listener, "control");
    assert_eq!(
        status(&path).socket,
        path.to_str().unwrap(),
        "status tells the socket that is served"
    );
    assert!(!home.socket().exists(), "no other one is made");
    assert_eq!((mode(&path), mode(&home.outside())), (0o640, 0o751), "nothing about it is changed");
    // A client of this home finds it by itself.
    let pid = daemon.pid();
    assert_eq!(home.json(["status"])["pid"], pid);
    let checks = home.json(["doctor"])["checks"].clone();
    let check =
        checks.as_array().unwrap().iter().find(|c| c["name"] == "socket permissions").unwrap();
    assert_eq!(check["status"], "ok", "{check}");
    assert!(check["message"].as_str().unwrap().contains("systemd"), "{check}");
    let (ended, _) = daemon.terminate();
    assert!(ended.success(), "{ended}");
    assert!(path.exists() && mode(&path) == 0o640, "it stays for the next one");
    // Whoever asks between two daemons waits for the next one.
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
    // As under a system unit: the client starts no daemon of its own.
    home.env.push(("BRAIN_SOCKET".into(), path.display().to_string()));
    home.env.push(("BRAIN_NO_START".into(), "1".into()));
    let mut daemon = home.activated(&listener, "control");
    let (slugs, _daemon) = std::thread::scope(|scope| {
        let home = &home;
        let clients: Vec<_> = (0..3)
            .map(|client| {
                scope.spawn(move || -> Vec<String> {
                    let one = |n| {
                        home.json(["capture".to_owned(), format!("client {client} thought {n}")])
                    };
                    (0..15).map(|n| one(n)["slug"].as_str().unwrap().to_owned()).collect()
                })
            })
            .collect();
        for _ in 0..3 {
            // It is up, and some requests are through, however busy the machine is.
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
fn sockets_with_names_that_nobody_knows_are_left_alone() {
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
    // With no name that it knows it makes its own.
    let _daemon = home.activated(&listener, "other");
    let patience = Instant::now() + PATIENCE;
    while home.connect().is_none() {
        assert!(Instant::now() < patience, "{}", home.log());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_cannot_be_served_is_refused_with_the_way_out() {
    let home = TestHome::new();
    let wrong = UnixDatagram::bind(home.outside().join("datagram.sock")).unwrap();
    let mut command = home.command("brain-activate");
    command.arg("control").arg(program("brain-daemon"));
    command.stdin(std::process::Stdio::from(std::os::fd::OwnedFd::from(wrong)));
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("unix stream socket") && said.contains("FileDescriptorName=control"),
        "{said}"
    );
    assert!(!home.path().join("brain.redb").exists());
}

#[test]
fn a_socket_that_systemd_holds_is_not_taken_away_by_a_daemon_started_by_hand() {
    let home = TestHome::new();
    fs::create_dir_all(home.path().join("run")).unwrap();
    let held = UnixListener::bind(home.socket()).unwrap();
    held.set_nonblocking(true).unwrap();
    let refused = run(home.command("brain-daemon"), b"").expect(1);
    assert!(refused.stderr.contains("somebody listens on"), "{refused:?}");
    assert!(refused.stderr.contains("brain service uninstall"), "{refused:?}");
    assert!(home.socket().exists());
    let connection = held.accept();
    assert!(connection.is_err(), "nobody knocked: systemd would have started a daemon for it");
    drop(held);
    let _daemon = home.daemon();
}

#[test]
fn a_daemon_whose_socket_systemd_took_over_makes_room() {
    let home = TestHome::new();
    let mut by_hand = home.daemon();
    home.json(["capture", "before systemd came"]);
    // As systemd starts a socket unit: what lies there is removed.
    fs::remove_file(home.socket()).unwrap();
    let listener = UnixListener::bind(home.socket()).unwrap();
    let patience = Instant::now() + PATIENCE;
    while by_hand.is_running() {
        assert!(Instant::now() < patience, "{}", home.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(home.socket().exists(), "the new one is not its to remove");
    let _service = home.activated(&listener, "control");
    assert_eq!(home.search("systemd").len(), 1);
}

/// `brain` as another user, who may run it whatever the modes on the way to ours.
struct Other {
    dir: tempfile::TempDir,
    socket: PathBuf,
}

impl Other {
    const UID: u32 = 65533;
    const GID: u32 = 65532;

    /// With a socket that only their group can open; `None`, said loudly, where this user may not
    /// become another.
    fn new() -> Option<(Self, UnixListener)> {
        if !rustix::process::geteuid().is_root() {
            skip("becoming another user takes root");
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
        if other.brain(&["--version"], "").stderr.contains("setpriv") {
            skip("setpriv does not work here");
            return None;
        }
        Some((other, listener))
    }

    /// Runs `brain` as that user with these further groups.
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

    fn member(&self, args: &[&str]) -> Run {
        self.brain(args, &Self::GID.to_string())
    }
}

#[test]
fn another_user_comes_in_only_where_the_configuration_says_so() {
    let Some((other, listener)) = Other::new() else { return };
    // Who can open the socket is not yet let in.
    let home = TestHome::new();
    let daemon = home.activated(&listener, "control");
    let refused = other.member(&["capture", "let me in"]).expect(3);
    assert!(refused.stderr.contains("does not serve user 65533"), "{refused:?}");
    assert!(refused.stderr.contains("daemon.allow_group"), "{refused:?}");
    drop(daemon);

    let mut home = TestHome::new();
    home.env.push(("BRAIN_DAEMON_ALLOW_UIDS".into(), format!("12345, {}", Other::UID)));
    let daemon = home.activated(&listener, "control");
    other.member(&["capture", "an otter in the pond"]).expect(0);
    assert!(other.member(&["search", "otter"]).expect(0).stdout.contains("otter"));
    // They read and write; the installation is the owner's.
    for admin in [&["stop"][..], &["doctor"], &["import", "/etc"]] {
        let refused = other.member(admin).expect(3);
        assert!(refused.stderr.contains("admin"), "{refused:?}");
    }
    assert_eq!(status(&other.socket).pid, daemon.pid(), "it still runs");
    // Who is named and cannot open the file stays outside.
    assert!(other.brain(&["search", "otter"], "").expect(3).stderr.contains("EACCES"));
}

#[test]
fn a_group_comes_in_where_only_the_group_can_open_the_socket() {
    let Some((other, listener)) = Other::new() else { return };
    let mut home = TestHome::new();
    home.env.push(("BRAIN_DAEMON_ALLOW_GROUP".into(), Other::GID.to_string()));
    let daemon = home.activated(&listener, "control");
    other.member(&["capture", "a heron in the reeds"]).expect(0);
    other.member(&["stop"]).expect(3);
    assert!(other.brain(&["search", "heron"], "").expect(3).stderr.contains("EACCES"));
    // A file that is opened to the world says nothing about groups any more.
    fs::set_permissions(&other.socket, fs::Permissions::from_mode(0o666)).unwrap();
    for run in [other.brain(&["search", "heron"], ""), other.member(&["search", "heron"])] {
        assert!(run.expect(3).stderr.contains("does not serve user"));
    }
    fs::set_permissions(&other.socket, fs::Permissions::from_mode(0o660)).unwrap();
    // Whoever owns the file opens it without being a member.
    let own = rustix::process::geteuid().as_raw();
    std::os::unix::fs::chown(&other.socket, Some(Other::UID), None).unwrap();
    let refused = other.brain(&["search", "heron"], "").expect(3);
    assert!(refused.stderr.contains("does not serve user"), "{refused:?}");
    std::os::unix::fs::chown(&other.socket, Some(own), None).unwrap();
    other.member(&["search", "heron"]).expect(0);
    drop(daemon);

    // The unit and the configuration must speak of one group.
    for (group, word) in
        [("0", "belongs to group 65532"), ("no-such-group", "groupadd --system no-such-group")]
    {
        let mut home = TestHome::new();
        home.env.push(("BRAIN_DAEMON_ALLOW_GROUP".into(), group.into()));
        let mut daemon = home.activated(&listener, "control");
        let patience = Instant::now() + PATIENCE;
        while daemon.is_running() {
            assert!(Instant::now() < patience, "it starts all the same");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(home.log().contains(word), "{}", home.log());
    }
}

/// The manager's side of the notifications.
struct Manager {
    socket: UnixDatagram,
    heard: Vec<String>,
}

impl Manager {
    fn new(home: &mut TestHome) -> Self {
        let path = home.outside().join("notify.sock");
        let socket = UnixDatagram::bind(&path).unwrap();
        home.env.push(("NOTIFY_SOCKET".into(), path.display().to_string()));
        Self { socket, heard: Vec::new() }
    }

    /// Listens for at most `patience` until a line begins with `wanted`; `None`: it did not come.
    fn hear(&mut self, wanted: &str, patience: Duration) -> Option<String> {
        let until = Instant::now() + patience;
        let mut bytes = [0_u8; 4096];
        loop {
            if let Some(at) = self.heard.iter().position(|line| line.starts_with(wanted)) {
                return Some(self.heard.drain(..=at).next_back().unwrap());
            }
            let left =
                until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
            self.socket.set_read_timeout(Some(left)).unwrap();
            if let Ok(n) = self.socket.recv(&mut bytes) {
                let text = String::from_utf8(bytes[..n].to_vec()).unwrap();
                self.heard.extend(text.lines().map(str::to_owned));
            }
        }
    }

    fn wait(&mut self, wanted: &str) -> String {
        self.hear(wanted, PATIENCE).unwrap_or_else(|| panic!("{wanted} did not come"))
    }
}

#[test]
fn the_manager_hears_ready_then_how_it_is_then_stopping() {
    let mut home = TestHome::new();
    let mut manager = Manager::new(&mut home);
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
    // One that does not run does not ping, and one that runs again does.
    let pid = Pid::from_raw(daemon.pid() as i32).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    while manager.hear("WATCHDOG=1", Duration::from_millis(50)).is_some() {}
    assert_eq!(manager.hear("WATCHDOG=1", Duration::from_millis(600)), None);
    kill_process(pid, Signal::CONT).unwrap();
    manager.wait("WATCHDOG=1");
    let (ended, _) = daemon.terminate();
    assert!(ended.success(), "{ended}");
    manager.wait("STOPPING=1");
}

#[test]
fn without_a_watchdog_there_are_no_pings() {
    let mut home = TestHome::new();
    let mut manager = Manager::new(&mut home);
    // For another process.
    home.env.push(("WATCHDOG_USEC".into(), "100000".into()));
    home.env.push(("WATCHDOG_PID".into(), "1".into()));
    let daemon = home.daemon();
    manager.wait("STATUS=serving");
    assert_eq!(manager.hear("WATCHDOG=1", Duration::from_millis(400)), None);
    drop(daemon);
}

#[test]
fn a_daemon_that_a_command_starts_says_nothing_to_the_commands_manager() {
    let mut home = TestHome::new();
    let mut manager = Manager::new(&mut home);
    home.env.push(("WATCHDOG_USEC".into(), "100000".into()));
    home.json(["capture", "from inside a unit"]);
    assert_eq!(manager.hear("", Duration::from_millis(300)), None);
}

#[test]
fn what_the_status_tells_is_one_line_even_when_a_file_cannot_be_written() {
    let mut home = TestHome::new();
    let mut manager = Manager::new(&mut home);
    home.env.push(("WATCHDOG_USEC".into(), "200000".into()));
    fs::create_dir_all(home.path()).unwrap();
    // A file where the directory of pages should be.
    fs::write(home.path().join("pages"), "in the way").unwrap();
    let _daemon = home.daemon();
    let Some(Ok(Reply::Write(_))) = home.connect().unwrap().try_ask(&capture("kept in the store"))
    else {
        panic!("the store takes it")
    };
    // It may be told of the page before its file has failed.
    let told =
        (0..200).any(|_| manager.wait("STATUS=serving 1 page ").contains("a file is not written"));
    assert!(told);
    manager.wait("WATCHDOG=1");
}
