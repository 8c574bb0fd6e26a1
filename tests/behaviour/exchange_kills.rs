//! SIGKILL at each step in which a file takes the place of another one, on a file system that
//! cannot exchange two files at once.
//!
//! strace answers the calls that such a file system lacks with an error, and kills the daemon as it
//! begins the n-th of the others.

use std::process::{Command, Stdio};

use brain_tests::{TestHome, has_program, wait_for};

/// The calls that rename files in steps, and whether the file system has hard links.
const CALLS: [(&str, bool); 4] =
    [("linkat", true), ("unlinkat", true), ("renameat", true), ("renameat", false)];
/// No operation has as many steps.
const MAX_STEPS: usize = 12;

/// Starts a daemon that is killed at the `n`-th of these calls, runs `command`, and returns whether
/// the daemon answered it.
fn run_and_kill(
    home: &TestHome,
    (call, has_links): (&str, bool),
    n: usize,
    command: &[&str],
) -> bool {
    let daemon = home.command("brain-daemon");
    let mut traced = Command::new("strace");
    traced.env_clear().envs(daemon.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let kill = format!("inject={call}:signal=KILL:when={n}");
    traced.args(["-f", "-qq", "-e", "inject=renameat2:error=EINVAL", "-e", &kill]);
    if !has_links {
        traced.args(["-e", "inject=linkat:error=EPERM"]);
    }
    let trace = home.outside().join("trace");
    traced.arg("-o").arg(trace).arg(daemon.get_program()).stderr(Stdio::null());
    let mut traced = traced.spawn().unwrap();
    let mut has_ended = || traced.try_wait().unwrap().is_some();
    wait_for("the daemon does not answer", || home.connect().is_some() || has_ended());
    let mut client = home.command("brain");
    client.arg("--no-start").args(command);
    let answered = brain_tests::run(client, b"").code == 0;
    if answered {
        let mut stop = home.command("brain");
        stop.args(["--no-start", "stop"]);
        brain_tests::run(stop, b"");
    }
    wait_for("the daemon does not end", has_ended);
    answered
}

/// Kills the daemon at each step of `command`, until it answers. After each kill, a new daemon must
/// bring page and file to a state that `check` accepts; it knows whether the command was answered.
/// Fails with fewer than `min_kills` kills.
fn kill_at_each_step(command: &[&str], min_kills: usize, check: impl Fn(&TestHome, bool)) {
    if !has_program("strace") {
        return;
    }
    let mut kills = 0;
    for call in CALLS {
        let ended = (1..MAX_STEPS).any(|n| {
            let home = TestHome::new();
            let daemon = home.daemon();
            home.put("a", "first line\n");
            let _ = daemon.terminate();
            let answered = run_and_kill(&home, call, n, command);
            kills += usize::from(!answered);
            let _daemon = home.daemon();
            wait_for("a file of the interrupted write is left", || {
                let names = std::fs::read_dir(home.path().join("pages")).unwrap();
                names
                    .filter_map(Result::ok)
                    .all(|file| !file.file_name().as_encoded_bytes().starts_with(b".brain-"))
            });
            check(&home, answered);
            answered
        });
        assert!(ended, "{call:?}: the command never succeeded");
    }
    assert!(kills >= min_kills, "{kills} kills: {command:?} makes other calls now");
}

#[test]
fn a_page_and_its_file_survive_a_kill_at_each_step_of_an_append() {
    kill_at_each_step(&["append", "a", "second line"], 9, |home, answered| {
        let body = home.get("a")["body"].as_str().unwrap().to_owned();
        assert!(body.starts_with("first line"), "{body}");
        assert!(body.matches("second line").count() <= 1 && (body.contains("second") || !answered));
        wait_for("the file differs from the page", || {
            std::fs::read_to_string(home.page_file("a")).is_ok_and(|file| file.ends_with(&body))
        });
        assert_eq!(home.status().pages, 1);
    });
}

#[test]
fn a_page_is_deleted_or_whole_after_a_kill_at_each_step_of_a_delete() {
    kill_at_each_step(&["delete", "a"], 3, |home, answered| {
        let is_there = home.status().pages == 1;
        assert!(!answered || !is_there);
        wait_for("page and file differ", || home.page_file("a").exists() == is_there);
        let trashed = home.path().join("pages/.trash/a.md");
        assert!(is_there || trashed.exists(), "the text is gone");
    });
}
