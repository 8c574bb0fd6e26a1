//! Clients whose protocol differs from that of the running daemon, as after an upgrade.

use std::io::Write;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command};
use std::thread::JoinHandle;
use std::time::Duration;

use brain_protocol::{Hello, PROTOCOL};
use brain_tests::TestHome;

/// Starts a process named `brain-daemon`, and a thread that greets clients with `protocol` until
/// the process ends. Returns the thread.
fn other_daemon(home: &TestHome, protocol: u16) -> JoinHandle<()> {
    let program = home.outside().join("brain-daemon");
    std::fs::copy("/bin/sleep", &program).unwrap();
    let mut process: Child = Command::new(&program).arg("60").spawn().unwrap();
    let socket = home.socket();
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    listener.set_nonblocking(true).unwrap();
    let greeting = Hello { protocol, version: [0, 0, 9, 0], pid: process.id() }.to_bytes();
    std::thread::spawn(move || {
        while process.try_wait().unwrap().is_none() {
            if let Ok((mut stream, _)) = listener.accept() {
                let _ = stream.write_all(&greeting);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        std::fs::remove_file(socket).unwrap();
    })
}

#[test]
fn a_newer_client_replaces_the_daemon() {
    let home = TestHome::new();
    let former = other_daemon(&home, PROTOCOL - 1);
    let run = home.brain(["capture", "after the upgrade"]).expect(0);
    assert!(run.stderr.contains("replacing the daemon 0.0.9.0"), "{}", run.stderr);
    former.join().unwrap();
    assert_eq!(home.search("upgrade").len(), 1);
}

#[test]
fn a_client_beside_an_older_daemon_program_leaves_the_daemon() {
    let home = TestHome::new();
    let former = other_daemon(&home, PROTOCOL - 1);
    // The running program is the one beside this client: a new daemon would be as old.
    let client = home.outside().join("brain");
    std::fs::copy(brain_tests::program("brain"), &client).unwrap();
    let command = || {
        let mut command = Command::new(&client);
        command.env("BRAIN_HOME", home.path());
        command
    };
    let mut capture = command();
    capture.args(["capture", "x"]);
    let refused = brain_tests::run(capture, b"").expect(6);
    assert!(refused.stderr.contains("outside/brain-daemon is of another version"), "{refused:?}");
    assert!(!former.is_finished(), "the daemon was stopped");
    home.brain(["stop"]).expect(0);
    former.join().unwrap();
}

#[test]
fn a_client_that_may_not_start_a_daemon_replaces_none() {
    let home = TestHome::new();
    let former = other_daemon(&home, PROTOCOL - 1);
    let fault = home.fault(["--no-start", "capture", "x"], 6);
    assert_eq!(fault["code"], "protocol_mismatch", "{fault}");
    assert!(fault["hint"].as_str().unwrap().contains("brain stop"), "{fault}");
    home.brain(["stop"]).expect(0);
    former.join().unwrap();
}

#[test]
fn an_older_client_replaces_no_newer_daemon() {
    let home = TestHome::new();
    let newer = other_daemon(&home, PROTOCOL + 1);
    let fault = home.fault(["capture", "x"], 6);
    assert_eq!(fault["code"], "protocol_mismatch", "{fault}");
    home.brain(["stop"]).expect(0);
    newer.join().unwrap();
}
