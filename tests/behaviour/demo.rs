//! `brain demo`: the tour, and that nothing is left behind, however it ends.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use brain_tests::{Client, Run, TEST_TIMEOUT, TestHome, has_program, program, run};
use rustix::process::{Pid, Signal, kill_process};

/// A user with an empty directory for temporary files.
struct User {
    home: TestHome,
}

impl User {
    fn new() -> Self {
        let user = Self { home: TestHome::new() };
        fs::create_dir_all(user.temporary()).unwrap();
        user
    }

    /// Returns the directory of temporary files.
    fn temporary(&self) -> PathBuf {
        self.home.outside().join("t")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command("brain");
        command.env("TMPDIR", self.temporary()).env("BROWSER", "true").args(args);
        command
    }

    fn run(&self, args: &[&str]) -> Run {
        run(self.command(args), b"")
    }

    /// Returns the paths in the directory of temporary files: the homes of demonstrations.
    fn homes(&self) -> Vec<PathBuf> {
        fs::read_dir(self.temporary()).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    /// Starts a demonstration that waits after its last step. Returns the client's process, the
    /// home and the daemon's process id.
    fn waiting_demo(&self) -> (Child, PathBuf, Pid) {
        let mut command = self.command(&["demo", "--open"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map(Result::unwrap);
        assert!(lines.any(|line| line.contains("until this command is ended")));
        let home = self.homes().pop().expect("the demonstration has a home");
        let client = Client::connect(&home.join("run/brain.sock")).expect("its daemon answers");
        let daemon = Pid::from_raw(client.hello.pid as i32).unwrap();
        (child, home, daemon)
    }

    /// Waits until nothing of a demonstration is left.
    fn assert_nothing_is_left(&self, daemon: Pid) {
        let deadline = Instant::now() + TEST_TIMEOUT;
        while !self.homes().is_empty() || is_running(daemon) {
            assert!(Instant::now() < deadline, "files or the daemon are left: {:?}", self.homes());
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(!self.home.path().exists(), "the user's own brain is not touched");
    }
}

/// Returns whether a process runs. A process that ended and was not reaped does not run.
fn is_running(process: Pid) -> bool {
    fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()))
        .is_ok_and(|stat| !stat.contains(") Z"))
}

#[test]
fn the_tour_shows_real_answers_and_leaves_nothing_behind() {
    let user = User::new();
    let tour = user.run(&["demo", "--json"]).expect(0).json();
    assert!(tour["pages"].as_u64() > Some(250), "{tour}");
    let steps = tour["steps"].as_array().unwrap();
    for step in steps {
        assert_eq!(step["exit"], 0, "{step}");
        assert!(step["command"].as_str().unwrap().starts_with("brain "), "{step}");
    }
    let result = |command: &str| {
        let step = steps.iter().find(|step| {
            step["command"].as_str().unwrap().starts_with(&format!("brain {command}"))
        });
        step.unwrap_or_else(|| panic!("no step {command}: {tour}"))["result"].clone()
    };
    let captured = result("capture")["slug"].as_str().unwrap().to_owned();
    assert!(result("search").to_string().contains(&captured), "{}", result("search"));
    assert!(result("graph").to_string().contains("meetings/"), "{}", result("graph"));
    assert!(
        result("timeline")["entries"]
            .as_array()
            .map_or(result("timeline").to_string().contains("meetings/"), |entries| !entries
                .is_empty())
    );
    assert!(result("ask").to_string().contains("meetings/"), "{}", result("ask"));
    assert!(result("collector plot")["snapshots"].as_array().unwrap().len() > 40);
    assert_eq!(user.homes(), Vec::<PathBuf>::new());
    assert!(!user.home.path().exists(), "the user's own brain is not touched");
}

#[test]
fn without_a_terminal_the_tour_prints_each_command() {
    let user = User::new();
    let tour = user.run(&["demo"]).expect(0);
    for part in [
        "This is a demonstration",
        "$ brain capture \"",
        "$ brain search",
        "$ brain collector plot",
    ] {
        assert!(tour.stdout.contains(part), "{part:?} is missing: {}", tour.stdout);
    }
    assert!(tour.stdout.contains("brain setup"), "{}", tour.stdout);
    assert_eq!(user.homes(), Vec::<PathBuf>::new());
}

#[test]
fn a_closed_output_ends_the_tour_silently() {
    let user = User::new();
    let mut command = user.command(&["demo", "--no-wait"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("This is a demonstration"), "{line}");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(user.homes(), Vec::<PathBuf>::new());
}

#[test]
fn a_signal_during_preparation_or_a_step_ends_the_tour() {
    let whole_tour = User::new().run(&["demo"]).expect(0).stderr;
    // The delays in ms reach the start of the daemon, the sync of the pages, the tour, and, on a
    // fast machine, the end of the tour.
    for delay in [0, 50, 200, 500, 700] {
        let user = User::new();
        // With --open, the tour waits after its last step, so a late signal still ends the tour.
        let mut command = user.command(&["demo", "--open"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let deadline = Instant::now() + TEST_TIMEOUT;
        while user.homes().is_empty() {
            assert!(Instant::now() < deadline, "no home was created");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(delay));
        let signalled_at = Instant::now();
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        let duration = signalled_at.elapsed();
        assert_eq!(output.status.signal(), Some(2), "{delay} ms: {output:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        let notices = stderr
            .strip_suffix("brain: the demonstration is ended, and nothing is left behind\n")
            .unwrap_or_else(|| panic!("{delay} ms: {stderr}"));
        for notice in notices.lines() {
            let is_expected =
                whole_tour.contains(notice) || notice == "brain: opened in your browser";
            assert!(is_expected, "{delay} ms: {stderr}");
        }
        assert!(duration < TEST_TIMEOUT, "{delay} ms: it took {duration:?}");
        assert_eq!(user.homes(), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_signal_to_the_client_ends_and_removes_the_demo() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let user = User::new();
        let (mut child, home, daemon) = user.waiting_demo();
        assert!(home.join("brain.redb").exists());
        kill_process(Pid::from_child(&child), signal).unwrap();
        let status = child.wait().unwrap();
        assert!(!status.success(), "{status}");
        assert_eq!(user.homes(), Vec::<PathBuf>::new(), "the client waits for the removal");
        user.assert_nothing_is_left(daemon);
    }
}

#[test]
fn the_daemon_notices_that_its_client_was_killed() {
    let user = User::new();
    let (mut child, _, daemon) = user.waiting_demo();
    child.kill().unwrap();
    child.wait().unwrap();
    user.assert_nothing_is_left(daemon);
}

#[test]
fn a_client_whose_daemon_was_killed_removes_the_home() {
    let user = User::new();
    let (mut child, _, daemon) = user.waiting_demo();
    kill_process(daemon, Signal::KILL).unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    child.wait().unwrap();
    user.assert_nothing_is_left(daemon);
}

#[test]
fn the_next_demo_removes_the_home_after_two_kills() {
    let user = User::new();
    let (mut child, home, daemon) = user.waiting_demo();
    // The daemon is stopped first, so that it does not act on the end of its client.
    kill_process(daemon, Signal::STOP).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    kill_process(daemon, Signal::KILL).unwrap();
    // Until the daemon has ended, its socket accepts connections.
    let deadline = Instant::now() + TEST_TIMEOUT;
    while is_running(daemon) {
        assert!(Instant::now() < deadline, "the daemon has not ended");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(home.exists());
    let other = user.temporary().join("brain-demo-of-another-program");
    fs::create_dir(&other).unwrap();
    user.run(&["demo", "--json"]).expect(0);
    assert_eq!(user.homes(), [other], "a directory without the mark is not touched");
}

#[test]
fn a_running_demonstration_is_left_alone_by_another_one() {
    let user = User::new();
    let (mut child, home, daemon) = user.waiting_demo();
    user.run(&["demo", "--json"]).expect(0);
    assert_eq!(user.homes(), std::slice::from_ref(&home));
    assert!(Client::connect(&home.join("run/brain.sock")).is_some());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    child.wait().unwrap();
    user.assert_nothing_is_left(daemon);
}

/// Runs `brain demo` on a terminal; types the next one of `actions` at each prompt. The action
/// `close` closes the terminal.
fn on_a_terminal(user: &User, actions: &[&str]) -> Option<(i32, String)> {
    const PROGRAM: &str = r"
import os, pty, signal, sys, time
actions = sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], 'demo'])
out, seen = b'', 0
while True:
    try:
        piece = os.read(fd, 65536)
    except OSError:
        break
    if not piece:
        break
    out += piece
    while actions and out[seen:].rstrip().endswith((b'Enter: end', b'[y/N]', b'here.')):
        seen = len(out)
        action = actions.pop(0)
        if action == 'close':
            os.close(fd)
            fd = -1
            break
        os.write(fd, action.encode())
    if fd < 0:
        break
status = os.waitpid(pid, 0)[1]
sys.stdout.buffer.write(out)
sys.exit(status & 0x7f if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
";
    if !has_program("python3") {
        return None;
    }
    let environment = user.command(&[]);
    let mut command = Command::new("python3");
    command.env_clear();
    for (name, value) in environment.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.env("TERM", "xterm-256color").env("NO_COLOR", "1");
    command.arg("-c").arg(PROGRAM).arg(program("brain")).args(actions);
    let result = run(command, b"");
    assert!(!result.stderr.contains("Traceback"), "{result:?}");
    Some((result.code, result.stdout))
}

#[test]
fn keys_and_a_closed_terminal_leave_nothing_behind() {
    let user = User::new();
    let Some((code, screen)) = on_a_terminal(&user, &["\n", "q\n"]) else { return };
    assert_eq!(code, 0, "{screen}");
    assert!(screen.starts_with("preparing"), "{screen}");
    assert!(screen.contains("1 of 7") && !screen.contains("2 of 7"), "{screen}");
    assert_eq!(user.homes(), Vec::<PathBuf>::new());

    for word in ["quit\n", "EXIT\n"] {
        let (code, screen) = on_a_terminal(&user, &["\n", word]).unwrap();
        assert_eq!(code, 0, "{screen}");
        assert!(screen.contains("q and Enter: end") && !screen.contains("2 of 7"), "{screen}");
    }

    let (code, screen) = on_a_terminal(&user, &["\n", "\u{3}"]).unwrap();
    assert_eq!(code, 2, "SIGINT: {screen}");
    assert!(
        screen.ends_with("\nbrain: the demonstration is ended, and nothing is left behind\r\n")
    );
    assert_eq!(user.homes(), Vec::<PathBuf>::new());

    on_a_terminal(&user, &["\n", "close"]).unwrap();
    assert_eq!(user.homes(), Vec::<PathBuf>::new());

    let (code, screen) =
        on_a_terminal(&user, &["\n", "\n", "\n", "\n", "\n", "\n", "\n", "y\n", "\n"]).unwrap();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("7 of 7") && screen.contains("until you press Enter"), "{screen}");
    assert_eq!(user.homes(), Vec::<PathBuf>::new());
}

#[test]
fn the_daemon_refuses_to_treat_another_home_as_temporary() {
    let home = TestHome::new();
    fs::create_dir_all(home.path()).unwrap();
    let mut command = home.command("brain-daemon");
    command.arg("--temporary");
    let refused = run(command, b"").expect(2);
    assert!(refused.stderr.contains("not a temporary home"), "{refused:?}");
    assert!(home.path().exists());
}
